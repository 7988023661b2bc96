//! Anchors, `extends` and several files: how many texts become one tree.

use super::*;
use crate::service::*;

const BASE: &str = "services:
  web:
    image: app:1
    command: [serve]
    environment:
      A: 1
      B: 2
    ports: [\"80:80\", \"443:443\"]
    volumes: [\"data:/data\", \"logs:/logs\"]
    labels: [x=1]
    networks: [front]
    depends_on: [db]
    cap_add: [NET_ADMIN]
    healthcheck: {test: [CMD, a], interval: 10s}
    logging: {driver: local, options: {max-size: 1m}}
  db:
    image: db:1
volumes: {data: , logs: , other: }
networks: {front: , back: }
";

fn over(text: &str) -> ServiceSpec {
    let project = project(&[BASE, text]);
    project.services.into_iter().find(|service| service.name == "web").unwrap().spec
}

fn web_lines(lines: &str) -> ServiceSpec {
    let body: String = lines.lines().map(|line| format!("    {line}\n")).collect();
    over(&format!("services:\n  web:\n{body}"))
}

#[test]
fn single_values_and_commands_are_replaced() {
    let spec = web_lines("image: app:2\ncommand: run now\nhealthcheck: {test: b}");
    assert_eq!(spec.container.image.tag(), Some("2"));
    assert_eq!(spec.container.command.unwrap(), ["run", "now"]);
    let Health { check, interval_ms, .. } = spec.container.health.unwrap();
    let command = ["/bin/sh", "-c", "b"].map(str::to_owned).into();
    assert_eq!((check, interval_ms), (Check::Exec { command }, 10_000));
    assert_eq!(web_lines("image:").container.image.tag(), Some("1"));
}

#[test]
fn environments_are_joined_however_they_are_written() {
    for lines in ["environment: [B=3, C=4]", "environment: {B: 3, C: 4}"] {
        assert_eq!(web_lines(lines).container.env, map(&[("A", "1"), ("B", "3"), ("C", "4")]), "{lines}");
    }
    assert_eq!(web_lines("labels: {y: 2}").container.labels, map(&[("x", "1"), ("y", "2")]));
}

#[test]
fn lists_are_appended_and_what_is_unique_is_replaced() {
    let ports = |lines: &str| {
        let ports = web_lines(lines).ports.into_iter();
        ports.map(|port| (port.host, port.container)).collect::<Vec<_>>()
    };
    assert_eq!(ports("ports: [\"8080:80\"]"), [(80, 80), (443, 443), (8080, 80)]);
    assert_eq!(ports("ports: [\"80:80/tcp\"]"), [(80, 80), (443, 443)]);
    assert_eq!(ports("ports:\n  - {target: 80, published: 80, host_ip: 0.0.0.0}"), [(80, 80), (443, 443)]);
    let sources = |lines: &str| {
        let mounts = web_lines(lines).container.mounts.into_iter();
        let source = |mount: Mount| match mount.source {
            MountSource::Volume { volume, .. } => format!("{volume}:{}", mount.target),
            other => format!("{other:?}"),
        };
        mounts.map(source).collect::<Vec<_>>()
    };
    assert_eq!(sources("volumes: [\"other:/data\"]"), ["other:/data", "logs:/logs"]);
    let more = "volumes:\n  - {type: volume, source: other, target: /new}";
    assert_eq!(sources(more), ["data:/data", "logs:/logs", "other:/new"]);
    let caps = web_lines("cap_add: [NET_ADMIN, SYS_NICE]").container.security.cap_add;
    assert_eq!(caps.into_iter().collect::<Vec<_>>(), ["NET_ADMIN", "SYS_NICE"]);
}

#[test]
fn names_are_joined_however_they_are_written() {
    let networks = |lines: &str| {
        let networks = web_lines(lines).container.networks.into_iter();
        networks.map(|one| format!("{}{:?}", one.network, one.aliases)).collect::<Vec<_>>()
    };
    assert_eq!(networks("networks: {back: {aliases: [b]}}"), ["back[\"b\"]", "front[]"]);
    assert_eq!(networks("networks: {front: {aliases: [f]}}"), ["front[\"f\"]"]);
    let dependencies = web_lines("depends_on: {db: {condition: service_healthy}}").depends_on;
    assert_eq!(dependencies, [Dependency { service: "db".to_owned(), condition: Condition::Healthy }]);
}

#[test]
fn options_of_logging_are_joined_for_the_same_driver() {
    let logging = |lines: &str| web_lines(lines).container.logging;
    let both = Logging { max_size_bytes: Some(1 << 20), max_files: Some(2) };
    assert_eq!(logging("logging: {options: {max-file: 2}}"), both);
    assert_eq!(logging("logging: {driver: local, options: {max-file: 2}}"), both);
    let other = Logging { max_size_bytes: None, max_files: Some(2) };
    assert_eq!(logging("logging: {driver: json-file, options: {max-file: 2}}"), other);
}

#[test]
fn reset_takes_away_and_override_replaces() {
    let spec = web_lines(
        "ports: !reset []\nenvironment: !override {C: 3}\ncommand: !reset null\ndepends_on: !reset\nlabels: !reset {}",
    );
    assert_eq!(spec.ports, []);
    assert_eq!(spec.container.env, map(&[("C", "3")]));
    assert_eq!((spec.container.command, spec.depends_on), (None, Vec::new()));
    assert_eq!(spec.container.labels, map(&[]));
    let one = web_lines("environment:\n  A: !reset null");
    assert_eq!(one.container.env, map(&[("B", "2")]));
    let gone = project(&[BASE, "services:\n  web:\n    depends_on: !reset []\n  db: !reset null\n"]);
    assert_eq!(gone.services.len(), 1);
    let unknown = refused(&["services:\n  a: {image: !include x}\n"]);
    assert!(unknown.contains("error: the tag !include is not known"), "{unknown}");
}

#[test]
fn what_cannot_go_over_each_other_is_refused() {
    assert_eq!(
        refused(&[BASE, "services:\n  web:\n    ports: {a: 1}\n"]),
        "override.yaml:3:12: error: services.web.ports: cannot go over what an earlier file or the extended service has, \
         since one is a list or map and the other is not\n"
    );
}

#[test]
fn later_files_add_services_networks_and_volumes() {
    let more = "services:
  cache:
    image: redis
    volumes: [\"more:/d\"]
volumes: {more: }
";
    let project = project(&[BASE, more]);
    let names: Vec<&str> = project.services.iter().map(|service| service.name.as_str()).collect();
    assert_eq!(names, ["cache", "db", "web"]);
    assert_eq!(project.services[0].file, "override.yaml");
    let volumes: Vec<&str> = project.volumes.iter().map(|volume| volume.name.as_str()).collect();
    assert_eq!(volumes, ["data", "logs", "more"]);
}

#[test]
fn anchors_and_merge_keys_are_followed() {
    let text = "x-common: &common
  image: app
  environment: &env
    A: 1
services:
  a:
    <<: *common
    environment:
      <<: *env
      B: 2
  b:
    <<: [*common]
    command: run
";
    let project = project(&[text]);
    let env = |index: usize| project.services[index].spec.container.env.clone();
    assert_eq!((env(0), env(1)), (map(&[("A", "1"), ("B", "2")]), map(&[("A", "1")])));
}

#[test]
fn a_service_extends_another_of_the_same_file() {
    let text = "services:
  base:
    image: app
    environment: [A=1, B=2]
    command: [one]
    ports: [\"80:80\"]
  mid:
    extends: base
    ports: !reset []
    environment: {B: 3}
  top:
    extends: {service: mid}
    command: two
    ports: [\"81:80\"]
";
    let project = project(&[text]);
    let by_name = |name: &str| {
        project
            .services
            .iter()
            .find(|service| service.name == name)
            .map(|service| service.spec.clone())
            .unwrap()
    };
    let (mid, top) = (by_name("mid"), by_name("top"));
    assert_eq!(mid.container.env, map(&[("A", "1"), ("B", "3")]));
    assert_eq!(mid.container.command.unwrap(), ["one"]);
    assert_eq!((mid.ports.len(), top.ports[0].host), (0, 81));
    assert_eq!(top.container.command.unwrap(), ["two"]);
    assert_eq!(top.container.env, mid.container.env);
}

#[test]
fn extends_leads_somewhere_in_the_same_file() {
    let text = "services:
  a: {extends: b}
  b: {extends: {service: a}}
  c: {extends: gone}
  d: {extends: {file: other.yaml, service: x}}
  e: {image: x, extends: {service: f, deep: true}}
  f: {image: x}
";
    let said = refused(&[text]);
    let expected = [
        "compose.yaml:3:7: error: services.b.extends: services extend each other in a circle: a, b, a",
        "compose.yaml:4:7: error: services.c.extends: this file has no service \"gone\"",
        "compose.yaml:5:17: error: services.d.extends.file: only services of the same file can be extended; give the \
         other file as one more file, or copy the service",
        "compose.yaml:6:39: error: services.e.extends: \"deep\" is no key of extends",
    ];
    assert_eq!(said.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn variables_are_replaced_in_values_of_every_kind() {
    let env = map(&[("TAG", "2"), ("N", "3"), ("RO", "true"), ("PORT", "8080"), ("EMPTY", "")]);
    let read = |text: &str| {
        let files = [SourceFile { name: "c.yaml", text }];
        parse(&Input { files: &files, env: &env, profiles: &[], project: None, env_files: &map(&[]) })
    };
    let text = "name: shop-$TAG
services:
  web:
    image: app:${TAG:?needed}
    read_only: ${RO}
    deploy: {replicas: $N}
    ports: [\"${PORT}:${INNER:-80}\"]
    environment: {A: \"${EMPTY}\", B: $$X, C: \"${NONE}\"}
    $TAG: 1
";
    let said = lines(&read(text).unwrap_err());
    let expected = [
        "c.yaml:8:45: warning: services.web.environment.C: the variable NONE is not set and becomes empty",
        "c.yaml:9:5: error: services.web.$TAG: the key \"$TAG\" is not known here",
    ];
    assert_eq!(said.lines().collect::<Vec<_>>(), expected);
    let project = read(&text.replace("    $TAG: 1\n", "")).unwrap();
    assert_eq!(project.name, "shop-2");
    let spec = one(project).spec;
    assert_eq!(spec.container.image.to_string(), "docker.io/library/app:2");
    assert!(spec.container.security.read_only_root);
    assert_eq!((spec.scale.count(), spec.ports[0].host, spec.ports[0].container), (3, 8080, 80));
    assert_eq!(spec.container.env, map(&[("A", ""), ("B", "$X"), ("C", "")]));
}

#[test]
fn a_required_variable_is_asked_for_at_its_place() {
    let text = "services:\n  web:\n    image: ${IMAGE:?set it in .env}\n    command: a $ b\n";
    let said = refused(&[text]);
    let expected = [
        "compose.yaml:3:12: error: services.web.image: the variable IMAGE must be set: set it in .env",
        "compose.yaml:4:14: error: services.web.command: \"$ b\" begins no variable; write $$ for a dollar",
    ];
    assert_eq!(said.lines().collect::<Vec<_>>(), expected);
}
