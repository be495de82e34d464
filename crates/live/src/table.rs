//! A table of a screen: columns that give way on a narrow terminal, sorted and filtered as its reader wants.

use crate::filter::{Filter, Value};
use crate::ink::{Ink, Line, cut, width};
use model::OrderBy;

/// Columns of the terminal that a column of numbers takes at the most.
const NUMBER_MAX: usize = 12;

/// A column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Column {
    /// Its head, and its name in filters when written small.
    pub name: &'static str,
    /// Columns of the terminal that it takes; what fills the rest takes this at least.
    pub width: usize,
    /// Numbers stand on the right.
    pub right: bool,
    /// It takes what is left; of several the last one.
    pub fills: bool,
    /// Those with the highest number are left out first where there is no room; 0 stays.
    pub gives_way: u8,
}

impl Column {
    /// A column of text.
    pub const fn text(name: &'static str, width: usize, gives_way: u8) -> Self {
        Self {
            name,
            width,
            right: false,
            fills: false,
            gives_way,
        }
    }

    /// A column of numbers.
    pub const fn number(name: &'static str, width: usize, gives_way: u8) -> Self {
        Self {
            right: true,
            ..Self::text(name, width, gives_way)
        }
    }

    /// The column that takes what is left.
    pub const fn rest(name: &'static str, width: usize) -> Self {
        Self {
            fills: true,
            ..Self::text(name, width, 0)
        }
    }
}

/// What stands in a column of a row.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Cell {
    /// Shown.
    pub text: String,
    /// Compared and sorted by, where it is a number.
    pub number: Option<f64>,
    /// How it looks.
    pub ink: Ink,
}

impl Cell {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// A number, and how it is written.
    pub fn number(number: Option<f64>, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            number,
            ink: Ink::Plain,
        }
    }

    /// The same in another ink.
    #[must_use]
    pub fn ink(mut self, ink: Ink) -> Self {
        self.ink = ink;
        self
    }
}

/// A row.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Row {
    /// As many as there are columns.
    pub cells: Vec<Cell>,
    /// What it is called alone; its first cell where it has no name.
    pub name: Option<String>,
    /// What there is to see of it alone: lines, not wrapped.
    pub detail: Vec<String>,
    /// The signal that it is of: what there is to see of it is made when it is asked for.
    pub signal: Option<String>,
    /// The same of a function of the flame graph.
    pub function: Option<String>,
    /// What opens when it is chosen, for rows that are files.
    pub opens: Option<std::path::PathBuf>,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Table {
    /// Its columns.
    pub columns: &'static [Column],
    /// Its rows, in the order of rank.
    pub rows: Vec<Row>,
    /// Said in the place of rows, when there are none.
    pub empty: String,
}

/// How a reader wants a table.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TableOptions {
    /// Sorted by this column; as it comes otherwise.
    pub sort: Option<usize>,
    /// The other way round.
    pub reversed: bool,
    /// Which rows.
    pub filter: Option<Filter>,
    /// The chosen row.
    pub chosen: usize,
}

impl Table {
    /// The names of the columns, for filters.
    pub fn names(&self) -> Vec<String> {
        let names = self.columns.iter();
        names.map(|column| column.name.to_lowercase()).collect()
    }

    /// The rows that are wanted, in the order that is wanted.
    pub fn wanted(&self, wanted: &TableOptions) -> Vec<&Row> {
        let mut rows: Vec<&Row> = self
            .rows
            .iter()
            .filter(|row| {
                wanted
                    .filter
                    .as_ref()
                    .is_none_or(|filter| self.holds(filter, row))
            })
            .collect();
        if let Some(column) = wanted.sort {
            rows.order_by(|a, b| {
                let (a, b) = (a.cells.get(column), b.cells.get(column));
                let number = |cell: Option<&Cell>| cell.and_then(|cell| cell.number);
                let text = |cell: Option<&Cell>| cell.map_or("", |cell| &cell.text).to_owned();
                // Numbers fall, texts rise; what has no number is last.
                match (number(a), number(b)) {
                    (Some(a), Some(b)) => b.total_cmp(&a),
                    (Some(_), None) => std::cmp::Ordering::Less,
                    (None, Some(_)) => std::cmp::Ordering::Greater,
                    (None, None) => text(a).cmp(&text(b)),
                }
            });
        }
        if wanted.reversed {
            rows.reverse();
        }
        rows
    }

