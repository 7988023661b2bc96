//! How one thing that netd serves stands, in words for people.

use std::io;
use std::net::SocketAddr;

use host_proto::desired::Section;
use serde::{Deserialize, Serialize};

/// How one gateway or port stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ItemStatus {
    /// `dns` for a gateway, `routes` for a port.
    pub section: Section,
    /// The identifier of the network or route.
    pub id: String,
    /// What a person calls it: `port 8080/tcp`, `names on 10.208.1.1`.
    pub name: String,
    /// Where it listens.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<SocketAddr>,
    /// Why it does not listen, in the kernel's words; netd tries again by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl ItemStatus {
    pub(super) fn new(section: Section, id: &str, name: String, listening: io::Result<SocketAddr>) -> Self {
        let (address, error) = match listening {
            Ok(address) => (Some(address), None),
            Err(error) => (None, Some(words(&error))),
        };
        Self { section, id: id.to_owned(), name, address, error }
    }
}

/// The kernel's words as a part of a sentence: `address already in use`.
fn words(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_lowercase().chain(letters).collect(),
        None => "unknown error".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_part_of_a_sentence() {
        let taken = io::Error::from_raw_os_error(98);
        let item = ItemStatus::new(Section::Routes, "rte_1", "port 8080/tcp".to_owned(), Err(taken));
        assert_eq!(
            format!("{}: {}", item.name, item.error.unwrap()),
            "port 8080/tcp: address already in use"
        );
    }
}
