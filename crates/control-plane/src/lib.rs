//! The server product: OpAMP endpoint, API, console, enrolment and background tasks.
