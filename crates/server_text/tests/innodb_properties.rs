//! The InnoDB status parser on texts that nobody wrote.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use server_text::innodb::{STATUS_BYTES_MAX, parse, redact, semaphore_waits, signals};

const FIXTURE: &str = include_str!("fixtures/innodb-status-mariadb-10.11.txt");

const SECRET: &str = "s3cr3t";

/// What a client may put into a string, with the quotes as the client has to write them.
const STRING_PIECES: [&str; 16] = [
    SECRET,
    "it''s",
    r"it\'s",
    r"\\",
    "\"",
    "`",
    " -- ",
    "/*",
    "*/",
    "\n",
    "\n\n",
    "\n--------\nFILE I/O\n--------\n",
    "\n---TRANSACTION 9, ACTIVE 999 sec\n",
    "\nTABLE LOCK table `a`.`b` trx id 5 lock mode IX\n",
    "\n 0: len 4; hex ",
    "\nTrx read view will not see trx with id >= 1, sees < 1\n",
];

/// Statements with up to `parts` literals of up to `pieces` pieces. With two of two they are
/// shorter than any that a server cuts.
fn statement(parts: usize, pieces: usize) -> impl Strategy<Value = String> {
    let string =
        vec(select(&STRING_PIECES), 0..=pieces).prop_map(|pieces| format!("'{}'", pieces.concat()));
    let literal = prop_oneof![
        string,
        Just(format!("\"{SECRET}\"")),
        Just(format!("x'4d' '{SECRET}'")),
        Just("0x733363723374".to_owned()),
        Just("73337".to_owned()),
    ];
    let gap = select(&[
        " ",
        "\n",
        "\n  \n",
        " /* s3cr3t it's */ ",
        " -- s3cr3t it's\n",
        " # s3cr3t\n",
    ]);
    vec(
        (select(&["a =", "b in", "and `c` <>"]), gap, literal),
        0..=parts,
    )
    .prop_map(|parts| {
        let mut text = String::from("update t set x = 1 where");
        for (name, gap, literal) in parts {
            text += &format!(" {name}{gap}{literal}");
        }
        text
    })
}

fn thread_line() -> impl Strategy<Value = &'static str> {
    select(&[
        "MySQL thread id 8, query id 9 localhost root Updating",
        "MySQL thread id 8, OS thread handle 0x7f9a0c44e700, query id 9 10.0.0.1 root",
        "MariaDB thread id 8, OS thread handle 140050469271232, query id 9 localhost root ",
    ])
}

fn transaction(parts: usize, pieces: usize) -> impl Strategy<Value = String> {
    let head = select(&[
        "---TRANSACTION 0 61205517, ACTIVE 5 sec, process no 3177, OS thread id 12 fetching rows",
        "---TRANSACTION 5A90D1C2, ACTIVE (PREPARED) 4 sec",
        "---TRANSACTION (0x7fd0442a1b30), ACTIVE 3 sec",
    ]);
    let tail = select(&[
        "",
        "Trx read view will not see trx with id >= 3, sees < 3\n",
        "------- TRX HAS BEEN WAITING 7 SEC FOR THIS LOCK TO BE GRANTED:\n\
         RECORD LOCKS space id 5 page no 3 n bits 320 index PRIMARY of table `d`.`t` trx id 4 lock_mode X waiting\n\
         Record lock, heap no 2 PHYSICAL RECORD: n_fields 2; compact format; info bits 0\n \
         0: len 6; hex 733363723374; asc s3cr3t;;\n \
         1: len 30; hex 733363723374; asc s3cr3t; 1: len 6; hex s3cr3t;; (total 99 bytes);\n\n\
         ------------------\n",
    ]);
    (head, thread_line(), statement(parts, pieces), tail).prop_map(
        |(head, thread, statement, tail)| {
            format!(
                "{head}\nmysql tables in use 1, locked 1\n\
             2 lock struct(s), heap size 1128, 1 row lock(s)\n{thread}\n{statement}\n{tail}"
            )
        },
    )
}

