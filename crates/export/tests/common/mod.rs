//! A small incident with a name of the caller's wherever an incident may hold one.
#![allow(dead_code, reason = "each test uses a part of it")]

use std::collections::BTreeMap;

use model::{
    Absent, Clock, Counted, Fact, FrameSide, Incident, ProcessList, Profile, ProfileCount,
    QueryClass, QueryDigest, QueryMethod, Reading, Reason, RunState, Server, Session, SnapshotMeta,
    SnapshotMethod, StackEnd, StackEvidence, StackFrame, StackTable, Stall, TextKind, ThreadRun,
    TimedAbsent, TimedDigest, TimedFact, TimedText, Timeline, Trigger, Unit, Window,
};

/// Names that must not be seen.
#[derive(Debug, Clone)]
pub struct Planted {
    pub user: String,
    pub host: String,
    pub address: String,
    pub schema: String,
    pub table: String,
    pub column: String,
    pub literal: String,
    pub folder: String,
    pub program: String,
    /// A schema and a table that only logs name.
    pub logged: (String, String),
}

impl Planted {
    pub fn words(&self) -> Vec<&str> {
        vec![
            &self.user,
            &self.host,
            &self.address,
            &self.schema,
            &self.table,
            &self.column,
            &self.literal,
            &self.folder,
            &self.program,
            &self.logged.0,
            &self.logged.1,
        ]
    }
}

