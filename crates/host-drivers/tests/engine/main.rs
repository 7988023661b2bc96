//! The drivers against a real engine, found by `MUSTER_TEST_DOCKER` (path of its socket; the stage `lab` sets it). Without
//! it there is nothing to prove here, and each test says so. The engine must hold the image `bb:1` (busybox).
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]
#![allow(clippy::print_stderr, reason = "says that a test was not run")]

mod life;
mod logs;
mod world;
