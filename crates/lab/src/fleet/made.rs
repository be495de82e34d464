//! Stalls by hand, for a fleet without recorded ones: each kind has functions and a rule of its own, and no cause that the
//! catalogue knows, so that only shape and stacks tell which are alike.

use model::{
    FrameSide, Incident, Profile, ProfileCount, StackEnd, StackEvidence, StackFrame, StackId,
    StackTable,
};
use testbed::{IncidentSize, made_incident};

use crate::chance::Chance;

/// A kind of stall: its name, where its threads are, innermost first, and the rule that notices it.
const KINDS: [(&str, [&str; 3], &str); 12] = [
    (
        "made-row-locks",
        ["lock_wait", "lock_rec_lock", "row_upd_step"],
        "sessions-stuck",
    ),
    (
        "made-scans",
        ["rec_get_offsets", "row_search_mvcc", "ha_rnd_next"],
        "statements-slow",
    ),
    (
        "made-sort",
        ["compare_keys", "filesort", "mysql_select"],
        "statements-slow",
    ),
    (
        "made-redo",
        ["log_write_up_to", "trx_commit", "ha_commit_trans"],
        "work-stops",
    ),
    (
        "made-binlog",
        ["fdatasync", "sync_binlog_file", "ordered_commit"],
        "work-stops",
    ),
    (
        "made-flush",
        ["buf_flush_page", "page_cleaner", "buf_LRU_get_free_block"],
        "slow-burn",
    ),
    (
        "made-malloc",
        ["arena_get2", "malloc", "alloc_root"],
        "system-cpu",
    ),
    (
        "made-mutex",
        ["mutex_spin_wait", "kernel_mutex_enter", "trx_start"],
        "system-cpu",
    ),
    (
        "made-metadata",
        ["mdl_wait", "acquire_lock", "open_table"],
        "sessions-stuck",
    ),
    (
        "made-connect",
        ["handle_new", "create_thread", "accept_loop"],
        "connect-probe",
    ),
    (
        "made-purge",
        ["row_vers_build", "row_sel_clust", "row_search_mvcc"],
        "slow-burn",
    ),
    (
        "made-replica",
        ["apply_event", "rows_log_event", "slave_worker"],
        "query-probe",
    ),
];

/// Samples a second and processor.
const HZ: u32 = 50;

/// A recording of each kind: its name and the incident.
pub(super) fn incidents(seed: u64) -> Vec<(String, Incident)> {
    let kinds = (0..).zip(KINDS);
    let all = kinds.map(|(number, kind)| {
        let mut chance = Chance::of(&[seed, number]);
        (kind.0.to_owned(), incident(kind, &mut chance))
    });
    all.collect()
}

fn incident(kind: (&str, [&str; 3], &str), chance: &mut Chance) -> Incident {
    let size = IncidentSize {
        seconds: 130,
        signals: 20,
        // Nobody asks for their statements, and all would be redacted.
        sessions: 0,
        ..IncidentSize::small()
    };
    let mut made = made_incident(&size);
    for trigger in &mut made.stall.triggers {
        trigger.rule = kind.2.to_owned();
    }
    let (onset, to) = (made.stall.onset, made.window.to);
    let mut table = StackTable::default();
    // What every server does, and what this stall does, each entered from several statements.
    let mut calm = Vec::new();
    let mut stalled = Vec::new();
    for entry in ["insert", "update", "select", "delete", "commit"] {
        calm.push(stack(
            &mut table,
            ["memcpy", "row_sel_store", "handler_read"],
            entry,
        ));
        calm.push(stack(
            &mut table,
            ["poll", "vio_read", "net_read_packet"],
            entry,
        ));
        stalled.push(stack(&mut table, kind.1, entry));
    }
    let mut counts = |stacks: &[StackId], most: usize| -> Vec<ProfileCount> {
        let counts = stacks.iter().map(|stack| ProfileCount {
            stack: *stack,
            thread: "connection".to_owned(),
            server: true,
            count: 1 + chance.below(most) as u64,
        });
        counts.collect()
    };
    let before = counts(&calm, 400);
    let mut during = counts(&calm, 200);
    during.extend(counts(&stalled, 2000));
    let profile = |from, to, counts| Profile {
        from,
        to,
        hz: HZ,
        processors: 2,
        counts,
        lost: 0,
    };
    made.stacks = StackEvidence {
        profiles: vec![profile(0, onset, before), profile(onset, to, during)],
        table,
        ..StackEvidence::default()
    };
    made
}

fn stack(table: &mut StackTable, functions: [&str; 3], entry: &str) -> StackId {
    let outer = format!("mysql_{entry}");
    let names = functions.into_iter().chain([outer.as_str(), "do_command"]);
    let frames: Vec<StackFrame> = names
        .map(|name| StackFrame {
            name: name.to_owned(),
            image: "/usr/sbin/mysqld".to_owned(),
            side: FrameSide::User,
            nameless: None,
        })
        .collect();
    table.intern(frames, StackEnd::Complete)
}
