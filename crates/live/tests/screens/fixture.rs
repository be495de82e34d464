//! The made-up incident of the reports' tests, a flood of SHOW WARNINGS, with the stacks that it has no need of there: a
//! convoy on a mutex whose holder waits for the allocator.

use std::sync::Arc;

use diagnosis::{Level, Verdict};
use live::{IncidentEntry, IncidentOutcome, Model, Outcomes, RecordingKind};
use model::{
    ChainLink, FrameSide, Holder, HolderBy, Incident, LockCaller, LockRow, LockTable, Millis,
    NamedBy, Profile, ProfileCount, Reading, RunState, SnapshotMeta, SnapshotMethod, StackEnd,
    StackEvidence, StackFrame, StackId, StackTable, Syscall, ThreadRun, Unit, WaitChain,
    WaitCounting,
};

use crate::made;

/// What a terminal would obey.
pub const HOSTILE: &str = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{202e}";

fn frames(names: &[(&str, FrameSide)]) -> Vec<StackFrame> {
    names
        .iter()
        .map(|(name, side)| StackFrame {
            name: (*name).to_owned(),
            image: match side {
                FrameSide::Kernel => "[kernel]",
                FrameSide::User => "mysqld",
            }
            .to_owned(),
            side: *side,
            nameless: None,
        })
        .collect()
}

struct Stacks {
    waits: StackId,
    holds: StackId,
    sends: StackId,
    idles: StackId,
}

fn stacks(book: &mut StackTable) -> Stacks {
    use FrameSide::{Kernel, User};
    let mut of = |names: &[(&str, FrameSide)]| book.intern(frames(names), StackEnd::Complete);
    Stacks {
        waits: of(&[
            ("futex_wait_queue", Kernel),
            ("__lll_lock_wait", User),
            ("trx_commit_low", User),
            ("ha_commit_trans", User),
            ("mysql_execute_command", User),
        ]),
        holds: of(&[
            ("__lll_lock_wait_private", User),
            ("_int_free", User),
            ("trx_sys_close_view", User),
            ("trx_commit_low", User),
        ]),
        sends: of(&[
            ("tcp_sendmsg", Kernel),
            ("__x64_sys_sendto", Kernel),
            ("vio_write", User),
            ("net_write_packet", User),
            ("mysqld_show_warnings", User),
        ]),
        idles: of(&[
            ("do_sys_poll", Kernel),
            ("poll", User),
            ("vio_io_wait", User),
        ]),
    }
}

fn run(tid: u32, state: RunState, stack: StackId, call: Option<&str>) -> ThreadRun {
    ThreadRun {
        tid,
        name: "connection".to_owned(),
        from: 246_000,
        to: 300_000,
        snapshots: 540,
        unmoved: false,
        state,
        syscall: call.map(|name| Syscall {
            number: 202,
            name: name.to_owned(),
            futex: None,
        }),
        stack,
    }
}

fn profile(from: Millis, stacks: &Stacks, counts: [u64; 3]) -> Profile {
    let count = |stack, count| ProfileCount {
        stack,
        thread: "connection".to_owned(),
        server: true,
        count,
    };
    Profile {
        from,
        to: from + 5_000,
        hz: 49,
        processors: 32,
        counts: vec![
            count(stacks.sends, counts[0]),
            count(stacks.waits, counts[1]),
            count(stacks.idles, counts[2]),
        ],
        lost: 0,
    }
}

fn holder(stack: StackId, tid: u32, doing: &str) -> Holder {
    Holder {
        tid,
        name: "connection".to_owned(),
        by: HolderBy::Stack,
        snapshots: 12,
        stack,
        doing: doing.to_owned(),
    }
}

