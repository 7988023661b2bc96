//! The floors of the crate graph: a crate uses only crates on lower floors. The table below is the one place that says
//! which crate lives where; ARCHITECTURE.md shows the same (`map`).

use super::finding::Finding;
use super::metadata::{Graph, Need};

/// Where a crate stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Floor {
    /// 1 is the ground.
    Level(u8),
    /// Used by tests of every floor, never by a product.
    TestsOnly,
    /// Used by developers, by no crate.
    Tools,
}

/// Every crate, from the ground up.
pub(crate) const FLOORS: &[(&str, Floor)] = &[
    ("opamp-proto", Floor::Level(1)),
    ("host-proto", Floor::Level(1)),
    ("names", Floor::Level(1)),
    ("outbound", Floor::Level(1)),
    ("opamp-client", Floor::Level(2)),
    ("opamp-server", Floor::Level(2)),
    ("reconcile", Floor::Level(2)),
    ("model", Floor::Level(2)),
    ("scheduler", Floor::Level(3)),
    ("host-drivers", Floor::Level(3)),
    ("store", Floor::Level(3)),
    ("api", Floor::Level(3)),
    ("control-plane", Floor::Level(4)),
    ("host-agent", Floor::Level(4)),
    ("muster", Floor::Level(5)),
    ("testkit", Floor::TestsOnly),
    ("xtask", Floor::Tools),
];

/// The floor of a crate of the workspace; none for crates of others.
pub(crate) fn of(name: &str) -> Option<Floor> {
    FLOORS.iter().find(|(known, _)| *known == name).map(|(_, floor)| *floor)
}

/// Every edge goes down, and every crate has a floor.
pub(crate) fn check(graph: &Graph) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (name, member) in &graph.members {
        let Some(floor) = of(name) else {
            let what = format!("crate `{name}` has no floor");
            findings.push(Finding::new(
                &member.manifest,
                1,
                what,
                "add it to FLOORS in xtask/src/tidy/floors.rs",
            ));
            continue;
        };
        for (dependency, need) in &member.direct {
            let Some(below) = of(dependency) else { continue };
            if !allowed(floor, below, *need) {
                let what = format!("`{name}` ({floor:?}) uses `{dependency}` ({below:?})");
                let remedy = "a crate uses only crates on lower floors: move the code down or the caller up";
                findings.push(Finding::new(&member.manifest, 1, what, remedy));
            }
        }
    }
    findings
}

fn allowed(from: Floor, to: Floor, need: Need) -> bool {
    match (from, to) {
        (Floor::Level(from), Floor::Level(to)) => to < from,
        (Floor::Level(_), Floor::TestsOnly) => need == Need::Dev,
        // What tests of the protocol crates use must not come back to them through their users.
        (Floor::TestsOnly, Floor::Level(to)) => to == 1,
        (_, Floor::Tools | Floor::TestsOnly) | (Floor::Tools, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::metadata::Member;
    use super::*;

    fn graph(name: &str, dependency: &str, need: Need) -> Graph {
        let direct = [(dependency.to_owned(), need)].into();
        let member = Member { manifest: format!("crates/{name}/Cargo.toml"), direct, ..Member::default() };
        Graph { members: [(name.to_owned(), member)].into() }
    }

    #[test]
    fn an_edge_goes_down_and_neither_up_nor_sideways() {
        assert_eq!(check(&graph("control-plane", "store", Need::Normal)), []);
        assert_eq!(check(&graph("store", "control-plane", Need::Normal)).len(), 1);
        assert_eq!(check(&graph("opamp-client", "opamp-server", Need::Dev)).len(), 1);
    }

    #[test]
    fn the_testkit_is_for_tests() {
        assert_eq!(check(&graph("opamp-server", "testkit", Need::Dev)), []);
        assert_eq!(check(&graph("opamp-server", "testkit", Need::Normal)).len(), 1);
        assert_eq!(check(&graph("testkit", "opamp-server", Need::Normal)).len(), 1);
    }

    #[test]
    fn a_crate_without_a_floor_is_found() {
        let finding = &check(&graph("attic", "bytes", Need::Normal))[0];
        assert_eq!(
            finding.to_string(),
            "crates/attic/Cargo.toml:1: crate `attic` has no floor; add it to FLOORS in xtask/src/tidy/floors.rs"
        );
    }
}
