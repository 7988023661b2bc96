//! A host says hello: is it the one whose token it shows (CONNECT-7)? What is agreed on is durable before it is answered.

use std::time::Duration;

use host_proto::generation::Mark;
use host_proto::id::{HostId, SessionId};
use host_proto::message::Hello;
use host_proto::secret::Secret;
use host_proto::server::{Alert, Input, Known, Newcomer, Ratchet, Refusal, Verdict, Welcome};
use model::hosting::Host;
use store::{HostSession, StoreError};
use tokio::sync::oneshot;

use super::super::Errand;
use super::Connection;
use crate::clock;
use crate::services::Services;
use crate::services::allocate::{random, unsigned};

/// What a host is told that is none any more.
const REMOVED: &str = "this host was removed, or another machine has joined in its place";
/// An old connection has so long to show that it is alive.
const PROBE: Duration = Duration::from_secs(6);

impl Connection {
    /// Decides, and answers.
    pub(super) async fn on_hello(&mut self, hello: Hello) {
        if !self.services.live.may_connect(&self.id) {
            return self.busy("this host connects too often: it is heard again in a while");
        }
        match self.is_still_good().await {
            Ok(true) => {}
            Ok(false) => return self.removed(),
            Err(error) => {
                self.failed(&error);
                return self.busy("the server cannot look this host up just now");
            }
        }
        let newcomer =
            Newcomer { identity: hello.identity.clone(), address: self.arrival.address.to_string() };
        let verdict = self.decide(&newcomer).await;
        match verdict {
            Verdict::Admit { alert } => {
                if let Some(alert) = alert {
                    self.services.alert(&self.id, told(&alert));
                }
                match self.admit(&hello).await {
                    Ok(()) => {}
                    Err(StoreError::Missing(_)) => self.removed(),
                    Err(error) => {
                        self.failed(&error);
                        self.busy("the server cannot write down this connection just now");
                    }
                }
            }
            Verdict::Refuse(Refusal { code, error, alert }) => {
                if let Some(alert) = alert {
                    self.services.alert(&self.id, told(&alert));
                }
                self.refuse(code, error);
            }
            Verdict::Probe => self.busy("another connection of this host is being looked at"),
        }
    }

    /// Whether the token is good also now: between the upgrade and the hello a host may have been removed, or another
    /// machine may have taken its place.
    async fn is_still_good(&mut self) -> Result<bool, StoreError> {
        let link = self.services.store.host_of_token(self.arrival.token, clock::now()).await?;
        let is_good = link.is_some();
        if let Some(link) = link {
            self.arrival.link = link;
        }
        Ok(is_good)
    }

    /// The host is none any more.
    fn removed(&mut self) {
        if self.tasks.take().is_some() {
            self.services.live.forget(&self.id, REMOVED);
        }
        let now = self.now();
        self.session.handle(now, Input::Removed { reason: REMOVED.to_owned() });
    }

    async fn decide(&mut self, newcomer: &Newcomer) -> Verdict {
        let link = &self.arrival.link;
        let known = Known {
            machine_id: link.host.machine_id.clone(),
            instance_id: link.host.instance_id.clone(),
            wg_public_key: link.host.wg_public_key.clone(),
        };
        let now = self.services.live.now();
        let ratchet = &self.arrival.link.ratchet.clone();
        let (verdict, probe) = self.services.live.with(&self.id, |entry| {
            if entry.deciding {
                return (Verdict::Refuse(Refusal::busy()), None);
            }
            let verdict = entry.admission.decide(now, &known, ratchet, newcomer);
            if verdict != Verdict::Probe {
                return (verdict, None);
            }
            let (ask, answer) = oneshot::channel();
            let asked = entry.link.as_ref().is_some_and(|it| it.errands.try_send(Errand::Probe(ask)).is_ok());
            entry.deciding = true;
            (verdict, Some((asked, answer)))
        });
        let Some((asked, answer)) = probe else { return verdict };
        let alive = asked && matches!(tokio::time::timeout(PROBE, answer).await, Ok(Ok(true)));
        let now = self.services.live.now();
        self.services.live.with(&self.id, |entry| {
            entry.deciding = false;
            entry.admission.probed(now, alive, ratchet, newcomer)
        })
    }

