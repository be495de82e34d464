//! Lines of InnoDB's status, and waits for its latches.

use super::super::pseudonyms::Pseudonyms;
use super::super::{innodb, semaphores};
use super::{all, blank};

#[test]
fn transactions_tell_who() {
    all(
        &[
            (
                "MySQL thread id 5, OS thread handle 0x7f, query id 9 web7 10.0.0.5 bob updating",
                "MySQL thread id 5, OS thread handle 0x7f, query id 9 <host> <addr> <user> updating",
            ),
            (
                "MySQL thread id 5, OS thread handle 0x7f, query id 9 10.0.0.5 bob",
                "MySQL thread id 5, OS thread handle 0x7f, query id 9 <addr> <user>",
            ),
            (
                "MariaDB thread id 5, OS thread handle 1, query id 9 localhost root Updating",
                "MariaDB thread id 5, OS thread handle 1, query id 9 localhost root Updating",
            ),
            (
                "MySQL thread id 1, OS thread handle 1, query id 0 Waiting for background binlog tasks",
                "MySQL thread id 1, OS thread handle 1, query id 0 Waiting for background binlog tasks",
            ),
            (
                "RECORD LOCKS space id 5 page no 4 n bits 72 index `PRIMARY` of table `shop`.`orders` trx id 51",
                "RECORD LOCKS space id 5 page no 4 n bits 72 index `PRIMARY` of table `<schema>`.`<table>` trx id 51",
            ),
            (
                "TABLE LOCK table `shop/orders` trx id 51 lock mode IX",
                "TABLE LOCK table `<schema>/<table>` trx id 51 lock mode IX",
            ),
        ],
        |pseudonyms, given| {
            innodb::rename(
                pseudonyms,
                &format!("---TRANSACTION 51, ACTIVE 1 sec\n{given}"),
            )
            .split_once('\n')
            .unwrap()
            .1
            .to_owned()
        },
    );
}

/// Notes of people, and names in places where InnoDB has none: the line is InnoDB's by its begin.
#[test]
fn innodbs_lines_keep_innodbs_words_only() {
    all(
        &[
            (
                "--Thread 140 has waited at row0ins.cc line 2791 for 241.00 seconds the semaphore:",
                "--Thread 140 has waited at row0ins.cc line 2791 for 241.00 seconds the semaphore:",
            ),
            (
                "--Thread 140 has waited at quillfeather.cc line 27 for 3.00 seconds the semaphore: quillfeather",
                "--Thread 140 has waited at ? line 27 for 3.00 seconds the semaphore: ?",
            ),
            (
                "Trx read view will not see trx with id >= 221D3E, sees < CECA",
                "Trx read view will not see trx with id >= 221D3E, sees < CECA",
            ),
            (
                "mysql tables in use 1, locked 1 quillfeather",
                "mysql tables in use 1, locked 1 ?",
            ),
            (
                "TABLE LOCK table `shop`.`orders` trx id 51 lock mode IX quillfeather",
                "TABLE LOCK table `<schema>`.`<table>` trx id 51 lock mode IX ?",
            ),
            (
                "MySQL thread id 5, OS thread handle 0x7f, query id 9 localhost root updating quillfeather",
                "MySQL thread id 5, OS thread handle 0x7f, query id 9 localhost root updating <name>",
            ),
            (
                "MySQL thread id 5 quillfeather, OS thread handle 0x7f, query id 9 localhost root",
                "MySQL thread id 5 ?, OS thread handle 0x7f, query id 9 localhost root",
            ),
        ],
        |pseudonyms, given| {
            let before = match given.starts_with("--Thread") {
                true => "",
                false => "---TRANSACTION 51, ACTIVE 1 sec\n",
            };
            let begin = "2026-11-20 14:00:00 0x7f INNODB MONITOR OUTPUT";
            let renamed = innodb::rename(pseudonyms, &format!("{begin}\n{before}{given}"));
            renamed.lines().last().unwrap().to_owned()
        },
    );
}

/// A wait for a latch that a capture tells.
#[test]
fn files_of_latches_are_innodbs_or_go() {
    let body = r#"[{"thread":"1","connection_id":null,"file":"quillfeather.cc","line":3768,"seconds":3.0,
        "lock_kind":"X-lock","lock_name":null,"lock_address":"0x5","created_file":"dict0dict.cc","created_line":1081,
        "holder_thread":null,"holder_connection_id":null,"holder_query":null,"ended":false}]"#;
    let blank = blank();
    let mut pseudonyms = Pseudonyms::new(&blank, b"salt", "");
    let renamed = semaphores(&mut pseudonyms, body);
    assert!(!renamed.contains("quillfeather"), "{renamed}");
    for kept in ["dict0dict.cc", "3768", "X-lock"] {
        assert!(renamed.contains(kept), "{kept}: {renamed}");
    }
}

/// Of a file that was made before such notes were left out.
#[test]
fn what_was_noted_behind_a_latch_goes() {
    let body = r#"[{"thread":"1","connection_id":null,"file":"dict0dict.cc","line":3768,"seconds":3.0,
        "lock_kind":"quillfeather says: X-lock (wait_ex)","lock_name":"double-write buffer flush, quillfeather",
        "lock_address":"0x5","created_file":null,"created_line":null,"holder_thread":"13 quillfeather",
        "holder_mode":"wait exclusive  <-- of quillfeather","holder_connection_id":null,"holder_query":null,"ended":false}]"#;
    let blank = blank();
    let mut pseudonyms = Pseudonyms::new(&blank, b"salt", "");
    let renamed = semaphores(&mut pseudonyms, body);
    assert!(!renamed.contains("quillfeather"), "{renamed}");
    for kept in [
        "X-lock (wait_ex)",
        "double-write buffer flush",
        "wait exclusive",
        "\"13 ",
    ] {
        assert!(renamed.contains(kept), "{kept}: {renamed}");
    }
}
