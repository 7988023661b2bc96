//! Walls that a line of source can break: names that some crates must not use. Clippy keeps the same walls where it can
//! (`clippy.toml` of a crate), but it knows single functions and not whole modules, and nobody may forget one.

use super::finding::Finding;
use super::reach::PURE;
use super::tree::{Kind, SourceFile, Tree};

/// A name and who may use it.
struct Wall {
    name: &'static str,
    allowed: fn(&SourceFile) -> bool,
    why: &'static str,
}

const WALLS: &[Wall] = &[
    Wall { name: "std::time::Instant", allowed: not_pure, why: "pure crates are told the time as a Moment" },
    Wall { name: "std::time::SystemTime", allowed: not_pure, why: "pure crates are told the time" },
    Wall { name: "Instant::now", allowed: not_pure, why: "pure crates are told the time as a Moment" },
    Wall { name: "SystemTime::now", allowed: not_pure, why: "pure crates are told the time" },
    Wall { name: "std::fs", allowed: not_pure, why: "pure crates touch no files" },
    Wall { name: "std::net::Tcp", allowed: not_pure, why: "pure crates open no sockets" },
    Wall { name: "std::net::Udp", allowed: not_pure, why: "pure crates open no sockets" },
    Wall { name: "std::env::", allowed: not_pure, why: "pure crates read no environment" },
    Wall { name: "std::process", allowed: not_pure, why: "pure crates start nothing" },
    Wall { name: "std::thread", allowed: not_pure, why: "pure crates have no threads" },
    Wall {
        name: "hyper::server",
        allowed: serves_http,
        why: "HTTP is served by opamp-server and control-plane",
    },
    Wall {
        name: "hyper_util::server",
        allowed: serves_http,
        why: "HTTP is served by opamp-server and control-plane",
    },
    Wall { name: "rusqlite::", allowed: is_store, why: "only store speaks SQL" },
];

fn not_pure(file: &SourceFile) -> bool {
    !file.crate_name().is_some_and(|name| PURE.contains(&name))
}

fn serves_http(file: &SourceFile) -> bool {
    is_test(file) || matches!(file.crate_name(), Some("opamp-server" | "control-plane" | "testkit"))
}

fn is_store(file: &SourceFile) -> bool {
    file.crate_name() == Some("store")
}

fn is_test(file: &SourceFile) -> bool {
    file.path.contains("/tests/") || file.path.contains("/examples/")
}

/// Every name in `WALLS`, outside comments.
pub(crate) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let own =
        |file: &&SourceFile| file.kind == Kind::Rust && file.crate_name().is_some_and(|name| name != "xtask");
    for file in tree.sources().filter(own) {
        for (number, line) in file.lines() {
            let code = line.split("//").next().unwrap_or(line);
            for wall in WALLS.iter().filter(|wall| code.contains(wall.name) && !(wall.allowed)(file)) {
                let what = format!("`{}` is used here", wall.name);
                findings.push(Finding::new(&file.path, number, what, wall.why));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pure_crate_reads_no_clock_and_no_file() {
        let text = "//! A.\n// std::fs is far away\nuse std::fs;\nlet now = Instant::now();\n";
        let findings =
            check(&Tree::of(&[("crates/model/src/lib.rs", text), ("crates/store/src/lib.rs", text)]));
        let places: Vec<String> = findings.iter().map(ToString::to_string).collect();
        assert_eq!(
            places,
            [
                "crates/model/src/lib.rs:3: `std::fs` is used here; pure crates touch no files",
                "crates/model/src/lib.rs:4: `Instant::now` is used here; pure crates are told the time as a Moment",
            ]
        );
    }

    #[test]
    fn sql_and_http_servers_have_their_homes() {
        let sql = "//! A.\nuse rusqlite::Connection;\n";
        let http = "//! A.\nuse hyper_util::server::conn::auto;\n";
        let tree = Tree::of(&[
            ("crates/store/src/a.rs", sql),
            ("crates/api/src/a.rs", sql),
            ("crates/opamp-server/src/a.rs", http),
            ("crates/opamp-client/src/a.rs", http),
            ("crates/opamp-client/tests/a.rs", http),
        ]);
        assert_eq!(check(&tree).len(), 2);
    }
}
