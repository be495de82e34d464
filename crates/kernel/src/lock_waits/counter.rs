use std::collections::HashMap as Map;
use std::time::Duration;

use aya::maps::{Array, HashMap, MapData, StackTraceMap};
use aya::programs::tp_btf::BtfTracePointLinkId;
use rustix::time::{ClockId, clock_gettime};

use super::error::classify;
use super::load::{self, Loaded, ON_CONTENTION_BEGIN, ON_CONTENTION_END, ON_SWITCH};
use super::meter::CostMeter;
use super::rows::{self, OpenWait};
use super::wire::{
    Begun, Event, KERNEL_STACKS_MAX, KernelPathBytes, KernelRowWords, KernelWaitBytes, RowBytes,
    State, StateWords, WaitBytes, event,
};
use super::{WaitError, WaitOptions, WaitSample, WaitTotals};

/// Counts the waits of one process from [`WaitCounter::open`] to [`WaitCounter::finish`].
///
/// Call [`WaitCounter::poll`] about every 50 ms: the ring holds a quarter of a second of samples,
/// and what finds no room there is lost (counted in [`WaitTotals::lost_samples`]); waits are
/// counted all the same. Dropping it detaches everything.
pub struct WaitCounter {
    loaded: Loaded,
    kernel_locks: bool,
    links: Vec<(&'static str, BtfTracePointLinkId)>,
    state: Array<MapData, StateWords>,
    /// CLOCK_MONOTONIC, nanoseconds, as all times here.
    began: u64,
    /// Samples whose wait is not over, by thread.
    pending: Map<u32, Begun>,
    lost_ends: u64,
    meter: CostMeter,
}

impl WaitCounter {
    /// Loads and attaches the programs: 20 to 50 ms. The window begins.
    ///
    /// Needs CAP_BPF and CAP_PERFMON (5.8; before, CAP_SYS_ADMIN), the kernel's type information
    /// and a kernel from 5.15 on (`bpf_task_pt_regs`); [`WaitOptions::kernel_locks`] one from 5.19
    /// on.
    pub fn open(options: &WaitOptions) -> Result<Self, WaitError> {
        let mut loaded = load::load(options)?;
        let state = load::take_map(&mut loaded.ebpf, ".bss")?;
        let began = monotonic_ns();
        let mut counter = Self {
            loaded,
            kernel_locks: options.kernel_locks,
            links: Vec::new(),
            state,
            began,
            meter: CostMeter::start(began),
            pending: Map::new(),
            lost_ends: 0,
        };
        if options.futexes {
            counter.attach(ON_SWITCH)?;
            load::note_sleepers(&mut counter.loaded.ebpf)?;
        }
        if options.kernel_locks {
            // The end first: a begin without an end would look like a wait that goes on.
            counter.attach(ON_CONTENTION_END)?;
            counter.attach(ON_CONTENTION_BEGIN)?;
        }
        Ok(counter)
    }

    /// Hands over the samples whose waits are over, and detaches what has switched itself off.
    pub fn poll(&mut self, each: &mut dyn FnMut(WaitSample)) {
        let state = self.read_state();
        if state.off_at == 0 {
            self.meter.tick(&self.loaded.ebpf, monotonic_ns());
        } else {
            self.meter.stop(&self.loaded.ebpf, state.off_at);
            self.detach(&[ON_SWITCH]);
        }
        if state.kernel_off_at != 0 {
            self.detach(&[ON_CONTENTION_BEGIN, ON_CONTENTION_END]);
        }
        self.drain(each);
    }

    fn drain(&mut self, each: &mut dyn FnMut(WaitSample)) {
        while let Some(record) = self.loaded.ring.next() {
            match event(&record) {
                Some(Event::Begun(begun)) => {
                    let former = self.pending.insert(begun.tid, begun);
                    // A thread waits once at a time: the former one's end got lost.
                    self.lost_ends += u64::from(former.is_some());
                }
                Some(Event::Ended { tid, since, waited }) => {
                    let known = self.pending.get(&tid).is_some_and(|b| b.since == since);
                    if known && let Some(begun) = self.pending.remove(&tid) {
                        each(sample(begun, waited, false));
                    }
                }
                None => {}
            }
        }
    }

    /// When counting futex waits switched itself off, after the begin; `None` while it counts.
    pub fn switched_off(&self) -> Option<Duration> {
        self.after(self.read_state().off_at)
    }

    /// Ends the window, detaches everything and reads the tables.
    pub fn finish(mut self) -> Result<WaitTotals, WaitError> {
        let kernel_end = monotonic_ns();
        self.detach(&[ON_CONTENTION_BEGIN, ON_CONTENTION_END]);
        self.detach(&[ON_SWITCH]);
        let now = monotonic_ns();
        let state = self.read_state();
        let end = if state.off_at == 0 { now } else { state.off_at };
        self.meter.stop(&self.loaded.ebpf, end);
        let mut samples = Vec::new();
        self.drain(&mut |s| samples.push(s));

        let open = self.open_waits()?;
        for wait in &open {
            let known = self.pending.get(&wait.tid);
            if known.is_some_and(|b| b.since == wait.since)
                && let Some(begun) = self.pending.remove(&wait.tid)
            {
                let age = end.saturating_sub(wait.since);
                samples.push(sample(begun, age, true));
            }
        }
        let waits = self.address_rows(&open, end)?;
        let kernel_locks = if self.kernel_locks {
            let off = state.kernel_off_at;
            self.kernel_rows(if off == 0 { kernel_end } else { off })?
        } else {
            Vec::new()
        };
        let overflow = waits.iter().find(|r| r.address == 0);
        Ok(WaitTotals {
            wall: Duration::from_nanos(end.saturating_sub(self.began)),
            overflow: overflow.map_or(0, |r| r.waits),
            events: waits.iter().map(|r| r.waits).sum(),
            waits,
            kernel_locks,
            samples,
            lost_samples: state.lost_samples + self.lost_ends + self.pending.len() as u64,
            untracked: state.untracked,
            cost: self.meter.cost(end.saturating_sub(self.began)),
            switched_off_after: self.after(state.off_at),
            kernel_locks_switched_off_after: self.after(state.kernel_off_at),
        })
    }

