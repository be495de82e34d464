//! Stacks that are there without their sums: an older version sent them.

use std::time::Duration;

use super::failure::Failure;
use super::json::unsigned;
use super::store::Store;
use super::sums::{PLACES, STACK_SUMS};
use crate::table::Table;

const NAMED: &str = include_str!("earlier_named.sql");
const PLACES_OF_ALL: &str = "SELECT DISTINCT place, functions FROM named WHERE place <> 0";
const SUMS_OF_SOME: &str = include_str!("earlier_sums.sql");
const LEFT: &str = include_str!("earlier_left.sql");

/// How long one statement may take.
const DEADLINE: Duration = Duration::from_secs(600);

impl Store {
    /// Adds up the stacks that nobody has added up. Whoever is killed over it goes on where it was.
    ///
    /// # Errors
    ///
    /// When the server does not do it.
    pub(super) fn add_up_earlier_stacks(&self) -> Result<(), Failure> {
        let mut left = self.stacks_left()?;
        if left == 0 {
            return Ok(());
        }
        self.fill(&PLACES, PLACES_OF_ALL)?;
        while left > 0 {
            self.fill(&STACK_SUMS, SUMS_OF_SOME)?;
            let now = self.stacks_left()?;
            if now >= left {
                return Err(self.stop(format!("the stacks of {now} incidents cannot be added up")));
            }
            left = now;
        }
        Ok(())
    }

    /// Incidents whose stacks nobody has added up.
    fn stacks_left(&self) -> Result<u64, Failure> {
        let rows = self.rows(LEFT, &[])?;
        let cell = rows.first().and_then(|row| row.first());
        Ok(cell.and_then(unsigned).unwrap_or(0))
    }

    fn fill(&self, table: &Table, select: &str) -> Result<(), Failure> {
        let names: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
        let statement = format!(
            "INSERT INTO {} ({})\n{NAMED}{select}",
            table.name,
            names.join(", ")
        );
        let parameters = [
            // The same rows as of an earlier attempt must come in again.
            ("insert_deduplicate", "0"),
            ("distributed_product_mode", "global"),
            ("distributed_foreground_insert", "1"),
        ];
        self.run_within(&statement, &parameters, DEADLINE)
    }
}
