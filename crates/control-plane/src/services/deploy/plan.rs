//! An outline as the API tells it, and in words.

use api::services::{Plan, PlannedService};

use super::outline::update_words;
use super::{Change, Outline, Planned};

impl Outline {
    /// As the API tells it.
    pub(crate) fn told(&self) -> Plan {
        Plan {
            project: self.project.name.clone(),
            services: self.planned.iter().map(told).collect(),
            warnings: self.warnings.clone(),
            refusals: self.refusals.clone(),
            text: self.planned.iter().flat_map(lines).collect(),
        }
    }
}

fn told(planned: &Planned) -> PlannedService {
    PlannedService {
        name: planned.service.name.clone(),
        change: planned.change.as_str().to_owned(),
        changes: planned.changes.iter().chain(&planned.spread).cloned().collect(),
        replicas_before: planned.before,
        replicas_after: planned.after(),
        update: update_words(planned),
        hosts: planned.hosts.clone(),
    }
}

fn lines(planned: &Planned) -> Vec<String> {
    let name = &planned.service.name;
    let hosts =
        if planned.hosts.is_empty() { String::new() } else { format!(" on {}", planned.hosts.join(", ")) };
    let after = planned.after();
    let replicas = if after == 1 { "1 replica".to_owned() } else { format!("{after} replicas") };
    let image = planned.release.as_ref().map(|it| it.spec.container.image.short()).unwrap_or_default();
    let first = match planned.change {
        Change::New => format!("+ {name}: {replicas} of {image}{hosts}"),
        Change::Changed => format!("~ {name}: {replicas}{hosts}, {}", update_words(planned)),
        Change::Scaled => format!("~ {name}: {replicas}{hosts}, {}", update_words(planned)),
        Change::Unchanged => format!("= {name}: {replicas} of {image}{hosts}"),
        Change::Removed => {
            let count = planned.before;
            format!(
                "- {name}: {count} {} stop and go; volumes stay",
                if count == 1 { "replica" } else { "replicas" }
            )
        }
    };
    let more = planned.changes.iter().chain(&planned.spread).map(|line| format!("    {line}"));
    std::iter::once(first).chain(more).collect()
}
