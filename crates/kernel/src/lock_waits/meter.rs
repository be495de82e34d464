//! What the programs cost, as the kernel measures it.

use std::os::fd::OwnedFd;
use std::time::Duration;

use aya::Ebpf;
use aya::sys::{Stats, enable_stats};

/// The kernel's measuring takes two readings of the clock for every run of every BPF program of
/// the machine, which made a run on an uninvolved switch half as dear again. So it is on for the
/// first of these out of each of the second.
const SLICE_NS: u64 = 100_000_000;
const PERIOD_NS: u64 = 1_000_000_000;

/// Measures in slices. Times are CLOCK_MONOTONIC, nanoseconds.
pub(super) struct CostMeter {
    /// While it is open the kernel measures.
    measuring: Option<OwnedFd>,
    slice_began: u64,
    run_time_before: Duration,
    run_time: Duration,
    measured_ns: u64,
}

impl CostMeter {
    /// Begins the first slice. Needs CAP_SYS_ADMIN; without it nothing is ever measured.
    pub fn start(now: u64) -> Self {
        Self {
            measuring: enable_stats(Stats::RunTime).ok(),
            slice_began: now,
            run_time_before: Duration::ZERO,
            run_time: Duration::ZERO,
            measured_ns: 0,
        }
    }

    /// Ends a slice that is long enough, or begins the next when it is time.
    pub fn tick(&mut self, ebpf: &Ebpf, now: u64) {
        let since = now.saturating_sub(self.slice_began);
        if self.measuring.is_some() && since >= SLICE_NS {
            self.end_slice(ebpf, now);
        } else if self.measuring.is_none() && self.measured_ns > 0 && since >= PERIOD_NS {
            self.measuring = enable_stats(Stats::RunTime).ok();
            self.run_time_before = run_time(ebpf);
            self.slice_began = now;
        }
    }

    /// Ends a slice that is under way: the programs run no more, or at `end` they did the last
    /// time.
    pub fn stop(&mut self, ebpf: &Ebpf, end: u64) {
        if self.measuring.is_some() {
            self.end_slice(ebpf, end);
        }
    }

    /// The cost of a window of such a length, from the slices in it.
    pub fn cost(&self, wall_ns: u64) -> Option<Duration> {
        (self.measured_ns > 0).then(|| {
            self.run_time
                .mul_f64(wall_ns as f64 / self.measured_ns as f64)
        })
    }

    fn end_slice(&mut self, ebpf: &Ebpf, now: u64) {
        self.measuring = None;
        self.run_time += run_time(ebpf).saturating_sub(self.run_time_before);
        self.measured_ns += now.saturating_sub(self.slice_began);
    }
}

fn run_time(ebpf: &Ebpf) -> Duration {
    // Programs that were not asked for are not loaded and have no info.
    ebpf.programs()
        .filter_map(|(_, program)| program.info().ok())
        .map(|info| info.run_time())
        .sum()
}
