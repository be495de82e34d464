//! Backtraces as they were printed: what tools that count printed lines need.

use crate::clean;
use crate::formats::backtrace;
use crate::split::split;
use crate::{INPUT_BYTES_MAX, Input, whole_text};

/// The threads of all backtraces in a capture, in its order, each as the first lines of its frames,
/// as they stand there (`#0  0x… in f (…) at a.cc:3`). The threads are those of the incident that
/// [`crate::import`] makes of it.
pub fn printed_threads(input: &Input<'_>) -> Vec<Vec<String>> {
    let bytes = input
        .bytes
        .get(..input.bytes.len().min(INPUT_BYTES_MAX))
        .unwrap_or_default();
    let text = String::from_utf8_lossy(bytes);
    let text = whole_text::as_printed(&text);
    let lines = clean::lines(&text);
    split(&lines)
        .iter()
        .filter(|section| *section.format == backtrace::FORMAT)
        .flat_map(|section| {
            backtrace::printed(lines.get(section.from..section.to).unwrap_or_default())
        })
        .collect()
}
