//! Images: by what name one is asked for, and which may go when the disk is full (R43). Only images that were pulled for
//! a replica of ours ever go, and never by the engine's prune.

use std::collections::{BTreeMap, BTreeSet};

use host_proto::desired::{Gc, Image, registry_of};
use host_proto::id::{ReleaseId, ServiceId};
use serde::{Deserialize, Serialize};

/// An image reference in its parts: `registry.example:5000/team/app:1.2@sha256:…`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// Host and port; `docker.io` when it names none.
    pub registry: String,
    /// What stands before tag and digest, as it was written: the engine knows it by that.
    pub name: String,
    /// The tag, without the colon.
    pub tag: Option<String>,
    /// The digest, with its algorithm.
    pub digest: Option<String>,
}

impl Reference {
    /// Takes a reference apart. Every text is one; whether it names anything the engine says.
    pub fn parse(text: &str) -> Self {
        let (rest, digest) = match text.split_once('@') {
            Some((rest, digest)) => (rest, Some(digest.to_owned())),
            None => (text, None),
        };
        let path = rest.rfind('/').map_or(0, |slash| slash + 1);
        let (name, tag) = match rest[path..].split_once(':') {
            Some((last, tag)) => (rest[..path + last.len()].to_owned(), Some(tag.to_owned())),
            None => (rest.to_owned(), None),
        };
        Self { registry: registry_of(&name).to_owned(), name, tag, digest }
    }
}

/// By what an image is looked for and pulled: by digest when there is one (R44), else by tag, `latest` if there is none.
/// Without either an engine would pull every tag.
pub fn pull_name(image: &Image) -> String {
    let reference = Reference::parse(&image.reference);
    match image.digest.as_ref().or(reference.digest.as_ref()) {
        Some(digest) => format!("{}@{digest}", reference.name),
        None => format!("{}:{}", reference.name, reference.tag.as_deref().unwrap_or("latest")),
    }
}

/// An image that was used for a replica of ours. Whoever pulls writes it down: an engine keeps no labels for images.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Used {
    /// By what it was pulled.
    pub image: String,
    /// For which service.
    pub service_id: ServiceId,
    /// In which release.
    pub release_id: ReleaseId,
    /// When a replica was made from it last, in milliseconds since 1970.
    pub used_at_ms: u64,
}

/// How full the disk is that images lie on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fullness {
    /// Bytes in use, in percent.
    pub bytes_pct: u8,
    /// Files in use, in percent.
    pub inodes_pct: u8,
}

/// Images that may go, the longest unused first; none while there is room. Whoever removes them stops as soon as the
/// disk is below `gc.disk_low_pct`, and does not force: what a container of others uses stays.
///
/// What stays: images of the state, of any container of ours, of the last `keep_releases` releases of each service, and
/// everything younger than `min_age_ms`.
pub fn garbage(
    gc: &Gc,
    used: &[Used],
    needed: &BTreeSet<String>,
    fullness: Fullness,
    now_ms: u64,
) -> Vec<String> {
    if fullness.bytes_pct.max(fullness.inodes_pct) < gc.disk_high_pct {
        return Vec::new();
    }
    let mut kept = needed.clone();
    kept.extend(recent(gc, used));
    let mut last_use: BTreeMap<&str, u64> = BTreeMap::new();
    for one in used {
        let at = last_use.entry(&one.image).or_default();
        *at = one.used_at_ms.max(*at);
    }
    let mut garbage: Vec<(u64, &str)> = last_use
        .into_iter()
        .filter(|(image, _)| !kept.contains(*image))
        .filter(|(_, at)| now_ms.saturating_sub(*at) >= gc.min_age_ms)
        .map(|(image, at)| (at, image))
        .collect();
    garbage.sort_unstable();
    garbage.into_iter().map(|(_, image)| image.to_owned()).collect()
}

