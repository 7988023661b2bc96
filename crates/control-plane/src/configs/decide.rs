//! One live agent: what it is to run, told to its session, and how far it is. Called with each report that matters,
//! and whenever operators want something else.

use std::sync::Arc;

use model::assignment::{Desired, Standing};
use model::{AssignmentId, ConfigState, RevisionId};
use opamp_proto::server::OfferState;
use opamp_proto::{Part, glance};
use opamp_server::StatusReport;

use super::placed::Placed;
use super::plan::Plan;
use super::{Configs, News};
use crate::opamp::LiveAgent;

impl Configs {
    /// An agent reported something.
    pub(crate) fn reported(&self, agent: &Arc<LiveAgent>, report: &StatusReport<'_>) {
        if let Some(health) = report.raw(Part::Health) {
            agent.data().set_health(glance::healthy(health));
        }
        let changed = report.changed();
        let decides =
            report.is_first() || changed.contains(Part::Description) || report.capabilities_changed();
        let matters = [Part::RemoteConfigStatus, Part::Health, Part::EffectiveConfig];
        if decides {
            self.decide(agent, Some(report));
        } else if matters.into_iter().any(|part| changed.contains(part)) {
            self.hear(agent, report);
        }
    }

    /// Decides what an agent is to run. The plan is read while the agent is held: whoever comes later knows at least
    /// as much, so an older plan never has the last word.
    pub(super) fn decide(&self, agent: &Arc<LiveAgent>, report: Option<&StatusReport<'_>>) {
        let mut slot = agent.data().placed();
        let plan = self.plan();
        let description = report.and_then(|report| report.raw(Part::Description));
        let is_long = description.is_some_and(|bytes| bytes.len() > opamp_proto::server::WHOLE_UP_TO);
        if slot.is_none() && plan.is_empty() && !is_long {
            return;
        }
        let is_new = slot.is_none();
        let mut placed = slot.take().unwrap_or_else(|| Box::new(Placed::new()));
        if let Some(description) = description {
            placed.describe(description, !is_long);
        }
        let attributes = agent.read(|session| {
            if is_new {
                placed.recall(session);
            }
            placed.attributes(session)
        });
        if let Some(status) = report.and_then(|report| report.raw(Part::RemoteConfigStatus)) {
            placed.say(status);
        }
        let winner = plan.winner(agent.instance_uid(), &attributes);
        let desired = plan.desired(agent.instance_uid(), winner);
        let by_itself = report.is_some_and(|report| !report.is_first()) && desired != placed.desired;
        placed.is_damped = by_itself && !self.may_change(agent.instance_uid());
        if !placed.is_damped {
            placed.winner = winner;
            placed.drifted &= desired == placed.desired;
            placed.desired = desired;
        }
        self.offer(agent, &plan, placed.desired);
        placed.reports_anew |= report.is_some_and(|report| runs_offer(agent, report));
        placed.reports_anew |= ran_it_before(agent, &mut placed);
        self.settle(agent, &plan, &mut placed);
        *slot = placed.is_needed().then_some(placed);
    }

    /// Decides anew what an agent is to run about which this assignment decides: its revisions are others now, and
    /// whom it matches is the same.
    pub(super) fn refresh(&self, agent: &Arc<LiveAgent>, id: AssignmentId) {
        let mut slot = agent.data().placed();
        let Some(placed) = slot.as_mut().filter(|placed| placed.winner == Some(id)) else { return };
        let plan = self.plan();
        let desired = plan.desired(agent.instance_uid(), placed.winner);
        if desired == placed.desired {
            return;
        }
        placed.desired = desired;
        placed.drifted = false;
        self.offer(agent, &plan, desired);
        placed.reports_anew |= ran_it_before(agent, placed);
        self.settle(agent, &plan, placed);
    }

