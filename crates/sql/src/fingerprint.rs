//! The form that all statements share which differ in their values only.

use crate::backslash::readable;
use crate::lexer::SqlMode;
use crate::lists::{List, end_all_unclosed};
use crate::output::{CUT_MARK, Output};
use crate::segments::{Segment, SegmentKind, Segments};
use crate::word::ShortWord;

/// The statement as [`crate::redact`] has it, and besides: words in lower case (not names in quotes), `NULL`, `TRUE` and
/// `FALSE` as `?` where they are values, blanks only where they help, a list of values after `IN` as `in (?+)`, repeated
/// rows after `VALUES` as one (`values (?+)` where they are all values), no semicolon at the end.
///
/// A fingerprint's fingerprint is itself. At most [`crate::REDACTED_BYTES_MAX`] bytes of the result, however long the
/// statement's lists are. For the servers' default `sql_mode`; see [`fingerprint_in`].
///
/// ```
/// assert_eq!(sql::fingerprint("SELECT a FROM t WHERE id IN (1,2, 3)"), "select a from t where id in (?+)");
/// ```
pub fn fingerprint(statement: &str) -> String {
    fingerprint_in(statement, SqlMode::default())
}

/// [`fingerprint`] for a server or session in the given mode; see [`crate::redact_in`] for what another mode costs.
pub fn fingerprint_in(statement: &str, mode: SqlMode) -> String {
    let mut writer = Writer {
        output: Output::for_statement(statement),
        ..Writer::default()
    };
    for piece in Segments::new(statement, mode) {
        writer.take(piece);
        if writer.output.is_cut() {
            break;
        }
    }
    writer.finish()
}

/// [`fingerprint`] when nobody knows the mode of the session that sent the statement: of its beginning, as far as both ways
/// to read a backslash agree or only one of them gives a statement.
///
/// ```
/// assert_eq!(sql::fingerprint_in_any_mode(r"SELECT 'it\'s', b"), "select ?, b");
/// assert_eq!(sql::fingerprint_in_any_mode(r"SELECT 'C:\', 'secret'"), "select ?");
/// ```
pub fn fingerprint_in_any_mode(statement: &str) -> String {
    fingerprint(readable(statement))
}

#[derive(Default)]
struct Writer {
    output: Output,
    previous: Option<SegmentKind>,
    /// The piece before, if it is a word and no part of a longer name.
    previous_word: ShortWord,
    /// The piece before is `VALUES` where rows can follow, not the function (`a = VALUES(a)`, `IF(b, VALUES(a), c)`).
    after_values: bool,
    /// Where the signs before the next piece start, and what is before them.
    signs: Option<(usize, Option<SegmentKind>)>,
    /// How many parentheses are open.
    depth: usize,
    lists: Vec<List>,
}

impl Writer {
    fn take(&mut self, piece: Segment<'_>) {
        let word = piece.word;
        let (kind, text) = match piece.kind {
            _ if self.is_value(word) => (SegmentKind::Literal, "?"),
            // After a `DEFAULT` that became a `?`: in the fingerprint's fingerprint it is an operator.
            SegmentKind::Sign if self.previous == Some(SegmentKind::Literal) => {
                (SegmentKind::Operator, piece.text)
            }
            kind => (kind, piece.text),
        };
        self.leave_lists(kind, word);
        if self.after_values && (kind == SegmentKind::LeftParen || word.as_bytes() == b"row") {
            self.lists
                .push(List::new(true, self.depth, self.output.len()));
        }
        self.write(kind, text);
        self.enter_lists(kind);
        self.after_values = matches!(word.as_bytes(), b"values" | b"value")
            && !matches!(
                self.previous,
                Some(SegmentKind::Operator | SegmentKind::Comma)
            );
        self.previous = Some(kind);
        self.previous_word = word;
    }

    /// Whether a word is a value here. `IS NULL`, `NOT NULL` and `SET NULL` (of a foreign key) are none; `DEFAULT` is
    /// one in a row only.
    fn is_value(&self, word: ShortWord) -> bool {
        match word.as_bytes() {
            b"null" | b"true" | b"false" => {
                !matches!(self.previous_word.as_bytes(), b"is" | b"not" | b"set")
            }
            b"default" => self
                .lists
                .last()
                .is_some_and(|list| list.is_rows && self.depth == list.depth + 1),
            _ => false,
        }
    }

