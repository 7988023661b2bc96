//! What a crate may depend on, directly or in the end. The walls that source code can break are in `walls`.

use super::finding::Finding;
use super::metadata::{Graph, Need};

/// Crates that only think: time and chance come in as arguments, and nothing goes out but return values.
pub(crate) const PURE: &[&str] = &["opamp-proto", "host-proto", "reconcile", "scheduler", "model"];

/// What must not end up in a pure crate, whoever brings it.
const IMPURE: &[(&str, &str)] = &[
    ("tokio", "a runtime"),
    ("mio", "sockets"),
    ("socket2", "sockets"),
    ("hyper", "sockets"),
    ("reqwest", "sockets"),
    ("rustls", "sockets"),
    ("getrandom", "randomness"),
    ("rand", "randomness"),
    ("chrono", "a clock"),
    ("time", "a clock"),
    ("rusqlite", "files"),
    ("tempfile", "files"),
    ("tracing-subscriber", "output"),
];

/// Dependencies that have a home: who may name them, for which builds, and why nobody else.
struct Home {
    dependency: &'static str,
    crates: &'static [&'static str],
    why: &'static str,
}

const HOMES: &[Home] = &[
    Home { dependency: "rusqlite", crates: &["store"], why: "only store speaks SQL" },
    Home { dependency: "axum", crates: &["control-plane"], why: "the API lives in control-plane" },
    Home { dependency: "tower-http", crates: &["control-plane"], why: "the API lives in control-plane" },
    Home {
        dependency: "hyper",
        crates: &["opamp-client", "opamp-server", "host-agent", "control-plane"],
        why: "HTTP is spoken by the protocols' shells and by control-plane",
    },
    Home {
        dependency: "yawc",
        crates: &[
            "outbound",
            "opamp-client",
            "opamp-server",
            "host-agent",
            "control-plane",
            "muster",
            "testkit",
        ],
        why: "WebSocket is spoken by the protocols' shells, the load harness and test peers",
    },
    Home { dependency: "reqwest", crates: &["api"], why: "the typed client lives in api" },
    Home { dependency: "clap", crates: &["muster"], why: "the command line lives in muster" },
    Home { dependency: "comfy-table", crates: &["muster"], why: "the command line lives in muster" },
    Home { dependency: "rpassword", crates: &["muster"], why: "the command line lives in muster" },
    Home { dependency: "mimalloc", crates: &["muster"], why: "only a program chooses its allocator" },
    Home {
        dependency: "tracing-subscriber",
        crates: &["muster"],
        why: "only a program chooses where logs go",
    },
    Home { dependency: "anyhow", crates: &["muster", "xtask"], why: "libraries have typed errors" },
    Home { dependency: "rcgen", crates: &["control-plane", "testkit"], why: "the CA lives in control-plane" },
    Home { dependency: "argon2", crates: &["control-plane"], why: "logins live in control-plane" },
    Home { dependency: "protox", crates: &["xtask"], why: "generated code is committed" },
    Home { dependency: "prost-build", crates: &["xtask"], why: "generated code is committed" },
];

/// Every rule above; tests may use what they need.
pub(crate) fn check(graph: &Graph) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, member) in &graph.members {
        if PURE.contains(&name.as_str()) {
            for (impure, brings) in IMPURE.iter().filter(|(impure, _)| member.reach.contains(*impure)) {
                let what = format!("`{name}` is pure, but `{impure}` brings {brings} into it");
                let remedy = format!("drop what needs it (`cargo tree -p {name} -i {impure}` shows who)");
                findings.push(Finding::new(&member.manifest, 1, what, remedy));
            }
        }
        for home in HOMES.iter().filter(|home| !home.crates.contains(&name.as_str())) {
            let named =
                |(dependency, need): &&(String, Need)| dependency == home.dependency && *need != Need::Dev;
            if member.direct.iter().any(|entry| named(&entry)) {
                let what = format!("`{name}` depends on `{}`", home.dependency);
                let remedy = format!("{}: put the code there ({})", home.why, home.crates.join(", "));
                findings.push(Finding::new(&member.manifest, 1, what, remedy));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::metadata::Member;
    use super::*;

    fn graph(name: &str, direct: &[(&str, Need)], reach: &[&str]) -> Graph {
        let member = Member {
            manifest: "Cargo.toml".to_owned(),
            direct: direct.iter().map(|(name, need)| ((*name).to_owned(), *need)).collect(),
            reach: reach.iter().map(|name| (*name).to_owned()).collect(),
            ..Member::default()
        };
        Graph { members: [(name.to_owned(), member)].into() }
    }

    #[test]
    fn a_pure_crate_reaches_no_clock() {
        let finding = &check(&graph("model", &[], &["serde", "tokio"]))[0];
        assert_eq!(
            finding.to_string(),
            "Cargo.toml:1: `model` is pure, but `tokio` brings a runtime into it; \
             drop what needs it (`cargo tree -p model -i tokio` shows who)"
        );
        assert_eq!(check(&graph("store", &[], &["tokio"])), []);
    }

    #[test]
    fn sql_stays_in_the_store() {
        assert_eq!(check(&graph("store", &[("rusqlite", Need::Normal)], &[])), []);
        assert_eq!(check(&graph("control-plane", &[("rusqlite", Need::Normal)], &[])).len(), 1);
    }

    #[test]
    fn tests_may_use_what_they_need() {
        assert_eq!(check(&graph("opamp-server", &[("axum", Need::Dev)], &[])), []);
        assert_eq!(check(&graph("opamp-server", &[("axum", Need::Normal)], &[])).len(), 1);
    }
}
