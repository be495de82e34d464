//! A document for a terminal.

use super::table::{CellKind, Column, Row, Table};
use super::{Document, List, Part, Section, Tint, bars};
use crate::evidence::frames_text::write_stack;
use crate::steps::{self, StepPart};
use crate::text::page::{Page, Style, TextOptions};
use crate::text::wrap;
use crate::{escape, units};

/// Lines of a block at the most.
const BLOCK_LINES_MAX: usize = 24;
/// Columns of a name with less than which the numbers of a row stand below it.
const NAME_LEAST: usize = 12;
/// Columns between the last number and a name behind it.
const BEFORE_NAME: usize = 2;

/// The document for a terminal. No line is wider than the width, save tables.
pub fn document_text(document: &Document, options: &TextOptions) -> String {
    let mut page = options.page();
    page.paragraph(0, &document.title, Style::Bold);
    page.paragraph(0, &document.line, Style::Dim);
    for section in &document.sections {
        write_section(&mut page, section);
    }
    page.finish()
}

/// A section: its heading in capitals, then its parts.
pub(crate) fn write_section(page: &mut Page, section: &Section) {
    page.blank();
    let badge = match &section.badge {
        Some((word, _)) => format!(": {word}"),
        None => String::new(),
    };
    let heading = format!("{}{badge}", section.title.to_uppercase());
    page.paragraph(0, &heading, Style::Bold);
    write_parts(page, &section.parts);
}

/// Parts, one below another.
pub(crate) fn write_parts(page: &mut Page, parts: &[Part]) {
    for (index, part) in parts.iter().enumerate() {
        match part {
            Part::Paragraph(text) => page.paragraph(page.margin, &text.plain(), Style::Plain),
            Part::Note(text) => page.paragraph(page.margin, &text.plain(), Style::Dim),
            Part::Heading(text) => page.paragraph(page.margin, text, Style::Bold),
            Part::List(list) => write_list(page, list),
            Part::Steps(steps) => write_steps(page, steps),
            Part::Commands(lines) => {
                for line in lines {
                    page.command(4, line);
                }
            }
            Part::Table(table) => write_table(page, table),
            Part::Bars(bars) => bars::bars_text(page, bars),
            Part::Fields(fields) => {
                for (name, value) in fields {
                    page.field(name, value);
                }
            }
            Part::Answers(answers) => {
                for answer in answers {
                    let style = if answer.strong {
                        Style::Bold
                    } else {
                        Style::Plain
                    };
                    for (index, line) in answer.lines.iter().enumerate() {
                        let label = if index == 0 { answer.label } else { "" };
                        page.styled_field(label, &line.plain(), style);
                    }
                }
            }
            Part::Label(text) => page.paragraph(page.margin, text, Style::Dim),
            Part::Block(text, tint) => write_block(page, text, *tint),
            Part::Counts(counts) => write_counts(page, counts),
            Part::Lead(lead, text) => {
                page.item(2, &format!("{lead} "), &text.plain(), Style::Plain);
            }
            Part::Stack(stack) if stack.on_terminal => write_stack(page, 2, stack),
            Part::Folded(folded) if folded.on_terminal => {
                let summary = folded.summary.plain();
                if !summary.is_empty() {
                    if index > 0 {
                        page.blank();
                    }
                    page.paragraph(0, &summary, Style::Bold);
                }
                write_parts(page, &folded.parts);
            }
            Part::Stack(_) | Part::Folded(_) | Part::PageOnly(_) => {}
        }
    }
}

/// Lines as they stand: folded to the width, or cut.
fn write_block(page: &mut Page, text: &str, tint: Tint) {
    let width = page.width().saturating_sub(2);
    let (style, is_cut) = match tint {
        Tint::Plain => (Style::Plain, false),
        Tint::Mark => (Style::Mark, false),
        Tint::Faint => (Style::Dim, true),
    };
    // Plans have tabs between their columns.
    let lines = text.lines().map(|line| line.replace('\t', "  "));
    let mut lines: Vec<String> = lines
        .flat_map(|line| match is_cut {
            true => vec![wrap::cut(&escape::terminal(&line), width)],
            false => wrap::wrap(&escape::terminal(&line), width),
        })
        .collect();
    if lines.len() > BLOCK_LINES_MAX {
        lines.truncate(BLOCK_LINES_MAX);
        lines.push("…".to_owned());
    }
    for line in lines {
        page.raw(&[("  ", Style::Plain), (&line, style)]);
    }
}

/// A bar for each, as long as the largest leaves room for.
fn write_counts(page: &mut Page, counts: &[(&str, u64)]) {
    let most = counts
        .iter()
        .map(|(_, count)| *count)
        .max()
        .unwrap_or(0)
        .max(1);
    let room = page.width().saturating_sub(24).clamp(8, bars::BAR_MAX);
    for (name, count) in counts {
        let bar = match count {
            0 => 0,
            count => ((*count as f64 / most as f64 * room as f64).round() as usize).max(1),
        };
        let said = match count {
            0 => String::new(),
            count => format!(" {}", units::grouped(*count)),
        };
        page.raw(&[
            (&format!("{name:>6}  "), Style::Plain),
            (&"#".repeat(bar), Style::Mark),
            (&said, Style::Dim),
        ]);
    }
}

