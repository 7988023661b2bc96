//! The one place that names the WebSocket codec: its options, the handshake and its errors.

use bytes::Bytes;
use http::{Request, Response, header};
use http_body_util::Full;
use yawc::close::CloseCode;
use yawc::frame::Frame;
use yawc::{DeflatePool, Options, Role, WebSocket, WebSocketError};

use super::metered::Metered;
use crate::agent::CloseReason;
use crate::settings::Settings;

/// A connection.
pub(super) type Ws = WebSocket<Metered>;

/// Messages shorter than this are never deflated. It must be at least 1: the codec spins for ever on an empty
/// message that is deflated with a kept context.
const DEFLATE_FROM: usize = 64;

/// How many idle compressors and decompressors are kept for all connections; each takes some 300 kB.
const COMPRESSORS: usize = 32;

/// Read and write buffer of an idle connection, in bytes: most messages fit, and a hundred thousand fit in memory.
const BUFFER: usize = 1024;

/// The codec's options, and the compressors that all connections share.
#[derive(Debug)]
pub(crate) struct Codec(Options);

impl Codec {
    pub(crate) fn new(settings: &Settings) -> Self {
        Self(options(settings))
    }
}

fn options(settings: &Settings) -> Options {
    // The codec's limits are exclusive.
    let limit = settings.max_message.bytes() + 1;
    let options = if settings.deflate {
        // The preset replaces the whole block, so it comes first.
        Options::default()
            .with_balanced_compression()
            .with_compression_threshold(DEFLATE_FROM)
            .with_deflate_pool(DeflatePool::new(COMPRESSORS))
            .with_server_max_window_bits(15)
            .with_client_max_window_bits(15)
            .server_no_context_takeover()
            .client_no_context_takeover()
    } else {
        Options::default().without_compression()
    };
    options.with_limits(limit, limit).with_read_buffer_capacity(BUFFER).with_write_buffer_capacity(BUFFER)
}

/// A handshake that is valid.
pub(super) struct Handshake {
    response: Response<Full<Bytes>>,
    accepted: Accepted,
}

/// What was agreed.
pub(super) struct Accepted {
    extensions: Option<String>,
    options: Options,
}

impl Handshake {
    /// Checks the request and composes the answer.
    pub(super) fn read<B>(request: &Request<B>, codec: &Codec) -> Result<Self, WebSocketError> {
        let options = codec.0.clone();
        // The codec takes the request's upgrade along, which must stay with the request: it gets a copy of the
        // headers, which is all that it looks at.
        let mut headers = Request::new(());
        *headers.headers_mut() = request.headers().clone();
        let (response, _) = WebSocket::upgrade_with_options(&mut headers, options.clone())?;
        let (head, _) = response.into_parts();
        let extensions = head.headers.get(header::SEC_WEBSOCKET_EXTENSIONS);
        let extensions = extensions.and_then(|value| value.to_str().ok()).map(str::to_owned);
        let response = Response::from_parts(head, Full::default());
        Ok(Self { response, accepted: Accepted { extensions, options } })
    }

    pub(super) fn accept(self) -> (Response<Full<Bytes>>, Accepted) {
        (self.response, self.accepted)
    }
}

impl Accepted {
    /// The connection, once the stream has changed hands.
    pub(super) fn open(self, stream: Metered) -> Result<Ws, WebSocketError> {
        WebSocket::from_stream_with_extensions(stream, Role::Server, self.extensions.as_deref(), self.options)
    }
}

/// The close frame of a reason.
pub(super) fn close_frame(reason: CloseReason) -> Frame {
    let (code, text) = match reason {
        CloseReason::GoingAway => (CloseCode::Away, "the server is going away"),
        CloseReason::Policy => (CloseCode::Policy, "this credential is not good here"),
        CloseReason::NotBinary => (CloseCode::Unsupported, "OpAMP uses binary messages"),
        CloseReason::TooBig => (CloseCode::Size, "the message is too big"),
        CloseReason::Busy => (CloseCode::Again, "too much to do at the moment"),
        CloseReason::Replaced => (CloseCode::Policy, "another connection took over"),
    };
    Frame::close(code, text)
}
