//! Made-up messages for property tests: every field of AgentToServer, in any combination, with any content.

use std::collections::BTreeMap;

use bytes::Bytes;
use opamp_proto::wire::{self, Message, any_value::Value};
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;

pub(crate) fn bytes(max: usize) -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), 0..max).prop_map(Bytes::from)
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z.]{0,12}", any::<String>().prop_map(|text| text.chars().take(8).collect())]
}

pub(crate) fn any_value() -> impl Strategy<Value = wire::AnyValue> {
    let leaf = prop_oneof![
        text().prop_map(Value::StringValue),
        any::<bool>().prop_map(Value::BoolValue),
        any::<i64>().prop_map(Value::IntValue),
        (-1e9..1e9f64).prop_map(Value::DoubleValue),
        bytes(8).prop_map(Value::BytesValue),
    ];
    let leaf = option::of(leaf).prop_map(|value| wire::AnyValue { value });
    leaf.prop_recursive(3, 12, 3, |inner| {
        let pair = (text(), option::of(inner.clone())).prop_map(|(key, value)| wire::KeyValue { key, value });
        let array = vec(inner, 0..3).prop_map(|values| Value::ArrayValue(wire::ArrayValue { values }));
        let map = vec(pair, 0..3).prop_map(|values| Value::KvlistValue(wire::KeyValueList { values }));
        prop_oneof![array, map].prop_map(|value| wire::AnyValue { value: Some(value) })
    })
}

fn attributes() -> impl Strategy<Value = Vec<wire::KeyValue>> {
    vec((text(), option::of(any_value())).prop_map(|(key, value)| wire::KeyValue { key, value }), 0..4)
}

fn description() -> impl Strategy<Value = wire::AgentDescription> {
    (attributes(), attributes()).prop_map(|(identifying_attributes, non_identifying_attributes)| {
        wire::AgentDescription { identifying_attributes, non_identifying_attributes }
    })
}

fn health() -> impl Strategy<Value = wire::ComponentHealth> {
    let one = (any::<bool>(), any::<u64>(), text(), text(), any::<u64>(), attributes()).prop_map(
        |(healthy, start_time_unix_nano, last_error, status, status_time_unix_nano, attributes)| {
            let component_health_map = BTreeMap::new();
            wire::ComponentHealth {
                healthy,
                start_time_unix_nano,
                last_error,
                status,
                status_time_unix_nano,
                component_health_map,
                attributes,
            }
        },
    );
    let one = one.boxed();
    one.clone().prop_recursive(3, 8, 3, move |inner| {
        (one.clone(), btree_map(text(), inner, 0..3)).prop_map(|(mut parent, children)| {
            parent.component_health_map = children;
            parent
        })
    })
}

pub(crate) fn config_map() -> impl Strategy<Value = wire::AgentConfigMap> {
    let file = (bytes(40), text(), text()).prop_map(|(body, content_type, role)| wire::AgentConfigFile {
        body,
        content_type,
        role,
    });
    btree_map(text(), file, 0..4).prop_map(|config_map| wire::AgentConfigMap { config_map })
}

fn components() -> impl Strategy<Value = wire::AvailableComponents> {
    let one = attributes()
        .prop_map(|metadata| wire::ComponentDetails { metadata, sub_component_map: BTreeMap::new() });
    (btree_map(text(), one, 0..3), bytes(8))
        .prop_map(|(components, hash)| wire::AvailableComponents { components, hash })
}

fn packages() -> impl Strategy<Value = wire::PackageStatuses> {
    let one = (text(), bytes(8), any::<i32>(), option::of((0.0..100.0f64, 0.0..1e9f64))).prop_map(
        |(name, hash, status, details)| wire::PackageStatus {
            name,
            agent_has_hash: hash,
            status,
            download_details: details.map(|(download_percent, download_bytes_per_second)| {
                wire::PackageDownloadDetails { download_percent, download_bytes_per_second }
            }),
            ..wire::PackageStatus::default()
        },
    );
    (btree_map(text(), one, 0..3), bytes(8), text()).prop_map(|(packages, hash, error_message)| {
        wire::PackageStatuses { packages, server_provided_all_packages_hash: hash, error_message }
    })
}

