//! What a host says about its connection, and who it says to be.

use super::{Trim, line, list, maybe, shorten};
use crate::limits::{NAME, PARTS, PORTS, TAKEN_BLOCKS, TEXT, WORD};
use crate::message::{AgentBuild, ErrorMessage, Foreign, Goodbye, Hello, Identity, TakenBlock, TokenRotated};
use crate::secret::Secret;

impl Trim for Hello {
    fn trim(&mut self) {
        let Self {
            protocol: _,
            features,
            agent,
            identity,
            time_at,
            facts,
            epoch,
            generation: _,
            section_hashes,
            from_cache: _,
            cache_age_ms: _,
            replicas,
            replicas_known: _,
            foreign,
        } = self;
        shorten(features, PARTS);
        features.iter_mut().for_each(|feature| line(feature, WORD));
        agent.trim();
        identity.trim();
        line(time_at, WORD);
        facts.trim();
        maybe(epoch, WORD);
        section_hashes.values_mut().for_each(|hash| line(hash, WORD));
        // A replica that is not in the list is gone, so the list stays as long as it is: see the session.
        list(replicas, usize::MAX);
        foreign.trim();
    }
}

impl Trim for AgentBuild {
    fn trim(&mut self) {
        let Self { version, arch, os, started_at } = self;
        [version, arch, os, started_at].into_iter().for_each(|text| line(text, WORD));
    }
}

impl Trim for Identity {
    fn trim(&mut self) {
        let Self { machine_id, instance_id, boot_id, wg_public_key, session_secret_prev } = self;
        [machine_id, instance_id, boot_id, wg_public_key].into_iter().for_each(|text| line(text, WORD));
        // One that is longer than ours is a wrong one, and stays one.
        if session_secret_prev.as_ref().is_some_and(|secret| secret.expose().len() > NAME) {
            *session_secret_prev = Some(Secret::new("too long"));
        }
    }
}

impl Trim for Foreign {
    fn trim(&mut self) {
        let Self { containers: _, networks: _, ports, blocks } = self;
        shorten(ports, PORTS);
        list(blocks, TAKEN_BLOCKS);
    }
}

impl Trim for TakenBlock {
    fn trim(&mut self) {
        let Self { by: _, block, name } = self;
        line(block, WORD);
        line(name, NAME);
    }
}

impl Trim for Goodbye {
    fn trim(&mut self) {
        let Self { reason, reconnect_after_ms: _ } = self;
        line(reason, TEXT);
    }
}

impl Trim for TokenRotated {
    fn trim(&mut self) {
        let Self { ok: _, error } = self;
        maybe(error, TEXT);
    }
}

impl Trim for ErrorMessage {
    fn trim(&mut self) {
        let Self { code: _, message, fatal: _, retry_after_ms: _ } = self;
        line(message, TEXT);
    }
}
