//! What services mount: `volumes:`, `tmpfs:`, `secrets:` and `configs:` in their short and long forms.

use super::problem::Problems;
use super::service::{Context, Use, UseKind, unsupported};
use super::walk::{At, shown};
use super::{keys, values};
use crate::config::tree::{Node, Value};
use crate::service::{FileAccess, Mount, MountSource};

/// The largest id of a user or group.
const MAX_ID: u32 = u32::MAX - 1;
/// The most mounts of a service.
const MAX_MOUNTS: usize = 200;
/// Where secrets are, when nothing is said.
const SECRETS: &str = "/run/secrets";

/// Mounts as they are gathered.
#[derive(Debug, Default)]
pub(super) struct Mounts {
    pub(super) list: Vec<(Mount, At)>,
    pub(super) uses: Vec<Use>,
}

impl Mounts {
    fn add(&mut self, at: &At, mount: Mount, problems: &mut Problems<'_>) {
        match values::absolute_path(&mount.target) {
            Ok(target) if target == "/" => problems.error(at, "cannot be mounted over the whole container"),
            Ok(target) => self.list.push((Mount { target, ..mount }, at.clone())),
            Err(reason) => problems.error(at, format!("the target {reason}")),
        }
    }

    /// By target. Two things at one place are a problem.
    pub(super) fn into_sorted(mut self, problems: &mut Problems<'_>) -> (Vec<Mount>, Vec<Use>) {
        self.list.sort_by(|(a, _), (b, _)| a.target.cmp(&b.target));
        if let Some((_, at)) = self.list.get(MAX_MOUNTS) {
            problems.error(at, format!("a service has at most {MAX_MOUNTS} mounts"));
        }
        for pair in self.list.windows(2) {
            if let [(a, _), (b, at)] = pair
                && a.target == b.target
            {
                problems.error(at, format!("{} is mounted over twice", shown(&b.target)));
            }
        }
        (self.list.into_iter().map(|(mount, _)| mount).collect(), self.uses)
    }
}

/// `volumes:`
pub(super) fn volumes(at: &At, context: &Context<'_>, mounts: &mut Mounts, problems: &mut Problems<'_>) {
    for item in at.items(problems) {
        if item.is_map() {
            long(&item, context, mounts, problems);
        } else if let Some(text) = item.text(problems) {
            short(&item, &text, context, mounts, problems);
        }
    }
}

/// What makes two entries of several files the same mount: their target.
pub(super) fn merge_key(item: &Node) -> Option<String> {
    match &item.value {
        Value::Scalar(scalar) => {
            let mut parts = scalar.text.split(':');
            let first = parts.next()?;
            Some(parts.next().unwrap_or(first).trim_end_matches('/').to_owned())
        }
        Value::Map(_) => item.get("target")?.text().map(|text| text.trim_end_matches('/').to_owned()),
        Value::List(_) => None,
    }
}

/// `source:target[:options]`
fn short(item: &At, text: &str, context: &Context<'_>, mounts: &mut Mounts, problems: &mut Problems<'_>) {
    let parts: Vec<&str> = text.split(':').collect();
    let (source, target, options) = match parts.as_slice() {
        [target] => ("", *target, ""),
        [source, target] => (*source, *target, ""),
        [source, target, options] => (*source, *target, *options),
        _ => {
            problems.error(item, format!("{} has too many colons", shown(text)));
            return;
        }
    };
    let mut words =
        Words { source: source.to_owned(), target: target.to_owned(), create: true, ..Words::default() };
    for option in options.split(',').filter(|option| !option.is_empty()) {
        match option {
            "ro" => words.read_only = true,
            "rw" | "cached" | "delegated" | "consistent" => {}
            "nocopy" => words.no_copy = true,
            "z" | "Z" => problems.warn(item, "labels of SELinux are not set on it"),
            _ => problems.error(item, format!("the option {} is not supported", shown(option))),
        }
    }
    if source.starts_with(['/', '.', '~']) {
        host_path(item, words, context, mounts, problems);
    } else {
        volume(item, words, mounts, problems);
    }
}