/// Images of the last releases of each service.
fn recent(gc: &Gc, used: &[Used]) -> BTreeSet<String> {
    let mut releases: BTreeMap<&ServiceId, BTreeMap<&ReleaseId, u64>> = BTreeMap::new();
    for one in used {
        let at = releases.entry(&one.service_id).or_default().entry(&one.release_id).or_default();
        *at = one.used_at_ms.max(*at);
    }
    let keep = usize::try_from(gc.keep_releases).unwrap_or(usize::MAX);
    let mut last: BTreeSet<&ReleaseId> = BTreeSet::new();
    for of_service in releases.into_values() {
        let mut by_age: Vec<_> = of_service.into_iter().map(|(release, at)| (at, release)).collect();
        by_age.sort_unstable_by(|one, other| other.cmp(one));
        last.extend(by_age.into_iter().take(keep).map(|(_, release)| release));
    }
    used.iter().filter(|one| last.contains(&one.release_id)).map(|one| one.image.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(image: &str, release: &str, used_at_ms: u64) -> Used {
        Used {
            image: image.to_owned(),
            service_id: "svc_web".parse().unwrap(),
            release_id: release.parse().unwrap(),
            used_at_ms,
        }
    }

    #[test]
    fn references_are_taken_apart_as_an_engine_does() {
        let cases = [
            ("nginx", "docker.io", "nginx", None, None),
            ("team/app:1.2", "docker.io", "team/app", Some("1.2"), None),
            ("localhost/app", "localhost", "localhost/app", None, None),
            ("127.0.0.1:5000/a/b:x", "127.0.0.1:5000", "127.0.0.1:5000/a/b", Some("x"), None),
            ("r.example/app:1@sha256:ab", "r.example", "r.example/app", Some("1"), Some("sha256:ab")),
        ];
        for (text, registry, name, tag, digest) in cases {
            let reference = Reference::parse(text);
            let expected = Reference {
                registry: registry.to_owned(),
                name: name.to_owned(),
                tag: tag.map(str::to_owned),
                digest: digest.map(str::to_owned),
            };
            assert_eq!(reference, expected, "{text}");
        }
    }

    #[test]
    fn images_are_pulled_by_digest_and_never_without_a_tag() {
        let image = |reference: &str, digest: Option<&str>| {
            let digest = digest.map(str::to_owned);
            pull_name(&Image { reference: reference.to_owned(), digest, pull: Default::default() })
        };
        assert_eq!(image("nginx:1.27", Some("sha256:ab")), "nginx@sha256:ab");
        assert_eq!(image("nginx@sha256:cd", None), "nginx@sha256:cd");
        assert_eq!(image("r.example:5000/nginx", None), "r.example:5000/nginx:latest");
    }

    #[test]
    fn what_is_needed_recent_or_young_stays_when_the_disk_is_full() {
        let gc = Gc { keep_releases: 2, ..Gc::default() };
        let used = [
            used("app:1", "rel_1", 1_000),
            used("app:2", "rel_2", 2_000),
            used("app:3", "rel_3", 3_000),
            used("app:4", "rel_4", 4_000),
            used("app:0", "rel_0", 500),
        ];
        let needed = BTreeSet::from(["app:0".to_owned()]);
        let full = Fullness { bytes_pct: 80, inodes_pct: 3 };
        let late = 10_000_000;
        assert_eq!(garbage(&gc, &used, &needed, full, late), ["app:1", "app:2"]);
        let roomy = Fullness { bytes_pct: 79, inodes_pct: 79 };
        assert!(garbage(&gc, &used, &needed, roomy, late).is_empty());
        let soon = 1_000 + gc.min_age_ms;
        assert_eq!(garbage(&gc, &used, &needed, full, soon), ["app:1"]);
        let no_files_left = Fullness { bytes_pct: 3, inodes_pct: 95 };
        assert_eq!(garbage(&gc, &used, &needed, no_files_left, late).len(), 2);
    }
}
