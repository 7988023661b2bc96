//! Deployments that need no files: back to an older release, to another number of replicas, and away.

use model::hosting::{Deployment, DeploymentState, Project, ProjectWorld, Release, Replica, Service};
use model::service::{MAX_REPLICAS, NetworkSpec, Scale, ServiceSpec};
use store::{AuditEntry, Expected, ProjectWrite, StoreError};

use super::outline::{compared, lacking};
use super::{Change, DeployError, Outline, Planned, Services, new_release};
use crate::clock;

/// So often is a removal worked out anew when the project was changed in between.
const TRIES: u32 = 10;

impl Services {
    /// What going to an older release would do; if none is named, the last one before the current one that served somebody.
    pub(crate) async fn plan_rollback(
        &self,
        project: &str,
        service: &str,
        to: Option<u32>,
    ) -> Result<Outline, DeployError> {
        let (world, service) = self.find(project, service).await?;
        let current = service.current.as_ref().and_then(|id| world.releases.get(id));
        let releases = self.store.releases(service.id.clone(), 1000).await?;
        let target = match (to, current) {
            (Some(number), _) => releases.into_iter().find(|it| it.number == number),
            (None, current) => {
                let good = self.store.good_releases(service.id.clone()).await?;
                let before = current.map_or(u32::MAX, |current| current.number);
                // One without replicas served nobody.
                let served = |it: &Release| good.contains(&it.id) && it.spec.scale.count() > 0;
                releases.into_iter().find(|it| it.number < before && served(it))
            }
        };
        let target = target.ok_or_else(|| {
            let name = &service.name;
            DeployError::Unknown(match to {
                Some(number) => format!(
                    "{project}/{name} has no release {number}: muster services releases {project}/{name} lists them"
                ),
                None => format!(
                    "{project}/{name} has no earlier release that served: deploy other files, or name a release of \
                     those that muster services releases {project}/{name} lists"
                ),
            })
        })?;
        let (change, changes) = current.map_or((Change::New, Vec::new()), |it| compared(it, &target, false));
        let disagrees = disagreement(&world, &service, &target);
        let planned = planned(&world, &service, Some(target), false, (change, changes));
        let mut outline = self.outlined(world, vec![planned]).await?;
        outline.refusals.extend(disagrees);
        Ok(outline)
    }

    /// What another number of replicas would do.
    pub(crate) async fn plan_scale(
        &self,
        project: &str,
        service: &str,
        count: u32,
    ) -> Result<Outline, DeployError> {
        let (world, service) = self.find(project, service).await?;
        let current = service.current.as_ref().and_then(|id| world.releases.get(id));
        let Some(current) = current else {
            return Err(DeployError::Unknown(format!("{project}/{} runs nothing yet", service.name)));
        };
        if count > MAX_REPLICAS {
            return Err(DeployError::Input(format!("a service has at most {MAX_REPLICAS} replicas")));
        }
        if current.spec.scale == Scale::Singleton && count > 1 {
            return Err(DeployError::Input(format!(
                "{} is a singleton: there is never more than one",
                service.name
            )));
        }
        let scale = match current.spec.scale {
            Scale::Singleton if count == 1 => Scale::Singleton,
            Scale::Singleton | Scale::Replicas { .. } => Scale::Replicas { count },
        };
        let spec = ServiceSpec { scale, ..current.spec.clone() };
        let mut release = new_release(&service.id, spec, current.files.clone(), clock::now())?;
        release.container_hash.clone_from(&current.container_hash);
        let change = lacking(&world, &service, &release, compared(current, &release, false));
        let planned = planned(&world, &service, Some(release), true, change);
        self.outlined(world, vec![planned]).await
    }

    /// What removing a service would do, or all services of a project.
    pub(crate) async fn plan_removal(
        &self,
        project: &str,
        service: Option<&str>,
    ) -> Result<Outline, DeployError> {
        let found = self.store.project(project).await?;
        let world = found.ok_or_else(|| DeployError::Unknown(format!("there is no project {project}")))?;
        if let Some(name) = service {
            world.service(name).ok_or_else(|| no_service(project, name))?;
        }
        let going = world.services.iter().filter(|it| service.is_none_or(|name| name == it.name));
        // What a host that is gone still has to remove is no reason to begin once more.
        let going = going.filter(|it| {
            let under_way =
                world.deployment.iter().flat_map(|it| &it.items).any(|item| item.service_id == it.id);
            under_way || it.current.is_some() || world.replicas_of(&it.id).any(Replica::stays)
        });
        let planned: Vec<_> =
            going.map(|it| planned(&world, it, None, false, (Change::Removed, Vec::new()))).collect();
        if service.is_some() {
            return self.outlined(world, planned).await;
        }
        // A deployment that is under way gives way: whatever holds it up, a project can be removed.
        Ok(Outline::new(world.project, planned))
    }

