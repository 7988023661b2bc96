//! The connection to the engine: made when it is needed, and made anew when the engine is another one. While there is
//! none, everything about the engine is unknown, and nothing is concluded from that (R29).

use std::path::PathBuf;
use std::sync::Arc;

use host_drivers::docker::events::{self, Hint};
use host_drivers::docker::{Engine, EngineInfo, EngineOptions, FilePlaces, Look, Observer};
use host_drivers::files::Files;
use host_drivers::hands::Hands;
use host_proto::DesiredState;
use host_proto::id::HostId;
use reconcile::{Actual, Trouble};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use crate::options::Options;

/// Makes connections, and keeps the present one.
pub(crate) struct Engines {
    options: EngineOptions,
    files: Files,
    hints: Option<mpsc::Sender<Hint>>,
    present: Option<Present>,
    /// For tasks that read logs.
    shared: watch::Sender<Option<Arc<Engine>>>,
    pub(crate) info: Option<EngineInfo>,
}

struct Present {
    hands: Hands,
    observer: Observer,
    watcher: JoinHandle<()>,
}

impl Drop for Present {
    fn drop(&mut self) {
        self.watcher.abort();
    }
}

impl Engines {
    pub(crate) fn new(options: &Options, host: HostId, shared: watch::Sender<Option<Arc<Engine>>>) -> Self {
        let places = FilePlaces { files: options.files(), secrets: options.secrets() };
        let engine = EngineOptions {
            socket: PathBuf::from(&options.docker),
            host,
            files: places.clone(),
            allow_host_paths: options.allow_host_paths.clone(),
        };
        Self { options: engine, files: Files::new(places), hints: None, present: None, shared, info: None }
    }

    pub(crate) fn hint_to(&mut self, hints: mpsc::Sender<Hint>) {
        self.hints = Some(hints);
    }

    /// The stream of events was opened anew: it may be another engine, with another version (R36).
    pub(crate) fn reopened(&mut self) {
        self.info = None;
    }

    /// What does steps; `None` while the engine does not answer.
    pub(crate) fn hands(&self) -> Option<Hands> {
        self.present.as_ref().map(|present| present.hands.clone())
    }

    /// Looks at everything, over a new connection when there is none.
    pub(crate) async fn observe(&mut self, desired: Option<&Arc<DesiredState>>, look: &Look) -> Actual {
        if let Err(trouble) = self.connect().await {
            return Actual::unknown(&trouble.text);
        }
        let Some(present) = &mut self.present else { return Actual::unknown("not connected") };
        let actual = present.hands.observe(&mut present.observer, desired, look).await;
        if actual.containers.known().is_none() {
            // The next look makes a new connection; the watcher opens its stream by itself until then.
            self.info = None;
            self.drop_present();
        }
        actual
    }

    async fn connect(&mut self) -> Result<(), Trouble> {
        if self.present.is_some() && self.info.is_some() {
            return Ok(());
        }
        let engine = Engine::connect(self.options.clone()).await?;
        self.info = Some(engine.info().await?);
        let engine = Arc::new(engine);
        if let Some(present) = &mut self.present {
            // The same watcher goes on; the engine behind it may speak another version now.
            present.hands.engine = engine.clone();
            present.observer = Observer::new(engine.clone());
        } else {
            self.files.prepare()?;
            let watcher = match &self.hints {
                Some(hints) => tokio::spawn(events::watch(engine.clone(), hints.clone(), events::SILENCE)),
                None => tokio::spawn(std::future::ready(())),
            };
            let hands = Hands { engine: engine.clone(), files: self.files.clone() };
            self.present = Some(Present { hands, observer: Observer::new(engine.clone()), watcher });
        }
        self.shared.send_replace(Some(engine));
        Ok(())
    }

    fn drop_present(&mut self) {
        self.present = None;
        self.shared.send_replace(None);
    }
}
