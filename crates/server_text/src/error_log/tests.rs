//! Messages of error logs before and after redaction.

use super::*;

/// Values in their most awkward forms: quotes, what ends a message, numbers, a line of the log.
const VALUES: [&str; 14] = [
    "jane.roe@corp.invalid",
    "O'Hara-Quint",
    "4556737586899855",
    "zq7",
    "x' for key 'PRIMARY', Error_code: 1062; qqsecretq",
    "qq\nqqsecret' on query. Query: 'qqsecretq",
    "qq\n2026-01-02  3:04:05 9 [Note] qqsecret qq",
    "qq\n2026-01-02T03:04:05.000001Z 0 [Note] [MY-010914] [Server] Aborted connection 9 to db: 'qqsecret'",
    "qq\n---TRANSACTION 5, ACTIVE qqsecret sec\nMySQL thread id 5, qqsecret",
    "qq\nStatus: qqsecret\nkey_buffer_size=qqsecret",
    "Zażółć_gęślą",
    "機密情報",
    "{\"pin\": \"qq88231\"}",
    "qq\\' qqsecret",
];

/// Messages that hold a value, of all generations: `{}` is the value.
const MESSAGES: [&str; 34] = [
    "2026-01-02  3:04:05 9 [ERROR] Slave SQL: Error 'Duplicate entry '{}' for key 'PRIMARY'' on query. Default database: 'shop'. Query: 'INSERT INTO t VALUES ('{}')', Gtid 0-1-12, Internal MariaDB error code: 1062",
    "120906 12:14:44 [ERROR] Slave SQL: Error 'Duplicate entry '{}' for key 1' on query. Default database: 'shop'. Query: 'insert into t values (\"{}\")', Error_code: 1062",
    "2026-01-02T03:04:05.000001Z 9 [ERROR] [MY-010584] [Repl] Replica SQL for channel '': Worker 1 failed executing transaction 'ANONYMOUS' at source log binlog.000002, end_log_pos 712; Could not execute Write_rows event on table shop.t; Duplicate entry '{}' for key 't.PRIMARY', Error_code: 1062; handler error HA_ERR_FOUND_DUPP_KEY; the event's source log FIRST, end_log_pos 712, Error_code: MY-001062",
    "2026-01-02  3:04:05 9 [ERROR] Event Scheduler: [root@localhost].[shop.ev] {}",
    "2026-01-02  3:04:05 9 [ERROR] Event Scheduler: [root@localhost].[shop.ev] Duplicate entry '{}' for key 'PRIMARY'",
    "2026-01-02T03:04:05.000001Z 9 [ERROR] [MY-010045] [Server] Event Scheduler: [{}@localhost].[shop.ev] event execution failed.",
    "2026-01-02  3:04:05 9 [Warning] Aborted connection 9 to db: '{}' user: '{}' host: '{}' (Got timeout reading communication packets)",
    "2026-01-02  3:04:05 9 [Warning] Access denied for user '{}'@'localhost' (using password: YES)",
    "2026-01-02  3:04:05 9 [Warning] Access denied for user '{}",
    "2026-01-02  3:04:05 9 [Warning] {}",
    "2026-01-02  3:04:05 9 [ERROR] mariadbd: {}",
    "2026-01-02  3:04:05 9 [Note] 'CHANGE MASTER TO executed'. Previous state master_host='{}', master_port='3306', master_log_file='', master_log_pos='4'. New state master_host='{}', master_port='3307', master_log_file='{}', master_log_pos='4'.",
    "2026-01-02T03:04:05.000001Z 9 [System] [MY-010597] [Repl] 'CHANGE REPLICATION SOURCE TO' executed'. Previous state source_host='{}', source_port= 3306, source_log_file='', source_log_pos= 4, source_bind=''. New state source_host='{}', source_port= 3306",
    "2026-01-02  3:04:05 9 [ERROR] Slave I/O: error connecting to master '{}@{}:3306' - retry-time: 60  maximum-retries: 100000  message: Can't connect to server on '{}' (111 \"Connection refused\"), Internal MariaDB error code: 2003",
    "2026-01-02  3:04:05 9 [Warning] Unsafe statement written to the binary log using statement format since BINLOG_FORMAT = STATEMENT. Statement: INSERT INTO t VALUES ('{}', {})",
    "2026-01-02  3:04:05 9 [Warning] Incorrect integer value: '{}' for column `shop`.`t`.`a` at row 1",
    "2026-01-02  3:04:05 9 [Warning] XPATH syntax error: '{}'",
    "2026-01-02  3:04:05 9 [Warning] Data truncated for column '{}' at row 1",
    "Query (0x7f48bc0107d0): UPDATE t SET a = '{}'\nWHERE b = '{}'\nConnection ID (thread ID): 12\nStatus: NOT_KILLED",
    "Query (7f2bcc004d10): insert into t values ('{}')\nConnection ID (thread ID): 12",
    "2026-01-02  3:04:05 9 [ERROR] Doppelter Eintrag '{}' für Schlüssel 'PRIMARY'",
    "2026-01-02  3:04:05 9 [ERROR] '{}' は索引 'PRIMARY' で重複しています。",
    "2026-01-02  3:04:05 9 [ERROR] Дублирующаяся запись '{}' по ключу 'PRIMARY'",
    "2026-01-02  3:04:05 9 [ERROR] Slave SQL: Query caused different errors on master and slave. Error on master: message (format)='{}' error code=1062 ; Error on slave: actual message='{}', error code=0.",
    "2026-01-02  3:04:05 9 [ERROR] mysqld: Can't find file: './{}/t.frm' (errno: 2 \"No such file or directory\")",
    "2026-01-02  3:04:05 9 [ERROR] /usr/sbin/mysqld: Table './{}/t' is marked as crashed and should be repaired",
    "2026-01-02  3:04:05 9 [Warning] IP address '{}' could not be resolved: Name or service not known",
    "2026-01-02  3:04:05 9 [Note] Plugin audit says {} of {}",
    "2026-01-02  3:04:05 9 [ERROR] Got an error reading {}",
    "2026-01-02  3:04:05 9 [Warning] The client was disconnected because of init_connect: {}",
    "260102  3:04:05 [Warning] {} '{}' \"{}\"",
    "2026-01-02 03:04:05 7f00 InnoDB: transactions deadlock detected, dumping detailed information.\nMySQL thread id 5, OS thread handle 0x7f, query id 9 localhost root update\nINSERT INTO t VALUES ('{}')\n*** (1) WAITING FOR THIS LOCK TO BE GRANTED:",
    "InnoDB: {}",
    "{}",
];

