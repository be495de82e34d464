use std::io;

use rustix::fd::OwnedFd;
use rustix::process::{Resource, getrlimit};

use super::attributes::{Clock, Recipe};
use super::error::{self, Asked, Circumstances, PerfError};
use super::events::{self, Task};
use super::options::{EVENTS_MAX, Scope};
use super::processors;
use super::ring::Ring;
use crate::access;
use crate::roots::{ProcRoot, SysRoot};
use crate::tasks::TaskScanner;

/// Why opening did not work, for the choice of what to try next.
pub(super) enum Opening {
    /// This clock is not there.
    NoClock,
    Failed(PerfError),
}

impl From<PerfError> for Opening {
    fn from(error: PerfError) -> Self {
        Self::Failed(error)
    }
}

/// The ring of a processor.
pub(super) struct ProcessorRing {
    pub(super) cpu: u32,
    pub(super) ring: Ring,
    /// It had a record since the processors were last looked at.
    pub(super) heard: bool,
    /// What the event's clock said then.
    pub(super) enabled_ns: u64,
}

impl ProcessorRing {
    pub(super) fn new(cpu: u32, ring: Ring) -> Self {
        Self {
            cpu,
            ring,
            heard: true,
            enabled_ns: 0,
        }
    }
}

/// The event that owns the ring of a processor: the sampling one itself, or for threads one that only has a ring.
/// `None` when the processor has just gone.
pub(super) fn open_ring_owner(
    scope: Scope,
    recipe: &Recipe,
    cpu: u32,
    opened: usize,
) -> Result<Option<OwnedFd>, Opening> {
    let (attr, task) = match scope {
        Scope::Machine => (recipe.sampling(), Task::Any),
        // Our own first thread: it lives as long as the process, so the event never reports a hangup.
        Scope::Process(_) => (recipe.ring_owner(), Task::Thread(std::process::id())),
    };
    match events::open(attr, task, cpu) {
        Ok(event) => Ok(Some(event)),
        Err(error)
            if recipe.clock == Clock::CpuClock && error.raw_os_error() == Some(libc::ENODEV) =>
        {
            Ok(None)
        }
        Err(error) => Err(open_error(scope, recipe, opened, error)),
    }
}

/// The events of the threads on every processor, thread by thread, and how many threads have none.
pub(super) fn open_threads_on(
    pid: u32,
    recipe: &Recipe,
    cpus: &[u32],
) -> Result<(Vec<OwnedFd>, usize), Opening> {
    let scan = TaskScanner::new(ProcRoot::default())
        .scan(pid)
        .map_err(|error| {
            if error.is_gone() {
                PerfError::NoProcess(pid)
            } else {
                PerfError::Read(error)
            }
        })?;
    let mut threads = scan.threads;
    // Those that work first: the limit may leave out some.
    threads.sort_by_key(|thread| {
        std::cmp::Reverse((thread.run_ns, thread.utime_ticks + thread.stime_ticks))
    });
    let room = (descriptor_limit() / 2).min(EVENTS_MAX) / cpus.len().max(1);
    let mut left_out = scan.over_limit + threads.len().saturating_sub(room);
    let mut opened = Vec::new();
    for thread in threads.iter().take(room) {
        match open_thread(thread.tid, recipe, cpus) {
            Ok(events) => opened.extend(events),
            // It has ended.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
            Err(error)
                if !opened.is_empty()
                    && matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE)) =>
            {
                left_out += 1;
            }
            Err(error) => {
                return Err(open_error(Scope::Process(pid), recipe, opened.len(), error));
            }
        }
    }
    if opened.is_empty() {
        return Err(if room == 0 {
            PerfError::Descriptors { opened: cpus.len() }.into()
        } else {
            PerfError::NoProcess(pid).into()
        });
    }
    Ok((opened, left_out))
}

fn open_thread(tid: u32, recipe: &Recipe, cpus: &[u32]) -> io::Result<Vec<OwnedFd>> {
    cpus.iter()
        .map(|cpu| events::open(recipe.sampling(), Task::Thread(tid), *cpu))
        .collect()
}

