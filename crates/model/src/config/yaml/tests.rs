//! YAML: what is read, where errors point, and that hostile texts end quickly.

use proptest::prelude::*;

use super::*;

fn tried(text: &str, file: u16) -> Result<Yaml, ParseError> {
    parse(text, file, &mut Budget::default())
}

fn read(text: &str) -> Arc<Node> {
    tried(text, 0).unwrap_or_else(|error| panic!("{text}: {error}")).root.unwrap()
}

fn error(text: &str) -> (u32, u32, String) {
    let ParseError { place, reason } = tried(text, 0).unwrap_err();
    (place.line, place.column, reason)
}

#[test]
fn scalars_keep_how_they_were_written() {
    let root = read("a: 017\nb: \"17\"\nc: |\n  x\n  y\nd: !!str 1\ne:\n");
    let scalar = |key: &str| match &root.get(key).unwrap().value {
        Value::Scalar(scalar) => (scalar.text.clone(), scalar.is_text),
        other => panic!("{other:?}"),
    };
    assert_eq!(scalar("a"), ("017".to_owned(), false));
    assert_eq!(scalar("b"), ("17".to_owned(), true));
    assert_eq!(scalar("c"), ("x\ny\n".to_owned(), true));
    assert_eq!(scalar("d"), ("1".to_owned(), true));
    assert!(root.get("e").unwrap().is_nothing());
}

#[test]
fn places_count_from_one() {
    let root = read("a:\n  - b\n  - ö: c\n");
    let item = &root.get("a").unwrap().items()[1];
    assert_eq!(item.entries()[0].place, Place { file: 0, line: 3, column: 5 });
    assert_eq!(item.get("ö").unwrap().place, Place { file: 0, line: 3, column: 8 });
}

#[test]
fn merge_keys_are_followed_and_own_keys_win() {
    let merged = read("x: &x {a: 1, b: 2}\ny: &y {b: 3, c: 4}\nz:\n  <<: [*x, *y]\n  c: 5\n");
    assert!(merged.get("z").unwrap().same(&read("{a: 1, b: 2, c: 5}")));
    assert_eq!(error("a:\n  <<: 1\n"), (2, 7, "\"<<\" takes a map or a list of maps".to_owned()));
}

#[test]
fn an_error_has_its_place() {
    assert_eq!(error("a: 1\nb: 2\na: 3\n"), (3, 1, "the key \"a\" occurs twice".to_owned()));
    assert_eq!(error("? [a]\n: b\n").2, "a key must be a single value");
    assert_eq!(error("a: &b\n  c: *b\n").2, "an alias inside of what it stands for");
    let (line, _, reason) = error("a: [1, 2\nb: 3\n");
    assert_eq!((line, reason.is_empty()), (2, false));
    assert!(error("a: 1\n\tb: 2\n").2.contains("found a tab"));
    assert!(error("a: *nothing\n").2.contains("unknown anchor"));
}

#[test]
fn a_second_document_is_noticed_and_checked() {
    let yaml = tried("a: 1\n---\nb: 2\n", 3).unwrap();
    assert!(yaml.root.unwrap().same(&read("a: 1")));
    assert_eq!(yaml.second, Some(Place { file: 3, line: 2, column: 1 }));
    assert!(tried("a: 1\n---\nb: [\n", 0).is_err());
    assert!(tried("# nothing\n", 0).unwrap().root.is_none());
}

