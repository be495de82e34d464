//! A document as a page, and its parts as markup.

use super::table::{self, CellKind, column};
use super::{bars, frames, head, section};
use crate::document::{Answer, Document, List, Part, Prose, Row, Section, Table, Tone};
use crate::line_breaks;
use crate::markup::{Markup, Show, markup, row};
use crate::steps::{self, StepPart};
use crate::units;

/// Bytes of markup of one text in a paragraph or a list at the most, about.
const TEXT_BYTES_MAX: usize = 20_000;
/// Bytes of markup of a block of lines at the most, about.
const BLOCK_BYTES_MAX: usize = 8_000;
/// Bytes of markup after which no more blocks follow that unfold.
const FOLDED_BYTES_MAX: usize = 300_000;
/// Bytes of markup of one text in a cell at the most, about: outside text may be anything.
const CELL_BYTES_MAX: usize = 1_500;

/// The document as one HTML page that needs nothing else and has no script.
pub fn document_html(document: &Document) -> String {
    let mut out = head::document(&document.title, &[]);
    out += markup!(
        "<main>\n<header class=\"top\"><p class=\"brand\">freezeframe <span>{}</span></p>\n\
         <h1>{}</h1>\n<p class=\"line\">{}</p></header>\n",
        document.kind,
        document.title,
        document.line,
    );
    for (number, part) in document.sections.iter().enumerate() {
        let title = markup!("{}{}", part.title, badge(part));
        out += section(&format!("s{}", number + 1), title, parts(&part.parts));
    }
    out += Markup::literal("</main>\n");
    out += head::footer(Markup::literal("All times are UTC."));
    out.into_string()
}

fn badge(section: &Section) -> Markup {
    let Some((word, tone)) = &section.badge else {
        return Markup::new();
    };
    let class = match tone {
        Tone::Good => "worked",
        Tone::Bad => "worse",
        Tone::Open => "not-proven",
    };
    markup!(" <span class=\"badge {}\">{}</span>", class, word)
}

/// An answer with its question.
fn answer(answer: &Answer) -> Markup {
    let line = |line: &Prose| match answer.strong {
        true => markup!("<dd><b>{}</b></dd>", line.markup(TEXT_BYTES_MAX)),
        false => markup!("<dd>{}</dd>", line.markup(TEXT_BYTES_MAX)),
    };
    let lines: Markup = answer.lines.iter().map(line).collect();
    markup!("<div><dt>{}</dt>{}</div>", answer.label, lines)
}

/// Sections within one of the page, each under a small heading.
pub(super) fn blocks<'s>(sections: impl IntoIterator<Item = &'s Section>) -> Markup {
    let block = |section: &Section| {
        let heading = markup!("<h4>{}</h4>", section.title);
        Markup::join([heading, parts(&section.parts)], "")
    };
    sections.into_iter().map(block).collect()
}

/// Parts, one below another.
pub(super) fn parts(parts: &[Part]) -> Markup {
    let mut out = Markup::new();
    let mut left_out = 0;
    for one in parts {
        match one {
            Part::Folded(_) if out.len() > FOLDED_BYTES_MAX => left_out += 1,
            _ => out += part(one),
        }
    }
    if left_out > 0 {
        out += markup!("<p class=\"none\">{} more not shown.</p>", left_out);
    }
    out
}

fn part(part: &Part) -> Markup {
    match part {
        Part::Paragraph(text) => markup!("<p>{}</p>\n", text.markup(TEXT_BYTES_MAX)),
        Part::Note(text) => markup!("<p class=\"none\">{}</p>\n", text.markup(TEXT_BYTES_MAX)),
        Part::Heading(text) => markup!("<h3>{}</h3>\n", text),
        Part::List(lines) => list(lines),
        Part::Steps(steps) => {
            let items: Markup = steps.iter().map(|one| step(one)).collect();
            markup!("<ul>{}</ul>", items)
        }
        Part::Commands(lines) => lines
            .iter()
            .map(|line| {
                let line = line_breaks::command(line, usize::MAX);
                markup!("<pre class=\"command\">{}</pre>\n", line)
            })
            .collect(),
        Part::Table(table) => self::table(table),
        Part::Bars(bars) => bars::figure(bars),
        Part::Lead(lead, text) => markup!("<p>{} {}</p>\n", lead, text.markup(TEXT_BYTES_MAX)),
        Part::Fields(fields) => {
            let field = |(name, value): &(&str, String)| {
                markup!("<div><dt>{}</dt><dd>{}</dd></div>", name, value.cell())
            };
            let fields: Markup = fields.iter().map(field).collect();
            markup!("<dl class=\"head\">{}</dl>", fields)
        }
        Part::Answers(answers) => {
            let answers: Markup = answers.iter().map(answer).collect();
            markup!("<dl class=\"answers\">{}</dl>", answers)
        }
        Part::Label(text) => markup!("<h4>{}</h4>", text),
        Part::Block(text, _) => {
            let text = Markup::cut(text, BLOCK_BYTES_MAX);
            markup!("<pre class=\"status\">{}</pre>", text)
        }
        Part::Counts(counts) => self::counts(counts),
        Part::Stack(stack) => frames::folded(stack),
        Part::Folded(folded) => {
            let class = match folded.class {
                "" => Markup::new(),
                class => markup!(" class=\"{}\"", class),
            };
            let open = Markup::literal(if folded.open { " open=\"\"" } else { "" });
            markup!(
                "<details{}{}><summary>{}</summary>{}</details>\n",
                class,
                open,
                folded.summary.markup(CELL_BYTES_MAX),
                parts(&folded.parts)
            )
        }
        Part::PageOnly(markup) => markup.clone(),
    }
}

