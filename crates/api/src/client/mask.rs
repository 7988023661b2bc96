//! What a trace may show: bodies of requests and answers without what is secret in them.

use serde_json::Value;

/// Fields with a secret in them; `command` holds the join token.
const SECRET: [&str; 7] = ["password", "token", "csrf", "current", "new", "content", "command"];
/// Fields whose values are secrets each: they came from the environment and from files of whoever deploys.
const SECRETS: [&str; 4] = ["variables", "env_files", "secret_files", "config_files"];

/// JSON with the values of secret fields replaced.
pub(super) fn masked(json: &str) -> String {
    match serde_json::from_str::<Value>(json) {
        Ok(mut value) => {
            mask(&mut value);
            value.to_string()
        }
        Err(_) => format!("({} bytes that are no JSON)", json.len()),
    }
}

fn mask(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            // A Compose file: passwords often stand in it.
            let is_file = fields.len() == 2 && fields.contains_key("name");
            for (name, value) in fields {
                match (name.as_str(), &mut *value) {
                    ("text", Value::String(_)) if is_file => *value = "***".into(),
                    (name, Value::String(_)) if SECRET.contains(&name) => *value = "***".into(),
                    (name, Value::Object(inner)) if SECRETS.contains(&name) => {
                        inner.values_mut().for_each(|value| *value = "***".into());
                    }
                    (_, value) => mask(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(mask),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_in_a_trace_wherever_they_stand() {
        let text = masked(r#"{"username":"a","password":"p","items":[{"token":"t","id":1}],"token":null}"#);
        assert_eq!(
            text,
            r#"{"items":[{"id":1,"token":"***"}],"password":"***","token":null,"username":"a"}"#
        );
    }

    #[test]
    fn what_is_sent_along_with_compose_files_is_masked_and_so_are_they() {
        let text = masked(
            r#"{"files":[{"name":"compose.yaml","text":"PASSWORD: hunter2"}],"variables":{"A":"hunter2"},"env_files":{".env":"hunter2"},
               "secret_files":{"s":"hunter2"},"config_files":{"c":"hunter2"},"message":"why"}"#,
        );
        assert!(!text.contains("hunter2") && text.contains("why") && text.contains("compose.yaml"), "{text}");
        assert!(!masked(r#"{"content":"eA=="}"#).contains("eA"));
        assert!(!masked(r#"{"id":"1","command":"curl x"}"#).contains("curl"));
        assert!(masked(r#"{"at":"t","replica":"web-1","text":"hello"}"#).contains("hello"), "lines of logs");
    }
}
