//! Secrets at rest: a key in a file outside the database, and the sealing of what the database holds.
//! Without a TPM this guards copies and back-ups of the database, not the machine against its root.

mod key;
mod seal;

pub(crate) use key::{KeyError, MasterKey};
pub(crate) use seal::{SealError, Sealer};
