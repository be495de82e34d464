//! A batch: rows of several tables that go to the store together, exactly once.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

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

    /// The rows of all of these, in their order. Of one it is that one; of several it has a token of its own, which is
    /// always the same for the same batches.
    pub fn joined(batches: Vec<Self>) -> Self {
        let mut hash = Sha256::new();
        for batch in &batches {
            hash.update(batch.token.to_string());
            hash.update([0]);
        }
        let count = batches.len() as u64;
        let mut batches = batches.into_iter();
        let mut all = batches
            .next()
            .unwrap_or_else(|| Self::new(Token::default()));
        if count > 1 {
            let digest: [u8; 32] = hash.finalize().into();
            let [first, second] = [0, 8].map(|at| {
                let bytes = digest
                    .get(at..at + 8)
                    .and_then(|bytes| bytes.try_into().ok());
                u64::from_be_bytes(bytes.unwrap_or_default())
            });
            all.token = Token {
                host_id: first,
                boot: second,
                seq: count,
            };
        }
        for rows in batches.flat_map(|batch| batch.tables) {
            let known = all
                .tables
                .iter_mut()
                .find(|known| known.table.name == rows.table.name);
            match known {
                Some(known) => known.rows.extend(rows.rows),
                None => all.tables.push(rows),
            }
        }
        all
    }

    /// Values of all rows.
    pub fn cells(&self) -> usize {
        let cells = |rows: &TableRows| rows.rows.len() * rows.table.columns.len();
        self.tables.iter().map(cells).sum()
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
    use crate::row::{HealthRow, Seconds};

    #[test]
    fn joined_batches_have_all_rows_and_a_token_of_all() {
        let one = |seq: u64| {
            let mut batch = Batch::new(Token {
                host_id: 1,
                boot: 2,
                seq,
            });
            batch.push(&HealthRow {
                ts: Seconds(seq as i64),
                ..HealthRow::default()
            });
            batch
        };
        assert_eq!(Batch::joined(vec![one(1)]), one(1));
        let both = Batch::joined(vec![one(1), one(2)]);
        let rows = [one(1), one(2)].map(|one| one.rows_of(HealthRow::TABLE)[0].clone());
        assert_eq!(both.rows_of(HealthRow::TABLE), rows);
        assert_eq!(both.cells(), 2 * HealthRow::TABLE.columns.len());
        let again = Batch::joined(vec![one(1), one(2)]);
        assert_eq!(both.token, again.token);
        for other in [vec![one(2), one(1)], vec![one(1), one(3)], vec![one(1)]] {
            assert_ne!(Batch::joined(other).token, both.token);
        }
    }

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