    async fn admit(&mut self, hello: &Hello) -> Result<(), StoreError> {
        let (services, at) = (self.services.clone(), clock::now());
        let secret = Secret::new(hex::encode(random::<32>()?));
        let shown = hello.identity.session_secret_prev.as_ref();
        let ratchet: Ratchet = self.arrival.link.ratchet.advance(shown, &secret);
        let session = HostSession {
            host_id: self.id.clone(),
            boot_id: hello.identity.boot_id.clone(),
            ratchet: ratchet.clone(),
            facts: hello.facts.clone(),
            agent_version: hello.agent.version.clone(),
            at,
        };
        services.store.host_connected(session).await?;
        self.arrival.link.ratchet = ratchet;
        // A token that was offered and not confirmed is confirmed by its use: the host has it on its disk.
        let until = at.after(host_proto::limits::TOKEN_GRACE);
        services.store.confirm_host_token(self.id.clone(), self.arrival.token, at, until).await?;
        self.tasks = Some(services.live.begin(&self.id, self.start(at, hello.facts.docker.clone())));
        services.heard_hello(&self.id, hello).await?;
        let age = at.0.saturating_sub(self.arrival.link.token_created_at.0);
        let host = host_of(&services, &self.id, hello).await?;
        let welcome = Welcome {
            session_id: SessionId::generate(unsigned(at), random()?),
            session_secret: secret,
            time_at: clock::rfc3339(at),
            notice: None,
            reconnect_spread: super::SPREAD,
            stored: Mark::new(services.epoch_of(&host), host.generation),
            token_age: Duration::from_millis(u64::try_from(age).unwrap_or(0)),
        };
        tracing::info!(
            host = %self.id, address = %self.arrival.address, agent = %hello.agent.version,
            "host {} is connected", host.name
        );
        let now = self.now();
        self.session.handle(now, Input::Admit(welcome));
        for rows in services.store.projects_on(self.id.clone()).await? {
            services.look_at(rows.project.id);
        }
        services.place_again();
        services.hub.hosts_changed([self.id.to_string()]);
        Ok(())
    }
}

/// The host as it is stored. One that has applied a state of a history that this database does not know of adopts from now
/// on: the database is an older one, and has forgotten that history (R26).
async fn host_of(services: &Services, id: &HostId, hello: &Hello) -> Result<Host, StoreError> {
    let host = services.store.host(id.as_str()).await?.ok_or(StoreError::Missing("host"))?;
    let known = hello.applied().is_none_or(|applied| applied.epoch == services.epoch_of(&host));
    if known || host.adopting {
        return Ok(host);
    }
    services.begin_epoch(id).await?;
    services.store.host(id.as_str()).await?.ok_or(StoreError::Missing("host"))
}

/// What an operator reads.
fn told(alert: &Alert) -> String {
    match alert {
        Alert::OtherMachine { connected: Some(connected), newcomer } => format!(
            "another machine, at {newcomer}, shows its token; it was refused, the host at {connected} stays connected"
        ),
        Alert::OtherMachine { connected: None, newcomer } => {
            format!("another machine, at {newcomer}, shows its token and was refused")
        }
        Alert::Copy { connected, newcomer } => format!(
            "a copy of it runs at {newcomer} and was refused, the one at {connected} stays connected: \
             join the copy with a token of its own"
        ),
        Alert::RolledBack => {
            "its disk is an older one: a snapshot was restored, or its disk was full".to_owned()
        }
        Alert::Flapping { before, newcomer } => format!(
            "two machines take turns at being it, at {before} and at {newcomer}: switch one off, or join it anew"
        ),
    }
}
