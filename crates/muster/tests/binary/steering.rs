//! Assignments from the command line: what is waited for is what is printed, nobody is meant by accident, and what makes
//! no sense is refused before a plan.

use crate::configs::{FIRST, bad, good, json, run, with_agent, write};
use crate::process::Place;

#[test]
fn what_waiting_commands_print_is_the_state_after_the_wait() {
    let place = Place::new();
    let (server, uid) = with_agent(&place);
    write(&place, "otel.yaml", FIRST);
    good(&place, &["configs", "apply", "-f", "otel.yaml"]);
    let create = ["assignments", "create", "otel", "-l", "service.name=demo-agent", "--yes", "--wait"];
    let made = json(&place, &create);
    assert_eq!((&made["state"], &made["progress"]["applied"]), (&"done".into(), &1.into()), "{made}");
    let id = made["id"].as_str().unwrap();

    write(&place, "otel.yaml", &FIRST.replace("grpc: null", "http: null"));
    good(&place, &["configs", "apply", "-f", "otel.yaml"]);
    let moved = json(&place, &["assignments", "set-revision", "otel", "2", "--yes", "--wait"]);
    assert_eq!((&moved["state"], &moved["settled_revision"]), (&"done".into(), &2.into()), "{moved}");

    // The demo agent refuses what it does not have: the paused state is printed, and the code says so.
    write(&place, "otel.yaml", &FIRST.replace("debug", "nosuch"));
    good(&place, &["configs", "apply", "-f", "otel.yaml"]);
    let bad_one = ["assignments", "set-revision", id, "3", "--yes", "--wait", "-o", "json"];
    let (code, out, err) = run(&place, &bad_one);
    assert_eq!(code, 5, "{out} {err}");
    let stopped: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!((&stopped["state"], &stopped["pause"]["kind"]), (&"paused".into(), &"failed".into()));
    let aborted = json(&place, &["assignments", "abort", id, "--yes"]);
    assert_eq!(aborted["state"], "aborted");

    for (verb, why) in
        [("resume", "only a rollout that is paused"), ("abort", "there is no rollout to abort")]
    {
        for consent in [&["--yes"][..], &["--dry-run"], &[]] {
            let (code, out, err) = run(&place, &[&["assignments", verb, id], consent].concat());
            assert_eq!((code, out.as_str()), (1, ""), "no plan: {err}");
            assert!(err.contains("is aborted") && err.contains(why), "{err}");
        }
    }
    assert!(bad(&place, &["assignments", "pause", id], 1).contains("is aborted"));
    let plan = good(&place, &["assignments", "rm", id, "--clear", "--dry-run"]);
    assert!(plan.contains(&uid) && plan.contains("demo-agent"), "{plan}");
    let gone = good(&place, &["assignments", "rm", id, "--clear", "--yes", "--wait"]);
    assert!(gone.contains("is removed"), "{gone}");
    bad(&place, &["assignments", "show", id], 3);
    server.stop();
}

#[test]
fn an_empty_selector_is_no_way_to_say_everybody() {
    let place = Place::new();
    let (server, _) = with_agent(&place);
    write(&place, "otel.yaml", FIRST);
    good(&place, &["configs", "apply", "-f", "otel.yaml"]);
    let id = good(&place, &["assignments", "create", "otel", "--all", "--yes", "-o", "name"]);
    let id = id.trim();
    for command in [
        &["assignments", "create", "otel", "-l", "", "--yes"][..],
        &["assignments", "create", "otel", "--selector= ", "--yes"],
        &["assignments", "preview", "otel", "-l", ""],
        &["assignments", "set", id, "-l", "", "--yes"],
        &["labels", "apply", "a=b", "-l", "", "--yes"],
    ] {
        let err = bad(&place, command, 2);
        assert!(err.contains("every agent") && err.contains("--all"), "{err}");
    }
    for command in [&["assignments", "create", "otel", "--yes"][..], &["labels", "set", "a=b", "--yes"]] {
        assert_eq!(place.run(command).status.code(), Some(2), "{command:?}");
    }
    assert_eq!(json(&place, &["assignments", "list"])["total"], 1);
    server.stop();
}

#[test]
fn a_change_that_reaches_nobody_says_so() {
    let place = Place::new();
    let (server, uid) = with_agent(&place);
    write(&place, "otel.yaml", FIRST);
    good(&place, &["configs", "apply", "-f", "otel.yaml"]);
    let nobody = ["-l", "service.name=nobody"];
    let create = [&["assignments", "create", "otel"], &nobody[..]].concat();
    let (code, out, err) = run(&place, &[&create[..], &["--dry-run"]].concat());
    assert!(
        code == 0 && out.contains("It matches no agent now.") && err.contains("warning: "),
        "{out} {err}"
    );
    let (code, out, err) = run(&place, &[&create[..], &["--yes", "-o", "json"]].concat());
    assert!(code == 0 && err.contains("warning: the selector matches no agent now"), "{out} {err}");
    let made: serde_json::Value = serde_json::from_str(&out).unwrap();
    let (_, _, err) =
        run(&place, &["assignments", "set-revision", made["id"].as_str().unwrap(), "1", "--yes"]);
    assert!(err.contains("warning: the selector matches no agent now"), "{err}");

    let labels = [&["labels", "set", "a=b"], &nobody[..], &["--yes"]].concat();
    assert!(bad(&place, &labels, 3).contains("no agent matches service.name=nobody"));
    assert!(bad(&place, &["agents", "unset", &uid], 3).contains("is not pinned"));
    for list in ["agents", "assignments"] {
        let err = bad(&place, &[list, "list", "--config", "nope"], 3);
        assert!(err.contains("there is no configuration \"nope\""), "{err}");
    }
    bad(&place, &["views", "create", "v", "--config", "nope"], 3);
    server.stop();
}

#[test]
fn an_assignment_is_changed_with_a_plan_and_by_its_configurations_name() {
    let place = Place::new();
    let (server, _) = with_agent(&place);
    write(&place, "otel.yaml", FIRST);
    good(&place, &["configs", "apply", "-f", "otel.yaml"]);
    good(&place, &["assignments", "create", "otel", "-l", "env=none", "--yes"]);
    let set = [
        "assignments",
        "set",
        "otel",
        "--selector",
        "service.name=demo-agent",
        "--priority",
        "-5",
        "--batch",
        "20",
    ];
    let plan = good(&place, &[&set[..], &["--dry-run"]].concat());
    for line in [
        "selector: env=none -> service.name=demo-agent",
        "priority: 0 -> -5",
        "batches: 10 % -> 20 %",
        "1 agent matches",
    ] {
        assert!(plan.contains(line), "{line}: {plan}");
    }
    assert!(bad(&place, &set, 2).contains("no terminal to ask"));
    let changed = json(&place, &[&set[..], &["--yes"]].concat());
    assert_eq!((&changed["priority"], &changed["batch_percent"]), (&(-5).into(), &20.into()), "{changed}");
    assert_eq!(changed["selector"], "service.name=demo-agent");
    assert!(good(&place, &[&set[..], &["--yes"]].concat()).contains(" unchanged"));
    assert_eq!(place.run(&["assignments", "set", "otel"]).status.code(), Some(2));
    assert_eq!(json(&place, &["assignments", "set", "otel", "--all", "--yes"])["selector"], "");

    good(&place, &["assignments", "create", "otel", "-l", "env=other", "--yes"]);
    assert!(bad(&place, &["assignments", "show", "otel"], 2).contains("several assignments give otel"));
    bad(&place, &["assignments", "show", "nope"], 3);
    bad(&place, &["assignments", "show", "999"], 3);
    server.stop();
}
