//! Standard error: remarks, errors, questions, progress. Only here is it written to, and only what was made [`Plain`].
//! Whether anybody reads it is nothing to fail for.
#![expect(
    clippy::disallowed_methods,
    reason = "this is the one place that writes to standard error"
)]

use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;

use model::Plain;
use unicode_width::UnicodeWidthStr as _;

/// What stands before a remark.
static PROGRAM: OnceLock<&'static str> = OnceLock::new();

/// The name of this program, for its remarks; the first call counts.
pub fn name_program(name: &'static str) {
    let _ = PROGRAM.set(name);
}

/// Columns of the terminal that reads it; 0 where none does.
fn columns() -> usize {
    let stderr = io::stderr();
    match stderr.is_terminal() {
        true => rustix::termios::tcgetwinsize(&stderr).map_or(0, |size| usize::from(size.ws_col)),
        false => 0,
    }
}

/// A line that the terminal breaks between words: blanks fill its row, so that it is still one line for who copies a
/// command out of it.
fn between_words(line: &str, columns: usize) -> String {
    if columns == 0 || line.width() <= columns {
        return line.to_owned();
    }
    let mut out = String::with_capacity(line.len() * 2);
    let mut at = 0;
    for (index, word) in line.split(' ').enumerate() {
        let length = word.width();
        if index > 0 {
            let is_full = at + 1 + length > columns && length <= columns;
            let blanks = match is_full {
                true => columns.saturating_sub(at).max(1),
                false => 1,
            };
            out.extend(std::iter::repeat_n(' ', blanks));
            at = (at + blanks) % columns;
        }
        out.push_str(word);
        at += length;
        // A word that is longer than a row is broken anywhere.
        if at > columns {
            at = (at - 1) % columns + 1;
        }
    }
    out
}

fn write(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr
        .write_all(text.as_bytes())
        .and_then(|()| stderr.flush());
}

/// A remark beside the answer, or an error: one line.
pub fn note(text: &str) {
    let program = PROGRAM.get().unwrap_or(&"freezeframe");
    let line = format!("{program}: {}", Plain::line(text));
    write(&format!("{}\n", between_words(&line, columns())));
}

/// Text of several lines, such as what is wrong with the arguments.
pub fn tell(text: &str) {
    let (columns, text) = (columns(), Plain::text(text));
    let lines = text.as_str().split('\n');
    let lines: Vec<String> = lines.map(|line| between_words(line, columns)).collect();
    write(&lines.join("\n"));
}

/// A question; the answer is written behind it.
pub fn ask(text: &str) {
    write(Plain::line(text).as_str());
}

/// Whether somebody looks at it.
pub fn is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// How far it is: a line that is written over by the next one. A file or a journal gets none.
pub fn progress(text: &str) {
    if is_terminal() {
        write(&format!("\r{}\x1b[K", Plain::line(text)));
    }
}

/// Takes the line of [`progress`] away.
pub fn clear_progress() {
    if is_terminal() {
        write("\r\x1b[K");
    }
}

#[cfg(test)]
mod tests {
    use super::between_words;

    /// The rows that a terminal makes of it.
    fn rows(text: &str, columns: usize) -> Vec<String> {
        let letters: Vec<char> = text.chars().collect();
        let rows = letters.chunks(columns);
        rows.map(|row| row.iter().collect::<String>().trim_end().to_owned())
            .collect()
    }

    #[test]
    fn no_word_is_broken_and_it_stays_one_line() {
        let said =
            "freezeframe: it belongs to the service: sudo -u freezeframe freezeframe explain";
        let filled = between_words(said, 40);
        assert_eq!(
            rows(&filled, 40),
            [
                "freezeframe: it belongs to the service:",
                "sudo -u freezeframe freezeframe explain"
            ]
        );
        let words: Vec<&str> = filled.split_whitespace().collect();
        assert_eq!(words.join(" "), said);
        assert!(!filled.contains('\n'));
        // What fits, and what nobody reads on a terminal, is as it was.
        assert_eq!(between_words(said, 100), said);
        assert_eq!(between_words(said, 0), said);
        for columns in 1..100 {
            let filled = between_words(said, columns);
            let words: Vec<&str> = filled.split_whitespace().collect();
            assert_eq!(words.join(" "), said, "{columns}");
            for row in rows(&filled, columns).iter().filter(|_| columns >= 12) {
                let mut known = row.split_whitespace();
                assert!(
                    known.all(|word| said.split(' ').any(|it| it == word)),
                    "{row}"
                );
            }
        }
    }
}
