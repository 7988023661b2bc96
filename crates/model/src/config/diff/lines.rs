//! The difference of two texts by lines: what both begin and end with is the same, and `similar` compares the rest.

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::{Line, LineKind};

/// More lines than these, of both sides together, are not compared: all of one side go and all of the other come. The
/// longest comparison grows faster than its lines, and nobody reads so many.
const MAX_COMPARED: usize = 20_000;

/// Every line of both texts. They are compared as they are and shown as `shown` has them, with secrets masked.
pub(super) fn lines((old, new): (&str, &str), shown: (&str, &str)) -> Vec<Line> {
    let (old_lines, new_lines) = (split(old), split(new));
    let (old_shown, new_shown) = (split(shown.0), split(shown.1));
    let mut lines = Vec::with_capacity(new_lines.len());
    let mut push = |kind, shown: &[&str], index: usize| {
        let text = shown.get(index).copied().unwrap_or_default();
        lines.push(Line { kind, text: text.strip_suffix('\n').unwrap_or(text).to_owned() });
    };
    for op in operations(&old_lines, &new_lines) {
        if let DiffOp::Equal { old_index, new_index, len } = op {
            for step in 0..len {
                let (old, new) = (old_index + step, new_index + step);
                push(LineKind::Same { old: number(old), new: number(new) }, &new_shown, new);
            }
            continue;
        }
        for old in op.old_range() {
            push(LineKind::Removed { old: number(old) }, &old_shown, old);
        }
        for new in op.new_range() {
            push(LineKind::Added { new: number(new) }, &new_shown, new);
        }
    }
    lines
}

fn operations(old: &[&str], new: &[&str]) -> Vec<DiffOp> {
    let same_start = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let (old_rest, new_rest) = (&old[same_start..], &new[same_start..]);
    let same_end =
        old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(old, new)| old == new).count();
    if old_rest.len() + new_rest.len() - 2 * same_end <= MAX_COMPARED {
        return capture_diff_slices(Algorithm::Myers, old, new);
    }
    let (old_len, new_len) = (old_rest.len() - same_end, new_rest.len() - same_end);
    let (old_end, new_end) = (same_start + old_len, same_start + new_len);
    vec![
        DiffOp::Equal { old_index: 0, new_index: 0, len: same_start },
        DiffOp::Replace { old_index: same_start, old_len, new_index: same_start, new_len },
        DiffOp::Equal { old_index: old_end, new_index: new_end, len: same_end },
    ]
}

/// Lines with their ends, so that a last line without one differs from one with it.
fn split(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

fn number(index: usize) -> u32 {
    u32::try_from(index + 1).unwrap_or(u32::MAX)
}
