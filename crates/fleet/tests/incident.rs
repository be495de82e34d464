//! An incident as rows: what is in them, and what must not be.

use diagnosis::{Catalogue, diagnose};
use fleet::from_incident::{FrameFile, IncidentRows, Refused, rows};
use fleet::row::{Phase, StackKind, VerdictKind};
use fleet::sqlite::{Inserted, Store};
use fleet::value::Value;
use model::{
    Clock, Counted, Fact, FrameSide, Incident, Profile, ProfileCount, QueryClass, QueryDigest,
    QueryMeasure, QueryMethod, Reading, RunState, Server, SnapshotMeta, SnapshotMethod, StackEnd,
    StackEvidence, StackFrame, StackTable, Stall, ThreadRun, TimedDigest, TimedFact, Timeline,
    Trigger, Unit, Window,
};

pub const SALT: &[u8] = b"a salt of thirty-two bytes or so";

/// 2026-11-28 12:00:00 UTC.
pub const ZERO_MS: i64 = 1_795_867_200_000;

fn frame(name: &str, image: &str, side: FrameSide) -> StackFrame {
    StackFrame {
        name: name.to_owned(),
        image: image.to_owned(),
        side,
        nameless: None,
    }
}

fn class(fingerprint: &str, count: u64) -> QueryClass {
    QueryClass {
        fingerprint: fingerprint.to_owned(),
        count,
        measures: vec![QueryMeasure {
            name: "Query_time".to_owned(),
            count,
            sum: 0.5,
            max: Some(0.25),
            decades: vec![0, 3, 0, 1],
            ..QueryMeasure::default()
        }],
        users: vec![Counted {
            name: "carolyn_app".to_owned(),
            count,
        }],
        ..QueryClass::default()
    }
}

/// The stall lasts from second 80 to 90 of 100.
pub fn incident(host: &str) -> Incident {
    let mut timeline = Timeline::default();
    for second in 0..100_u64 {
        let readings = [
            Reading::counter("vmstat.compact_stall", Unit::Count, (second * 10) as f64),
            Reading::gauge(
                "status.Threads_running",
                Unit::Count,
                if second < 80 { 2.0 } else { 60.0 },
            ),
            Reading::gauge("status.Uptime", Unit::Seconds, 5000.0),
        ];
        timeline.push_readings("status", second * 1000, &readings);
    }
    let mut book = StackTable::default();
    let user = |name: &str| frame(name, "/opt/carolyn_app/mariadbd", FrameSide::User);
    let libc = |name: &str| frame(name, "libc.so.6", FrameSide::User);
    let kernel = |name: &str| frame(name, "[kernel]", FrameSide::Kernel);
    let calm = book.intern([user("row_search"), user("do_command")], StackEnd::Complete);
    let compact = book.intern(
        [kernel("compaction_alloc"), user("row_search")],
        StackEnd::Complete,
    );
    let waits = book.intern(
        [
            kernel("futex_wait"),
            libc("pthread_cond_wait"),
            user("lock_wait"),
        ],
        StackEnd::Complete,
    );
    let count = |stack, count| ProfileCount {
        stack,
        thread: "connection".to_owned(),
        server: true,
        count,
    };
    let profile = |from: u64, counts| Profile {
        from: from * 1000,
        to: (from + 10) * 1000,
        hz: 50,
        processors: 2,
        counts,
        lost: 4,
    };
    let snapshot = |second: u64| SnapshotMeta {
        at: second * 1000,
        method: SnapshotMethod::Bpf,
        wall_us: 1,
        stopped_us: 0,
        threads: 1,
        complete: 1,
    };
    Incident {
        id: "3306-20261128T120122.000Z".to_owned(),
        host: host.to_owned(),
        tool_version: "0.1.0".to_owned(),
        server: Server {
            label: "3306".to_owned(),
            version: "10.11.6-MariaDB-log".to_owned(),
            pid: Some(7),
            address: "socket /run/carolyn_app.sock".to_owned(),
        },
        clock: Clock {
            wall_at_zero_ms: ZERO_MS,
            boot_id: "b".to_owned(),
        },
        stall: Stall {
            onset: 80_000,
            trigger: 82_000,
            end: Some(90_000),
            triggers: vec![Trigger {
                rule: "query-probe".to_owned(),
                says: "SELECT 1 takes 2 s".to_owned(),
            }],
            earlier: Vec::new(),
        },
        window: Window {
            from: 0,
            to: 99_000,
        },
        timeline,
        facts: [
            ("host.kernel", "6.1.0"),
            ("thp.enabled", "always"),
            ("host.cpus", "8"),
            ("variables.max_connections", "151"),
            ("variables.datadir", "/srv/carolyn_app/"),
        ]
        .map(|(name, value)| TimedFact {
            at: 0,
            fact: Fact {
                name: name.to_owned(),
                value: value.to_owned(),
            },
        })
        .into(),
        stacks: StackEvidence {
            table: book,
            snapshots: (75..95).map(snapshot).collect(),
            runs: vec![ThreadRun {
                tid: 9,
                name: "connection".to_owned(),
                from: 80_000,
                to: 92_000,
                snapshots: 13,
                unmoved: true,
                state: RunState::Sleeping,
                syscall: None,
                stack: waits,
            }],
            profiles: vec![
                profile(5, vec![count(calm, 100)]),
                profile(70, vec![count(calm, 100)]),
                profile(80, vec![count(calm, 100), count(compact, 400)]),
            ],
            callers: Vec::new(),
            locks: Vec::new(),
        },
        queries: vec![TimedDigest {
            window: Window {
                from: 80_000,
                to: 90_000,
            },
            digest: QueryDigest {
                method: QueryMethod::Packets,
                from_us: None,
                to_us: None,
                count: 4,
                errors: None,
                classes: vec![class("select salary from carolyn_payroll where id = ?", 4)],
                folded: None,
                lost: 0,
                blind: Vec::new(),
                tried: Vec::new(),
                connections: None,
            },
        }],
        ..Incident::default()
    }
}

