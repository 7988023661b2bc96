//! Enrolment tokens.

use model::credential::Validity;
use model::{CredentialId, EnrolmentToken, TokenHash, UnixMillis};
use store::{NewCredential, StoreError};

use super::world::{NOW, entry, entry_at, open};

#[tokio::test]
async fn a_credential_is_found_by_the_hash_of_its_text_and_only_by_that() {
    let world = open().await;
    let token = EnrolmentToken::from_random([7; 32]);
    let new = NewCredential {
        label: "edge".into(),
        hash: token.hash(),
        created_at: NOW,
        expires_at: Some(UnixMillis(NOW.0 + 10)),
    };
    let made = world.store.create_credential(new.clone(), entry()).await.unwrap();
    assert_eq!(world.store.credential_by_hash(token.hash()).await.unwrap(), Some(made.clone()));
    assert_eq!(world.store.credential_by_hash(TokenHash::of("mst_")).await.unwrap(), None);
    assert_eq!(made.validity(UnixMillis(NOW.0 + 9)), Validity::Open);
    assert!(matches!(world.store.create_credential(new, entry()).await, Err(StoreError::Exists(_))));
    let all = world.store.credentials().await.unwrap();
    assert_eq!(all.iter().map(|one| one.label.as_str()).collect::<Vec<_>>(), ["edge", "first"]);
}

#[tokio::test]
async fn a_revoked_credential_keeps_its_first_date_and_the_last_use_only_grows() {
    let world = open().await;
    let (id, store) = (world.credential, &world.store);
    store.touch_credentials(vec![(id, UnixMillis(5)), (id, UnixMillis(3))]).await.unwrap();
    assert_eq!(store.credential(id).await.unwrap().unwrap().last_used_at, Some(UnixMillis(5)));
    store.revoke_credential(id, entry_at(10)).await.unwrap();
    let again = store.revoke_credential(id, entry_at(20)).await.unwrap().unwrap();
    assert_eq!(again.revoked_at, Some(UnixMillis(10)));
    assert_eq!(store.revoke_credential(CredentialId(99), entry()).await.unwrap(), None);
}
