//! Who did it, by what was recorded; and a remedy that names nobody and nothing that the record lacks.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy does not see that helpers of tests are test code"
)]

use crate::common;
use common::Story;
use common::deep_stalls::host;
use diagnosis::{Actor, Catalogue, advise, diagnose};
use model::{
    Incident, OwnText, ProcessList, ProfileCount, Reading, Session, Text, TimedText, Unit,
};
use regex::Regex;

fn session(id: u64, command: &str, seconds: f64, state: &str, statement: &str) -> Session {
    Session {
        id,
        user: "app".to_owned(),
        host: "web1".to_owned(),
        db: "shop".to_owned(),
        command: command.to_owned(),
        seconds,
        state: state.to_owned(),
        statement: statement.to_owned(),
    }
}

fn list(sessions: &[Session]) -> ProcessList {
    let (idle, longest): (Vec<_>, Vec<_>) = sessions
        .iter()
        .cloned()
        .partition(|one| one.command == "Sleep");
    ProcessList {
        sessions: sessions.len() as u64,
        by_class: [("update".to_owned(), longest.len() as u64)].into(),
        idle_count: idle.len() as u64,
        longest,
        idle,
        ..ProcessList::default()
    }
}

/// A record with these texts and nothing else of sessions: processlists at seconds, and a status of InnoDB in the stall.
fn incident(lists: &[(u64, ProcessList)], innodb: &str) -> Incident {
    let mut incident = Story::healthy().build();
    incident.texts = lists
        .iter()
        .map(|(second, list)| TimedText {
            at: second * 1000,
            text: Text::own(OwnText::Processlist, serde_json::to_string(list).unwrap()),
        })
        .collect();
    if !innodb.is_empty() {
        incident.texts.push(TimedText {
            at: 64_000,
            text: server_text::innodb_status(innodb),
        });
    }
    incident.server.pid = None;
    incident
}

fn told(cause: &str, incident: &Incident) -> (Vec<Actor>, Vec<String>) {
    let (actors, remedy) = advise(Catalogue::builtin().get(cause).unwrap(), incident);
    (actors, remedy.now)
}

fn status(transactions: &str) -> String {
    format!(
        "------------\nTRANSACTIONS\n------------\nTrx id counter 900\nLIST OF TRANSACTIONS FOR EACH SESSION:\n\
         {transactions}--------\nFILE I/O\n--------\n"
    )
}

const WAITER: &str = "---TRANSACTION 802, ACTIVE 30 sec starting index read\n\
    mysql tables in use 1, locked 1\nLOCK WAIT 2 lock struct(s), heap size 1128, 1 row lock(s)\n\
    MariaDB thread id 901, OS thread handle 1, query id 9 10.0.0.7 app Updating\nupdate t set a = 1 where id = 2\n\
    ------- TRX HAS BEEN WAITING 30000000 us FOR THIS LOCK TO BE GRANTED:\n\
    RECORD LOCKS space id 5 page no 3 n bits 72 index PRIMARY of table `shop`.`t` trx id 802 lock_mode X locks rec but not gap waiting\n";
const BLOCKER: &str = "---TRANSACTION 801, ACTIVE 41 sec\n\
    3 lock struct(s), heap size 1128, 50686 row lock(s), undo log entries 3\n\
    MariaDB thread id 896, OS thread handle 1, query id 8 10.0.0.7 app\n";
const PASSER_BY: &str = "---TRANSACTION 803, ACTIVE 0 sec\n\
    3 lock struct(s), heap size 1128, 4 row lock(s)\n\
    MariaDB thread id 950, OS thread handle 1, query id 8 10.0.0.7 app\n";

