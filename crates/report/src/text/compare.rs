//! A comparison for a terminal: the answer, a table, what is missing.

use diagnosis::compare::{Comparison, Role};

use super::page::Style;
use super::page::TextOptions;
use crate::content::compare::{in_words, reasons, role_title, sections, side, signals};
use crate::document::{Part, Section, terminal};

/// The answer in words: one sentence, both sides, the signals, why, and what is missing. Times are
/// UTC. No line is wider than the width.
pub fn compare_text(comparison: &Comparison, options: &TextOptions) -> String {
    let mut page = options.page();
    page.paragraph(0, &in_words(&comparison.sentence), Style::Bold);
    page.blank();
    page.field("before", &side(&comparison.before));
    page.field("after", &side(&comparison.after));
    if let Some(cause) = &comparison.cause {
        page.field("cause", &format!("{} ({})", cause.title, cause.id));
    }
    let mut has_head = false;
    let mut all = Vec::new();
    for role in [Role::Deciding, Role::Supporting, Role::ServerWide] {
        let mut table = signals(comparison, Some(role));
        if table.rows.is_empty() {
            continue;
        }
        table.shape.head = !has_head;
        has_head = true;
        all.extend(Section::from_parts(
            role_title(role, comparison),
            vec![Part::Table(table)],
        ));
    }
    all.extend(reasons(comparison));
    all.extend(sections(comparison));
    for section in &all {
        terminal::write_section(&mut page, section);
    }
    page.finish()
}
