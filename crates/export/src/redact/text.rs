//! Text that people and programs wrote for people: lines of logs, remarks, values of settings.

use super::book::Book;
use super::{line, settings};

/// The text with other names, a line at a time.
pub(super) fn rename(book: &mut Book<'_>, text: &str) -> String {
    let renamed: Vec<String> = text
        .split('\n')
        .map(|line| {
            let line = settings::rename(book, line);
            line::rename(book, &line)
        })
        .collect();
    renamed.join("\n")
}
