//! Releases of before they kept what their networks and volumes are: what their project said when it was asked last stays
//! theirs, whatever it says from then on.

use host_proto::id::{ProjectId, ReleaseId, ServiceId};
use model::UnixMillis;
use model::hosting::{DeploymentItem, ItemOutcome, Project, ProjectWorld, Release, Service};
use model::service::{
    Attachment, ContainerSpec, FORMAT, NetworkSpec, Order, Placement, Scale, ServiceSpec, Shared, Update,
};
use store::{Expected, NewDeployment, Store};

use crate::world::{entry, open};

fn back(internal: bool) -> NetworkSpec {
    NetworkSpec { name: "back".to_owned(), internal }
}

/// A release as it was written once.
fn old_release(service: &Service, number: u8) -> Release {
    let mut container = ContainerSpec::new(format!("web:{number}").parse().unwrap());
    container.networks.push(Attachment { network: "back".to_owned(), aliases: Vec::new() });
    Release {
        id: ReleaseId::generate(1, [number; 10]),
        service_id: service.id.clone(),
        number: 0,
        spec: ServiceSpec {
            format: FORMAT,
            container,
            scale: Scale::Replicas { count: 1 },
            placement: Placement::default(),
            update: Update { order: Order::StartFirst, deadline_ms: None },
            ports: Vec::new(),
            depends_on: Vec::new(),
            shared: Shared::default(),
        },
        files: std::collections::BTreeMap::new(),
        container_hash: number.to_string(),
        author: String::new(),
        message: String::new(),
        created_at: UnixMillis(0),
    }
}

async fn begin(store: &Store, service: &Service, version: u64, internal: bool, release: Release) {
    let project = Project {
        id: service.project_id.clone(),
        name: "shop".to_owned(),
        networks: vec![back(internal)],
        volumes: Vec::new(),
        created_at: UnixMillis(0),
        version,
    };
    let item = DeploymentItem {
        service_id: service.id.clone(),
        service_name: service.name.clone(),
        from: None,
        to: Some(release.id.clone()),
        outcome: ItemOutcome::Waiting,
    };
    let new = NewDeployment {
        project,
        source: None,
        expected: Expected::OneOf(vec![version]),
        services: if version == 0 { vec![service.clone()] } else { Vec::new() },
        releases: vec![release],
        items: vec![item],
        created_by: String::new(),
        message: String::new(),
        created_at: UnixMillis(0),
    };
    store.begin_deployment(new, entry()).await.unwrap();
}

fn says(world: &ProjectWorld) -> Vec<bool> {
    world.releases.values().map(|it| it.spec.shared.network("back").unwrap().internal).collect()
}

#[tokio::test]
async fn what_an_older_release_did_not_keep_is_kept_before_its_project_says_otherwise() {
    let world = open().await;
    let service = Service {
        id: ServiceId::generate(1, [1; 10]),
        project_id: ProjectId::generate(1, [1; 10]),
        name: "web".to_owned(),
        current: None,
        created_at: UnixMillis(0),
    };
    begin(&world.store, &service, 0, true, old_release(&service, 1)).await;
    let read = async || world.store.project("shop").await.unwrap().unwrap();
    assert_eq!(says(&read().await), [true]);
    // Later files have it open; these say so for what comes with them.
    begin(&world.store, &service, 1, false, old_release(&service, 2)).await;
    assert_eq!(says(&read().await), [false]);
    let all = world.store.releases(service.id.clone(), 10).await.unwrap();
    let all: Vec<_> = all.iter().map(|it| it.spec.shared.networks.clone()).collect();
    assert_eq!(all, [vec![back(false)], vec![back(true)]]);
}
