//! Deadlocks, foreign keys, waits for rows: what InnoDB prints with rows and statements.

use std::time::Duration;

use super::Planting;

impl Planting<'_> {
    /// Two sessions that wait for each other, and one that waits for a row while InnoDB's monitor prints.
    pub(crate) fn deadlock(&self) {
        let mut first = self.session();
        let mut second = self.session();
        let schema = ["USE `{schema}`", "BEGIN"];
        self.say(&mut first, &schema);
        self.say(&mut second, &schema);
        self.say(
            &mut first,
            &["UPDATE pairs SET note = '{email}' WHERE id = 1"],
        );
        self.say(
            &mut second,
            &["UPDATE pairs SET note = '{person}' WHERE id = 2"],
        );
        std::thread::scope(|scope| {
            let waits = scope.spawn(|| {
                self.say(
                    &mut first,
                    &["UPDATE pairs SET note = '{quoted}'\nWHERE id = 2 OR note = '{phrase}'"],
                )
            });
            std::thread::sleep(Duration::from_millis(300));
            self.say(
                &mut second,
                &["UPDATE pairs SET note = '{lines}' WHERE id = 1 /* {comment} */"],
            );
            waits.join().unwrap();
        });
    }

    /// Sessions that wait for rows which another one has, while InnoDB's status is printed. They end when their lock
    /// wait times out.
    pub(crate) fn row_waits(&self) -> Vec<std::thread::JoinHandle<()>> {
        let mut holder = self.session();
        self.say(
            &mut holder,
            &[
                "USE `{schema}`",
                "BEGIN",
                "UPDATE pairs SET note = '{token}'",
                "UPDATE `{table}` SET n = 1 WHERE `{column}` = '{email}'",
            ],
        );
        let statements = [
            "UPDATE pairs SET note = '{phrase} waits' WHERE id = 1",
            "DELETE FROM `{table}` WHERE `{column}` = '{email}' AND 'x' <> '{person}'",
            "SELECT *\nFROM `{table}`\nWHERE `{column}` = '{email}'\n  AND '{lines}' <> ''\nFOR UPDATE",
        ];
        let mut threads = Vec::new();
        for statement in statements {
            let mut session = self.session();
            self.say(
                &mut session,
                &["USE `{schema}`", "SET SESSION innodb_lock_wait_timeout = 5"],
            );
            let sql = self.markers.fill(statement);
            threads.push(std::thread::spawn(move || {
                let _ = super::all_results(&mut session, &sql);
            }));
        }
        threads.push(std::thread::spawn(move || {
            std::thread::sleep(Duration::from_secs(6));
            drop(holder);
        }));
        threads
    }

    /// InnoDB's monitor prints into the error log, every 15 to 20 s, until the server is started anew.
    pub(crate) fn monitor(&self) {
        let mut session = self.session();
        let set = [
            "SET GLOBAL innodb_status_output = ON",
            "SET GLOBAL innodb_status_output_locks = ON",
            "SET GLOBAL innodb_print_all_deadlocks = ON",
            "CREATE TABLE test.innodb_monitor (a INT) ENGINE=InnoDB",
            "CREATE TABLE test.innodb_lock_monitor (a INT) ENGINE=InnoDB",
        ];
        self.say(&mut session, &["CREATE DATABASE IF NOT EXISTS test"]);
        self.say(&mut session, &set);
    }
}
