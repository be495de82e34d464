//! What counting waits costs: run by hand, in a release build.
//! `cargo test --release -p freezeframe-kernel --test lock_waits_cost -- --ignored --nocapture`
//!
//! Windows with and without the counter alternate. Two ratios: of turns per second, which other
//! load on the machine disturbs, and of turns per second of the victim's own processor time, which
//! it hardly does (the kernel accounts a switch to the thread that comes or goes).

#![allow(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "tests tell what they skip or measure"
)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod lock_waits_victim;

use std::time::{Duration, Instant};

use kernel::lock_waits::WaitOptions;
use lock_waits_victim::{Victim, open, options};

const PAIRS: usize = 30;
const WINDOW: Duration = Duration::from_millis(400);
/// How often the samples are taken.
const POLL: Duration = Duration::from_millis(50);

/// Means over the windows with the counter on.
#[derive(Default)]
struct Seen {
    waits_per_second: f64,
    cost_us_per_second: f64,
    samples_per_second: f64,
    lost: u64,
}

/// Turns, by wall time and by processor time.
#[derive(Clone, Copy)]
struct Rate {
    per_second: f64,
    cpu_ns_per_turn: f64,
}

fn rate(victim: &mut Victim, mut meanwhile: impl FnMut()) -> Rate {
    let (began, (turns, cpu)) = (Instant::now(), victim.count());
    while began.elapsed() < WINDOW {
        std::thread::sleep(POLL);
        meanwhile();
    }
    let (wall, (turns_after, cpu_after)) = (began.elapsed(), victim.count());
    let done = (turns_after - turns) as f64;
    Rate {
        per_second: done / wall.as_secs_f64(),
        cpu_ns_per_turn: (cpu_after - cpu) as f64 / done,
    }
}

fn rate_while_counting(victim: &mut Victim, asked: &WaitOptions, seen: &mut Seen) -> Option<Rate> {
    let mut counter = open(asked)?;
    let mut samples = 0;
    let rate = rate(victim, || counter.poll(&mut |_| samples += 1));
    let totals = counter.finish().expect("the tables can be read");
    assert_eq!(totals.switched_off_after, None);
    let wall = totals.wall.as_secs_f64();
    let share = 1.0 / (PAIRS as f64 * wall);
    seen.waits_per_second += totals.events as f64 * share;
    seen.samples_per_second += (samples + totals.samples.len()) as f64 * share;
    seen.cost_us_per_second += totals.cost.unwrap_or_default().as_secs_f64() * 1e6 * share;
    seen.lost += totals.lost_samples;
    Some(rate)
}