/// The stall lasts from 10 s to 20 s of 30 s.
pub fn incident(planted: &Planted) -> Incident {
    let Planted {
        user,
        host,
        address,
        schema,
        table,
        column,
        literal,
        folder,
        program,
        logged,
    } = planted;
    let mut timeline = Timeline::default();
    for second in 0..30_u64 {
        let grown = if second < 10 { second } else { second * 100 };
        timeline.push_readings(
            "status",
            second * 1000,
            &[
                Reading::counter("status.Questions", Unit::Count, grown as f64),
                Reading::gauge("status.Uptime", Unit::Seconds, (5000 + second) as f64),
            ],
        );
        timeline.push_readings(
            "vmstat",
            second * 1000 + 1,
            &[
                Reading::counter("vmstat.compact_stall", Unit::Count, grown as f64),
                Reading::counter("vmstat.pswpin", Unit::Count, 0.0),
            ],
        );
        timeline.push_readings(
            "stat",
            second * 1000 + 2,
            &[
                Reading::counter("cpu.all.user", Unit::Ticks, (1000 + second * 50) as f64),
                Reading::counter("cpu.all.system", Unit::Ticks, (500 + second * 25) as f64),
                Reading::counter("cpu.all.idle", Unit::Ticks, (9000 + second * 25) as f64),
                Reading::gauge("cpu.count", Unit::Count, 1.0),
                Reading::gauge("cpu.procs_running", Unit::Count, 3.0),
            ],
        );
        timeline.push_readings(
            "disk",
            second * 1000 + 3,
            &[
                Reading::counter("disk.vda.reads", Unit::Count, (second * 10) as f64),
                Reading::counter(
                    "disk.vda.read_bytes",
                    Unit::Bytes,
                    (second * 512_000) as f64,
                ),
                Reading::counter("disk.vda.writes", Unit::Count, 7.0),
            ],
        );
    }
    let statement = format!("select {column} from {schema}.{table} where {column} = '{literal}'");
    let list = ProcessList {
        sessions: 9,
        by_command: BTreeMap::from([("Query".to_owned(), 5)]),
        by_state: BTreeMap::from([("Waiting for table metadata lock".to_owned(), 5)]),
        by_user: BTreeMap::from([(user.clone(), 5)]),
        by_class: BTreeMap::from([("select".to_owned(), 5)]),
        longest: vec![Session {
            id: 7,
            user: user.clone(),
            host: host.clone(),
            db: schema.clone(),
            command: "Query".to_owned(),
            seconds: 12.0,
            state: "Waiting for table metadata lock".to_owned(),
            statement: statement.clone(),
        }],
        idle: vec![Session {
            id: 8,
            user: "sleepingaccount".to_owned(),
            host: "sleeper.orchard.invalid".to_owned(),
            db: schema.clone(),
            command: "Sleep".to_owned(),
            seconds: 14.0,
            state: String::new(),
            statement: String::new(),
        }],
        idle_count: 1,
        replicas: vec![Session {
            id: 6,
            user: user.clone(),
            host: host.clone(),
            db: String::new(),
            command: "Binlog Dump".to_owned(),
            seconds: 9000.0,
            state: "Writing to net".to_owned(),
            statement: String::new(),
        }],
    };
    let status = format!(
        "=====================================\n2026-11-20 23:40:21 0x7f60 INNODB MONITOR OUTPUT\n=====================================\n\
         ------------\nTRANSACTIONS\n------------\nTrx id counter 52\n\
         ---TRANSACTION 51, ACTIVE 12 sec starting index read\n\
         mysql tables in use 1, locked 1\nLOCK WAIT 2 lock struct(s), heap size 1136, 1 row lock(s)\n\
         MySQL thread id 7, OS thread handle 140, query id 99 {host} {address} {user} updating\n\
         update `{schema}`.{table} set {column} = '{literal}'\n\
         ------- TRX HAS BEEN WAITING 12 SEC FOR THIS LOCK TO BE GRANTED:\n\
         RECORD LOCKS space id 5 page no 4 n bits 72 index `PRIMARY` of table `{schema}`.`{table}` trx id 51 lock_mode X waiting\n\
         ------------------\nTABLE LOCK table `{schema}`.`{table}` trx id 51 lock mode IX\n\
         ----------------------------\nEND OF INNODB MONITOR OUTPUT\n============================\n"
    );
    let log = format!(
        "2026-11-20 23:40:21 7 [Warning] Aborted connection 7 to db: '{schema}' user: '{user}' host: '{host}' (Got timeout reading communication packets)\n\
         2026-11-20 23:40:21 8 [Warning] Access denied for user '{user}'@'{address}' (using password: YES)\n\
         2026-11-20 23:40:22 8 [ERROR] mysqld: Table './{}/{}' is marked as crashed and should be repaired\n\
         2026-11-20 23:40:22 0 [Note] InnoDB: page_cleaner: 1000ms intended loop took 4013ms.\n\
         2026-11-20 23:40:23 8 [ERROR] InnoDB: Cannot open table {}/{} from the internal data dictionary\n\
         2026-11-20 23:40:23 0 [Note] /srv/{folder}/bin/mysqld: ready for connections. socket: '/srv/{folder}/my.sock' port: 3306\n\
         2026-11-20 23:40:24 9 [Warning] IP address '{address}' could not be resolved; {user}@{host}.example.org too\n",
        logged.0, logged.1, logged.0, logged.1
    );
    let kernel = format!(
        "[12345.678901] Out of memory: Killed process 4711 ({program}) total-vm:1kB, UID:0\n\
         [12346.000001] CPU: 1 PID: 4711 Comm: {program} Not tainted\n\
         Nov 20 23:40:21 {host} kernel: [12347.1] IN=eth0 SRC={address} DST=10.255.1.9\n"
    );
    let text = |at, kind, body: String| TimedText {
        at,
        text: server_text::stored(kind, &body),
    };
    let fact = |name: &str, value: String| TimedFact {
        at: 0,
        fact: Fact::new(name, value),
    };
    let frame = |name: &str, image: &str, side| StackFrame {
        name: name.to_owned(),
        image: image.to_owned(),
        side,
        nameless: None,
    };
    let mut book = StackTable::default();
    let waiting = book.intern(
        [
            frame("futex_wait", "[kernel]", FrameSide::Kernel),
            frame("pthread_cond_timedwait", "libc.so.6", FrameSide::User),
            frame("MDL_wait::timed_wait", "mysqld", FrameSide::User),
            frame("handle_one_connection", "mysqld", FrameSide::User),
            frame("start_thread", "libc.so.6", FrameSide::User),
        ],
        StackEnd::Complete,
    );
    let other = book.intern(
        [
            frame("do_sys_poll", "[kernel]", FrameSide::Kernel),
            frame(&format!("({program})"), program, FrameSide::User),
        ],
        StackEnd::KernelOnly,
    );
    let counted = |name: &str| {
        vec![Counted {
            name: name.to_owned(),
            count: 5,
        }]
    };
    Incident {
        mentions: Vec::new(),
        known_words: Vec::new(),
        id: format!("{folder}-20261120T234021.123Z"),
        host: host.clone(),
        tool_version: "0.1.0".to_owned(),
        server: Server {
            label: folder.clone(),
            version: "8.0.36 (MySQL Community Server)".to_owned(),
            pid: Some(4711),
            address: format!("socket /srv/{folder}/my.sock"),
        },
        clock: Clock {
            wall_at_zero_ms: 1_795_217_000_000,
            boot_id: "0f8e4621-d2fa-48fa-97f3-f664df620b51".to_owned(),
        },
        stall: Stall {
            earlier: Vec::new(),
            onset: 10_000,
            trigger: 12_000,
            end: Some(20_000),
            triggers: vec![Trigger {
                rule: "query-probe".to_owned(),
                says: format!("SELECT 1 failed: Access denied for user '{user}'@'{host}'"),
            }],
        },
        window: Window {
            from: 0,
            to: 30_000,
        },
        timeline,
        texts: vec![
            text(
                11_000,
                TextKind::Processlist,
                serde_json::to_string(&list).unwrap(),
            ),
            text(12_000, TextKind::InnodbStatus, status.clone()),
            text(13_000, TextKind::ErrorLog, log),
            text(14_000, TextKind::KernelLog, kernel),
            text(15_000, TextKind::InnodbStatus, status),
        ],
        facts: vec![
            fact("variables.hostname", host.clone()),
            fact("variables.datadir", format!("/srv/{folder}/data/")),
            fact("variables.version", "8.0.36".to_owned()),
            fact(
                "variables.init_connect",
                format!("set @{column} = '{literal}'"),
            ),
            fact("variables.report_host", format!("{host}:3306")),
            fact("variables.bind_address", address.clone()),
            fact("sysctl.vm.swappiness", "60".to_owned()),
            fact(
                "server.allocator",
                "jemalloc (/usr/lib/x86_64-linux-gnu/libjemalloc.so.2)".to_owned(),
            ),
            fact(
                "packets.show_warnings.senders",
                format!("user {user} (98 %); host {address} (98 %); program libmariadb (90 %)"),
            ),
        ],
        stacks: StackEvidence {
            table: book,
            snapshots: vec![SnapshotMeta {
                at: 12_500,
                method: SnapshotMethod::Proc,
                wall_us: 100,
                stopped_us: 0,
                threads: 2,
                complete: 2,
            }],
            runs: [21, 22]
                .map(|tid| ThreadRun {
                    tid,
                    name: "connection".to_owned(),
                    from: 12_000,
                    to: 13_000,
                    snapshots: 2,
                    unmoved: true,
                    state: RunState::Sleeping,
                    syscall: None,
                    stack: waiting,
                })
                .to_vec(),
            profiles: vec![Profile {
                from: 11_000,
                to: 16_000,
                hz: 99,
                processors: 2,
                counts: vec![
                    ProfileCount {
                        stack: waiting,
                        thread: "connection".to_owned(),
                        server: true,
                        count: 40,
                    },
                    ProfileCount {
                        stack: other,
                        thread: program.clone(),
                        server: false,
                        count: 2,
                    },
                ],
                lost: 0,
            }],
            callers: Vec::new(),
            locks: Vec::new(),
        },
        queries: vec![TimedDigest {
            window: Window {
                from: 11_000,
                to: 15_000,
            },
            digest: QueryDigest {
                method: QueryMethod::Packets,
                from_us: None,
                to_us: None,
                count: 5,
                errors: None,
                classes: vec![QueryClass {
                    fingerprint: format!(
                        "select {column} from {schema}.{table} where {column} = ?"
                    ),
                    id: "0123456789abcdef".to_owned(),
                    compat_id: Some("00112233445566778899AABBCCDDEEFF".to_owned()),
                    kind: "SELECT".to_owned(),
                    count: 5,
                    users: counted(user),
                    hosts: counted(address),
                    databases: counted(schema),
                    programs: counted(program),
                    sample: Some(statement),
                    notes: vec![format!("explain: {table}")],
                    ..QueryClass::default()
                }],
                folded: None,
                lost: 0,
                blind: Vec::new(),
                tried: Vec::new(),
                connections: None,
            },
        }],
        absent: vec![TimedAbsent {
            first: 0,
            last: 30_000,
            count: 3,
            absent: Absent::new(
                "statement digests",
                Reason::Permission,
                format!(
                    "SELECT command denied to user '{user}'@'{host}' for table '{schema}.{table}'"
                ),
            ),
        }],
    }
}
