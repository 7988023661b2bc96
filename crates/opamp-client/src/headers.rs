//! Headers that the application adds to every connection attempt or request, asked for anew each time, so
//! that a token that was refused can be another one at the next attempt (`C20`).

use std::future::Future;
use std::pin::Pin;

use http::HeaderMap;

/// What a provider gives: headers, or why there are none (without secrets; it is shown to the user).
pub type HeadersFuture = Pin<Box<dyn Future<Output = Result<HeaderMap, String>> + Send>>;

/// Gives the headers of one attempt. An async closure that returns `Result<HeaderMap, String>` is one.
pub trait HeadersProvider: Send + Sync + 'static {
    /// Called once per WebSocket handshake or HTTP request.
    fn headers(&self) -> HeadersFuture;
}

impl<F, R> HeadersProvider for F
where
    F: Fn() -> R + Send + Sync + 'static,
    R: Future<Output = Result<HeaderMap, String>> + Send + 'static,
{
    fn headers(&self) -> HeadersFuture {
        Box::pin(self())
    }
}

/// Headers that never change.
pub(crate) struct FixedHeaders(pub(crate) HeaderMap);

impl HeadersProvider for FixedHeaders {
    fn headers(&self) -> HeadersFuture {
        Box::pin(std::future::ready(Ok(self.0.clone())))
    }
}
