//! Who did it where no single session did: crowds of them, appliers and replicas, disks, settings.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy does not see that helpers of tests are test code"
)]

use crate::common;
use common::Story;
use diagnosis::{Actor, Catalogue, advise};
use model::{Fact, Incident, OwnText, ProcessList, Session, Text, TimedFact, TimedText};

fn told(cause: &str, incident: &Incident) -> (Vec<Actor>, Vec<String>) {
    let (actors, remedy) = advise(Catalogue::builtin().get(cause).unwrap(), incident);
    (actors, remedy.now)
}

/// What is known of those of one part.
fn says(cause: &str, part: &str, incident: &Incident) -> Vec<(String, bool)> {
    let (actors, _) = told(cause, incident);
    let of_part = actors.iter().filter(|one| one.who == part);
    of_part.map(|one| (one.says.clone(), one.sure)).collect()
}

fn session(id: u64, user: &str, seconds: f64, state: &str, statement: &str) -> Session {
    Session {
        id,
        user: user.to_owned(),
        host: "web1".to_owned(),
        db: "shop".to_owned(),
        command: "Query".to_owned(),
        seconds,
        state: state.to_owned(),
        statement: statement.to_owned(),
    }
}

/// A record with one processlist, of the stall.
fn with(list: &ProcessList) -> Incident {
    let mut incident = Story::healthy().build();
    incident.texts = vec![TimedText {
        at: 65_000,
        text: Text::own(OwnText::Processlist, serde_json::to_string(list).unwrap()),
    }];
    incident
}

fn busy(longest: Vec<Session>) -> Incident {
    with(&ProcessList {
        by_class: [("select".to_owned(), longest.len() as u64)].into(),
        longest,
        ..ProcessList::default()
    })
}

const COUNTS: &str = "select count(*) from t group by a";

#[test]
fn what_most_sessions_run_may_be_it() {
    let crowd = |of: u64, others: u64| {
        let same = (0..of).map(|id| session(id, "app", 11.0, "Sorting result", COUNTS));
        let other = (0..others).map(|id| {
            let statement = format!("select {id} from u");
            session(50 + id, "app", 0.0, "", &statement)
        });
        let incident = busy(same.chain(other).collect());
        let (actors, _) = told("malloc-arena", &incident);
        let common = actors
            .into_iter()
            .filter(|one| one.who == "common-statement");
        common.collect::<Vec<Actor>>()
    };
    let found = crowd(7, 3);
    let [common] = found.as_slice() else {
        panic!("{found:?}")
    };
    assert_eq!(common.says, "7 sessions of app@web1: SELECT for up to 11 s");
    assert_eq!((common.sessions, common.sure), (Some(7), false));
    assert_eq!(common.statement.as_deref(), Some(COUNTS));
    assert_eq!(common.connection, None);
    // Too few, or not most, or in its commit.
    assert_eq!(crowd(3, 0), []);
    assert_eq!(crowd(5, 5), []);
    let commits = (0..9).map(|id| session(id, "app", 1.0, "Commit", "COMMIT"));
    let of = |incident| says("malloc-arena", "common-statement", incident);
    assert_eq!(of(&busy(commits.collect())), []);
}

#[test]
fn who_asks_for_metadata_is_told_from_who_does_not() {
    let asks = "select table_rows from information_schema.tables";
    let part = |incident: &Incident| says("is-metadata-cost", "metadata-reader", incident);
    let mut sessions = vec![session(1, "app", 30.0, "Sending data", COUNTS)];
    assert_eq!(part(&busy(sessions.clone())), []);
    sessions.push(session(2, "monitor", 9.0, "Opening tables", asks));
    let one = "connection 2 (monitor@web1): SELECT for 9 s".to_owned();
    assert_eq!(part(&busy(sessions.clone())), [(one, true)]);
    let mut elsewhere = session(3, "monitor", 4.0, "Opening tables", asks);
    elsewhere.host = "web2".to_owned();
    sessions.push(elsewhere);
    let both = "2 sessions of monitor: SELECT for up to 9 s".to_owned();
    assert_eq!(part(&busy(sessions.clone())), [(both, true)]);
    let (_, now) = told("is-metadata-cost", &busy(sessions.clone()));
    assert!(now[0].contains("2 sessions of monitor"), "{now:?}");
    // Another asks as often.
    for id in 4..6 {
        sessions.push(session(id, "dba", 1.0, "", "show table status from shop"));
    }
    let sure: Vec<bool> = part(&busy(sessions))
        .iter()
        .map(|(_, sure)| *sure)
        .collect();
    assert_eq!(sure, [false, false]);
}

