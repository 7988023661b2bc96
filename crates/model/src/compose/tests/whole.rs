//! What is checked across services.

use super::*;
use crate::service::Port;

fn said(text: &str) -> Vec<String> {
    refused(&[text]).lines().map(str::to_owned).collect()
}

#[test]
fn circles_are_shown_in_their_order() {
    let text = "services:
  a: {image: x, depends_on: [b, e]}
  b: {image: x, depends_on: [c]}
  c: {image: x, depends_on: [d]}
  d: {image: x, depends_on: [b]}
  e: {image: x}
";
    let expected = "compose.yaml:3:17: error: services.b.depends_on: services wait for each other in a circle: b, c, d, b";
    assert_eq!(said(text), [expected]);
    let own = "services:\n  a: {image: x, depends_on: [a]}\n";
    assert!(said(own)[0].ends_with("in a circle: a, a"));
}

#[test]
fn a_port_of_the_host_leads_to_one_service() {
    let text = "services:
  a:
    image: x
    ports: [\"80:80\", \"53:53/udp\"]
  b:
    image: x
    ports: [\"127.0.0.1:80:8080\", \"53:53\"]
";
    let expected = "compose.yaml:7:13: error: services.b.ports[0]: port 80/tcp of the host is taken by \"a\"";
    assert_eq!(said(text), [expected]);
    let apart = "services:
  a:
    image: x
    ports: [\"80:80\"]
    x-muster: {placement: {host: north}}
  b:
    image: x
    ports: [\"80:80\"]
    x-muster: {placement: {host: south}}
";
    let ports: Vec<Vec<Port>> = project(&[apart]).services.into_iter().map(|one| one.spec.ports).collect();
    assert_eq!(ports[0], ports[1]);
}

#[test]
fn whoever_waits_for_health_needs_a_check() {
    let text = |check: &str| {
        format!(
            "services:\n  a: {{image: x, depends_on: {{b: {{condition: service_healthy}}}}}}\n  b: {{image: x{check}}}\n"
        )
    };
    assert_eq!(project(&[&text(", healthcheck: {test: a}")]).warnings, []);
    assert!(project(&[&text("")]).warnings[0].text.contains("has no healthcheck here"));
    assert!(said(&text(", healthcheck: {disable: true}"))[0].contains("is switched off"));
}

#[test]
fn only_what_services_use_is_kept() {
    let text = "services:
  a: {image: x, networks: [n1], volumes: [\"v1:/a\"], secrets: [s1], configs: [c1]}
  b: {image: x, profiles: [off], networks: [n2], volumes: [\"v2:/a\"], secrets: [s2]}
networks: {n1: , n2: , n3: }
volumes: {v1: , v2: , v3: }
secrets: {s1: {file: a}, s2: {file: b}}
configs: {c1: {content: \"x$$y\"}, c2: {content: z}}
";
    let project = project(&[text]);
    let names = |list: Vec<&str>| list.join(" ");
    assert_eq!(names(project.networks.iter().map(|one| one.name.as_str()).collect()), "n1");
    assert_eq!(names(project.volumes.iter().map(|one| one.name.as_str()).collect()), "v1");
    assert_eq!(
        project.secrets,
        [Secret { name: "s1".to_owned(), source: SecretSource::File("a".to_owned()) }]
    );
    let content = ConfigSource::Content("x$y".to_owned());
    assert_eq!(project.configs, [Config { name: "c1".to_owned(), source: content }]);
}

#[test]
fn secrets_and_configurations_say_where_their_content_is() {
    let text = |section: &str| {
        format!(
            "services:\n  a: {{image: x, secrets: [s], configs: [c]}}\nsecrets:\n  s: {section}\nconfigs:\n  c: {{content: x}}\n"
        )
    };
    let secret = |section: &str| project(&[&text(section)]).secrets[0].source.clone();
    assert_eq!(secret("{file: ./s}"), SecretSource::File("./s".to_owned()));
    assert_eq!(secret("{environment: TOKEN}"), SecretSource::Variable("TOKEN".to_owned()));
    assert_eq!(secret("{external: true}"), SecretSource::Stored("s".to_owned()));
    assert_eq!(secret("{external: true, name: shop.key}"), SecretSource::Stored("shop.key".to_owned()));
    assert!(said(&text(""))[0].contains("says not where its content is"));
    assert!(said(&text("{file: a, environment: B}"))[0].contains("in several ways"));
    assert!(said(&text("{content: x}"))[0].contains("is not known here"));
    let config = |section: &str, env: &[(&str, &str)]| {
        let text = format!("services:\n  a: {{image: x, configs: [c]}}\nconfigs:\n  c: {section}\n");
        Given::env(env).parse(&[&text]).map(|project| project.configs[0].source.clone())
    };
    assert_eq!(config("{file: ./c}", &[]).unwrap(), ConfigSource::File("./c".to_owned()));
    assert_eq!(config("{environment: A}", &[("A", "1")]).unwrap(), ConfigSource::Content("1".to_owned()));
    assert!(config("{environment: A}", &[]).unwrap_err()[0].text.contains("the variable \"A\" is not set"));
    assert!(config("{external: true}", &[]).unwrap_err()[0].text.contains("give file: or content:"));
}

#[test]
fn options_of_volumes_that_are_paths_of_the_host_must_be_asked_for() {
    let text = |options: &str, more: &str| {
        format!(
            "services:\n  a: {{image: x, volumes: [\"v:/v\"]}}\nvolumes:\n  v: {{driver: local, driver_opts: {options}}}\n{more}"
        )
    };
    let nfs = project(&[&text("{type: nfs, o: addr=10.0.0.1, device: ':/export'}", "")]);
    let options = map(&[("type", "nfs"), ("o", "addr=10.0.0.1"), ("device", ":/export")]);
    assert_eq!(nfs.volumes[0].options, options);
    let bind = "{type: none, o: bind, device: /etc}";
    assert!(said(&text(bind, "")).iter().any(|line| line.contains("is a path of the host")));
    let allowing = "x-muster: {allow_host_paths: true}\n";
    assert_eq!(project(&[&text(bind, allowing)]).volumes.len(), 1);
    for options in [
        "{type: overlay, device: overlay, o: 'lowerdir=/etc:/usr'}",
        "{type: none, o: bind, device: /srv/../etc}",
    ] {
        let said = said(&text(options, allowing));
        assert!(said.iter().any(|line| line.contains("volumes.v: driver_opts: the ")), "{said:?}");
    }
}
