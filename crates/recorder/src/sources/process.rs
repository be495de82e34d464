//! The server's process: memory, files, threads, control group, allocator.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use kernel::procfs::{maps, task_stat, task_status};
use kernel::roots::ProcRoot;
use kernel::servers::ServerProcess;
use kernel::tasks::{TaskScanner, ThreadSample};
use model::{Absent, Fact, OrderBy, OwnText, Reading, Reason, SourceData, Text, Unit};
use serde::Serialize;

use super::cgroup::Groups;
use super::{Outcome, Reader, State, absent, readings, signals};
use crate::context::Context;
use crate::run_queue::{CpuTime, RunQueue};
use crate::target::Shared;

const STAT_BYTES_MAX: usize = 4096;

/// Thread names that become signals; the rest is summed as "other".
const THREAD_NAMES_MAX: usize = 40;

/// Threads listed with their CPU time.
const TOP_THREADS: usize = 15;

/// The thread scan may use this share of one core; a server with thousands of threads is scanned
/// less often instead of at a higher price.
const SCAN_SHARE_MAX: f64 = 0.003;

/// What the process sources remember between readings.
pub(crate) struct ProcessState {
    proc: ProcRoot,
    shared: Arc<Shared>,
    scanner: TaskScanner,
    before: HashMap<(u32, u64), ThreadSample>,
    /// CPU time by thread name since the recording began. A sum over the threads that live would
    /// fall when one ends, and is no counter.
    by_name: BTreeMap<String, CpuTime>,
    next_scan: Option<Instant>,
    queue: RunQueue,
    cgroup: Option<(u32, Groups)>,
}

/// Files of the server's process.
impl State for ProcessState {
    const THREAD: &'static str = "ff-process";

    fn new(context: &Context) -> Self {
        let proc = ProcRoot::default();
        Self {
            scanner: TaskScanner::new(proc.clone()),
            proc,
            shared: context.shared.clone(),
            before: HashMap::new(),
            by_name: BTreeMap::new(),
            next_scan: None,
            queue: RunQueue::default(),
            cgroup: None,
        }
    }
}

/// What the sources remember that may wait for the server's mmap_lock.
pub(crate) struct MemoryState {
    proc: ProcRoot,
    shared: Arc<Shared>,
    /// The run of the server whose maps were read, and how that went.
    allocator_of: Option<((u32, u64), Option<Absent>)>,
}

impl State for MemoryState {
    const THREAD: &'static str = "ff-memory";

    fn new(context: &Context) -> Self {
        Self {
            proc: ProcRoot::default(),
            shared: context.shared.clone(),
            allocator_of: None,
        }
    }
}

pub(super) fn known(shared: &Shared, what: &str) -> Result<ServerProcess, Absent> {
    shared.process().ok_or_else(|| shared.no_process(what))
}

#[rustfmt::skip]
pub(crate) static PROCESS: Reader<ProcessState> = Reader {
    source: "process",
    signals: &[
        signals(&["process.user_ticks", "process.system_ticks", "process.minor_faults", "process.major_faults"], "c", "the server's process"),
        signals(&["process.threads", "process.resident_bytes", "process.swap_bytes"], "g", ""),
    ],
    read: process,
};

fn process(state: &mut ProcessState) -> Outcome {
    let server = known(&state.shared, "process")?;
    let bytes = kernel::read::whole(&state.proc.of(server.pid, "stat"), STAT_BYTES_MAX)
        .map_err(|error| absent("process", &error))?;
    let stat = task_stat::parse(&bytes)
        .filter(|stat| stat.start_time_ticks == server.start_time_ticks)
        .ok_or_else(|| Absent::new("process", Reason::Gone, "the server has ended"))?;
    let status = task_status::read(&state.proc.of(server.pid, "status"))
        .map_err(|error| absent("process", &error))?;
    let counter = |name: &'static str, unit, value: u64| Reading::counter(name, unit, value as f64);
    let mut out = vec![
        counter("process.user_ticks", Unit::Ticks, stat.utime_ticks),
        counter("process.system_ticks", Unit::Ticks, stat.stime_ticks),
        counter("process.minor_faults", Unit::Count, stat.minflt),
        counter("process.major_faults", Unit::Count, stat.majflt),
        Reading::gauge("process.threads", Unit::Count, f64::from(stat.num_threads)),
    ];
    for (name, kib) in [
        ("process.resident_bytes", status.vm_rss_kib),
        ("process.swap_bytes", status.vm_swap_kib),
    ] {
        out.extend(kib.map(|kib| Reading::gauge(name, Unit::Bytes, (kib * 1024) as f64)));
    }
    let mut taken = readings(out);
    if let Some(enabled) = status.thp_enabled {
        taken
            .facts
            .push(Fact::new("thp.server", if enabled { "1" } else { "0" }));
    }
    Ok(taken)
}

/// A thread in the list of those that used most CPU.
#[derive(Debug, Serialize)]
struct TopThread {
    tid: u32,
    name: String,
    state: char,
    /// Time on a CPU since the reading before, milliseconds.
    run_ms: f64,
    /// Time ready to run and waiting for a CPU, milliseconds.
    wait_ms: f64,
}

