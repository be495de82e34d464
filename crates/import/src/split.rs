//! One text, its sections: a ticket holds a backtrace between sentences, a mail a status behind a
//! processlist.

use crate::format::{AHEAD, Format, Gap, Heads, Next, Open, WRAPPED_LINES_MAX};
use crate::line::Line;
use crate::table_headers::Heads as TableHeads;
use crate::tables::{cells_of_head, is_vertical_row};
use crate::{recognise, times};

/// Pieces of a text at the most; what comes later is told as not read.
const SECTIONS_MAX: usize = 20_000;

/// Lines that are recognised together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Section {
    pub(crate) format: &'static Format,
    /// Index of the first line.
    pub(crate) from: usize,
    /// Index behind the last line.
    pub(crate) to: usize,
    /// How much of it is known: its lines, and again those that are known by themselves.
    pub(crate) known: usize,
}

/// The sections of a text, in its order.
pub(crate) fn split(lines: &[Line<'_>]) -> Vec<Section> {
    let mut sections = Vec::new();
    let mut open: Option<Open> = None;
    let mut heads = TableHeads::default();
    for (index, line) in lines.iter().enumerate() {
        if sections.len() >= SECTIONS_MAX {
            break;
        }
        let behind = lines.get(index + 1..).unwrap_or_default();
        let mut next = Next {
            line: line.text.as_ref(),
            text: line.trimmed(),
            behind: behind.first(),
            own: None,
        };
        let head = heads.of_row(index, next.text, behind);
        if is_fence(next.text) {
            close(&mut open, &mut sections);
            continue;
        }
        // Most lines of a large capture are a part of what has begun, whatever else they may be.
        if let Some(section) = &mut open
            && (section.format.absorbs)(section, &next)
        {
            section.add(index, &next);
            continue;
        }
        next.own = own(&next, behind).filter(|own| {
            let head = head.and_then(|head| lines.get(head));
            head.is_none_or(|head| (own.allows_head)(head.text.trim()))
        });
        let ends = |section: &Open| section.format.is_table && next.own != Some(section.format);
        if head == Some(index) && open.as_ref().is_some_and(ends) {
            // The head of another table.
            close(&mut open, &mut sections);
        }
        if let Some(section) = &mut open {
            if section.takes(&next) {
                if next.own.is_some_and(|own| own.heads == Heads::Each) {
                    section.cells = cells_of_head(next.text);
                }
                section.add(index, &next);
                continue;
            }
            let is_blank = next.text.is_empty();
            if section.statement && section.format.is_table && is_blank && !row_follows(behind) {
                section.statement = false;
            }
            if next.own.is_none() && section.may_go_on(index, next.text) {
                continue;
            }
            close(&mut open, &mut sections);
        }
        open = next.own.map(|format| Open::new(format, index, lines));
        if let Some(section) = &mut open {
            section.add(index, &next);
        }
    }
    close(&mut open, &mut sections);
    sections
}

/// What a line is by itself.
fn own(line: &Next<'_>, behind: &[Line<'_>]) -> Option<&'static Format> {
    let mut next = [""; AHEAD];
    let mut ahead = 0;
    for (place, line) in next.iter_mut().zip(behind) {
        *place = line.text.as_ref();
        ahead += 1;
    }
    recognise::recognise_line(line.line, line.text, next.get(..ahead).unwrap_or_default())
}

/// More rows of the same list come: a blank line in front of them is one of a statement.
fn row_follows(lines: &[Line<'_>]) -> bool {
    let mut lines = lines
        .iter()
        .take(WRAPPED_LINES_MAX)
        .map(|line| line.text.trim());
    lines
        .find(|line| is_vertical_row(line))
        .is_some_and(|row| !row.contains("* 1. row *"))
}

fn close(open: &mut Option<Open>, sections: &mut Vec<Section>) {
    sections.extend(open.take().map(|section| Section {
        format: section.format,
        from: section.from,
        to: section.to,
        known: section.known,
    }));
}

/// Code fences of Markdown and of page generators.
fn is_fence(text: &str) -> bool {
    text.starts_with("```")
        || text.starts_with("~~~")
        || text.starts_with("{% highlight")
        || text.starts_with("{% endhighlight")
}

impl Open {
    /// Begins with a line.
    fn new(format: &'static Format, index: usize, lines: &[Line<'_>]) -> Self {
        let line = |index: usize| lines.get(index).map_or("", |line| line.text.as_ref());
        // The moment of the first sample stands in front of it.
        let before = index.checked_sub(1);
        let stamped = before.is_some_and(|before| times::ts(line(before)).is_some());
        Self {
            format,
            from: index - usize::from(stamped),
            to: index,
            known: 0,
            monitor: false,
            statement: false,
            depth: 0,
            carried: 0,
            frame: None,
            cells: match format.heads {
                Heads::None => 0,
                Heads::First | Heads::Each => cells_of_head(line(index).trim_ascii()),
            },
        }
    }

    /// Adds a line that belongs to it.
    fn add(&mut self, index: usize, line: &Next<'_>) {
        self.to = index + 1;
        self.known += usize::from(!line.text.is_empty());
        self.known += usize::from(line.own == Some(self.format));
        (self.format.add)(self, line.text);
    }

    /// The line is a part of what has begun.
    fn takes(&self, next: &Next<'_>) -> bool {
        // pt-stalk's moment.
        let is_moment = next.text.starts_with("TS ")
            && next.text.as_bytes().get(3).is_some_and(u8::is_ascii_digit);
        is_moment || next.own == Some(self.format) || (self.format.continues)(self, next)
    }

    /// The line says nothing by itself: more of the same may come behind it.
    fn may_go_on(&mut self, index: usize, text: &str) -> bool {
        (self.format.pass)(self, text);
        let gap = index.saturating_sub(self.to);
        match self.format.gap {
            Gap::Blank => gap < 2 && text.is_empty(),
            Gap::Lines(lines) => gap < lines,
        }
    }
}

#[cfg(test)]
mod tests;
