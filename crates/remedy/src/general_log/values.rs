//! The three variables of the general log, read and set.

use serde::{Deserialize, Serialize};
use server::{ServerError, Session};

/// The three variables that a lease of the general log changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Values {
    /// `general_log`
    pub general_log: bool,
    /// `log_output`: `FILE`, `TABLE`, `FILE,TABLE` or `NONE`.
    pub log_output: String,
    /// `general_log_file`
    pub general_log_file: String,
}

impl Values {
    /// Asks the server.
    pub fn read(session: &mut Session) -> Result<Self, ServerError> {
        let question = "SELECT @@GLOBAL.general_log AS general_log, @@GLOBAL.log_output AS log_output, \
            @@GLOBAL.general_log_file AS general_log_file";
        let (rows, _) = session.rows(question, 1)?;
        let get = |name: &str| {
            rows.first()
                .map_or_else(String::new, |row| row.get(name).to_owned())
        };
        Ok(Self {
            general_log: get("general_log") == "1",
            log_output: get("log_output"),
            general_log_file: get("general_log_file"),
        })
    }

    /// Whether the general log is written to a file.
    pub(crate) fn writes_file(&self) -> bool {
        self.general_log
            && self
                .outputs()
                .any(|output| output.eq_ignore_ascii_case("FILE"))
    }

    /// Whether the slow log or the general log would be written to a table.
    pub(crate) fn writes_table(&self) -> bool {
        self.outputs()
            .any(|output| output.eq_ignore_ascii_case("TABLE"))
    }

    fn outputs(&self) -> impl Iterator<Item = &str> {
        self.log_output.split(',').map(str::trim)
    }

    /// What is set for the time of a lease: the log goes to our file, and to the table as well where it went there.
    pub(crate) fn for_lease(&self, file: String) -> Self {
        let keeps_table = self.general_log && self.writes_table();
        Self {
            general_log: true,
            log_output: if keeps_table { "FILE,TABLE" } else { "FILE" }.to_owned(),
            general_log_file: file,
        }
    }

    /// The statements that set this, in the order of taking a lease: the name of the file first.
    pub(crate) fn taking(&self) -> Vec<String> {
        vec![
            set("general_log_file", &quoted(&self.general_log_file)),
            set("log_output", &quoted(&self.log_output)),
            set("general_log", on_off(self.general_log)),
        ]
    }

    /// The statements that set this again: the log off first, the name of the file last.
    pub(crate) fn giving_back(&self) -> Vec<String> {
        let mut statements = vec![
            set("log_output", &quoted(&self.log_output)),
            set("general_log_file", &quoted(&self.general_log_file)),
        ];
        // A log that was on goes on: it was written to a table, or nowhere.
        let at = if self.general_log { 2 } else { 0 };
        statements.insert(at, set("general_log", on_off(self.general_log)));
        statements
    }
}

fn set(name: &str, value: &str) -> String {
    format!("SET GLOBAL {name} = {value}")
}

fn on_off(on: bool) -> &'static str {
    if on { "ON" } else { "OFF" }
}

/// A string for the default `sql_mode`, which [`super::take_lease`] and [`super::give_back`] set.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(general_log: bool, log_output: &str) -> Values {
        Values {
            general_log,
            log_output: log_output.to_owned(),
            general_log_file: "/d/host.log".to_owned(),
        }
    }

    #[test]
    fn the_log_is_off_before_anything_else_is_back() {
        assert_eq!(
            values(false, "TABLE").giving_back(),
            [
                "SET GLOBAL general_log = OFF",
                "SET GLOBAL log_output = 'TABLE'",
                "SET GLOBAL general_log_file = '/d/host.log'",
            ]
        );
    }

    #[test]
    fn the_file_s_name_is_the_first_to_come_and_the_last_to_go() {
        for before in [
            values(false, "FILE"),
            values(true, "TABLE"),
            values(true, "NONE"),
        ] {
            let ours = before.for_lease("/d/ours.log".to_owned());
            assert!(ours.taking()[0].contains("general_log_file"));
            let back = before.giving_back();
            let file = back
                .iter()
                .position(|statement| statement.contains("general_log_file"));
            let output = back
                .iter()
                .position(|statement| statement.contains("log_output"));
            assert!(file > output, "{back:?}");
        }
    }

    #[test]
    fn a_table_that_is_written_goes_on_to_be_written() {
        assert_eq!(
            values(true, "TABLE").for_lease(String::new()).log_output,
            "FILE,TABLE"
        );
        assert_eq!(
            values(false, "TABLE").for_lease(String::new()).log_output,
            "FILE"
        );
        assert_eq!(
            values(false, "NONE").for_lease(String::new()).log_output,
            "FILE"
        );
        assert!(values(true, "TABLE, FILE").writes_file());
        assert!(!values(false, "FILE").writes_file());
        assert!(!values(true, "NONE").writes_file());
    }

    #[test]
    fn quotes_cannot_end_a_value() {
        assert_eq!(quoted("a'b\\"), "'a''b\\\\'");
    }
}
