//! Sets of capability bits. Bits that this version does not know are kept as they came and never set by us
//! (CAP-1, INTEROP-6, INTEROP-7).

use std::fmt;

use crate::wire;

macro_rules! bit_set {
    ($(#[$doc:meta])* $name:ident, $bits:ident, $prefix:literal, [$($bit:ident),* $(,)?]) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Default)]
        pub struct $name(u64);

        impl $name {
            /// Every bit that this version defines, in the order of their numbers.
            pub const KNOWN: &'static [wire::$bits] = &[$(wire::$bits::$bit),*];

            /// The set as it travels, unknown bits included.
            pub const fn from_bits(bits: u64) -> Self {
                Self(bits)
            }

            /// The set as it travels.
            pub const fn bits(self) -> u64 {
                self.0
            }

            /// Whether nothing is said (the enum's value 0).
            pub const fn is_unspecified(self) -> bool {
                self.0 == 0
            }

            /// Whether the bit is set.
            pub const fn has(self, bit: wire::$bits) -> bool {
                self.0 & bit as u64 != 0
            }

            /// The set with one more bit.
            #[must_use]
            pub const fn with(self, bit: wire::$bits) -> Self {
                Self(self.0 | bit as u64)
            }

            /// The set without a bit.
            #[must_use]
            pub const fn without(self, bit: wire::$bits) -> Self {
                Self(self.0 & !(bit as u64))
            }

            /// The bits that this version knows.
            pub fn known(self) -> impl Iterator<Item = wire::$bits> {
                Self::KNOWN.iter().copied().filter(move |bit| self.has(*bit))
            }

            /// The bits that this version does not know.
            pub fn unknown_bits(self) -> u64 {
                Self::KNOWN.iter().fold(self.0, |rest, bit| rest & !(*bit as u64))
            }

            /// The names of the known bits, as the specification spells them.
            pub fn names(self) -> impl Iterator<Item = &'static str> {
                self.known().map(|bit| bit.as_str_name().trim_start_matches($prefix))
            }
        }

        impl FromIterator<wire::$bits> for $name {
            fn from_iter<I: IntoIterator<Item = wire::$bits>>(bits: I) -> Self {
                bits.into_iter().fold(Self(0), Self::with)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut set = f.debug_set();
                set.entries(self.known());
                if self.unknown_bits() != 0 {
                    set.entry(&format_args!("{:#x}", self.unknown_bits()));
                }
                set.finish()
            }
        }
    };
}

bit_set!(
    /// What an agent says it can do (CAP-2: an unset bit is "not supported").
    AgentCapabilities,
    AgentCapabilities,
    "AgentCapabilities_",
    [
        ReportsStatus,
        AcceptsRemoteConfig,
        ReportsEffectiveConfig,
        AcceptsPackages,
        ReportsPackageStatuses,
        ReportsOwnTraces,
        ReportsOwnMetrics,
        ReportsOwnLogs,
        AcceptsOpAmpConnectionSettings,
        AcceptsOtherConnectionSettings,
        AcceptsRestartCommand,
        ReportsHealth,
        ReportsRemoteConfig,
        ReportsHeartbeat,
        ReportsAvailableComponents,
        ReportsConnectionSettingsStatus,
    ]
);

bit_set!(
    /// What a server says it can do (SCAP-2: an unset bit is "not supported").
    ServerCapabilities,
    ServerCapabilities,
    "ServerCapabilities_",
    [
        AcceptsStatus,
        OffersRemoteConfig,
        AcceptsEffectiveConfig,
        OffersPackages,
        AcceptsPackagesStatus,
        OffersConnectionSettings,
        AcceptsConnectionSettingsRequest,
    ]
);
