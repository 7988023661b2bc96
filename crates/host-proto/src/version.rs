//! What two sides of different age agree on: the smaller minor version and the features that both have.

use crate::message::ProtocolVersion;

/// So many minor versions before its own does a server still speak.
pub const OLDER_MINORS: u16 = 2;

/// The version that both speak; `None` when there is none. A newer agent talks down to an older server, since minors
/// only add.
pub fn negotiate(own: ProtocolVersion, theirs: ProtocolVersion) -> Option<ProtocolVersion> {
    let oldest = own.minor.saturating_sub(OLDER_MINORS);
    let common = own.major == theirs.major && theirs.minor >= oldest;
    common.then(|| ProtocolVersion { major: own.major, minor: own.minor.min(theirs.minor) })
}

/// The features that both have, in the order of `own`.
pub fn common_features(own: &[String], theirs: &[String]) -> Vec<String> {
    own.iter().filter(|feature| theirs.contains(feature)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn version(major: u16, minor: u16) -> ProtocolVersion {
        ProtocolVersion { major, minor }
    }

    #[test]
    fn the_two_minors_before_the_own_are_spoken_and_newer_ones_are_talked_down() {
        let own = version(1, 5);
        assert_eq!(negotiate(own, version(1, 2)), None);
        assert_eq!(negotiate(own, version(1, 3)), Some(version(1, 3)));
        assert_eq!(negotiate(own, version(1, 5)), Some(own));
        assert_eq!(negotiate(own, version(1, 9)), Some(own));
        assert_eq!(negotiate(own, version(2, 5)), None);
        assert_eq!(negotiate(version(1, 0), version(1, 0)), Some(version(1, 0)));
    }

    #[test]
    fn features_are_those_of_both() {
        let texts = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(
            common_features(&texts(&["logs", "nft"]), &texts(&["nft", "tcp", "logs"])),
            ["logs", "nft"]
        );
    }
}
