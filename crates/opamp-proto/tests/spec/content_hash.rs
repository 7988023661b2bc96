//! The hash of a configuration: one for equal content, another for any difference.

use opamp_proto::hash::{config_hash, sha256};
use opamp_proto::wire::{AgentConfigFile, AgentConfigMap, Message};
use proptest::prelude::*;

use crate::generators::config_map;

proptest! {
    #[test]
    fn c24_equal_content_has_one_hash_whatever_order_it_was_put_in(map in config_map(), seed in any::<u64>()) {
        let mut files: Vec<_> = map.config_map.clone().into_iter().collect();
        let mut rng = fastrand::Rng::with_seed(seed);
        for _ in 0..100 {
            rng.shuffle(&mut files);
            let again = AgentConfigMap { config_map: files.iter().cloned().collect() };
            prop_assert_eq!(config_hash(&again), config_hash(&map));
            prop_assert_eq!(again.encode_to_vec(), map.encode_to_vec());
        }
    }

    #[test]
    fn different_content_has_different_hashes(one in config_map(), other in config_map()) {
        prop_assert_eq!(config_hash(&one) == config_hash(&other), one == other);
    }
}

fn one_file(name: &str, body: &str, content_type: &str) -> AgentConfigMap {
    let file = AgentConfigFile {
        body: body.to_owned().into(),
        content_type: content_type.to_owned(),
        ..AgentConfigFile::default()
    };
    AgentConfigMap { config_map: [(name.to_owned(), file)].into() }
}

#[test]
fn parts_that_run_together_do_not_hash_alike() {
    let hashes =
        [one_file("ab", "c", ""), one_file("a", "bc", ""), one_file("a", "c", "b"), one_file("", "abc", "")]
            .map(|map| config_hash(&map));
    for (index, hash) in hashes.iter().enumerate() {
        assert_eq!(hash.len(), 32);
        assert!(!hashes[..index].contains(hash));
    }
}

#[test]
fn the_hash_is_sha_256() {
    let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    let hex: String = sha256(b"").iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex, empty);
    assert_eq!(config_hash(&AgentConfigMap::default())[..], sha256(b"")[..]);
}
