//! An engine made of answers: a path, perhaps with a star for one part, and what is said to it.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::UnixListener;
use tokio::sync::Barrier;

/// What is said to a request.
#[derive(Debug, Clone)]
pub(crate) enum Answer {
    /// A status and a body.
    Text(u16, String),
    /// The connection ends without an answer.
    Drop,
    /// Nothing ever comes.
    Silence,
}

impl Answer {
    pub(crate) fn json(status: u16, body: &Value) -> Self {
        Self::Text(status, body.to_string())
    }
}

#[derive(Default)]
struct Shared {
    answers: Mutex<BTreeMap<String, Answer>>,
    asked: Mutex<Vec<String>>,
    silent: AtomicUsize,
    together: Mutex<Option<Arc<Barrier>>>,
}

/// The engine; it ends with its test.
pub(crate) struct Fake {
    folder: tempfile::TempDir,
    shared: Arc<Shared>,
}

impl Fake {
    pub(crate) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("sock")).unwrap();
        let shared = Arc::new(Shared::default());
        tokio::spawn(serve(listener, Arc::clone(&shared)));
        Self { folder, shared }
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("sock")
    }

    /// From now on this is the answer to `METHOD /path`.
    pub(crate) fn on(&self, path: &str, answer: Answer) {
        self.shared.answers.lock().unwrap().insert(path.to_owned(), answer);
    }

    /// What was asked, as `METHOD /path?query`, with the credential for a registry if there was one.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.shared.asked.lock().unwrap().clone()
    }

    pub(crate) fn forget(&self) {
        self.shared.asked.lock().unwrap().clear();
    }

    /// From now on nothing is answered before so many requests wait for it.
    pub(crate) fn together(&self, count: usize) {
        *self.shared.together.lock().unwrap() = Some(Arc::new(Barrier::new(count)));
    }

    /// How many requests were met with silence.
    pub(crate) fn silent(&self) -> usize {
        self.shared.silent.load(Ordering::SeqCst)
    }
}

async fn serve(listener: UnixListener, shared: Arc<Shared>) {
    while let Ok((stream, _)) = listener.accept().await {
        let shared = Arc::clone(&shared);
        let service = service_fn(move |request| answer(Arc::clone(&shared), request));
        tokio::spawn(
            hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service),
        );
    }
}

/// An error here ends the connection without an answer.
async fn answer(shared: Arc<Shared>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Dropped> {
    let method = request.method().clone();
    let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
    let auth = request.headers().get("X-Registry-Auth").and_then(|value| value.to_str().ok());
    let auth = auth.map(|value| format!(" auth={value}")).unwrap_or_default();
    shared.asked.lock().unwrap().push(format!("{method} {path}{auth}"));
    let together = shared.together.lock().unwrap().clone();
    if let Some(barrier) = together {
        barrier.wait().await;
    }
    let wanted = format!("{method} {}", request.uri().path());
    let found = shared
        .answers
        .lock()
        .unwrap()
        .iter()
        .find(|(pattern, _)| fits(pattern, &wanted))
        .map(|(_, a)| a.clone());
    match found {
        Some(Answer::Text(status, body)) => {
            Ok(Response::builder().status(status).body(Full::new(Bytes::from(body))).unwrap())
        }
        Some(Answer::Drop) => Err(Dropped),
        Some(Answer::Silence) => {
            shared.silent.fetch_add(1, Ordering::SeqCst);
            std::future::pending::<Infallible>().await;
            Err(Dropped)
        }
        None => {
            let body = format!(r#"{{"message": "nothing is said to {wanted}"}}"#);
            Ok(Response::builder().status(404).body(Full::new(Bytes::from(body))).unwrap())
        }
    }
}

fn fits(pattern: &str, wanted: &str) -> bool {
    let (pattern, wanted): (Vec<&str>, Vec<&str>) =
        (pattern.split('/').collect(), wanted.split('/').collect());
    pattern.len() == wanted.len()
        && pattern.iter().zip(&wanted).all(|(one, other)| *one == "*" || one == other)
}

#[derive(Debug)]
struct Dropped;

impl std::fmt::Display for Dropped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("dropped on purpose")
    }
}

impl std::error::Error for Dropped {}