pub fn rows_of(incident: &Incident, salt: &[u8]) -> Result<IncidentRows, Refused> {
    let verdict = diagnose(incident, Catalogue::builtin());
    let file = FrameFile {
        key: "/frames/x.frame".to_owned(),
        bytes: 5,
        sha256: "ab".repeat(32),
    };
    rows(incident, &verdict, salt, &file, 77)
}

#[test]
fn an_incident_becomes_rows() {
    let made = rows_of(&incident("db1"), SALT).unwrap();
    assert_eq!(
        (made.host.host.as_str(), made.host.label.as_str()),
        ("db1", "3306")
    );
    assert_eq!((made.host.vendor.as_str(), made.host.cores), ("MariaDB", 8));
    assert_eq!(
        (made.host.thp.as_str(), made.host.kernel.as_str()),
        ("always", "6.1.0")
    );
    assert!(
        made.host
            .settings
            .contains(&("variables.max_connections".into(), "151".into()))
    );
    let row = &made.incident;
    assert_eq!(row.onset.0, ZERO_MS + 80_000);
    assert_eq!(
        (row.duration_ms, row.trigger.as_str(), row.rev),
        (10_000, "query-probe", 77)
    );
    assert_ne!(row.verdict, VerdictKind::Named);
    assert_eq!(row.heaviest, ["lock_wait", "compaction_alloc"]);
    assert_eq!(made.health.lost, 12);
}

#[test]
fn stacks_have_their_part_their_time_and_names() {
    let made = rows_of(&incident("db1"), SALT).unwrap();
    let function = |id| {
        let frame = made
            .frames
            .iter()
            .find(|frame| frame.frame_id == id)
            .unwrap();
        (frame.module.as_str(), frame.function.as_str())
    };
    let mut seen: Vec<_> = made
        .stacks
        .iter()
        .map(|row| {
            let stack = made
                .stack_frames
                .iter()
                .find(|one| one.stack_id == row.stack_id);
            (
                function(stack.unwrap().frames[0]).1,
                row.phase,
                row.kind,
                row.samples,
                row.ns / 1_000_000,
            )
        })
        .collect();
    seen.sort_by_key(|row| (row.0, row.1));
    assert_eq!(
        seen,
        [
            (
                "compaction_alloc",
                Phase::Stall,
                StackKind::OnCpu,
                400,
                8000
            ),
            ("futex_wait", Phase::Stall, StackKind::Wait, 11, 11_000),
            ("futex_wait", Phase::After, StackKind::Wait, 2, 2000),
            ("row_search", Phase::Baseline, StackKind::OnCpu, 100, 2000),
            ("row_search", Phase::Before, StackKind::OnCpu, 100, 2000),
            ("row_search", Phase::Stall, StackKind::OnCpu, 100, 2000),
        ]
    );
    assert_eq!(made.frames.len(), 6);
    // No folder of the image: whoever installed it.
    assert!(made.frames.iter().all(|frame| !frame.module.contains('/')));
}

#[test]
fn minutes_have_rates_of_counters_and_levels_of_gauges() {
    let made = rows_of(&incident("db1"), SALT).unwrap();
    let minute = |name: &str, place: usize| {
        let mut rows = made.signals.iter().filter(|row| row.signal == name);
        let row = rows.nth(place).unwrap();
        (row.n, row.min, row.max, row.seconds.len())
    };
    assert_eq!(minute("vmstat.compact_stall", 0), (59, 10.0, 10.0, 0));
    assert_eq!(minute("vmstat.compact_stall", 1), (40, 10.0, 10.0, 0));
    assert_eq!(minute("status.Threads_running", 0), (60, 2.0, 2.0, 0));
    assert_eq!(minute("status.Threads_running", 1), (40, 2.0, 60.0, 60));
    assert!(made.signals.iter().all(|row| row.ts.0 % 60 == 0));
}

