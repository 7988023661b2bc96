//! A directory that lies in memory: as it is on most systems below /run, else by a file system of its own.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use nix::errno::Errno;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::statfs::{FsType, TMPFS_MAGIC, statfs};
use reconcile::{Trouble, TroubleKind};

/// Kept by `ramfs`, which is memory that is never swapped out.
const RAMFS_MAGIC: FsType = FsType(0x8584_58f6);
/// Most bytes of all secrets of a host.
const OPTIONS: &str = "size=64m,mode=0700";
/// Held while one is mounted: a second one would hide what the first secret was written to.
static MOUNTING: Mutex<()> = Mutex::new(());

/// Sees that a directory lies in memory.
///
/// # Errors
///
/// Refused when it does not and may not be made to: a secret is never written to a disk.
pub(super) fn ensure(folder: &Path) -> Result<(), Trouble> {
    let _alone = MOUNTING.lock().unwrap_or_else(PoisonError::into_inner);
    if is_memory(folder) {
        return Ok(());
    }
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    mount(Some("muster-secrets"), folder, Some("tmpfs"), flags, Some(OPTIONS)).map_err(|error| Trouble {
        text: format!("{} is not in memory, and no tmpfs can be mounted there: {error}", folder.display()),
        kind: TroubleKind::Refused,
    })
}

/// Takes away the file system that [`ensure`] made, if it made one.
///
/// # Errors
///
/// When the kernel does not let go of it.
pub fn release(folder: &Path) -> std::io::Result<()> {
    match umount2(folder, MntFlags::MNT_DETACH) {
        // No file system of its own, or no such directory.
        Ok(()) | Err(Errno::EINVAL | Errno::ENOENT) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Whether what is written there stays in memory.
fn is_memory(folder: &Path) -> bool {
    statfs(folder).is_ok_and(|found| [TMPFS_MAGIC, RAMFS_MAGIC].contains(&found.filesystem_type()))
}