#[test]
fn the_transaction_in_front_is_named_with_its_locks_and_its_kill() {
    let text = status(&[WAITER, BLOCKER, PASSER_BY].concat());
    let (actors, now) = told("row-lock-pileup", &incident(&[], &text));
    let [blocker] = actors.as_slice() else {
        panic!("{actors:?}")
    };
    assert!(blocker.sure);
    assert_eq!(blocker.connection, Some(896));
    assert_eq!(blocker.row_locks, Some(50_686));
    assert_eq!(blocker.transaction.as_deref(), Some("801"));
    assert_eq!(
        blocker.says,
        "connection 896 (app@10.0.0.7): idle, transaction open for 41 s, 50686 row locks, 3 changed rows, \
         1 waits for rows of shop.t, index PRIMARY"
    );
    assert_eq!(now.len(), 1, "{now:?}");
    assert!(now[0].ends_with(": KILL 896"), "{now:?}");
}

/// The processlist is read at another moment than the status of InnoDB.
#[test]
fn times_of_a_session_and_of_its_transaction_are_of_one_moment() {
    let text = status(&[WAITER, BLOCKER].concat());
    let asleep = session(896, "Sleep", 43.0, "", "");
    let waits = session(901, "Query", 32.0, "Updating", "update t set a = ?");
    let lists = [(66, list(&[asleep, waits]))];
    let mut incident = incident(&lists, &text);
    // Without a time of day nobody knows how far they are apart.
    incident.clock.wall_at_zero_ms = 1_795_000_000_000;
    let (actors, _) = told("row-lock-pileup", &incident);
    let blocker = actors.iter().find(|one| one.connection == Some(896));
    let times = blocker.map(|one| (one.idle_seconds, one.transaction_seconds));
    assert_eq!(times, Some((Some(41.0), Some(41.0))));
}

/// As MariaDB prints one whose connection is gone.
const PREPARED: &str = "---TRANSACTION 790, ACTIVE (PREPARED) 44 sec recovered trx\n\
    4 lock struct(s), heap size 1128, 900 row lock(s), undo log entries 899\n";

#[test]
fn a_prepared_transaction_that_nobody_ends_is_named_with_what_ends_it() {
    let text = status(&[WAITER, PREPARED, PASSER_BY].concat());
    let (actors, now) = told("row-lock-pileup", &incident(&[], &text));
    let [left] = actors.as_slice() else {
        panic!("{actors:?}")
    };
    assert_eq!(left.who, "prepared-transaction");
    assert!(left.sure);
    assert_eq!(left.name(), "transaction 790 without a connection");
    assert_eq!(now.len(), 1, "{now:?}");
    assert!(
        now[0].contains("XA RECOVER") && !now[0].contains("KILL"),
        "{now:?}"
    );
    // Another transaction may hold the rows as well.
    let both = status(&[WAITER, PREPARED, BLOCKER].concat());
    let (actors, _) = told("row-lock-pileup", &incident(&[], &both));
    let sure = actors.iter().find(|one| one.who == "prepared-transaction");
    assert!(sure.is_some_and(|one| !one.sure), "{actors:?}");
    // One that commits, between InnoDB and the binary log, has a session at work.
    let commits = "---TRANSACTION 790, ACTIVE (PREPARED) 44 sec\n\
        4 lock struct(s), heap size 1128, 900 row lock(s), undo log entries 899\n\
        MariaDB thread id 896, OS thread handle 1, query id 8 10.0.0.7 app Commit\nCOMMIT\n";
    let text = status(&[WAITER, commits].concat());
    let list = list(&[session(896, "Query", 44.0, "Commit", "COMMIT")]);
    let (actors, _) = told("row-lock-pileup", &incident(&[(64, list)], &text));
    assert!(actors.is_empty(), "{actors:?}");
}

#[test]
fn who_holds_rows_in_its_commit_is_not_to_be_ended() {
    let text = status(&[WAITER, BLOCKER, PASSER_BY].concat());
    let at = |state| {
        let update = "update t set a = 2 where id = 2";
        let stall = list(&[session(896, "Query", 30.0, state, update)]);
        told("row-lock-pileup", &incident(&[(65, stall)], &text))
    };
    for state in ["Commit", "waiting for handler commit", "query end"] {
        let (actors, now) = at(state);
        assert!(actors.is_empty(), "{state}: {actors:?}");
        let ends = |step: &String| step.contains("KILL 896");
        assert!(!now.iter().any(ends), "{state}: {now:?}");
    }
    let (actors, _) = at("Updating");
    assert_eq!(actors[0].connection, Some(896));
}

