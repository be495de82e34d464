//! Lines of a server's error log without what its users wrote.
//!
//! A server puts anything into its log: values that were refused, statements that failed on a replica, the
//! text of a SIGNAL, a password that somebody typed as a user's name; in quotes, which the value may hold as
//! well, or bare; in any of twenty languages; cut anywhere, and over several lines. So nothing is looked for
//! and removed. Instead, only what is known as the server's own is kept:
//!
//! - the head of an entry, by its grammar ([`head`]);
//! - from there on words of the servers' own messages and numbers ([`words`]), up to the first quote or the
//!   first word that is none; what stands between two blanks is kept or left out as a whole;
//! - behind that, words of messages, but no number; behind a quote not even those, because nobody can tell
//!   where the value ends;
//! - anywhere, phrases of the servers that are known as a whole, with their numbers ([`phrases`]): that is
//!   where `(errno: 28 …)` or `Error_code: 1062` stands.
//!
//! All else is `?`. The price is names: a table, a user, a host or a message in another language than English
//! is not in the result.

mod head;
mod line;
mod phrases;
mod words;

use crate::innodb;

pub(crate) use head::{has_level, is_entry, is_message, is_of_log, starts_entry as begins};
pub use words::is_message_word;

/// Longest line that is kept, in bytes.
pub const LINE_BYTES_MAX: usize = 1000;

/// `text` without what users wrote. InnoDB's printouts lose their statements and rows as in its status; then
/// each line keeps the server's own words. Lines over [`LINE_BYTES_MAX`] are cut. To redact the result again
/// changes nothing.
pub fn redact(text: &str) -> String {
    let text = innodb::redact(text);
    let mut out = String::with_capacity(text.len());
    let mut before = After::Known;
    for line in text.lines() {
        let line = line
            .get(..line.floor_char_boundary(LINE_BYTES_MAX))
            .unwrap_or(line)
            .trim_end_matches('\r');
        let start = out.len();
        let begins = head::starts_entry(line);
        if before == After::Statement && !begins {
            // The rest of a statement of several lines.
            continue;
        }
        let behind_value = before == After::Value && !begins;
        before = line::redact(line, behind_value, &mut out);
        // What is left of the lines of one value is told once.
        let is_nothing = behind_value && out.get(start..).is_some_and(|kept| kept == words::GONE);
        if is_nothing && out.get(..start).is_some_and(ends_with_nothing) {
            out.truncate(start);
        } else {
            out.push('\n');
        }
    }
    out
}

/// Whether the text ends with a value that was left out.
fn ends_with_nothing(text: &str) -> bool {
    text.trim_end_matches('\n').ends_with(words::GONE)
}

/// What a line may be followed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum After {
    /// All of it was known.
    Known,
    /// It held a value, which may go on in the next line.
    Value,
    /// It held a statement, which may go on in the next lines.
    Statement,
}

#[cfg(test)]
mod tests;
