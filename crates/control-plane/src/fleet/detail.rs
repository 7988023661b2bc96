//! An agent's page as JSON: every part that it reported, decoded, secrets of its configuration masked (S18). What
//! an agent sends is text for people and never markup (S38).

use std::collections::BTreeMap;
use std::sync::Arc;

use api::agents::{
    AgentDetail, Attribute, Components, ConfigFile, CredentialRef, Description, EffectiveConfig, Health,
    RemoteConfigStatus,
};
use bytes::Bytes;
use model::redact::redact_file;
use model::{AgentParts, AttributeValue, Attributes, HealthTree, RemoteConfigState};
use opamp_proto::Part;
use opamp_proto::wire::{self, Message};
use serde_json::{Map, Value, json};

use super::summary::{said, summary};
use crate::clock::rfc3339;
use crate::opamp::LiveAgent;

/// The agent's page.
pub(super) fn detail(row: model::AgentDetail, live: Option<&Arc<LiveAgent>>) -> AgentDetail {
    let model::AgentDetail { summary: head, sequence_num, first_seen, enrolled_at, credential, parts } = row;
    let capabilities = head.capabilities;
    AgentDetail {
        summary: summary(head, live),
        description: part(&parts, Part::Description).map(description).unwrap_or_default(),
        capability_bits: capabilities.bits().to_string(),
        unknown_capability_bits: capabilities.unknown_bits().to_string(),
        health: part::<wire::ComponentHealth>(&parts, Part::Health).map(|tree| health(tree.into())),
        effective_config: parts.get(Part::EffectiveConfig).and_then(effective_config),
        components: part(&parts, Part::AvailableComponents).map(components),
        package_statuses: part(&parts, Part::PackageStatuses).map(package_statuses),
        connection_settings_status: part(&parts, Part::ConnectionSettingsStatus)
            .map(connection_settings_status),
        custom_capabilities: part::<wire::CustomCapabilities>(&parts, Part::CustomCapabilities)
            .map(|custom| custom.capabilities)
            .unwrap_or_default(),
        remote_config_status: part::<wire::RemoteConfigStatus>(&parts, Part::RemoteConfigStatus)
            .map(|status| remote_config_status(status.into())),
        sequence_num: Some(live.and_then(|agent| agent.read(|s| s.sequence_num())).unwrap_or(sequence_num)),
        enrolled_at: Some(rfc3339(enrolled_at)),
        credential: Some(CredentialRef { id: credential.id.to_string(), label: credential.label }),
        first_seen: Some(rfc3339(first_seen)),
        offered: None,
        drift: None,
    }
}

/// A part that cannot be decoded was checked when it came, so this build is older than the one that stored it.
fn part<M: Message + Default>(parts: &AgentParts, part: Part) -> Option<M> {
    M::decode(parts.get(part)?.clone()).ok()
}

pub(super) fn description(wire: wire::AgentDescription) -> Description {
    let Attributes { identifying, non_identifying } = wire.into();
    Description { identifying: attributes(identifying), non_identifying: attributes(non_identifying) }
}

fn attributes(list: Vec<model::Attribute>) -> Vec<Attribute> {
    list.into_iter()
        .map(|model::Attribute { key, value }| Attribute {
            key,
            kind: value.type_name().to_owned(),
            value: attribute_value(&value),
        })
        .collect()
}

/// An attribute's JSON form. Whole numbers are text, since JSON numbers end at 2^53.
fn attribute_value(value: &AttributeValue) -> Value {
    match value {
        AttributeValue::Empty => Value::Null,
        AttributeValue::Bool(value) => Value::Bool(*value),
        AttributeValue::Double(number) => serde_json::Number::from_f64(*number)
            .map_or_else(|| Value::String(value.to_string()), Value::Number),
        AttributeValue::String(_) | AttributeValue::Int(_) | AttributeValue::Bytes(_) => {
            Value::String(value.to_string())
        }
        AttributeValue::Array(items) => items.iter().map(attribute_value).collect(),
        AttributeValue::Map(pairs) => {
            let pairs = pairs.iter().map(|pair| (pair.key.clone(), attribute_value(&pair.value)));
            Value::Object(pairs.collect::<Map<_, _>>())
        }
    }
}

pub(super) fn health(tree: HealthTree) -> Health {
    let HealthTree { healthy, status, last_error, start_time, status_time, attributes: list, components } =
        tree;
    Health {
        healthy,
        status,
        last_error,
        start_time: start_time.map(rfc3339),
        status_time: status_time.map(rfc3339),
        attributes: attributes(list),
        components: components
            .into_iter()
            .map(|(name, part)| (name, health(part)))
            .collect::<BTreeMap<_, _>>(),
    }
}

