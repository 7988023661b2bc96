//! What a host says about the state that it was told, and about its replicas.

use std::collections::BTreeSet;

use super::{Trim, line, list, maybe, shorten};
use crate::desired::Section;
use crate::limits::{LAST_LINES, LEFT_VOLUMES, MAX_ITEMS, MAX_REPLICAS, NAME, TAKEN_BLOCKS, TEXT, WORD};
use crate::message::{LeftVolume, ReplicaStatus, SectionResult, StateApplied};
use crate::report::{ItemResult, ReplicaReport};

impl Trim for StateApplied {
    fn trim(&mut self) {
        let Self {
            epoch,
            generation: _,
            result: _,
            refused_reason: _,
            sections,
            items,
            replicas,
            removed,
            net_selftest: _,
            blocks,
            left_volumes,
            duration_ms: _,
        } = self;
        line(epoch, WORD);
        sections.values_mut().for_each(Trim::trim);
        // An item that is not in the list succeeded, so sections whose items are cut off did not.
        let lost: BTreeSet<Section> = items.iter().skip(MAX_ITEMS).map(|item| item.section).collect();
        for (_, section) in sections.iter_mut().filter(|(name, _)| lost.contains(name)) {
            section.ok = false;
            section.error.get_or_insert_with(|| "more of its items failed than can be told".to_owned());
        }
        list(items, MAX_ITEMS);
        list(replicas, MAX_REPLICAS);
        shorten(removed, MAX_REPLICAS);
        if let Some(blocks) = blocks {
            list(blocks, TAKEN_BLOCKS);
        }
        if let Some(volumes) = left_volumes {
            list(volumes, LEFT_VOLUMES);
        }
    }
}

impl Trim for LeftVolume {
    fn trim(&mut self) {
        let Self { volume_id: _, name, host_id: _ } = self;
        line(name, NAME);
    }
}

impl Trim for SectionResult {
    fn trim(&mut self) {
        let Self { ok: _, hash, error } = self;
        line(hash, WORD);
        maybe(error, TEXT);
    }
}

impl Trim for ItemResult {
    fn trim(&mut self) {
        let Self { section: _, id, name, state: _, error, attempts: _, retry_in_ms: _ } = self;
        line(id, WORD);
        line(name, NAME);
        maybe(error, TEXT);
    }
}

impl Trim for ReplicaStatus {
    fn trim(&mut self) {
        let Self { replicas } = self;
        list(replicas, MAX_REPLICAS);
    }
}

impl Trim for ReplicaReport {
    fn trim(&mut self) {
        let Self {
            replica_id: _,
            service_id: _,
            release_id: _,
            spec_hash,
            container_id,
            state: _,
            health: _,
            started_at,
            exit_code: _,
            oom_killed: _,
            restarts: _,
            ip: _,
            image_digest,
            last_error,
            last_log_lines,
            held_reason,
        } = self;
        line(spec_hash, WORD);
        maybe(container_id, WORD);
        maybe(started_at, WORD);
        maybe(image_digest, NAME);
        maybe(last_error, TEXT);
        maybe(held_reason, TEXT);
        shorten(last_log_lines, LAST_LINES);
        last_log_lines.iter_mut().for_each(|text| line(text, TEXT));
    }
}
