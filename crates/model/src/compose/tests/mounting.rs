//! What a service mounts and which networks it is on, in every way of writing it.

use super::*;
use crate::service::*;

#[test]
fn volumes_are_named_in_both_forms() {
    let mount = |source, read_only| Mount { target: "/data".to_owned(), source, read_only };
    let volume = |no_copy| MountSource::Volume { volume: "data".to_owned(), no_copy };
    let tmpfs = |size_bytes, mode| MountSource::Tmpfs { size_bytes, mode };
    for (lines, expected) in [
        ("volumes: [\"data:/data\"]", mount(volume(false), false)),
        ("volumes: [\"data:/data/:ro\"]", mount(volume(false), true)),
        ("volumes: [\"data:/data:rw,nocopy\"]", mount(volume(true), false)),
        (
            "volumes:\n  - {type: volume, source: data, target: /data, read_only: true, volume: {nocopy: true}}",
            mount(volume(true), true),
        ),
        (
            "volumes:\n  - {type: tmpfs, target: /data, tmpfs: {size: 1m, mode: 0o700}}",
            mount(tmpfs(Some(1 << 20), Some(0o700)), false),
        ),
        ("tmpfs: /data:size=64k,mode=1770", mount(tmpfs(Some(64 << 10), Some(0o1770)), false)),
        ("tmpfs: [/data]", mount(tmpfs(None, None), false)),
    ] {
        assert_eq!(container(lines).mounts, [expected], "{lines}");
    }
    assert!(errors("volumes: [/data]")[0].contains("without a name is lost"));
    assert!(errors("volumes: [\"gone:/data\"]")[0].contains("does not stand under volumes:"));
    assert!(errors("volumes: [\"data:data\"]")[0].contains("no absolute path"));
    assert!(errors("volumes: [\"data:/\"]")[0].contains("whole container"));
    assert!(errors("volumes: [\"data:/a\", \"data:/a/\"]")[0].contains("mounted over twice"));
    assert!(errors("volumes: [\"data:/a:b:c\"]")[0].contains("too many colons"));
    assert!(errors("volumes: [\"data:/a:rshared\"]")[0].contains("\"rshared\" is not supported"));
}

#[test]
fn paths_of_the_host_must_be_asked_for() {
    assert!(errors("volumes: [\"/srv:/srv\"]")[0].contains("allow_host_paths: true"));
    assert!(errors("volumes: [\"./site:/srv\"]")[0].contains("use configs: with file:"));
    assert!(errors("volumes: [\"~/site:/srv\"]")[0].contains("are not on the hosts"));
    let mount = |create, read_only| {
        let source = MountSource::HostPath { path: "/srv/a".to_owned(), create };
        [Mount { target: "/srv".to_owned(), source, read_only }]
    };
    let short = container("volumes: [\"/srv/a/:/srv:ro\"]\nx-muster: {allow_host_paths: true}");
    assert_eq!(short.mounts, mount(true, true));
    let long = "volumes:\n  - {type: bind, source: /srv/a, target: /srv}\nx-muster: {allow_host_paths: true}";
    assert_eq!(container(long).mounts, mount(false, false));
    let socket = "volumes: [\"/var/run/docker.sock:/s\"]\nx-muster: {allow_host_paths: true}";
    assert!(warnings(socket).iter().any(|text| text.contains("gives the container the whole host")));
    let top = format!("{}x-muster: {{allow_host_paths: yes}}\n", web("volumes: [\"/srv:/srv\"]"));
    assert_eq!(one(project(&[&top])).spec.container.mounts.len(), 1);
}

#[test]
fn secrets_and_configurations_are_mounted_as_files() {
    let access = FileAccess::default();
    let secret = |target: &str, access| {
        let source = MountSource::Secret { secret: "key".to_owned(), access };
        [Mount { target: target.to_owned(), source, read_only: true }]
    };
    assert_eq!(container("secrets: [key]").mounts, secret("/run/secrets/key", access));
    let long = "secrets:\n  - {source: key, target: tls.key, uid: \"103\", gid: 104, mode: 0440}";
    let own = FileAccess { uid: 103, gid: 104, mode: 0o440 };
    assert_eq!(container(long).mounts, secret("/run/secrets/tls.key", own));
    let elsewhere = "secrets:\n  - {source: key, target: /etc/key}";
    assert_eq!(container(elsewhere).mounts, secret("/etc/key", access));
    let config = |target: &str| {
        let source = MountSource::Config { config: "conf".to_owned(), access };
        [Mount { target: target.to_owned(), source, read_only: true }]
    };
    assert_eq!(container("configs: [conf]").mounts, config("/conf"));
    assert_eq!(container("configs:\n  - {source: conf, target: /etc/c}").mounts, config("/etc/c"));
    assert!(errors("secrets: [gone]")[0].contains("does not stand under secrets:"));
    assert!(errors("configs:\n  - {target: /a}")[0].contains("has no source"));
}

#[test]
fn networks_are_lists_or_maps_with_aliases() {
    let back = |aliases: &[&str]| Attachment {
        network: "back".to_owned(),
        aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(),
    };
    let default = Attachment { network: "default".to_owned(), aliases: Vec::new() };
    assert_eq!(container("networks: [back]").networks, [back(&[])]);
    let both = container("networks:\n  default:\n  back: {aliases: [www, API]}").networks;
    assert_eq!(both, [back(&["api", "www"]), default]);
    assert!(errors("networks: [gone]")[0].contains("does not stand under networks:"));
    assert!(
        errors("networks:\n  back: {ipv4_address: 10.0.0.2}")[0].contains("addresses are given by Muster")
    );
    let own = project(&["services:\n  a: {image: a}\nnetworks:\n  default: {internal: true}\n"]);
    assert_eq!(own.networks, [NetworkSpec { name: "default".to_owned(), internal: true }]);
    assert_eq!(one(own.clone()).spec.shared.networks, own.networks);
}