/// Every text that is known to make some reader of YAML slow, large, or fall.
fn hostile() -> Vec<(&'static str, String)> {
    let size = 220 << 10;
    let fill = |piece: &str| piece.repeat(size / piece.len());
    let mut bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n".to_owned();
    for level in 1..40 {
        let below = vec![format!("*a{}", level - 1); 10].join(",");
        bomb += &format!("a{level}: &a{level} [{below}]\n");
    }
    let mut deep = "a0: &a0 {b: 1}\n".to_owned();
    for level in 1..4000 {
        deep += &format!("a{level}: &a{level} {{b: *a{}}}\n", level - 1);
    }
    let steps: String = (0..1400).map(|level| format!("{}a:\n", " ".repeat(level))).collect();
    let keys: String = (0..size / 12).map(|number| format!("k{number:08}:\n")).collect();
    let merges = format!("a: &a {{{}}}\n", (0..5000).map(|n| format!("k{n}: 1,")).collect::<String>())
        + &(0..5000).map(|n| format!("m{n}: {{<<: *a}}\n")).collect::<String>();
    vec![
        ("alias bomb", bomb),
        ("deep aliases", deep),
        ("brackets", fill("[")),
        ("braces", fill("{")),
        ("braces with keys", fill("{a: ")),
        ("closed brackets", fill("[]")),
        ("a flat flow list", format!("[{}]", fill("a,"))),
        ("a flow list in lines", format!("[{}]", fill("a,\n"))),
        ("a flow map", format!("{{{}}}", fill("a: b, "))),
        ("dashes", fill("- ")),
        ("dashes in lines", fill("-\n")),
        ("question marks", fill("? ")),
        ("question marks in lines", fill("?\n")),
        ("colons", fill(": ")),
        ("steps", steps),
        ("many keys", keys),
        ("merges", merges),
        ("one quote", "\"".to_owned() + &fill("a ")),
        ("quotes", fill("\"a\" ")),
        ("open quotes with escapes", "\"".to_owned() + &fill("\\")),
        ("folded text", ">\n".to_owned() + &fill(" a\n\n")),
        ("literal text", "|\n".to_owned() + &fill(" a\n")),
        ("plain text in lines", fill("a\n")),
        ("plain text with blanks", fill("a  ")),
        ("blanks", fill(" ")),
        ("tabs", fill("\t")),
        ("line ends", fill("\n")),
        ("carriage returns", fill("\r")),
        ("comments", fill("#\n")),
        ("documents", fill("---\n")),
        ("ends of documents", fill("...\n")),
        ("anchors", fill("- &a b\n")),
        ("aliases", format!("- &a b\n{}", fill("- *a\n"))),
        ("tags", fill("!a ")),
        ("directives", fill("%YAML 1.2\n")),
        ("percent signs", fill("%")),
        ("exclamation marks", fill("!")),
        ("ampersands", fill("&")),
        ("pipes", fill("|\n")),
        ("zeros", fill("\0")),
        ("next lines", fill("\u{85}")),
        ("keys on keys", fill("a: ")),
        ("long key", fill("a") + ": b"),
        ("commas", fill(",")),
        ("a key that nearly is one", format!("{{{}", fill("\"a\" :"))),
    ]
}

/// No clock here: a reader that is not linear in the text does not come to the end of this test.
#[test]
fn hostile_texts_end_with_an_error_or_few_nodes() {
    for (name, text) in hostile() {
        match tried(&text, 0) {
            Ok(Yaml { root, .. }) => assert!(root.is_none_or(|root| root.weight() <= MAX_NODES), "{name}"),
            Err(ParseError { reason, .. }) => assert!(!reason.is_empty(), "{name}"),
        }
    }
}

/// Pieces of YAML in any order.
fn pieces() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "a",
        "b",
        ": ",
        ":",
        "- ",
        "-",
        "\n",
        "\n  ",
        "\n    ",
        " ",
        "[",
        "]",
        "{",
        "}",
        ",",
        "\"",
        "'",
        "#",
        "&a ",
        "*a",
        "!t ",
        "!!str ",
        "|\n",
        ">\n",
        "|+1\n",
        "? ",
        "<<",
        "---\n",
        "...\n",
        "%TAG ! x\n",
        "\t",
        "\r",
        "\\",
        "\\x",
        "\0",
        "é",
        "\u{feff}",
        "\u{2028}",
        "~",
        "0x1",
        "1.5",
        "@",
        "`",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_text_is_a_tree_or_an_error_with_a_place_inside(text in prop_oneof![pieces(), ".{0,60}", "(?s).{0,60}"]) {
        match tried(&text, 1) {
            Ok(Yaml { root, .. }) => prop_assert!(root.is_none_or(|root| root.weight() <= MAX_NODES)),
            Err(ParseError { place, reason }) => {
                prop_assert!(!reason.is_empty());
                prop_assert!(place.line as usize <= text.split(['\n', '\r', '\u{85}']).count() + 1, "{:?}", place);
            }
        }
    }
}
