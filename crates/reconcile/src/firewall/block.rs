//! Blocks of addresses, as `10.208.4.0/24`: checked when they are read, so that nothing else gets into a table.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A text that is no block of addresses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no block of addresses like 10.208.4.0/24 (bits after the prefix must be zero)")]
pub struct BadBlock(String);

/// A block of IPv4 or IPv6 addresses. A single address is one of full length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Block {
    /// IPv4.
    V4(Subnet),
    /// IPv6.
    V6 {
        /// First address.
        base: Ipv6Addr,
        /// Bits that all addresses share.
        prefix: u8,
    },
}

/// A block of IPv4 addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Subnet {
    base: Ipv4Addr,
    prefix: u8,
}

impl Subnet {
    /// The block that begins with `base`.
    ///
    /// # Errors
    /// When the prefix is longer than 32 bits or the base has bits after it.
    pub fn new(base: Ipv4Addr, prefix: u8) -> Result<Self, BadBlock> {
        let block = Self { base, prefix };
        if prefix > 32 || block.masked(base) != base.to_bits() {
            return Err(BadBlock(format!("{base}/{prefix}")));
        }
        Ok(block)
    }

    /// Whether an address is one of the block.
    pub fn contains(self, ip: Ipv4Addr) -> bool {
        self.masked(ip) == self.base.to_bits()
    }

    /// Its last quarter, if that has more than one address.
    pub fn last_quarter(self) -> Option<Self> {
        let prefix = self.prefix.checked_add(2).filter(|prefix| *prefix < 32)?;
        let three = 3_u32.checked_shl(u32::from(32 - prefix))?;
        Some(Self { base: Ipv4Addr::from(self.base.to_bits() | three), prefix })
    }

    fn masked(self, ip: Ipv4Addr) -> u32 {
        ip.to_bits() & u32::MAX.checked_shl(u32::from(32 - self.prefix.min(32))).unwrap_or(0)
    }
}

impl FromStr for Subnet {
    type Err = BadBlock;

    fn from_str(text: &str) -> Result<Self, BadBlock> {
        match text.parse()? {
            Block::V4(subnet) => Ok(subnet),
            Block::V6 { .. } => Err(BadBlock(text.to_owned())),
        }
    }
}

impl FromStr for Block {
    type Err = BadBlock;

    fn from_str(text: &str) -> Result<Self, BadBlock> {
        let bad = || BadBlock(text.chars().take(50).collect());
        let (base, prefix) = match text.split_once('/') {
            Some((base, prefix)) => (base, Some(prefix.parse::<u8>().map_err(|_| bad())?)),
            None => (text, None),
        };
        match base.parse().map_err(|_| bad())? {
            IpAddr::V4(base) => Subnet::new(base, prefix.unwrap_or(32)).map(Self::V4).map_err(|_| bad()),
            IpAddr::V6(base) => {
                let prefix = prefix.unwrap_or(128);
                let host = u128::MAX.checked_shr(u32::from(prefix)).unwrap_or(0);
                if prefix > 128 || base.to_bits() & host != 0 {
                    Err(bad())
                } else {
                    Ok(Self::V6 { base, prefix })
                }
            }
        }
    }
}

impl fmt::Display for Subnet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.base, self.prefix)
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V4(subnet) => subnet.fmt(f),
            Self::V6 { base, prefix } => write!(f, "{base}/{prefix}"),
        }
    }
}

impl Serialize for Subnet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Subnet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_read_strictly() {
        for good in ["10.208.0.0/12", "0.0.0.0/0", "1.2.3.4/32", "fd00::/8", "::/0", "::1/128"] {
            assert_eq!(good.parse::<Block>().map(|block| block.to_string()), Ok(good.to_owned()));
        }
        assert_eq!("1.2.3.4".parse::<Block>().map(|block| block.to_string()), Ok("1.2.3.4/32".to_owned()));
        for bad in [
            "10.208.0.1/12",
            "10.0.0.0/33",
            "fd00::1/8",
            "::/129",
            "",
            "x/8",
            "10.0.0.0/",
            "1.2.3.4/8; flush",
        ] {
            assert!(bad.parse::<Block>().is_err(), "{bad}");
        }
        assert!("fd00::/8".parse::<Subnet>().is_err());
        let range: Subnet = "10.208.0.0/12".parse().unwrap();
        assert!(range.contains(Ipv4Addr::new(10, 223, 255, 255)));
        assert!(!range.contains(Ipv4Addr::new(10, 224, 0, 0)));
        let all: Subnet = "0.0.0.0/0".parse().unwrap();
        assert!(all.contains(Ipv4Addr::BROADCAST));
    }
}
