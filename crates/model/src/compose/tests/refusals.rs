//! What is not supported is named with its place, and what is not known at all too.

use super::*;

#[test]
fn every_refused_key_of_a_service_says_why() {
    for (key, said) in keys::SERVICE {
        let lines = format!("{key}: something");
        match said {
            keys::Said::Refused(reason) => assert_eq!(errors(&lines), [*reason], "{key}"),
            keys::Said::Harmless(reason) => assert_eq!(warnings(&lines), [*reason], "{key}"),
            keys::Said::Fine => assert_eq!(warnings(&lines), Vec::<String>::new(), "{key}"),
        }
        // Off is off, supported or not.
        for off in ["", "false", "[]", "{}"] {
            assert_eq!(errors(&format!("{key}: {off}")), Vec::<String>::new(), "{key}: {off}");
        }
    }
}

#[test]
fn refusals_have_file_line_column_and_path() {
    let text = "version: '3.8'
include: [more.yaml]
services:
  web:
    build: .
    privileged: true
    network_mode: host
  db:
    image: postgres:17
    build: ./db
    devices:
      - /dev/sda
    restrat: always
    deploy:
      placement:
        constraints: [node.role == manager]
      resources:
        reservations:
          devices: [{capabilities: [gpu]}]
volumes:
  data:
    external: true
networks:
  front:
    ipam: {config: [{subnet: 10.0.0.0/24}]}
extra: 1
";
    let said = refused(&[text]);
    // `include:` is found before anything is merged; the rest is told once it is gone.
    assert_eq!(
        said,
        "compose.yaml:2:1: error: include: other files cannot be included; give them all with the command, each as a \
         further file\n"
    );
    let said = refused(&[&text.replace("include: [more.yaml]", "x-include: [more.yaml]")]);
    let expected = [
        "compose.yaml:5:5: error: services.web.build: builds come later; build the image elsewhere, push it to a registry, \
         and name it under image:",
        "compose.yaml:6:5: error: services.web.privileged: would give the container the host; add what it needs under \
         cap_add:",
        "compose.yaml:7:5: error: services.web.network_mode: a service is on the networks of its project, with the ports \
         that ports: publishes; use networks: and ports:",
        "compose.yaml:10:5: warning: services.db.build: nothing is built yet; the image is fetched from its registry",
        "compose.yaml:11:5: error: services.db.devices: devices of the host are not given to containers",
        "compose.yaml:13:5: error: services.db.restrat: the key \"restrat\" is not known here; restart is meant, perhaps",
        "compose.yaml:16:9: error: services.db.deploy.placement.constraints: use x-muster.placement with host: or selector:",
        "compose.yaml:19:11: error: services.db.deploy.resources.reservations.devices: devices of the host are not given to \
         containers",
        "compose.yaml:22:5: error: volumes.data.external: a volume that Muster did not make is never taken over; leave \
         external: out, and copy the data once",
        "compose.yaml:25:5: error: networks.front.ipam: addresses are given by Muster; leave it out and use names",
        "compose.yaml:26:1: error: extra: the key \"extra\" is not known here",
    ];
    assert_eq!(said.lines().collect::<Vec<_>>(), expected);
}

