//! The agent of a host: session with the control plane, desired state on disk, observe, plan, apply, report.
//! The protocol is `host-proto`, the decisions are `reconcile`, the hands are `host-drivers`.