#[test]
fn servers_of_a_fleet_share_stacks_shapes_and_digests() {
    let (one, two) = (
        rows_of(&incident("db1"), SALT).unwrap(),
        rows_of(&incident("db2"), SALT).unwrap(),
    );
    assert_ne!(one.host.host_id, two.host.host_id);
    assert_ne!(one.incident.incident_id, two.incident.incident_id);
    assert_eq!(one.incident.shape, two.incident.shape);
    assert_eq!(one.stack_frames, two.stack_frames);
    assert_eq!(one.query_texts, two.query_texts);
    assert_eq!(one.queries[0].digest, two.queries[0].digest);
    let other = rows_of(&incident("db1"), b"another salt, of another fleet..").unwrap();
    assert_ne!(other.queries[0].digest, one.queries[0].digest);
    assert_ne!(other.host.host_id, one.host.host_id);
    assert_eq!(other.incident.shape, one.incident.shape);
    assert_eq!(
        (
            one.queries[0].n,
            one.queries[0].sum_us,
            one.queries[0].max_us
        ),
        (4, 500_000, 250_000)
    );
    assert_eq!(one.queries[0].hist, [(1, 3), (3, 1)]);
}

#[test]
fn names_of_users_tables_and_folders_are_in_no_row() {
    let made = rows_of(&incident("db1"), SALT).unwrap();
    for batch in [made.evidence(), made.judgement()] {
        for table in batch.tables() {
            for value in table.rows.iter().flatten() {
                assert!(
                    !has(value, "carolyn") && !has(value, "salary"),
                    "{}: {value:?}",
                    table.table.name
                );
            }
        }
    }
    let text = &made.query_texts[0].text;
    assert!(
        text.starts_with("select ") && text.contains(" from table_"),
        "{text}"
    );
}

/// Rows are searched as an export is: for what can only be somebody's, too, though nobody met it as a name.
#[test]
fn what_nobody_met_as_a_name_is_in_no_row_either() {
    for name in [
        "db-7.acme.corp",
        "at 10.1.2.3",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    ] {
        let mut made = incident("db1");
        let frames = [frame(name, "mariadbd", FrameSide::User)];
        let stack = made.stacks.table.intern(frames, StackEnd::Complete);
        made.stacks.profiles[2].counts.push(ProfileCount {
            stack,
            thread: "connection".to_owned(),
            server: true,
            count: 500,
        });
        let refused = rows_of(&made, SALT);
        assert!(
            matches!(refused, Err(Refused::Leak { .. })),
            "{name}: {refused:?}"
        );
    }
}

#[test]
fn what_is_refused_is_told_without_the_name() {
    for name in ["carolyn_payroll", "salary", "carolyn_app"] {
        let mut one = incident("db1");
        // It is kept as it is.
        one.stall.triggers[0].rule = name.to_owned();
        let told = rows_of(&one, SALT).unwrap_err().to_string();
        let place = format!("of {} bytes", name.len());
        assert!(
            told.contains(&place) && told.contains("in trigger of incidents"),
            "{told}"
        );
        assert!(!told.contains(name), "{told}");
    }
}

fn has(value: &Value, word: &str) -> bool {
    match value {
        Value::Text(text) => text.contains(word),
        Value::List(values) => values.iter().any(|value| has(value, word)),
        Value::Map(pairs) => pairs
            .iter()
            .any(|(key, value)| has(key, word) || has(value, word)),
        _ => false,
    }
}

#[test]
fn a_capture_without_a_time_of_day_has_no_place() {
    let mut incident = incident("db1");
    incident.clock = Clock::default();
    assert_eq!(rows_of(&incident, SALT), Err(Refused::NoTime));
}

#[test]
fn the_same_file_is_there_once_and_judged_anew() {
    let mut store = Store::temporary().unwrap();
    let made = rows_of(&incident("db1"), SALT).unwrap();
    assert_eq!(store.insert(&made.evidence(), 1).unwrap(), Inserted::New);
    store.insert(&made.judgement(), 1).unwrap();
    let mut later = rows_of(&incident("db1"), SALT).unwrap();
    later.incident.rev = 78;
    later.incident.cause = "thp-compaction".to_owned();
    assert_eq!(
        store.insert(&later.evidence(), 2).unwrap(),
        Inserted::Repeated
    );
    assert_eq!(store.insert(&later.judgement(), 2).unwrap(), Inserted::New);
    assert_eq!(store.extent().unwrap().incidents, 1);
    let subject = store.subject(None).unwrap().unwrap();
    assert_eq!(
        subject,
        later.subject(),
        "from rows and from the store alike"
    );
}
