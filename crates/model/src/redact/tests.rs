//! Redaction: which places are masked, that nothing else is, and that no junk upsets it.

use proptest::prelude::*;

use super::*;

/// Masks `text`, in which secrets are written between `«` and `»`, and expects exactly those to be masked.
#[track_caller]
fn check(text: &str) {
    let input = text.replace(['«', '»'], "");
    let mut expected = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('«') {
        let (_, after) = after.split_once('»').unwrap();
        expected += before;
        expected += MASK;
        rest = after;
    }
    expected += rest;
    assert_eq!(redact(&input).text, expected);
    assert_eq!(redact(&expected).text, expected, "masking twice changes nothing");
}

#[test]
fn s18_values_of_secret_keys_are_masked_and_nothing_else() {
    check(
        "receivers:\n  otlp:\n    protocols: {grpc: {endpoint: 0.0.0.0:4317}}\nexporters:\n  otlphttp:\n    \
         endpoint: https://example.com:4318/v1@2\n    headers:\n      authorization: «Basic dXNlcjpwYXNz»\n      \
         X-Api-Key: '«abc # def»'  # note\n      x-team: «blue»\n      accept: text/plain\n    tls:\n      key_file: /etc/key.pem\n  kafka:\n    \
         auth:\n      sasl: {username: me, password: «p4ss», mechanism: PLAIN}\n",
    );
}

#[test]
fn s18_name_and_value_in_a_list_are_masked_in_either_order() {
    check("headers:\n  - name: Authorization\n    value: «x y»\n  - name: Accept\n    value: text/plain\n");
    check("headers:\n- value: «x»\n  name: \"X-API-Key\"\n- value: kept\n  name: User-Agent\n");
    check("labels:\n- value: «x»\n  name: \"X-API-Key\"\n- value: kept\n  name: X-Other\n");
    check(
        "fields: [{name: Authorization, value: «x»}, {value: \"«y»\", name: api_key}, {name: a, value: b}]\n",
    );
    check(
        "env:\n  - name: DB_PASSWORD\n    value: |\n      «one»\n      «two»\n  - name: PATH\n    value: /bin\n",
    );
    check(
        "actions:\n  - key: environment\n    value: prod\n  - key: db.password\n    value: «x»\n    action: insert\n",
    );
    check("- values: [«a», «b»]\n  name: Cookie\n");
}

#[test]
fn s18_an_explicit_key_is_a_key() {
    check("? authorization\n: «x»\n? endpoint\n: kept\n");
    check("a:\n  ? \"api_key\" # about its path\n  : '«x»'\n  ? b\n  : c\n");
    check("? |\n  password\n: |\n  «x»\n  «y»\nnext: kept\n");
    check("? credentials\n:\n  user: «me»\n  list:\n  - «a»\nnext: kept\n");
    check("- ? token\n  : «x»\n  ? name\n  : kept\n");
    check("headers:\n  ? X-Custom\n  : «x»\n");
    check("#? token\n#: «x»\n");
}

#[test]
fn s18_a_header_or_variable_that_is_not_known_to_be_harmless_is_masked() {
    check("headers:\n  - name: x-custom\n    value: «x»\n  - name: Accept\n    value: text/plain\n");
    check("headers:\n- value: «x»\n  name: x-custom\n- value: «y»\n");
    check(
        "extra_headers:\n  x-custom: «x»\n  content-type: text/plain\n  x-deep:\n    value: «y»\nnext: kept\n",
    );
    check("headers:\n  - x-custom: «x»\n  - Accept: text/plain\n  - \"X-Custom: «y»\"\n");
    check("headers: {x-custom: «x», accept: text/plain}\nnext: {x-custom: kept}\n");
    check(
        "headers: [{name: x-custom, value: «x»}, {value: y, name: host}, {x-other: «z»}, \"X-Custom: «y»\"]\n",
    );
    check(
        r#"{"a": {"headers": {"x-custom": "«x»", "accept": "b"}, "env": [{"name": "FOO", "value": "«y»"}]}}"#,
    );
    check(
        "env:\n  - name: FOO\n    value: «x»\n  - name: POD_NAME\n    valueFrom: {fieldRef: {fieldPath: a}}\n",
    );
    check("environment:\n  - FOO=«x»\n  - PATH=/bin\nenvironment_name: kept\n");
    check("headers:\n  {x-custom: «x»}\nheaders_of: kept\n");
    check("headers: |\n  X-Custom: «x»\n  Accept: a\nnext: kept\n");
    check("headers:\n  - action: insert\n    key: x-custom\n    value: «x»\n    from_context: kept\n");
    check("headers:\n  - action: «insert»\n    value: «x»\n");
    check("environment: production\nheaders: [x-a, x-b]\n");
}

