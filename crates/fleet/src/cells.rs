//! The cells of an answer by the names of their columns.

use crate::questions::Question;
use crate::sqlite::Answer;
use crate::value::Value;

/// A row of an answer. A cell that is not there, or holds something else, is empty, zero or none.
#[derive(Debug, Clone, Copy)]
pub struct Cells<'a> {
    question: &'static Question,
    row: &'a [Value],
}

/// The rows of an answer to this question.
pub fn rows<'a>(
    question: &'static Question,
    answer: &'a Answer,
) -> impl Iterator<Item = Cells<'a>> {
    let rows = answer.rows.iter();
    rows.map(move |row| Cells { question, row })
}

impl<'a> Cells<'a> {
    fn cell(&self, name: &str) -> Option<&'a Value> {
        let mut columns = self.question.columns.iter();
        let place = columns.position(|column| column.name == name)?;
        self.row.get(place)
    }

    /// A text.
    pub fn text(&self, name: &str) -> &'a str {
        match self.cell(name) {
            Some(Value::Text(text)) => text,
            _ => "",
        }
    }

    /// A number of any kind.
    pub fn number(&self, name: &str) -> f64 {
        match self.cell(name) {
            Some(Value::Unsigned(value)) => *value as f64,
            Some(Value::Signed(value)) => *value as f64,
            Some(Value::Float(value)) => *value,
            _ => 0.0,
        }
    }

    /// A whole number that counts something.
    pub fn count(&self, name: &str) -> u64 {
        self.number(name).max(0.0) as u64
    }

    /// A moment, milliseconds since 1970 UTC.
    pub fn moment(&self, name: &str) -> Option<i64> {
        match self.cell(name) {
            Some(Value::Signed(ms)) => Some(*ms),
            _ => None,
        }
    }

    /// A list of texts.
    pub fn list(&self, name: &str) -> Vec<String> {
        let Some(Value::List(values)) = self.cell(name) else {
            return Vec::new();
        };
        let texts = values.iter().filter_map(|value| match value {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        });
        texts.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::questions::views::HOSTS;

    #[test]
    fn cells_have_names_and_what_is_missing_is_empty() {
        let answer = Answer {
            rows: vec![vec![Value::from("db1"), Value::Null]],
        };
        let row = rows(&HOSTS, &answer).next().unwrap();
        assert_eq!((row.text("host"), row.text("vendor")), ("db1", ""));
        assert_eq!((row.count("stalls"), row.moment("last_stall")), (0, None));
        assert_eq!(row.text("no such column"), "");
        assert_eq!(row.list("host"), Vec::<String>::new());
    }
}
