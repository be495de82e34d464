//! Readings that no expression says, by the names that rules call them.

use std::collections::BTreeSet;

use model::Measure::{Last, Rate};
use model::{FrameId, FrameSide, ProcessList, Session};

use super::Look;
use super::Untold::{self, Fine, Missing};
use crate::human::{Show, show};

const MIB: f64 = (1_u64 << 20) as f64;
const GIB: f64 = (1_u64 << 30) as f64;

type Read<T> = Result<T, Untold>;

/// What stands for a text that may name somebody.
const HIDDEN: &str = "(hidden)";

/// What was read, as a number for conditions and as a text for people.
#[derive(Debug, Clone)]
pub(super) struct Value {
    pub(super) number: f64,
    pub(super) text: String,
    /// The text as strangers may read it.
    pub(super) shared: String,
}

impl Value {
    /// A number with its text.
    pub(super) fn of_number(number: f64, text: String) -> Self {
        Self {
            number,
            shared: text.clone(),
            text,
        }
    }

    pub(super) fn of_both(text: impl Into<String>, shared: impl Into<String>) -> Self {
        Self {
            number: f64::NAN,
            text: text.into(),
            shared: shared.into(),
        }
    }
}

/// A reading.
type Special = fn(&Look) -> Read<Value>;

#[rustfmt::skip]
static ALL: &[(&str, Special)] = &[
    ("MiB", |_| number(MIB)),
    ("GiB", |_| number(GIB)),
    ("numa_nodes", |look| number(listed(look.fact("host.numa_nodes")?))),
    ("numa_nodes_allowed", |look| number(listed(look.fact("process.mems_allowed")?))),
    ("memory_limit", |look| number(memory_limit(look)?.0)),
    ("memory_limit_is", |look| text(memory_limit(look)?.1)),
    ("dirty_limit", |look| number(dirty_limit(look)?)),
    ("largest_buffer", |look| text(largest_buffer(look))),
    ("core_program", |look| name(look.fact("sysctl.kernel.core_pattern")?.split_whitespace().next().unwrap_or_default())),
    ("cpu_quota", |look| number(cpu_quota(look)?)),
    ("slowest_disk", |look| text(slowest_flush(look)?.0)),
    ("slowest_flush_ms", |look| number(slowest_flush(look)?.1)),
    ("slowest_flushes", |look| number(slowest_flush(look)?.2)),
    ("fullest_place", fullest_place),
    ("fullest_is_nearly_full", |look| number(fullest_place(look)?.number)),
    ("redo_capacity", |look| number(redo_capacity(look)?)),
    ("checkpoint_age", |look| number(checkpoint(look)?.0)),
    ("checkpoint_age_max", |look| number(checkpoint(look)?.1)),
    ("remote_host", |look| name(*remote_hosts(look)?.first().ok_or(Fine)?)),
    ("remote_hosts", |look| number(remote_hosts(look)?.len() as f64)),
    ("slow_logins", |look| number(sessions(look)?.longest.iter().filter(|one| is_slow_login(one)).count() as f64)),
    ("metadata_lock_waiters", |look| number(in_state(sessions(look)?, &[METADATA]))),
    ("longest_metadata_lock_wait", |look| number(longest_in(sessions(look)?, METADATA))),
    ("global_lock_waiters", |look| number(in_state(sessions(look)?, &GLOBAL))),
    ("time_conversion_share", |look| number(profile_share(look, &TIME_CONVERSION)?)),
    ("instrumentation_share", |look| number(profile_share(look, &INSTRUMENTATION)?)),
];

/// The reading of this name.
pub(super) fn named(name: &str) -> Option<Special> {
    let mut all = ALL.iter();
    all.find(|(known, _)| *known == name).map(|(_, read)| *read)
}

fn number(number: f64) -> Read<Value> {
    Ok(Value::of_number(number, number.to_string()))
}

/// A text of our own, or one of the few that a setting may have.
pub(super) fn text(text: impl Into<String>) -> Read<Value> {
    Ok(Value::of_number(f64::NAN, text.into()))
}

/// A text that may name a host, a path, a program.
pub(super) fn name(name: impl Into<String>) -> Read<Value> {
    Ok(Value::of_both(name, HIDDEN))
}

/// Processors that `cpu.max` allows: so many microseconds of each period.
fn cpu_quota(look: &Look) -> Read<f64> {
    let limit = look.fact("cgroup.cpu_max")?;
    let us = |text: &str| text.parse::<f64>().ok().filter(|us| *us > 0.0);
    let parts = limit.split_once(' ');
    let processors = parts.and_then(|(quota, period)| Some(us(quota)? / us(period)?));
    processors.ok_or_else(|| Missing(format!("cpu.max is {limit}")))
}

/// How many numbers a kernel list such as `0-1,4` holds.
fn listed(list: &str) -> f64 {
    list.trim()
        .split(',')
        .filter_map(|part| {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            let (from, to): (u32, u32) = (from.parse().ok()?, to.parse().ok()?);
            Some(f64::from(to.saturating_sub(from)) + 1.0)
        })
        .sum()
}

