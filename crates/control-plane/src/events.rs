//! Live hints for consoles: which agents changed. Hints carry no state; who hears one reads the API again.

mod hub;

pub(crate) use hub::{COALESCE, EventId, Hub, Next};
