//! A session's secret: in a cookie for the console, as a bearer token for the command line. Only its SHA-256 is
//! stored. The CSRF token is derived from the secret, which a script in a page cannot read.

use axum::http::{HeaderMap, header};
use model::TokenHash;
use opamp_proto::hash::sha256;
use subtle::ConstantTimeEq;

/// The cookie's name.
pub(crate) const COOKIE: &str = "muster_session";
/// The header that a write with a cookie carries.
pub(crate) const CSRF_HEADER: &str = "x-csrf-token";
/// No secret of ours is longer.
const MAX_SECRET: usize = 128;

/// What a client shows to be recognised: a session's secret or an API token.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct SessionSecret(String);

/// Where a secret was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Presented {
    /// In the cookie, which a browser sends by itself: a write needs the CSRF token too.
    Cookie(SessionSecret),
    /// In the Authorization header, which only a program sends.
    Bearer(SessionSecret),
}

impl SessionSecret {
    /// A secret of our making.
    pub(crate) fn generate() -> std::io::Result<Self> {
        crate::random::session_secret().map(Self)
    }

    /// The text for the cookie or the token.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// What is stored of it.
    pub(crate) fn hash(&self) -> TokenHash {
        TokenHash::of(&self.0)
    }

    /// The CSRF token that goes with it.
    pub(crate) fn csrf(&self) -> String {
        let mut text = b"muster csrf 1\0".to_vec();
        text.extend_from_slice(self.0.as_bytes());
        hex::encode(&sha256(&text)[..20])
    }

    /// Whether these headers hold that token.
    fn csrf_is_in(&self, headers: &HeaderMap) -> bool {
        let given = headers.get(CSRF_HEADER).map_or(&b""[..], |value| value.as_bytes());
        self.csrf().as_bytes().ct_eq(given).into()
    }
}

impl std::fmt::Debug for SessionSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SessionSecret(…)")
    }
}

impl Presented {
    /// Finds a secret in a request's headers. A bearer token wins, as whoever sends one means it.
    pub(crate) fn find(headers: &HeaderMap) -> Option<Self> {
        bearer(headers).map(Self::Bearer).or_else(|| cookie(headers).map(Self::Cookie))
    }

    /// The secret.
    pub(crate) const fn secret(&self) -> &SessionSecret {
        match self {
            Self::Cookie(secret) | Self::Bearer(secret) => secret,
        }
    }

    /// Whether a request with these headers may change something.
    pub(crate) fn may_write(&self, headers: &HeaderMap) -> bool {
        match self {
            Self::Bearer(_) => true,
            Self::Cookie(secret) => secret.csrf_is_in(headers),
        }
    }
}

fn secret(text: &str) -> Option<SessionSecret> {
    (!text.is_empty() && text.len() <= MAX_SECRET).then(|| SessionSecret(text.to_owned()))
}

fn bearer(headers: &HeaderMap) -> Option<SessionSecret> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| secret(token.trim())).flatten()
}

fn cookie(headers: &HeaderMap) -> Option<SessionSecret> {
    let lines = headers.get_all(header::COOKIE).into_iter().filter_map(|line| line.to_str().ok());
    let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    pairs.find(|(name, _)| *name == COOKIE).and_then(|(_, value)| secret(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn a_secret_is_found_in_a_cookie_among_others_and_a_bearer_token_wins() {
        let found = Presented::find(&headers(&[("cookie", "a=b; muster_session=s1; c=d")])).unwrap();
        assert!(matches!(&found, Presented::Cookie(secret) if secret.as_str() == "s1"));
        let both = headers(&[("cookie", "muster_session=s1"), ("authorization", "bearer s2")]);
        assert!(matches!(Presented::find(&both), Some(Presented::Bearer(secret)) if secret.as_str() == "s2"));
        assert!(Presented::find(&headers(&[("cookie", "xmuster_session=s1")])).is_none());
        let long = format!("muster_session={}", "x".repeat(MAX_SECRET + 1));
        assert!(Presented::find(&headers(&[("cookie", &long)])).is_none());
    }

    #[test]
    fn a_write_with_a_cookie_needs_the_token_that_goes_with_it() {
        let presented = Presented::find(&headers(&[("cookie", "muster_session=s1")])).unwrap();
        let csrf = presented.secret().csrf();
        assert!(presented.may_write(&headers(&[(CSRF_HEADER, &csrf)])));
        assert!(!presented.may_write(&headers(&[(CSRF_HEADER, &csrf[1..])])));
        assert!(!presented.may_write(&HeaderMap::new()));
    }
}
