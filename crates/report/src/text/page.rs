//! A page of terminal lines: wrapping, indents, styles. Everything that goes in is escaped here.

use std::collections::{BTreeMap, HashSet};

use diagnosis::Level;
use model::UnnamedReason;

use super::wrap;
use crate::{escape, steps};

/// Width of lines when the terminal's is not known, in columns.
const WIDTH_USUAL: usize = 80;
/// The narrowest lines, in columns.
const WIDTH_MIN: usize = 40;

/// How a text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TextOptions {
    /// Columns of a line; 0 when not known (80 then), at least 40.
    pub width: usize,
    /// Whether escape codes for colours and bold are used; without, there are none at all.
    pub color: bool,
}

impl TextOptions {
    /// An empty page of this width.
    pub(crate) fn page(&self) -> Page {
        let width = match self.width {
            0 => WIDTH_USUAL,
            width => width.max(WIDTH_MIN),
        };
        Page::new(width, self.color)
    }
}

/// Column at which the values of fields begin.
const FIELD_INDENT: usize = 12;

/// How a piece looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// As the terminal has it.
    Plain,
    /// Strong.
    Bold,
    /// Faint.
    Dim,
    /// Coloured: curves and commands.
    Mark,
}

impl Style {
    /// The escape code's parameters (ECMA-48, SGR).
    fn code(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Bold => "1",
            Self::Dim => "2",
            Self::Mark => "36",
        }
    }
}

/// The page so far.
#[derive(Debug)]
pub(crate) struct Page {
    out: String,
    width: usize,
    color: bool,
    /// Columns before the parts of a document.
    pub(crate) margin: usize,
    /// Functions of the frames written so far that have no name, by reason and image.
    pub(crate) nameless: BTreeMap<(UnnamedReason, String), HashSet<String>>,
}

impl Page {
    /// An empty page.
    pub(crate) fn new(width: usize, color: bool) -> Self {
        Self {
            out: String::new(),
            width,
            color,
            margin: 2,
            nameless: BTreeMap::new(),
        }
    }

    /// Columns of a line.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// The page's text.
    pub(crate) fn finish(self) -> String {
        self.out
    }

    /// An empty line.
    pub(crate) fn blank(&mut self) {
        self.out.push('\n');
    }

    /// A line of pieces that are escaped already and fit.
    pub(crate) fn raw(&mut self, pieces: &[(&str, Style)]) {
        let from = self.out.len();
        for (text, style) in pieces {
            self.styled(text, style.code());
        }
        let end = self.out.trim_end_matches(' ').len().max(from);
        self.out.truncate(end);
        self.blank();
    }

    /// A text at an indent.
    pub(crate) fn paragraph(&mut self, indent: usize, text: &str, style: Style) {
        self.item(indent, "", text, style);
    }

    /// A text after a mark, its other lines below its first letter.
    pub(crate) fn item(&mut self, indent: usize, mark: &str, text: &str, style: Style) {
        let inner = indent + mark.len();
        let text = escape::terminal(&text.replace('\n', " "));
        for (index, line) in wrap::wrap(&text, self.width.saturating_sub(inner))
            .iter()
            .enumerate()
        {
            let lead = " ".repeat(indent) + if index == 0 { mark } else { "" };
            let pad = " ".repeat(inner.saturating_sub(lead.len()));
            self.raw(&[(&lead, Style::Plain), (&pad, Style::Plain), (line, style)]);
        }
    }

    /// A name and its value.
    pub(crate) fn field(&mut self, name: &str, value: &str) {
        self.styled_field(name, value, Style::Plain);
    }

    /// A name and its value that looks like this.
    pub(crate) fn styled_field(&mut self, name: &str, value: &str, style: Style) {
        let text = escape::terminal(value);
        let mut lines = wrap::wrap(&text, self.width.saturating_sub(FIELD_INDENT));
        if lines.is_empty() {
            lines.push("-".to_owned());
        }
        for (index, line) in lines.iter().enumerate() {
            let label = format!("{:FIELD_INDENT$}", if index == 0 { name } else { "" });
            self.raw(&[(&label, Style::Dim), (line, style)]);
        }
    }

    /// The heading of a list, after an empty line.
    pub(crate) fn heading(&mut self, text: &str) {
        self.blank();
        self.raw(&[(text, Style::Bold)]);
    }

    /// A line across the page that names a finding's level.
    pub(crate) fn rule(&mut self, text: &str, level: Level) {
        let code = match level {
            Level::Certain => "1;31",
            Level::Likely => "1;33",
            Level::Possible => "1;34",
            Level::Suspicion => "34",
        };
        let text = format!("--- {} ", escape::terminal(text));
        let rest = "-".repeat(self.width.saturating_sub(wrap::columns(&text)));
        self.styled(&text, code);
        self.styled(&rest, "2");
        self.blank();
    }

    /// A line to be typed; a long one is broken where it still can be.
    pub(crate) fn command(&mut self, indent: usize, command: &str) {
        let line = escape::terminal(command);
        let lines = match wrap::columns(&line) + indent <= self.width {
            true => vec![line],
            false => {
                let width = self.width.saturating_sub(indent + 2);
                wrap::wrap_command(&line, width, steps::is_shell(command))
            }
        };
        for (index, line) in lines.iter().enumerate() {
            let lead = " ".repeat(if index == 0 { indent } else { indent + 2 });
            self.raw(&[(&lead, Style::Plain), (line, Style::Mark)]);
        }
    }

    fn styled(&mut self, text: &str, code: &str) {
        if self.color && !code.is_empty() && !text.trim().is_empty() {
            self.out.push_str(&format!("\x1b[{code}m{text}\x1b[0m"));
        } else {
            self.out.push_str(text);
        }
    }
}
