//! Making and migrating the tables.

use super::ddl::{self, Layout, VERSION};
use super::failure::Failure;
use super::store::Store;
use crate::sqlite::Initialised;
use crate::table::Column;

/// What exactly-once is sent with: the setting and its value, if it is always the same.
const SENT: [(&str, Option<&str>); 5] = [
    ("insert_deduplicate", Some("1")),
    // Another for each batch.
    ("insert_deduplication_token", None),
    ("async_insert", Some("0")),
    ("async_insert_deduplicate", Some("1")),
    ("distributed_foreground_insert", Some("1")),
];

impl Store {
    /// Makes the database and the tables where there are none, and brings older ones to [`VERSION`]. Once more it
    /// changes nothing, but for stacks that an older version sent meanwhile: they are added up. `now`: seconds since 1970.
    /// `program`: the version of the program, for the store's own record.
    ///
    /// # Errors
    ///
    /// When the server is too old, may not be told what exactly-once needs, or does not let us make tables.
    pub fn init(&self, layout: &Layout, now: i64, program: &str) -> Result<Initialised, Failure> {
        self.check_server()?;
        self.check_settings()?;
        let found = self.version()?;
        if found != Some(VERSION) {
            self.make(layout)?;
        }
        // Who did not end before the tables were brought up has sent without them.
        self.add_up_earlier_stacks()?;
        if found.is_some_and(|found| found < VERSION) {
            let here = [("database", self.address.database.as_str())];
            self.run(&ddl::index_earlier_rows(layout), &here)?;
        }
        if found != Some(VERSION) {
            self.note_version(now, program)?;
        }
        self.check_tables()?;
        Ok(match found {
            None => Initialised::Made,
            Some(VERSION) => Initialised::Unchanged,
            Some(found) => Initialised::Migrated(found),
        })
    }

    /// Every statement may run again, and the version is written last: a migration that was cut off is made anew.
    fn make(&self, layout: &Layout) -> Result<(), Failure> {
        let database = self.address.database.as_str();
        let on = match layout {
            Layout::Single => String::new(),
            Layout::Replicated { cluster } => format!(" ON CLUSTER '{cluster}'"),
        };
        let is_there = "SELECT count() FROM system.databases WHERE name = {name:String}";
        let of_system = [("database", "system"), ("param_name", database)];
        let rows = self.rows(is_there, &of_system)?;
        // Who may not make one may have been given one.
        if rows
            .first()
            .and_then(|row| row.first())
            .and_then(super::json::unsigned)
            != Some(1)
        {
            self.run(
                &format!("CREATE DATABASE IF NOT EXISTS `{database}`{on}"),
                &[],
            )?;
        }
        let here = [("database", database)];
        for statement in ddl::all(layout) {
            self.run(&statement, &here)?;
        }
        let columns = "SELECT table, name FROM system.columns WHERE database = currentDatabase()";
        let columns = self.rows(columns, &[])?;
        for table in ddl::tables() {
            let has = |column: &Column| {
                columns.iter().any(|row| match row.as_slice() {
                    [of, name] => {
                        of.as_str() == Some(table.name) && name.as_str() == Some(column.name)
                    }
                    _ => false,
                })
            };
            let missing: Vec<&Column> =
                table.columns.iter().filter(|column| !has(column)).collect();
            for statement in ddl::add_columns(table, &missing, layout) {
                self.run(&statement, &here)?;
            }
        }
        Ok(())
    }

    fn note_version(&self, now: i64, program: &str) -> Result<(), Failure> {
        let database = self.address.database.as_str();
        let program: String = program
            .chars()
            .filter(|c| c.is_ascii_graphic() && !"'\\".contains(*c))
            .collect();
        let statement = format!(
            "INSERT INTO schema_version (version, at, program) VALUES ({VERSION}, {now}, '{program}')"
        );
        // The same row as of an earlier init must come in again.
        self.run(
            &statement,
            &[("database", database), ("insert_deduplicate", "0")],
        )
    }

    /// Whether inserts may be told what exactly-once needs.
    fn check_settings(&self) -> Result<(), Failure> {
        let statement = "SELECT name, value, readonly FROM system.settings";
        let rows = self.rows(statement, &[("database", "system")])?;
        for (name, wanted) in SENT {
            let row = rows.iter().find_map(|row| match row.as_slice() {
                [of, value, readonly] if of.as_str() == Some(name) => Some((value, readonly)),
                _ => None,
            });
            let Some((value, readonly)) = row else {
                return Err(self.stop(format!(
                    "the server has no setting '{name}', which exactly-once needs: it is too old"
                )));
            };
            let is_fixed = super::json::unsigned(readonly) == Some(1);
            if is_fixed && (wanted.is_none() || value.as_str() != wanted) {
                return Err(self.stop(format!(
                    "the user may not change the setting '{name}', which exactly-once needs: \
                     take `readonly` and constraints out of its profile"
                )));
            }
        }
        Ok(())
    }

    /// Whether the tables remember tokens: somebody else may have made them, or changed them.
    fn check_tables(&self) -> Result<(), Failure> {
        let statement = "SELECT name, engine, engine_full FROM system.tables WHERE database = currentDatabase()";
        for row in self.rows(statement, &[])? {
            let texts: Vec<&str> = row.iter().filter_map(|cell| cell.as_str()).collect();
            let [name, engine, full] = texts.as_slice() else {
                continue;
            };
            let base = name.strip_suffix("_local").unwrap_or(name);
            let is_ours = ddl::tables().any(|table| table.name == base);
            let window = match engine.strip_suffix("MergeTree") {
                Some(kind) if kind.starts_with("Replicated") || kind.starts_with("Shared") => {
                    "replicated_deduplication_window"
                }
                Some(_) => "non_replicated_deduplication_window",
                None => continue,
            };
            if is_ours && window_of(full, window).is_none_or(|tokens| tokens == 0) {
                return Err(self.stop(format!(
                    "table '{name}' remembers no tokens: rows would be there twice. \
                     ALTER TABLE {name} MODIFY SETTING {window} = 100000"
                )));
            }
        }
        Ok(())
    }
}

/// The number behind ` NAME = `.
fn window_of(full: &str, name: &str) -> Option<u64> {
    let (_, rest) = full.split_once(&format!(" {name} = "))?;
    rest.split(|c: char| !c.is_ascii_digit())
        .next()?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_found_by_its_whole_name() {
        let full = "ReplacingMergeTree ORDER BY a SETTINGS index_granularity = 8192, non_replicated_deduplication_window = 7";
        assert_eq!(
            window_of(full, "non_replicated_deduplication_window"),
            Some(7)
        );
        assert_eq!(window_of(full, "replicated_deduplication_window"), None);
    }
}
