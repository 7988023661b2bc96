//! Files to trees: one file by its format, and several files as the one document that agents make of them.

use std::sync::Arc;

use super::files::Format;
use super::tree::{Node, ParseError, Place, merged};
use super::yaml::Budget;
use super::{json, yaml};

/// What a structured file says.
#[derive(Debug, Default)]
pub struct Document {
    /// Its tree; `None` when it says nothing or is in no format that is read.
    pub root: Option<Arc<Node>>,
    /// Where a second document begins, which most agents ignore.
    pub second: Option<Place>,
}

/// Reads a file. `number` goes into the places.
pub fn read(format: Format, body: &str, number: u16, budget: &mut Budget) -> Result<Document, ParseError> {
    match format {
        Format::Yaml => {
            let yaml::Yaml { root, second, tags: _ } = yaml::parse(body, number, budget)?;
            Ok(Document { root, second })
        }
        Format::Json => Ok(Document { root: Some(json::parse(body, number)?), second: None }),
        Format::Other => Ok(Document::default()),
    }
}

/// Several trees as one: later ones win.
pub fn merge(roots: impl IntoIterator<Item = Arc<Node>>) -> Option<Arc<Node>> {
    roots.into_iter().reduce(|earlier, later| merged(&earlier, &later))
}