#[test]
fn the_clients_that_log_in_are_a_crowd() {
    let new = |count: u64| {
        let sessions = (0..count).map(|id| Session {
            host: "10.0.0.5".to_owned(),
            command: "Connect".to_owned(),
            ..session(id, "unauthenticated user", 0.0, "login", "")
        });
        says("dns-resolve", "newcomer", &busy(sessions.collect()))
    };
    let many = "60 sessions of unauthenticated user@10.0.0.5".to_owned();
    assert_eq!(new(60), [(many, true)]);
    // Somebody always does.
    assert_eq!(new(2), []);
}

#[test]
fn an_applier_at_work_is_named_with_what_it_does() {
    let applier = |id, state| Session {
        host: String::new(),
        command: "Slave_worker".to_owned(),
        ..session(id, "system user", 12.0, state, "")
    };
    let incident = busy(vec![
        applier(13, "Waiting for work from SQL thread"),
        applier(16, "Update_rows_log_event::find_row()"),
    ]);
    let one = "connection 16 (system user): Update_rows_log_event::find_row(), at work for 12 s";
    assert_eq!(
        says("replication-apply", "applier", &incident),
        [(one.to_owned(), true)]
    );
}

#[test]
fn a_replica_may_be_it() {
    let replica = Session {
        host: "10.0.0.9".to_owned(),
        command: "Binlog Dump".to_owned(),
        ..session(11, "repl", 9000.0, "Writing to net", "")
    };
    let incident = with(&ProcessList {
        replicas: vec![replica],
        ..ProcessList::default()
    });
    let one = "connection 11 (repl@10.0.0.9)".to_owned();
    assert_eq!(says("semisync-ack", "replica", &incident), [(one, false)]);
}

#[test]
fn a_disk_is_named_when_it_was_busy_or_became_slow() {
    let disk = |busy_ms: f64, write_ms: f64| {
        let story = Story::healthy().rate("disk.sda.busy_ms", 150.0, busy_ms);
        story.rate("disk.sda.write_ms", 300.0, write_ms)
    };
    let of = |story: Story| says("slow-fsync", "busy-disk", &story.build());
    assert_eq!(of(disk(150.0, 300.0)), []);
    let busy = "disk sda: 93 % busy, 0.97 ms a request, 0.97 ms before".to_owned();
    assert_eq!(of(disk(930.0, 300.0)), [(busy, true)]);
    // 330 requests a second.
    let slow = "disk sda: 15 % busy, 30 ms a request, 0.97 ms before".to_owned();
    assert_eq!(of(disk(150.0, 9_880.0)), [(slow, true)]);
    // As slow as ever.
    let always = disk(150.0, 9_880.0).rate("disk.sda.write_ms", 9_000.0, 9_880.0);
    assert_eq!(of(always), []);
    // Another disk may be the server's.
    let two = disk(930.0, 300.0).rate("disk.sdb.busy_ms", 10.0, 10.0);
    assert_eq!(of(two).first().map(|(_, sure)| *sure), Some(false));
}

#[test]
fn a_setting_is_named_with_a_value_that_the_cause_asks_for() {
    let part = "setting variables.innodb_thread_concurrency";
    let of = |value| {
        let story = Story::healthy().fact("variables.innodb_thread_concurrency", value);
        says("innodb-thread-concurrency", part, &story.build())
    };
    let two = "innodb_thread_concurrency: 2".to_owned();
    assert_eq!(of("2"), [(two, true)]);
    assert_eq!(of("0"), []);
    // A limit that was set in the stall; which of several limits it is, no sign says.
    let part = "setting cgroup.pids_max";
    let mut incident = Story::healthy().fact("cgroup.pids_max", "max").build();
    assert_eq!(says("thread-limit", part, &incident), []);
    for (at, value) in [(61_000, "34"), (80_000, "900")] {
        let fact = Fact::new("cgroup.pids_max", value);
        incident.facts.push(TimedFact { at, fact });
    }
    let limit = "cgroup.pids_max: 34".to_owned();
    assert_eq!(says("thread-limit", part, &incident), [(limit, false)]);
}
