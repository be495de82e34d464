//! A document: what a report says, built once, for a terminal ([`terminal`]) and as a page
//! ([`crate::html`]). The two render it and word nothing; a thing that one of them alone has is a span or
//! a part of its own, so that it can be seen here.

pub(crate) mod bars;
pub(crate) mod prose;
mod stack;
mod table;
pub(crate) mod terminal;

pub use bars::{Bar, BarGroup, BarUnit, Bars, Interval};
pub use prose::Prose;
pub(crate) use stack::Stack;
pub(crate) use table::{CellKind, Column, Row, Shape, Table};

use crate::markup::Markup;

/// A document.
#[derive(Debug, Clone, Default)]
pub struct Document {
    /// What kind of document, in a few words.
    pub kind: String,
    /// What came of it, in a sentence.
    pub title: String,
    /// Under what conditions, in a sentence.
    pub line: String,
    /// What follows.
    pub sections: Vec<Section>,
}

/// A section of a document.
#[derive(Debug, Clone, Default)]
pub struct Section {
    /// Its heading.
    pub title: String,
    /// The outcome in a word or two, and how it looks.
    pub badge: Option<(String, Tone)>,
    /// What is in it.
    pub parts: Vec<Part>,
}

impl Section {
    /// A section without a badge; none where there is nothing in it.
    pub(crate) fn from_parts(title: &str, parts: Vec<Part>) -> Option<Self> {
        (!parts.is_empty()).then(|| Self {
            title: title.to_owned(),
            badge: None,
            parts,
        })
    }
}

/// How a badge looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// As it should be.
    Good,
    /// Not as it should be.
    Bad,
    /// Neither.
    Open,
}

/// A part of a section.
#[derive(Debug, Clone)]
pub enum Part {
    /// A paragraph.
    Paragraph(Prose),
    /// A faint paragraph: that there is nothing, or more than is shown.
    Note(Prose),
    /// A heading over the next part.
    Heading(String),
    /// Sentences, one after another.
    List(List),
    /// Steps of a remedy: what is a command in them is found.
    Steps(Vec<String>),
    /// Lines to be typed.
    Commands(Vec<String>),
    /// A table.
    Table(Table),
    /// Bars.
    Bars(Bars),
    /// A text behind a word or two, which its other lines stand below on a terminal.
    Lead(&'static str, Prose),
    /// Names and their values.
    Fields(Vec<(&'static str, String)>),
    /// What is asked first, with the answers.
    Answers(Vec<Answer>),
    /// A line over the next part.
    Label(String),
    /// Lines as they stand: statements, plans.
    Block(String, Tint),
    /// How many there are of each, as bars.
    Counts(Vec<(&'static str, u64)>),
    /// A stack.
    Stack(Stack),
    /// What unfolds on a page.
    Folded(Folded),
    /// What a page alone has.
    PageOnly(Markup),
}

/// How a terminal shows lines as they stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tint {
    /// As any text.
    Plain,
    /// Coloured.
    Mark,
    /// Faint, and cut at the page's edge instead of folded.
    Faint,
}

/// Parts that unfold on a page; a terminal has them below their summary, or not at all.
#[derive(Debug, Clone, Default)]
pub struct Folded {
    /// What stands for them; a terminal has no line of its own for an empty one.
    pub(crate) summary: Prose,
    /// Class of the block on a page; may be empty.
    pub(crate) class: &'static str,
    /// It is unfolded from the beginning.
    pub(crate) open: bool,
    /// A terminal has it.
    pub(crate) on_terminal: bool,
    pub(crate) parts: Vec<Part>,
}

impl Part {
    /// A paragraph.
    pub fn paragraph(text: impl Into<Prose>) -> Self {
        Self::Paragraph(text.into())
    }

    /// Sentences.
    pub fn list<T: Into<Prose>>(lines: impl IntoIterator<Item = T>) -> Self {
        Self::List(List::new(lines))
    }

    /// A table: the names of its columns, and rows of as many cells. The first column holds text, the
    /// others numbers.
    pub fn numbers(columns: Vec<String>, rows: Vec<Vec<String>>) -> Self {
        let columns = columns.into_iter().enumerate();
        let columns = columns.map(|(at, title)| match at {
            0 => Column::new(title, CellKind::Text),
            _ => Column::new(title, CellKind::Numbers),
        });
        let mut table = Table::new(columns.collect());
        table.rows = rows.into_iter().map(Row::new).collect();
        Self::Table(table)
    }
}

/// An answer behind the word or two that it answers.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The question: no longer than the names of fields.
    pub(crate) label: &'static str,
    /// The answer, and what belongs to it, each from a line of its own on.
    pub(crate) lines: Vec<Prose>,
    /// Whoever reads one line only reads this one.
    pub(crate) strong: bool,
}

impl Answer {
    /// In one paragraph.
    pub(crate) fn new(label: &'static str, says: impl Into<Prose>) -> Self {
        Self::lines(label, vec![says.into()])
    }

    /// In several.
    pub(crate) fn lines(label: &'static str, lines: Vec<Prose>) -> Self {
        Self {
            label,
            lines,
            strong: false,
        }
    }

    pub(crate) fn strong(self) -> Self {
        Self {
            strong: true,
            ..self
        }
    }
}

/// Sentences, one after another.
#[derive(Debug, Clone, Default)]
pub struct List {
    /// Class of the list on a page; may be empty.
    pub(crate) class: &'static str,
    /// The page numbers the items.
    pub(crate) ordered: bool,
    /// Each with a faint line below it, which may be empty.
    pub(crate) items: Vec<(Prose, Prose)>,
}

impl List {
    pub(crate) fn new<T: Into<Prose>>(lines: impl IntoIterator<Item = T>) -> Self {
        let items = lines.into_iter();
        Self {
            class: "",
            ordered: false,
            items: items.map(|line| (line.into(), Prose::default())).collect(),
        }
    }

    pub(crate) fn class(self, class: &'static str) -> Self {
        Self { class, ..self }
    }
}
