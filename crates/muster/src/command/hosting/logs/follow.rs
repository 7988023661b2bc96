//! Following lines: a stream for each service, opened again when it breaks and when replicas come or go. What comes twice
//! through that is printed once.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use api::client::{LogEvent, LogQuery};
use api::services::{LogLine, Service};
use api::{Client, ClientError};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::line::Printer;
use super::{Wanted, nothing};
use crate::command::audit::moment;
use crate::failure::Failure;
use crate::output::{self, safe};

/// Before it is looked again which streams there should be, after one ended.
const PAUSE: Duration = Duration::from_secs(2);
/// The same after something changed: what changes, changes several times.
const MOMENT: Duration = Duration::from_millis(300);
/// The most lines that a stream repeats when it is opened again.
const REPEATED: u32 = 500;
/// So many lines are remembered: more than the services of a project repeat.
const REMEMBERED: usize = 50_000;

/// What a stream tells.
enum Event {
    /// A line, and how many like it came just before.
    Line(LogLine, u32),
    /// Something about the stream.
    Note(String),
    /// It is over.
    Ended(String),
}

/// Prints lines until somebody ends the command.
pub(super) async fn follow(
    client: &Client,
    wanted: Wanted<'_>,
    tail: u32,
    printer: &mut Printer,
) -> Result<(), Failure> {
    let begun = moment("since", "0s", SystemTime::now())?;
    // Without lines from before only those are wanted that are printed from now on.
    let since = if tail == 0 { Some(begun.clone()) } else { wanted.query.since.clone() };
    let first = LogQuery { since: since.clone(), ..wanted.query.clone() };
    let later = LogQuery { limit: Some(REPEATED), since: since.or(Some(begun)), ..wanted.query.clone() };
    let services = wanted.services(client).await?;
    if services.is_empty() {
        return Err(nothing(&wanted));
    }
    let (sender, mut events) = mpsc::channel(64);
    let mut streams = Streams::new(client.clone(), wanted.project.to_owned(), sender);
    streams.adjust(&services, &first);
    let changed = Arc::new(Notify::new());
    let listener = Abort(tokio::spawn(listen(client.clone(), changed.clone())));
    let mut seen = Seen::default();
    let mut due = None;
    loop {
        let look = async {
            match due {
                Some(due) => tokio::time::sleep_until(due).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            Some(event) = events.recv() => match event {
                Event::Line(line, number) => if seen.is_new(&line, number) { printer.line(&line)? },
                Event::Note(text) => seen.note(&text),
                Event::Ended(service) => {
                    streams.open.remove(&service);
                    due.get_or_insert_with(|| Instant::now() + PAUSE);
                }
            },
            () = changed.notified() => due = Some(due.unwrap_or_else(|| Instant::now() + MOMENT)),
            () = look => {
                due = None;
                match wanted.services(client).await {
                    Ok(services) => streams.adjust(&services, &later),
                    Err(error) if is_passing(&error) => {
                        seen.note(&error.to_string());
                        due = Some(Instant::now() + PAUSE);
                    }
                    Err(error) => break drop_all(streams, listener, error),
                }
            }
        }
    }
}

fn drop_all(streams: Streams, listener: Abort, error: ClientError) -> Result<(), Failure> {
    drop((streams, listener));
    Err(error.into())
}

/// A server that is being restarted comes back.
fn is_passing(error: &ClientError) -> bool {
    matches!(error, ClientError::Unreachable { .. }) || error.status().is_some_and(|status| status >= 500)
}

/// Says that something changed, and also whenever that might have been missed.
async fn listen(client: Client, changed: Arc<Notify>) {
    loop {
        if let Ok(mut hints) = client.events().await {
            changed.notify_one();
            while hints.changed().await {
                changed.notify_one();
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// A task that ends with what it is for.
struct Abort(JoinHandle<()>);

impl Drop for Abort {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The replicas that a stream was opened for, with whether their hosts were connected.
type Heard = BTreeSet<(String, bool)>;

/// The streams of a project, by service.
struct Streams {
    client: Client,
    project: String,
    sender: mpsc::Sender<Event>,
    open: BTreeMap<String, (Heard, Abort)>,
}

impl Streams {
    const fn new(client: Client, project: String, sender: mpsc::Sender<Event>) -> Self {
        Self { client, project, sender, open: BTreeMap::new() }
    }

    /// Opens, closes and opens again what is needed for the services as they are.
    fn adjust(&mut self, services: &[Service], query: &LogQuery) {
        self.open.retain(|name, _| services.iter().any(|service| service.name == *name));
        for service in services {
            let heard: Heard = service.replicas.iter().map(|it| (it.id.clone(), it.host_online)).collect();
            let is_as_before = self.open.get(&service.name).is_some_and(|(before, _)| *before == heard);
            if is_as_before || heard.is_empty() {
                continue;
            }
            // The old one ends first: its last lines are repeated.
            self.open.remove(&service.name);
            let stream = stream(
                self.client.clone(),
                self.project.clone(),
                service.name.clone(),
                query.clone(),
                self.sender.clone(),
            );
            self.open.insert(service.name.clone(), (heard, Abort(tokio::spawn(stream))));
        }
    }
}

async fn stream(
    client: Client,
    project: String,
    service: String,
    query: LogQuery,
    sender: mpsc::Sender<Event>,
) {
    match client.follow_logs(&project, &service, &query).await {
        Ok(mut lines) => {
            let mut last: Option<(LogLine, u32)> = None;
            while let Some(event) = lines.next().await {
                let event = match event {
                    LogEvent::Line(line) => {
                        let number = last
                            .take()
                            .filter(|(before, _)| *before == line)
                            .map_or(0, |(_, number)| number + 1);
                        last = Some((line.clone(), number));
                        Event::Line(line, number)
                    }
                    LogEvent::Note { note } => Event::Note(note),
                };
                if sender.send(event).await.is_err() {
                    return;
                }
            }
        }
        // Whether anything comes of another attempt, the list of services says.
        Err(error) => drop(sender.send(Event::Note(error.to_string())).await),
    }
    drop(sender.send(Event::Ended(service)).await);
}

/// What was printed.
#[derive(Default)]
struct Seen {
    lines: HashSet<u64>,
    order: VecDeque<u64>,
    notes: HashSet<String>,
}

impl Seen {
    fn is_new(&mut self, line: &LogLine, number: u32) -> bool {
        let mut hasher = DefaultHasher::new();
        (&line.at, &line.host, &line.replica, &line.text, number).hash(&mut hasher);
        let hash = hasher.finish();
        if !self.lines.insert(hash) {
            return false;
        }
        self.notes.clear();
        self.order.push_back(hash);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.lines.remove(&oldest);
        }
        true
    }

    /// Tells a note once until lines come again.
    fn note(&mut self, text: &str) {
        if self.notes.insert(text.to_owned()) {
            output::note(&format!("muster: {}", safe(text)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(at: &str, text: &str) -> LogLine {
        LogLine {
            at: at.to_owned(),
            replica: "web-1".to_owned(),
            host: "one".to_owned(),
            stream: "out".to_owned(),
            text: text.to_owned(),
        }
    }

    #[test]
    fn a_line_that_is_repeated_by_a_new_stream_is_printed_once_and_equal_ones_are_all() {
        let mut seen = Seen::default();
        assert!(seen.is_new(&line("1", "a"), 0));
        assert!(seen.is_new(&line("1", "a"), 1), "the same text at the same moment, but a line of its own");
        assert!(seen.is_new(&line("2", "a"), 0));
        assert!(
            !seen.is_new(&line("1", "a"), 0)
                && !seen.is_new(&line("1", "a"), 1)
                && !seen.is_new(&line("2", "a"), 0)
        );
    }

    #[test]
    fn what_is_remembered_of_lines_is_bounded() {
        let mut seen = Seen::default();
        for number in 0..=REMEMBERED {
            assert!(seen.is_new(&line(&number.to_string(), "a"), 0));
        }
        assert_eq!((seen.lines.len(), seen.order.len()), (REMEMBERED, REMEMBERED));
        assert!(seen.is_new(&line("0", "a"), 0), "the oldest is forgotten");
    }
}