#[rustfmt::skip]
pub(crate) static THREADS: Reader<ProcessState> = Reader {
    source: "threads",
    signals: &[
        signals(&["threads.running", "threads.sleeping", "threads.uninterruptible"], "g", "its threads in state R; S or I; D"),
        signals(&["threads.on_cpu", "threads.queued"], "g", "of its threads, the mean since the reading before: on a CPU; ready and waiting for one"),
        signals(&["threads.by_name.*.count"], "g", "threads of this name; 40 names, `other` for the rest"),
        signals(&["threads.by_name.*.run_ns", "threads.by_name.*.wait_ns"], "c, ns", "on a CPU; ready and waiting for one; summed since the recording began"),
    ],
    read: threads,
};

fn threads(state: &mut ProcessState) -> Outcome {
    let server = known(&state.shared, "threads")?;
    let at = Instant::now();
    let begin = kernel::clock::thread_cpu();
    if let Some(next) = state.next_scan.filter(|next| at < *next) {
        let followed = state.queue.followed();
        let stats = state
            .scanner
            .sched_stats(server.pid, &followed)
            .map_err(|error| absent("threads", &error))?;
        let times = stats.into_iter().map(|(tid, stat)| {
            let (run_ns, wait_ns) = (stat.run_ns, stat.wait_ns);
            (tid, CpuTime { run_ns, wait_ns })
        });
        let of_queue = state.queue.looked_at(at, &times.collect::<Vec<_>>());
        state.next_scan = Some(next + pause(begin));
        return Ok(readings(of_queue.into_iter().flatten().collect()));
    }
    let scan = state
        .scanner
        .scan(server.pid)
        .map_err(|error| absent("threads", &error))?;
    state.next_scan = Some(Instant::now() + pause(begin));

    let mut out = Vec::new();
    for (name, states) in [
        ("threads.running", "R"),
        ("threads.sleeping", "SI"),
        ("threads.uninterruptible", "D"),
    ] {
        let count = scan
            .threads
            .iter()
            .filter(|t| states.contains(t.state))
            .count();
        out.push(Reading::gauge(name, Unit::Count, count as f64));
    }
    let times: Vec<_> = scan.threads.iter().filter_map(cpu_time).collect();
    out.extend(state.queue.scanned(at, &times).into_iter().flatten());
    let grown = growth(&scan.threads, &state.before);
    let mut counts: BTreeMap<String, u64> = BTreeMap::new();
    for (thread, time) in scan.threads.iter().zip(&grown) {
        let name = signal_word(&thread.comm, &state.by_name);
        let sum = state.by_name.entry(name.clone()).or_default();
        sum.run_ns += time.run_ns;
        sum.wait_ns += time.wait_ns;
        *counts.entry(name).or_default() += 1;
    }
    for (name, sum) in &state.by_name {
        let signal = |part: &str| format!("threads.by_name.{name}.{part}");
        let count = counts.get(name).copied().unwrap_or(0);
        out.push(Reading::gauge(signal("count"), Unit::Count, count as f64));
        out.push(Reading::counter(
            signal("run_ns"),
            Unit::Nanoseconds,
            sum.run_ns as f64,
        ));
        out.push(Reading::counter(
            signal("wait_ns"),
            Unit::Nanoseconds,
            sum.wait_ns as f64,
        ));
    }
    let mut taken = readings(out);
    let top = top_threads(&scan.threads, &grown);
    if !top.is_empty() {
        let top = serde_json::to_string(&top).unwrap_or_default();
        taken.texts.push(Text::own(OwnText::Threads, top));
    }
    if scan.over_limit > 0 {
        taken.absent.push(Absent::new(
            "threads",
            Reason::Limit,
            format!("{} threads over the limit were not read", scan.over_limit),
        ));
    }
    state.before = scan
        .threads
        .into_iter()
        .map(|thread| ((thread.tid, thread.start_time_ticks), thread))
        .collect();
    Ok(taken)
}

/// How long to wait after what was read since a moment of this thread's CPU time.
fn pause(begin: Duration) -> Duration {
    let cost = kernel::clock::thread_cpu().saturating_sub(begin);
    Duration::from_secs_f64(cost.as_secs_f64() / SCAN_SHARE_MAX)
}

fn cpu_time(thread: &ThreadSample) -> Option<(u32, CpuTime)> {
    let time = CpuTime {
        run_ns: thread.run_ns?,
        wait_ns: thread.wait_ns?,
    };
    Some((thread.tid, time))
}

/// What each thread used since the scan before; nothing for those that are new.
fn growth(now: &[ThreadSample], before: &HashMap<(u32, u64), ThreadSample>) -> Vec<CpuTime> {
    now.iter()
        .map(|thread| {
            let grown = |pick: fn(&ThreadSample) -> Option<u64>| {
                let old = before.get(&(thread.tid, thread.start_time_ticks))?;
                Some(pick(thread)?.saturating_sub(pick(old)?))
            };
            CpuTime {
                run_ns: grown(|t| t.run_ns).unwrap_or(0),
                wait_ns: grown(|t| t.wait_ns).unwrap_or(0),
            }
        })
        .collect()
}