#[test]
fn the_reader_of_the_binary_log_is_named_and_a_replica_is_not() {
    let reads = "/* dba */ SHOW BINLOG EVENTS IN 'binlog.000007'";
    let sessions = [
        session(35, "Binlog Dump", 9000.0, "Writing to net", ""),
        session(36, "Query", 13.0, "Writing to net", reads),
        session(37, "Query", 12.0, "Commit", "update t set a = 1"),
    ];
    let (actors, now) = told("binlog-reader", &incident(&[(65, list(&sessions))], ""));
    let connections: Vec<Option<u64>> = actors.iter().map(|actor| actor.connection).collect();
    assert_eq!(connections, [Some(36)]);
    assert!(now[0].ends_with(": KILL QUERY 36"), "{now:?}");
    let (actors, now) = told("binlog-reader", &incident(&[], ""));
    assert!(actors.is_empty());
    assert!(now[0].contains("processlist"), "{now:?}");
}

#[test]
fn of_two_that_may_be_it_none_is_said_to_be_it() {
    let second = BLOCKER.replace("896", "897").replace("801", "804");
    let text = status(&[WAITER, BLOCKER, &second].concat());
    let (actors, now) = told("row-lock-pileup", &incident(&[], &text));
    assert_eq!(actors.len(), 2);
    assert!(actors.iter().all(|actor| !actor.sure));
    assert!(
        now.iter()
            .all(|step| step.starts_with("It may block the others")),
        "{now:?}"
    );
}

#[test]
fn a_statement_that_waits_for_rows_is_no_long_statement() {
    let insert = |id| session(id, "Query", 30.0, "Update", "insert into t select a from u");
    let sessions = [insert(39), insert(901)];
    let text = status(WAITER);
    let (actors, now) = told("autoinc-lock", &incident(&[(65, list(&sessions))], &text));
    let connections: Vec<Option<u64>> = actors.iter().map(|actor| actor.connection).collect();
    assert_eq!(connections, [Some(39)]);
    assert!(
        now.iter().any(|step| step.ends_with(": KILL QUERY 39")),
        "{now:?}"
    );
    assert!(!now.iter().any(|step| step.contains("901")), "{now:?}");
}

const METADATA: &str = "Waiting for table metadata lock";

#[test]
fn an_idle_holder_of_lock_tables_is_no_ddl() {
    let waiting = |id| session(id, "Query", 20.0, METADATA, "update t set a = ?");
    let stall = list(&[waiting(5), waiting(6), session(4, "Sleep", 21.0, "", "")]);
    let (actors, now) = told("mdl-pileup", &incident(&[(65, stall.clone())], ""));
    assert_eq!(actors.len(), 1);
    assert!(actors[0].sure && actors[0].connection == Some(4));
    assert_eq!(actors[0].idle_seconds, Some(21.0));
    assert_eq!(
        now,
        ["The others wait for it: connection 4 (app@web1): idle for 21 s: KILL 4"]
    );
    // Somebody who is at work now may have taken it before, and not all sessions are listed where there are many.
    let works = session(8, "Query", 2.0, "Sending data", "select a from u");
    let mut at_work = stall.clone();
    at_work.longest.push(works);
    let mut cut = stall.clone();
    cut.by_class.insert("update".to_owned(), 300);
    for unclear in [at_work, cut] {
        let (actors, _) = told("mdl-pileup", &incident(&[(65, unclear.clone())], ""));
        assert!(actors.iter().all(|actor| !actor.sure), "{actors:?}");
        // It has an old transaction, which keeps what it took.
        let open = BLOCKER.replace("896", "4");
        let (actors, _) = told("mdl-pileup", &incident(&[(65, unclear)], &status(&open)));
        assert!(
            actors[0].sure && actors[0].connection == Some(4),
            "{actors:?}"
        );
    }
    // Several slept already: it is the one that was seen to take the lock.
    let mut many = stall;
    many.idle.push(session(9, "Sleep", 400.0, "", ""));
    many.idle_count = 2;
    let (actors, now) = told("mdl-pileup", &incident(&[(65, many.clone())], ""));
    assert!(actors.iter().all(|actor| !actor.sure), "{actors:?}");
    assert!(
        !now.iter()
            .any(|step| step.contains("DDL") || step.starts_with("The others wait"))
    );
    let before = list(&[session(9, "Query", 0.0, METADATA, "LOCK TABLES t WRITE")]);
    let (actors, now) = told("mdl-pileup", &incident(&[(50, before), (65, many)], ""));
    assert_eq!(actors.len(), 1, "{actors:?}");
    assert!(now[0].ends_with(": KILL 9"), "{now:?}");
}