#[test]
fn s18_xml_is_masked_by_the_names_of_its_elements_and_attributes() {
    check("<config>\n  <Password>«x»</Password>\n  <name>kept</name>\n</config>\n");
    check("<a:ApiKey type='b'>\n  «one»\n  «two»\n</a:ApiKey><next>kept</next>\n");
    check("<server password=\"«x»\" host='h'/>\n");
    check("<add key=\"password\" value=\"«x»\"/><add key=\"colour\" value=\"red\"/>\n");
    check("<add value=\"«x»\" key=\"password\" />\n");
    check("<property name=\"db.token\">«x»</property><property name=\"a\">b</property>\n");
    check("<credentials><user>«me»</user><id>«5»</id></credentials><id>5</id>\n");
    check("<secret><![CDATA[«a < b»]]></secret>\n");
    check("text: |\n  <token>«x»</token>\n");
    check("<secret/><a>kept</a>\nb: a <token> without an end\n</c>\n");
}

#[test]
fn s18_a_file_of_another_form_is_masked_line_by_line() {
    let check_file = |content_type: &str, text: &str| {
        let input = text.replace(['«', '»'], "");
        let masked = redact_file(content_type, &input).text;
        let mut expected = text.to_owned();
        while let (Some(from), Some(to)) = (expected.find('«'), expected.find('»')) {
            expected.replace_range(from..to + '»'.len_utf8(), MASK);
        }
        assert_eq!(masked, expected);
    };
    check_file("text/plain", "[OUTPUT]\n    Name  http\n    HTTP_Passwd  «x y»\n    Header  X-Custom «z»\n");
    check_file(
        "text/plain",
        "proxy_set_header Authorization \"«x»\";\nproxy_set_header Host a;\n"
            .replace("\"«x»\"", "«\"x\"»")
            .as_str(),
    );
    check_file(
        "application/octet-stream",
        "requirepass «foobared»\n#masterauth «x»\n# Password of nobody\nport 6379\n",
    );
    check_file("text/x-unknown", "set password «x»\npassword = «y»\ntoken: «z»\n");
    for structured in ["text/yaml", "application/x-yaml; charset=utf-8", "application/json", ""] {
        check_file(structured, "note: |\n  token is a word\n");
    }
}

#[test]
fn s18_a_block_scalar_of_a_secret_key_is_masked_line_by_line() {
    check("a:\n  private_key: |-\n    «abc: def»\n\n    «- x»\n  next: kept\n");
    check("token: >\n  «folded»\nnext: kept\n");
    check("password: «first»\n  «second»\nnext: kept\n");
    check("password:\n  «below»\nnext: kept\n");
}

#[test]
fn s18_all_that_is_below_a_secret_key_is_masked_and_its_keys_stay() {
    check("credentials:\n  user: «me»\n  list:\n  - «a»\n  - {b: «c», d: [«e»]}\nnext: kept\n");
    check("tokens:\n- «a»\n- \"«b»\"\nnext: kept\n");
    check("auth:\n  authenticator: basic\nother:\n  auth: «x»\n");
}