/// What must not be left of a value: each of its parts that is a word of its own.
fn parts(value: &str) -> Vec<String> {
    value
        .split(|c: char| !c.is_alphanumeric())
        .filter(|part| !part.is_ascii() || part.len() > 3 || *part == "zq7")
        .filter(|part| {
            let lower = part.to_lowercase();
            part.contains("qq")
                || !MESSAGES
                    .iter()
                    .any(|message| message.to_lowercase().contains(&lower))
        })
        .map(str::to_lowercase)
        // Of what looks like the log itself only the marks count.
        .filter(|part| !value.starts_with("qq\n") || part.contains("qqsecret"))
        .collect()
}

fn assert_gone(log: &str, value: &str) {
    let redacted = redact(log);
    let lower = redacted.to_lowercase();
    for part in parts(value) {
        assert!(
            !lower.contains(&part),
            "{part:?} of {value:?} is left of\n{log}\n:\n{redacted}"
        );
    }
    let twice = redact(&redacted);
    for part in parts(value) {
        assert!(
            !twice.to_lowercase().contains(&part),
            "{part:?} is back in\n{twice}"
        );
    }
}

#[test]
fn no_value_is_left_of_any_message() {
    for message in MESSAGES {
        for value in VALUES {
            assert!(!parts(value).is_empty(), "{value}");
            let log = message.replace("{}", value);
            assert_gone(&log, value);
            // A value that looks like a printout of InnoDB is one in one reading and none in the next.
            let once = redact(&log);
            let is_plain = !value.contains('\n');
            assert!(
                !is_plain || redact(&once) == once,
                "twice is not once:\n{log}\n{once}"
            );
            // Between other entries, and cut at any place.
            let log = format!(
                "2026-01-02  3:04:04 0 [Note] ready\n{log}\n2026-01-02  3:04:06 0 [Note] ready\n"
            );
            assert_gone(&log, value);
            for cut in (0..log.len()).step_by(7) {
                assert_gone(log.get(..log.floor_char_boundary(cut)).unwrap(), value);
                assert_gone(log.get(log.ceil_char_boundary(cut)..).unwrap(), value);
            }
        }
    }
}

#[test]
fn nothing_is_left_of_a_word_of_which_a_part_is_unknown() {
    for password in ["s<data,7a;n", "s<data,77;n", "log(page)=9k#x", "n/a,qq!"] {
        let line = format!(
            "2026-01-02T03:04:05.000001Z 6 [Note] [MY-010454] [Server] A temporary password is generated for root@localhost: {password}"
        );
        assert_eq!(
            redact(&line).trim_end(),
            "2026-01-02T03:04:05.000001Z 6 [Note] [MY-010454] [Server] A temporary password is generated for ?",
        );
        // Behind any other unknown word.
        let line = format!("2026-01-02  3:04:05 9 [Note] started qqacme {password}");
        let redacted = redact(&line);
        let kept = redacted.trim_end().replace('?', "");
        assert_eq!(
            kept.trim_end(),
            "2026-01-02  3:04:05 9 [Note] started",
            "{redacted}"
        );
        assert_eq!(redact(&redacted), redacted);
    }
    // A part that is nobody's does no harm to known ones.
    assert_eq!(
        redact("2026-01-02  3:04:05 9 [Note] (flushed=512,evicted=0)").trim_end(),
        "2026-01-02  3:04:05 9 [Note] (flushed=512,evicted=0)"
    );
}

