//! The HTTP contract under /api/v1: request and response types, problem details, a typed client.
