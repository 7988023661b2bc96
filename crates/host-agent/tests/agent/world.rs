//! A machine in a folder, and a control plane that says what a test lets it say.

use host_agent::{Identity, JoinOptions, Joined, Options};
use host_proto::frame::Frame;
use host_proto::join::{JoinAnswer, MeshAddress, RegistryAddress, TrustAnchor};
use host_proto::message::{Hello, HelloAck, ProtocolVersion};
use host_proto::{DesiredState, Secret, ToAgent, ToServer};
use testkit::{Authority, FakeServer, Peer, opcode, soon};

pub(crate) struct World {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) authority: Authority,
    pub(crate) server: FakeServer,
}

impl World {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("machine-id"), "machine-1\n").unwrap();
        let authority = Authority::new("Test control plane");
        let server = FakeServer::tls(authority.server_config(&["localhost"])).await;
        Self { folder, authority, server }
    }

    pub(crate) fn options(&self) -> Options {
        let at = |name: &str| self.folder.path().join(name);
        Options {
            identity: at("etc/agent.json"),
            data_dir: at("data"),
            run_dir: at("run"),
            docker: at("no-engine.sock"),
            machine_id: at("machine-id"),
            nft: vec!["/bin/true".to_owned()],
            ..Options::default()
        }
    }

    pub(crate) fn port(&self) -> u16 {
        self.server.address().port()
    }

    pub(crate) fn ca(&self) -> TrustAnchor {
        TrustAnchor::Ca { pem: self.authority.pem() }
    }

    pub(crate) fn join(&self, trust: TrustAnchor) -> JoinOptions {
        JoinOptions {
            agent: self.options(),
            server: format!("https://localhost:{}", self.port()),
            token: Secret::new("mst_join_secret"),
            trust: vec![trust],
            name: Some("berlin".to_owned()),
        }
    }

    pub(crate) fn answer(&self) -> JoinAnswer {
        JoinAnswer {
            host_id: "hst_1".parse().unwrap(),
            name: "berlin".to_owned(),
            host_token: Secret::new("mst_host_first"),
            mesh: MeshAddress {
                ip: "10.98.0.1".parse().unwrap(),
                subnet: "10.98.0.0/16".to_owned(),
                listen_port: 51820,
                mtu_max: 1420,
            },
            registry: RegistryAddress::default(),
            connect_url: format!("wss://localhost:{}/api/agent/v1/connect", self.port()),
            trust_anchors: vec![self.ca()],
        }
    }

    /// A machine that joined already.
    pub(crate) fn joined(&self) -> Options {
        let options = self.options();
        let mut identity = Identity::generate().unwrap();
        identity.join(self.answer());
        identity.write(&options.identity).unwrap();
        options
    }

    /// What is on the disk now.
    pub(crate) fn on_disk(&self) -> Joined {
        Identity::read_joined(&self.options().identity).unwrap().1
    }
}

/// Runs an agent beside the test; it ends with it.
pub(crate) struct Agent {
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    task: tokio::task::JoinHandle<Result<(), host_agent::RunError>>,
}

impl Agent {
    pub(crate) fn start(options: Options) -> Self {
        let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
        let task = tokio::spawn(host_agent::run(options, async {
            let _ = stopped.await;
        }));
        Self { stop: Some(stop), task }
    }

    pub(crate) async fn stop(mut self) {
        drop(self.stop.take());
        soon("the end of the agent", self.task).await.unwrap().unwrap();
    }
}

/// The control plane's end of one connection.
pub(crate) struct Conversation {
    pub(crate) peer: Peer,
    pub(crate) hello: Hello,
}

impl Conversation {
    /// Takes the handshake and the hello.
    pub(crate) async fn begin(world: &World) -> Self {
        let mut peer = world.server.accept().await;
        peer.upgrade().await;
        let ToServer::Hello(hello) = text(&mut peer).await.body else { panic!("no hello") };
        Self { peer, hello: *hello }
    }

    pub(crate) async fn say(&mut self, body: ToAgent) {
        self.say_frame(Frame::plain(body)).await;
    }

    pub(crate) async fn say_frame(&mut self, frame: Frame<ToAgent>) {
        self.peer.send_frame(opcode::TEXT, frame.encode().unwrap().as_bytes()).await;
    }

    pub(crate) async fn welcome(&mut self, secret: &str) {
        let ack = HelloAck {
            session_id: "ses_1".parse().unwrap(),
            session_secret: Secret::new(secret),
            protocol: ProtocolVersion::CURRENT,
            features: Vec::new(),
            time_at: "2026-01-01T00:00:00Z".to_owned(),
            intervals: Default::default(),
            limits: Default::default(),
            reconnect_spread_ms: 0,
            notice: None,
        };
        self.say(ToAgent::HelloAck(ack)).await;
    }

    pub(crate) async fn desired(&mut self, generation: u64) {
        let state = DesiredState::empty("epoch-1", generation);
        self.say(ToAgent::DesiredState(Box::new(state))).await;
    }

    /// The next message that the test waits for.
    pub(crate) async fn hears<T>(&mut self, what: &str, pick: impl Fn(&Frame<ToServer>) -> Option<T>) -> T {
        soon(what, async {
            loop {
                let frame = text(&mut self.peer).await;
                if let Some(picked) = pick(&frame) {
                    return picked;
                }
            }
        })
        .await
    }
}

/// The next text; pings are answered.
async fn text(peer: &mut Peer) -> Frame<ToServer> {
    loop {
        let frame = peer.frame().await;
        match frame.opcode {
            opcode::TEXT => {
                let text = String::from_utf8(frame.payload).unwrap();
                return Frame::decode(&text).unwrap();
            }
            opcode::PING => peer.send_frame(opcode::PONG, &frame.payload).await,
            opcode::PONG => {}
            other => panic!("a frame of kind {other}"),
        }
    }
}