fn measure(name: &str, victim: &mut Victim, asked: &WaitOptions) {
    let mut seen = Seen::default();
    let mut pairs = Vec::new();
    for pair in 0..PAIRS {
        // Which comes first alternates, so that a drift of the machine cancels.
        let first_off = (pair % 2 == 0).then(|| rate(victim, || ()));
        let Some(on) = rate_while_counting(victim, asked, &mut seen) else {
            return;
        };
        let off = first_off.unwrap_or_else(|| rate(victim, || ()));
        pairs.push((on, off));
    }
    let of = |f: &dyn Fn(&(Rate, Rate)) -> f64| mean_and_error(pairs.iter().map(f));
    let (wall, wall_error) = of(&|(on, off)| on.per_second / off.per_second);
    let (cpu, cpu_error) = of(&|(on, off)| off.cpu_ns_per_turn / on.cpu_ns_per_turn);
    let (more, more_error) = of(&|(on, off)| on.cpu_ns_per_turn - off.cpu_ns_per_turn);
    let middle = median(
        pairs
            .iter()
            .map(|(on, off)| on.cpu_ns_per_turn - off.cpu_ns_per_turn)
            .collect(),
    );
    let (turns, _) = of(&|(_, off)| off.per_second);
    println!(
        "{name}: {turns:.0} turns/s without; ratio by wall time {wall:.3} ± {wall_error:.3}, by \
         processor time {cpu:.3} ± {cpu_error:.3} ({more:.0} ± {more_error:.0} ns more a turn, median {middle:.0}); \
         {:.0} waits/s, cost {:.0} us/s, {:.0} samples/s, {} lost",
        seen.waits_per_second, seen.cost_us_per_second, seen.samples_per_second, seen.lost
    );
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn mean_and_error(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let n = values.clone().count() as f64;
    let mean = values.clone().sum::<f64>() / n;
    let variance = values.map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

fn unlimited(pid: u32, stacks: u32) -> WaitOptions {
    WaitOptions {
        stacks_per_second_max: stacks,
        events_per_second_max: 100_000_000,
        ..options(pid)
    }
}

#[test]
#[ignore = "a measurement, minutes long"]
fn a_fight_for_a_mutex() {
    for work in ["700", "3000"] {
        let mut victim = Victim::start(&["hammer", "8", work]);
        for stacks in [0, 2000] {
            let asked = unlimited(victim.pid(), stacks);
            measure(
                &format!("mutex, 8 threads, work {work}, {stacks} stacks/s"),
                &mut victim,
                &asked,
            );
        }
    }
}

#[test]
#[ignore = "a measurement, minutes long"]
fn a_wait_for_every_turn() {
    for work in ["0", "5000", "60000"] {
        let mut victim = Victim::start(&["pingpong", work]);
        for stacks in [0, 2000] {
            let asked = unlimited(victim.pid(), stacks);
            measure(
                &format!("turns, work {work}, {stacks} stacks/s"),
                &mut victim,
                &asked,
            );
        }
    }
}

#[test]
#[ignore = "a measurement, minutes long"]
fn switches_of_others() {
    let idle = Victim::start(&["stuck"]);
    let mut victim = Victim::start(&["pipes"]);
    let asked = unlimited(idle.pid(), 0);
    measure(
        "pipes of another process, 2 switches a turn",
        &mut victim,
        &asked,
    );
}

#[test]
#[ignore = "prints the waits of the process LOCK_WAITS_PID"]
fn of_a_process() {
    let Ok(pid) = std::env::var("LOCK_WAITS_PID") else {
        return;
    };
    let mut asked = options(pid.parse().expect("a process id"));
    asked.kernel_locks = true;
    asked.events_per_second_max = 200_000;
    asked.stack_bytes = 16 * 1024;
    let Some(mut counter) = open(&asked) else {
        return;
    };
    let mut samples = Vec::new();
    for _ in 0..100 {
        std::thread::sleep(POLL);
        counter.poll(&mut |s| samples.push(s));
    }
    let totals = counter.finish().expect("the tables can be read");
    samples.extend(totals.samples.iter().cloned());
    for row in totals.waits.iter().take(25) {
        println!(
            "{:>16x} op {:#x} waits {:>7} total {:>10.3?} max {:>10.3?} still {} most {} samples {}",
            row.address,
            row.operation,
            row.waits,
            row.total,
            row.max,
            row.still_waiting,
            row.waiters_max,
            samples.iter().filter(|s| s.address == row.address).count()
        );
    }
    for row in totals.kernel_locks.iter().take(10) {
        println!(
            "kernel {:x?} flags {} mmap_lock {} waits {} total {:?} max {:?} server {}",
            row.stack.get(2..4),
            row.flags,
            row.is_mmap_lock,
            row.waits,
            row.total,
            row.max,
            row.server_waits
        );
    }
    let whole = samples
        .iter()
        .filter(|s| s.stack.len() == 16 * 1024)
        .count();
    println!(
        "{} addresses, {} events, {} samples ({whole} with 16 KiB of stack), {} lost, overflow {}, \
         wall {:?}, cost {:?}, off {:?} {:?}",
        totals.waits.len(),
        totals.events,
        samples.len(),
        totals.lost_samples,
        totals.overflow,
        totals.wall,
        totals.cost,
        totals.switched_off_after,
        totals.kernel_locks_switched_off_after
    );
}