#[test]
fn harmless_keys_are_warnings() {
    let text = web("tty: true
container_name: shop-web
deploy:
  update_config: {parallelism: 2, delay: 10s}
  labels: {a: b}
networks: {back: {priority: 10}}");
    let said = lines(&project(&[&text]).warnings);
    let expected = [
        "compose.yaml:4:5: warning: services.web.tty: there is no terminal; output is kept as plain lines",
        "compose.yaml:5:5: warning: services.web.container_name: is not used: names of containers are Muster's own; the \
         service is reached by its name",
        "compose.yaml:7:23: warning: services.web.deploy.update_config.parallelism: replicas are updated one at a time",
        "compose.yaml:7:39: warning: services.web.deploy.update_config.delay: the next replica follows when the one before \
         is ready",
        "compose.yaml:8:7: warning: services.web.deploy.labels: labels of a service are not kept; labels: beside it go to \
         the containers",
        "compose.yaml:9:23: warning: services.web.networks.back.priority: networks are joined all at once",
    ];
    assert_eq!(said.lines().collect::<Vec<_>>(), expected);
    assert!(errors("container_name: x\nscale: 2")[0].contains("cannot have one name"));
}

#[test]
fn values_of_the_wrong_kind_are_named() {
    for (lines, reason) in [
        ("image: [a]", "the key \"image\" occurs twice"),
        ("ports: 80:80", "must be a list, not a single value"),
        ("environment: a", "must be a map of keys and values, not a single value"),
        ("environment: [[a]]", "must be a text, not a list"),
        ("deploy: [a]", "must be a map of keys and values, not a list"),
        ("read_only: maybe", "must be true or false, not \"maybe\""),
        ("scale: -1", "must be a whole number from 0 to 1000, not \"-1\""),
        ("user: 'a b'", "is no user"),
        ("user: 'a:b:c'", "is no user"),
        ("stop_signal: SIG", "is no signal"),
        ("pull_policy: never", "always and missing are"),
        ("hostname: a_!", "is no name of a host"),
        ("extra_hosts: [a]", "is no name with an address"),
        ("extra_hosts: ['a=b']", "is no address"),
        ("cap_add: [FLY]", "is no capability"),
        ("security_opt: ['seccomp:unconfined']", "no-new-privileges:true is"),
        ("sysctls: {vm.swappiness: 1}", "setting of the whole host"),
        ("ulimits: {nofiles: 1}", "is no limit of processes"),
        ("ulimits: {nofile: {soft: 2, hard: 1}}", "above the hard one"),
        ("ulimits: {nofile: {soft: 2}}", "not both soft and hard"),
        ("logging: {driver: syslog}", "from muster logs"),
        ("logging: {options: {max-size: 1k}}", "at least 64k"),
        ("logging: {options: {syslog-address: a}}", "is not supported"),
        ("labels: {muster.host: a}", "Muster's own"),
        ("environment: ['=a']", "is no name of a variable"),
        ("tmpfs: ['/a:uid=1']", "is not supported; size= and mode="),
        ("depends_on: {web: {condition: running}}", "neither service_started nor service_healthy"),
        ("volumes: [{type: cluster, source: a, target: /a}]", "volume, tmpfs and bind are"),
        ("volumes: [{source: a, target: /a}]", "has no type"),
        ("secrets: [{source: key, mode: 99}]", "is no mode"),
        ("cpus: lots", "is no number of processors"),
        ("mem_limit: lots", "is no size"),
        ("stop_grace_period: soon", "is no duration"),
    ] {
        let said = errors(lines);
        assert!(said.iter().any(|text| text.contains(reason)), "{lines}: {said:?}");
    }
}

#[test]
fn images_must_be_there_and_be_names() {
    assert_eq!(
        refused(&["services:\n  a: {}\n  b: {image: }\n  c: {image: A}\n  d: {image: ''}\n"])
            .lines()
            .collect::<Vec<_>>(),
        [
            "compose.yaml:2:3: error: services.a: has no image",
            "compose.yaml:3:3: error: services.b: has no image",
            "compose.yaml:4:7: error: services.c.image: \"A\" is no repository: parts between / have lower-case letters and \
             digits, with one . one or two _ or any number of - between them",
            "compose.yaml:5:7: error: services.d.image: an image must not be empty",
        ]
    );
}

#[test]
fn names_are_those_of_dns() {
    let said =
        refused(&["services:\n  Web: {image: a}\n  a.b: {image: a}\nvolumes: {Data: }\nnetworks: {a.b: }\n"]);
    assert_eq!(said.matches("is no name: lower-case letters").count(), 4, "{said}");
    let files = [SourceFile { name: "c", text: "services:\n  a: {image: a}\n" }];
    let (env, none) = (map(&[]), map(&[]));
    let input = Input { files: &files, env: &env, profiles: &[], project: None, env_files: &none };
    let said = |input: &Input<'_>| lines(&parse(input).unwrap_err());
    assert_eq!(said(&input), "error: the project has no name; write name: at the top of the file\n");
    assert!(said(&Input { project: Some("My Shop"), ..input }).contains("\"My Shop\" is no name"));
    assert_eq!(project_name("My Shop!"), Some("myshop".to_owned()));
    assert_eq!(project_name("_-shop-"), Some("shop".to_owned()));
    assert_eq!(project_name("!!"), None);
}
