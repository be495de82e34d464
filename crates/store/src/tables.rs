//! Tables of an incident file, row by row, as far as they are sound and the account goes.

use rusqlite::{Connection, Row};

use crate::budget::{CELL_BYTES_MAX, JSON_BYTES_MAX, ReadBudget, error_text, row_bytes};

/// A part of a file that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Damage {
    /// The table.
    pub table: &'static str,
    /// Rows read before the damage.
    pub rows_read: usize,
    /// What is wrong.
    pub problem: String,
    /// Nothing is wrong with it: it is over a limit.
    pub is_limit: bool,
}

impl Damage {
    /// One line without the file's name.
    pub fn line(&self) -> String {
        let Self {
            table,
            rows_read,
            problem,
            ..
        } = self;
        match self.is_limit {
            true => {
                format!("table '{table}': {rows_read} rows were read, and some left out: {problem}")
            }
            false => format!("table '{table}' is damaged after {rows_read} rows: {problem}"),
        }
    }
}

/// A table, and what of it is read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Table {
    pub(crate) name: &'static str,
    pub(crate) columns: &'static str,
    /// The column whose cells may be large; rows with one over the limit are left out.
    pub(crate) large: Option<&'static str>,
    /// Cells become what their JSON says.
    pub(crate) is_json: bool,
    /// A large cell is not read beyond this, bytes.
    pub(crate) cell_bytes_max: usize,
    /// How much of the account it may take, percent.
    pub(crate) percent: u64,
    /// Rows that are read.
    pub(crate) rows_max: usize,
}

impl Table {
    /// A table without large cells, which may take a twentieth of the account.
    pub(crate) fn small(name: &'static str, columns: &'static str) -> Self {
        Self {
            name,
            columns,
            large: None,
            is_json: false,
            cell_bytes_max: CELL_BYTES_MAX,
            percent: 5,
            rows_max: usize::MAX,
        }
    }

    /// May take so many percent of the account.
    pub(crate) fn percent(self, percent: u64) -> Self {
        Self { percent, ..self }
    }

    /// With large cells in this column.
    pub(crate) fn large(self, column: &'static str) -> Self {
        Self {
            large: Some(column),
            ..self
        }
    }

    /// With large cells of JSON in this column.
    pub(crate) fn json(self, column: &'static str) -> Self {
        Self {
            large: Some(column),
            is_json: true,
            cell_bytes_max: JSON_BYTES_MAX,
            ..self
        }
    }

    /// No cell of the large column has more bytes.
    pub(crate) fn cells(self, cell_bytes_max: usize) -> Self {
        Self {
            cell_bytes_max,
            ..self
        }
    }

    /// No more rows are read.
    pub(crate) fn rows(self, rows_max: usize) -> Self {
        Self { rows_max, ..self }
    }
}

/// The tables of a file.
pub(crate) struct Tables<'a> {
    pub(crate) connection: &'a Connection,
    pub(crate) account: ReadBudget,
    pub(crate) damage: Vec<Damage>,
}

impl Tables<'_> {
    /// The rows of a table up to its end, its first damage, or the end of what it may take.
    pub(crate) fn read<T>(
        &mut self,
        table: Table,
        read_row: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Vec<T> {
        let mut rows = Vec::new();
        // A list that grows has up to twice the places that it needs.
        self.each(table, 2 * size_of::<T>(), |row| {
            rows.push(read_row(row)?);
            Ok(0)
        });
        rows
    }

    /// Hands each row on, which takes `fixed` bytes beside its cells, and as many as the answer says.
    pub(crate) fn each(
        &mut self,
        table: Table,
        fixed: usize,
        mut with: impl FnMut(&Row<'_>) -> rusqlite::Result<u64>,
    ) {
        let mut account = self.account.part(table.percent);
        let mut rows_read = 0;
        let mut over = None;
        let condition = table.large.map_or_else(String::new, |column| {
            let max = table.cell_bytes_max;
            format!(" WHERE coalesce(octet_length({column}), 0) <= {max}")
        });
        let result = (|| -> rusqlite::Result<()> {
            let Table { name, columns, .. } = table;
            let query = format!("SELECT {columns} FROM {name}{condition}");
            let mut statement = self.connection.prepare(&query)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let bytes = row_bytes(row, fixed, table.is_json)?;
                if rows_read >= table.rows_max {
                    over = Some(format!("no more than {} rows are read", table.rows_max));
                    break;
                }
                let is_over = account.take(bytes).is_err() || {
                    let more = with(row)?;
                    rows_read += 1;
                    account.take(more).is_err()
                };
                if is_over {
                    over = Some(format!(
                        "the rest is over the {} MiB of memory that it may take",
                        account.bytes_max() >> 20
                    ));
                    break;
                }
            }
            Ok(())
        })();
        if let Err(error) = result {
            self.damage.push(Damage {
                table: table.name,
                rows_read,
                problem: error_text(&error),
                is_limit: false,
            });
        } else if let Some(problem) = over {
            self.damage.push(Damage {
                table: table.name,
                rows_read,
                problem,
                is_limit: true,
            });
        }
        self.account.settle(&account);
        self.note_large(table, rows_read);
    }

    /// Tells of rows that were left out for the size of a cell. Where they cannot be counted the damage
    /// is told already.
    fn note_large(&mut self, table: Table, rows_read: usize) {
        let Some(column) = table.large else { return };
        let max = table.cell_bytes_max;
        let query = format!(
            "SELECT count(*) FROM {} WHERE octet_length({column}) > {max}",
            table.name
        );
        let count: rusqlite::Result<i64> = self.connection.query_row(&query, [], |row| row.get(0));
        if let Ok(count @ 1..) = count {
            self.damage.push(Damage {
                table: table.name,
                rows_read,
                problem: match max >> 20 {
                    0 => format!("{count} cells are over {} KiB", max >> 10),
                    mebibytes => format!("{count} cells are over {mebibytes} MiB"),
                },
                is_limit: true,
            });
        }
    }
}
