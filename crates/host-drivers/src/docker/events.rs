//! What an engine says has happened. A hint only: the stream ends or falls silent when the engine starts again, and some
//! events are never sent. So hints carry no decision, the caller lists everything on each, and also without one (R37).

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bollard::models::{EventMessage, EventMessageTypeEnum};
use bollard::query_parameters::EventsOptions;
use futures_util::StreamExt;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use super::{Engine, labels};

/// Events that follow each other this closely make one hint.
const DEBOUNCE: Duration = Duration::from_millis(150);
/// However many there are, a hint waits no longer.
const DEBOUNCE_MOST: Duration = Duration::from_secs(1);
/// A stream that said nothing for this long is opened anew, unless another time is said. What one that died unnoticed would
/// have told is found by the list of every pass.
pub const SILENCE: Duration = Duration::from_secs(1800);
/// The new one begins so long before, as the engine counts in seconds.
const OVERLAP: Duration = Duration::from_secs(2);
/// Pause before a stream that ended is opened again.
const PAUSE: Duration = Duration::from_secs(1);

/// Something happened: look again.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hint {
    /// Containers of ours that ended or changed, by the engine's id.
    pub suspects: BTreeSet<String>,
    /// A network or volume was made or removed.
    pub lists: bool,
    /// The stream was opened anew: anything may have happened meanwhile, and it may be another engine.
    pub reopened: bool,
}

impl Hint {
    fn take(&mut self, event: &EventMessage, engine: &Engine) {
        let actor = event.actor.as_ref();
        match event.typ {
            Some(EventMessageTypeEnum::CONTAINER) => {
                let host = actor.and_then(|actor| actor.attributes.as_ref()?.get(labels::HOST));
                if host.map(String::as_str) == Some(engine.host().as_str()) {
                    self.suspects.extend(actor.and_then(|actor| actor.id.clone()));
                }
            }
            _ => self.lists = true,
        }
    }

    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Reads events until nobody takes the hints any more, and opens the stream again whenever it ends, and after a silence.
pub async fn watch(engine: Arc<Engine>, hints: mpsc::Sender<Hint>, silence: Duration) {
    let mut since = None;
    // Whoever takes this lists everything: after the stream was asked for, so that nothing falls between the two.
    let anew = || Hint { reopened: true, lists: true, ..Hint::default() };
    let mut opened = anew();
    loop {
        let end = tokio::select! {
            end = read(&engine, &hints, silence, &mut since, opened) => end,
            () = hints.closed() => return,
        };
        match end {
            // Its connection stood all the time, so it is the same engine, and what falls between the two is told again.
            End::Silent => {
                opened = Hint::default();
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                since = i64::try_from(now.saturating_sub(OVERLAP).as_secs()).ok();
            }
            End::Gone => {
                opened = anew();
                sleep(PAUSE).await;
            }
        }
    }
}

/// How reading a stream ended.
enum End {
    /// It stands, and said nothing for long.
    Silent,
    /// It ended, or nobody takes its hints.
    Gone,
}

async fn read(
    engine: &Engine,
    hints: &mpsc::Sender<Hint>,
    silence: Duration,
    since: &mut Option<i64>,
    opened: Hint,
) -> End {
    let options = EventsOptions {
        since: since.map(|second| second.to_string()),
        until: None,
        filters: Some(filters()),
    };
    let mut events = Box::pin(engine.docker.events(Some(options)));
    let mut first = (!opened.is_empty()).then(Instant::now);
    let mut hint = opened;
    loop {
        let overdue = first.is_some_and(|first| first.elapsed() >= DEBOUNCE_MOST);
        if overdue && !flush(hints, &mut hint, &mut first).await {
            return End::Gone;
        }
        let wait = if first.is_some() { DEBOUNCE } else { silence };
        match timeout(wait, events.next()).await {
            Ok(Some(Ok(event))) => {
                *since = event.time.or(*since);
                hint.take(&event, engine);
                if !hint.is_empty() {
                    first.get_or_insert_with(Instant::now);
                }
            }
            // The engine went away, or says something that is not understood: look.
            Ok(Some(Err(_)) | None) => {
                let _ = hints.send(hint).await;
                return End::Gone;
            }
            Err(_) if first.is_some() => {
                if !flush(hints, &mut hint, &mut first).await {
                    return End::Gone;
                }
            }
            Err(_) => return End::Silent,
        }
    }
}

async fn flush(hints: &mpsc::Sender<Hint>, hint: &mut Hint, first: &mut Option<Instant>) -> bool {
    *first = None;
    hints.send(std::mem::take(hint)).await.is_ok()
}

/// Health checks make three events at each turn; the engine is asked for those only that change what a list shows.
fn filters() -> HashMap<String, Vec<String>> {
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    HashMap::from([
        ("type".to_owned(), texts(&["container", "network", "volume"])),
        (
            "event".to_owned(),
            texts(&[
                "create",
                "start",
                "die",
                "oom",
                "stop",
                "destroy",
                "remove",
                "pause",
                "unpause",
                "rename",
                "health_status",
            ]),
        ),
    ])
}
