//! A statement without its literals.

use crate::lexer::SqlMode;
use crate::output::Output;
use crate::segments::{SegmentKind, Segments};

/// The statement with every literal as `?`, without comments, and with each run of blanks as one space; words keep their
/// case. At most [`crate::REDACTED_BYTES_MAX`] bytes, with [`crate::CUT_MARK`] at the end when that cut it.
///
/// Optimizer hints stay, their literals do not. A sign goes with its number. Of a string, or of a quoted name, that
/// never ends nothing is shown, and nothing of what stands behind a string that ended too early. For the servers'
/// default `sql_mode`; see [`redact_in`].
///
/// ```
/// assert_eq!(sql::redact("SELECT *  FROM t WHERE a = -1.5 -- why?"), "SELECT * FROM t WHERE a = ?");
/// ```
pub fn redact(statement: &str) -> String {
    redact_in(statement, SqlMode::default())
}

/// [`redact`] when nobody knows the mode of the session that sent the statement, nor whether a client doubled its
/// backslashes (`mysql --batch` does): what the ways of reading a backslash agree on. Where they differ, the text ends at
/// the first backslash.
///
/// ```
/// assert_eq!(sql::redact_in_any_mode(r"SELECT 'a\nb', c"), "SELECT ?, c");
/// assert_eq!(sql::redact_in_any_mode(r"SELECT 'C:\', 'secret'"), "SELECT ?");
/// assert_eq!(sql::redact_in_any_mode(r"SELECT 'O\\'secret', 'b'"), "SELECT ?");
/// ```
pub fn redact_in_any_mode(statement: &str) -> String {
    let usual = redact(statement);
    let Some((head, _)) = statement.split_once('\\') else {
        return usual;
    };
    let other = SqlMode {
        no_backslash_escapes: true,
        ..SqlMode::default()
    };
    let is_same = redact_in(statement, other) == usual
        && (!ends_after_two(statement) || redact(&statement.replace(r"\\", r"\")) == usual);
    match is_same {
        true => usual,
        false => redact(head),
    }
}

/// Whether a string seems to end behind two backslashes.
fn ends_after_two(statement: &str) -> bool {
    statement.contains(r"\\'") || statement.contains(r#"\\""#)
}

/// [`redact`] for a server or session in the given mode. A statement that was meant for another mode may show parts of
/// its strings, since its strings end elsewhere: `'C:\', 'x'` is two strings under `NO_BACKSLASH_ESCAPES` only.
pub fn redact_in(statement: &str, mode: SqlMode) -> String {
    let mut output = Output::for_statement(statement);
    // Where the signs before the next piece start, and whether a gap is before them.
    let mut signs: Option<(usize, bool)> = None;
    for piece in Segments::new(statement, mode) {
        let mut gap = piece.gap;
        match piece.kind {
            SegmentKind::Sign => {
                signs.get_or_insert((output.len(), gap));
            }
            SegmentKind::Literal => {
                if let Some((start, gap_before)) = signs.take() {
                    output.truncate(start);
                    gap = gap_before;
                }
            }
            _ => signs = None,
        }
        // Two minuses and a blank would start a comment that was not there.
        gap |= piece.text.starts_with('-') && output.as_str().ends_with('-');
        output.push(gap, true, piece.text);
        if output.is_cut() {
            break;
        }
    }
    output.into_text()
}

/// All of a statement without its literals, however long it is. Signs stay in front of their numbers.
pub(crate) fn whole_in(statement: &str, mode: SqlMode) -> String {
    let mut whole = String::with_capacity(statement.len());
    for piece in Segments::new(statement, mode) {
        if piece.gap && !whole.is_empty() {
            whole.push(' ');
        }
        whole.push_str(piece.text);
    }
    whole
}