fn lock_table(from: Millis, stacks: &Stacks, waiters: u32) -> LockTable {
    let lock = |name: &str, waiters: u32, caller: &str, holder: Option<Holder>| LockRow {
        name: name.to_owned(),
        named_by: NamedBy::CallPath,
        address: 0x7f10_0000_00b0,
        waiters_max: waiters,
        waits: u64::from(waiters) * 3,
        total_us: f64::from(waiters) * 410_000.0,
        max_us: 1_930_000.0,
        share: 0.6,
        callers: vec![LockCaller {
            path: vec![caller.to_owned(), "ha_commit_trans".to_owned()],
            stack: stacks.waits,
            waits: u64::from(waiters) * 3,
            total_us: f64::from(waiters) * 410_000.0,
            max_us: 1_930_000.0,
        }],
        holders: holder.into_iter().collect(),
    };
    let waits = || holder(stacks.holds, 2214, "waits for malloc arena main_arena");
    LockTable {
        from,
        to: from + 5_000,
        depth: WaitCounting::Sampled {
            snapshots: 50,
            interval_ms: 100.0,
        },
        locks: vec![
            lock("trx_sys mutex", waiters, "trx_commit_low", Some(waits())),
            lock("malloc arena main_arena", 2, "_int_free", None),
        ],
        conditions: Vec::new(),
        idle_threads: 60,
        chains: vec![WaitChain {
            links: vec![
                ChainLink {
                    lock: "trx_sys mutex".to_owned(),
                    waiters,
                    holder: Some(waits()),
                },
                ChainLink {
                    lock: "malloc arena main_arena".to_owned(),
                    waiters: 2,
                    holder: None,
                },
            ],
            circular: false,
        }],
        kernel_locks: Vec::new(),
        absent: Vec::new(),
    }
}

/// The incident.
pub fn incident() -> Incident {
    let mut incident = made::incident();
    let mut book = StackTable::default();
    let of = stacks(&mut book);
    let mut runs: Vec<ThreadRun> = (0..300)
        .map(|n| run(5_000 + n, RunState::Sleeping, of.waits, Some("futex")))
        .collect();
    runs.extend((0..40).map(|n| run(6_000 + n, RunState::Running, of.sends, Some("sendto"))));
    runs.extend((0..60).map(|n| run(7_000 + n, RunState::Sleeping, of.idles, Some("poll"))));
    // Before the stall they wait for their clients.
    runs.extend((0..60).map(|n| ThreadRun {
        from: 229_000,
        to: 240_000,
        ..run(8_000 + n, RunState::Sleeping, of.idles, Some("poll"))
    }));
    runs.push(run(2_214, RunState::Sleeping, of.holds, Some("futex")));
    let profiles = (200_000..300_000).step_by(5_000).map(|at| {
        let counts = match at < 240_000 {
            true => [30, 10, 60],
            false => [700, 150, 20],
        };
        profile(at, &of, counts)
    });
    let profiles = profiles.collect();
    incident.stacks = StackEvidence {
        snapshots: (2_300..3_000)
            .map(|tenth| SnapshotMeta {
                at: tenth * 100,
                method: SnapshotMethod::Bpf,
                wall_us: 900,
                stopped_us: 0,
                threads: 401,
                complete: 399,
            })
            .collect(),
        runs,
        profiles,
        callers: Vec::new(),
        locks: vec![lock_table(230_000, &of, 3), lock_table(255_000, &of, 398)],
        table: book,
    };
    // The connect probe: refused from some seconds after the onset on.
    for second in 0..=360u64 {
        let code = if (250..300).contains(&second) {
            3.0
        } else {
            0.0
        };
        let reading = Reading::gauge("probe.connect_outcome", Unit::Code, code);
        incident
            .timeline
            .push_readings("connect-probe", second * 1000 + 90, &[reading]);
    }
    incident
}

/// The model of it, as if it had been read from a file beside two others.
pub fn model() -> Model {
    let verdict: Verdict = made::verdict();
    let mut model = Model::from_incident(
        incident(),
        verdict,
        RecordingKind::File,
        "/var/lib/freezeframe/3306-20240512T031605Z.frame".to_owned(),
    );
    let listed = |path: Option<&str>, ago_ms: i64, rule: &str| IncidentEntry {
        path: path.map(Into::into),
        onset_wall_ms: 1_715_483_765_120 - ago_ms,
        length_ms: Some(67_000),
        server: "3306".to_owned(),
        rule: rule.to_owned(),
        says: "3 of the last 5 probes had no answer within 2 s".to_owned(),
        cause: None,
    };
    model.incidents = vec![
        listed(
            Some("/var/lib/freezeframe/3306-20240512T031605Z.frame"),
            0,
            "system-cpu",
        ),
        listed(
            Some("/var/lib/freezeframe/3306-20240510T031605Z.frame"),
            172_800_000,
            "query-probe",
        ),
        IncidentEntry {
            cause: Some("Metadata lock: sessions queue for a table".to_owned()),
            ..listed(None, 600_000_000, "statements-slow")
        },
    ];
    model
}

