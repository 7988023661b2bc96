//! One word for one state, everywhere: what the model calls it, what the API's description, the command line and the
//! console say.

use std::collections::BTreeSet;

use model::{AssignmentState, ConfigState, ConnectionState};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn read(path: &str) -> String {
    std::fs::read_to_string(format!("{ROOT}/{path}")).unwrap()
}

fn words<'w>(words: impl IntoIterator<Item = &'w str>) -> BTreeSet<String> {
    words.into_iter().map(str::to_owned).collect()
}

/// The keys of a table of marks in the console's source; each must be the word that its mark shows.
fn table(source: &str, name: &str) -> BTreeSet<String> {
    let start = source.find(&format!("const {name}: Record<string, Mark> = {{")).unwrap();
    let body = &source[start..];
    let body = &body[..body.find("\n};").unwrap()];
    let mut keys = BTreeSet::new();
    for line in body.lines().skip(1).filter(|line| line.starts_with("  ") && !line.starts_with("   ")) {
        let Some((key, mark)) = line.trim().split_once(':') else { continue };
        let key = key.trim_matches('\'').to_owned();
        if let Some((_, word)) = mark.split_once("word: '") {
            assert_eq!(word.split('\'').next(), Some(key.as_str()), "{name}: {line}");
        }
        keys.insert(key);
    }
    keys
}

#[test]
fn the_console_says_the_words_of_the_api() {
    let source = read("console/src/lib/states.ts");
    assert_eq!(table(&source, "CONFIG"), words(ConfigState::ALL.map(ConfigState::as_str)));
    assert_eq!(table(&source, "ASSIGNMENT"), words(AssignmentState::ALL.map(AssignmentState::as_str)));
    // Approval is shown where it will be needed, and no agent waits for it yet.
    let mut agent = table(&source, "AGENT");
    agent.remove("pending approval");
    assert_eq!(agent, words(ConnectionState::ALL.map(ConnectionState::as_str)));
}

/// The words in backticks that the API's description gives a property.
fn described(schema: &str, property: &str) -> BTreeSet<String> {
    let document: serde_json::Value = serde_json::from_str(&read("docs/api/openapi.json")).unwrap();
    let property = &document["components"]["schemas"][schema]["properties"][property];
    let text = property["description"].as_str().unwrap();
    words(text.split('`').skip(1).step_by(2))
}

#[test]
fn the_console_says_the_words_that_the_api_describes_hosts_with() {
    let source = read("console/src/lib/states.ts");
    let mut host = described("Host", "state");
    host.extend(described("Host", "mode"));
    // Beside the state stands what is out of the ordinary.
    host.remove("normal");
    host.insert("adopting".to_owned());
    assert_eq!(table(&source, "HOST"), host);
    assert_eq!(table(&source, "REPLICA"), described("Replica", "state"));
}

#[test]
fn the_command_line_and_the_document_name_every_state() {
    let document = read("docs/api/openapi.json");
    let cli: String =
        ["cli.rs", "cli/fleet.rs", "cli/assignments.rs", "command/agents.rs", "command/rollout.rs"]
            .map(|file| read(&format!("crates/muster/src/{file}")))
            .concat();
    let guide = read("docs/guide/configurations.md");
    for word in AssignmentState::ALL.map(AssignmentState::as_str) {
        assert!(document.contains(word) && cli.contains(word), "{word}");
    }
    for word in ConnectionState::ALL.map(ConnectionState::as_str) {
        assert!(document.contains(word) && cli.contains(word), "{word}");
    }
    for word in ConfigState::ALL.map(ConfigState::as_str) {
        assert!(document.contains(word) && guide.contains(word), "{word}");
    }
}
