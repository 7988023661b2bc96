//! Files of configurations on this machine: single ones, directories, standard input. What they may hold is for the
//! server to say; only what could never be sent is refused here.

use std::io::Read;
use std::path::{Path, PathBuf};

use api::configs::NewFile;

use crate::failure::Failure;

/// The server takes no more, all files of a configuration together.
const MAX_BYTES: u64 = 1 << 20;
/// Directories in directories are read so deep.
const MAX_DEPTH: usize = 16;

/// A configuration to be written.
pub(super) struct Item {
    pub(super) name: String,
    pub(super) files: Vec<NewFile>,
}

/// All files of the paths as one configuration: a file has its own name, those of a directory their way below it.
pub(super) fn read_all(paths: &[PathBuf]) -> Result<Vec<NewFile>, Failure> {
    let mut files = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" {
            files.push(NewFile { name: String::new(), content_type: None, body: standard_input()? });
        } else if path.is_dir() {
            directory(path, "", 0, &mut files)?;
        } else {
            files.push(file(path, &base_name(path)?)?);
        }
    }
    Ok(files)
}

/// The configurations that the paths hold: each file is one, and each directory that was named holds one in each file
/// and each directory.
pub(super) fn items(paths: &[PathBuf]) -> Result<Vec<Item>, Failure> {
    let mut items = Vec::new();
    for path in paths {
        if path.as_os_str() == "-" {
            return Err(Failure::usage("standard input has no name: say which configuration it is")
                .hint("muster configs apply NAME -f -"));
        }
        if !path.is_dir() {
            items.push(item(path)?);
            continue;
        }
        for path in entries(path)? {
            items.push(item(&path)?);
        }
    }
    Ok(items)
}

fn item(path: &Path) -> Result<Item, Failure> {
    let base = base_name(path)?;
    let name = if path.is_dir() { base } else { base.split('.').next().unwrap_or_default().to_owned() };
    Ok(Item { name, files: read_all(&[path.to_owned()])? })
}

/// What a directory holds, by name; what is hidden is passed over.
fn entries(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed = |error: std::io::Error| Failure::usage(format!("cannot read {}: {error}", path.display()));
    let entries = std::fs::read_dir(path).map_err(failed)?;
    let mut paths = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(failed)?;
    paths.retain(|path| !path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".")));
    paths.sort();
    Ok(paths)
}

fn directory(path: &Path, prefix: &str, depth: usize, files: &mut Vec<NewFile>) -> Result<(), Failure> {
    if depth >= MAX_DEPTH {
        return Err(Failure::usage(format!("{} is too deep", path.display())));
    }
    for path in entries(path)? {
        let name = format!("{prefix}{}", base_name(&path)?);
        if path.is_dir() {
            directory(&path, &format!("{name}/"), depth + 1, files)?;
        } else {
            files.push(file(&path, &name)?);
        }
    }
    Ok(())
}

fn base_name(path: &Path) -> Result<String, Failure> {
    let name = path.file_name().and_then(|name| name.to_str());
    name.map(str::to_owned).ok_or_else(|| Failure::usage(format!("{} has no usable name", path.display())))
}

fn file(path: &Path, name: &str) -> Result<NewFile, Failure> {
    let opened = std::fs::File::open(path);
    let opened =
        opened.map_err(|error| Failure::usage(format!("cannot read {}: {error}", path.display())))?;
    Ok(NewFile {
        name: name.to_owned(),
        content_type: None,
        body: text(opened, &path.display().to_string())?,
    })
}

fn standard_input() -> Result<String, Failure> {
    text(std::io::stdin().lock(), "standard input")
}

fn text(source: impl Read, what: &str) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = source.take(MAX_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| Failure::usage(format!("cannot read {what}: {error}")))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Failure::usage(format!("{what} has more than 1 MiB")));
    }
    String::from_utf8(bytes).map_err(|_| Failure::usage(format!("{what} is no text (UTF-8)")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(files: &[NewFile]) -> Vec<&str> {
        files.iter().map(|file| file.name.as_str()).collect()
    }

    #[test]
    fn a_directory_is_one_configuration_or_holds_several() {
        let dir = tempfile::tempdir().unwrap();
        let at = |path: &str| dir.path().join(path);
        std::fs::create_dir_all(at("gateway/conf.d")).unwrap();
        for path in ["otel.prod.yaml", "gateway/main.yaml", "gateway/conf.d/a.yaml", "gateway/.hidden"] {
            std::fs::write(at(path), "a: 1\n").unwrap();
        }
        assert_eq!(names(&read_all(&[at("gateway")]).unwrap()), ["conf.d/a.yaml", "main.yaml"]);
        assert_eq!(names(&read_all(&[at("otel.prod.yaml"), at("gateway")]).unwrap()).len(), 3);
        let items = items(&[dir.path().to_owned()]).unwrap();
        let items: Vec<_> = items.iter().map(|item| (item.name.as_str(), names(&item.files))).collect();
        assert_eq!(
            items,
            [("gateway", vec!["conf.d/a.yaml", "main.yaml"]), ("otel", vec!["otel.prod.yaml"])]
        );
    }

    #[test]
    fn what_cannot_be_sent_is_refused_with_its_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.yaml");
        std::fs::write(&path, [0xff]).unwrap();
        assert!(read_all(std::slice::from_ref(&path)).unwrap_err().to_string().contains("a.yaml is no text"));
        std::fs::write(&path, vec![b'a'; (1 << 20) + 1]).unwrap();
        assert!(read_all(&[path]).unwrap_err().to_string().contains("more than 1 MiB"));
        assert!(items(&[PathBuf::from("-")]).is_err());
    }
}
