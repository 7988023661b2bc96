//! The WebSocket transport: the upgrade, and one task for each connection that reads, answers, pushes, pings and
//! closes (WS-1 to WS-14, CLOSE-4). The codec behind it is named in [`ws`] only.

mod connection;
mod liveness;
mod metered;
mod ws;

pub(crate) use ws::Codec;

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;

use crate::agent::Peer;
use crate::handler::Handler;
use crate::server::Shared;
use crate::service::text;

/// Answers the handshake; the connection goes on in a task of its own.
pub(crate) fn upgrade<H: Handler, B>(
    shared: Arc<Shared<H>>,
    principal: H::Principal,
    peer: Arc<Peer>,
    request: &mut Request<B>,
) -> Response<Full<Bytes>> {
    let handshake = match ws::Handshake::read(request, &shared.codec) {
        Ok(handshake) => handshake,
        Err(why) => {
            return text(StatusCode::BAD_REQUEST, format!("the WebSocket handshake is not valid: {why}"));
        }
    };
    let upgrade = hyper::upgrade::on(request);
    let (response, accepted) = handshake.accept();
    tokio::spawn(connection::run(shared, principal, peer, upgrade, accepted));
    response
}
