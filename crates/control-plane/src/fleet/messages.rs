//! Messages between an agent and this server as JSON, for people who look for a fault. Configurations have their secrets
//! masked (S18); what may hold secrets without a telling name is only said to be there.

use std::collections::BTreeMap;

use api::history::{AgentMessage, Messages};
use bytes::Bytes;
use opamp_proto::wire::{self, Message};
use opamp_proto::{AgentCapabilities, InstanceUid};
use opamp_server::Direction;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::detail;
use crate::clock::rfc3339;
use crate::opamp::{Look, Passed};

/// What somebody sees who looks at an agent.
pub(crate) fn messages(look: Look) -> Messages {
    Messages { kept_until: rfc3339(look.until), items: look.messages.into_iter().map(message).collect() }
}

fn message(passed: Passed) -> AgentMessage {
    let Passed { at, direction, size, bytes } = passed;
    let (word, body) = match direction {
        Direction::FromAgent => ("from agent", bytes.map(from_agent)),
        Direction::ToAgent => ("to agent", bytes.map(to_agent)),
    };
    AgentMessage {
        at: rfc3339(at),
        direction: word.to_owned(),
        size: u64::try_from(size).unwrap_or(u64::MAX),
        body,
    }
}

/// Fields by their name; those that are not set are left out.
struct Fields(Map<String, Value>);

impl Fields {
    fn put<T: Serialize>(&mut self, name: &str, value: Option<T>) {
        if let Some(value) = value.and_then(|value| serde_json::to_value(value).ok()) {
            self.0.insert(name.to_owned(), value);
        }
    }
}

fn broken(error: &impl std::fmt::Display) -> Value {
    json!({ "cannot be read": error.to_string() })
}

fn from_agent(bytes: Bytes) -> Value {
    let message = match wire::AgentToServer::decode(bytes) {
        Ok(message) => message,
        Err(error) => return broken(&error),
    };
    let wire::AgentToServer {
        instance_uid,
        sequence_num,
        agent_description,
        capabilities,
        health,
        effective_config,
        remote_config_status,
        package_statuses,
        agent_disconnect,
        flags,
        connection_settings_request,
        custom_capabilities,
        custom_message,
        available_components,
        connection_settings_status,
    } = message;
    let mut fields = Fields(Map::new());
    fields.put("instance_uid", Some(uid(&instance_uid)));
    fields.put("sequence_num", Some(sequence_num.to_string()));
    fields.put("agent_description", agent_description.map(detail::description));
    fields.put("capabilities", Some(AgentCapabilities::from_bits(capabilities).names().collect::<Vec<_>>()));
    fields.put("health", health.map(|tree| detail::health(tree.into())));
    fields.put("effective_config", effective_config.map(|config| files(config.config_map)));
    fields.put("remote_config_status", remote_config_status.map(|s| detail::remote_config_status(s.into())));
    fields.put("package_statuses", package_statuses.map(detail::package_statuses));
    fields.put("agent_disconnect", agent_disconnect.map(|_| json!({})));
    fields.put("flags", (flags != 0).then(|| flags.to_string()));
    fields.put("connection_settings_request", connection_settings_request.map(|_| "not shown"));
    fields.put("custom_capabilities", custom_capabilities.map(|custom| custom.capabilities));
    fields.put("custom_message", custom_message.map(custom));
    fields.put("available_components", available_components.map(detail::components));
    fields.put(
        "connection_settings_status",
        connection_settings_status.map(detail::connection_settings_status),
    );
    Value::Object(fields.0)
}

fn to_agent(bytes: Bytes) -> Value {
    let message = match wire::ServerToAgent::decode(bytes) {
        Ok(message) => message,
        Err(error) => return broken(&error),
    };
    let wire::ServerToAgent {
        instance_uid,
        error_response,
        remote_config,
        connection_settings,
        packages_available,
        flags,
        capabilities,
        agent_identification,
        command,
        custom_capabilities,
        custom_message,
    } = message;
    let mut fields = Fields(Map::new());
    fields.put("instance_uid", Some(uid(&instance_uid)));
    fields.put("error_response", error_response.map(refusal));
    fields.put("remote_config", remote_config.map(offer));
    fields.put("connection_settings", connection_settings.map(settings));
    fields.put("packages_available", packages_available.map(packages));
    fields.put("flags", (flags != 0).then(|| flags.to_string()));
    fields.put("capabilities", Some(capabilities.to_string()));
    fields.put(
        "agent_identification",
        agent_identification.map(|new| json!({ "new_instance_uid": uid(&new.new_instance_uid) })),
    );
    fields.put("command", command.map(|command| command.r#type));
    fields.put("custom_capabilities", custom_capabilities.map(|custom| custom.capabilities));
    fields.put("custom_message", custom_message.map(custom));
    Value::Object(fields.0)
}

fn uid(bytes: &[u8]) -> String {
    InstanceUid::try_from_slice(bytes).map_or_else(|_| hex::encode(bytes), |uid| uid.to_string())
}

/// The files of a configuration with secrets masked.
fn files(map: Option<wire::AgentConfigMap>) -> BTreeMap<String, String> {
    let files = map.unwrap_or_default().config_map.into_iter();
    files.map(|(name, file)| (name.clone(), detail::config_file(name, file).body)).collect()
}

fn offer(config: wire::AgentRemoteConfig) -> Value {
    json!({ "config": files(config.config), "config_hash": hex::encode(config.config_hash) })
}

fn refusal(error: wire::ServerErrorResponse) -> Value {
    let wire::ServerErrorResponse { r#type, error_message, details } = error;
    let kind = wire::ServerErrorResponseType::try_from(r#type);
    let wire::server_error_response::Details::RetryInfo(retry) = match details {
        Some(details) => details,
        None => {
            return json!({ "type": kind.map_or("unknown", |kind| kind.as_str_name()), "error_message": error_message });
        }
    };
    json!({
        "type": kind.map_or("unknown", |kind| kind.as_str_name()),
        "error_message": error_message,
        "retry_after_nanoseconds": retry.retry_after_nanoseconds.to_string(),
    })
}

/// Which settings are offered; they hold keys and tokens.
fn settings(offers: wire::ConnectionSettingsOffers) -> Value {
    let wire::ConnectionSettingsOffers { hash, opamp, own_metrics, own_traces, own_logs, other_connections } =
        offers;
    let offered = [
        ("opamp", opamp.is_some()),
        ("own_metrics", own_metrics.is_some()),
        ("own_traces", own_traces.is_some()),
        ("own_logs", own_logs.is_some()),
    ];
    let names = offered.into_iter().filter(|(_, is_there)| *is_there).map(|(name, _)| name.to_owned());
    let names: Vec<String> = names.chain(other_connections.into_keys()).collect();
    json!({ "hash": hex::encode(hash), "offers": names, "values": "not shown" })
}

fn packages(available: wire::PackagesAvailable) -> Value {
    let wire::PackagesAvailable { packages, all_packages_hash } = available;
    let packages: BTreeMap<String, String> =
        packages.into_iter().map(|(name, package)| (name, package.version)).collect();
    json!({ "packages": packages, "all_packages_hash": hex::encode(all_packages_hash) })
}

fn custom(message: wire::CustomMessage) -> Value {
    let wire::CustomMessage { capability, r#type, data } = message;
    json!({ "capability": capability, "type": r#type, "bytes": data.len() })
}
