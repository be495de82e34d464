//! Captures with little in them: one session that waits, one line of a status. What the server itself says must be told,
//! as a cause or in the sentence.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking; clippy does not see that helpers of tests are test code"
)]

use diagnosis::{Catalogue, Level, Verdict, diagnose};
use import::{Input, import};

fn verdict(text: &str) -> Verdict {
    let input = Input {
        path: "x",
        bytes: text.as_bytes(),
    };
    let incident = import(&[input]).incident.unwrap();
    diagnose(&incident, Catalogue::builtin())
}

fn found(text: &str) -> Vec<(String, Level)> {
    let findings = verdict(text).findings.into_iter();
    findings
        .map(|finding| (finding.cause, finding.level))
        .collect()
}

const LIST: &str = "\
+----+-----------------+-----------+------+---------+--------+---------------------------------+------------------+\n\
| Id | User            | Host      | db   | Command | Time   | State                           | Info             |\n\
+----+-----------------+-----------+------+---------+--------+---------------------------------+------------------+\n\
|  5 | event_scheduler | localhost | NULL | Daemon  | 990000 | Waiting on empty queue          | NULL             |\n\
| 11 | system user     |           | shop | Connect |   SECS | Waiting for table metadata lock | DROP TABLE IF EXISTS `t` |\n\
| 17 | app             | web1:5000 | shop | Sleep   |   1200 |                                 | NULL             |\n\
| 23 | root            | localhost | NULL | Query   |      0 | starting                        | SHOW PROCESSLIST |\n\
+----+-----------------+-----------+------+---------+--------+---------------------------------+------------------+\n\
4 rows in set (0.00 sec)\n";

#[test]
fn one_session_that_has_waited_for_long_is_what_hangs() {
    let mdl = [("mdl-pileup".to_owned(), Level::Possible)];
    assert_eq!(found(&LIST.replace("SECS", "3600")), mdl);
    assert_eq!(found(&LIST.replace("SECS", "40")), mdl);
    // All that is done is to wait, and for seconds.
    assert_eq!(found(&LIST.replace("SECS", "5")), mdl);
    // A moment later it may be through; and beside others that work it is one of many.
    assert_eq!(found(&LIST.replace("SECS", "2")), []);
    let busy: String = (31..34)
        .map(|id| {
            format!(
                "|  {id} | app | web1:5001 | shop | Query | 4 | Sending data | SELECT a FROM u |\n"
            )
        })
        .collect();
    let busy = LIST.replace("|  5 | event", &format!("{busy}|  5 | event"));
    assert_eq!(found(&busy.replace("SECS", "5")), []);
    assert_eq!(found(&busy.replace("SECS", "3600")), mdl);
}

#[test]
fn a_deadlock_that_is_past_is_no_queue_of_the_present() {
    let status = |heading: &str| {
        format!(
            "=====================================\n2026-03-04 10:00:00 0x7f INNODB MONITOR OUTPUT\n=====================================\n\
            ------------------------\n{heading}\n------------------------\n2026-03-01 09:00:00 0x7f\n*** (1) TRANSACTION:\nTRANSACTION 77, ACTIVE 0 sec setting auto-inc lock\n\
            *** (1) WAITING FOR THIS LOCK TO BE GRANTED:\nTABLE LOCK table `a`.`t` trx id 77 lock mode AUTO-INC waiting\n\
            ----------------------------\nEND OF INNODB MONITOR OUTPUT\n============================\n"
        )
    };
    let causes = |heading: &str| -> Vec<String> {
        let found = found(&status(heading)).into_iter();
        found.map(|(cause, _)| cause).collect()
    };
    assert_eq!(causes("LATEST DETECTED DEADLOCK"), Vec::<String>::new());
    assert_eq!(causes("TRANSACTIONS"), ["autoinc-lock"]);
}

#[test]
fn the_sentence_tells_what_the_server_said_where_no_cause_fits() {
    let wait = "*************************** 1. row ***************************\nwaiting_trx_id: 4210\nwaiting_thread: 42\nwait_time: 30\nwaiting_query: update t set a = 1\nwaiting_table_lock: `shop`.`t`\nblocking_trx_id: 50\nblocking_thread: 5\nblocking_query: NULL\n";
    let told = verdict(wait);
    assert!(told.findings.is_empty(), "{}", told.sentence);
    assert!(
        told.sentence.starts_with(
            "No known cause fits what was recorded. Seen: 1 session waited for row lock on"
        ),
        "{}",
        told.sentence
    );
    assert!(
        told.sentence.contains(", held by connection 5."),
        "{}",
        told.sentence
    );
    let replica = "*************************** 1. row ***************************\n               Slave_IO_State: Waiting for master to send event\n                  Master_Host: db1\n             Slave_IO_Running: Yes\n            Slave_SQL_Running: Yes\n        Seconds_Behind_Master: 3034642\n      Slave_SQL_Running_State: Reading event from the relay log\n";
    let told = verdict(replica).sentence;
    assert!(
        told.contains("Seen: the replica was 35 d 2 h behind its source."),
        "{told}"
    );
    // A list of all that is absent helps nobody in a sentence.
    assert!(
        told.contains("Not checked, because evidence is missing: "),
        "{told}"
    );
}

