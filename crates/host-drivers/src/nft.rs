//! The firewall table in the kernel, by the `nft` program: put in place at once or not at all, and looked after on every
//! pass (R48). Only the table of ours is ever written; what the engine and others keep stays as it is.
//!
//! The kernel counts how often its rules were changed. As long as that number is the one that our own change left
//! behind, nothing needs to be listed and no process is started.

mod docker;
mod generation;
mod program;

use std::io;

use reconcile::firewall::{Ruleset, TABLE};
use sha2::{Digest, Sha256};

pub use docker::{Backend, DockerFirewall};
pub use program::{NftError, Program};

/// How often a table is applied again when others change rules at the same moment, so that what was listed cannot be
/// told from what they did.
const TRIES: u32 = 5;

/// The owner of the table. One per host; it remembers what it put in place.
#[derive(Debug)]
pub struct Nft {
    program: Program,
    applied: Option<Applied>,
    docker: docker::Cache,
}

#[derive(Debug)]
struct Applied {
    ruleset: Ruleset,
    /// SHA-256 of how nft prints the table, as it does not print what it was given.
    listing: [u8; 32],
    /// The kernel's number at which the listing was known to be right.
    generation: Option<u32>,
}

/// What `ensure` found and did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ensured {
    /// The table was in place.
    InPlace,
    /// It was put in place: it is another than before, or the first since this process began.
    Applied,
    /// Somebody had changed or removed it behind our back; it is in place again. To be reported.
    Restored(Drift),
}

/// What had become of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Drift {
    /// It was gone, as after `nft flush ruleset`.
    Missing,
    /// It was another.
    Altered,
}

impl Nft {
    /// An owner that knows nothing yet: its first `ensure` applies.
    pub fn new(program: Program) -> Self {
        Self { program, applied: None, docker: docker::Cache::default() }
    }

    /// Brings the table in place, if it is not. Costs one question to the kernel when nobody changed any rules, one
    /// listing when somebody did, and two processes of nft when the table has to be written.
    ///
    /// # Errors
    /// When nft cannot be run or refuses; then the kernel has what it had before.
    pub async fn ensure(&mut self, wanted: &Ruleset) -> Result<Ensured, NftError> {
        let outcome = match &mut self.applied {
            Some(applied) if applied.ruleset == *wanted => {
                let generation = generation::now().ok();
                if generation.is_some() && applied.generation == generation {
                    return Ok(Ensured::InPlace);
                }
                match self.program.list(TABLE).await? {
                    Some(listing) if digest(&listing) == applied.listing => {
                        // Read before the listing: a change in between is looked at again the next time.
                        applied.generation = generation;
                        return Ok(Ensured::InPlace);
                    }
                    Some(_) => Ensured::Restored(Drift::Altered),
                    None => Ensured::Restored(Drift::Missing),
                }
            }
            _ => Ensured::Applied,
        };
        self.applied = None;
        self.applied = Some(self.apply(wanted).await?);
        Ok(outcome)
    }

    /// Takes the table away, for a host that leaves.
    ///
    /// # Errors
    /// When nft cannot be run or refuses.
    pub async fn remove(&mut self) -> Result<(), NftError> {
        self.applied = None;
        self.program.apply(&format!("table {TABLE}\ndelete table {TABLE}\n")).await
    }

    /// Whether the engine's own chains are there. Without them containers have no way out and ports of others do not
    /// work; only a restart of the engine brings them back, and that is not ours to do (R48).
    ///
    /// # Errors
    /// When nft cannot be run or refuses.
    pub async fn docker_firewall(&mut self) -> Result<DockerFirewall, NftError> {
        self.docker.look(&self.program).await
    }

    /// Writes the table and keeps how nft prints it. One batch raises the kernel's number by one; any other step means
    /// that somebody else wrote too, and the listing may be theirs.
    async fn apply(&self, wanted: &Ruleset) -> Result<Applied, NftError> {
        let mut last = None;
        for _ in 0..TRIES {
            let before = generation::now().ok();
            self.program.apply(&wanted.batch()).await?;
            let listing = self.program.list(TABLE).await?;
            let after = generation::now().ok();
            let Some(listing) = listing else { continue };
            let alone = before.map(|before| before.wrapping_add(1)) == after;
            last = Some(Applied {
                ruleset: wanted.clone(),
                listing: digest(&listing),
                generation: after.filter(|_| alone),
            });
            if alone {
                break;
            }
        }
        last.ok_or(NftError::Io(io::Error::other("the table vanished each time right after it was written")))
    }
}

fn digest(listing: &str) -> [u8; 32] {
    Sha256::digest(listing.as_bytes()).into()
}