fn list(list: &List) -> Markup {
    let items: Markup = list
        .items
        .iter()
        .map(|(line, below)| {
            let line = line.markup(TEXT_BYTES_MAX);
            match below.is_empty() {
                true => markup!("<li>{}</li>", line),
                false => markup!(
                    "<li><p>{}</p><p class=\"numbers\">{}</p></li>\n",
                    line,
                    below.markup(TEXT_BYTES_MAX)
                ),
            }
        })
        .collect();
    let tag = if list.ordered { "ol" } else { "ul" };
    let class = match list.class {
        "" => Markup::new(),
        class => markup!(" class=\"{}\"", class),
    };
    markup!("<{tag}{}>{}</{tag}>\n", class, items, ..tag)
}

fn table(table: &Table) -> Markup {
    let columns: Vec<_> = table
        .columns
        .iter()
        .map(|one| column(one.title.markup(CELL_BYTES_MAX), one.holds))
        .collect();
    let cells = |row: &Row| {
        let cells = row.cells.iter();
        cells.map(|cell| cell.markup(CELL_BYTES_MAX)).collect()
    };
    let rows = table.rows.iter().map(cells);
    let frame = table::Table::narrow(table.class, &table.caption, &columns);
    frame.rows(rows, table.page_max)
}

/// A bar for each in a table.
fn counts(counts: &[(&str, u64)]) -> Markup {
    let most = counts
        .iter()
        .map(|(_, count)| *count)
        .max()
        .unwrap_or(0)
        .max(1);
    let columns = [
        column("", CellKind::Text),
        column("Number", CellKind::Numbers),
        column("", CellKind::Text),
    ];
    let rows = counts.iter().map(|(name, count)| {
        let width = 100.0 * *count as f64 / most as f64;
        let bar = match count {
            0 => Markup::new(),
            _ => markup!("<span class=\"bar\" style=\"width:{:.1}%\"></span>", width),
        };
        let count = units::grouped(*count);
        row![*name, count, bar]
    });
    table::Table::narrow("histogram", "", &columns).rows(rows, counts.len())
}

fn step(step: &str) -> Markup {
    let pieces = steps::step_parts(step);
    let class = Markup::literal(match pieces.first() {
        Some(StepPart::Command(_)) => " class=\"bare\"",
        _ => "",
    });
    let is_command = |piece: &StepPart<'_>| matches!(piece, StepPart::Command(_));
    let content: Markup = pieces
        .chunk_by(|a, b| is_command(a) && is_command(b))
        .map(|group| {
            let lines: Vec<&str> = group
                .iter()
                .map(|(StepPart::Command(text) | StepPart::Prose(text))| *text)
                .collect();
            match group.iter().any(is_command) {
                true => markup!(
                    "<pre class=\"command\"><code>{}</code></pre>",
                    line_breaks::command(&lines.join("\n"), usize::MAX)
                ),
                false => markup!("<p>{}</p>", prose(&lines.join(" "))),
            }
        })
        .collect();
    markup!("<li{}>{}</li>\n", class, content)
}

/// Text with what stands between backticks as code.
pub(super) fn prose(text: &str) -> Markup {
    steps::spans(text)
        .into_iter()
        .map(|(code, part)| match code {
            true => markup!("<code>{}</code>", line_breaks::command(part, usize::MAX)),
            false => line_breaks::text(part, usize::MAX),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{Bar, BarGroup, BarUnit, Bars};

    #[test]
    fn what_is_in_it_is_text() {
        let evil = "<script>\"'&".to_owned();
        let bars = Bars {
            title: evil.clone(),
            unit: BarUnit::Bytes,
            groups: vec![BarGroup {
                title: evil.clone(),
                bars: vec![Bar {
                    name: evil.clone(),
                    value: None,
                }],
            }],
        };
        let page = document_html(&Document {
            kind: evil.clone(),
            title: evil.clone(),
            line: evil.clone(),
            sections: vec![Section {
                title: evil.clone(),
                badge: Some((evil.clone(), Tone::Open)),
                parts: vec![
                    Part::paragraph(evil.clone()),
                    Part::Note(evil.clone().into()),
                    Part::Heading(evil.clone()),
                    Part::Answers(vec![Answer::new("cause", evil.clone()).strong()]),
                    Part::list([evil.clone()]),
                    Part::Steps(vec![evil.clone(), format!("echo {evil}")]),
                    Part::Commands(vec![evil.clone()]),
                    Part::numbers(vec![evil.clone(); 2], vec![vec![evil.clone(); 2]]),
                    Part::Bars(bars),
                ],
            }],
        });
        assert!(!page.contains("<script"), "{page}");
    }
}
