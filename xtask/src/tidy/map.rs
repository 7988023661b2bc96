//! The map of crates in ARCHITECTURE.md, drawn from the floors and the crates' descriptions, so that it cannot age.

use std::fmt::Write;

use super::finding::Finding;
use super::floors::{FLOORS, Floor};
use super::metadata::Graph;
use super::tree::Tree;

const PAGE: &str = "ARCHITECTURE.md";
const BEGIN: &str = "<!-- the next block is printed by `cargo xtask map` -->";

/// The block that belongs into ARCHITECTURE.md.
pub(crate) fn draw(graph: &Graph) -> String {
    let width = FLOORS.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut block = format!("{BEGIN}\n```text\n");
    for (name, floor) in FLOORS {
        let Some(member) = graph.members.get(*name) else { continue };
        let level = match floor {
            Floor::Level(level) => level.to_string(),
            Floor::TestsOnly | Floor::Tools => " ".to_owned(),
        };
        // Writing to a String cannot fail.
        let _ = writeln!(block, "{level} {name:width$}  {}", member.description);
    }
    block.push_str("```\n");
    block
}

/// Whether the page shows today's map. Without the page there is nothing to be wrong.
pub(crate) fn check(tree: &Tree, graph: &Graph) -> Vec<Finding> {
    let Some(page) = tree.get(PAGE) else { return Vec::new() };
    if page.text.contains(&draw(graph)) {
        return Vec::new();
    }
    let line = page.lines().find(|(_, line)| *line == BEGIN).map_or(1, |(number, _)| number);
    let remedy = "put what `cargo xtask map` prints into it";
    vec![Finding::new(PAGE, line, "does not show today's map of crates", remedy)]
}

#[cfg(test)]
mod tests {
    use super::super::metadata::Member;
    use super::*;

    fn graph() -> Graph {
        let member = Member { description: "Speaks SQL".to_owned(), ..Member::default() };
        Graph { members: [("store".to_owned(), member)].into() }
    }

    #[test]
    fn a_crate_is_drawn_with_its_floor_and_description() {
        assert!(draw(&graph()).contains("\n3 store          Speaks SQL\n"), "{}", draw(&graph()));
    }

    #[test]
    fn an_old_map_is_found() {
        let fresh = format!("# Map\n{}", draw(&graph()));
        assert_eq!(check(&Tree::of(&[(PAGE, &fresh)]), &graph()), []);
        let stale = format!("# Map\n\n{BEGIN}\n```text\n```\n");
        let found = &check(&Tree::of(&[(PAGE, &stale)]), &graph())[0];
        assert!(found.to_string().starts_with("ARCHITECTURE.md:3: does not show"), "{found}");
    }
}
