//! Each key of a service, in every way of writing it.

use super::*;
use crate::service::*;

fn list(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

#[test]
fn a_service_with_an_image_alone_has_the_defaults() {
    let project = project(&["services:\n  web:\n    image: nginx\n"]);
    assert_eq!(project.name, "demo");
    assert_eq!(project.networks, [NetworkSpec { name: "default".to_owned(), internal: false }]);
    assert_eq!(project.warnings, []);
    let service = one(project);
    let mut container = ContainerSpec::new("nginx".parse().unwrap());
    container.networks.push(Attachment { network: "default".to_owned(), aliases: Vec::new() });
    let spec = ServiceSpec {
        format: FORMAT,
        container,
        scale: Scale::Replicas { count: 1 },
        placement: Placement::default(),
        update: Update { order: Order::StartFirst, deadline_ms: None },
        ports: Vec::new(),
        depends_on: Vec::new(),
        shared: Shared {
            networks: vec![NetworkSpec { name: "default".to_owned(), internal: false }],
            volumes: Vec::new(),
        },
    };
    let file = "compose.yaml".to_owned();
    assert_eq!(service, Service { name: "web".to_owned(), spec, file, line: 2 });
}

#[test]
fn commands_are_lists_or_texts_that_are_cut() {
    assert_eq!(container("command: run --fast 'a b'").command, Some(list(&["run", "--fast", "a b"])));
    assert_eq!(container("command: [run, 1, \"a b\"]").command, Some(list(&["run", "1", "a b"])));
    assert_eq!(container("command: []").command, Some(Vec::new()));
    assert_eq!(container("command: ''").command, Some(Vec::new()));
    assert_eq!(container("command:").command, None);
    assert_eq!(container("entrypoint: /bin/sh -c").entrypoint, Some(list(&["/bin/sh", "-c"])));
    assert!(errors("command: a && b")[0].contains("no shell runs it"));
}

#[test]
fn environments_are_lists_or_maps() {
    let expected = map(&[("A", "1"), ("B", "x=y"), ("C", ""), ("D", "017"), ("E", "yes")]);
    for lines in [
        "environment:\n  A: 1\n  B: x=y\n  C: ''\n  D: 017\n  E: yes",
        "environment:\n  - A=1\n  - B=x=y\n  - C=\n  - D=017\n  - E=yes",
    ] {
        assert_eq!(container(lines).env, expected, "{lines}");
    }
}

#[test]
fn a_name_alone_passes_a_variable_on() {
    let given = Given::env(&[("A", "outer"), ("B", "")]);
    for lines in ["environment: [A, B, C]", "environment:\n  A:\n  B:\n  C:"] {
        let project = given.parse(&[&web(lines)]).unwrap();
        assert_eq!(project.warnings[0].text, "the variable C is not set and is left out");
        assert_eq!(one(project).spec.container.env, map(&[("A", "outer"), ("B", "")]));
    }
}

#[test]
fn files_of_variables_come_before_the_services_own() {
    let mut given = Given::env(&[("HOST", "h")]);
    given.env_files = map(&[("a.env", "A=1\nB=$HOST\nC=3\n"), ("b.env", "B=2\n"), ("raw.env", "R='x'\n")]);
    let read = |lines: &str| given.parse(&[&web(lines)]).map(|project| one(project).spec.container.env);
    assert_eq!(read("env_file: a.env").unwrap(), map(&[("A", "1"), ("B", "h"), ("C", "3")]));
    let both = "env_file: [a.env, b.env]\nenvironment:\n  C: own";
    assert_eq!(read(both).unwrap(), map(&[("A", "1"), ("B", "2"), ("C", "own")]));
    let long = "env_file:\n  - path: raw.env\n    format: raw\n  - path: gone.env\n    required: false";
    assert_eq!(read(long).unwrap(), map(&[("R", "'x'")]));
    assert_eq!(
        lines(&read("env_file: gone.env").unwrap_err()),
        "compose.yaml:4:5: error: services.web.env_file: the file \"gone.env\" was not given\n"
    );
    given.env_files = map(&[("bad.env", "A=1\n?\n")]);
    let problems = given.parse(&[&web("env_file: bad.env")]).unwrap_err();
    assert_eq!(problems[0].text, "\"bad.env\", line 2: does not begin with a name and =");
}

#[test]
fn references_name_the_files_that_the_caller_reads() {
    let given = Given::env(&[("STAGE", "prod")]);
    let text = "services:
  web:
    image: a
    env_file:
      - ${STAGE}.env
      - path: more.env
        required: false
    secrets: [key]
    configs: [conf, inline]
  off:
    image: a
    profiles: [debug]
    env_file: off.env
secrets:
  key: {file: ./key.txt}
  unused: {file: ./unused.txt}
configs:
  conf: {file: ./nginx.conf}
  inline: {content: x}
";
    let reference = |path: &str, kind, required, at: &str| Reference {
        path: path.to_owned(),
        kind,
        required,
        named_at: format!("compose.yaml:{at}"),
    };
    assert_eq!(
        given.references(text),
        [
            reference("./key.txt", ReferenceKind::Secret, true, "15:9"),
            reference("./nginx.conf", ReferenceKind::Config, true, "18:10"),
            reference("more.env", ReferenceKind::EnvFile, false, "6:9"),
            reference("prod.env", ReferenceKind::EnvFile, true, "5:9"),
        ]
    );
}

#[test]
fn variables_lists_what_a_file_takes_from_outside() {
    let text = "name: $A
x-base: &base
  image: ${IN_ALIAS}
x-unused: $UNUSED
x-muster: {allow_host_paths: $M}
services:
  web:
    image: app:${B:-${C}}
    command: echo $$D
    environment: [E, 'F=${G}', H=1]
  db:
    <<: *base
    environment: {I: , J: 1}
configs:
  c: {environment: K}
secrets:
  s: {environment: L}
";
    let names: Vec<String> = variables(text).into_iter().collect();
    assert_eq!(names, ["A", "B", "C", "E", "G", "I", "IN_ALIAS", "K", "M"]);
    assert!(variables("a: [").is_empty());
}

#[test]
fn ports_are_published_in_both_forms() {
    let spec = |lines: &str| service(lines).spec.ports;
    let port = |host, container| Port { host, container, protocol: Protocol::Tcp, host_ip: None };
    assert_eq!(spec("ports:\n  - 8080:80\n  - \"443:443\""), [port(443, 443), port(8080, 80)]);
    assert_eq!(spec("ports: [\"9000-9001:80-81\"]"), [port(9000, 80), port(9001, 81)]);
    // Two digits and a colon are a number of base 60 for old readers of YAML.
    assert_eq!(spec("ports:\n  - 22:22"), [port(22, 22)]);
    let long = "ports:
  - target: 53
    published: \"5353\"
    protocol: udp
    host_ip: 127.0.0.1
    mode: host
    name: dns
    app_protocol: dns";
    let host_ip = Some("127.0.0.1".parse().unwrap());
    assert_eq!(spec(long), [Port { host: 5353, container: 53, protocol: Protocol::Udp, host_ip }]);
    assert_eq!(errors("ports: [80]").len(), 1);
    assert!(errors("ports:\n  - published: 80")[0].contains("has no target"));
    assert!(errors("ports:\n  - 80:80\n  - 127.0.0.1:80:81")[0].contains("taken by this service"));
    assert_eq!(spec("ports: [\"80:80\", \"80:80/tcp\"]"), [port(80, 80)]);
    assert_eq!(service("expose: [80, 90-91/udp]").spec.ports, []);
    assert!(errors("expose: [x]")[0].contains("is no port"));
}

#[test]
fn checks_have_all_forms() {
    let check = |lines: &str| container(lines).health;
    let exec = |words: &[&str]| Some(Health::new(Check::Exec { command: list(words) }));
    assert_eq!(
        check("healthcheck: {test: curl -f localhost}"),
        exec(&["/bin/sh", "-c", "curl -f localhost"])
    );
    assert_eq!(check("healthcheck: {test: [CMD-SHELL, \"a || b\"]}"), exec(&["/bin/sh", "-c", "a || b"]));
    assert_eq!(check("healthcheck: {test: [CMD, pg_isready, -U, a]}"), exec(&["pg_isready", "-U", "a"]));
    let off = Some(Health::new(Check::None));
    assert_eq!(check("healthcheck: {test: [NONE]}"), off);
    assert_eq!(check("healthcheck: {disable: true}"), off);
    assert_eq!(check("tty: false"), None);
    let times = "healthcheck:\n  test: [CMD, a]\n  interval: 1m30s\n  timeout: 10s\n  retries: 5\n  start_period: 40s";
    let times = check(times).unwrap();
    let Health { interval_ms, timeout_ms, start_period_ms, retries, .. } = times;
    assert_eq!((interval_ms, timeout_ms, start_period_ms, retries), (90_000, 10_000, 40_000, 5));
    assert_eq!(times.patience_ms(), 40_000 + 5 * 100_000);
    assert!(errors("healthcheck: {test: [ls]}")[0].contains("begins with CMD"));
    assert!(errors("healthcheck: {test: [CMD-SHELL, a, b]}")[0].contains("begins with CMD"));
    assert!(errors("healthcheck: {interval: 10s}")[0].contains("has no test"));
    assert!(errors("healthcheck: {test: a, interval: 10}")[0].contains("has no unit; write 10s"));
}

#[test]
fn the_agent_checks_what_x_muster_says() {
    let check = |lines: &str| container(lines).health.unwrap();
    let tcp = check("x-muster: {health: {tcp: 5432, interval: 5s, success_threshold: 2}}");
    assert_eq!((tcp.check, tcp.interval_ms, tcp.success_threshold), (Check::Tcp { port: 5432 }, 5_000, 2));
    let http = "x-muster:
  health:
    http:
      port: 80
      path: /healthz?x=1
      host: a.example
      headers: {X-Probe: 1}
      expect: [200, 204]";
    let expected = Check::Http {
        port: 80,
        path: "/healthz?x=1".to_owned(),
        host_header: Some("a.example".to_owned()),
        headers: map(&[("X-Probe", "1")]),
        expect: vec![200, 204],
    };
    assert_eq!(check(http).check, expected);
    assert!(errors("x-muster: {health: {http: {path: /}}}")[0].contains("has no port"));
    assert!(errors("x-muster: {health: {http: {port: 80, path: a b}}}")[0].contains("is no path"));
    assert!(errors("x-muster: {health: {interval: 1s}}")[0].contains("neither http: nor tcp:"));
    let both = "healthcheck: {test: a}\nx-muster: {health: {tcp: 80}}";
    assert!(errors(both)[0].contains("two checks"));
}

#[test]
fn deploy_says_how_many_and_how_much() {
    let lines = "deploy:
  mode: replicated
  replicas: 3
  resources:
    limits: {cpus: '0.50', memory: 50M, pids: 100}
    reservations: {cpus: 0.25, memory: 20M}
  restart_policy: {condition: on-failure, max_attempts: 3}
  update_config: {order: stop-first, parallelism: 1}";
    let ServiceSpec { container, scale, placement, update, .. } = service(lines).spec;
    assert_eq!(scale, Scale::Replicas { count: 3 });
    let Resources { cpu_millis, memory_bytes, pids, .. } = container.resources;
    assert_eq!((cpu_millis, memory_bytes, pids), (Some(500), Some(50 << 20), Some(100)));
    assert_eq!(placement.reserve, Reservation { cpu_millis: Some(250), memory_bytes: Some(20 << 20) });
    assert_eq!(container.restart, Restart::OnFailure { max_retries: Some(3) });
    assert_eq!(update.order, Order::StopFirst);
    assert_eq!(service("scale: 2").spec.scale, Scale::Replicas { count: 2 });
    assert_eq!(service("deploy: {replicas: 0}").spec.scale, Scale::Replicas { count: 0 });
    assert!(errors("deploy: {replicas: 1001}")[0].contains("from 0 to 1000"));
    assert!(errors("scale: 2\ndeploy: {replicas: 3}")[0].contains("different numbers"));
    assert!(errors("deploy: {mode: global}")[0].contains("every host"));
    assert!(errors("mem_limit: 10m\nmem_reservation: 20m")[0].contains("more is reserved"));
}

#[test]
fn the_older_keys_limit_too() {
    let lines = "cpus: 1.5\nmem_limit: 1g\nmemswap_limit: 2g\npids_limit: 50\nshm_size: 128m";
    let expected = Resources {
        cpu_millis: Some(1500),
        memory_bytes: Some(1 << 30),
        memory_swap_bytes: Some(2 << 30),
        pids: Some(50),
        shm_bytes: Some(128 << 20),
    };
    assert_eq!(container(lines).resources, expected);
    assert_eq!(container("pids_limit: -1\ncpus: 0").resources, Resources::default());
    // `deploy:` wins wherever it stands.
    let both = "deploy: {resources: {limits: {memory: 2g}}}\nmem_limit: 1g";
    assert_eq!(container(both).resources.memory_bytes, Some(2 << 30));
    assert!(errors("mem_limit: 1m")[0].contains("at least 6m"));
    assert!(errors("mem_limit: 2g\nmemswap_limit: 1g")[0].contains("below mem_limit"));
    assert!(errors("memswap_limit: 1g")[0].contains("needs mem_limit"));
}

#[test]
fn restarts_have_four_policies() {
    let restart = |lines: &str| container(lines).restart;
    assert_eq!(restart("tty: false"), Restart::Always);
    assert_eq!(restart("restart: always"), Restart::Always);
    assert_eq!(restart("restart: unless-stopped"), Restart::Always);
    assert_eq!(restart("restart: no"), Restart::Never);
    assert_eq!(restart("restart: \"no\""), Restart::Never);
    assert_eq!(restart("restart: on-failure"), Restart::OnFailure { max_retries: None });
    assert_eq!(restart("restart: on-failure:5"), Restart::OnFailure { max_retries: Some(5) });
    assert!(errors("restart: sometimes")[0].contains("is none of no, always"));
}

#[test]
fn dependencies_are_lists_or_maps() {
    let depends_on = |lines: &str| {
        let text = format!(
            "services:
  web:
    image: a
    {lines}
  db:
    image: b
    healthcheck: {{test: a}}
  off:
    image: c
    profiles: [x]
"
        );
        Given::default().parse(&[&text]).map(|project| project.services[1].spec.depends_on.clone())
    };
    let db = |condition| vec![Dependency { service: "db".to_owned(), condition }];
    assert_eq!(depends_on("depends_on: [db]").unwrap(), db(Condition::Started));
    assert_eq!(depends_on("links: [db, \"db:db\"]").unwrap(), db(Condition::Started));
    let healthy = "depends_on: {db: {condition: service_healthy, restart: false}}";
    assert_eq!(depends_on(healthy).unwrap(), db(Condition::Healthy));
    assert_eq!(depends_on("depends_on: {db: {}}").unwrap(), db(Condition::Started));
    assert_eq!(depends_on("depends_on: {off: {required: false}, gone: {required: false}}").unwrap(), []);
    let error = |lines: &str| depends_on(lines).unwrap_err()[0].text.clone();
    assert_eq!(error("depends_on: [gone]"), "there is no service \"gone\"");
    assert_eq!(error("depends_on: [off]"), "the service \"off\" is off by its profiles");
    let ended = "depends_on: {db: {condition: service_completed_successfully}}";
    assert!(error(ended).contains("come later, with jobs"));
    assert!(error("links: [\"db:database\"]").contains("write aliases:"));
}

#[test]
fn singletons_and_volumes_stop_first_and_say_so() {
    let order = |lines: &str| service(lines).spec.update.order;
    assert_eq!(order("tty: false"), Order::StartFirst);
    assert_eq!(order("volumes: [\"data:/d\"]"), Order::StopFirst);
    assert_eq!(warnings("volumes: [\"data:/d\"]").len(), 1);
    assert_eq!(order("x-muster: {singleton: true}"), Order::StopFirst);
    assert_eq!(service("x-muster: {singleton: true}").spec.scale, Scale::Singleton);
    let said = "volumes: [\"data:/d\"]\nx-muster: {update_order: start_first, deadline: 2m}";
    assert_eq!(service(said).spec.update, Update { order: Order::StartFirst, deadline_ms: Some(120_000) });
    assert_eq!(warnings(said), Vec::<String>::new());
    assert!(errors("x-muster: {singleton: true, update_order: start_first}")[0].contains("two would run"));
    assert!(errors("x-muster: {singleton: true}\nscale: 2")[0].contains("one replica"));
}

#[test]
fn placement_is_a_host_a_selector_or_a_spread() {
    let lines = "x-muster:\n  placement: {host: north-1, selector: 'disk = ssd', spread: zone}";
    let expected = Placement {
        host: Some("north-1".to_owned()),
        selector: Some("disk=ssd".to_owned()),
        spread: Some(Spread::Label("zone".to_owned())),
        reserve: Reservation::default(),
    };
    assert_eq!(service(lines).spec.placement, expected);
    let over_hosts = Placement { spread: Some(Spread::Hosts), ..Placement::default() };
    assert_eq!(service("x-muster: {placement: {spread: host}}").spec.placement, over_hosts);
    assert_eq!(service("x-muster: {placement: {}}").spec.placement, Placement::default());
    assert!(errors("x-muster: {placement: {selector: 'a in ('}}")[0].contains("is no selector"));
    assert!(errors("x-muster: {placement: {spread: '-'}}")[0].contains("no key of a label"));
    assert!(errors("x-muster: {placment: {}}")[0].contains("placement is meant, perhaps"));
}

#[test]
fn the_rest_of_a_container_is_read() {
    let read = container(
        "working_dir: /srv/app/
user: \"1000:www\"
hostname: web
read_only: true
init: false
pull_policy: always
stop_grace_period: 1m
stop_signal: quit
labels: [a=1, b]
extra_hosts: ['db=10.0.0.1', 'v6:[::1]', 'host.docker.internal:host-gateway']
cap_add: [net_admin]
cap_drop: [CAP_MKNOD, ALL]
security_opt: [no-new-privileges:true]
sysctls: {net.core.somaxconn: 1024}
ulimits: {nproc: 65535, nofile: {soft: 20000, hard: 40000}, core: -1}
logging: {driver: json-file, options: {max-size: 10m, max-file: '3'}}",
    );
    assert_eq!(read.working_dir.as_deref(), Some("/srv/app"));
    assert_eq!(read.user.as_deref(), Some("1000:www"));
    assert_eq!(read.hostname.as_deref(), Some("web"));
    assert_eq!((read.security.read_only_root, read.init, read.pull), (true, false, Pull::Always));
    assert_eq!(read.stop, Stop { signal: Some("SIGQUIT".to_owned()), grace_ms: 60_000 });
    assert_eq!(read.labels, map(&[("a", "1"), ("b", "")]));
    let names: Vec<&str> = read.extra_hosts.iter().map(|host| host.name.as_str()).collect();
    assert_eq!(names, ["db", "host.docker.internal", "v6"]);
    assert_eq!(read.extra_hosts[1].address, HostAddress::Gateway);
    assert_eq!(read.security.cap_add, ["NET_ADMIN".to_owned()].into());
    assert_eq!(read.security.cap_drop, ["ALL".to_owned(), "MKNOD".to_owned()].into());
    assert!(read.security.no_new_privileges);
    assert_eq!(read.security.sysctls, map(&[("net.core.somaxconn", "1024")]));
    assert_eq!(read.ulimits["nofile"], Ulimit { soft: 20_000, hard: 40_000 });
    assert_eq!(read.ulimits["core"], Ulimit { soft: -1, hard: -1 });
    assert_eq!(read.logging, Logging { max_size_bytes: Some(10 << 20), max_files: Some(3) });
}

#[test]
fn profiles_choose_services() {
    let text = "services:
  web: {image: a}
  debug: {image: b, profiles: [debug, all]}
  more: {image: c, profiles: more}
";
    let on = |profiles: &[&str]| {
        let given = Given { profiles: list(profiles), ..Given::default() };
        let project = given.parse(&[text]).unwrap();
        project.services.into_iter().map(|service| service.name).collect::<Vec<_>>()
    };
    assert_eq!(on(&[]), ["web"]);
    assert_eq!(on(&["debug"]), ["debug", "web"]);
    assert_eq!(on(&["more", "all"]), ["debug", "more", "web"]);
    assert_eq!(on(&["*"]), ["debug", "more", "web"]);
    assert_eq!(
        refused(&["services:\n  a: {image: a, profiles: [x]}\n"]),
        "compose.yaml:1:1: error: services: no service is on, for each has profiles; choose with --profile: \"x\"\n"
    );
}

#[test]
fn a_profile_that_no_service_has_is_refused_with_those_that_there_are() {
    let refused = |text: &str, profiles: &[&str]| {
        let given = Given { profiles: list(profiles), ..Given::default() };
        let problems = given.parse(&[text]).unwrap_err();
        problems.iter().map(|problem| problem.text.clone()).collect::<Vec<_>>()
    };
    let text = "services:\n  web: {image: a}\n  more: {image: b, profiles: [debug, all]}\n";
    let said = "no service has the profile \"nope\"; there are \"all\", \"debug\"";
    assert_eq!(refused(text, &["debug", "nope"]), [said]);
    let said = "no service has the profile \"nope\"; no service has any";
    assert_eq!(refused("services: {web: {image: a}}\n", &["nope"]), [said]);
}
