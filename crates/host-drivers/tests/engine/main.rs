//! The drivers against a real engine, found by `MUSTER_TEST_DOCKER` (path of its socket), which holds the image `bb:1`
//! (busybox). They are run on a host of the lab with each engine: tests/lab/test_drivers.py.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod life;
mod logs;
mod world;
