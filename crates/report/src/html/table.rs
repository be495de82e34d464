//! Tables with limits.

use crate::escape;

/// Bytes of one table's markup at the most, about: outside text may be anything.
const TABLE_BYTES_MAX: usize = 150_000;

/// Bytes of markup of one cell at the most, about.
const CELL_BYTES_MAX: usize = 1_500;

/// A column: its title as markup, and what it holds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Column<'a>(pub(super) &'a str, pub(super) Holds);

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Holds {
    /// Words.
    Words,
    /// Numbers.
    Numbers,
    /// Code, names, statements.
    Code,
}

/// A table's frame.
#[derive(Debug)]
pub(super) struct Table<'a> {
    class: &'static str,
    caption: &'a str,
    columns: &'a [Column<'a>],
}

/// A text as a cell's markup.
pub(super) fn cell(text: &str) -> String {
    escape::html_cut(text, CELL_BYTES_MAX)
}

impl<'a> Table<'a> {
    /// A table over the page's width, whose rows become blocks of labelled lines on narrow screens.
    pub(super) fn wide(caption: &'a str, columns: &'a [Column<'a>]) -> Self {
        Self {
            class: "stack",
            caption,
            columns,
        }
    }

    /// A table that stays one on narrow screens.
    pub(super) fn narrow(class: &'static str, caption: &'a str, columns: &'a [Column<'a>]) -> Self {
        Self {
            class,
            caption,
            columns,
        }
    }

    /// The table with its rows. Cells are markup; the first one of a row is the row's header. Rows
    /// beyond `rows_max` or the size limit are counted in a last line.
    pub(super) fn rows(
        self,
        rows: impl IntoIterator<Item = Vec<String>>,
        rows_max: usize,
    ) -> String {
        let mut body = String::new();
        let mut left_out = 0;
        for (index, row) in rows.into_iter().enumerate() {
            if index >= rows_max || body.len() > TABLE_BYTES_MAX {
                left_out += 1;
            } else {
                body.push_str(&self.row(&row));
            }
        }
        let head: String = self
            .columns
            .iter()
            .map(|Column(title, holds)| {
                let class = if *holds == Holds::Numbers {
                    " class=\"number\""
                } else {
                    ""
                };
                format!("<th scope=\"col\"{class}>{title}</th>")
            })
            .collect();
        let caption = match self.caption {
            "" => String::new(),
            caption => format!("<caption>{}</caption>", escape::html(caption)),
        };
        let more = match left_out {
            0 => String::new(),
            _ => format!("<p class=\"none\">{left_out} more rows are not shown.</p>"),
        };
        format!(
            "<table class=\"{}\">{caption}<thead><tr>{head}</tr></thead><tbody>\n{body}</tbody></table>{more}",
            self.class
        )
    }

    fn row(&self, row: &[String]) -> String {
        let mut out = String::from("<tr>");
        for (number, (cell, Column(title, holds))) in row.iter().zip(self.columns).enumerate() {
            let class = match holds {
                Holds::Words => "",
                Holds::Numbers => " class=\"number\"",
                Holds::Code => " class=\"code\"",
            };
            out.push_str(&match number {
                0 => format!("<th scope=\"row\"{class}>{cell}</th>"),
                _ if self.class == "stack" => {
                    format!("<td data-label=\"{title}\"{class}>{cell}</td>")
                }
                _ => format!("<td{class}>{cell}</td>"),
            });
        }
        out.push_str("</tr>\n");
        out
    }
}