fn long(item: &At, context: &Context<'_>, mounts: &mut Mounts, problems: &mut Problems<'_>) {
    const KNOWN: [&str; 7] = ["type", "source", "target", "read_only", "bind", "volume", "tmpfs"];
    let mut words = Words::default();
    let mut kind = None;
    for (key, value) in item.entries(problems) {
        match key.as_str() {
            _ if value.is_null() => {}
            "type" => kind = value.text(problems),
            "source" => words.source = value.text(problems).unwrap_or_default(),
            "target" => words.target = value.text(problems).unwrap_or_default(),
            "read_only" => words.read_only = value.boolean(problems).unwrap_or(false),
            "bind" => words.create = bind_options(&value, problems),
            "volume" => words.no_copy = volume_options(&value, problems),
            "tmpfs" => (words.size_bytes, words.mode) = tmpfs_options(&value, problems),
            _ => unsupported(&value, &key, keys::MOUNT, &KNOWN, problems),
        }
    }
    match kind.as_deref() {
        _ if words.target.is_empty() => problems.error(item, "has no target: the path in the container"),
        Some("bind") => host_path(item, words, context, mounts, problems),
        Some("volume") => volume(item, words, mounts, problems),
        Some("tmpfs") => {
            let Words { target, read_only, size_bytes, mode, .. } = words;
            mounts.add(
                item,
                Mount { target, source: MountSource::Tmpfs { size_bytes, mode }, read_only },
                problems,
            );
        }
        Some(other) => {
            problems.error(
                item,
                format!("the type {} is not supported; volume, tmpfs and bind are", shown(other)),
            );
        }
        None => problems.error(item, "has no type: volume, tmpfs or bind"),
    }
}

/// A mount in the words of a file.
#[derive(Debug, Default)]
struct Words {
    source: String,
    target: String,
    read_only: bool,
    /// Whether a missing path of the host is made.
    create: bool,
    no_copy: bool,
    size_bytes: Option<u64>,
    mode: Option<u32>,
}

fn bind_options(at: &At, problems: &mut Problems<'_>) -> bool {
    let mut create = false;
    for (key, value) in at.entries(problems) {
        match key.as_str() {
            "create_host_path" => create = value.boolean(problems).unwrap_or(false),
            "selinux" => problems.warn(&value, "labels of SELinux are not set on it"),
            "propagation" | "recursive" => problems.error(&value, "is not supported; leave it out"),
            _ => unsupported(&value, &key, &[], &["create_host_path"], problems),
        }
    }
    create
}

fn volume_options(at: &At, problems: &mut Problems<'_>) -> bool {
    let mut no_copy = false;
    for (key, value) in at.entries(problems) {
        match key.as_str() {
            "nocopy" => no_copy = value.boolean(problems).unwrap_or(false),
            "subpath" => problems.error(&value, "a part of a volume cannot be mounted; mount all of it"),
            "labels" => problems.warn(&value, "labels of volumes are not kept"),
            _ => unsupported(&value, &key, &[], &["nocopy"], problems),
        }
    }
    no_copy
}

fn tmpfs_options(at: &At, problems: &mut Problems<'_>) -> (Option<u64>, Option<u32>) {
    let (mut size, mut mode) = (None, None);
    for (key, value) in at.entries(problems) {
        match key.as_str() {
            "size" => size = value.bytes(problems),
            "mode" => mode = file_mode(&value, problems),
            _ => unsupported(&value, &key, &[], &["size", "mode"], problems),
        }
    }
    (size, mode)
}

fn volume(item: &At, words: Words, mounts: &mut Mounts, problems: &mut Problems<'_>) {
    let Words { source: name, target, read_only, no_copy, .. } = words;
    if name.is_empty() {
        let text = "a volume without a name is lost with its container; give it a name that stands under volumes:, or \
                    use tmpfs";
        problems.error(item, text);
        return;
    }
    mounts.uses.push(Use { kind: UseKind::Volume, name: name.clone(), at: item.clone() });
    let source = MountSource::Volume { volume: name, no_copy };
    mounts.add(item, Mount { target, source, read_only }, problems);
}

fn host_path(
    item: &At,
    words: Words,
    context: &Context<'_>,
    mounts: &mut Mounts,
    problems: &mut Problems<'_>,
) {
    let Words { source, target, read_only, create, .. } = words;
    if !source.starts_with('/') {
        let text = "files beside the Compose file are not on the hosts; use configs: with file:, or a volume for data";
        problems.error(item, format!("{}: {text}", shown(&source)));
        return;
    }
    if !context.allow_host_paths {
        let text = "a path of the host is outside of the walls between services; use a volume, or write x-muster: \
                    {allow_host_paths: true}, which the host must allow too";
        problems.error(item, format!("{}: {text}", shown(&source)));
        return;
    }
    match values::absolute_path(&source) {
        Ok(path) => {
            if path == "/" || path.ends_with("/docker.sock") || path == "/var/run" || path == "/run" {
                problems.warn(item, format!("{} gives the container the whole host", shown(&path)));
            }
            let source = MountSource::HostPath { path, create };
            mounts.add(item, Mount { target, source, read_only }, problems);
        }
        Err(reason) => problems.error(item, reason),
    }
}

