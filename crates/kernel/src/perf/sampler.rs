use std::io;
use std::time::{Duration, Instant};

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};

use super::attributes::{Clock, Recipe};
use super::error::PerfError;
use super::events;
use super::opening::{Opening, ProcessorRing, map_rings, open_ring_owner, open_threads_on, system};
use super::options::{self, HZ_MAX, HZ_WORDS, SamplerOptions, Scope};
use super::processors;
use super::record::{Record, Sample, SampleLayout, kernel_addresses, parse_record};
use super::ring::Ring;
use crate::access;
use crate::roots::SysRoot;
use crate::snapshot::Registers;

/// The processors that are online are looked at this often while draining.
const FOLLOW_INTERVAL: Duration = Duration::from_secs(5);

/// A sample, as [`Sampler::drain`] hands it over.
#[derive(Debug, Clone, Copy)]
pub struct RawSample<'a> {
    /// When, CLOCK_MONOTONIC.
    pub time: Duration,
    /// Process, in the reader's pid namespace; 0 when it has no id there.
    pub pid: u32,
    /// Thread, likewise.
    pub tid: u32,
    /// Processor.
    pub cpu: u32,
    /// Addresses of the kernel's call chain, innermost first; empty when the processor was in user mode.
    pub kernel_stack: &'a [u64],
    /// Registers of the user side; absent for kernel threads and 32-bit processes.
    pub registers: Option<Registers>,
    /// Memory from `registers.sp` upwards.
    pub stack: &'a [u8],
    /// The processor was in the kernel.
    pub in_kernel: bool,
}

/// What came out of the rings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Drained {
    /// Samples handed over.
    pub samples: u64,
    /// Records that found no room.
    pub lost: u64,
    /// Times that the kernel held an event back.
    pub throttled: u64,
    /// Records, or rest of a ring, whose lengths were wrong: never seen, never trusted.
    pub damaged: u64,
}

/// Samples what runs. Dropping it closes everything.
pub struct Sampler {
    scope: Scope,
    recipe: Recipe,
    sys: SysRoot,
    /// One for each processor, by number.
    rings: Vec<ProcessorRing>,
    ring_bytes: usize,
    /// Events of threads, which write into `rings`; empty for [`Scope::Machine`], where the rings' own events sample.
    thread_events: Vec<OwnedFd>,
    threads_left_out: usize,
    enabled: bool,
    /// Samples of the idle task are dropped: the cycle counter does not know `exclude_idle`.
    drop_idle: bool,
    followed: Instant,
    record_scratch: Vec<u8>,
    chain_scratch: Vec<u64>,
}

impl Sampler {
    /// Opens the events, stopped: [`Self::enable`] starts them. By cycles where that is possible, else by `cpu-clock`;
    /// with the kernel's side as far as it is wanted and allowed ([`Self::sees_kernel`]).
    pub fn open(options: &SamplerOptions) -> Result<Self, PerfError> {
        Self::open_at(options, SysRoot::default())
    }

    /// [`Self::open`] with another sysfs, from which the list of processors comes.
    pub fn open_at(options: &SamplerOptions, sys: SysRoot) -> Result<Self, PerfError> {
        options::check(options)?;
        let kernel = options.kernel;
        match Self::open_by_any_clock(options, kernel, &sys) {
            Err(refused @ PerfError::Refused { .. }) if kernel => {
                // The first refusal says what is missing for all that was wanted.
                Self::open_by_any_clock(options, false, &sys).map_err(|_| refused)
            }
            result => result,
        }
    }

    fn open_by_any_clock(
        options: &SamplerOptions,
        kernel: bool,
        sys: &SysRoot,
    ) -> Result<Self, PerfError> {
        for clock in [Clock::Cycles, Clock::CpuClock] {
            match Self::open_by(options, kernel, clock, sys) {
                Ok(sampler) => return Ok(sampler),
                Err(Opening::NoClock) => {}
                Err(Opening::Failed(error)) => return Err(error),
            }
        }
        Err(PerfError::NotInKernel)
    }