fn write_list(page: &mut Page, list: &List) {
    for (line, below) in &list.items {
        page.item(2, "- ", &line.plain(), Style::Plain);
        if !below.is_empty() {
            page.paragraph(4, &below.plain(), Style::Dim);
        }
    }
}

fn write_steps(page: &mut Page, steps: &[String]) {
    for step in steps {
        let mut mark = "- ";
        for piece in steps::step_parts(step) {
            match piece {
                StepPart::Prose(prose) => page.item(2, mark, prose, Style::Plain),
                StepPart::Command(command) => page.command(4, command),
            }
            mark = "  ";
        }
    }
}

fn write_table(page: &mut Page, table: &Table) {
    let sentence = |row: &Row| Some((row.sentence.clone()?, row.strong));
    let sentences = table.rows.iter().filter_map(sentence);
    let count = match table.shape.sentences {
        true => sentences.clone().count(),
        false => table.rows.len(),
    };
    let shown = count.min(table.terminal_max);
    match table.shape.sentences {
        true => {
            for (sentence, strong) in sentences.take(shown) {
                let style = if strong { Style::Bold } else { Style::Plain };
                page.item(2, "- ", &sentence.plain(), style);
            }
        }
        false => write_rows(page, table, table.rows.get(..shown).unwrap_or_default()),
    }
    let more = match count - shown {
        _ if table.rows.len() > shown && !table.more.is_empty() => table.more.clone(),
        0 => return,
        count => format!("{} more not shown.", units::grouped(count)),
    };
    let indent = if table.shape.sentences { 4 } else { 2 };
    page.paragraph(indent, &more, Style::Dim);
}

/// The columns beside the name that a terminal has room for, with their widths, and the room of the name.
struct Layout<'t> {
    columns: Vec<(usize, &'t Column, usize)>,
    name: usize,
}

impl<'t> Layout<'t> {
    /// None where there is no room, and no column that may be left out.
    fn fit(width: usize, table: &'t Table, rows: &[Row]) -> Option<Self> {
        let shape = &table.shape;
        let widest = |at: usize, column: &Column| {
            let cells = rows.iter().map(|row| cell_columns(row, at));
            let title = match shape.head {
                true => wrap::columns(column.short.as_deref().unwrap_or_default()),
                false => 0,
            };
            cells.chain([column.width, title]).max().unwrap_or(0)
        };
        let columns = table.columns.iter().enumerate();
        let mut columns: Vec<_> = columns
            .filter(|(_, column)| column.short.is_some())
            .map(|(at, column)| (at, column, widest(at, column)))
            .collect();
        let longest = match columns.is_empty() {
            true => 0,
            false => columns.remove(0).2,
        };
        loop {
            let numbers: usize = columns.iter().map(|(_, _, width)| width + shape.gap).sum();
            let taken = shape.indent
                + match (shape.name_last, columns.is_empty()) {
                    (true, false) => numbers - shape.gap + BEFORE_NAME,
                    _ => numbers,
                };
            let room = width.saturating_sub(taken);
            let least = columns.iter().map(|(_, column, _)| column.rank).max();
            if room < shape.name_min.min(longest).max(1)
                && let Some(rank @ 1..) = least
            {
                columns.retain(|(_, column, _)| column.rank != rank);
                continue;
            }
            if room < NAME_LEAST.min(longest).max(1) {
                return None;
            }
            let name = match shape.name_last {
                true => room,
                false => longest.min(room),
            };
            return Some(Self { columns, name });
        }
    }
}

fn cell(row: &Row, at: usize) -> String {
    let text = row.cells.get(at).map(|cell| cell.plain());
    escape::terminal(&text.unwrap_or_default())
}

fn cell_columns(row: &Row, at: usize) -> usize {
    wrap::columns(&cell(row, at))
}

fn write_rows(page: &mut Page, table: &Table, rows: &[Row]) {
    let shape = &table.shape;
    let title = |column: &Column| column.short.clone().unwrap_or_default();
    let Some(layout) = Layout::fit(page.width(), table, rows) else {
        for row in rows {
            page.paragraph(shape.indent, &cell(row, 0), Style::Bold);
            let columns = table.columns.iter().enumerate().skip(1);
            let named: Vec<String> = columns
                .filter(|(at, column)| column.short.is_some() && !cell(row, *at).is_empty())
                .map(|(at, column)| format!("{} {}", title(column).to_lowercase(), cell(row, at)))
                .collect();
            page.paragraph(4, &named.join(", "), Style::Plain);
            write_below(page, row);
        }
        return;
    };
    if shape.head {
        let name = table.columns.first().map(title).unwrap_or_default();
        let cells = layout.columns.iter().map(|(_, column, _)| title(column));
        write_line(page, table, &layout, &name, cells, [Style::Dim; 2]);
    }
    for row in rows {
        let style = if row.strong {
            Style::Bold
        } else {
            Style::Plain
        };
        let cells = layout.columns.iter().map(|(at, _, _)| cell(row, *at));
        write_line(
            page,
            table,
            &layout,
            &cell(row, 0),
            cells,
            [Style::Plain, style],
        );
        write_below(page, row);
    }
}

