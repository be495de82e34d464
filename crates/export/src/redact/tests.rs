//! What is a name and what is not, form by form. A pseudonym is shown as its kind in angle brackets.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use model::Incident;
use regex::Regex;

use super::pseudonyms::Pseudonyms;
use super::{locks, names, series, statement, text, values};

mod forms;
mod innodb_lines;
mod pseudonyms;
mod search;
mod secrets;
mod sessions;
mod settings;
mod stacks;
mod variables;

fn blank() -> Incident {
    Incident::default()
}

/// Pseudonyms as `<kind>`.
fn shown(text: &str) -> String {
    let form = Regex::new(
        "(user|host|addr|schema|table|name|dir|program|uuid)_[bcdfghjklmnpqrstvwxz0-9]{10}",
    )
    .unwrap();
    form.replace_all(text, "<$1>").into_owned()
}

fn all(cases: &[(&str, &str)], rename: impl Fn(&mut Pseudonyms<'_>, &str) -> String) {
    let blank = blank();
    for (given, expected) in cases {
        let mut pseudonyms = Pseudonyms::new(&blank, b"salt", "");
        let first = rename(&mut pseudonyms, given);
        assert_eq!(&shown(&first), expected, "{given}");
        // What is known changes nothing of what was known by its form.
        pseudonyms.learn();
        assert_eq!(
            &shown(&rename(&mut pseudonyms, given)),
            expected,
            "{given}, again"
        );
    }
}

#[test]
fn statements_keep_what_is_sql() {
    all(
        &[
            (
                "select a, b from s.t where c = 'x' and d > -5",
                "select <name>, <name> from <schema>.<table> where <name> = ? and <name> > -?",
            ),
            (
                "SELECT COUNT(*) FROM `My Table` AS `x`",
                "SELECT COUNT(*) FROM `<table>` AS `<name>`",
            ),
            (
                "select user, host from mysql.user",
                "select user, host from mysql.user",
            ),
            (
                "select * from information_schema.tables where a = ?",
                "select * from information_schema.tables where <name> = ?",
            ),
            // A keyword is a name where a name stands.
            (
                "select status from status where status.id = 1",
                "select status from <table> where <table>.<name> = ?",
            ),
            (
                "update t set a = a + 1 /* acme */ where id in (?+)",
                "update <table> set <name> = <name> + ?  where <name> in (?+)",
            ),
            (
                "insert into t (a) values (1, 'acme')",
                "insert into <table> (<name>) values (?, ?)",
            ),
            (
                "call acme_proc(@acme, @@global.max_connections)",
                "call <name>(@<name>, @@global.max_connections)",
            ),
            // A replication connection or a cache has a name, the variable behind it is the server's.
            (
                "SELECT @@acme_prod_master.sql_slave_skip_counter",
                "SELECT @@<name>.sql_slave_skip_counter",
            ),
            (
                "set global a = 1, @@global.acme_hot_cache.key_buffer_size = 5",
                "set global <name> = ?, @@global.<name>.key_buffer_size = ?",
            ),
            (
                "select @@`Acme cache`.key_buffer_size",
                "select @@`<name>`.<name>",
            ),
            (
                "select @@acme_secret, @@innodb_flush_log_at_trx_commit, @@session.sql_mode, @@version_comment",
                "select @@<name>, @@innodb_flush_log_at_trx_commit, @@session.sql_mode, @@version_comment",
            ),
            ("lock tables t write", "lock tables <table> write"),
            ("flush tables with read lock", "flush tables with read lock"),
            ("show engine innodb status", "show engine innodb status"),
            ("show warnings", "show warnings"),
            ("use acme", "use <schema>"),
            ("select 'never ends", "select ?"),
            ("select * from acme…", "select * from <table>…"),
            (
                "insert into t select * from u for update",
                "insert into <table> select * from <table> for update",
            ),
            ("", ""),
        ],
        statement::rename,
    );
}

#[test]
fn logs_are_read_by_form() {
    all(
        &[
            (
                "Access denied for user 'bob'@'web7' (using password: YES)",
                "Access denied for user '<user>'@'<host>' (using password: YES)",
            ),
            (
                "Access denied for user 'root'@'localhost' (using password: NO)",
                "Access denied for user 'root'@'localhost' (using password: NO)",
            ),
            (
                "Aborted connection 5 to db: 'shop' user: 'app' host: '10.0.0.5' (Got an error)",
                "Aborted connection 5 to db: '<schema>' user: '<user>' host: '<addr>' (Got an error)",
            ),
            (
                "Table './shop/orders' is marked as crashed",
                "Table './<dir>/<dir>' is marked as crashed",
            ),
            (
                "Table 'shop.orders' doesn't exist",
                "Table '<schema>.<table>' doesn't exist",
            ),
            (
                "Table 'performance_schema.status_by_thread' doesn't exist",
                "Table 'performance_schema.status_by_thread' doesn't exist",
            ),
            (
                "Duplicate entry 'bob smith' for key 'mail'",
                "Duplicate entry '?' for key '<name>'",
            ),
            (
                "InnoDB: Operating system error number 28 in ./shop/orders#P#p2019.ibd",
                "InnoDB: Operating system error number 28 in ./<dir>/<dir>#P#<name>.ibd",
            ),
            (
                "InnoDB: page_cleaner: 1000ms intended loop took 4013ms.",
                "InnoDB: page_cleaner: 1000ms intended loop took 4013ms.",
            ),
            (
                "Version: '10.11.19-MariaDB-log'  socket: '/run/mysqld/mysqld.sock'  port: 3306",
                "Version: '10.11.19-MariaDB-log'  socket: '/run/mysqld/mysqld.sock'  port: 3306",
            ),
            (
                "--Thread 140 has waited at row0ins.cc line 2791 for 241.00 seconds the semaphore:",
                "--Thread 140 has waited at row0ins.cc line 2791 for 241.00 seconds the semaphore:",
            ),
            (
                "/usr/lib/x86_64-linux-gnu/libc.so.6(clone+0x3f)[0x7f]",
                "/usr/lib/x86_64-linux-gnu/libc.so.6(clone+0x3f)[0x7f]",
            ),
            (
                "/srv/acme/lib/mysqld.sock is bad",
                "/srv/<dir>/lib/mysqld.sock is bad",
            ),
            ("mail ops@acme.example now", "mail <user>@<host> now"),
            (
                "see https://wiki.acme.example/x?y=1",
                "see https://<host>/<dir>",
            ),
            (
                "from fe80::1ff:fe23:4567:890a to ::1 at 12:34:56",
                "from <addr> to ::1 at 12:34:56",
            ),
            ("id 0f8e4621-d2fa-48fa-97f3-f664df620b51", "id <uuid>"),
            (
                "db1.acme.internal said 8.0.36 and 3.5 reads/s",
                "<host> said 8.0.36 and 3.5 reads/s",
            ),
            ("it can't, won't and didn't", "it can't, won't and didn't"),
            (
                "Out of memory: Killed process 12 (billing) total-vm:1kB",
                "Out of memory: Killed process 12 (<program>) total-vm:1kB",
            ),
            (
                "Out of memory: Killed process 12 (mysqld) total-vm:1kB",
                "Out of memory: Killed process 12 (mysqld) total-vm:1kB",
            ),
            (
                "INFO: task kworker/0:1:77 blocked for more than 120 seconds.",
                "INFO: task kworker/0:1:77 blocked for more than 120 seconds.",
            ),
            (
                "Nov 20 23:40:21 web7 kernel: [1.2] I/O error",
                "Nov 20 23:40:21 <host> kernel: [1.2] I/O error",
            ),
        ],
        text::rename,
    );
}

/// `@@version_comment` is what the builder of a server wrote.
#[test]
fn who_built_a_server_is_not_told() {
    let blank = blank();
    let mut pseudonyms = Pseudonyms::new(&blank, b"salt", "");
    for name in ["server.version", "variables.version_comment"] {
        let shown = values::rename(&mut pseudonyms, name, "8.0.36 (quillfeather build)");
        assert!(!shown.contains("quillfeather"), "{shown}");
        assert!(
            shown.starts_with("8.0.36 (") && shown.ends_with(" build)"),
            "{shown}"
        );
        for version in [
            "10.11.19-MariaDB-0+deb12u1 (Debian 12)",
            "10.6.16-MariaDB-log (mariadb.org binary distribution)",
            "8.0.36 (MySQL Community Server - GPL)",
            "8.0.36-28 (Percona Server (GPL), Release 28)",
            "5.7.44-log (Source distribution)",
        ] {
            let shown = values::rename(&mut pseudonyms, name, version);
            assert_eq!(shown, version);
        }
    }
}

#[test]
fn bare_names_are_known_by_the_words_around_them() {
    all(
        &[
            (
                "RECORD LOCKS space id 5 page no 4 n bits 72 index mail_idx of table `shop`.`orders` trx id 51",
                "RECORD LOCKS space id 5 page no 4 n bits 72 index <name> of table `<schema>`.`<table>` trx id 51",
            ),
            (
                "RECORD LOCKS space id 5 page no 4 n bits 72 index PRIMARY of table `shop`.`orders` trx id 51",
                "RECORD LOCKS space id 5 page no 4 n bits 72 index PRIMARY of table `<schema>`.`<table>` trx id 51",
            ),
            (
                "RECORD LOCKS space id 5 page no 4 n bits 72 index GEN_CLUST_INDEX of table `shop`.`orders` trx id 51",
                "RECORD LOCKS space id 5 page no 4 n bits 72 index GEN_CLUST_INDEX of table `<schema>`.`<table>` trx id 51",
            ),
            // A word of the server's, too, where an index stands.
            (
                "InnoDB: index status of table \"shop\".\"orders\" is bad",
                "InnoDB: index <name> of table \"<schema>\".\"<table>\" is bad",
            ),
            (
                "But in parent table `shop`.`users`, in index mail_idx,",
                "But in parent table `<schema>`.`<table>`, in index <name>,",
            ),
            (
                "InnoDB: an index page of the index tree is in use",
                "InnoDB: an index page of the index tree is in use",
            ),
            (
                "init_connect='SET @x=\"hunter2\"'",
                "init_connect='SET @<name>=?'",
            ),
            ("report-host = db7", "report-host = <host>"),
            (
                "innodb_buffer_pool_size = 16G",
                "innodb_buffer_pool_size = 16G",
            ),
            ("key_buffer_size=134217728", "key_buffer_size=134217728"),
            ("password=hunter2 # of bob", "password=?"),
            (
                "Default database: 'shop'. Query: 'insert into t values ('x1y2', 5)', Error_code: 1062",
                "Default database: '<schema>'. Query: 'insert into <table> values (?, ?)', Error_code: 1062",
            ),
            (
                "connected to master 'repl@db7:3306' now",
                "connected to master '<user>@<host>:3306' now",
            ),
            (
                "Mutex at 0x7f5c '&kernel_mutex', lock var 1",
                "Mutex at 0x7f5c '&kernel_mutex', lock var 1",
            ),
            (
                "in file /build/mysql-5.7.22/storage/innobase/dict/dict0stats.cc line 5",
                "in file /build/mysql-5.7.22/storage/innobase/dict/dict0stats.cc line 5",
            ),
            ("N'bob' and x'626f62'", "N'?' and x'?'"),
            ("8.0.36-acme is 8.0.36-log", "8.0.36-<name> is 8.0.36-log"),
            ("mysql.acme.internal is down", "<host> is down"),
            (
                "/run/acme.sock and libacme.so.1",
                "/run/<dir>.sock and libacme.so.1",
            ),
        ],
        text::rename,
    );
}

/// Every host has them, so they are no names wherever they stand; nor is what stands for a name that was not read.
#[test]
fn what_every_host_has_is_no_name() {
    let blank = blank();
    let mut pseudonyms = Pseudonyms::new(&blank, b"salt", "");
    for text in ["host: '127.0.0.2' (aborted)", "from \"::1\"", "0.0.0.0"] {
        assert_eq!(text::rename(&mut pseudonyms, text), text);
    }
    let ended = model::ENDED_THREAD;
    assert_eq!(names::program(&mut pseudonyms, ended), ended);
    assert_eq!(pseudonyms.len(), 0);
    text::rename(&mut pseudonyms, "host: '10.9.8.7'");
    assert_eq!(pseudonyms.len(), 1);
}

#[test]
fn signals_are_named_after_folders_and_programs() {
    for (given, expected) in [
        ("filesystem./.used_share", "filesystem./.used_share"),
        (
            "filesystem./var/lib/mysql.used_share",
            "filesystem./var/lib/mysql.used_share",
        ),
        (
            "filesystem./srv/acme/mysql.used_share",
            "filesystem./srv/<dir>/mysql.used_share",
        ),
        (
            "filesystem./mnt/finance.dept.used_share",
            "filesystem./mnt/<dir>.used_share",
        ),
        ("top.billing.cpus", "top.<program>.cpus"),
        ("disk.nvme0n1.reads", "disk.nvme0n1.reads"),
        ("disk.sda.reads", "disk.sda.reads"),
        ("disk.dm-12.in_flight", "disk.dm-12.in_flight"),
        ("disk.vg_acme-data.reads", "disk.<dir>.reads"),
        ("status.Com_select", "status.Com_select"),
    ] {
        let blank = blank();
        let mut pseudonyms = Pseudonyms::new(&blank, b"salt", "");
        assert_eq!(shown(&series::rename(&mut pseudonyms, given)), expected);
    }
}

#[test]
fn locks_are_named_after_what_they_lock() {
    use model::LockTable;
    for (lock, doing, renamed, done) in [
        (
            "row lock on shop.orders (mail_idx)",
            "runs update orders set a = ? (open for 5 s) (from db7)",
            "row lock on <schema>.<table> (<name>)",
            "runs update <table> set <name> = ? (open for 5 s) (from <host>)",
        ),
        (
            "row lock on shop.orders (PRIMARY)",
            "runs no statement in its open transaction (from db7)",
            "row lock on <schema>.<table> (PRIMARY)",
            "runs no statement in its open transaction (from <host>)",
        ),
        (
            "metadata lock on shop",
            "waits for metadata lock on shop.t",
            "metadata lock on <schema>",
            "waits for metadata lock on <schema>.<table>",
        ),
        ("kernel_mutex", "runs", "kernel_mutex", "runs"),
        (
            "kernel_mutex",
            "runs in pwrite64",
            "kernel_mutex",
            "runs in pwrite64",
        ),
    ] {
        let table: LockTable = serde_json::from_value(serde_json::json!({
            "from": 1000, "to": 1000, "depth": "told", "by": "rows",
            "locks": [{
                "name": lock, "named_by": "told", "address": 0, "waiters_max": 1, "waits": 1,
                "total_us": 1.0, "max_us": 1.0, "share": 1.0, "callers": [],
                "holders": [{
                    "tid": 1, "name": "connection", "by": "server", "snapshots": 1, "stack": 0, "doing": doing,
                }],
            }],
            "conditions": [], "idle_threads": 0, "chains": [], "kernel_locks": [], "absent": [],
        }))
        .unwrap();
        let blank = blank();
        let mut pseudonyms = Pseudonyms::new(&blank, b"salt", "");
        let row = locks::rename(&mut pseudonyms, &table).locks.remove(0);
        assert_eq!(shown(&row.name), renamed);
        assert_eq!(shown(&row.holders[0].doing), done);
    }
}
