//! Files and secrets: written when they are missing or wrong, also from the cache; removed when neither the state nor a
//! container names them any more. A container that only rests still needs its files to start again.

use std::collections::BTreeSet;

use host_proto::id::FileId;

use crate::action::Action;
use crate::actual::{FileSeen, Seen};
use crate::item::{Item, Phase};
use crate::networks::when_gone;
use crate::plan::{Planner, Step, Why};

/// Plans the files that are missing or wrong.
pub(crate) fn write(planner: &mut Planner<'_>) {
    for file in &planner.desired.files {
        let item = Item::File(file.id.clone());
        let title = format!("{} {}", if file.secret { "secret" } else { "file" }, file.id);
        let seen = match &planner.actual.files {
            Seen::Unknown(why) => {
                planner.hold(item, title, Why::Unknown(why.clone()));
                continue;
            }
            Seen::Known(seen) => seen.get(&file.id),
        };
        if seen == Some(&FileSeen::Right) {
            continue;
        }
        if file.inline_b64.is_none() {
            let reason = "its content is not in the state, and this version cannot fetch it".to_owned();
            planner.hold(item, title, Why::Refused(reason));
            continue;
        }
        let actions = vec![Action::WriteFile { file: file.id.clone() }];
        planner.step(Step { item, title, phase: Phase::Files, needs: Vec::new(), actions });
    }
}

/// Plans the removal of files that nothing names. They are no loss that a person could regret, so they have no budget and
/// nothing is said while they wait.
pub(crate) fn clean_up(planner: &mut Planner<'_>) {
    let (Seen::Known(seen), Seen::Known(containers)) = (&planner.actual.files, &planner.actual.containers)
    else {
        return;
    };
    if planner.removal_lock().is_some() {
        return;
    }
    let wanted: BTreeSet<&FileId> = planner.desired.files.iter().map(|file| &file.id).collect();
    for file in seen.keys().filter(|file| !wanted.contains(file)) {
        let users = containers.iter().filter(|container| container.files.contains(file));
        let Some(needs) = when_gone(planner, users) else { continue };
        let (item, title) = (Item::File(file.clone()), format!("file {file}"));
        let actions = vec![Action::RemoveFile { file: file.clone() }];
        planner.step(Step { item, title, phase: Phase::Cleanup, needs, actions });
    }
}