    fn open_by(
        options: &SamplerOptions,
        kernel: bool,
        clock: Clock,
        sys: &SysRoot,
    ) -> Result<Self, Opening> {
        let recipe = Recipe {
            clock,
            hz: options.hz,
            kernel,
            stack_bytes: if options.user_stacks {
                options.stack_bytes
            } else {
                0
            },
            inherit: matches!(options.scope, Scope::Process(_)),
        };
        let online = processors::online(sys).map_err(PerfError::from)?;
        let mut events = Vec::with_capacity(online.len());
        for cpu in online {
            if let Some(event) = open_ring_owner(options.scope, &recipe, cpu, events.len())? {
                events.push((cpu, event));
            }
        }
        let (thread_events, threads_left_out) = match options.scope {
            Scope::Machine => (Vec::new(), 0),
            Scope::Process(pid) => {
                let cpus: Vec<u32> = events.iter().map(|(cpu, _)| *cpu).collect();
                open_threads_on(pid, &recipe, &cpus)?
            }
        };
        let least = options::ring_bytes_least(recipe.stack_bytes);
        let wanted = options::ring_bytes_at_most(options.ring_bytes, least, events.len());
        let (rings, ring_bytes) = map_rings(events, wanted, least)?;
        let sampler = Self {
            scope: options.scope,
            recipe,
            sys: sys.clone(),
            rings,
            ring_bytes,
            thread_events,
            threads_left_out,
            enabled: false,
            drop_idle: clock == Clock::Cycles && access::in_first_pid_namespace(),
            followed: Instant::now(),
            record_scratch: Vec::new(),
            chain_scratch: Vec::new(),
        };
        // Events that a ring is to take must find it mapped (`perf_event_set_output`).
        sampler.direct_threads()?;
        Ok(sampler)
    }

