//! Tables of a document.

use super::Prose;

/// A table. A terminal has it in columns or, where its rows have sentences, as a list of these.
#[derive(Debug, Clone)]
pub struct Table {
    /// What it is of; may be empty.
    pub(crate) caption: String,
    /// Its columns; a row has a cell for each.
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: Vec<Row>,
    /// Rows that a page has at the most.
    pub(crate) page_max: usize,
    /// Rows that a terminal has at the most.
    pub(crate) terminal_max: usize,
    /// What a terminal says of the rows that it does not have; their number where it is empty.
    pub(crate) more: String,
    /// How it is laid out on a page.
    pub(crate) class: &'static str,
    /// How it is laid out on a terminal.
    pub(crate) shape: Shape,
}

/// How a table is laid out on a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Columns before a row.
    pub(crate) indent: usize,
    /// Columns between two cells.
    pub(crate) gap: usize,
    /// The first column stands last and takes the room that is left.
    pub(crate) name_last: bool,
    /// The columns have their titles above them.
    pub(crate) head: bool,
    /// Columns of a name for which a terminal leaves out the columns of the highest ranks. Where it has far
    /// less, the numbers stand below the name in a sentence.
    pub(crate) name_min: usize,
    /// Lines of a name at the most.
    pub(crate) name_lines: usize,
    /// A name that is too long loses its end, not its middle.
    pub(crate) cut_end: bool,
    /// The rows are a list of their sentences.
    pub(crate) sentences: bool,
}

impl Shape {
    /// Names first, two columns between cells.
    pub(crate) const USUAL: Self = Self {
        indent: 2,
        gap: 2,
        name_last: false,
        head: true,
        name_min: 0,
        name_lines: 1,
        cut_end: false,
        sentences: false,
    };
    /// No columns: a sentence for each row.
    pub(crate) const SENTENCES: Self = Self {
        sentences: true,
        ..Self::USUAL
    };
    /// Numbers first, then the name in the room that is left.
    pub(crate) const NAME_LAST: Self = Self {
        indent: 0,
        gap: 1,
        name_last: true,
        ..Self::USUAL
    };
}

/// A column.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    /// Its title on a page.
    pub(crate) title: Prose,
    /// Its title on a terminal; none where a terminal does not have it.
    pub(crate) short: Option<String>,
    /// What it holds.
    pub(crate) holds: CellKind,
    /// Least columns on a terminal.
    pub(crate) width: usize,
    /// On a terminal without room the columns of the highest ranks are left out; 0 never is.
    pub(crate) rank: usize,
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CellKind {
    /// Text.
    Text,
    /// Numbers.
    Numbers,
    /// Code, names, statements.
    Code,
}

/// A row.
#[derive(Debug, Clone, Default)]
pub(crate) struct Row {
    /// A cell for each column.
    pub(crate) cells: Vec<Prose>,
    /// All of it in a sentence, for a terminal that has no columns.
    pub(crate) sentence: Option<Prose>,
    /// A faint line below it on a terminal; may be empty.
    pub(crate) below: String,
    /// It matters more than others: bold on a terminal.
    pub(crate) strong: bool,
}

impl Row {
    /// A row of cells.
    pub(crate) fn new<T: Into<Prose>>(cells: impl IntoIterator<Item = T>) -> Self {
        Self {
            cells: cells.into_iter().map(Into::into).collect(),
            ..Self::default()
        }
    }

    /// With a sentence that stands for it.
    pub(crate) fn sentence(self, sentence: impl Into<Prose>) -> Self {
        Self {
            sentence: Some(sentence.into()),
            ..self
        }
    }
}

impl Column {
    /// A column with one title for page and terminal.
    pub(crate) fn new(title: impl Into<Prose>, holds: CellKind) -> Self {
        let title = title.into();
        Self {
            short: Some(title.plain()),
            title,
            holds,
            width: 0,
            rank: 0,
        }
    }

    /// With another title on a terminal, and its least width there.
    pub(crate) fn short(self, title: &str, width: usize) -> Self {
        Self {
            short: Some(title.to_owned()),
            width,
            ..self
        }
    }

    /// On a page alone.
    pub(crate) fn page_only(self) -> Self {
        Self {
            short: None,
            ..self
        }
    }

    /// Left out on a terminal before those of lower ranks.
    pub(crate) fn rank(self, rank: usize) -> Self {
        Self { rank, ..self }
    }
}

impl Table {
    /// A table of these columns without rows.
    pub(crate) fn new(columns: Vec<Column>) -> Self {
        Self {
            caption: String::new(),
            columns,
            rows: Vec::new(),
            page_max: 200,
            terminal_max: usize::MAX,
            more: String::new(),
            class: "stack",
            shape: Shape::USUAL,
        }
    }

    /// With these rows.
    pub(crate) fn rows(self, rows: impl IntoIterator<Item = Row>) -> Self {
        Self {
            rows: rows.into_iter().collect(),
            ..self
        }
    }

    /// With limits of rows for a terminal and for a page.
    pub(crate) fn limits(self, terminal_max: usize, page_max: usize) -> Self {
        Self {
            terminal_max,
            page_max,
            ..self
        }
    }

    /// Laid out on a terminal in this shape.
    pub(crate) fn shape(self, shape: Shape) -> Self {
        Self { shape, ..self }
    }
}
