//! The stored document: what it looks like, that it reads back, and that only what is set is in it.

use super::*;

fn image(text: &str) -> ImageRef {
    text.parse().unwrap()
}

fn small() -> ServiceSpec {
    ServiceSpec {
        format: FORMAT,
        container: ContainerSpec::new(image("nginx")),
        scale: Scale::Replicas { count: 2 },
        placement: Placement::default(),
        update: Update { order: Order::StartFirst, deadline_ms: None },
        ports: Vec::new(),
        depends_on: Vec::new(),
        shared: Shared::default(),
    }
}

fn full() -> ServiceSpec {
    let mut spec = small();
    let container = &mut spec.container;
    container.command = Some(vec!["run".to_owned()]);
    container.env.insert("A".to_owned(), "1".to_owned());
    let source = MountSource::Volume { volume: "data".to_owned(), no_copy: false };
    container.mounts.push(Mount { target: "/data".to_owned(), source, read_only: false });
    let source = MountSource::Secret { secret: "key".to_owned(), access: FileAccess::default() };
    container.mounts.push(Mount { target: "/run/secrets/key".to_owned(), source, read_only: true });
    container.networks.push(Attachment { network: "default".to_owned(), aliases: vec!["w".to_owned()] });
    let address = HostAddress::Ip("10.0.0.1".parse().unwrap());
    container.extra_hosts.push(ExtraHost { name: "old".to_owned(), address });
    container.health = Some(Health::new(Check::Tcp { port: 80 }));
    container.restart = Restart::OnFailure { max_retries: Some(3) };
    container.init = false;
    spec.ports.push(Port { host: 80, container: 8080, protocol: Protocol::Tcp, host_ip: None });
    spec.depends_on.push(Dependency { service: "db".to_owned(), condition: Condition::Healthy });
    spec.placement.host = Some("north-1".to_owned());
    spec.shared.networks.push(NetworkSpec { name: "default".to_owned(), internal: true });
    spec.shared.volumes.push(VolumeSpec { name: "data".to_owned(), options: BTreeMap::new() });
    spec
}

#[test]
fn what_is_only_a_default_is_not_written() {
    let text = small().to_json().unwrap();
    assert_eq!(
        text,
        r#"{"format":1,"container":{"image":"docker.io/library/nginx:latest"},"#.to_owned()
            + r#""scale":{"kind":"replicas","count":2},"update":{"order":"start_first"}}"#
    );
}

#[test]
fn a_document_reads_back() {
    for spec in [small(), full()] {
        let text = spec.to_json().unwrap();
        let back = ServiceSpec::from_json(&text).unwrap();
        assert_eq!(back, spec);
        assert_eq!(back.to_json().unwrap(), text);
    }
}

#[test]
fn a_newer_document_is_refused_whatever_its_shape() {
    let error = ServiceSpec::from_json(r#"{"format":2,"pod":{}}"#).unwrap_err();
    assert_eq!(error.to_string(), "has format 2; this program reads up to 1");
    assert!(matches!(ServiceSpec::from_json("{}"), Err(InvalidSpec::Json(_))));
    let bad_image = small().to_json().unwrap().replace("library/nginx", "library/NGINX");
    assert!(matches!(ServiceSpec::from_json(&bad_image), Err(InvalidSpec::Json(_))));
}

#[test]
fn scale_ports_and_placement_are_no_part_of_the_container() {
    let (mut a, b) = (full(), full());
    a.scale = Scale::Singleton;
    a.ports.clear();
    a.placement = Placement::default();
    a.shared = Shared::default();
    assert_eq!(a.container.canonical().unwrap(), b.container.canonical().unwrap());
    a.container.env.insert("B".to_owned(), String::new());
    assert_ne!(a.container.canonical().unwrap(), b.container.canonical().unwrap());
}

#[test]
fn data_and_singletons_bind_a_service_to_its_host() {
    let mut spec = small();
    assert!(!spec.is_bound());
    spec.scale = Scale::Singleton;
    assert!(spec.is_bound());
    assert!(full().is_bound());
}

#[test]
fn ports_collide_when_one_host_cannot_have_both() {
    let port = |host_ip: Option<&str>, host, protocol| Port {
        host_ip: host_ip.map(|ip| ip.parse().unwrap()),
        host,
        container: 1,
        protocol,
    };
    let all = port(None, 80, Protocol::Tcp);
    assert!(all.collides(&port(Some("10.0.0.1"), 80, Protocol::Tcp)));
    assert!(all.collides(&port(Some("0.0.0.0"), 80, Protocol::Tcp)));
    assert!(!all.collides(&port(None, 81, Protocol::Tcp)));
    assert!(!all.collides(&port(None, 80, Protocol::Udp)));
    let one = port(Some("10.0.0.1"), 80, Protocol::Tcp);
    assert!(!one.collides(&port(Some("10.0.0.2"), 80, Protocol::Tcp)));
}

#[test]
fn names_go_into_names_of_dns() {
    for name in ["a", "web", "0-a_b", &"a".repeat(55)] {
        assert!(is_name(name), "{name}");
    }
    for name in ["", "Web", "a.b", "-a", "a-", "_a", "é", &"a".repeat(56)] {
        assert!(!is_name(name), "{name}");
    }
}