/// `tmpfs:`: paths, with options after a colon.
pub(super) fn tmpfs(at: &At, mounts: &mut Mounts, problems: &mut Problems<'_>) {
    for item in at.one_or_many(problems) {
        let Some(text) = item.text(problems) else { continue };
        let (target, options) = text.split_once(':').unwrap_or((&text, ""));
        let (mut size_bytes, mut mode, mut read_only) = (None, None, false);
        for option in options.split(',').filter(|option| !option.is_empty()) {
            let read = match option.split_once('=') {
                Some(("size", size)) => values::bytes(size).map(|size| size_bytes = Some(size)),
                Some(("mode", text)) => values::mode(text).map(|bits| mode = Some(bits)),
                None if option == "ro" => {
                    read_only = true;
                    Ok(())
                }
                None if matches!(option, "rw" | "noexec" | "nosuid" | "nodev") => Ok(()),
                Some(_) | None => {
                    Err(format!("the option {} is not supported; size= and mode= are", shown(option)))
                }
            };
            if let Err(reason) = read {
                problems.error(&item, reason);
            }
        }
        let source = MountSource::Tmpfs { size_bytes, mode };
        mounts.add(&item, Mount { target: target.to_owned(), source, read_only }, problems);
    }
}

/// `secrets:` of a service.
pub(super) fn secrets(at: &At, mounts: &mut Mounts, problems: &mut Problems<'_>) {
    for item in at.items(problems) {
        let Some(file) = file(&item, problems) else { continue };
        let target = match file.target {
            Some(target) if target.starts_with('/') => target,
            Some(target) => format!("{SECRETS}/{target}"),
            None => format!("{SECRETS}/{}", file.source),
        };
        mounts.uses.push(Use { kind: UseKind::Secret, name: file.source.clone(), at: item.clone() });
        let source = MountSource::Secret { secret: file.source, access: file.access };
        mounts.add(&item, Mount { target, source, read_only: true }, problems);
    }
}

/// `configs:` of a service.
pub(super) fn configs(at: &At, mounts: &mut Mounts, problems: &mut Problems<'_>) {
    for item in at.items(problems) {
        let Some(file) = file(&item, problems) else { continue };
        let target = match file.target {
            Some(target) if target.starts_with('/') => target,
            Some(target) => format!("/{target}"),
            None => format!("/{}", file.source),
        };
        mounts.uses.push(Use { kind: UseKind::Config, name: file.source.clone(), at: item.clone() });
        let source = MountSource::Config { config: file.source, access: file.access };
        mounts.add(&item, Mount { target, source, read_only: true }, problems);
    }
}

struct File {
    source: String,
    target: Option<String>,
    access: FileAccess,
}

/// A secret or configuration: its name, or a map.
fn file(item: &At, problems: &mut Problems<'_>) -> Option<File> {
    let mut file = File { source: String::new(), target: None, access: FileAccess::default() };
    if !item.is_map() {
        file.source = item.text(problems)?;
        return Some(file);
    }
    for (key, value) in item.entries(problems) {
        match key.as_str() {
            _ if value.is_null() => {}
            "source" => file.source = value.text(problems)?,
            "target" => file.target = value.text(problems),
            "uid" => file.access.uid = value.small(MAX_ID, problems).unwrap_or(0),
            "gid" => file.access.gid = value.small(MAX_ID, problems).unwrap_or(0),
            "mode" => file.access.mode = file_mode(&value, problems).unwrap_or(0o444),
            _ => unsupported(&value, &key, &[], &["source", "target", "uid", "gid", "mode"], problems),
        }
    }
    if file.source.is_empty() {
        problems.error(item, "has no source: the name under which it stands at the top");
        return None;
    }
    Some(file)
}

fn file_mode(at: &At, problems: &mut Problems<'_>) -> Option<u32> {
    let text = at.text(problems)?;
    values::mode(&text).map_err(|reason| problems.error(at, reason)).ok()
}
