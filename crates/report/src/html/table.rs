//! Tables with limits.

pub(super) use crate::document::CellKind;
use crate::markup::{Markup, Show, markup};

/// Bytes of one table's markup at the most, about: outside text may be anything.
const TABLE_BYTES_MAX: usize = 150_000;

/// A column: its title, and what it holds.
#[derive(Debug, Clone)]
pub(super) struct Column {
    title: Markup,
    holds: CellKind,
}

/// A column.
pub(super) fn column(title: impl Show, holds: CellKind) -> Column {
    Column {
        title: title.cell(),
        holds,
    }
}

/// A table's frame.
#[derive(Debug)]
pub(super) struct Table<'a> {
    class: &'static str,
    caption: &'a str,
    columns: &'a [Column],
    bytes_max: usize,
}

/// A text as a cell's markup.
pub(super) fn cell(text: &str) -> Markup {
    text.cell()
}

impl<'a> Table<'a> {
    /// A table over the page's width, whose rows become blocks of labelled lines on narrow screens.
    pub(super) fn wide(caption: &'a str, columns: &'a [Column]) -> Self {
        Self {
            class: "stack",
            caption,
            columns,
            bytes_max: TABLE_BYTES_MAX,
        }
    }

    /// A table that stays one on narrow screens.
    pub(super) fn narrow(class: &'static str, caption: &'a str, columns: &'a [Column]) -> Self {
        Self {
            class,
            caption,
            columns,
            bytes_max: TABLE_BYTES_MAX,
        }
    }

    /// The same with another limit of its size, bytes.
    pub(super) fn within(self, bytes_max: usize) -> Self {
        Self { bytes_max, ..self }
    }

    /// The table with its rows. The first cell of a row is the row's header. Rows beyond `rows_max` or
    /// the size limit are counted in a last line.
    pub(super) fn rows(
        self,
        rows: impl IntoIterator<Item = Vec<Markup>>,
        rows_max: usize,
    ) -> Markup {
        let mut body = Markup::new();
        let mut left_out = 0;
        for (index, row) in rows.into_iter().enumerate() {
            if index >= rows_max || body.len() > self.bytes_max {
                left_out += 1;
            } else {
                body += self.row(&row);
            }
        }
        let head: Markup = self
            .columns
            .iter()
            .map(|column| {
                let class = match column.holds {
                    CellKind::Numbers => Markup::literal(" class=\"number\""),
                    _ => Markup::new(),
                };
                markup!("<th scope=\"col\"{}>{}</th>", class, column.title)
            })
            .collect();
        let caption = match self.caption {
            "" => Markup::new(),
            caption => markup!("<caption>{}</caption>", caption),
        };
        let more = match left_out {
            0 => Markup::new(),
            count => markup!("<p class=\"none\">{} more rows not shown.</p>", count),
        };
        markup!(
            "<table class=\"{}\">{}<thead><tr>{}</tr></thead><tbody>\n{}</tbody></table>{}",
            self.class,
            caption,
            head,
            body,
            more
        )
    }

    fn row(&self, row: &[Markup]) -> Markup {
        let mut out = Markup::literal("<tr>");
        for (number, (cell, column)) in row.iter().zip(self.columns).enumerate() {
            let class = Markup::literal(match column.holds {
                CellKind::Text => "",
                CellKind::Numbers => " class=\"number\"",
                CellKind::Code => " class=\"code\"",
            });
            out += match number {
                0 => markup!("<th scope=\"row\"{}>{}</th>", class, cell),
                _ if self.class == "stack" => {
                    markup!("<td data-label=\"{}\"{}>{}</td>", column.title, class, cell)
                }
                _ => markup!("<td{}>{}</td>", class, cell),
            };
        }
        out += Markup::literal("</tr>\n");
        out
    }
}
