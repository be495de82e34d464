//! What names mean, by the lexicon, beside them.

use lexicon::{Kind, Lexicon};
use model::{StackId, StackTable};

use crate::text::page::{Page, Style};

/// Names below a table that are explained, at the most.
const NAMES_MAX: usize = 6;

/// What stands between the name of a lock of which there are many and its address.
const AT: &str = " at 0x";

/// What the threads of a stack are in; nothing where no function of it is known.
pub(super) fn of_stack(book: &StackTable, stack: StackId) -> Vec<String> {
    let functions = book.frames_of(stack).map(|frame| frame.name.as_str());
    let told = Lexicon::get().stack(functions);
    let says = told.map(|(name, entry)| format!("{name}: {}", entry.says()));
    says.into_iter().collect()
}

/// What functions mean, a line each, as far as they are known.
pub(super) fn of_functions<'n>(names: impl Iterator<Item = &'n str>) -> Vec<String> {
    said(Kind::Function, names)
}

/// The same of locks.
pub(super) fn of_locks<'n>(names: impl Iterator<Item = &'n str>) -> Vec<String> {
    said(
        Kind::Latch,
        names.map(|name| name.split(AT).next().unwrap_or(name)),
    )
}

fn said<'n>(kind: Kind, names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for name in names {
        let Some(entry) = Lexicon::get().lookup(kind, name) else {
            continue;
        };
        let line = format!("{name}: {}", entry.says());
        if !lines.contains(&line) {
            lines.push(line);
        }
        if lines.len() == NAMES_MAX {
            break;
        }
    }
    lines
}

/// The lines under a heading; nothing without any.
pub(super) fn write(page: &mut Page, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    page.heading("MEANINGS");
    for line in lines {
        page.item(2, "- ", line, Style::Plain);
    }
}
