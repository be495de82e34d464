//! Lists of sessions, and which of the sessions count as hanging.

use super::*;

fn row(id: u64, command: &'static str, seconds: u32, state: &'static str) -> SessionRow<'static> {
    SessionRow {
        id,
        user: "app",
        command,
        seconds: f64::from(seconds),
        state,
        statement: if command == "Sleep" {
            ""
        } else {
            "UPDATE t SET k = 1"
        },
    }
}

fn value(readings: &[Reading], name: &str) -> f64 {
    let reading = readings.iter().find(|reading| reading.name == name);
    reading.map_or(f64::NAN, |reading| reading.value)
}

/// Four sessions of a pool that finish something each second.
fn warm() -> (Sessions, Millis) {
    let mut sessions = Sessions::default();
    for second in 1..=20 {
        let rows: Vec<_> = (0..4).map(|id| row(id, "Sleep", 0, "")).collect();
        sessions.observe(second * 1000, &rows, true);
    }
    (sessions, 20_000)
}

#[test]
fn a_pool_that_hangs_is_told_with_the_age_of_the_oldest() {
    let (mut sessions, now) = warm();
    let rows: Vec<_> = (0..4).map(|id| row(id, "Query", 0, "Updating")).collect();
    let told = sessions.observe(now + 1000, &rows, true);
    assert_eq!(value(&told, "processlist.hung"), 0.0);
    assert_eq!(value(&told, "processlist.in_flight"), 4.0);
    let rows: Vec<_> = (0..4).map(|id| row(id, "Query", 1, "Updating")).collect();
    let told = sessions.observe(now + 2000, &rows, true);
    assert_eq!(value(&told, "processlist.hung_workers"), 4.0);
    assert_eq!(value(&told, "processlist.going"), 0.0);
    // They began between the two last samples of rest and work.
    let oldest = value(&told, "processlist.hung_oldest_ms");
    assert!((1000.0..=2000.0).contains(&oldest), "{oldest}");
    assert_eq!(value(&told, "processlist.since_finish_ms"), 2000.0);
}

#[test]
fn a_report_of_somebody_else_is_no_worker_and_is_learnt() {
    let (mut sessions, now) = warm();
    let report = |seconds| SessionRow {
        statement: "SELECT SUM(k) FROM t",
        ..row(9, "Query", seconds, "Sending data")
    };
    let mut told = Vec::new();
    for second in 1..=60 {
        let mut rows: Vec<_> = (0..4).map(|id| row(id, "Sleep", 0, "")).collect();
        rows.push(report(second as u32));
        told = sessions.observe(now + second * 1000, &rows, true);
        assert_eq!(value(&told, "processlist.hung_workers"), 0.0);
        assert_eq!(value(&told, "processlist.going"), 4.0);
    }
    assert_eq!(value(&told, "processlist.hung"), 0.0, "learnt by now");
}

/// Workers take turns by GET_LOCK(); then the one whose turn it is hangs.
#[test]
fn workers_that_wait_for_a_lock_of_the_application_hang() {
    let lock = |id, seconds| SessionRow {
        statement: "SELECT GET_LOCK('job', 60)",
        ..row(id, "Query", seconds, "User lock")
    };
    let mut sessions = Sessions::default();
    let mut now = 0;
    for second in 1..=60_u64 {
        now = second * 1000;
        let mut rows: Vec<_> = (0..3).map(|id| row(id, "Sleep", 0, "")).collect();
        rows.push(lock(3 + second % 2, 0));
        sessions.observe(now, &rows, true);
    }
    let rows: Vec<_> = (0..4).map(|id| lock(id, 3)).collect();
    let told = sessions.observe(now + 3000, &rows, true);
    assert_eq!(value(&told, "processlist.hung"), 4.0);
    assert!(value(&told, "processlist.hung_workers") >= 3.0);
    assert_eq!(value(&told, "processlist.going"), 0.0);
}

/// One of several programs is to be active: the others ask for its lock for hours, from before the recorder began.
#[test]
fn who_waits_for_its_turn_for_hours_does_not_hang() {
    let (mut sessions, now) = warm();
    for second in 1..=30 {
        let mut rows: Vec<_> = (0..4).map(|id| row(id, "Sleep", 0, "")).collect();
        rows.extend((20..23).map(|id| SessionRow {
            statement: "SELECT GET_LOCK('leader', 86400)",
            ..row(id, "Query", 5_000 + second as u32, "User lock")
        }));
        let told = sessions.observe(now + second * 1000, &rows, true);
        assert_eq!(value(&told, "processlist.hung_workers"), 0.0);
        assert_eq!(value(&told, "processlist.going"), 4.0);
        if second > 20 {
            assert_eq!(value(&told, "processlist.hung"), 0.0, "learnt by now");
        }
    }
}

