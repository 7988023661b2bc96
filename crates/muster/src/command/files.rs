//! Files of configurations on this machine: single ones, directories, standard input. What they may hold is for the
//! server to say; only what could never be sent is refused here.

use std::io::Read;
use std::path::{Path, PathBuf};

use api::configs::{File, NewFile};

use crate::failure::{Failure, Kind};

/// The server takes no more, all files of a configuration together.
const MAX_BYTES: u64 = 1 << 20;
/// Directories in directories are read so deep.
const MAX_DEPTH: usize = 16;

/// A configuration to be written.
pub(super) struct Item {
    pub(super) name: String,
    pub(super) source: Source,
}

/// Files of one configuration as they are on this machine.
pub(super) struct Source {
    files: Vec<NewFile>,
    /// Whether this is one file that was named itself. What it is called here says little about its name there; in a
    /// directory a name was chosen on purpose.
    is_loose: bool,
}

impl Source {
    /// The files as they are sent. One loose file takes the place of the one file that is there, whatever both are
    /// called; `wanted` gives it another name. A type that nobody gives stays as it is.
    pub(super) fn named(self, before: &[File], wanted: Option<&str>) -> Result<Vec<NewFile>, Failure> {
        let Self { mut files, is_loose } = self;
        match (wanted, files.as_mut_slice(), before) {
            (Some(name), [file], _) => name.clone_into(&mut file.name),
            (Some(_), ..) => {
                return Err(Failure::usage(format!("--file-name: there are {} files", files.len())));
            }
            // Agents with a single file often have no name for it.
            (None, [file], [old]) if is_loose || old.name.is_empty() => file.name.clone_from(&old.name),
            _ => {}
        }
        for file in files.iter_mut().filter(|file| file.content_type.is_none()) {
            let old = before.iter().find(|old| old.name == file.name);
            file.content_type = old.map(|old| old.content_type.clone());
        }
        Ok(files)
    }
}

/// All files of the paths as one configuration: a file has its own name, those of a directory their way below it.
pub(super) fn read_all(paths: &[PathBuf]) -> Result<Source, Failure> {
    let is_loose = matches!(paths, [path] if !path.is_dir());
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
    Ok(Source { files, is_loose })
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
    Ok(Item { name, source: read_all(&[path.to_owned()])? })
}

/// What a directory holds, by name; what is hidden is passed over.
fn entries(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failed = |error: std::io::Error| unreadable(&path.display().to_string(), &error);
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
    let opened = opened.map_err(|error| unreadable(&path.display().to_string(), &error))?;
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
    read.map_err(|error| unreadable(what, &error))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(Failure::new(Kind::Content, format!("{what} has more than 1 MiB")));
    }
    String::from_utf8(bytes).map_err(|_| Failure::new(Kind::Content, format!("{what} is no text (UTF-8)")))
}

fn unreadable(what: &str, error: &std::io::Error) -> Failure {
    let kind = match error.kind() {
        std::io::ErrorKind::NotFound => Kind::NotFound,
        _ => Kind::Failed,
    };
    Failure::new(kind, format!("cannot read {what}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(source: &Source) -> Vec<&str> {
        source.files.iter().map(|file| file.name.as_str()).collect()
    }

    fn source(names: &[&str], is_loose: bool) -> Source {
        let file = |name: &&str| NewFile { name: (*name).to_owned(), ..NewFile::default() };
        Source { files: names.iter().map(file).collect(), is_loose }
    }

    fn sent(source: Source, before: &[&str], wanted: Option<&str>) -> Vec<String> {
        let old = |name: &&str| File { name: (*name).to_owned(), ..File::default() };
        let before: Vec<_> = before.iter().map(old).collect();
        source.named(&before, wanted).unwrap().into_iter().map(|file| file.name).collect()
    }

    #[test]
    fn one_file_keeps_the_name_that_it_has_on_the_server() {
        assert_eq!(sent(source(&["a.yaml"], true), &[], None), ["a.yaml"], "the first revision");
        assert_eq!(sent(source(&["b.yaml"], true), &["a.yaml"], None), ["a.yaml"]);
        assert_eq!(sent(source(&[""], true), &["a.yaml"], None), ["a.yaml"], "standard input");
        assert_eq!(sent(source(&["a.yaml"], true), &[""], None), [""]);
        assert_eq!(sent(source(&["b.yaml"], true), &["a.yaml"], Some("b.yaml")), ["b.yaml"]);
        assert_eq!(sent(source(&["b.yaml"], false), &["a.yaml"], None), ["b.yaml"], "from a directory");
        assert_eq!(sent(source(&["b.yaml"], true), &["a.yaml", "c.yaml"], None), ["b.yaml"]);
        assert!(source(&["a", "b"], false).named(&[], Some("c")).is_err());
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
        let items: Vec<_> = items.iter().map(|item| (item.name.as_str(), names(&item.source))).collect();
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
        let said = |path: &Path| read_all(&[path.to_owned()]).err().unwrap().to_string();
        assert!(said(&path).contains("a.yaml is no text"));
        std::fs::write(&path, vec![b'a'; (1 << 20) + 1]).unwrap();
        assert!(said(&path).contains("more than 1 MiB"));
        assert!(items(&[PathBuf::from("-")]).is_err());
    }
}