    /// What makes the samples come, in the words of perf-list(1).
    pub fn clock_name(&self) -> &'static str {
        self.recipe.clock.name()
    }

    /// Processors with a ring.
    pub fn processors(&self) -> u32 {
        self.rings.len() as u32
    }

    /// Samples have the kernel's side.
    pub fn sees_kernel(&self) -> bool {
        self.recipe.kernel
    }

    /// Bytes of each ring, after what the system allowed.
    pub fn ring_bytes(&self) -> usize {
        self.ring_bytes
    }

    /// Threads of a [`Scope::Process`] that have no event: over the limit on descriptors or threads.
    pub fn threads_left_out(&self) -> usize {
        self.threads_left_out
    }

    /// Samples a second and processor.
    pub fn hz(&self) -> u32 {
        self.recipe.hz
    }

    /// Another rate. For [`Scope::Process`] the events are opened anew, because inherited ones keep their rate: a few
    /// milliseconds without samples, and after an error none at all.
    pub fn set_hz(&mut self, hz: u32) -> Result<(), PerfError> {
        if !(1..=HZ_MAX).contains(&hz) {
            return Err(PerfError::Options(HZ_WORDS));
        }
        self.recipe.hz = hz;
        match self.scope {
            Scope::Machine => {
                let period = self.recipe.clock.period(hz);
                for ring in &self.rings {
                    events::set_period(ring.ring.event(), period)
                        .map_err(system("changing the rate of a perf event"))?;
                }
                Ok(())
            }
            Scope::Process(pid) => self.open_threads_anew(pid),
        }
    }

    /// Starts sampling.
    pub fn enable(&mut self) -> Result<(), PerfError> {
        self.enabled = true;
        self.for_each_event(events::enable)
            .map_err(system("enabling a perf event"))
    }

    /// Stops sampling; what is in the rings stays there.
    pub fn disable(&mut self) -> Result<(), PerfError> {
        self.enabled = false;
        self.for_each_event(events::disable)
            .map_err(system("disabling a perf event"))
    }

    /// Waits until a ring is half full: true; or for `timeout`: false.
    pub fn wait(&self, timeout: Duration) -> Result<bool, PerfError> {
        let rings = self.rings.iter().map(|ring| ring.ring.event());
        events::wait_any(rings, timeout).map_err(system("waiting for perf events"))
    }

    /// Hands over what the rings hold now, processor by processor, each in the order of time.
    pub fn drain(&mut self, each: &mut dyn FnMut(&RawSample<'_>)) -> Drained {
        let mut drained = Drained::default();
        let layout = self.recipe.layout();
        let wanted = Wanted {
            process: match self.scope {
                Scope::Machine => None,
                Scope::Process(pid) => Some(pid),
            },
            drop_idle: self.drop_idle,
        };
        let chain = &mut self.chain_scratch;
        for ring in &mut self.rings {
            let whole = ring.ring.drain(&mut self.record_scratch, |record| {
                ring.heard = true;
                take(record, layout, wanted, chain, &mut drained, each);
            });
            drained.damaged += u64::from(!whole);
        }
        if self.followed.elapsed() >= FOLLOW_INTERVAL {
            self.follow_processors();
        }
        drained
    }

    /// Opens what is missing after processors came, went or came back, as far as that is possible: what is not stays
    /// missing until the next time. [`Self::drain`] does this every few seconds.
    pub fn follow_processors(&mut self) {
        self.followed = Instant::now();
        let Ok(online) = processors::online(&self.sys) else {
            return;
        };
        if self.scope == Scope::Machine {
            let enabled = self.enabled;
            // An event dies with its processor and does not wake when that is back, as after a suspend: its clock
            // stands still. One that has just written needs no question.
            self.rings.retain_mut(|ring| {
                let heard = std::mem::take(&mut ring.heard);
                let before = ring.enabled_ns;
                if !heard && enabled {
                    ring.enabled_ns = events::time_enabled_ns(ring.ring.event()).unwrap_or(before);
                }
                let dead = !heard && enabled && ring.enabled_ns == before;
                online.contains(&ring.cpu) && !dead
            });
        }
        let known: Vec<u32> = self.rings.iter().map(|ring| ring.cpu).collect();
        let mut came = false;
        for cpu in online.into_iter().filter(|cpu| !known.contains(cpu)) {
            came |= self.add_processor(cpu);
        }
        self.rings.sort_by_key(|ring| ring.cpu);
        if came && let Scope::Process(pid) = self.scope {
            // Threads without an event on the new processor would not be seen there. When this fails, the process is
            // gone or the limits are reached.
            let _ = self.open_threads_anew(pid);
        }
    }

    fn add_processor(&mut self, cpu: u32) -> bool {
        let opened = open_ring_owner(self.scope, &self.recipe, cpu, self.rings.len());
        let Ok(Some(event)) = opened else {
            return false;
        };
        let Ok(ring) = Ring::map(event, self.ring_bytes) else {
            return false;
        };
        if self.enabled && self.scope == Scope::Machine && events::enable(ring.event()).is_err() {
            return false;
        }
        self.rings.push(ProcessorRing::new(cpu, ring));
        true
    }

    fn open_threads_anew(&mut self, pid: u32) -> Result<(), PerfError> {
        // First the old ones go: both would not fit under the limits.
        self.thread_events.clear();
        let cpus: Vec<u32> = self.rings.iter().map(|ring| ring.cpu).collect();
        let opened = open_threads_on(pid, &self.recipe, &cpus);
        (self.thread_events, self.threads_left_out) = opened.map_err(|error| match error {
            Opening::Failed(error) => error,
            Opening::NoClock => PerfError::NotInKernel,
        })?;
        self.direct_threads()?;
        if self.enabled {
            self.enable()?;
        }
        Ok(())
    }

    /// Every thread has an event on each processor, in the order of the rings.
    fn direct_threads(&self) -> Result<(), PerfError> {
        let rings = self.rings.iter().cycle();
        for (event, ring) in self.thread_events.iter().zip(rings) {
            events::set_output(event.as_fd(), ring.ring.event())
                .map_err(system("joining perf events in a ring"))?;
        }
        Ok(())
    }

    fn for_each_event(&self, act: fn(BorrowedFd<'_>) -> io::Result<()>) -> io::Result<()> {
        match self.scope {
            Scope::Machine => self
                .rings
                .iter()
                .try_for_each(|ring| act(ring.ring.event())),
            Scope::Process(_) => self
                .thread_events
                .iter()
                .try_for_each(|event| act(event.as_fd())),
        }
    }
}

#[derive(Clone, Copy)]
struct Wanted {
    process: Option<u32>,
    drop_idle: bool,
}

impl Wanted {
    fn takes(self, sample: &Sample<'_>) -> bool {
        let idle = sample.pid == 0 && sample.tid == 0 && sample.registers.is_none();
        // Processes that a thread forks inherit its event.
        self.process.is_none_or(|pid| pid == sample.pid) && !(self.drop_idle && idle)
    }
}

fn take(
    record: &[u8],
    layout: SampleLayout,
    wanted: Wanted,
    chain: &mut Vec<u64>,
    drained: &mut Drained,
    each: &mut dyn FnMut(&RawSample<'_>),
) {
    match parse_record(record, layout) {
        Record::Sample(sample) if wanted.takes(&sample) => {
            chain.clear();
            kernel_addresses(sample.chain, chain);
            drained.samples += 1;
            each(&RawSample {
                time: sample.time,
                pid: sample.pid,
                tid: sample.tid,
                cpu: sample.cpu,
                kernel_stack: chain,
                registers: sample.registers,
                stack: sample.stack,
                in_kernel: sample.in_kernel,
            });
        }
        Record::Sample(_) | Record::Other => {}
        Record::Lost(count) => drained.lost = drained.lost.saturating_add(count),
        Record::Throttled => drained.throttled += 1,
        Record::Damaged => drained.damaged += 1,
    }
}