fn write_below(page: &mut Page, row: &Row) {
    if !row.below.is_empty() {
        page.paragraph(4, &row.below, Style::Dim);
    }
}

/// A line of cells and a name, which may go on in lines of its own.
fn write_line(
    page: &mut Page,
    table: &Table,
    layout: &Layout<'_>,
    name: &str,
    cells: impl Iterator<Item = String>,
    [style, name_style]: [Style; 2],
) {
    let shape = &table.shape;
    let room = layout.name;
    let name = match shape.cut_end {
        true => wrap::cut(name, room * shape.name_lines),
        false => wrap::cut_middle(name, room * shape.name_lines),
    };
    let pad = |columns: usize| " ".repeat(columns);
    let indent = pad(shape.indent);
    let mut numbers = String::new();
    for (number, ((_, column, width), cell)) in layout.columns.iter().zip(cells).enumerate() {
        if number > 0 || !shape.name_last {
            numbers += &pad(shape.gap);
        }
        let missing = pad(width.saturating_sub(wrap::columns(&cell)));
        numbers += &match column.holds {
            CellKind::Numbers => missing + &cell,
            _ => cell + &missing,
        };
    }
    let lines = match shape.name_lines {
        1 => vec![name],
        _ => wrap::wrap(&name, room.max(1)),
    };
    if !shape.name_last {
        let mut lines = lines.into_iter();
        let name = lines.next().unwrap_or_default();
        let missing = pad(room.saturating_sub(wrap::columns(&name)));
        let rest = wrap::cut(
            &(missing + &numbers),
            page.width()
                .saturating_sub(shape.indent + wrap::columns(&name)),
        );
        page.raw(&[(&indent, style), (&name, name_style), (&rest, style)]);
        for line in lines {
            page.raw(&[(&indent, style), (&line, name_style)]);
        }
        return;
    }
    if !layout.columns.is_empty() {
        numbers += &pad(BEFORE_NAME);
    }
    let mut lead = wrap::cut(&(indent + &numbers), page.width());
    for line in lines {
        page.raw(&[(&lead, style), (&line, name_style)]);
        lead = pad(wrap::columns(&lead));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Bar, BarGroup, BarUnit, Bars, Interval, Shape, Tone};

    #[test]
    fn a_terminal_gets_columns_and_no_control() {
        let sheet = Document {
            kind: "trial".to_owned(),
            title: "It\u{1b}[2J worked".to_owned(),
            line: "on two processors".to_owned(),
            sections: vec![Section {
                title: "Time".to_owned(),
                badge: Some(("worked".to_owned(), Tone::Good)),
                parts: vec![
                    Part::numbers(
                        vec!["allocator".to_owned(), "time".to_owned()],
                        vec![vec!["glibc\u{7}".to_owned(), "1.5 s".to_owned()]],
                    ),
                    Part::Bars(Bars {
                        title: "Time".to_owned(),
                        unit: BarUnit::Seconds,
                        groups: vec![BarGroup {
                            title: String::new(),
                            bars: vec![Bar {
                                name: "glibc".to_owned(),
                                value: Some(Interval {
                                    mean: 1.5,
                                    low: 1.4,
                                    high: 1.6,
                                }),
                            }],
                        }],
                    }),
                ],
            }],
        };
        let text = document_text(&sheet, &TextOptions::default());
        assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text}");
        assert!(text.contains("TIME: worked\n"), "{text}");
        assert!(text.contains("  allocator   time\n"), "{text}");
        assert!(text.contains("1.5 (1.4 – 1.6) s  █"), "{text}");
    }

    #[test]
    fn a_name_that_may_have_more_lines_is_not_cut() {
        let table = |name_lines| {
            let columns = vec![
                Column::new("Signal", CellKind::Code).short("", 0),
                Column::new("Before", CellKind::Numbers).short("before", 40),
            ];
            let row = Row::new(vec![
                "sessions at a time waited for a metadata lock".to_owned(),
                "38.9".to_owned(),
            ]);
            Table::new(columns).rows([row]).shape(Shape {
                name_min: 30,
                name_lines,
                ..Shape::USUAL
            })
        };
        let sheet = |name_lines| Document {
            kind: "trial".to_owned(),
            title: String::new(),
            line: String::new(),
            sections: vec![Section {
                title: "Signs".to_owned(),
                badge: None,
                parts: vec![Part::Table(table(name_lines))],
            }],
        };
        let options = TextOptions {
            width: 80,
            ..TextOptions::default()
        };
        let text = document_text(&sheet(3), &options);
        assert!(
            text.contains("\n  sessions at a time waited for a"),
            "{text}"
        );
        assert!(text.contains("38.9\n  metadata lock\n"), "{text}");
        assert!(!text.contains('…'), "{text}");
        assert!(document_text(&sheet(1), &options).contains('…'));
    }
}