#[test]
fn the_servers_own_words_stay() {
    for line in [
        "2026-01-02T03:04:05.000001Z 0 [Note] InnoDB: page_cleaner: 1000ms intended loop took 4013ms. The settings might not be optimal. (flushed=512 and evicted=0, during the time.)",
        "2026-01-02T03:04:05.000001Z 0 [Warning] [MY-012985] [InnoDB] Difficult to find free blocks in the buffer pool (21 search iterations)! 21 failed attempts to flush a page! Consider increasing the buffer pool size.",
        "2026-01-02  3:04:05 0 [ERROR] Error in accept: Too many open files",
        "2026-01-02  3:04:05 9 [Warning] Too many connections",
        "--Thread 140036 has waited at fts0fts.cc line 36 for 257.00 seconds the semaphore:",
        "Mutex at 0x7f12 created file dict0dict.cc line 1022, lock var 1",
        "a writer (thread id 139811) has reserved it in mode  exclusive",
        "2026-01-02 03:04:05 0x7f00InnoDB: Assertion failure in thread 139 in file a.cc line 20",
        "06:25:01 UTC - mysqld got signal 6 ;",
        "key_buffer_size=8388608",
        "/usr/sbin/mysqld(handle_fatal_signal+0x31d)[0x58dd4d]",
        "Version: '10.11.6-MariaDB-log'  socket: ?",
    ] {
        assert_eq!(redact(line).trim_end(), line);
    }
}

#[test]
fn codes_and_ends_of_messages_stay_behind_a_value() {
    for (line, kept) in [
        (
            "2026-01-02  3:04:05 9 [Warning] Aborted connection 9 to db: 'shop' user: 'app' host: 'h' (Got timeout reading communication packets)",
            "2026-01-02  3:04:05 9 [Warning] Aborted connection 9 to db: ? (Got timeout reading communication packets)",
        ),
        (
            "2026-01-02  3:04:05 9 [ERROR] mysqld: Disk is full writing './bin.000004' (Errcode: 28 \"No space left on device\"). Waiting for someone to free space...",
            "2026-01-02  3:04:05 9 [ERROR] mysqld: Disk is full writing ? (Errcode: 28 \"No space left on device\") Waiting for someone to free space...",
        ),
        (
            "2026-01-02  3:04:05 9 [ERROR] Slave SQL: Error 'Duplicate entry 'a' for key 'b'' on query. Default database: 'd'. Query: 'INSERT INTO t VALUES (1)', Error_code: 1062",
            "2026-01-02  3:04:05 9 [ERROR] Slave SQL: Error ? Error_code: 1062",
        ),
        (
            "2026-01-02  3:04:05 9 [ERROR] InnoDB: Cannot open ./shop/orders.ibd for reading",
            "2026-01-02  3:04:05 9 [ERROR] InnoDB: Cannot open ./?/orders.ibd for reading",
        ),
    ] {
        let redacted = redact(line);
        let kept = kept.replace("orders", "?");
        assert_eq!(redacted.trim_end(), kept);
    }
}

#[test]
fn a_word_in_the_place_of_a_level_is_no_level() {
    for (line, kept) in [
        (
            "2026-01-02T03:04:05.000001Z 9 [qqAlice] Too many connections",
            "2026-01-02T03:04:05.000001Z 9 ?",
        ),
        (
            "2026-01-02  3:04:05 9 [Note] [qqAlice] Too many connections",
            "2026-01-02  3:04:05 9 [Note] ?",
        ),
    ] {
        let redacted = redact(line);
        assert!(!redacted.contains("qq"), "{redacted}");
        assert!(redacted.starts_with(kept), "{redacted}");
    }
}

#[test]
fn the_forms_can_be_used() {
    // Without them everything is left out, which is safe and says nothing.
    assert_eq!(phrases::problems(), Vec::<String>::new());
    assert!(!phrases::marks("got signal 11").phrases.is_empty());
    assert!(head::length("120906 12:14:44 [ERROR] x") > 20);
}

#[test]
fn lines_are_bounded() {
    let long = format!("2026-01-02  3:04:05 0 [Note] {}\n", "é".repeat(5_000));
    assert!(redact(&long).len() <= LINE_BYTES_MAX + 1);
    let many = "2026-01-02  3:04:05 0 [Note] page page page page page page\n".repeat(10_000);
    assert!(redact(&many) == many, "a line was changed");
}
