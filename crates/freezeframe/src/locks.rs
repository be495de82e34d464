//! `freezeframe locks`: who waits for what, and behind whom, now.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use ::stacks::locks::{
    AddressTotals, ExactWaits, Observed, WaitSample as NamedSample, exact_table, sampled_table,
};
use ::stacks::observer::Observer;
use ::stacks::{RawStackId, UnwoundSnapshot, kernel_lock_rows};
use anyhow::Result;
use cli::output;
use kernel::lock_waits::{WaitCounter, WaitError, WaitOptions, WaitSample, WaitTotals};
use kernel::snapshot::{SnapshotError, SnapshotOptions};
use model::{Absent, LockTable, Millis, Reason};
use report::evidence::locks_json::{LocksInput, locks_json};
use report::evidence::locks_text::{LocksTextOptions, locks_text};

use crate::args::Locks;
use crate::live::{self, Progress, Stop};

/// Waits a second that carry their stack.
const STACKS_PER_SECOND: u32 = 2000;

/// Stack copied with such a wait.
const STACK_BYTES: u32 = 8192;

/// Snapshots a second that tell holders while every wait is counted.
const HOLDERS_EVERY: Duration = Duration::from_millis(100);

/// How often samples of waits are fetched.
const POLL_EVERY: Duration = Duration::from_millis(50);

pub(crate) fn run(args: &Locks) -> Result<ExitCode> {
    let live = live::find(&args.server)?;
    let mut observer = Observer::open(live.pid, &SnapshotOptions::default())?;
    let stop = live::stop_on_signals()?;
    let (table, named) = if args.exact {
        exact(args, live.pid, &mut observer, &stop)?
    } else {
        sampled(args, live.pid, &mut observer, &stop)?
    };
    let input = LocksInput {
        pid: live.pid,
        table: &table,
        book: &named.book,
    };
    if args.json {
        output::print_json_text(&locks_json(&input))?;
    } else {
        let options = LocksTextOptions {
            text: output::text_options(),
            limit: args.limit,
        };
        output::print_page(&locks_text(&input, &options))?;
    }
    Ok(ExitCode::SUCCESS)
}

type Table = (LockTable, ::stacks::observer::Named);

fn sampled(args: &Locks, pid: u32, observer: &mut Observer, stop: &Stop) -> Result<Table> {
    let kernel_side = WaitCounter::open(&WaitOptions {
        futexes: false,
        ..wait_options(args, pid)
    });
    let end = Instant::now() + args.seconds;
    let mut progress = Progress::new("snapshots", 0);
    let seen = observer.snapshots(args.interval, |taken| {
        progress.show(taken);
        taken == 0 || (Instant::now() < end && !stop.is_set())
    })?;
    progress.clear();
    let named = observer.name(&seen, &[]);
    let observed = Observed {
        book: &named.book,
        snapshots: &named.snapshots,
    };
    let mut table = sampled_table(&observed, &named.symbols);
    match kernel_side.and_then(WaitCounter::finish) {
        Ok(totals) => add_kernel_side(&mut table, &totals, observer),
        Err(error) => table.absent.push(kernel_side_absent(&error)),
    }
    Ok((table, named))
}

