//! An OpAMP client: sockets, timers and storage around the agent session.