    /// Begins to remove all of a project; `None` when nothing has to stop. What the controller writes meanwhile about a
    /// deployment that is under way is no reason to give up.
    pub(crate) async fn begin_removal(
        &self,
        project: &str,
        author: &str,
        entry: &AuditEntry,
    ) -> Result<Option<Deployment>, DeployError> {
        let mut tries = 0;
        loop {
            let outline = self.plan_removal(project, None).await?;
            tries += 1;
            match self.begin_outlined(&outline, author, "remove the project", entry).await {
                Err(DeployError::Store(StoreError::Changed(_))) if tries < TRIES => {}
                begun => return begun,
            }
        }
    }

    /// Begins what was outlined; `None` when there is nothing to do.
    pub(crate) async fn begin_outlined(
        &self,
        outline: &Outline,
        author: &str,
        message: &str,
        entry: &AuditEntry,
    ) -> Result<Option<Deployment>, DeployError> {
        if !outline.refusals.is_empty() {
            return Err(DeployError::Refused(outline.refusals.clone()));
        }
        if outline.is_nothing() {
            return Ok(None);
        }
        self.begin(outline, None, author, message, entry).await.map(Some)
    }

    /// Marks the volumes of a project to go with all that is in them, once nothing uses them any more.
    pub(crate) async fn doom_volumes(
        &self,
        world: &ProjectWorld,
        entry: &AuditEntry,
    ) -> Result<(), DeployError> {
        let doomed: Vec<_> = world.volumes.iter().map(|it| ProjectWrite::Doom(it.id.clone())).collect();
        if doomed.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = world.volumes.iter().map(|it| it.spec.name.as_str()).collect();
        tracing::warn!(user = %entry.actor.name, "the volumes {} of {} are to go", names.join(", "), world.project.name);
        let project = world.project.id.clone();
        self.store.write_steps(project, Expected::Any, doomed, Vec::new(), clock::now()).await?;
        world.volumes.iter().for_each(|it| self.live.state_changed(&it.host_id));
        Ok(())
    }

    async fn find(&self, project: &str, service: &str) -> Result<(ProjectWorld, Service), DeployError> {
        let world = self.store.project(project).await?.ok_or_else(|| no_service(project, service))?;
        let found = world.service(service).cloned().ok_or_else(|| no_service(project, service))?;
        Ok((world, found))
    }

    async fn outlined(&self, world: ProjectWorld, planned: Vec<Planned>) -> Result<Outline, DeployError> {
        let project: Project = world.project.clone();
        let mut outline = Outline::new(project, planned);
        if let Some(deployment) = &world.deployment {
            let (number, state) = (deployment.id.0, deployment.state.as_str());
            let abort = match deployment.state {
                DeploymentState::Running => format!(", or abort it: muster deployments abort {number}"),
                _ => String::new(),
            };
            outline.refusals.push(format!(
                "deployment {number} of {} is {state}: wait for its end{abort}",
                outline.project.name
            ));
        }
        Ok(self.placed(outline, &world).await?)
    }
}

/// Why a release cannot stand beside those that the other services run: they say another thing of a network that they share,
/// and either it would be open for whom it should be closed, or closed for whom it should be open.
fn disagreement(world: &ProjectWorld, service: &Service, target: &Release) -> Option<String> {
    let others = world.services.iter().filter(|it| it.id != service.id);
    let others =
        others.filter_map(|it| Some((it, it.current.as_ref().and_then(|id| world.releases.get(id))?)));
    for (other, release) in others {
        let shared = &release.spec.shared;
        let differs =
            |it: &&NetworkSpec| shared.network(&it.name).is_some_and(|theirs| theirs.internal != it.internal);
        let Some(network) = target.spec.shared.networks.iter().find(differs) else { continue };
        let (closed, open) = if network.internal { (service, other) } else { (other, service) };
        let (name, number, network) = (&service.name, target.number, &network.name);
        return Some(format!(
            "{name}: with its release {number} the network {network} would be internal for {} and open for {}: deploy \
             files that say which it is",
            closed.name, open.name
        ));
    }
    None
}

fn no_service(project: &str, service: &str) -> DeployError {
    DeployError::Unknown(format!("there is no service {project}/{service}"))
}

fn planned(
    world: &ProjectWorld,
    service: &Service,
    release: Option<Release>,
    is_new_release: bool,
    (change, changes): (Change, Vec<String>),
) -> Planned {
    let current = service.current.as_ref().and_then(|id| world.releases.get(id));
    Planned {
        service: service.clone(),
        is_new_service: false,
        release,
        is_new_release,
        change,
        changes,
        before: current.map_or(0, |it| it.spec.scale.count()),
        hosts: Vec::new(),
        spread: None,
    }
}
