//! The state's copy on disk: read back, and refused whenever anything about it is wrong.

use host_proto::Secret;
use host_proto::desired::File;

use super::*;

fn host(last: &str) -> HostId {
    format!("hst_{last}").parse().unwrap()
}

fn state() -> DesiredState {
    let mut state = DesiredState::empty("epoch-1", 7);
    state.files.push(File {
        id: "fil_1".parse().unwrap(),
        sha256: "0".repeat(64),
        size_bytes: 3,
        inline_b64: Some(Secret::new("aHVudGVyMg==")),
        mode: 0o400,
        uid: 0,
        gid: 0,
        secret: true,
    });
    state
}

fn world() -> (tempfile::TempDir, Cache) {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::new(folder.path().join("state.cache"), host("1"), [7; 32]);
    cache.save(&state(), true, None).unwrap();
    (folder, cache)
}

#[test]
fn state_3_the_state_is_kept_encrypted_and_reads_back() {
    let (_folder, cache) = world();
    let cached = cache.load().unwrap().unwrap();
    assert_eq!((cached.state, cached.adopting), (state(), true));
    assert!(cached.age < Duration::from_secs(60));
    let bytes = std::fs::read(&cache.path).unwrap();
    for secret in ["aHVudGVyMg==", "fil_1"] {
        assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()), "{secret} shows");
    }
    cache.save(&DesiredState::empty("epoch-1", 8), false, None).unwrap();
    assert_eq!(cache.load().unwrap().unwrap().state.generation, 8);
    cache.remove().unwrap();
    assert_eq!(cache.load().unwrap(), None);
    cache.remove().unwrap();
}

#[test]
fn state_7_what_runs_beside_a_state_that_is_adopted_is_kept_with_it() {
    let (_folder, cache) = world();
    let before = DesiredState { generation: 9, ..state() };
    let now = DesiredState::empty("epoch-2", 1);
    cache.save(&now, true, Some(&before)).unwrap();
    let cached = cache.load().unwrap().unwrap();
    assert_eq!((cached.state, cached.unclaimed), (now.clone(), Some(before)));
    cache.save(&now, false, None).unwrap();
    assert_eq!(cache.load().unwrap().unwrap().unclaimed, None);
}

/// Loads it with a fault, and expects it to be set aside.
fn set_aside(cache: &Cache) -> Unusable {
    let Err(CacheError::SetAside { why, aside, .. }) = cache.load() else { panic!("it was not set aside") };
    assert!(aside.exists() && !cache.path.exists());
    assert_eq!(cache.load().unwrap(), None, "nothing is left to apply");
    why
}

#[test]
fn state_12_a_cut_or_changed_cache_is_set_aside_wherever_the_fault_is() {
    let (_folder, cache) = world();
    let good = std::fs::read(&cache.path).unwrap();
    for length in 0..good.len() {
        std::fs::write(&cache.path, &good[..length]).unwrap();
        assert!(matches!(set_aside(&cache), Unusable::Damaged(_)), "cut to {length}");
    }
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1;
        std::fs::write(&cache.path, &bad).unwrap();
        set_aside(&cache);
    }
}

#[test]
fn state_12_the_cache_of_another_host_or_key_or_of_a_later_version_is_set_aside() {
    let (folder, cache) = world();
    let other = Cache::new(&cache.path, host("2"), [7; 32]);
    assert_eq!(set_aside(&other), Unusable::Foreign("hst_1".to_owned()));
    cache.save(&state(), true, None).unwrap();
    let other = Cache::new(&cache.path, host("1"), [8; 32]);
    assert_eq!(set_aside(&other), Unusable::OtherKey);
    let header = r#"{"format":9,"host_id":"hst_1","key_id":"","epoch":"","generation":0,"adopting":false,"saved_at_s":0}"#;
    let mut later = MAGIC.to_vec();
    later.extend(u32::try_from(header.len()).unwrap().to_be_bytes());
    later.extend(header.as_bytes());
    std::fs::write(&cache.path, later).unwrap();
    assert_eq!(set_aside(&cache), Unusable::Format(9));
    assert!(folder.path().join("state.cache.bad").exists());
}
