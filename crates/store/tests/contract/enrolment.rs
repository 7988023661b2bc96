//! Who may come in, and with which credential.

use model::{TokenHash, UnixMillis};
use store::{EnrolOutcome, Enrolment, Mark, NewCredential};

use super::world::{NOW, credential, entry, open, uid};

#[tokio::test]
async fn an_agent_is_bound_to_the_credential_that_enrolled_it() {
    let mut world = open().await;
    world.enrol(1, &[]).await;
    assert_eq!(world.enrol_write(NOW, world.write(1)).await, EnrolOutcome::Known);
    let first = world.credential;
    world.credential = credential(&world.store, "second").await;
    assert_eq!(
        world.enrol_write(NOW, world.write(1)).await,
        EnrolOutcome::BoundToOther { credential: first }
    );
    let binding = world.store.agent_binding(uid(1)).await.unwrap().unwrap();
    assert_eq!((binding.credential, binding.revoked), (first, false));
    assert_eq!(world.store.agent_binding(uid(2)).await.unwrap(), None);
}

#[tokio::test]
async fn a_revoked_credential_serves_nobody_and_lets_go_of_its_agents() {
    let mut world = open().await;
    world.enrol(1, &[]).await;
    let first = world.credential;
    assert_eq!(world.store.revoke_credential(first, entry()).await.unwrap().unwrap().revoked_at, Some(NOW));
    assert_eq!(world.enrol_write(NOW, world.write(1)).await, EnrolOutcome::Revoked);
    assert_eq!(world.enrol_write(NOW, world.write(2)).await, EnrolOutcome::Revoked);
    world.credential = credential(&world.store, "second").await;
    assert_eq!(world.enrol_write(NOW, world.write(1)).await, EnrolOutcome::Rebound { from: first });
    assert_eq!(world.enrol_write(NOW, world.write(1)).await, EnrolOutcome::Known);
    let agent = world.store.get_agent(uid(1)).await.unwrap().unwrap();
    assert_eq!((agent.credential.id, agent.credential.label.as_str()), (world.credential, "second"));
}

#[tokio::test]
async fn an_expired_credential_serves_the_agents_that_it_enrolled_and_no_other() {
    let mut world = open().await;
    let end = UnixMillis(NOW.0 + 100);
    let new =
        NewCredential { label: "x".into(), hash: TokenHash::of("x"), created_at: NOW, expires_at: Some(end) };
    world.credential = world.store.create_credential(new, entry()).await.unwrap().id;
    world.enrol(1, &[]).await;
    assert_eq!(world.enrol_write(end, world.write(1)).await, EnrolOutcome::Known);
    assert_eq!(world.enrol_write(end, world.write(2)).await, EnrolOutcome::Expired);
    assert_eq!(world.store.agent_binding(uid(2)).await.unwrap(), None);
}

#[tokio::test]
async fn a_batch_is_answered_one_by_one_also_when_it_names_an_agent_twice() {
    let world = open().await;
    let enrolment = |n| Enrolment { credential: world.credential, now: NOW, first: world.session(n, 1, NOW) };
    let mut batch = vec![enrolment(1), enrolment(1), enrolment(2)];
    batch.push(Enrolment { credential: model::CredentialId(999), ..enrolment(3) });
    let outcomes = world.store.enrol(batch).await.unwrap();
    let expected =
        [EnrolOutcome::Enrolled, EnrolOutcome::Known, EnrolOutcome::Enrolled, EnrolOutcome::NoCredential];
    assert_eq!(outcomes, expected);
    let admitted: Vec<_> = outcomes.iter().map(|outcome| outcome.is_admitted()).collect();
    assert_eq!(admitted, [true, true, true, false]);
}

#[tokio::test]
async fn many_enrolments_at_once_are_all_done() {
    let world = open().await;
    let calls: Vec<_> = (1..=60u8)
        .map(|n| {
            let first = store::AgentWrite { mark: Some(Mark::Heard), ..world.session(n, 1, NOW) };
            let enrolment = Enrolment { credential: world.credential, now: NOW, first };
            let store = world.store.clone();
            tokio::spawn(async move { store.enrol(vec![enrolment]).await })
        })
        .collect();
    for call in calls {
        assert_eq!(call.await.unwrap().unwrap(), [EnrolOutcome::Enrolled]);
    }
    assert_eq!(world.store.agent_counts().await.unwrap().connected, 60);
    assert_eq!(world.store.credential(world.credential).await.unwrap().unwrap().agents, 60);
}

/// Calls that share a transaction share its end, where the index is written and replacements are looked for.
#[tokio::test]
async fn agents_that_come_in_calls_of_their_own_are_found_and_replace_others() {
    let world = open().await;
    world.enrol(1, &[("service.name", "otelcol"), ("host.name", "h1")]).await;
    let gone = store::AgentWrite { mark: Some(Mark::Disconnected(NOW)), ..world.write(1) };
    world.store.write_agents(vec![gone]).await.unwrap();
    let world = std::sync::Arc::new(world);
    let calls: Vec<_> = (1..=50u8)
        .map(|n| {
            let world = std::sync::Arc::clone(&world);
            let host = format!("h{n}");
            tokio::spawn(async move {
                let attributes = [("service.name", "otelcol"), ("host.name", host.as_str())];
                world.enrol(100 + n, &attributes).await;
            })
        })
        .collect();
    for call in calls {
        call.await.unwrap();
    }
    let selector = model::Selector::parse("service.name=otelcol,host.name in (h1,h7)").unwrap();
    let query = store::AgentQuery { selector, ..store::AgentQuery::default() };
    let found: Vec<_> =
        world.store.list_agents(query).await.unwrap().items.iter().map(|one| one.uid).collect();
    assert_eq!(found.len(), 2);
    assert!(found.contains(&uid(101)) && found.contains(&uid(107)));
    let old = world.store.get_agent(uid(1)).await.unwrap().unwrap();
    assert_eq!(old.summary.replaced_by, Some(uid(101)));
}
