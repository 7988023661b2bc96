//! Selectors as operators type them: any text is a selector or an error with a place in the text, and a selector's own
//! text reads back to the same selector.
#![no_main]

use libfuzzer_sys::fuzz_target;
use model::selector::Selector;

fuzz_target!(|text: &str| {
    let Ok(selector) = Selector::parse(text) else { return };
    let written = selector.to_string();
    // Quoting can make the text longer than what is read.
    if written.len() <= model::selector::MAX_TEXT {
        assert_eq!(Selector::parse(&written).as_ref(), Ok(&selector), "{written}");
    }
});