    fn holds(&self, filter: &Filter, row: &Row) -> bool {
        let get = |name: &str| {
            let at = self
                .columns
                .iter()
                .position(|column| column.name.eq_ignore_ascii_case(name))?;
            let cell = row.cells.get(at)?;
            Some(match cell.number {
                Some(number) => Value::Number(number),
                None => Value::Text(&cell.text),
            })
        };
        let all: Vec<&str> = row.cells.iter().map(|cell| cell.text.as_str()).collect();
        filter.holds(&get, &all.join(" "))
    }

    /// The table on so many lines, its head among them.
    pub fn lines(&self, wanted: &TableOptions, columns: usize, lines: usize) -> Vec<Line> {
        let rows = self.wanted(wanted);
        let room = lines.saturating_sub(1).max(1);
        let chosen = wanted.chosen.min(rows.len().saturating_sub(1));
        let first = (chosen + 1).saturating_sub(room);
        let seen = rows.get(first..).unwrap_or_default();
        let seen = seen.get(..room).unwrap_or(seen);
        let shown = self.shown(columns, seen);
        let mut head = Line::default();
        for (index, room) in &shown {
            let column = self.columns.get(*index).copied();
            let name = column.map_or("", |column| column.name);
            let mark = match wanted.sort == Some(*index) {
                true if wanted.reversed => "^",
                true => "v",
                false => "",
            };
            place(
                &mut head,
                &format!("{name}{mark}"),
                Ink::Strong,
                *room,
                column.is_some_and(|column| column.right),
            );
        }
        let mut out = vec![head];
        if rows.is_empty() {
            let words = match (wanted.filter.is_some(), self.rows.is_empty()) {
                (true, false) => "no row matches the filter; Esc shows all",
                _ => &self.empty,
            };
            out.extend(crate::ink::wrapped(Ink::Dim, words, 0, columns));
            out.truncate(lines);
            return out;
        }
        for (number, row) in seen.iter().enumerate() {
            let mut line = Line::default();
            for (index, room) in &shown {
                let right = self.columns.get(*index).is_some_and(|column| column.right);
                if let Some(cell) = row.cells.get(*index) {
                    place(&mut line, &cell.text, cell.ink, *room, right);
                }
            }
            line.pad(columns);
            out.push(match first + number == chosen {
                true => line.all(Ink::Bar),
                false => line,
            });
        }
        out
    }