/// The memory that the server may have: the host's, or its cgroup's limit.
fn memory_limit(look: &Look) -> Read<(f64, &'static str)> {
    let host = look.number("host.memory_bytes")?;
    Ok(match look.number("cgroup.memory_max") {
        Ok(limit) if limit < host => (limit, "the limit of the server's cgroup (memory.max)"),
        _ => (host, "the memory of the host"),
    })
}

/// From how many bytes in the page cache whoever writes has to wait.
fn dirty_limit(look: &Look) -> Read<f64> {
    match look.number("sysctl.vm.dirty_bytes") {
        Ok(bytes) if bytes > 0.0 => Ok(bytes),
        // Of the memory that is free or can be had, not of all (vm.rst, dirty_ratio).
        _ => {
            let ratio = look.number("sysctl.vm.dirty_ratio")?;
            Ok(ratio / 100.0 * look.signal("meminfo.MemAvailable", Last)?)
        }
    }
}

/// The name of the largest buffer that a session has for itself, of equal ones the last in this order.
fn largest_buffer(look: &Look) -> &'static str {
    let buffers = [
        "read_rnd_buffer_size",
        "read_buffer_size",
        "join_buffer_size",
        "sort_buffer_size",
    ];
    let bytes = |name: &str| look.number(&format!("variables.{name}")).unwrap_or(0.0);
    let largest = buffers
        .into_iter()
        .max_by(|one, other| bytes(one).total_cmp(&bytes(other)));
    largest.unwrap_or_default()
}

/// Flushes a second that make a mean.
const FLUSHES_MIN: f64 = 1.0;

/// The disk whose flushes take longest in the mean, with that in milliseconds and with its flushes a second.
fn slowest_flush(look: &Look) -> Read<(&str, f64, f64)> {
    let series = look.timeline.series.iter();
    let disks = series.filter_map(|one| one.name.strip_prefix("disk.")?.strip_suffix(".flushes"));
    let mut disks = disks.peekable();
    if disks.peek().is_none() {
        return Err(look.missing("disk.*.flushes"));
    }
    let flushes = disks.filter_map(|disk| {
        let rate = |what| look.signal(&format!("disk.{disk}.{what}"), Rate);
        let flushes = rate("flushes").ok().filter(|one| *one >= FLUSHES_MIN)?;
        Some((disk, rate("flush_ms").unwrap_or(0.0) / flushes, flushes))
    });
    let slower = |worst: (_, f64, _), one: (_, f64, _)| if one.1 > worst.1 { one } else { worst };
    flushes.reduce(slower).ok_or(Fine)
}

/// The directories that matter: what they are, and what they are called in facts.
const PLACES: [(&str, &str); 4] = [
    ("datadir", "the data directory"),
    ("tmpdir", "the directory for temporary files"),
    ("innodb_log", "the directory of the redo log"),
    ("log_bin", "the directory of the binary log"),
];

/// The directory with least room left of those that have little; as a number 1 where it has hardly any, else 0. Strangers
/// do not get its path.
fn fullest_place(look: &Look) -> Read<Value> {
    let mut worst: Option<(f64, Value)> = None;
    let mut known = false;
    for (place, what) in PLACES {
        let fact = |part: &str| format!("place.{place}.{part}");
        let number = |part: &str| look.number(&fact(part));
        let (Ok(total), Ok(free)) = (number("bytes"), number("free_bytes")) else {
            continue;
        };
        known = true;
        if total > 0.0 && ((free / total < 0.05 && free < 20.0 * GIB) || free < GIB) {
            let is_nearly_full = free / total < 0.01 || free < 256.0 * MIB;
            let path = look.fact(&fact("path")).unwrap_or(place);
            let has = format!(
                "has {} free of {} ({})",
                show(free, Show::Bytes),
                show(total, Show::Bytes),
                show(free / total, Show::Percent)
            );
            if worst.as_ref().is_none_or(|(least, _)| free < *least) {
                let fullest = Value {
                    number: f64::from(u8::from(is_nearly_full)),
                    text: format!("{what} ({path}) {has}"),
                    shared: format!("{what} {has}"),
                };
                worst = Some((free, fullest));
            }
        }
        if let (Ok(total), Ok(free)) = (number("inodes"), number("free_inodes"))
            && total > 0.0
            && free / total < 0.01
        {
            let text = format!(
                "{what} has {} free inodes of {}",
                show(free, Show::Count),
                show(total, Show::Count)
            );
            worst.get_or_insert((0.0, Value::of_number(1.0, text)));
        }
    }
    if !known {
        return Err(look.missing("place.datadir.bytes"));
    }
    worst.map(|(_, fullest)| fullest).ok_or(Fine)
}

