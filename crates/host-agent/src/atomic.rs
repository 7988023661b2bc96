//! Files that are replaced as a whole: after a crash at any point there is the old one or the new one, on the disk.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use crate::options::private_folder;

/// Replaces a file, readable by its owner only, durably: written anew, flushed, renamed, and the folder flushed.
pub(crate) fn replace(path: &Path, content: &[&[u8]]) -> io::Result<()> {
    let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.exists() {
        private_folder(folder)?;
    }
    let mut file = tempfile::Builder::new().prefix(".new-").tempfile_in(folder)?;
    for part in content {
        file.write_all(part)?;
    }
    file.as_file().set_permissions(std::fs::Permissions::from_mode(0o600))?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_as_a_whole_and_is_its_owners_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/er/agent.json");
        replace(&path, &[b"one"]).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        replace(&path, &[b"t", b"wo"]).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let parent = path.parent().unwrap();
        assert_eq!(parent.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        assert_eq!(std::fs::read_dir(parent).unwrap().count(), 1, "nothing is left over");
    }
}