#[test]
fn s18_json_is_masked_in_every_layout() {
    check(
        r#"{"a": 1, "password": "«x\"y»", "b": {"api_key":«123»,"c":"d"}, "token": null, "tokens": ["«q»", "«r»"]}"#,
    );
    check(
        "{\n  \"headers\": [\n    {\"name\": \"Authorization\", \"value\": \"«x»\"},\n    {\"value\": \"«y»\", \"name\": \"token\"}\n  ]\n}\n",
    );
    check("{\"a\":[],\"secret\":\"«x»\"}\n{\"b\":\"c\",\"secret\":\"«y»\"}\n");
    check(r#"config: '{"password": "«x»", "user": "me"}'"#);
    check(r#"config: "{\"password\": \"«x»\", \"user\": \"me\"}""#);
}

#[test]
fn s18_keys_with_an_equals_sign_are_masked() {
    check("# a comment\nuser = me\npassword = \"«x y»\"\nexport API_KEY='«z»'\n[section]\ntoken=«abc»\n");
    check("dsn_text: host=db user=me password=«x» dbname=a\n");
    check("endpoint: https://h/p?a=b&api_key=«x»&c=d\n");
    check("secret = \"\"\"\n«one»\n«two»\n\"\"\"\nnext = 1\n");
    check("condition: attributes[\"token\"] == \"x\"\n");
}

#[test]
fn s18_secrets_that_show_by_themselves_are_masked_under_any_key() {
    check("url: postgres://me:«p@ss/w»@db:5432/x\nother: https://host:8080/a@b\nthird: https://me@host/\n");
    check("brokers: amqp://a:5672,amqp://me:«pw»@b:5672\n");
    check("note: 'Bearer «abcdef0123456789»'\nplain: bearer of news\n");
    check(
        "pem: |\n  -----BEGIN RSA PRIVATE KEY-----\n  «abc»\n  «def»\n  -----END RSA PRIVATE KEY-----\nnext: kept\n",
    );
    check("pem: |\n  -----BEGIN CERTIFICATE-----\n  abc\n  -----END CERTIFICATE-----\n");
}

#[test]
fn s18_comments_tags_and_odd_layouts_hide_nothing() {
    check("#password: «x»\n# - token: «y»\n");
    check("password: !!str «x»\nsecret: &a «y»\n");
    check("- - token: «x»\n    name: kept\n");
    check("\"quo\\\"ted\": kept\n'api key': '«it''s»'\n");
    check("password: ${env:PW}\n".replace("${env:PW}", "«${env:PW}»").as_str());
    check("{password: «${env:PW}», a: b}\n");
    check("password: \"«open\nnext\"»\n".replace("«open\nnext\"»", "«open»\n«next»\"").as_str());
    check("msg: \"stray\npassword: «x»\nend: \"y\"\n");
    check("password: true\ntoken: \"\"\nsecret: null\n");
}

/// A document as a generator makes it.
#[derive(Debug, Clone)]
enum Node {
    Text(String),
    List(Vec<Node>),
    Map(Vec<(String, Node)>),
}

fn key() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "endpoint",
        "password",
        "nested",
        "api_key",
        "name",
        "value",
        "headers",
        "Authorization",
        "credentials",
        "a",
        "key",
        "client_secret",
        "auth",
    ])
    .prop_map(str::to_owned)
}

fn node() -> impl Strategy<Value = Node> {
    let leaf = prop::sample::select(vec!["plain", "Authorization", "two words", "x-api-key", "12"]);
    leaf.prop_map(|text| Node::Text(text.to_owned())).prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(Node::List),
            prop::collection::vec((key(), inner), 1..4).prop_map(Node::Map),
        ]
    })
}

/// Puts a secret that no other text contains under every key that needs one.
fn plant(node: Node, secret_here: bool, count: &mut usize) -> Node {
    match node {
        Node::Text(_) if secret_here => {
            *count += 1;
            Node::Text(format!("hidden{count}"))
        }
        Node::Text(text) => Node::Text(text),
        Node::List(list) => Node::List(list.into_iter().map(|one| plant(one, secret_here, count)).collect()),
        Node::Map(pairs) => {
            let named = pairs.iter().any(|(key, value)| {
                matches!(value, Node::Text(text) if names::names_its_neighbour(key) && names::is_secret(text))
            });
            let plant_pair = |(key, value): (String, Node)| {
                let own = match names::secrecy(&key) {
                    names::Secrecy::All => true,
                    names::Secrecy::Scalar => matches!(value, Node::Text(_)),
                    names::Secrecy::None => named && names::is_named_by_neighbour(&key),
                };
                (key, plant(value, secret_here || own, count))
            };
            Node::Map(pairs.into_iter().map(plant_pair).collect())
        }
    }
}

