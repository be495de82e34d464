//! The mixes of statements that a load sends, and the tables that they need.

use std::time::Duration;

use mysql::prelude::Queryable;

use crate::{Error, Login};

/// Rows of the table `freezeframe_lab.t`. [`MIXES`] adds at most as many again, and at most 64
/// times as many to `freezeframe_lab.journal`.
pub const ROWS: u32 = 10_000;

/// Rows of one INSERT while the table is filled.
const ROWS_PER_INSERT: u32 = 1_000;

/// How long one statement of the preparation may take.
const PREPARE_TIMEOUT: Duration = Duration::from_secs(30);

/// A named mixture of statements.
#[derive(Debug, Clone, Copy)]
pub struct Mix {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it does, in one line.
    pub what: &'static str,
    /// Whether it needs the tables that [`Mix::prepare`] makes.
    pub needs_table: bool,
    /// Weights and texts, as [`crate::Load::statements`] explains them.
    pub statements: &'static [(u32, &'static str)],
}

/// Every mixture there is. They use what MySQL 5.5 has already and MySQL 9 still has: it lost
/// `MD5()`.
pub const MIXES: [Mix; 5] = [
    Mix {
        name: "ordinary",
        what: "point selects, small ranges, inserts and updates of single rows",
        needs_table: true,
        statements: &[
            (70, "SELECT c FROM freezeframe_lab.t WHERE id = {row}"),
            (
                10,
                "SELECT id, k, c FROM freezeframe_lab.t WHERE id BETWEEN {row} AND {row} + 19",
            ),
            (
                15,
                "UPDATE freezeframe_lab.t SET k = k + 1 WHERE id = {row}",
            ),
            (
                5,
                "INSERT INTO freezeframe_lab.t (id, k, c) \
                 VALUES (10000 + {row}, 1, REPEAT(LPAD(HEX({row} * 2654435761), 16, '0'), 6)) \
                 ON DUPLICATE KEY UPDATE k = k + 1",
            ),
        ],
    },
    Mix {
        name: "show-warnings",
        what: "SHOW WARNINGS after nothing, as a driver at log level \"warning\" sends it",
        needs_table: false,
        statements: &[(1, "SHOW WARNINGS")],
    },
    Mix {
        name: "point-selects",
        what: "selects by primary key",
        needs_table: true,
        statements: &[(1, "SELECT c FROM freezeframe_lab.t WHERE id = {row}")],
    },
    Mix {
        name: "reports",
        what: "aggregates and sorts over the whole table",
        needs_table: true,
        statements: &[
            (
                2,
                "SELECT k DIV 100 AS part, COUNT(*), SUM(id), MAX(c) FROM freezeframe_lab.t \
                 GROUP BY part ORDER BY 3 DESC",
            ),
            (
                1,
                "SELECT c, id FROM freezeframe_lab.t WHERE k > {row} ORDER BY c LIMIT 50",
            ),
            (
                1,
                "SELECT COUNT(*) FROM freezeframe_lab.t a JOIN freezeframe_lab.t b ON b.id = a.k WHERE a.id < {row}",
            ),
        ],
    },
    Mix {
        name: "transactions",
        what: "small transactions: BEGIN, select, update and insert of a row, COMMIT",
        needs_table: true,
        // The journal's ids keep connections apart and its size within bounds.
        statements: &[(
            1,
            "BEGIN;\n\
             SELECT c FROM freezeframe_lab.t WHERE id = {row};\n\
             UPDATE freezeframe_lab.t SET k = k + 1 WHERE id = {row};\n\
             INSERT INTO freezeframe_lab.journal (id, k, c) \
             VALUES (CONNECTION_ID() % 64 * 10000 + {row}, {row}, REPEAT(LPAD(HEX({row} * 2654435761), 16, '0'), 6)) \
             ON DUPLICATE KEY UPDATE k = k + 1;\n\
             COMMIT",
        )],
    },
];

/// The mixture of that name.
pub fn mix(name: &str) -> Option<&'static Mix> {
    MIXES.iter().find(|mix| mix.name == name)
}

impl Mix {
    /// Its statements as [`crate::Load`] takes them.
    pub fn statements(&self) -> Vec<(u32, String)> {
        self.statements
            .iter()
            .map(|(weight, text)| (*weight, (*text).to_owned()))
            .collect()
    }

    /// Makes the schema `freezeframe_lab`, its tables `t`, filled, and `journal`, empty, if the
    /// mixture needs them and they are not there. The schema is the lab's: nothing else is touched.
    pub fn prepare(&self, login: &Login) -> Result<(), Error> {
        if !self.needs_table {
            return Ok(());
        }
        let mut connection = login.connect(false, PREPARE_TIMEOUT)?;
        let mut run = |sql: String| {
            connection
                .query_drop(sql)
                .map_err(Error::client("prepare freezeframe_lab.t"))
        };
        run("CREATE DATABASE IF NOT EXISTS freezeframe_lab".to_owned())?;
        for table in ["t", "journal"] {
            run(format!(
                "CREATE TABLE IF NOT EXISTS freezeframe_lab.{table} \
                 (id INT UNSIGNED NOT NULL PRIMARY KEY, k INT UNSIGNED NOT NULL, \
                 c VARCHAR(120) NOT NULL, KEY (k)) ENGINE=InnoDB"
            ))?;
        }
        for first in (1..=ROWS).step_by(ROWS_PER_INSERT as usize) {
            let rows: Vec<String> = (first..first + ROWS_PER_INSERT)
                .map(|id| {
                    format!(
                        "({id}, {}, REPEAT(LPAD(HEX({id} * 2654435761), 16, '0'), 6))",
                        id.wrapping_mul(7919) % ROWS
                    )
                })
                .collect();
            run(format!(
                "INSERT IGNORE INTO freezeframe_lab.t (id, k, c) VALUES {}",
                rows.join(", ")
            ))?;
        }
        Ok(())
    }
}
