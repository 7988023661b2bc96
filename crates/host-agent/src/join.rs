//! How this machine becomes a host (JOIN-2): one request over HTTPS to a server whose authority is pinned (JOIN-10). Keys
//! are on the disk before it, so that it can be repeated when its answer is lost (JOIN-8).

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use host_proto::Secret;
use host_proto::join::{JOIN_PATH, JoinAnswer, JoinError, JoinRequest, TrustAnchor};
use host_proto::message::Facts;
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt as _, Full, Limited};
use rustls::ClientConfig;

use crate::dial::{Connection, Endpoint};
use crate::identity::{Identity, IdentityError, Joined};
use crate::options::Options;
use crate::socket::problem;
use crate::trust::{self, BadTrust};

/// The whole request.
const PATIENCE: Duration = Duration::from_secs(60);
/// Longest answer that is read.
const MAX_ANSWER: usize = 1024 * 1024;

/// What a join needs.
#[derive(Debug, Clone)]
pub struct JoinOptions {
    /// Where the agent keeps its things.
    pub agent: Options,
    /// The control plane: `https://cp.example:5050`.
    pub server: String,
    /// What the operator was shown; works once.
    pub token: Secret,
    /// What the server's certificate is checked against: what the command that was pasted carries.
    pub trust: Vec<TrustAnchor>,
    /// The name that the host would like; its hostname when absent.
    pub name: Option<String>,
}

/// Why this machine did not become a host.
#[derive(Debug, thiserror::Error)]
pub enum JoinFailure {
    /// It is one already.
    #[error("this machine is the host {name} already: `muster agent leave` comes first")]
    Already {
        /// Its name.
        name: String,
    },
    /// Its identity cannot be read or written.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// Nothing tells it from other machines.
    #[error("the machine-id {}", path.display())]
    MachineId {
        /// Where it should be.
        path: std::path::PathBuf,
        /// Why it is not.
        #[source]
        source: std::io::Error,
    },
    /// The server's certificate cannot be checked.
    #[error(transparent)]
    Trust(#[from] BadTrust),
    /// The server cannot be reached. Nothing is lost: the same command works again.
    #[error("the control plane cannot be reached: {0}")]
    Unreachable(String),
    /// The server said no.
    #[error("{}", refusal(*code, said))]
    Refused {
        /// Why.
        code: JoinError,
        /// In its words.
        said: String,
    },
    /// The server said something else.
    #[error("the control plane answered {status}: {said}")]
    Unexpected {
        /// The HTTP status.
        status: u16,
        /// In its words.
        said: String,
    },
}

/// Becomes a host, or says why not. A second call after a lost answer asks for the same again.
///
/// # Errors
/// See [`JoinFailure`].
pub async fn join(options: &JoinOptions) -> Result<Joined, JoinFailure> {
    let agent = &options.agent;
    let mut identity = match Identity::read(&agent.identity)? {
        Some(Identity { joined: Some(joined), .. }) => {
            return Err(JoinFailure::Already { name: joined.name });
        }
        Some(begun) => begun,
        None => Identity::generate()?,
    };
    let machine_id = agent
        .read_machine_id()
        .map_err(|source| JoinFailure::MachineId { path: agent.machine_id.clone(), source })?;
    let tls = trust::client_config(&options.trust)?;
    let endpoint = Endpoint::new(&options.server).map_err(JoinFailure::Unreachable)?.at(JOIN_PATH);
    // Before the request: what it says must still be true after a crash.
    identity.write(&agent.identity)?;
    let request = JoinRequest {
        join_token: options.token.clone(),
        machine_id,
        instance_id: identity.instance_id.clone(),
        wg_public_key: identity.wg_public_key(),
        wg_endpoints: Vec::new(),
        facts: machine_facts(agent).await,
        requested_name: options.name.clone(),
    };
    let asked = tokio::time::timeout(PATIENCE, ask(&endpoint, &tls, &request)).await;
    let mut answer = asked.map_err(|_| {
        JoinFailure::Unreachable(format!("{endpoint} gave no answer within {} seconds", PATIENCE.as_secs()))
    })??;
    if answer.trust_anchors.is_empty() {
        answer.trust_anchors.clone_from(&options.trust);
    }
    identity.join(answer);
    identity.write(&agent.identity)?;
    let none = || IdentityError::NotJoined { path: agent.identity.clone() };
    identity.joined.ok_or_else(|| JoinFailure::Identity(none()))
}

async fn ask(
    endpoint: &Endpoint,
    tls: &Arc<ClientConfig>,
    request: &JoinRequest,
) -> Result<JoinAnswer, JoinFailure> {
    let body = serde_json::to_vec(request).map_err(|error| JoinFailure::Unreachable(error.to_string()))?;
    let mut connection = Connection::open(endpoint, tls).await.map_err(JoinFailure::Unreachable)?;
    let request = Request::post(endpoint.target())
        .header(header::HOST, endpoint.authority())
        .header(header::USER_AGENT, crate::user_agent())
        .header(header::CONTENT_TYPE, "application/json")
        .header(header::ACCEPT, "application/json")
        .body(Full::new(Bytes::from(body)))
        .map_err(|error| JoinFailure::Unreachable(error.to_string()))?;
    let response = connection.send(endpoint, request).await.map_err(JoinFailure::Unreachable)?;
    let status = response.status();
    if !matches!(status, StatusCode::OK | StatusCode::CREATED) {
        let problem = problem(response).await;
        let code = serde_json::from_value(serde_json::Value::String(problem.code.clone()));
        return Err(match code {
            Ok(JoinError::Unknown) | Err(_) => {
                JoinFailure::Unexpected { status: status.as_u16(), said: problem.words() }
            }
            Ok(code) => JoinFailure::Refused { code, said: problem.words() },
        });
    }
    let body = Limited::new(response.into_body(), MAX_ANSWER).collect().await;
    let bytes = body.map_err(|error| JoinFailure::Unreachable(error.to_string()))?.to_bytes();
    serde_json::from_slice(&bytes).map_err(|_| JoinFailure::Unexpected {
        status: status.as_u16(),
        said: "what no answer to a join is".to_owned(),
    })
}

/// What the machine is; the engine's part follows with the first connection.
async fn machine_facts(options: &Options) -> Facts {
    let options = options.clone();
    tokio::task::spawn_blocking(move || crate::machine::facts(&options, None)).await.unwrap_or_default()
}

/// The server's own words, which say what is wrong, and what to do about it.
fn refusal(code: JoinError, said: &str) -> String {
    let advice = match code {
        JoinError::JoinTokenInvalid | JoinError::JoinTokenExpired => "`muster hosts add` makes a new command",
        JoinError::DuplicateHost => {
            "a machine that was made anew takes the place of its host with `muster hosts add --replace NAME`, a copied \
             one needs a machine-id of its own"
        }
        JoinError::UnsupportedOs => "this machine cannot be a host",
        JoinError::SubnetExhausted => "a server with a larger --mesh-range has more",
        JoinError::RateLimited => "try again in a minute",
        JoinError::Unknown => "the control plane refused",
    };
    format!("{said}; {advice}")
}