    fn write(&mut self, kind: SegmentKind, text: &str) {
        match kind {
            SegmentKind::Sign => {
                self.signs.get_or_insert((self.output.len(), self.previous));
            }
            SegmentKind::Literal => {
                if let Some((start, before)) = self.signs.take() {
                    self.output.truncate(start);
                    self.previous = before;
                }
            }
            _ => self.signs = None,
        }
        let start = self.output.len();
        let space_before_mark = needs_space(self.previous, SegmentKind::Word, "");
        self.output.push(
            needs_space(self.previous, kind, text),
            space_before_mark,
            text,
        );
        match kind {
            SegmentKind::Word | SegmentKind::Keyword => self.output.lower_from(start),
            SegmentKind::Variable if !text.ends_with('`') => self.output.lower_from(start),
            _ => {}
        }
    }

    /// What a piece does to the open lists before it is written.
    fn leave_lists(&mut self, kind: SegmentKind, word: ShortWord) {
        let is_close = kind == SegmentKind::RightParen;
        while let Some(list) = self.lists.last_mut() {
            let is_comma_of_list = kind == SegmentKind::Comma && self.depth == list.depth;
            let is_close_of_list = is_close && self.depth == list.depth;
            if list.is_finished_rows() && !is_comma_of_list || list.is_rows && is_close_of_list {
                self.lists.pop();
                continue;
            }
            let is_query = matches!(word.as_bytes(), b"select" | b"with" | b"values" | b"table");
            if is_comma_of_list {
                list.end_item(&mut self.output);
            } else if is_close_of_list {
                list.end(&mut self.output);
                self.lists.pop();
            } else if is_query && !list.is_rows && list.is_at_start(&self.output) {
                self.lists.pop();
            }
            return;
        }
    }

    /// What a piece does to the open lists after it is written.
    fn enter_lists(&mut self, kind: SegmentKind) {
        match kind {
            SegmentKind::LeftParen => {
                self.depth += 1;
                if self.previous_word.as_bytes() == b"in" {
                    self.lists
                        .push(List::new(false, self.depth, self.output.len()));
                }
            }
            SegmentKind::RightParen => {
                self.depth = self.depth.saturating_sub(1);
                if let Some(list) = self
                    .lists
                    .last_mut()
                    .filter(|list| list.is_rows && list.depth == self.depth)
                {
                    list.end_row(&mut self.output);
                }
            }
            SegmentKind::Comma => {
                if let Some(list) = self
                    .lists
                    .last_mut()
                    .filter(|list| list.depth == self.depth)
                {
                    list.start_item(&self.output);
                }
            }
            _ => {}
        }
    }

    /// A statement that ends with the mark of a cut stays as it is: what follows is not known.
    fn finish(mut self) -> String {
        if !self.output.as_str().ends_with(CUT_MARK) {
            let end = self.output.as_str().trim_end_matches([';', ' ']).len();
            self.output.truncate(end);
            end_all_unclosed(self.lists, &mut self.output);
        }
        self.output.into_text()
    }
}

/// Whether a space is written between two pieces. Pieces without one must be read as the same pieces again.
fn needs_space(previous: Option<SegmentKind>, kind: SegmentKind, text: &str) -> bool {
    use SegmentKind::{
        Arrow, At, Comma, Dot, HintClose, HintOpen, Keyword, LeftParen, Literal, Operator,
        QuotedName, RightParen, Semicolon, Sign, Variable, Word,
    };
    let Some(previous) = previous else {
        return false;
    };
    match (previous, kind) {
        (_, HintOpen | HintClose) | (HintOpen | HintClose, _) => true,
        (_, Comma | RightParen | Semicolon | Dot | Arrow) | (LeftParen, _) => false,
        (Dot, Operator) => text != "*",
        (Dot | Arrow, Word | QuotedName | Literal) | (At, Literal) | (Literal, At) => false,
        (Sign, Word | Keyword | QuotedName | Variable | LeftParen) => false,
        (Word | QuotedName, LeftParen) => false,
        _ => true,
    }
}
