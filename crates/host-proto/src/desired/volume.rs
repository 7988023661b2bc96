//! What the options of a volume make of it. The engine's local driver hands them to `mount` as root, so that they could
//! show a container anything of its host: only what is known to be harmless is, and a path of the host is called that.

use std::collections::BTreeMap;

/// Options of a file system in memory.
const MEMORY: &[&str] = &["gid", "mode", "nr_inodes", "size", "uid"];
/// Options of a file system of another machine. None names a file of the host.
const REMOTE: &[&str] = &[
    "ac",
    "acl",
    "acregmax",
    "acregmin",
    "actimeo",
    "addr",
    "bg",
    "dir_mode",
    "domain",
    "fg",
    "file_mode",
    "forceuid",
    "forcegid",
    "gid",
    "hard",
    "intr",
    "iocharset",
    "local_lock",
    "lock",
    "mfsymlinks",
    "mountport",
    "mountproto",
    "mountvers",
    "namlen",
    "nconnect",
    "nfsvers",
    "noac",
    "noacl",
    "nobrl",
    "nocto",
    "nointr",
    "nolock",
    "noperm",
    "noresvport",
    "noserverino",
    "nounix",
    "pass",
    "password",
    "port",
    "proto",
    "rdirplus",
    "resvport",
    "retrans",
    "retry",
    "rsize",
    "sec",
    "serverino",
    "soft",
    "softerr",
    "tcp",
    "timeo",
    "udp",
    "uid",
    "user",
    "username",
    "vers",
    "wsize",
];
/// What all of them may say.
const ANY: &[&str] = &["noatime", "nodev", "nodiratime", "noexec", "nosuid", "relatime", "ro", "rw"];

/// What a volume is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VolumeKind<'a> {
    /// A directory of the engine's own.
    Directory,
    /// A file system in memory.
    Memory,
    /// A directory of another machine, by NFS or CIFS.
    Remote,
    /// This path of the host, which the host has to allow. It is absolute and climbs nowhere.
    HostPath(&'a str),
    /// Something that a service may not have; why, for people.
    Refused(String),
}

/// What options of the engine's local driver make of a volume.
pub fn volume_kind(options: &BTreeMap<String, String>) -> VolumeKind<'_> {
    let get = |key: &str| options.get(key).map_or("", String::as_str);
    if let Some(key) = options.keys().find(|key| !matches!(key.as_str(), "type" | "device" | "o")) {
        return VolumeKind::Refused(format!("the option {key:?} is none of type, device and o"));
    }
    let device = get("device");
    let words: Vec<&str> = get("o").split(',').map(str::trim).filter(|word| !word.is_empty()).collect();
    let kind = match get("type") {
        "" | "none" if words.iter().any(|word| matches!(*word, "bind" | "rbind")) => {
            let others = words.iter().find(|word| !matches!(**word, "bind" | "rbind") && !ANY.contains(word));
            return others.map_or_else(|| host_path(device), |word| unknown(word));
        }
        "" if options.is_empty() => return VolumeKind::Directory,
        "tmpfs" => (VolumeKind::Memory, MEMORY, matches!(device, "" | "tmpfs"), "tmpfs"),
        "nfs" | "nfs4" => (VolumeKind::Remote, REMOTE, device.starts_with(":/"), ":/path"),
        "cifs" => (VolumeKind::Remote, REMOTE, device.starts_with("//"), "//server/share"),
        other => {
            return VolumeKind::Refused(format!(
                "the type {other:?} is none of tmpfs, nfs, nfs4 and cifs, and a path of the host needs o: bind"
            ));
        }
    };
    let (kind, known, device_fits, device_form) = kind;
    if !device_fits {
        return VolumeKind::Refused(format!("the device {device:?} ought to be {device_form}"));
    }
    let name = |word: &str| word.split_once('=').map_or(word, |(name, _)| name).to_owned();
    let stranger = words.iter().find(|word| {
        let name = name(word);
        !known.contains(&name.as_str()) && !ANY.contains(&name.as_str())
    });
    stranger.map_or(kind, |word| unknown(&name(word)))
}

fn unknown(word: &str) -> VolumeKind<'static> {
    VolumeKind::Refused(format!("the word {word:?} in o is not known to be harmless"))
}

fn host_path(path: &str) -> VolumeKind<'_> {
    let plain = path.starts_with('/') && path.split('/').all(|part| part != "..");
    if plain {
        VolumeKind::HostPath(path)
    } else {
        VolumeKind::Refused(format!("the device {path:?} ought to be an absolute path without \"..\""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(kind: &str, device: &str, o: &str) -> String {
        let all = [("type", kind), ("device", device), ("o", o)];
        let options: BTreeMap<_, _> = all
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect();
        format!("{:?}", volume_kind(&options))
    }

    #[test]
    fn what_is_known_to_be_harmless_is_told_from_paths_of_the_host() {
        assert_eq!(kind("", "", ""), "Directory");
        assert_eq!(kind("tmpfs", "tmpfs", "size=64m,uid=1000,noexec"), "Memory");
        assert_eq!(kind("nfs", ":/exports/data", "addr=10.0.0.9,rw,nfsvers=4,soft"), "Remote");
        assert_eq!(kind("cifs", "//server/share", "username=u,password=p,vers=3.0"), "Remote");
        for (type_, o) in [("none", "bind"), ("", "bind,ro"), ("none", "rbind,rw")] {
            assert_eq!(kind(type_, "/srv/data", o), "HostPath(\"/srv/data\")");
        }
    }

    #[test]
    fn whatever_else_root_could_mount_is_refused() {
        for (type_, device, o) in [
            ("overlay", "overlay", "lowerdir=/etc:/usr/share"),
            ("proc", "proc", ""),
            ("ext4", "/dev/vda", ""),
            ("9p", "x", "trans=virtio"),
            ("NONE", "/etc", "ro,rBind"),
            ("none", "/etc", "ro"),
            ("none", "/etc", ""),
            ("", "/etc", ""),
            ("none", "/srv/data/../../etc", "bind"),
            ("none", "etc", "bind"),
            ("none", "/srv", "bind,remount"),
            ("tmpfs", "/etc", ""),
            ("tmpfs", "tmpfs", "move"),
            ("tmpfs", "tmpfs", "lowerdir=/etc"),
            ("nfs", "/etc", "addr=1.2.3.4"),
            ("nfs", ":/x", "addr=1.2.3.4,rbind"),
            ("cifs", "//s/x", "credentials=/etc/shadow"),
        ] {
            assert!(kind(type_, device, o).starts_with("Refused"), "{type_} {device} {o}");
        }
        let odd = BTreeMap::from([("mountpoint".to_owned(), "/etc".to_owned())]);
        assert!(matches!(volume_kind(&odd), VolumeKind::Refused(_)));
    }
}
