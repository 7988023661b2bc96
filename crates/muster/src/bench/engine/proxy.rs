//! Stands between the agent and its engine's socket, and counts what the agent asks for. Answers pass unread.

use std::{
    collections::BTreeMap,
    io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{UnixListener, UnixStream},
    task::JoinSet,
};

/// Requests by method and path, without the version and with `*` for names.
pub(super) type Calls = BTreeMap<String, u64>;

/// A proxy, until it is dropped.
pub(super) struct Proxy {
    calls: Arc<Mutex<Calls>>,
    _serving: JoinSet<()>,
}

impl Proxy {
    /// Listens at `socket` in front of `engine`.
    pub(super) fn start(socket: &Path, engine: PathBuf) -> io::Result<Self> {
        let listener = UnixListener::bind(socket)?;
        let calls: Arc<Mutex<Calls>> = Arc::default();
        let mut serving = JoinSet::new();
        let counted = calls.clone();
        serving.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((agent, _)) = listener.accept().await {
                let (engine, calls) = (engine.clone(), counted.clone());
                connections.spawn(async move { drop(carry(agent, &engine, &calls).await) });
                while connections.try_join_next().is_some() {}
            }
        });
        Ok(Self { calls, _serving: serving })
    }

    /// What was asked for so far.
    pub(super) fn calls(&self) -> Calls {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

async fn carry(agent: UnixStream, engine: &Path, calls: &Mutex<Calls>) -> io::Result<()> {
    let engine = UnixStream::connect(engine).await?;
    let (mut asked, mut answered) = agent.into_split();
    let (mut answers, mut asks) = engine.into_split();
    let back = async { tokio::io::copy(&mut answers, &mut answered).await.map(drop) };
    let forth = async {
        let (mut bytes, mut requests) = (vec![0; 16 * 1024], Requests::default());
        loop {
            let count = asked.read(&mut bytes).await?;
            if count == 0 {
                return Ok(());
            }
            for call in requests.read(&bytes[..count]) {
                *calls.lock().unwrap_or_else(PoisonError::into_inner).entry(call).or_default() += 1;
            }
            asks.write_all(&bytes[..count]).await?;
        }
    };
    // Whichever side ends first ends the other.
    tokio::select! {
        ended = back => ended,
        ended = forth => ended,
    }
}

/// Finds the requests in a stream of them. Bodies have a length; the agent sends none in chunks.
#[derive(Debug, Default)]
struct Requests {
    head: Vec<u8>,
    /// Bytes of a body that are still to come.
    body: usize,
}

impl Requests {
    fn read(&mut self, mut bytes: &[u8]) -> Vec<String> {
        let mut calls = Vec::new();
        while !bytes.is_empty() {
            let skipped = self.body.min(bytes.len());
            self.body -= skipped;
            bytes = &bytes[skipped..];
            let Some((first, rest)) = bytes.split_first() else { break };
            self.head.push(*first);
            bytes = rest;
            if self.head.ends_with(b"\r\n\r\n") {
                let head = String::from_utf8_lossy(&self.head).into_owned();
                self.body = length(&head);
                calls.push(name(head.lines().next().unwrap_or_default()));
                self.head.clear();
            }
        }
        calls
    }
}

fn length(head: &str) -> usize {
    let mut lengths = head.lines().filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
    });
    lengths.next().unwrap_or(0)
}

/// `GET /v1.41/containers/abc/json?x HTTP/1.1` as `GET /containers/*/json`.
fn name(line: &str) -> String {
    let mut words = line.split(' ');
    let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let path = path.split('?').next().unwrap_or_default();
    let parts: Vec<&str> =
        path.split('/').filter(|part| !part.is_empty() && !part.starts_with("v1.")).collect();
    let named = |(place, part): (usize, &&str)| {
        let of_all = matches!(*part, "json" | "create" | "load" | "prune");
        if place == 1 && !of_all { "*".to_owned() } else { (*part).to_owned() }
    };
    let path: Vec<String> = parts.iter().enumerate().map(named).collect();
    format!("{method} /{}", path.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_found_however_they_arrive() {
        let stream = b"GET /v1.41/containers/json?all=true HTTP/1.1\r\nHost: x\r\n\r\n\
            POST /v1.41/containers/create?name=a HTTP/1.1\r\nContent-Length: 4\r\n\r\n\r\n\r\n\
            POST /containers/abc/start HTTP/1.1\r\n\r\nGET /_ping HTTP/1.1\r\n\r\n";
        let expected =
            ["GET /containers/json", "POST /containers/create", "POST /containers/*/start", "GET /_ping"];
        for piece in [1, 7, stream.len()] {
            let mut requests = Requests::default();
            let calls: Vec<String> = stream.chunks(piece).flat_map(|bytes| requests.read(bytes)).collect();
            assert_eq!(calls, expected, "in pieces of {piece}");
        }
    }
}
