//! A batch: rows of several tables that go to the store together, exactly once.

use std::fmt;
use std::str::FromStr;

use crate::row::Row;
use crate::table::Table;
use crate::value::Value;

/// What a batch is told apart by, everywhere and for ever: the store takes each token once, so that a sender who does not
/// know whether a batch arrived sends the same bytes again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token {
    /// The server whose rows they are.
    pub host_id: u64,
    /// What numbers them: one life of a spool, or the content of a file.
    pub boot: u64,
    /// The number.
    pub seq: u64,
}

/// `HOST-BOOT-SEQ`: 16 hexadecimal digits, 16 of them, a number.
impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}-{:016x}-{}", self.host_id, self.boot, self.seq)
    }
}

/// It is no token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a batch's token: HOST-BOOT-SEQ, 16 hexadecimal digits, 16 of them, a number")]
pub struct NotAToken;

impl FromStr for Token {
    type Err = NotAToken;

    fn from_str(text: &str) -> Result<Self, NotAToken> {
        let mut parts = text.splitn(3, '-');
        let mut hash = || {
            let part = parts.next().filter(|part| part.len() == 16)?;
            u64::from_str_radix(part, 16).ok()
        };
        let (host_id, boot) = (hash().ok_or(NotAToken)?, hash().ok_or(NotAToken)?);
        let seq = parts.next().ok_or(NotAToken)?;
        let token = Self {
            host_id,
            boot,
            seq: seq.parse().map_err(|_| NotAToken)?,
        };
        // One way to write each: `+1` and capital letters would be another.
        (token.to_string() == text)
            .then_some(token)
            .ok_or(NotAToken)
    }
}

/// The rows of one table.
#[derive(Debug, Clone, PartialEq)]
pub struct TableRows {
    /// The table.
    pub table: &'static Table,
    /// The rows: a value for each column.
    pub rows: Vec<Vec<Value>>,
}

/// Rows with a token.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    /// What it is told apart by.
    pub token: Token,
    tables: Vec<TableRows>,
}

impl Batch {
    /// A batch without rows.
    pub fn new(token: Token) -> Self {
        Self {
            token,
            tables: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn push<R: Row>(&mut self, row: &R) {
        self.push_values(R::TABLE, row.values());
    }

    /// Adds rows of one kind.
    pub fn extend<'a, R: Row + 'a>(&mut self, rows: impl IntoIterator<Item = &'a R>) {
        for row in rows {
            self.push(row);
        }
    }

    /// Adds the values of a row, one for each column of the table.
    pub(crate) fn push_values(&mut self, table: &'static Table, values: Vec<Value>) {
        let known = self
            .tables
            .iter_mut()
            .find(|rows| rows.table.name == table.name);
        match known {
            Some(known) => known.rows.push(values),
            None => self.tables.push(TableRows {
                table,
                rows: vec![values],
            }),
        }
    }

    /// The rows by table, in the order in which the tables came.
    pub fn tables(&self) -> &[TableRows] {
        &self.tables
    }

    /// The rows of this table.
    pub fn rows_of(&self, table: &Table) -> &[Vec<Value>] {
        let known = self
            .tables
            .iter()
            .find(|rows| rows.table.name == table.name);
        known.map_or(&[], |known| known.rows.as_slice())
    }

    /// How many rows it has.
    pub fn len(&self) -> usize {
        self.tables.iter().map(|table| table.rows.len()).sum()
    }

    /// It has no rows.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_written_in_one_way() {
        let token = Token {
            host_id: 0xab,
            boot: u64::MAX,
            seq: 7,
        };
        let text = "00000000000000ab-ffffffffffffffff-7";
        assert_eq!(token.to_string(), text);
        assert_eq!(text.parse(), Ok(token));
        for wrong in [
            "",
            "ab-ff-7",
            "00000000000000AB-ffffffffffffffff-7",
            "00000000000000ab-ffffffffffffffff-07",
            "00000000000000ab-ffffffffffffffff-+7",
            "00000000000000ab-ffffffffffffffff--7",
            "00000000000000ab-ffffffffffffffff",
        ] {
            assert_eq!(wrong.parse::<Token>(), Err(NotAToken), "{wrong}");
        }
    }
}
