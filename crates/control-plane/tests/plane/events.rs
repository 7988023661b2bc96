//! Live hints: who changed, and where one stands after a break.

use reqwest::Response;
use testkit::soon;

use crate::world::{World, full, uid};

struct Stream {
    response: Response,
    text: String,
}

impl Stream {
    async fn open(world: &World, last_id: Option<&str>) -> Self {
        let password = world.first.admin_password.clone().unwrap();
        let login = api::session::Login { username: "admin".to_owned(), password, want_token: true };
        let token = world.stranger().login(&login).await.unwrap().token.unwrap();
        let mut request = reqwest::Client::new().get(world.url() + "/api/v1/events").bearer_auth(token);
        if let Some(id) = last_id {
            request = request.header("last-event-id", id);
        }
        let response = request.send().await.unwrap();
        assert_eq!(response.headers()["content-type"], "text/event-stream");
        let mut stream = Self { response, text: String::new() };
        stream.until(": hello").await;
        stream
    }

    /// Reads until the text holds this; gives everything so far and forgets it.
    async fn until(&mut self, what: &str) -> String {
        soon(what, async {
            while !(self.text.contains(what) && self.text.ends_with("\n\n")) {
                let chunk = self.response.chunk().await.unwrap().expect("the stream goes on");
                self.text.push_str(std::str::from_utf8(&chunk).unwrap());
            }
        })
        .await;
        std::mem::take(&mut self.text)
    }
}

fn id_in(text: &str) -> String {
    text.lines().rev().find_map(|line| line.strip_prefix("id: ")).expect("an id").to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_listener_hears_who_changed_and_resumes_after_a_break() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let mut stream = Stream::open(&world, None).await;
    let mut first = world.websocket().await;
    first.ask(&full(1)).await;
    let text = stream.until(&uid(1).to_string()).await;
    assert!(text.contains("event: agents\n"), "{text}");
    let id = id_in(&text);
    drop(stream);
    let mut second = world.websocket().await;
    second.ask(&full(2)).await;
    let mut stream = Stream::open(&world, Some(&id)).await;
    stream.until(&uid(2).to_string()).await;
    // Someone from another life of the server reads everything again.
    let mut lost = Stream::open(&world, Some("0-17")).await;
    lost.until("event: reset\n").await;
    drop((first, second));
    let text = stream.until(&uid(2).to_string()).await;
    assert!(id_in(&text) != id);
    world.stop().await;
    // A server that stops does not wait for those who listen.
    soon("the end of the stream", async { while let Ok(Some(_)) = stream.response.chunk().await {} }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_with_an_open_console_stops_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let world = World::start(dir.path()).await;
    let _open = Stream::open(&world, None).await;
    let begun = std::time::Instant::now();
    world.stop().await;
    // Connections that do not end are given three seconds.
    assert!(begun.elapsed() < std::time::Duration::from_millis(2500), "{:?}", begun.elapsed());
}