/// What people paste of a list that is too long, and what a page makes of it.
#[test]
fn sessions_counted_by_their_state_or_copied_from_a_page() {
    for text in [
        "We ran it again:\n\n$ mysql -e 'SHOW PROCESSLIST\\G' | grep State: | sort | uniq -c | sort -rn\n     45   State: Waiting for table metadata lock\n\
         \x20    12   State: Sending data\n      3   State:\n\nand then nothing went.\n",
        "+---------------------------------+----------+\n| state                           | count(*) |\n+---------------------------------+----------+\n\
         | Waiting for table metadata lock |       45 |\n| Sending data                    |       12 |\n+---------------------------------+----------+\n",
        "\tID\tUser\tHost\tDatabase\tCommand\tTime\tStatus\tProgress\tSQL query\n\
         Kill\t1234\tapp\tweb:1\tshop\tQuery\t45\tWaiting for table metadata lock\t0.000\tSELECT * FROM orders WHERE id = 5\n\
         Kill\t1235\tapp\tweb:2\tshop\tQuery\t44\tWaiting for table metadata lock\t0.000\tSELECT * FROM orders WHERE id = 6\n\
         Kill\t1236\tapp\tweb:3\tshop\tQuery\t50\taltering table\t0.000\tALTER TABLE orders ADD COLUMN x INT\n\
         Kill\t1237\tapp\tweb:4\tshop\tSleep\t500\t---\t0.000\t---\n",
    ] {
        let found = found(text);
        assert!(
            found.iter().any(|(cause, _)| cause == "mdl-pileup"),
            "{text}: {found:?}"
        );
    }
    // Statements that somebody counted are no sessions.
    let statements = "    120 commit\n     45 update t set a = 1\n     33 end of file\n";
    let input = Input {
        path: "x",
        bytes: statements.as_bytes(),
    };
    assert!(import(&[input]).incident.is_none());
}

const UNIT: &str = "\
● mariadb.service - MariaDB 10.5.15 database server
     Loaded: loaded (/lib/systemd/system/mariadb.service; enabled; vendor preset: enabled)
     Active: active (running) since Tue 2022-07-12 09:14:22 UTC; 3 days ago
   Main PID: 871 (mariadbd)
      Tasks: 4915 (limit: 4915)
     Memory: 10.1G

Jul 15 08:11:10 db1 mariadbd[871]: 2022-07-15  8:11:10 0 [ERROR] Can't create thread to handle new connection (errno= 11)
";

#[test]
fn what_keepers_tell_of_their_limits() {
    let certain = [("thread-limit".to_owned(), Level::Certain)];
    assert_eq!(found(UNIT), certain);
    // With room left it is the log alone that says so.
    let room = UNIT.replace("Tasks: 4915", "Tasks: 49");
    let likely = [("thread-limit".to_owned(), Level::Likely)];
    assert_eq!(found(&room), likely);
    // Another unit's tasks are none of the server's.
    let other = UNIT.replace("mariadb.service", "cron.service");
    assert_eq!(found(&other), likely);
    let pod = "Containers:\n  mysql:\n    Last State:     Terminated\n      Reason:       OOMKilled\n      Exit Code:    137\n";
    let possible = [("oom".to_owned(), Level::Possible)];
    assert_eq!(found(pod), possible);
}

#[test]
fn metrics_of_an_exporter_are_the_servers_status() {
    let scrape = "# TYPE mysql_global_status_threads_running untyped\nmysql_global_status_threads_running 312\n\
        mysql_global_status_innodb_row_lock_current_waits 280\nmysql_up 1\n";
    let possible = [("row-lock-pileup".to_owned(), Level::Possible)];
    assert_eq!(found(scrape), possible);
    assert_eq!(found(&scrape.replace("280", "0")), []);
}

