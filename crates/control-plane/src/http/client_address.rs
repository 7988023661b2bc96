//! Where a request really came from. `X-Forwarded-For` and `X-Forwarded-Proto` are believed only from addresses
//! that the operator named with --trusted-proxy; from anyone else they are ignored.

use std::net::{IpAddr, SocketAddr};

use axum::http::HeaderMap;

/// The networks of the proxies in front of this server.
#[derive(Debug, Clone, Default)]
pub(crate) struct TrustedProxies(Vec<Network>);

#[derive(Debug, Clone, Copy)]
struct Network {
    address: IpAddr,
    prefix: u8,
}

/// The far end of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Client {
    /// Its address. Port 0 where a proxy told only the address.
    pub(crate) address: SocketAddr,
    /// Whether a trusted proxy says that it came over TLS.
    pub(crate) secure: bool,
}

impl TrustedProxies {
    /// Reads addresses and networks such as `10.0.0.0/8`. The error names what cannot be read.
    pub(crate) fn parse(texts: &[String]) -> Result<Self, String> {
        let networks = texts.iter().map(|text| {
            Network::parse(text)
                .ok_or_else(|| format!("{text:?} is no address or network, write it as 10.0.0.0/8"))
        });
        networks.collect::<Result<_, _>>().map(Self)
    }

    fn trusts(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(address))
    }

    /// The far end of a request that came from `peer` with these headers.
    pub(crate) fn client(&self, peer: SocketAddr, headers: &HeaderMap) -> Client {
        if !self.trusts(peer.ip()) {
            return Client { address: peer, secure: false };
        }
        let last = |name: &str| {
            let value = headers.get_all(name).into_iter().next_back()?.to_str().ok()?;
            value.rsplit(',').next().map(str::trim)
        };
        let secure = last("x-forwarded-proto").is_some_and(|scheme| scheme.eq_ignore_ascii_case("https"));
        Client { address: self.forwarded(headers).unwrap_or(peer), secure }
    }

    /// The last address of the chain that no proxy of ours has: what stands before it was written by strangers.
    fn forwarded(&self, headers: &HeaderMap) -> Option<SocketAddr> {
        let lines: Vec<&str> =
            headers.get_all("x-forwarded-for").into_iter().filter_map(|line| line.to_str().ok()).collect();
        let chain: Vec<&str> = lines.iter().flat_map(|line| line.split(',')).map(str::trim).collect();
        let mut farthest = None;
        for hop in chain.iter().rev() {
            let Some(address) = hop_address(hop) else { break };
            farthest = Some(address);
            if !self.trusts(address.ip()) {
                break;
            }
        }
        farthest
    }
}

/// `192.0.2.1`, `192.0.2.1:80`, `2001:db8::1` or `[2001:db8::1]:80`.
fn hop_address(text: &str) -> Option<SocketAddr> {
    let bare = || text.trim_matches(['[', ']']).parse::<IpAddr>().ok().map(|ip| SocketAddr::new(ip, 0));
    text.parse().ok().or_else(bare)
}

impl Network {
    fn parse(text: &str) -> Option<Self> {
        let (address, prefix) = match text.split_once('/') {
            Some((address, prefix)) => (address, Some(prefix.parse().ok()?)),
            None => (text, None),
        };
        let address: IpAddr = address.trim().parse().ok()?;
        let width = if address.is_ipv4() { 32 } else { 128 };
        let prefix = prefix.unwrap_or(width);
        (prefix <= width).then_some(Self { address, prefix })
    }

    fn contains(&self, other: IpAddr) -> bool {
        match (self.address.to_canonical(), other.to_canonical()) {
            (IpAddr::V4(ours), IpAddr::V4(other)) => {
                let shift = 32 - u32::from(self.prefix.min(32));
                (u64::from(u32::from(ours)) >> shift) == (u64::from(u32::from(other)) >> shift)
            }
            (IpAddr::V6(ours), IpAddr::V6(other)) => {
                let shift = 128 - u32::from(self.prefix);
                shift == 128 || (u128::from(ours) >> shift) == (u128::from(other) >> shift)
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(networks: &[&str]) -> TrustedProxies {
        TrustedProxies::parse(&networks.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>()).unwrap()
    }

    fn client(trusted: &[&str], peer: &str, headers: &[(&'static str, &str)]) -> (String, bool) {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, value.parse().unwrap());
        }
        let client = proxies(trusted).client(peer.parse().unwrap(), &map);
        (client.address.ip().to_string(), client.secure)
    }

    #[test]
    fn headers_of_a_stranger_are_ignored() {
        let forged = [("x-forwarded-for", "10.9.9.9"), ("x-forwarded-proto", "https")];
        assert_eq!(client(&["10.0.0.0/8"], "192.0.2.1:9", &forged), ("192.0.2.1".to_owned(), false));
        assert_eq!(client(&[], "127.0.0.1:9", &forged), ("127.0.0.1".to_owned(), false));
    }

    #[test]
    fn the_last_hop_that_is_no_proxy_of_ours_is_the_client_whatever_it_wrote_itself() {
        let headers = [("x-forwarded-for", "1.2.3.4, 198.51.100.7"), ("x-forwarded-for", "10.0.0.2")];
        assert_eq!(client(&["10.0.0.0/8"], "10.0.0.1:9", &headers).0, "198.51.100.7");
        assert_eq!(client(&["10.0.0.1"], "10.0.0.1:9", &headers).0, "10.0.0.2");
        assert_eq!(client(&["10.0.0.1"], "[::ffff:10.0.0.1]:9", &headers).0, "10.0.0.2");
        let junk = [("x-forwarded-for", "198.51.100.7, unknown")];
        assert_eq!(client(&["10.0.0.1"], "10.0.0.1:9", &junk).0, "10.0.0.1");
    }

    #[test]
    fn the_scheme_that_the_nearest_proxy_saw_counts() {
        let headers = [("x-forwarded-proto", "http, https"), ("x-forwarded-for", "[2001:db8::1]:80")];
        assert_eq!(client(&["::1/128"], "[::1]:9", &headers), ("2001:db8::1".to_owned(), true));
    }

    #[test]
    fn what_is_no_network_is_named() {
        for text in ["", "10.0.0.0/33", "::/129", "example.org", "10.0.0.0/x", "/8"] {
            let error = TrustedProxies::parse(&[text.to_owned()]).unwrap_err();
            assert!(error.contains(&format!("{text:?}")), "{error}");
        }
        assert!(proxies(&["0.0.0.0/0"]).trusts([1, 2, 3, 4].into()));
        assert!(proxies(&["::/0"]).trusts("2001:db8::1".parse().unwrap()));
    }
}
