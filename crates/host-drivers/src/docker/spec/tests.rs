//! A replica with everything, compared with what the engine is asked for.

use serde_json::{Value, json};

use super::*;
use crate::docker::FilePlaces;

fn options() -> EngineOptions {
    EngineOptions {
        socket: "/run/docker.sock".into(),
        host: "hst_1".parse().unwrap(),
        files: FilePlaces { files: "/var/lib/5050/files".into(), secrets: "/run/5050/secrets".into() },
        allow_host_paths: vec!["/usr".into()],
    }
}

fn state(replica: Value) -> DesiredState {
    let network = |id: &str, name: &str, third: u8| {
        json!({
            "id": id, "name": name, "bridge": "mst0", "project_id": "prj_1", "project": "shop",
            "subnet": format!("10.208.{third}.0/24"), "gateway": format!("10.208.{third}.1"),
        })
    };
    let mut base = json!({
        "replica_id": "rep_1", "service_id": "svc_1", "release_id": "rel_1", "project": "shop",
        "service": "web", "number": 1, "name": "shop-web-1-000001", "spec_hash": "ab",
        "image": {"ref": "nginx:1"},
    });
    base.as_object_mut().unwrap().extend(replica.as_object().unwrap().clone());
    serde_json::from_value(json!({
        "epoch": "e", "generation": 1,
        "networks": [network("net_1", "muster-shop-back-1", 4), network("net_2", "muster-shop-front-2", 5)],
        "volumes": [{"id": "vol_1", "name": "muster-shop-data-1"}],
        "files": [
            {"id": "fil_1", "sha256": "00", "size_bytes": 0},
            {"id": "fil_2", "sha256": "00", "size_bytes": 0, "secret": true},
        ],
        "replicas": [base],
    }))
    .unwrap()
}

fn asked(replica: Value, minor: u16) -> Result<Request, String> {
    let state = state(replica);
    request(&options(), ApiVersion { major: 1, minor }, &state, &state.replicas[0], "nginx:1".to_owned())
}

fn body(replica: Value) -> Value {
    serde_json::to_value(asked(replica, 41).unwrap().body).unwrap()
}

#[test]
fn everything_of_a_replica_is_asked_for() {
    let body = body(json!({
        "command": ["serve"], "entrypoint": ["/app"], "workdir": "/w", "user": "1:2", "hostname": "web",
        "env": {"A": "1", "B": "2"},
        "mounts": [
            {"type": "volume", "volume_id": "vol_1", "target": "/data"},
            {"type": "file", "file_id": "fil_2", "target": "/run/secrets/key"},
            {"type": "tmpfs", "size_bytes": 1024, "target": "/tmp"},
            {"type": "host_path", "path": "/usr/share", "target": "/x", "read_only": true},
        ],
        "networks": [{"network_id": "net_1", "ip": "10.208.4.7"}, {"network_id": "net_2", "ip": "10.208.5.7"}],
        "extra_hosts": ["db:1.2.3.4"],
        "resources": {
            "cpu_millis": 1500, "memory_bytes": 100, "memory_swap_bytes": 200, "memory_reserved_bytes": 50,
            "pids": 9, "shm_bytes": 7, "ulimits": {"nofile": {"soft": 1, "hard": 2}},
        },
        "restart": {"policy": "on_failure", "max_retries": 3},
        "health": {"check": "exec", "command": ["CMD", "true"], "interval_ms": 1000, "timeout_ms": 500,
                   "start_period_ms": 2000, "retries": 4},
        "stop": {"signal": "SIGINT", "grace_ms": 1500},
        "labels": {"team": "a", "muster.host": "hst_other"},
        "logging": {"max_size_bytes": 1000, "max_files": 1},
        "security": {"cap_add": ["NET_ADMIN"], "cap_drop": ["ALL"], "read_only_root": true,
                     "no_new_privileges": true, "sysctls": {"net.core.somaxconn": "1"}},
    }));
    let host = &body["HostConfig"];
    assert_eq!(body["Cmd"], json!(["serve"]));
    assert_eq!(body["Entrypoint"], json!(["/app"]));
    assert_eq!(
        (&body["WorkingDir"], &body["User"], &body["Hostname"]),
        (&json!("/w"), &json!("1:2"), &json!("web"))
    );
    assert_eq!(body["Env"], json!(["A=1", "B=2"]));
    assert_eq!((&body["StopSignal"], &body["StopTimeout"]), (&json!("SIGINT"), &json!(2)));
    assert_eq!(body["Labels"]["team"], "a");
    assert_eq!(body["Labels"][labels::HOST], "hst_1");
    assert_eq!(body["Labels"][labels::SPEC_HASH], "ab");
    let check = json!({"Test": ["CMD", "true"], "Interval": 1_000_000_000, "Timeout": 500_000_000,
                       "StartPeriod": 2_000_000_000_i64, "Retries": 4});
    assert_eq!(body["Healthcheck"], check);
    let ends = json!({"muster-shop-back-1": {"IPAMConfig": {"IPv4Address": "10.208.4.7"}}});
    assert_eq!(body["NetworkingConfig"]["EndpointsConfig"], ends);
    assert_eq!(host["NetworkMode"], "muster-shop-back-1");
    assert_eq!(host["Dns"], json!(["10.208.4.1", "10.208.5.1"]));
    assert_eq!(host["DnsSearch"], json!(["shop.internal"]));
    assert_eq!(host["ExtraHosts"], json!(["db:1.2.3.4"]));
    let private = json!({"Propagation": "rprivate"});
    assert_eq!(
        host["Mounts"],
        json!([
            {"Type": "volume", "Source": "muster-shop-data-1", "Target": "/data", "ReadOnly": false},
            {"Type": "bind", "Source": "/run/5050/secrets/fil_2", "Target": "/run/secrets/key", "ReadOnly": true,
             "BindOptions": private},
            {"Type": "tmpfs", "Target": "/tmp", "ReadOnly": false, "TmpfsOptions": {"SizeBytes": 1024}},
            {"Type": "bind", "Source": "/usr/share", "Target": "/x", "ReadOnly": true, "BindOptions": private},
        ])
    );
    assert_eq!((&host["NanoCpus"], &host["Memory"]), (&json!(1_500_000_000), &json!(100)));
    assert_eq!((&host["MemorySwap"], &host["MemoryReservation"]), (&json!(200), &json!(50)));
    assert_eq!((&host["PidsLimit"], &host["ShmSize"]), (&json!(9), &json!(7)));
    assert_eq!(host["Ulimits"], json!([{"Name": "nofile", "Soft": 1, "Hard": 2}]));
    assert_eq!(host["RestartPolicy"], json!({"Name": "on-failure", "MaximumRetryCount": 3}));
    assert_eq!(host["LogConfig"]["Type"], "local");
    assert_eq!(
        host["LogConfig"]["Config"],
        json!({"max-size": "1000", "max-file": "1", "compress": "false"})
    );
    assert_eq!((&host["CapAdd"], &host["CapDrop"]), (&json!(["NET_ADMIN"]), &json!(["ALL"])));
    assert_eq!((&host["ReadonlyRootfs"], &host["Init"]), (&json!(true), &json!(true)));
    assert_eq!(host["SecurityOpt"], json!(["no-new-privileges"]));
    assert_eq!(host["Sysctls"], json!({"net.core.somaxconn": "1"}));
}