/// A mutex is given back by the thread that has it: where all wait for one and nobody works, nobody will.
#[test]
fn all_wait_for_a_mutex_and_nobody_works() {
    let waiters = "  30 pthread_cond_wait,os_event_wait_low,sync_array_wait_event,mutex_spin_wait,mtr_commit,row_upd_step,mysql_parse,do_command,start_thread,clone\n";
    let idle =
        "  10 io_getevents,os_aio_linux_handle,fil_aio_wait,io_handler_thread,start_thread,clone\n";
    let first = "   1 poll,handle_connections_sockets,mysqld_main,main\n";
    let at_work =
        "   1 row_search_for_mysql,row_sel_step,mysql_parse,do_command,start_thread,clone\n";
    let is_stuck = |rows: &[&str]| {
        let found = found(&rows.concat());
        found
            .iter()
            .any(|(cause, level)| cause == "long-semaphore-bug" && *level >= Level::Possible)
    };
    assert!(is_stuck(&[waiters, idle, first]));
    assert!(!is_stuck(&[waiters, idle, first, at_work]));
    // At the start the first thread works, and may have what they wait for.
    let starts = "   1 row_search_for_mysql,dict_load_table_low,srv_start,mysqld_main,main\n";
    assert!(!is_stuck(&[waiters, idle, starts]));
    // Without the first thread it is a part of the list.
    assert!(!is_stuck(&[waiters, idle]));
    assert!(!is_stuck(&[idle, first]));
}

/// Versions word it differently, and a log shown in part has only one of the lines.
#[test]
fn a_galera_node_says_in_several_ways_that_it_has_no_majority() {
    let first = |text: &str| found(text).into_iter().next();
    let lost = Some(("quorum-lost".to_owned(), Level::Possible));
    for text in [
        "2024-05-11  9:12:09 0 [Warning] WSREP: no nodes coming from prim view, prim not possible\n",
        "2024-05-11  9:12:09 2 [Note] WSREP: New cluster view: global state: 6a1e:4711, view# -1: non-Primary, number of nodes: 1, my index: 0, protocol version 3\n",
        "2024-05-11T09:12:09.123456Z 0 [Note] [MY-000000] [Galera] Received NON-PRIMARY.\n",
        "Our Galera node does not answer since this morning, all clients get errors, and in its log there is \"Received NON-PRIMARY\".\n",
    ] {
        assert_eq!(first(text), lost, "{text}");
    }
    for text in [
        "2024-05-11  9:12:09 2 [Note] WSREP: New cluster view: global state: 6a1e:4711, view# 17: Primary, number of nodes: 3, my index: 0, protocol version 3\n\
         2024-05-11  9:12:10 0 [Note] WSREP: New COMPONENT: primary = yes, bootstrap = no, my_idx = 0, memb_num = 3\n",
        "2024-05-11T09:12:05.123456Z 0 [Note] [MY-000000] [Galera] Received self-leave message.\n\
         2024-05-11T09:12:09.123456Z 0 [Note] [MY-000000] [Galera] Received NON-PRIMARY.\n",
    ] {
        assert!(
            !found(text).iter().any(|(cause, _)| cause == "quorum-lost"),
            "{text}"
        );
    }
}

/// The server writes of a long wait to the error log, and lists the same wait in the status that it prints behind it.
#[test]
fn one_wait_that_is_told_twice_is_one_source() {
    let wait = "--Thread 139817236203264 has waited at buf0flu.cc line 1239 for 602.00 seconds the semaphore:\n\
        Mutex at 0x55d0c5a6f4a8, Mutex FLUSH_LIST created buf0buf.cc:1027, lock var 1\n";
    let logged =
        format!("2024-05-11T10:02:11.123456Z 0 [Warning] InnoDB: A long semaphore wait:\n{wait}");
    let status = format!(
        "=====================================\n2024-05-11 10:02:20 0x7f2a INNODB MONITOR OUTPUT\n\
         =====================================\nPer second averages calculated from the last 20 seconds\n\
         ----------\nSEMAPHORES\n----------\nOS WAIT ARRAY INFO: reservation count 4711\n{wait}\
         OS WAIT ARRAY INFO: signal count 4000\n------------\nTRANSACTIONS\n------------\nTrx id counter 1\n\
         ----------------------------\nEND OF INNODB MONITOR OUTPUT\n============================\n"
    );
    for text in [&logged, &status, &format!("{logged}\n{status}")] {
        let all = verdict(text).findings;
        let hang = all.iter().find(|one| one.cause == "long-semaphore-bug");
        let hang = hang.unwrap();
        assert_eq!(hang.level, Level::Possible, "{text}");
        let sources: Vec<&str> = hang
            .witnesses
            .iter()
            .map(|one| one.source.as_str())
            .collect();
        assert!(
            sources.iter().all(|source| *source == sources[0]),
            "{sources:?}"
        );
    }
}
