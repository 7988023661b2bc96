//! The addresses of host names. The program is static, and the C library in it would load what `/etc/nsswitch.conf` names
//! from the machine it happens to run on, which may be of another version: a crash. So names are asked for by a resolver of
//! our own language: `/etc/hosts` and the servers, search domains and options of `/etc/resolv.conf`, read anew each time.
#![cfg_attr(test, allow(clippy::unwrap_used, reason = "a test that cannot go on has failed"))]

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{LookupIpStrategy, ResolverConfig};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use tokio::net::TcpStream;

/// How long one of several addresses may keep us from the next.
const ADDRESS_TIMEOUT: Duration = Duration::from_secs(10);

/// The addresses of a name, IPv4 and IPv6; an address is its own. Square brackets around an IPv6 address are left out.
///
/// # Errors
/// When there is no such name, it has no address, or no server answers: all in words that name it.
pub async fn addresses(host: &str) -> io::Result<Vec<IpAddr>> {
    let host = host.trim_matches(['[', ']']);
    if let Ok(address) = host.parse() {
        return Ok(vec![address]);
    }
    let failed = |why: &dyn std::fmt::Display| {
        io::Error::other(format!("the name {host:?} cannot be resolved: {why}"))
    };
    let found = resolver().map_err(|error| failed(&error))?.lookup_ip(host).await;
    let found: Vec<IpAddr> = found.map_err(|error| failed(&error))?.iter().collect();
    if found.is_empty() { Err(failed(&"it has no address")) } else { Ok(found) }
}

/// A connection to the first address of a name that answers, each within ten seconds.
///
/// # Errors
/// When the name has no address, or none of them answers; the words are about the last one.
pub async fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let mut last = io::Error::other(format!("the name {host:?} has no address"));
    for address in addresses(host).await? {
        let address = SocketAddr::new(address, port);
        let error = match tokio::time::timeout(ADDRESS_TIMEOUT, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => return Ok(stream),
            Ok(Err(error)) => error,
            Err(_) => io::Error::new(io::ErrorKind::TimedOut, "no answer"),
        };
        last = io::Error::new(error.kind(), format!("{address} cannot be reached: {error}"));
    }
    Err(last)
}

fn resolver() -> Result<TokioResolver, hickory_resolver::net::NetError> {
    // Without a configuration there are no servers, and /etc/hosts alone.
    let mut builder = TokioResolver::builder_tokio().unwrap_or_else(|_| {
        let nothing = ResolverConfig::from_parts(None, Vec::new(), Vec::new());
        TokioResolver::builder_with_config(nothing, TokioRuntimeProvider::default())
    });
    builder.options_mut().ip_strategy = LookupIpStrategy::Ipv4AndIpv6;
    builder.build()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_address_is_its_own_with_and_without_brackets() {
        for (text, address) in [("127.0.0.1", "127.0.0.1"), ("[::1]", "::1"), ("::1", "::1")] {
            assert_eq!(addresses(text).await.unwrap(), [address.parse::<IpAddr>().unwrap()], "{text}");
        }
    }

    #[tokio::test]
    async fn localhost_is_this_machine() {
        let found = addresses("localhost").await.unwrap();
        assert!(!found.is_empty() && found.iter().all(IpAddr::is_loopback), "{found:?}");
    }

    #[tokio::test]
    async fn what_cannot_be_resolved_or_reached_is_named() {
        let error = addresses("no-such-name.invalid").await.unwrap_err().to_string();
        assert!(error.contains("\"no-such-name.invalid\" cannot be resolved"), "{error}");
        // Bound and closed: nobody listens there.
        let port = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port();
        let error = connect("127.0.0.1", port).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionRefused);
        assert!(error.to_string().contains(&format!("127.0.0.1:{port} cannot be reached")), "{error}");
    }
}