    fn attach(&mut self, program: &'static str) -> Result<(), WaitError> {
        let link = load::attach(&mut self.loaded.ebpf, program)?;
        self.links.push((program, link));
        Ok(())
    }

    fn detach(&mut self, programs: &[&str]) {
        let (gone, kept) = std::mem::take(&mut self.links)
            .into_iter()
            .partition(|(program, _)| programs.contains(program));
        self.links = kept;
        let gone: Vec<_> = gone;
        for (program, link) in gone {
            load::detach(&mut self.loaded.ebpf, program, link);
        }
    }

    fn read_state(&self) -> State {
        let words = self.state.get(&0, 0);
        words.map_or_else(|_| State::default(), |w| State::of(&w))
    }

    fn after(&self, at: u64) -> Option<Duration> {
        (at != 0).then(|| Duration::from_nanos(at.saturating_sub(self.began)))
    }

    fn open_waits(&mut self) -> Result<Vec<OpenWait>, WaitError> {
        let threads: HashMap<MapData, u32, WaitBytes> = self.map("threads")?;
        let mut open = Vec::new();
        for entry in threads.iter() {
            let (tid, wait) = entry.map_err(|e| classify("reading BPF maps", &e))?;
            open.extend(rows::open_wait(tid, &wait));
        }
        Ok(open)
    }

    fn address_rows(
        &mut self,
        open: &[OpenWait],
        end: u64,
    ) -> Result<Vec<super::AddressWaits>, WaitError> {
        let addresses: HashMap<MapData, u64, RowBytes> = self.map("addresses")?;
        let mut counted = Vec::new();
        for entry in addresses.iter() {
            let (address, row) = entry.map_err(|e| classify("reading BPF maps", &e))?;
            counted.push(rows::address_row(address, &row));
        }
        let overflow: Array<MapData, RowBytes> = self.map("overflow")?;
        let overflow = overflow
            .get(&0, 0)
            .map_err(|e| classify("reading BPF maps", &e))?;
        let overflow = rows::address_row(0, &overflow);
        Ok(rows::finish_addresses(counted, overflow, open, end))
    }

    fn kernel_rows(&mut self, end: u64) -> Result<Vec<super::KernelWaits>, WaitError> {
        let paths: HashMap<MapData, KernelPathBytes, KernelRowWords> = self.map("kernel_paths")?;
        let mut counted = Vec::new();
        for entry in paths.iter() {
            let (path, row) = entry.map_err(|e| classify("reading BPF maps", &e))?;
            counted.push((rows::kernel_path(&path), row));
        }
        let waits: HashMap<MapData, u32, KernelWaitBytes> = self.map("kernel_waits")?;
        let mut open = Vec::new();
        for entry in waits.iter() {
            let (_, wait) = entry.map_err(|e| classify("reading BPF maps", &e))?;
            open.push(rows::open_kernel_wait(&wait));
        }
        let overflow: Array<MapData, KernelRowWords> = self.map("kernel_overflow")?;
        let overflow = overflow
            .get(&0, 0)
            .map_err(|e| classify("reading BPF maps", &e))?;
        let stacks: StackTraceMap<MapData> = self.map("kernel_stacks")?;
        let spins: StackTraceMap<MapData> = self.map("spin_stacks")?;
        let stack_of = |id: i32| {
            u32::try_from(id)
                .ok()
                .and_then(|id| match id.checked_sub(KERNEL_STACKS_MAX) {
                    Some(id) => spins.get(&id, 0).ok(),
                    None => stacks.get(&id, 0).ok(),
                })
                .map(|s| s.frames().iter().map(|f| f.ip).collect())
                .unwrap_or_default()
        };
        Ok(rows::kernel_rows(&counted, &overflow, &open, end, stack_of))
    }

    fn map<M: TryFrom<aya::maps::Map, Error = aya::maps::MapError>>(
        &mut self,
        name: &'static str,
    ) -> Result<M, WaitError> {
        load::take_map(&mut self.loaded.ebpf, name)
    }
}

fn sample(begun: Begun, waited: u64, still_waiting: bool) -> WaitSample {
    WaitSample {
        tid: begun.tid,
        address: begun.address,
        operation: begun.operation,
        waited: Duration::from_nanos(waited),
        still_waiting,
        one_in: begun.one_in,
        registers: begun.registers,
        thread_pointer: begun.thread_pointer,
        stack: begun.stack,
    }
}

/// The clock of `bpf_ktime_get_ns`.
fn monotonic_ns() -> u64 {
    let now = Duration::try_from(clock_gettime(ClockId::Monotonic)).unwrap_or_default();
    u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)
}
