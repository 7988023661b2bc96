//! People: passwords, sessions, the CSRF token that goes with a cookie, and how often one may try.
//! Agents' credentials are not here: see `opamp::credentials`.

mod access;
mod origin;
mod password;
mod session;
mod throttle;

pub(crate) use access::Access;
pub(crate) use origin::is_foreign;
pub(crate) use password::{HashError, Hashing, Passwords, Verdict, hash as hash_password};
pub(crate) use session::{COOKIE, CSRF_HEADER, Presented, SessionSecret};
pub(crate) use throttle::LoginThrottle;
