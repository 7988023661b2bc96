//! Tells cargo that the embedded console is part of this crate: files that appear in `console/dist` after a build
//! must lead to another.

fn main() {
    println!("cargo::rerun-if-changed=../../console/dist");
    println!("cargo::rerun-if-changed=build.rs");
}