    /// The columns that there is room for, with their widths. One of numbers is as wide as the widest of them: a number
    /// that is cut is another number.
    fn shown(&self, columns: usize, rows: &[&Row]) -> Vec<(usize, usize)> {
        let mut kept: Vec<usize> = (0..self.columns.len()).collect();
        let column = |index: usize| self.columns.get(index);
        let widest = |index: usize| -> usize {
            let cells = rows.iter().filter_map(|row| row.cells.get(index));
            let numbers = cells.filter(|cell| cell.number.is_some());
            numbers.map(|cell| width(&cell.text)).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (self.columns.iter().enumerate())
            .map(|(index, column)| match column.right {
                true => column.width.max(widest(index).min(NUMBER_MAX)),
                false => column.width,
            })
            .collect();
        let width_of = |index: usize| widths.get(index).copied().unwrap_or(0);
        let taken = |kept: &[usize]| -> usize {
            let widths = kept.iter().map(|index| width_of(*index));
            widths.sum::<usize>() + kept.len().saturating_sub(1)
        };
        while taken(&kept) > columns {
            let gives_way = |index: &usize| column(*index).map_or(0, |column| column.gives_way);
            let Some(worst) = kept
                .iter()
                .copied()
                .max_by_key(gives_way)
                .filter(|index| gives_way(index) > 0)
            else {
                break;
            };
            kept.retain(|index| *index != worst);
        }
        let left = columns.saturating_sub(taken(&kept));
        let is_filling = |index: &&usize| column(**index).is_some_and(|column| column.fills);
        let filling = kept.iter().rfind(is_filling).copied();
        kept.iter()
            .map(|index| {
                let more = if filling == Some(*index) { left } else { 0 };
                (*index, width_of(*index) + more)
            })
            .collect()
    }
}

/// Text in a column of the line.
fn place(line: &mut Line, text: &str, ink: Ink, room: usize, right: bool) {
    if !line.spans().is_empty() {
        line.push(Ink::Plain, " ");
    }
    let begin = line.width();
    // Escaped first, so that its columns are those that are seen.
    let text = cut(&Line::plain(text).text(), room);
    if right {
        line.pad(begin + room.saturating_sub(width(&text)));
    }
    line.push(ink, &text);
    line.pad(begin + room);
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: [Column; 4] = [
        Column::text("NAME", 6, 0),
        Column::number("TIME", 5, 0),
        Column::text("HOST", 8, 2),
        Column::rest("STATE", 6),
    ];

    fn table() -> Table {
        let row = |name: &str, time: Option<f64>| Row {
            cells: vec![
                Cell::text(name),
                Cell::number(time, time.map_or("–".to_owned(), |time| time.to_string())),
                Cell::text("h"),
                Cell::text("\u{1b}waits"),
            ],
            ..Row::default()
        };
        Table {
            columns: &COLUMNS,
            rows: vec![row("b", Some(2.0)), row("a", Some(9.0)), row("c", None)],
            empty: "nothing".to_owned(),
        }
    }

    fn text(lines: &[Line]) -> Vec<String> {
        lines
            .iter()
            .map(|line| line.text().trim_end().to_owned())
            .collect()
    }

    #[test]
    fn columns_give_way_and_rows_are_sorted() {
        let mut wanted = TableOptions::default();
        let lines = table().lines(&wanted, 40, 9);
        assert_eq!(
            text(&lines),
            [
                "NAME    TIME HOST     STATE",
                "b          2 h        \\x1bwaits",
                "a          9 h        \\x1bwaits",
                "c          – h        \\x1bwaits",
            ]
        );
        wanted.sort = Some(1);
        let lines = table().lines(&wanted, 20, 9);
        assert_eq!(
            text(&lines),
            [
                "NAME   TIMEv STATE",
                "a          9 \\x1bwa~",
                "b          2 \\x1bwa~",
                "c          – \\x1bwa~"
            ]
        );
        wanted.reversed = true;
        wanted.chosen = 7;
        // The chosen row is among those that are shown.
        let lines = table().lines(&wanted, 20, 2);
        assert_eq!(
            text(&lines),
            ["NAME   TIME^ STATE", "a          9 \\x1bwa~"]
        );
    }

    #[test]
    fn a_number_is_not_cut() {
        let mut table = table();
        table.rows[0].cells[1] = Cell::number(Some(904.0), "15 min 4 s");
        let wanted = TableOptions::default();
        assert_eq!(
            text(&table.lines(&wanted, 40, 2)),
            [
                "NAME         TIME HOST     STATE",
                "b      15 min 4 s h        \\x1bwaits"
            ]
        );
        // Another column gives way for it.
        assert_eq!(
            text(&table.lines(&wanted, 27, 2)),
            ["NAME         TIME STATE", "b      15 min 4 s \\x1bwaits"]
        );
        // A row that is not seen takes no room.
        let last = TableOptions {
            chosen: 2,
            ..TableOptions::default()
        };
        assert_eq!(
            text(&table.lines(&last, 40, 2))[0],
            "NAME    TIME HOST     STATE"
        );
    }

    #[test]
    fn a_filter_leaves_rows_out() {
        let names = table().names();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut wanted = TableOptions {
            filter: Some(Filter::parse("time > 5", &names).unwrap()),
            ..TableOptions::default()
        };
        assert_eq!(table().wanted(&wanted).len(), 1);
        wanted.filter = Some(Filter::parse("time > 50", &names).unwrap());
        assert!(text(&table().lines(&wanted, 60, 9))[1].starts_with("no row"));
    }
}
