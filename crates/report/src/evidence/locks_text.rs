//! A lock table as people read it: what plockstat tells, and who held the lock.

use super::frames_text::write_nameless;
use super::locks_json::LocksInput;
use super::meanings;
use crate::TextOptions;
use crate::content::locks;
use crate::document::{Section, terminal};
use crate::text::page::Style;
use crate::units::{Quantity, counted};

/// How a lock table is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LocksTextOptions {
    /// Width and colours.
    pub text: TextOptions,
    /// Locks that are shown; 0 for all.
    pub limit: usize,
}

/// The table as text: how it was counted, the chains as sentences, each lock with its numbers,
/// callers and holders, waits on conditions and locks of the kernel in short, and what is absent.
pub fn locks_text(input: &LocksInput<'_>, options: &LocksTextOptions) -> String {
    let table = input.table;
    let mut page = options.text.page();
    let seconds = table.to.saturating_sub(table.from) as f64 / 1000.0;
    let headline = format!(
        "pid {}: {} waited for in {}",
        input.pid,
        counted(table.locks.len() as u64, "lock"),
        Quantity::Seconds.to_text(seconds)
    );
    page.paragraph(0, &headline, Style::Bold);
    page.paragraph(0, &locks::depth(table), Style::Plain);
    let chains = Section::from_parts("Who waits for whom", locks::chains(table));
    let sections = locks::sections(table, input.book, options.limit);
    for section in chains.iter().chain(&sections) {
        terminal::write_section(&mut page, section);
    }
    let shown = match options.limit {
        0 => table.locks.len(),
        most => most,
    };
    let rows = table.locks.iter().take(shown);
    let names = rows.map(|row| row.name.as_str());
    meanings::write(&mut page, &meanings::of_locks(names));
    write_nameless(&mut page);
    page.finish()
}