fn json(node: &Node) -> String {
    match node {
        Node::Text(text) => format!("\"{text}\""),
        Node::List(list) => format!("[{}]", list.iter().map(json).collect::<Vec<_>>().join(", ")),
        Node::Map(pairs) => {
            let pairs: Vec<_> =
                pairs.iter().map(|(key, value)| format!("\"{key}\": {}", json(value))).collect();
            format!("{{{}}}", pairs.join(","))
        }
    }
}

/// Block style, with what `style` says for scalars: plain, quoted or as a block.
fn yaml(node: &Node, indent: usize, style: u8, out: &mut String) {
    let pad = " ".repeat(indent);
    match node {
        Node::Text(text) => {
            *out += &match style % 4 {
                0 => format!(" {text}\n"),
                1 => format!(" \"{text}\"\n"),
                2 => format!(" '{text}' # note\n"),
                _ => format!(" |-\n{pad}  {text}\n{pad}  {text}\n"),
            }
        }
        Node::List(list) => {
            *out += "\n";
            for one in list {
                *out += &format!("{pad}-");
                match one {
                    Node::Map(pairs) => yaml_pairs(pairs, indent + 2, style, out, true),
                    other => yaml(other, indent + 2, style, out),
                }
            }
        }
        Node::Map(pairs) => {
            *out += "\n";
            yaml_pairs(pairs, indent, style, out, false);
        }
    }
}

fn yaml_pairs(pairs: &[(String, Node)], indent: usize, style: u8, out: &mut String, first_inline: bool) {
    for (index, (key, value)) in pairs.iter().enumerate() {
        let pad = if index == 0 && first_inline { " ".to_owned() } else { " ".repeat(indent) };
        *out += &format!("{pad}{key}:");
        yaml(value, indent + 2, style, out);
    }
}

#[test]
fn s18_a_named_value_that_is_a_mapping_is_masked_through_and_through() {
    for text in [
        "name: Authorization\nvalue:\n  value: hidden1\n",
        "name: harmless\nvalue:\n  name: Authorization\n  value: hidden1\n",
        "- name: Authorization\n  value:\n    value:\n      value: hidden1\n",
        "value:\n  value: hidden1\nname: Authorization\n",
    ] {
        let masked = redact(text).text;
        assert!(!masked.contains("hidden"), "{masked}");
    }
}

proptest! {
    #[test]
    fn s18_no_planted_secret_survives_in_json_or_yaml(node in node(), style: u8) {
        let node = plant(node, false, &mut 0);
        let mut block = String::new();
        yaml(&node, 0, style, &mut block);
        for text in [json(&node), block] {
            let masked = redact(&text).text;
            prop_assert!(!masked.contains("hidden"), "{}\n---\n{}", text, masked);
            prop_assert_eq!(text.lines().count(), masked.lines().count());
        }
    }

    #[test]
    fn s18_any_junk_keeps_its_lines(
        text in "([\\[\\]{}:,\"'#|>=\\\\ \n-]|password|name|value|token|Authorization|://|@|é|\u{a0}|-----BEGIN |PRIVATE KEY-----){0,40}"
    ) {
        let once = redact(&text).text;
        prop_assert_eq!(text.lines().count(), once.lines().count());
        redact(&once);
    }

    #[test]
    fn s18_any_text_at_all_is_read_without_harm(text in ".{0,200}") {
        redact(&text);
    }
}

#[test]
fn s18_a_large_hostile_text_takes_linear_time() {
    for unit in [
        "[",
        "{value:",
        "://",
        "-----BEGIN PRIVATE KEY-----",
        "token=\"",
        "a: \"\n",
        "- ",
        "'",
        "\"\\",
        "= ",
        "password: |\n ",
        "<token>",
        "<token a='",
        "</token>",
        "<a value='x' ",
        "? token\n",
        "headers: [{",
        "headers:\n - a: b\n",
    ] {
        let text = unit.repeat(100_000 / unit.len());
        // A reader that went back and forth would need minutes for this; no clock is needed to notice.
        redact(&text);
    }
}
