//! Text that people and programs wrote for people: lines of logs, remarks, values of settings.

use super::pseudonyms::Pseudonyms;
use super::{line, settings};

/// The text with other names, a line at a time.
pub(super) fn rename(pseudonyms: &mut Pseudonyms<'_>, text: &str) -> String {
    let renamed: Vec<String> = text
        .split('\n')
        .map(|line| {
            let line = settings::rename(pseudonyms, line);
            line::rename(pseudonyms, &line)
        })
        .collect();
    renamed.join("\n")
}