fn status(parts: usize, pieces: usize) -> impl Strategy<Value = (String, usize)> {
    let transactions = vec(transaction(parts, pieces), 0..5);
    let statement = || statement(parts, pieces);
    (transactions, statement(), statement()).prop_map(|(transactions, fk, deadlock)| {
        let text = format!(
            "=====================================\n\
             2026-11-20 23:40:21 0x7f600a6aa6c0 INNODB MONITOR OUTPUT\n\
             =====================================\n\
             ----------\nSEMAPHORES\n----------\nOS WAIT ARRAY INFO: reservation count 1\n\
             --Thread 12 has waited at btr0cur.cc line 1 for 3.00 seconds the semaphore:\n\
             Mutex at 0x1, Mutex DICT_SYS created dict0dict.cc:1173, lock var 1\n\n\
             ------------------------\nLATEST FOREIGN KEY ERROR\n------------------------\n\
             2026-11-20 23:40:13 0x7f Transaction:\nTRANSACTION 33, ACTIVE 0 sec inserting\n\
             MySQL thread id 5, OS thread handle 1, query id 12 localhost root Update\n{fk}\n\
             Foreign key constraint fails for table `d`.`c`:\n,\n  \
             CONSTRAINT `c1` FOREIGN KEY (`pid`) REFERENCES `p` (`id`) in parent table, in index c1 tuple:\n\
             DATA TUPLE: 1 fields;\n 0: len 6; hex 733363723374; asc s3cr3t;;\n\n\
             ------------------------\nLATEST DETECTED DEADLOCK\n------------------------\n\
             2026-11-20 23:40:14 0x7f600a78b6c0\n*** (1) TRANSACTION:\n\
             TRANSACTION 36, ACTIVE 1 sec starting index read\n\
             MySQL thread id 7, OS thread handle 1, query id 21 localhost root Updating\n{deadlock}\n\
             *** (1) WAITING FOR THIS LOCK TO BE GRANTED:\n*** WE ROLL BACK TRANSACTION (1)\n\
             ------------\nTRANSACTIONS\n------------\nTrx id counter 42\nHistory list length 7\n\
             LIST OF TRANSACTIONS FOR EACH SESSION:\n{}\
             --------\nFILE I/O\n--------\nPending flushes (fsync): 3\n\
             ---\nLOG\n---\nLog sequence number 10\nLast checkpoint at  4\n\
             ----------------------------\nEND OF INNODB MONITOR OUTPUT\n============================\n",
            transactions.concat()
        );
        (text, transactions.len())
    })
}

fn has_secret(text: &str) -> bool {
    text.contains(SECRET) || text.contains("733363723374") || text.contains("73337")
}

proptest! {
    #[test]
    fn arbitrary_text_is_read(text in any::<String>()) {
        signals(&parse(&text));
        semaphore_waits(&text);
        prop_assert!(redact(&text).len() <= STATUS_BYTES_MAX);
    }

    #[test]
    fn arbitrary_parts_of_a_status_are_read(
        lines in vec(select(FIXTURE.lines().collect::<Vec<_>>()), 0..60),
        words in vec(select(FIXTURE.split(' ').collect::<Vec<_>>()), 0..60),
    ) {
        for text in [lines.join("\n"), words.join(" "), words.join("\n")] {
            signals(&parse(&text));
            semaphore_waits(&text);
            let redacted = redact(&text);
            parse(&redacted);
        }
    }

    #[test]
    fn a_statement_is_not_read_and_not_shown((text, transactions) in status(2, 2)) {
        let status = parse(&text);
        prop_assert!(status.complete);
        prop_assert_eq!(status.transactions.active_count, Some(transactions as u64));
        prop_assert_eq!(status.transactions.history_list_length, Some(7));
        prop_assert_eq!(status.semaphore_waits.len(), 1);
        prop_assert_eq!(status.pending_io.fsyncs, Some(3));
        prop_assert_eq!(status.log.checkpoint_age_bytes(), Some(6));
        let redacted = redact(&text);
        prop_assert!(!has_secret(&redacted), "{}", redacted);
        prop_assert_eq!(parse(&redacted), status);
        prop_assert_eq!(redact(&redacted), redacted);
    }

    #[test]
    fn a_long_statement_is_not_shown((text, _) in status(4, 8), bytes in 0_usize..3_000) {
        let long = format!("where ''='{}' and", "x".repeat(bytes));
        let text = text.replace("where", &long);
        let redacted = redact(&text);
        prop_assert!(!has_secret(&redacted), "{}", redacted);
        prop_assert!(parse(&redacted).complete);
    }

    #[test]
    fn a_cut_status_is_not_shown((text, _) in status(4, 8), cut in any::<prop::sample::Index>()) {
        let (head, _) = text.split_at(cut.index(text.len()));
        prop_assert!(!has_secret(&redact(head)), "{}", redact(head));
        parse(head);
    }
}