#[test]
fn the_second_network_waits_for_the_container_and_the_first_is_the_way_out() {
    let networks = json!({"networks": [
        {"network_id": "net_2", "ip": "10.208.5.7"}, {"network_id": "net_1", "ip": "10.208.4.7"},
    ]});
    let request = asked(networks.clone(), 48).unwrap();
    let first = &request.body.networking_config.unwrap().endpoints_config.unwrap()["muster-shop-front-2"];
    assert_eq!(first.gw_priority, Some(1));
    assert_eq!(request.more.len(), 1);
    assert_eq!((request.more[0].0.as_str(), request.more[0].1.gw_priority), ("muster-shop-back-1", None));
    assert!(serde_json::to_string(&asked(networks, 41).unwrap().body).unwrap().find("GwPriority").is_none());
}

#[test]
fn an_engine_checks_nothing_where_the_host_does() {
    let test = |health: Value| body(json!({"health": health}))["Healthcheck"]["Test"].clone();
    assert_eq!(test(json!({"check": "tcp", "port": 80})), json!(["NONE"]));
    assert_eq!(test(json!({"check": "http", "port": 80, "path": "/"})), json!(["NONE"]));
    assert_eq!(test(json!({"check": "disabled"})), json!(["NONE"]));
    assert_eq!(test(json!({"check": "none"})), Value::Null);
}

#[test]
fn a_replica_without_a_network_has_none() {
    let host = body(json!({}))["HostConfig"].clone();
    assert_eq!(host["NetworkMode"], "none");
    assert_eq!((&host["Dns"], &host["RestartPolicy"]["Name"]), (&Value::Null, &json!("unless-stopped")));
}

#[test]
fn what_the_state_does_not_hold_is_an_error_that_names_it() {
    let mount = |mount: Value| asked(json!({"mounts": [mount]}), 41).unwrap_err();
    assert!(mount(json!({"type": "volume", "volume_id": "vol_9", "target": "/"})).contains("vol_9"));
    assert!(mount(json!({"type": "file", "file_id": "fil_9", "target": "/"})).contains("fil_9"));
    assert!(mount(json!({"type": "host_path", "path": "/etc", "target": "/x"})).contains("/etc"));
    let network = asked(json!({"networks": [{"network_id": "net_9", "ip": "10.0.0.1"}]}), 41);
    assert!(network.unwrap_err().contains("net_9"));
}
