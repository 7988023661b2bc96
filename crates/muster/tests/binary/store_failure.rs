//! A database that takes no writes for a while: new agents are asked to wait, known ones go on, nothing that they
//! report meanwhile is lost.

use std::process::Command;

use opamp_proto::wire::{AgentToServer, ComponentHealth, EffectiveConfig};
use testkit::raw::Connection;
use testkit::{until, until_async};

use crate::process::{Place, Server};

fn report(number: u8, sequence_num: u64, status: &str) -> AgentToServer {
    AgentToServer {
        instance_uid: vec![number; 16].into(),
        sequence_num,
        capabilities: 1 | 0x800,
        agent_description: Some(Default::default()),
        health: Some(ComponentHealth { healthy: true, status: status.to_owned(), ..Default::default() }),
        effective_config: Some(EffectiveConfig::default()),
        ..Default::default()
    }
}

/// The largest file that the server may write; its limit is set from outside, as a full disk would be.
fn limit_files(server: &Server, bytes: &str) {
    let pid = server.child.id().to_string();
    let limit = format!("--fsize={bytes}:unlimited");
    assert!(Command::new("prlimit").args(["--pid", &pid, &limit]).status().unwrap().success());
}

#[test]
fn s7_while_the_store_fails_new_agents_are_unavailable_and_reports_are_kept_until_it_recovers() {
    let place = Place::new();
    // A write beyond the limit must fail, not kill: the signal is ignored from the start.
    let mut command = Command::new("sh");
    place.at_home(&mut command);
    command.args(["-c", "trap '' XFSZ; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_muster")]);
    command.args(["server", "--data-dir", "data", "--insecure-http"]);
    command.args(["--opamp-listen", "127.0.0.1:0", "--listen", "127.0.0.1:0"]);
    let server = place.start(command);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let bearer = format!("Bearer {}", server.ready.enrolment_token.clone().unwrap());
        let headers = [("authorization", bearer.as_str())];
        let mut known = Connection::websocket(server.opamp(), &headers).await;
        assert!(known.ask(&report(1, 0, "before")).await.error_response.is_none());
        let mut other = Connection::websocket(server.opamp(), &headers).await;
        assert!(other.ask(&report(3, 0, "before")).await.error_response.is_none());

        let console = server.ready.console.trim_start_matches("http://").parse().unwrap();
        let readiness = async || Connection::to(console).await.request("GET /readyz", &[], b"").await.status;
        assert_eq!(readiness().await, 200);
        limit_files(&server, "1");
        // Before anything else has tried to write.
        until_async("to be not ready", async || readiness().await == 503).await;
        let mut fresh = Connection::websocket(server.opamp(), &headers).await;
        let error = fresh.ask(&report(2, 0, "fresh")).await.error_response.expect("an error");
        assert_eq!(error.r#type, 2, "{error:?}");
        assert!(known.ask(&report(1, 1, "meanwhile")).await.error_response.is_none());
        until("the log of the failure", || server.log().contains("the database takes no writes")).await;
        assert!(other.ask(&report(3, 1, "also meanwhile")).await.error_response.is_none());

        limit_files(&server, "unlimited");
        until("the recovery", || server.log().contains("the database takes writes again")).await;
        let mut fresh = Connection::websocket(server.opamp(), &headers).await;
        assert!(fresh.ask(&report(2, 0, "fresh")).await.error_response.is_none());
        let password = server.ready.admin_password.clone().unwrap();
        let client = api::Client::new(&server.ready.console, &api::Trust::System, None).unwrap();
        let login = api::session::Login { username: "admin".to_owned(), password, want_token: true };
        let client = client.clone().with_token(client.login(&login).await.unwrap().token);
        // The first was in the batch that failed, the second came while it was kept.
        for (uid, status) in [
            ("01010101-0101-0101-0101-010101010101", "meanwhile"),
            ("03030303-0303-0303-0303-030303030303", "also meanwhile"),
        ] {
            until_async(status, async || client.agent(uid).await.unwrap().health.unwrap().status == status)
                .await;
        }
    });
    server.stop();
}
