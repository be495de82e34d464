//! One thing that may stand in front of a line, or around it.

use std::borrow::Cow;

use crate::exports::{self, Cell};
use crate::moments;

/// What one step of a text's way puts around a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Layer {
    /// A sign of a quotation, a list, a comment.
    Mark(&'static str),
    /// The number of the line, one more on each.
    Number,
    /// A moment.
    Moment,
    /// The same word, with what parts it from the text: the name of a host, a container, a file.
    Word(String),
    /// The row of an export, one of whose cells holds the line: what parts cells, and the place.
    Cell(char, usize),
    /// The row of an export that is a table: what parts cells, and how many they are.
    Row(char, usize),
}

/// Signs, the longer first.
const MARKS: [&str; 12] = [">", "|", "#", "//", "--", "-", "*", "•", ":", "+", ";", "%"];

/// Longest word that counts as a name.
const WORD_BYTES_MAX: usize = 120;

/// Of the cells of a row so many may be the one that holds a line.
const HELD_IN_MAX: usize = 4;

/// Fewer cells are no row of a table.
const CELLS_MIN: usize = 3;

/// What a line may begin with, in the order in which it is tried.
pub(crate) fn layers_of(line: &str) -> Vec<Layer> {
    let text = line.trim_start();
    let mut layers: Vec<Layer> = Vec::new();
    let mut marks = MARKS.iter().copied();
    let mark = marks.find(|mark| text.starts_with(mark));
    layers.extend(mark.map(Layer::Mark));
    let is = |layer: &Layer| layer.behind(line, &mut None).is_some();
    layers.extend([Layer::Moment, Layer::Number].into_iter().filter(is));
    for separator in [',', ';', '\t'] {
        let cells = exports::cells(text, separator);
        let is_quoted = cells.iter().any(Cell::is_quoted);
        let places = 0..cells.len().min(HELD_IN_MAX);
        let places = places.map(|place| Layer::Cell(separator, place));
        layers.extend(places.filter(|_| is_quoted));
        if cells.len() >= CELLS_MIN && (separator != '\t' || is_quoted) {
            layers.push(Layer::Row(separator, cells.len()));
        }
    }
    let words = [text.find([' ', '\t']), text.find(':').filter(|at| *at > 0)];
    for end in words.into_iter().flatten() {
        let is_colon = text.get(end..).is_some_and(|rest| rest.starts_with(": "));
        let word = text.get(..=end + usize::from(is_colon));
        let layer = Layer::Word(word.unwrap_or_default().to_owned());
        // A tag is no name.
        if end < WORD_BYTES_MAX && !text.starts_with('<') && !layers.contains(&layer) {
            layers.push(layer);
        }
    }
    layers
}

impl Layer {
    /// The line without it; nothing where it is not there. `expected` is the number that the line has, and becomes that of
    /// the next.
    pub(crate) fn behind<'l>(
        &self,
        line: &'l str,
        expected: &mut Option<u64>,
    ) -> Option<Cow<'l, str>> {
        let text = line.trim_start();
        let rest = match self {
            Self::Mark(mark) => {
                let rest = text.strip_prefix(mark)?;
                rest.strip_prefix(' ').unwrap_or(rest)
            }
            Self::Moment => moments::behind(text)?,
            Self::Number => {
                let (number, rest) = number(text)?;
                if expected.is_some_and(|expected| expected != number) {
                    return None;
                }
                *expected = number.checked_add(1);
                rest
            }
            // An empty line, whose blanks were trimmed.
            Self::Word(word) if text.trim_end() == word.trim_end() => "",
            Self::Word(word) => text.strip_prefix(word.as_str())?,
            Self::Cell(separator, place) => {
                let cells = exports::cells(text, *separator);
                let cell = cells
                    .get(*place)
                    .filter(|_| cells.iter().any(Cell::is_quoted));
                return cell.map(Cell::content);
            }
            Self::Row(separator, count) => {
                let cells = exports::cells(text, *separator);
                return (cells.len() == *count).then(|| Cow::Owned(exports::boxed(&cells)));
            }
        };
        Some(Cow::Borrowed(rest))
    }
}

/// `12`, `L12:`, `12:`, `12.`, `12)`, `12 |` and a blank in front of the text.
fn number(text: &str) -> Option<(u64, &str)> {
    let text = text.strip_prefix('L').unwrap_or(text);
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    let number = digits.parse().ok()?;
    if rest.trim_start().is_empty() {
        return Some((number, ""));
    }
    // A bar of letters is the begin of a table's row.
    let behind = rest.trim_start().strip_prefix(['│', '┃']);
    if let Some(behind) = behind {
        return Some((number, behind.strip_prefix(' ').unwrap_or(behind)));
    }
    let behind = rest.strip_prefix([':', '.', ')', '\t', ' '])?;
    Some((number, behind.strip_prefix(' ').unwrap_or(behind)))
}

#[cfg(test)]
mod tests {
    use super::{Layer, layers_of};

    fn behind(layer: &Layer, line: &str) -> Option<String> {
        layer
            .behind(line, &mut None)
            .map(std::borrow::Cow::into_owned)
    }

    #[test]
    fn each_is_taken_away_with_one_blank() {
        for (layer, line) in [
            (Layer::Mark(">"), ">   a"),
            (Layer::Mark("#"), "  #   a"),
            (Layer::Number, "  12    a"),
            (Layer::Number, "L12:   a"),
            (Layer::Number, "12 │   a"),
            (Layer::Moment, "[09:46:15]   a"),
            (Layer::Word("db-1: ".into()), "db-1:   a"),
            (Layer::Cell(',', 1), "5,\"  a\""),
        ] {
            assert_eq!(behind(&layer, line).as_deref(), Some("  a"), "{line}");
            assert!(layers_of(line).contains(&layer), "{line}");
            assert_eq!(behind(&layer, "a"), None, "{layer:?}");
        }
        assert_eq!(
            behind(&Layer::Word("db-1: ".into()), "db-1:").as_deref(),
            Some("")
        );
        assert_eq!(behind(&Layer::Mark(">"), ">").as_deref(), Some(""));
    }

    #[test]
    fn numbers_go_up_by_one() {
        let mut expected = None;
        let lines = ["7\ta", "9\tb", "8", "9:c"];
        let known = lines.map(|line| Layer::Number.behind(line, &mut expected).is_some());
        assert_eq!(known, [true, false, true, true]);
    }
}