fn remote_config_status() -> impl Strategy<Value = wire::RemoteConfigStatus> {
    (bytes(8), any::<i32>(), text()).prop_map(|(last_remote_config_hash, status, error_message)| {
        wire::RemoteConfigStatus { last_remote_config_hash, status, error_message }
    })
}

/// Fields that are numbers, bytes or empty.
fn plain() -> impl Strategy<Value = wire::AgentToServer> {
    (bytes(20), any::<u64>(), any::<u64>(), any::<u64>(), any::<bool>()).prop_map(
        |(instance_uid, sequence_num, capabilities, flags, leaves)| wire::AgentToServer {
            instance_uid,
            sequence_num,
            capabilities,
            flags,
            agent_disconnect: leaves.then_some(wire::AgentDisconnect {}),
            ..wire::AgentToServer::default()
        },
    )
}

/// Any AgentToServer.
pub(crate) fn agent_to_server() -> impl Strategy<Value = wire::AgentToServer> {
    let status = (
        option::of(description()),
        option::of(health()),
        option::of(config_map()),
        option::of(remote_config_status()),
        option::of(packages()),
        option::of(components()),
        option::of(vec(text(), 0..3)),
        option::of((text(), text(), bytes(8))),
    );
    (plain(), status).prop_map(
        |(mut message, (description, health, config, remote, packages, tree, names, custom))| {
            message.agent_description = description;
            message.health = health;
            message.effective_config = config.map(|map| wire::EffectiveConfig { config_map: Some(map) });
            message.remote_config_status = remote.clone();
            message.package_statuses = packages;
            message.available_components = tree;
            message.custom_capabilities = names.map(|capabilities| wire::CustomCapabilities { capabilities });
            message.custom_message =
                custom.map(|(capability, r#type, data)| wire::CustomMessage { capability, r#type, data });
            message.connection_settings_status = remote.map(|status| wire::ConnectionSettingsStatus {
                last_connection_settings_hash: status.last_remote_config_hash,
                status: status.status,
                error_message: status.error_message,
            });
            message
        },
    )
}

/// Encodings that are valid, though not what an encoder of ours writes: two messages run together, which is their
/// merge, with unknown fields before, between and after them.
pub(crate) fn odd_encoding() -> impl Strategy<Value = Vec<u8>> {
    (agent_to_server(), option::of(agent_to_server()), vec(unknown_field(), 3)).prop_map(
        |(first, second, unknown)| {
            let mut encoding = unknown[0].clone();
            encoding.extend(first.encode_to_vec());
            encoding.extend(&unknown[1]);
            encoding.extend(second.unwrap_or_default().encode_to_vec());
            encoding.extend(&unknown[2]);
            encoding
        },
    )
}

/// A field of a later version: any number from 16 up, any type.
pub(crate) fn unknown_field() -> impl Strategy<Value = Vec<u8>> {
    let content = prop_oneof![
        any::<u64>().prop_map(|value| (0, varint(value))),
        any::<[u8; 8]>().prop_map(|eight| (1, eight.to_vec())),
        vec(any::<u8>(), 0..6).prop_map(|bytes| (2, [varint(bytes.len() as u64), bytes].concat())),
        any::<[u8; 4]>().prop_map(|four| (5, four.to_vec())),
    ];
    (16u64..100_000, content)
        .prop_map(|(number, (kind, content))| [varint(number << 3 | kind), content].concat())
}

/// A Varint, as short as it gets.
pub(crate) fn varint(value: u64) -> Vec<u8> {
    let mut out = Vec::new();
    prost::encoding::encode_varint(value, &mut out);
    out
}