/// A thread's name as part of a signal's name.
fn signal_word(comm: &str, known: &BTreeMap<String, CpuTime>) -> String {
    let word: String = comm
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '-' {
                c
            } else {
                '_'
            }
        })
        .collect();
    if known.len() < THREAD_NAMES_MAX || known.contains_key(&word) {
        word
    } else {
        "other".to_owned()
    }
}

fn top_threads(threads: &[ThreadSample], grown: &[CpuTime]) -> Vec<TopThread> {
    let mut used: Vec<(&ThreadSample, &CpuTime)> = threads
        .iter()
        .zip(grown)
        .filter(|(_, time)| time.run_ns + time.wait_ns > 0)
        .collect();
    used.order_by_key(|(_, time)| std::cmp::Reverse(time.run_ns));
    let ms = |ns: u64| (ns as f64 / 1e4).round() / 100.0;
    used.into_iter()
        .take(TOP_THREADS)
        .map(|(thread, time)| TopThread {
            tid: thread.tid,
            name: thread.comm.clone(),
            state: thread.state,
            run_ms: ms(time.run_ns),
            wait_ms: ms(time.wait_ns),
        })
        .collect()
}

#[rustfmt::skip]
pub(crate) static CGROUP: Reader<ProcessState> = Reader {
    source: "cgroup",
    signals: &[
        signals(&["cgroup.cpu.user_us", "cgroup.cpu.system_us", "cgroup.cpu.throttled_us", "cgroup.cpu.nr_periods", "cgroup.cpu.nr_throttled"], "c", "of the server's cgroup; v1 has no `user_us`, `system_us`"),
        signals(&["cgroup.memory.high", "cgroup.memory.max", "cgroup.memory.oom", "cgroup.memory.oom_kill"], "c", "events; in v1 `max` is `memory.failcnt`, `high` 0, `oom` absent"),
        signals(&["cgroup.memory.current_bytes", "cgroup.pids.current"], "g", ""),
        signals(&["cgroup.pids.max"], "c", "how often a task could not be made at the limit"),
    ],
    read: cgroup,
};

fn cgroup(state: &mut ProcessState) -> Outcome {
    let server = known(&state.shared, "cgroup")?;
    let known = state.cgroup.take().filter(|(pid, _)| *pid == server.pid);
    let (_, groups) = state.cgroup.insert(match known {
        Some(known) => known,
        None => (server.pid, Groups::find(&state.proc, server.pid)?),
    });
    groups.read()
}

pub(crate) static SERVER: Reader<MemoryState> = Reader {
    source: "server",
    signals: &[],
    read: identity,
};

fn identity(state: &mut MemoryState) -> Outcome {
    if !state.shared.refresh(&state.proc) {
        return Err(state.shared.no_process("server"));
    }
    let server = known(&state.shared, "server")?;
    let exe = server.exe.as_deref().map(|path| path.display().to_string());
    let sockets: Vec<String> = server
        .unix_sockets
        .iter()
        .map(|socket| socket.path.display().to_string())
        .collect();
    let ports: Vec<String> = server
        .tcp_ports
        .iter()
        .map(|(ip, port)| std::net::SocketAddr::new(*ip, *port).to_string())
        .collect();
    let facts = vec![
        Fact::new("server.pid", server.pid.to_string()),
        Fact::new("server.program", server.program),
        Fact::new("server.exe", exe.unwrap_or_default()),
        Fact::new("server.unix_sockets", sockets.join(" ")),
        Fact::new("server.tcp_ports", ports.join(" ")),
    ];
    let absent = server
        .absent
        .into_iter()
        .map(|detail| Absent::new("server", Reason::Permission, detail))
        .collect();
    Ok(SourceData {
        facts,
        absent,
        ..SourceData::default()
    })
}

pub(crate) static ALLOCATOR: Reader<MemoryState> = Reader {
    source: "allocator",
    signals: &[],
    read: allocator,
};

/// Reads the maps once per start of the server: the kernel takes the server's mmap_lock for it.
fn allocator(state: &mut MemoryState) -> Outcome {
    let server = known(&state.shared, "allocator")?;
    let run = (server.pid, server.start_time_ticks);
    if let Some((known, absent)) = &state.allocator_of
        && *known == run
    {
        // A refusal is told each time, and not asked for again.
        return absent
            .clone()
            .map_or_else(|| Ok(SourceData::default()), Err);
    }
    let read = maps::read(&state.proc.of(server.pid, "maps"));
    let bytes = match read {
        Ok(bytes) => bytes,
        Err(error) => {
            let absent = absent("allocator", &error);
            state.allocator_of = Some((run, Some(absent.clone())));
            return Err(absent);
        }
    };
    state.allocator_of = Some((run, None));
    let names: Vec<String> = maps::allocators(&bytes)
        .into_iter()
        .map(|found| match found.library {
            Some(path) => format!("{} ({})", found.allocator.label(), path.display()),
            None => found.allocator.label().to_owned(),
        })
        .collect();
    Ok(SourceData {
        facts: vec![Fact::new("server.allocator", names.join(", "))],
        ..SourceData::default()
    })
}