fn exact(args: &Locks, pid: u32, observer: &mut Observer, stop: &Stop) -> Result<Table> {
    let from = observer.now();
    let (mut counter, kernel_side) = match WaitCounter::open(&wait_options(args, pid)) {
        // Locks of the kernel need a newer one; the server's own are the answer all the same.
        Err(error @ WaitError::KernelLacks { .. }) => {
            let without = WaitOptions {
                kernel_locks: false,
                ..wait_options(args, pid)
            };
            (
                WaitCounter::open(&without)?,
                Some(kernel_side_absent(&error)),
            )
        }
        opened => (opened?, None),
    };
    let begin = Instant::now();
    let mut samples: Vec<(WaitSample, RawStackId)> = Vec::new();
    let mut seen: Vec<UnwoundSnapshot> = Vec::new();
    let mut next_snapshot = begin;
    let mut progress = Progress::new("waits with their stack", 0);
    while seen.is_empty()
        || (begin.elapsed() < args.seconds && !stop.is_set() && counter.switched_off().is_none())
    {
        counter.poll(&mut |sample| take(sample, observer, &mut samples));
        if Instant::now() >= next_snapshot {
            next_snapshot = Instant::now() + HOLDERS_EVERY;
            match observer.snapshot() {
                Ok(snapshot) => seen.push(snapshot),
                Err(SnapshotError::Gone { .. }) if !seen.is_empty() => break,
                Err(error) => return Err(error.into()),
            }
        }
        progress.show(samples.len());
        std::thread::sleep(POLL_EVERY);
    }
    progress.clear();
    let mut totals = counter.finish()?;
    for sample in std::mem::take(&mut totals.samples) {
        take(sample, observer, &mut samples);
    }
    let stacks: Vec<RawStackId> = samples.iter().map(|(_, stack)| *stack).collect();
    let named = observer.name(&seen, &stacks);
    let micros = |time: Duration| time.as_secs_f64() * 1e6;
    let named_samples: Vec<NamedSample> = samples
        .iter()
        .map(|(sample, stack)| NamedSample {
            tid: sample.tid,
            address: sample.address,
            stack: named.numbers.get(*stack),
            waited_us: micros(sample.waited),
        })
        .collect();
    let by_address: Vec<AddressTotals> = totals
        .waits
        .iter()
        .map(|row| AddressTotals {
            address: row.address,
            operation: row.operation,
            waits: row.waits,
            total_us: micros(row.total),
            max_us: micros(row.max),
            waiters_max: u32::try_from(row.waiters_max).unwrap_or(u32::MAX),
        })
        .collect();
    let waits = ExactWaits {
        from,
        to: from + totals.wall.as_millis() as Millis,
        events: totals.events,
        stack_every: stack_every(&totals, samples.len()),
        cost_us: totals.cost.map_or(0, |cost| cost.as_micros() as u64),
        switched_off_after_ms: totals
            .switched_off_after
            .map(|after| after.as_millis() as u64),
        totals: &by_address,
        samples: &named_samples,
    };
    let observed = Observed {
        book: &named.book,
        snapshots: &named.snapshots,
    };
    let mut table = exact_table(&waits, &observed, &named.symbols);
    add_kernel_side(&mut table, &totals, observer);
    table.absent.extend(kernel_side);
    if totals.lost_samples + totals.untracked > 0 {
        let detail = format!(
            "{} stacks were not kept, for lack of space; {} waits were not counted, because of too many threads",
            totals.lost_samples, totals.untracked
        );
        table
            .absent
            .push(Absent::new("waits", Reason::Limit, detail));
    }
    Ok((table, named))
}

fn wait_options(args: &Locks, pid: u32) -> WaitOptions {
    WaitOptions {
        pid,
        futexes: true,
        kernel_locks: true,
        stacks_per_second_max: STACKS_PER_SECOND,
        events_per_second_max: args.max_rate,
        stack_bytes: STACK_BYTES,
    }
}

fn take(sample: WaitSample, observer: &mut Observer, samples: &mut Vec<(WaitSample, RawStackId)>) {
    let stack = observer.unwind(sample.address, &sample.registers, &sample.stack);
    let kept = WaitSample {
        stack: Vec::new(),
        ..sample
    };
    samples.push((kept, stack));
}

fn stack_every(totals: &WaitTotals, samples: usize) -> u32 {
    let every = totals.events / (samples as u64).max(1);
    u32::try_from(every).unwrap_or(u32::MAX).max(1)
}

fn add_kernel_side(table: &mut LockTable, totals: &WaitTotals, observer: &mut Observer) {
    table.kernel_locks = kernel_lock_rows(&totals.kernel_locks, observer.namer());
    if let Some(after) = totals.kernel_locks_switched_off_after {
        let detail = format!(
            "counting stopped after {:.1} s: more waits a second than --max-rate",
            after.as_secs_f64()
        );
        table
            .absent
            .push(Absent::new("kernel lock waits", Reason::Limit, detail));
    }
}

fn kernel_side_absent(error: &WaitError) -> Absent {
    Absent::new("kernel lock waits", Reason::Permission, error.to_string())
}
