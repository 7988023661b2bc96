//! What a shell offers, asked by a real one.

use std::process::Command;

use crate::process::{Place, text};

/// What bash offers after these words, the last of which is being typed: flags only when it begins with a dash.
fn offered(place: &Place, words: &[&str]) -> Vec<String> {
    let script = r#"source <(muster completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_TYPE=9
        _clap_complete_muster muster "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
        printf '%s\n' "${COMPREPLY[@]}""#;
    let binary = std::path::Path::new(env!("CARGO_BIN_EXE_muster"));
    let path = format!("{}:{}", binary.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let mut command = Command::new("bash");
    command.args(["-c", script, "bash", "muster"]).args(words);
    let output = place.at_home(&mut command).env("PATH", path).output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{words:?}: {}", text(&output.stderr));
    let flags = words.last().is_some_and(|word| word.starts_with('-'));
    let wanted = |line: &&str| !line.is_empty() && line.starts_with('-') == flags;
    text(&output.stdout).lines().filter(wanted).map(str::to_owned).collect()
}

#[test]
fn commands_flags_and_the_names_that_a_server_knows_are_offered() {
    let place = Place::new();
    assert_eq!(offered(&place, &["assign"]), ["assignments"]);
    assert_eq!(offered(&place, &["hosts", "list", "--outp"]), ["--output"]);
    // Nobody is logged in, and that is said when a command is run.
    assert_eq!(offered(&place, &["configs", "show", ""]), [""; 0]);

    let server = place.server(&["--insecure-http"]);
    assert!(place.log_in(&server, &["--context", "here"]).status.success());
    let file = place.path("collector.yaml");
    std::fs::write(&file, "receivers: {}\n").unwrap();
    for name in ["edge", "edges", "core"] {
        let made = place.run(&["configs", "apply", name, "-f", file.to_str().unwrap()]);
        assert!(made.status.success(), "{}", text(&made.stderr));
    }
    assert_eq!(offered(&place, &["configs", "show", ""]), ["core", "edge", "edges"]);
    assert_eq!(offered(&place, &["configs", "show", "ed"]), ["edge", "edges"]);
    assert_eq!(offered(&place, &["agents", "list", "--config", "c"]), ["core"]);
    assert_eq!(offered(&place, &["users", "set", ""]), ["admin"]);
    assert_eq!(offered(&place, &["context", "use", "h"]), ["here"]);
    // The server that the line says is the one that is asked.
    assert_eq!(offered(&place, &["--context", "other", "configs", "show", ""]), [""; 0]);
    let url = server.ready.console.clone();
    assert_eq!(offered(&place, &["configs", "show", "--url", &url, "co"]), ["core"]);
    server.stop();
    assert_eq!(offered(&place, &["configs", "show", ""]), [""; 0]);
}