#[test]
fn a_ddl_in_the_queue_is_named_first_and_who_is_in_front_of_it_after() {
    let stall = list(&[
        session(7, "Query", 30.0, METADATA, "ALTER TABLE t ADD COLUMN b INT"),
        session(5, "Query", 20.0, METADATA, "select a from t"),
    ]);
    let reader = "---TRANSACTION 421, ACTIVE 90 sec\n0 lock struct(s), heap size 1128, 0 row lock(s)\n\
                  MySQL thread id 3, OS thread handle 1, query id 8 localhost report\n";
    let (actors, now) = told("mdl-pileup", &incident(&[(65, stall)], &status(reader)));
    let ids: Vec<_> = actors
        .iter()
        .map(|one| (one.who.as_str(), one.connection))
        .collect();
    assert_eq!(
        ids,
        [("waiting-ddl", Some(7)), ("metadata-lock-holder", Some(3))]
    );
    assert!(
        now[0].contains("ALTER for 30 s") && now[0].ends_with("KILL 7"),
        "{now:?}"
    );
    assert!(
        now[1].contains("report@localhost") && now[1].ends_with("KILL 3"),
        "{now:?}"
    );
}

#[test]
fn a_global_read_lock_whose_statement_is_over_is_its_idle_sessions() {
    let waits = session(
        5,
        "Query",
        20.0,
        "Waiting for global read lock",
        "update t set a = ?",
    );
    let holder = session(4, "Sleep", 25.0, "", "");
    let (_, now) = told(
        "ftwrl-backup",
        &incident(&[(65, list(&[waits.clone(), holder]))], ""),
    );
    assert_eq!(now.len(), 1, "{now:?}");
    assert!(now[0].starts_with("It holds the lock although its statement is over"));
    assert!(now[0].ends_with(": KILL 4"));
    // A dump may keep it and read on: the one that sleeps may be anybody.
    let reads = session(8, "Query", 2.0, "Sending data", "select a from u");
    let holder = session(4, "Sleep", 25.0, "", "");
    let (actors, now) = told(
        "ftwrl-backup",
        &incident(&[(65, list(&[waits.clone(), holder, reads]))], ""),
    );
    assert!(actors.iter().all(|actor| !actor.sure), "{actors:?}");
    assert!(now[0].starts_with("It was already asleep"), "{now:?}");
    // It still runs, behind a statement.
    let flush = session(
        4,
        "Query",
        25.0,
        "Waiting for table flush",
        "FLUSH TABLES WITH READ LOCK",
    );
    let long = session(3, "Query", 300.0, "Sending data", "select * from t");
    let (_, now) = told(
        "ftwrl-backup",
        &incident(&[(65, list(&[waits, flush, long]))], ""),
    );
    assert_eq!(now.len(), 2, "{now:?}");
    assert!(
        now[0].ends_with(": KILL 3") && now[1].ends_with(": KILL 4"),
        "{now:?}"
    );
}