/// What was judged of the files in its list: not that of the day before, which is looked at next.
pub fn outcomes() -> Outcomes {
    let outcome = IncidentOutcome {
        cause: "Transparent huge pages: threads compact memory".to_owned(),
        level: Some(Level::Likely),
        felt: "Clients got no answer for 41 s; 12 connections were refused.".to_owned(),
    };
    Outcomes::from([(
        "/var/lib/freezeframe/3306-20240510T031605Z.frame".into(),
        outcome,
    )])
}

/// The same incident as if others had captured it: nobody says when, and it has one list of sessions.
pub fn captures() -> Model {
    let mut incident = incident();
    incident.clock.wall_at_zero_ms = 0;
    incident.stacks = StackEvidence::default();
    incident.timeline = model::Timeline::default();
    let reading = Reading::gauge("processlist.longest_s", Unit::Seconds, 41.0);
    incident
        .timeline
        .push_readings("processlist", 280_000, &[reading]);
    let mut verdict = made::verdict();
    verdict.sources = vec![diagnosis::SourceRead {
        path: "/tmp/stalk/2024_05_12-processlist".to_owned(),
        kind: "SHOW PROCESSLIST".to_owned(),
        lines: None,
        brought: "344 sessions".to_owned(),
        skipped: Some("2 lines are not understood".to_owned()),
    }];
    Model::from_incident(
        incident,
        verdict,
        RecordingKind::Captures,
        "/tmp/stalk".to_owned(),
    )
}

/// The same with whatever others name in every name.
pub fn hostile() -> Model {
    let mut model = model();
    let incident = Arc::make_mut(&mut model.incident);
    incident.host += HOSTILE;
    incident.server.label += HOSTILE;
    incident.server.version += HOSTILE;
    for trigger in &mut incident.stall.triggers {
        trigger.says += HOSTILE;
    }
    for absent in &mut incident.absent {
        absent.absent.what += HOSTILE;
        absent.absent.detail += HOSTILE;
    }
    for lock in incident
        .stacks
        .locks
        .iter_mut()
        .flat_map(|table| &mut table.locks)
    {
        lock.name += HOSTILE;
        for holder in &mut lock.holders {
            holder.doing += HOSTILE;
        }
    }
    let book = &incident.stacks.table;
    let mut frames = book.frames().to_vec();
    for frame in &mut frames {
        frame.name += HOSTILE;
        frame.image += HOSTILE;
    }
    incident.stacks.table = StackTable::from_parts(frames, book.stacks().to_vec());
    let profiles = incident.stacks.profiles.iter_mut();
    for count in profiles.flat_map(|profile| &mut profile.counts) {
        count.thread += HOSTILE;
    }
    let reading = Reading::gauge(format!("status.x{HOSTILE}"), Unit::Count, 7.0);
    incident
        .timeline
        .push_readings("status", 400_000, &[reading]);
    for listed in &mut model.incidents {
        listed.says += HOSTILE;
        listed.cause = Some(HOSTILE.to_owned());
        listed.path = Some(format!("/x{HOSTILE}").into());
    }
    if let Some(verdict) = &mut model.verdict {
        verdict.sentence += HOSTILE;
        for finding in &mut verdict.findings {
            finding.title += HOSTILE;
            finding.remedy.now.push(HOSTILE.to_owned());
            for witness in &mut finding.witnesses {
                witness.says += HOSTILE;
            }
        }
    }
    model.path += HOSTILE;
    model.notes.push(HOSTILE.to_owned());
    model
}