fn effective_config(bytes: &Bytes) -> Option<EffectiveConfig> {
    let config = wire::EffectiveConfig::decode(bytes.clone()).ok()?;
    let files = config.config_map.unwrap_or_default().config_map;
    Some(EffectiveConfig {
        files: files.into_iter().map(|(name, file)| config_file(name, file)).collect(),
        hash: hex::encode(opamp_proto::hash::sha256(bytes)),
    })
}

pub(super) fn config_file(name: String, file: wire::AgentConfigFile) -> ConfigFile {
    let wire::AgentConfigFile { body, content_type, role: _ } = file;
    let (body, redacted, encoding) = match std::str::from_utf8(&body) {
        Ok(text) => {
            let masked = redact_file(&content_type, text);
            (masked.text, masked.masked > 0, "utf8")
        }
        // A text in another encoding has secrets too. What has none that is found is shown as it is.
        Err(_) => match redact_file(&content_type, &String::from_utf8_lossy(&body)) {
            masked if masked.masked > 0 => (masked.text, true, "utf8"),
            _ => (AttributeValue::Bytes(body).to_string(), false, "base64"),
        },
    };
    ConfigFile { name, content_type, body, redacted, encoding: encoding.to_owned() }
}

pub(super) fn components(available: wire::AvailableComponents) -> Components {
    let wire::AvailableComponents { components, hash } = available;
    Components { hash: hex::encode(hash), tree: component_map(components) }
}

fn component_map(map: BTreeMap<String, wire::ComponentDetails>) -> Value {
    Value::Object(map.into_iter().map(|(name, details)| (name, component(details))).collect())
}

fn component(details: wire::ComponentDetails) -> Value {
    let wire::ComponentDetails { metadata, sub_component_map } = details;
    let metadata = attributes(metadata.into_iter().map(model::Attribute::from).collect());
    json!({ "metadata": metadata, "components": component_map(sub_component_map) })
}

pub(super) fn package_statuses(statuses: wire::PackageStatuses) -> Value {
    let wire::PackageStatuses { packages, server_provided_all_packages_hash, error_message } = statuses;
    let packages: Map<_, _> =
        packages.into_iter().map(|(name, status)| (name, package_status(status))).collect();
    json!({
        "packages": packages,
        "all_packages_hash": hex::encode(server_provided_all_packages_hash),
        "error": said(error_message),
    })
}

fn package_status(status: wire::PackageStatus) -> Value {
    let word = enum_word::<wire::PackageStatusEnum>(status.status, "PackageStatusEnum_", |known| {
        known.as_str_name()
    });
    let wire::PackageStatus {
        name,
        agent_has_version,
        agent_has_hash,
        server_offered_version,
        server_offered_hash,
        status: _,
        error_message,
        download_details,
    } = status;
    json!({
        "name": name,
        "status": word,
        "agent_has_version": said(agent_has_version),
        "agent_has_hash": said(hex::encode(agent_has_hash)),
        "server_offered_version": said(server_offered_version),
        "server_offered_hash": said(hex::encode(server_offered_hash)),
        "error": said(error_message),
        "download_percent": download_details.as_ref().map(|details| details.download_percent),
        "download_bytes_per_second": download_details.as_ref().map(|details| details.download_bytes_per_second),
    })
}

pub(super) fn connection_settings_status(status: wire::ConnectionSettingsStatus) -> Value {
    let wire::ConnectionSettingsStatus { last_connection_settings_hash, status, error_message } = status;
    let prefix = "ConnectionSettingsStatuses_";
    json!({
        "hash": said(hex::encode(last_connection_settings_hash)),
        "status": enum_word::<wire::ConnectionSettingsStatuses>(status, prefix, |known| known.as_str_name()),
        "error": said(error_message),
    })
}

pub(super) fn remote_config_status(state: RemoteConfigState) -> RemoteConfigStatus {
    let RemoteConfigState { status, hash, error } = state;
    RemoteConfigStatus { hash: hex::encode(hash), status: status.as_str().to_owned(), error: said(error) }
}

/// The word of an enum's number in lower case; the number itself when this build does not know it.
fn enum_word<E: TryFrom<i32>>(number: i32, prefix: &str, name: fn(&E) -> &'static str) -> String {
    match E::try_from(number) {
        Ok(known) => name(&known).trim_start_matches(prefix).to_lowercase(),
        Err(_) => number.to_string(),
    }
}