#[test]
fn lock_tables_in_front_is_told_as_what_it_is() {
    let lock = session(4, "Query", 9.0, METADATA, "LOCK TABLES t WRITE");
    let mut all = vec![session(3, "Sleep", 12.0, "", ""), lock];
    all.extend((5..15).map(|id| session(id, "Query", 8.0, METADATA, "select a from t")));
    let mut stall = list(&all);
    stall.by_state = [(METADATA.to_owned(), 11)].into();
    let lists: Vec<_> = (61..70).map(|second| (second, stall.clone())).collect();
    let verdict = diagnose(&incident(&lists, ""), Catalogue::builtin());
    let finding = verdict
        .findings
        .iter()
        .find(|one| one.cause == "mdl-pileup");
    let finding = finding.unwrap();
    let witnesses = finding.witnesses.iter().map(|witness| &witness.says);
    let actors = finding.actors.iter().map(|actor| &actor.says);
    let remedy = &finding.remedy;
    let steps = remedy.now.iter().chain(&remedy.undo);
    let told: Vec<&String> = witnesses.chain(actors).chain(steps).collect();
    assert!(!told.iter().any(|says| says.contains("DDL")), "{told:#?}");
    let named = told.iter().any(|says| says.ends_with("ran LOCK TABLES"));
    assert!(named, "{told:#?}");
}

#[test]
fn who_has_the_name_of_get_lock_is_the_only_one_that_sleeps() {
    let waits = |id| session(id, "Query", 9.0, "User lock", "select get_lock('?', 60)");
    let holder = session(4, "Sleep", 12.0, "", "");
    let mut all: Vec<_> = (5..9).map(waits).collect();
    all.push(holder);
    let (actors, now) = told("user-lock", &incident(&[(64, list(&all))], ""));
    let found: Vec<_> = actors
        .iter()
        .map(|one| (one.connection, one.sure, one.waiters))
        .collect();
    assert_eq!(found, [(Some(4), true, Some(4))]);
    assert!(now.iter().any(|step| step.contains("KILL 4")), "{now:?}");

    // Another session sleeps as long: which of them has it, the list does not tell.
    all.push(session(3, "Sleep", 40.0, "", ""));
    let (actors, now) = told("user-lock", &incident(&[(64, list(&all))], ""));
    assert_eq!(actors.len(), 2);
    assert!(actors.iter().all(|one| !one.sure));
    let asks = |step: &String| step.contains("IS_USED_LOCK");
    assert!(now.iter().any(asks), "{now:?}");

    // Nobody waits: nobody is in front.
    let (actors, _) = told("user-lock", &incident(&[(64, list(&all[4..]))], ""));
    assert_eq!(actors, []);
}

#[test]
fn the_process_is_in_the_command() {
    let mut stopped = incident(&[], "");
    stopped.server.pid = Some(4711);
    let (_, now) = told("server-stopped", &stopped);
    assert!(now.contains(&"kill -CONT 4711".to_owned()), "{now:?}");
}

#[test]
fn a_name_of_a_user_begins_no_command() {
    let mut holder = session(4, "Sleep", 21.0, "", "");
    holder.user = "x: KILL 7".to_owned();
    let waits = session(5, "Query", 20.0, METADATA, "select 1");
    let (_, now) = told("mdl-pileup", &incident(&[(65, list(&[waits, holder]))], ""));
    assert_eq!(now[0].matches(": KILL").count(), 1, "{now:?}");
}

/// Words for somebody or something that the reader is sent to as if it were there.
const OBJECTS: &str = r"(?i)\b(kill|end|stop)\s+(the|its|this|that|these|those)\s+\w+|\bthe (ddl|alter|flush|drop table|select|transaction|blocker|holder|bulk statement|backup|monitoring|import)\b|\bconnection of the\b|\bkill \d";

#[test]
fn no_advice_names_what_the_record_lacks() {
    let objects = Regex::new(OBJECTS).unwrap();
    assert!(objects.is_match("The DDL first: SHOW PROCESSLIST, then KILL its connection"));
    let mut named = Vec::new();
    let thin = incident(&[], "");
    let busy = list(&[session(5, "Query", 9.0, "Sending data", "select a from t")]);
    for incident in [thin, incident(&[(65, busy)], "")] {
        for cause in Catalogue::builtin().causes() {
            let (actors, remedy) = advise(cause, &incident);
            assert!(!remedy.now.is_empty(), "{}", cause.id);
            let known = |step: &&String| !actors.iter().any(|one| step.contains(&one.says));
            for step in remedy.now.iter().chain(&remedy.undo).filter(known) {
                let found = objects.find(step).map(|found| found.as_str());
                // The server is always there.
                let object = found.filter(|found| !found.ends_with(" server"));
                if object.is_some() || step.contains('{') {
                    named.push(format!("{}: {step}", cause.id));
                }
            }
        }
    }
    assert_eq!(named, [""; 0]);
}

