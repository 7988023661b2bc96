//! Any text ends quickly with a project or with problems, never with a panic.

use proptest::prelude::*;

use super::*;

/// What is said of texts. That it ends is what the test run's own limit of time watches.
fn quick(texts: &[&str]) -> Vec<String> {
    match Given::env(&[("BIG", &"x".repeat(10_000))]).parse(texts) {
        Ok(project) => vec![format!("{} services", project.services.len())],
        Err(problems) => problems.into_iter().map(|problem| problem.text).collect(),
    }
}

#[test]
fn limits_are_named() {
    assert_eq!(quick(&[&" ".repeat(MAX_TEXT + 1)]), ["the file has more than 1 MiB"]);
    let many: String = (0..=MAX_SERVICES).map(|n| format!("  s{n}: {{image: a}}\n")).collect();
    assert_eq!(quick(&[&format!("services:\n{many}")]), ["a project has at most 200 services, not 201"]);
    let ports: String = (1..400).map(|n| format!("      - \"{n}:{n}\"\n")).collect();
    let ports = format!("services:\n  a:\n    image: a\n    ports:\n{ports}");
    assert_eq!(quick(&[&ports]), ["a service publishes at most 256 ports"]);
    assert_eq!(
        quick(&["services:\n  a: {image: a, ports: [\"1-65535:1-65535\"]}\n"]),
        ["a service publishes at most 256 ports"]
    );
    let texts = vec!["{}"; MAX_FILES + 1];
    let files: Vec<SourceFile<'_>> = texts.iter().map(|text| SourceFile { name: "c", text }).collect();
    let (env, none) = (map(&[]), map(&[]));
    let input = Input { files: &files, env: &env, profiles: &[], project: None, env_files: &none };
    assert_eq!(parse(&input).unwrap_err()[0].text, "a project has 1 to 16 files");
    assert_eq!(parse(&Input { files: &[], ..input }).unwrap_err()[0].text, "a project has 1 to 16 files");
}

#[test]
fn texts_that_are_no_compose_files_are_refused() {
    assert_eq!(quick(&[""]), ["must be a map with services:"]);
    assert_eq!(quick(&["- a"]), ["must be a map with services:"]);
    assert_eq!(quick(&["{}"]), ["the files have no services"]);
    assert_eq!(quick(&["services: []"]), ["must be a map of keys and values, not a list"]);
    assert!(quick(&["a: [\n"])[0].starts_with("is no YAML: "));
    assert!(quick(&["services: {a: {image: x}, a: {image: y}}"])[0].contains("occurs twice"));
    let two = "services: {a: {image: x}}\n---\nservices: {}\n";
    assert_eq!(quick(&[two]), ["a second document; give it as a file of its own"]);
}

#[test]
fn anchors_extends_and_variables_blow_nothing_up() {
    let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for level in 1..12 {
        let items = vec![format!("*a{}", level - 1); 10].join(",");
        bomb += &format!("a{level}: &a{level} [{items}]\n");
    }
    assert!(quick(&[&bomb])[0].contains("more than 200000 values"));
    let long = "y".repeat(500_000);
    let copies = "      - *t\n".repeat(1_000);
    let text = format!("x-t: &t {long}\nservices:\n  a:\n    image: a\n    command:\n{copies}");
    assert_eq!(quick(&[&text]), ["the files become too large when anchors and extends are followed"]);
    let text = format!("services:\n  a:\n    image: a\n    command: [{}]\n", "$BIG,".repeat(1_000));
    assert!(quick(&[&text])[0].contains("bytes of text"));
    let items: String = (0..5_000).map(|n| format!("{n},")).collect();
    let mut chain = format!("services:\n  s0: {{image: a, command: x, cap_add: [{items}]}}\n");
    for n in 1..100 {
        chain += &format!("  s{n}: {{extends: s0}}\n");
    }
    assert_eq!(quick(&[&chain]), ["the services become too large when extends is followed"]);
    let mut deep = "services:\n  s0: {image: a}\n".to_owned();
    for n in 1..150 {
        deep += &format!("  s{n}: {{extends: s{}}}\n", n - 1);
    }
    assert_eq!(quick(&[&deep]), ["150 services"]);
    let reversed: String = (0..150).map(|n| format!("  s{n}: {{extends: s{}}}\n", n + 1)).collect();
    let reversed = format!("services:\n{reversed}  s150: {{image: a}}\n");
    assert!(quick(&[&reversed])[0].contains("a chain of extends has at most 32 services"));
    let file = format!("A={}\n", "x".repeat(1 << 19));
    let given = Given { env_files: map(&[("a.env", &file)]), ..Given::default() };
    let services: String = (0..40).map(|n| format!("  s{n}: {{image: a, env_file: a.env}}\n")).collect();
    let problems = given.parse(&[&format!("services:\n{services}")]).unwrap_err();
    assert_eq!(problems[0].text, "the variables of all services have more than 8 MiB");
    let nested = format!("services: {}", "[".repeat(10_000));
    assert!(!quick(&[&nested]).is_empty());
}

#[test]
fn at_most_200_problems_are_told() {
    let lines: String = (0..500).map(|n| format!("    k{n}: 1\n")).collect();
    let said = quick(&[&format!("services:\n  a:\n    image: a\n{lines}")]);
    assert_eq!((said.len(), said[200].as_str()), (201, "300 more problems are not shown"));
}

/// Words of Compose files and of YAML, so that random texts get further than the first line.
fn word() -> impl Strategy<Value = String> {
    let words = [
        "services",
        "web",
        "image",
        "nginx",
        "ports",
        "80:80",
        "volumes",
        "data:/d",
        "environment",
        "A=1",
        "deploy",
        "replicas",
        "3",
        "extends",
        "depends_on",
        "healthcheck",
        "test",
        "NONE",
        "networks",
        "secrets",
        "x-muster",
        "placement",
        "${A:-b}",
        "${",
        "$$",
        "!reset",
        "&a",
        "*a",
        "<<",
        "null",
        "true",
        "10s",
        "512m",
        "[",
        "]",
        "{",
        "}",
        ",",
        ": ",
        ":\n  ",
        ":\n    ",
        ":\n      ",
        "\n",
        "\n  ",
        "\n    ",
        "- ",
        "'",
        "\"",
        "#",
        "|",
        "\u{e9}",
        "\t",
        "\0",
    ];
    prop_oneof![4 => proptest::sample::select(words.to_vec()).prop_map(str::to_owned), 1 => ".{0,6}"]
}

proptest! {
    #[test]
    fn any_text_is_a_project_or_problems(words in proptest::collection::vec(word(), 0..60), more in proptest::collection::vec(word(), 0..20)) {
        let (text, more) = (words.concat(), more.concat());
        for texts in [vec![text.as_str()], vec![text.as_str(), more.as_str()]] {
            if let Err(problems) = Given::default().parse(&texts) {
                prop_assert!(problems.iter().any(|problem| problem.severity == Severity::Error));
            }
        }
        let _ = variables(&text);
        let _ = dotenv::parse(&text, dotenv::Format::Usual, &map(&[]));
    }

    #[test]
    fn values_of_any_kind_are_read_or_refused(key in proptest::sample::select(keys_of_services()), value in "[ -~]{0,24}") {
        let text = web(&format!("{key}: {value}"));
        let _ = Given::default().parse(&[&text]);
        let quoted = web(&format!("{key}: ['{}']", value.replace('\'', "")));
        let _ = Given::default().parse(&[&quoted]);
    }
}

fn keys_of_services() -> Vec<&'static str> {
    keys::SERVICE.iter().map(|(key, _)| *key).chain(keys::KNOWN).collect()
}