fn descriptor_limit() -> usize {
    let limit = getrlimit(Resource::Nofile).current;
    limit.map_or(usize::MAX, |limit| {
        usize::try_from(limit).unwrap_or(usize::MAX)
    })
}

fn open_error(scope: Scope, recipe: &Recipe, opened: usize, source: io::Error) -> Opening {
    let error = match source.raw_os_error() {
        Some(libc::EACCES | libc::EPERM) => error::refusal(
            Circumstances {
                asked: match scope {
                    Scope::Machine => Asked::Machine,
                    Scope::Process(_) => Asked::Process,
                },
                kernel: recipe.kernel,
                paranoid: access::sysctl("kernel/perf_event_paranoid"),
                privileged: access::Capabilities::effective().perfmon_or_admin(),
            },
            source,
        ),
        Some(libc::ENOSYS) => PerfError::NotInKernel,
        Some(libc::EMFILE | libc::ENFILE) => PerfError::Descriptors { opened },
        // No counter, none on this kind of processor, or one without interrupts.
        Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP | libc::ENXIO | libc::EINVAL)
            if recipe.clock == Clock::Cycles =>
        {
            return Opening::NoClock;
        }
        Some(libc::ESRCH) => match scope {
            Scope::Process(pid) => PerfError::NoProcess(pid),
            Scope::Machine => system("opening a perf event")(source),
        },
        _ => system("opening a perf event")(source),
    };
    Opening::Failed(error)
}

/// All of them in the same size: as large as wanted, or as large as is allowed.
pub(super) fn map_rings(
    events: Vec<(u32, OwnedFd)>,
    wanted: usize,
    least: usize,
) -> Result<(Vec<ProcessorRing>, usize), PerfError> {
    let processors = events.len();
    let mut waiting = events;
    let mut bytes = wanted;
    loop {
        let mut rings = Vec::with_capacity(processors);
        let mut refused = None;
        for (cpu, event) in std::mem::take(&mut waiting) {
            if refused.is_some() {
                waiting.push((cpu, event));
                continue;
            }
            match Ring::map(event, bytes) {
                Ok(ring) => rings.push(ProcessorRing::new(cpu, ring)),
                Err((event, error)) => {
                    waiting.push((cpu, event));
                    refused = Some(error);
                }
            }
        }
        match refused {
            None => return Ok((rings, bytes)),
            Some(error) if !matches!(error.raw_os_error(), Some(libc::EPERM | libc::ENOMEM)) => {
                return Err(system("mapping a perf ring")(error));
            }
            Some(_) if bytes / 2 < least => {
                return Err(PerfError::Memory {
                    bytes,
                    processors,
                    mlock_kb: access::sysctl("kernel/perf_event_mlock_kb"),
                    locked_limit_bytes: getrlimit(Resource::Memlock).current,
                });
            }
            Some(_) => {
                bytes /= 2;
                let unmapped = rings.into_iter().map(|ring| (ring.cpu, ring.ring.unmap()));
                waiting.splice(0..0, unmapped);
            }
        }
    }
}

/// Opens an event such as a sampler's on one processor and closes it: whether that is allowed.
pub(crate) fn try_event(scope: Scope, kernel: bool) -> io::Result<()> {
    let recipe = Recipe {
        clock: Clock::CpuClock,
        hz: 1,
        kernel,
        stack_bytes: 8,
        inherit: false,
    };
    let task = match scope {
        Scope::Machine => Task::Any,
        Scope::Process(pid) => Task::Thread(pid),
    };
    let online = processors::online(&SysRoot::default()).unwrap_or_default();
    let cpu = online.first().copied().unwrap_or(0);
    events::open(recipe.sampling(), task, cpu).map(drop)
}

pub(super) fn system(what: &'static str) -> impl Fn(io::Error) -> PerfError {
    move |source| PerfError::System { what, source }
}
