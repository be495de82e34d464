//! How much memory the lines of a text may take, counted while they are made.

use std::borrow::Cow;

use crate::line::Line;

/// Memory for the lines of one text, bytes: with the text itself it stays within what a command may
/// take. Lines of 40 letters take less than their letters; a text of nothing but line ends would take
/// thirty-two times as much.
const LINES_BYTES_MAX: usize = 192 << 20;

/// A small text may take as much whatever its lines are, bytes.
const SMALL_BYTES: usize = 16 << 20;

/// How much larger than its text lines may be: four bytes a line and more.
const GROWTH: usize = 4;

/// What a list and the heap take for a line that is a copy, beside its letters.
const COPY_BYTES: usize = 16;

/// Share of a command's memory, in percent, from which on nothing more is read: what was read has to
/// become an incident and a report.
const SPENT_PERCENT: u64 = 80;

/// Why sections are not read.
pub(crate) const SPENT: &str = "left out: the memory limit was reached";

/// Whether this process has so much in memory that nothing more may be read. Never where it has no
/// limit.
pub(crate) fn is_spent() -> bool {
    kernel::heap::in_use_percent() > SPENT_PERCENT
}

/// What is left for lines.
pub(crate) struct MemoryBudget {
    left: usize,
}

impl MemoryBudget {
    /// For the lines of a text of so many bytes.
    pub(crate) fn for_text(text_bytes: usize) -> Self {
        Self {
            left: text_bytes
                .saturating_mul(GROWTH)
                .clamp(SMALL_BYTES, LINES_BYTES_MAX),
        }
    }

    /// A list for so many lines, or as many as there is room for: one that grows by doubling takes up
    /// to twice what it holds.
    pub(crate) fn list<'a>(&self, lines: usize) -> Vec<Line<'a>> {
        Vec::with_capacity(lines.min(self.left / size_of::<Line<'_>>()))
    }

    /// Whether there is room for one more line.
    pub(crate) fn take(&mut self, line: &Line<'_>) -> bool {
        let copied = match &line.text {
            Cow::Borrowed(_) => 0,
            Cow::Owned(text) => text.len() + COPY_BYTES,
        };
        let bytes = size_of::<Line<'_>>() + copied;
        self.left = self.left.saturating_sub(bytes);
        self.left > 0
    }
}

#[cfg(test)]
mod tests {
    use crate::clean::lines_within;

    #[test]
    fn lines_over_the_limit_are_left_out_and_told() {
        let text = "\n".repeat(1 << 20);
        let (lines, cut) = lines_within(&text);
        assert!(cut == Some(lines.len()) && lines.len() < 1 << 20, "{cut:?}");
        let text = "a line of forty letters, more or less ok\n".repeat(1 << 20);
        let (lines, cut) = lines_within(&text);
        assert_eq!((lines.len(), cut), ((1 << 20) + 1, None));
    }
}