    /// An agent said how it fares; what it is to run stays as it is.
    fn hear(&self, agent: &Arc<LiveAgent>, report: &StatusReport<'_>) {
        let mut slot = agent.data().placed();
        let Some(placed) = slot.as_mut() else { return };
        if let Some(status) = report.raw(Part::RemoteConfigStatus) {
            placed.say(status);
        }
        placed.reports_anew |= runs_offer(agent, report);
        placed.reports_anew |= ran_it_before(agent, placed);
        let plan = self.plan();
        let place = agent.read(|session| placed.judge(&plan, session));
        // A rollout may wait for it, even if its state is the same: health counts too. And it may be to be compared.
        let is_awaited = placed.desired.assignment().is_some() || placed.reports_anew;
        if place != placed.place || is_awaited {
            placed.place = place;
            self.tell(agent, &plan, placed);
        }
    }

    /// Notes how far the agent is, and whether that is news.
    fn settle(&self, agent: &Arc<LiveAgent>, plan: &Plan, placed: &mut Placed) {
        let place = agent.read(|session| placed.judge(plan, session));
        if place != placed.place || placed.reports_anew {
            placed.place = place;
            self.tell(agent, plan, placed);
        }
    }

    fn tell(&self, agent: &LiveAgent, plan: &Plan, placed: &Placed) {
        let news = News {
            place: placed.place.clone(),
            standing: agent.read(|session| placed.standing(plan, session)),
            healthy: agent.data().health(),
            fault: None,
            reports_anew: placed.reports_anew,
        };
        self.note(agent.instance_uid(), news);
    }

    /// Tells the session, if that changes anything: a connection is not woken for nothing (S12).
    fn offer(&self, agent: &Arc<LiveAgent>, plan: &Plan, desired: Desired) {
        let offer = plan.offer(desired);
        let hash = offer.map(|offer| offer.hash().clone());
        let is_told = agent.read(|session| session.offered().map(|(offer, _)| offer.hash()) == hash.as_ref());
        if !is_told {
            agent.offer_config(offer.cloned());
        }
    }

    /// What an agent is to run, if it says that it does and its effective configuration was not compared with that yet.
    pub(super) fn to_compare(&self, agent: &Arc<LiveAgent>) -> Option<RevisionId> {
        let mut slot = agent.data().placed();
        let placed = slot.as_mut()?;
        let says_so = matches!(placed.place.state, ConfigState::InSync | ConfigState::Drifted);
        let wanted = placed.desired.revision().filter(|_| placed.reports_anew && says_so);
        placed.reports_anew &= wanted.is_none();
        wanted
    }

    /// The effective configuration was compared.
    pub(super) fn compared(&self, agent: &Arc<LiveAgent>, revision: RevisionId, drifted: bool) {
        let mut slot = agent.data().placed();
        if let Some(placed) = slot.as_mut().filter(|placed| placed.desired.revision() == Some(revision)) {
            placed.drifted = drifted;
            self.settle(agent, &self.plan(), placed);
        }
    }

    /// How far an agent is with what it is to run, and whether it is well.
    pub(super) fn standing(&self, agent: &Arc<LiveAgent>) -> Option<(Standing, Option<bool>)> {
        let slot = agent.data().placed();
        let placed = slot.as_ref()?;
        let plan = self.plan();
        let standing = agent.read(|session| placed.standing(&plan, session))?;
        Some((standing, agent.data().health()))
    }
}

/// Whether an agent turned out to hold what it is to run before it was told: then what it reported last is what it runs,
/// whenever it reported that. True once for each revision.
fn ran_it_before(agent: &LiveAgent, placed: &mut Placed) -> bool {
    let is_unasked = |state| matches!(state, OfferState::Settled { times: 0 });
    let held = agent.read(|session| {
        session.part(Part::EffectiveConfig).is_some()
            && session.offered().is_some_and(|(_, state)| is_unasked(state))
    });
    let held = placed.desired.revision().filter(|_| held);
    held.is_some() && std::mem::replace(&mut placed.held_before, held) != held
}

/// Whether a report has the effective configuration of an agent that was told what to run: what it ran before says
/// nothing about that.
fn runs_offer(agent: &LiveAgent, report: &StatusReport<'_>) -> bool {
    use OfferState as O;
    let was_told = |state| matches!(state, O::Sent { .. } | O::Settled { .. });
    report.raw(Part::EffectiveConfig).is_some()
        && agent.read(|session| session.offered().is_some_and(|(_, state)| was_told(state)))
}