#[test]
fn waits_count_by_themselves() {
    let (mut sessions, now) = warm();
    let mut rows: Vec<_> = (0..3).map(|id| row(id, "Sleep", 0, "")).collect();
    rows.push(row(3, "Query", 2, "Waiting for table metadata lock"));
    rows.push(row(7, "Query", 5, "User sleep"));
    let told = sessions.observe(now + 1000, &rows, true);
    assert_eq!(value(&told, "processlist.waiting_2s"), 1.0);
    assert_eq!(value(&told, "processlist.hung"), 1.0);
}

#[test]
fn who_is_not_let_in_is_told_after_a_second() {
    let mut sessions = Sessions::default();
    let pending = SessionRow {
        user: "unauthenticated user",
        ..row(5, "Connect", 0, "login")
    };
    let mut told = Vec::new();
    for second in 1..=2 {
        told = sessions.observe(second * 1000, &[pending], true);
    }
    assert_eq!(value(&told, "processlist.logging_in"), 1.0);
}

#[test]
fn odd_times_do_no_harm() {
    let mut sessions = Sessions::default();
    for (at, seconds) in [
        (5, f64::NAN),
        (1, -3.0),
        (u64::MAX, 1e300),
        (2, 4.3e9),
        (3, 1e8),
    ] {
        let odd = SessionRow {
            seconds,
            ..row(1, "Query", 0, "")
        };
        sessions.observe(at, &[odd, odd], true);
    }
}

#[test]
fn sessions_that_may_hang_are_looked_at_again() {
    let (mut sessions, now) = warm();
    assert!(!sessions.looks_held(false), "they finish");
    let rows: Vec<_> = (0..4).map(|id| row(id, "Query", 0, "Updating")).collect();
    sessions.observe(now + 1000, &rows, true);
    assert!(sessions.looks_held(false));
    let rows: Vec<_> = (0..4).map(|id| row(id, "Query", 1, "Updating")).collect();
    let told = sessions.observe(now + 1450, &rows, true);
    assert_eq!(value(&told, "processlist.hung"), 4.0);
    assert!(!sessions.looks_held(true), "it is known now");
}

#[test]
fn who_is_always_in_a_statement_is_told_apart_from_who_never_is() {
    let (mut sessions, now) = warm();
    let unusual = |sessions: &mut Sessions, second: u64, first_is_in_one: bool| {
        let mut rows: Vec<_> = (0..4).map(|id| row(id, "Sleep", 0, "")).collect();
        // Reports of less than a second, one after another.
        rows.push(row(9, "Query", 0, "Sending data"));
        if first_is_in_one {
            rows[0] = row(0, "Query", 0, "Updating");
        }
        let told = sessions.observe(now + second * 1000, &rows, true);
        let of = |name| value(&told, name);
        (
            of("processlist.in_flight"),
            of("processlist.in_flight_unusual"),
        )
    };
    // Nothing is known of it yet.
    assert_eq!(unusual(&mut sessions, 1, false), (1.0, 1.0));
    for second in 2..=10 {
        unusual(&mut sessions, second, false);
    }
    assert_eq!(unusual(&mut sessions, 11, false), (1.0, 0.0));
    for second in 12..=22 {
        assert_eq!(unusual(&mut sessions, second, true), (2.0, 1.0), "{second}");
    }
}

#[test]
fn a_write_that_hung_once_unnoticed_makes_no_such_writes_long() {
    let (mut sessions, mut now) = warm();
    let mut hung_for = |seconds: u32, hung: u64, state: &'static str| {
        let mut told = Vec::new();
        for second in 0..seconds + 20 {
            let rows: Vec<_> = (0..2)
                .map(|id| match id < hung && second < seconds {
                    true => row(id, "Query", second, state),
                    false => row(id, "Sleep", 0, ""),
                })
                .collect();
            now += 1000;
            let readings = sessions.observe(now, &rows, true);
            if second + 1 == seconds {
                told = readings;
            }
        }
        value(&told, "processlist.hung_workers")
    };
    assert_eq!(hung_for(5, 1, "Commit"), 1.0);
    // 20 s later it is learnt, and hides nothing.
    assert_eq!(hung_for(5, 2, "Commit"), 2.0);
    // Such writes that take as long every minute are what they are.
    for _ in 0..5 {
        hung_for(5, 1, "Commit");
        hung_for(60, 0, "");
    }
    assert_eq!(hung_for(5, 1, "Commit"), 0.0);
}
