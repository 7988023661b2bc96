//! Names for containers: a server on the gateway of each network, over UDP and TCP (R57). Who asks is told by the
//! address that asks, and sees the names of its own project in its own networks. Names of the world go to the host's
//! real servers (R58).
//!
//! `zone` and `answer` decide and are pure; `server` holds the sockets; `upstream` and `relay` ask others.

mod answer;
mod limit;
mod relay;
mod server;
mod upstream;
mod zone;

pub use answer::{MAX_UDP_QUERY, Reply, Transport, Verdict, answer};
pub use server::{DnsCounters, Server};
pub use upstream::ResolverFiles;
pub use zone::Zone;
