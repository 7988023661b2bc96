//! The server's side of the protocol, one [`ServerSession`] for each instance_uid.
//!
//! A session is told what arrives and what the operator wants; it says what changed, what to answer and when
//! it wants to be woken. It knows one agent only: finding the session of an instance_uid, admission, and
//! telling a duplicate instance_uid from a reconnect is the work of `opamp-server`.
//!
//! Reading order: [`session`], then what it is made of: [`sequence`] (gaps), [`offer`] (what is offered and
//! how often), [`kept`] (what is remembered of each part),
//! [`answer`] (what is sent).

pub mod answer;
pub mod kept;
pub mod offer;
pub mod sequence;
pub mod session;
pub mod settings;

pub use answer::Answer;
pub use kept::{Kept, WHOLE_UP_TO};
pub use offer::{CarriedOffer, ConfigOffer, OfferState};
pub use session::{Received, Refused, ServerSession};
pub use settings::{SessionSettings, Transport};