/// Bytes that the redo log holds.
fn redo_capacity(look: &Look) -> Read<f64> {
    let capacity = look.number("variables.innodb_redo_log_capacity");
    if !matches!(capacity, Err(Fine)) {
        return capacity;
    }
    let size = look.number("variables.innodb_log_file_size")?;
    match look.number("variables.innodb_log_files_in_group") {
        Err(Fine) => Ok(size),
        files => Ok(size * files?),
    }
}

/// The checkpoint's age, and how old it may get; 0 where that is not known.
fn checkpoint(look: &Look) -> Read<(f64, f64)> {
    let both = |one: &str, other: &str| {
        let status = |name: &str| look.signal(&format!("status.{name}"), Last).ok();
        Some((status(one)?, status(other)?))
    };
    if let Some(known) = both("Innodb_checkpoint_age", "Innodb_checkpoint_max_age") {
        return Ok(known);
    }
    let lsns = both(
        "Innodb_redo_log_current_lsn",
        "Innodb_redo_log_checkpoint_lsn",
    );
    let (age, usable) = match lsns {
        Some((now, checkpoint)) => (now - checkpoint, 1.0),
        // Up to 5.7 about 0.9 of the files is used (log0log.cc, log_calc_max_ages).
        None => (look.signal("innodb.checkpoint_age_bytes", Last)?, 0.9),
    };
    match redo_capacity(look) {
        Err(Fine) => Ok((age, 0.0)),
        capacity => Ok((age, capacity? * usable)),
    }
}

fn sessions(look: &Look) -> Read<&ProcessList> {
    let list = look.processlist.as_ref();
    list.ok_or_else(|| look.missing("processlist.sessions"))
}

/// The hosts that sessions come from, but for the server's own.
fn remote_hosts(look: &Look) -> Read<BTreeSet<&str>> {
    let hosts = sessions(look)?.longest.iter().map(|one| one.host.as_str());
    let is_remote =
        |host: &&str| !matches!(*host, "" | "localhost" | "::1") && !host.starts_with("127.");
    Ok(hosts.filter(is_remote).collect())
}

/// Sessions in these states have not logged in yet.
const LOGGING_IN: [&str; 3] = ["login", "Receiving from client", "unauthenticated user"];

fn is_slow_login(session: &Session) -> bool {
    let is_login = session.user == "unauthenticated user";
    (is_login || LOGGING_IN.contains(&session.state.as_str())) && session.seconds >= 2.0
}

/// The states of sessions that wait for a lock on metadata, and for one of the whole server.
const METADATA: &str = "metadata lock";
const GLOBAL: [&str; 4] = [
    "global read lock",
    "commit lock",
    "backup lock",
    "table flush",
];

/// Sessions in states with one of these words.
fn in_state(list: &ProcessList, words: &[&str]) -> f64 {
    let is_it = |state: &str| words.iter().any(|word| state.contains(word));
    let states = list.by_state.iter().filter(|(state, _)| is_it(state));
    states.fold(0, |sum: u64, (_, count)| sum.saturating_add(*count)) as f64
}

fn longest_in(list: &ProcessList, word: &str) -> f64 {
    let sessions = list.longest.iter().filter(|one| one.state.contains(word));
    sessions.map(|one| one.seconds).fold(0.0, f64::max)
}

/// Beginnings of functions.
const TIME_CONVERSION: [&str; 4] = [
    "__tz_convert",
    "__localtime_r",
    "localtime_r",
    "Time_zone_system::",
];
const INSTRUMENTATION: [&str; 4] = [
    "pfs_start_",
    "pfs_end_",
    "start_mutex_wait_v",
    "end_mutex_wait_v",
];

/// With fewer samples of the server's threads than this, no share of them is reported.
const SAMPLES_MIN: u64 = 50;

/// The share of the server's CPU samples with one of these functions anywhere in the stack.
fn profile_share(look: &Look, functions: &[&str]) -> Read<f64> {
    let book = &look.stacks.table;
    let named = |frame: &FrameId| {
        book.frame(*frame).is_some_and(|frame| {
            frame.side == FrameSide::User
                && functions.iter().any(|name| frame.name.starts_with(name))
        })
    };
    let (mut all, mut hit) = (0_u64, 0_u64);
    let rows = look.stacks.profiles.iter().flat_map(|p| &p.counts);
    for row in rows.filter(|row| row.server) {
        all = all.saturating_add(row.count);
        if book.stack(row.stack).frames.iter().any(named) {
            hit = hit.saturating_add(row.count);
        }
    }
    if all < SAMPLES_MIN {
        return Err(Missing(format!(
            "{all} samples of the server's CPU time: too few to tell a share"
        )));
    }
    Ok(hit as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_the_kernel_are_counted() {
        assert_eq!(listed("0"), 1.0);
        assert_eq!(listed("0-1"), 2.0);
        assert_eq!(listed("0,2-3\n"), 3.0);
        assert_eq!(listed("nonsense"), 0.0);
    }
}
