//! The text under construction, never longer than [`REDACTED_BYTES_MAX`].

/// Longest text that redaction and fingerprinting return, in bytes, the mark included. Enough for the first 1,024
/// bytes that servers keep of a statement by default (`performance_schema_max_sql_text_length`), with room.
pub const REDACTED_BYTES_MAX: usize = 2048;

/// Ends a text that was cut at [`REDACTED_BYTES_MAX`].
pub const CUT_MARK: char = '…';

/// Bytes that the text may have before the mark with the space before it.
const CONTENT_BYTES_MAX: usize = REDACTED_BYTES_MAX - 1 - CUT_MARK.len_utf8();

/// Bytes allocated at first, at most: the text of a long statement is mostly short.
const ROOM_BYTES_MAX: usize = 256;

/// The text under construction.
#[derive(Default)]
pub(crate) struct Output {
    text: String,
    cut: bool,
}

impl Output {
    /// Room for a statement of ordinary length, so that most texts are never moved.
    pub(crate) fn for_statement(statement: &str) -> Self {
        Self {
            text: String::with_capacity(statement.len().min(ROOM_BYTES_MAX)),
            cut: false,
        }
    }

    /// Appends a piece whole, or the mark and nothing more from then on.
    pub(crate) fn push(&mut self, space: bool, space_before_mark: bool, piece: &str) {
        let space = space && !self.text.is_empty();
        if self.cut {
            return;
        }
        if self.text.len() + usize::from(space) + piece.len() > CONTENT_BYTES_MAX {
            return self.cut_here(space_before_mark);
        }
        if space {
            self.text.push(' ');
        }
        self.text.push_str(piece);
    }

    fn cut_here(&mut self, space_before_mark: bool) {
        if space_before_mark && !self.text.is_empty() {
            self.text.push(' ');
        }
        self.text.push(CUT_MARK);
        self.cut = true;
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.cut
    }

    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }

    /// The text from `start` on without the blank that separates it from what is before.
    pub(crate) fn from(&self, start: usize) -> &str {
        self.text.get(start..).unwrap_or_default().trim_start()
    }

    pub(crate) fn lower_from(&mut self, start: usize) {
        if let Some(tail) = self.text.get_mut(start..) {
            tail.make_ascii_lowercase();
        }
    }

    /// Takes back what follows the first `length` bytes.
    pub(crate) fn truncate(&mut self, length: usize) {
        if !self.cut && self.text.is_char_boundary(length) {
            self.text.truncate(length);
        }
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }
}