/// The samples of the stall, given to programs beside the server by turns.
fn sampled_of(mut incident: Incident, programs: &[&str], wanted: &str) -> Incident {
    let book = incident.stacks.table.clone();
    let profiles = incident.stacks.profiles.iter_mut();
    let rows = profiles.flat_map(|profile| &mut profile.counts);
    let is_it = |row: &&mut ProfileCount| {
        let mut frames = book.frames_of(row.stack);
        frames.any(|frame| frame.name.contains(wanted))
    };
    for (row, program) in rows.filter(is_it).zip(programs.iter().cycle()) {
        (row.server, row.count) = (false, 1_000);
        (*program).clone_into(&mut row.thread);
    }
    incident
}

fn who_and_step(incident: &Incident, cause: &str) -> (Vec<(String, bool)>, String) {
    let cause = Catalogue::builtin().get(cause).unwrap();
    let (actors, remedy) = advise(cause, incident);
    let names = actors.iter().map(|one| (one.name(), one.sure)).collect();
    (names, remedy.now[0].clone())
}

#[test]
fn programs_that_use_the_processors_are_named() {
    let story = host::other_programs();
    let of = |programs: &[&str]| {
        let incident = sampled_of(story.build(), programs, "do_command");
        who_and_step(&incident, "other-programs-cpu")
    };
    let (who, step) = of(&["xz"]);
    assert_eq!(who, [("program xz".to_owned(), true)]);
    assert!(step.ends_with("pgrep -a xz"), "{step}");
    // Two that use as much: each may be it.
    let (who, step) = of(&["xz", "clamd"]);
    assert_eq!(who.len(), 2, "{who:?}");
    assert!(
        who.iter().all(|(_, sure)| !sure) && step.starts_with("One of them"),
        "{who:?} {step}"
    );
    // A name that would be something else in a command stands in none.
    let (who, step) = of(&["a; rm -r b"]);
    assert_eq!(who.len(), 1);
    assert!(step.starts_with("See who uses"), "{step}");
    // Nothing was sampled, and top was captured: the server is not one beside itself.
    let mut listed = story.build();
    listed.stacks = model::StackEvidence::default();
    let top = [("mysqld", 0.5), ("gzip", 3.0), ("top", 0.02)];
    let top = top.map(|(name, cpus)| Reading::gauge(format!("top.{name}.cpus"), Unit::Count, cpus));
    listed.timeline.push_readings("top", 65_000, &top);
    let (who, step) = who_and_step(&listed, "other-programs-cpu");
    assert_eq!(who, [("program gzip".to_owned(), true)]);
    assert!(step.contains("took 3"), "{step}");
}

#[test]
fn who_reads_the_memory_map_is_named_and_nobody_else() {
    let walked = sampled_of(host::memory_map_walked().build(), &["agent"], "smaps_");
    let mut beside = sampled_of(walked, &["xz"], "row_search");
    let (who, step) = who_and_step(&beside, "mmap-lock");
    assert_eq!(who, [("program agent".to_owned(), true)]);
    assert!(step.contains("pgrep -a agent"), "{step}");
    beside.stacks.profiles.clear();
    let (who, step) = who_and_step(&beside, "mmap-lock");
    assert!(
        who.is_empty() && step.starts_with("Find who walks"),
        "{who:?} {step}"
    );
}

#[test]
fn in_general_a_remedy_has_no_open_places() {
    for cause in Catalogue::builtin().causes() {
        let remedy = &cause.remedy;
        let all = [&remedy.now, &remedy.durable, &remedy.undo, &remedy.verify];
        for step in all.into_iter().flatten() {
            assert!(!step.contains('{'), "{step}");
        }
    }
}
