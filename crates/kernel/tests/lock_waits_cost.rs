//! What counting waits costs: run by hand, in a release build, on a machine without other load.
//! `cargo test --release -p freezeframe-kernel --test lock_waits_cost -- --ignored --nocapture`

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod lock_waits_victim;

use std::time::{Duration, Instant};

use kernel::lock_waits::WaitOptions;
use lock_waits_victim::{Victim, count_for, open, options};

const PAIRS: usize = 10;
const WINDOW: Duration = Duration::from_millis(1500);

/// What one window with the counter on saw.
#[derive(Default)]
struct Seen {
    waits_per_second: f64,
    /// Microseconds a second, as the kernel accounts the programs.
    cost: f64,
    samples_per_second: f64,
    lost: u64,
}

/// The victim's rate with the counter over the rate without, in alternating windows.
fn measure(name: &str, victim: &mut Victim, asked: &WaitOptions) {
    let mut ratios = Vec::new();
    let mut rates = Vec::new();
    let mut all = Seen::default();
    for pair in 0..PAIRS {
        // Which comes first alternates, so that a drift of the machine cancels.
        let (mut on, mut off) = (0.0, 0.0);
        for half in 0..2 {
            if (pair + half) % 2 == 0 {
                let Some(counter) = open(asked) else {
                    return;
                };
                let (before, began) = (victim.count(), Instant::now());
                let (samples, totals) = count_for_until(counter, victim, &mut on, before, began);
                let wall = totals.wall.as_secs_f64();
                all.waits_per_second += totals.events as f64 / wall;
                all.samples_per_second += samples as f64 / wall;
                all.lost += totals.lost_samples;
                let cost = totals.cost.unwrap_or_default();
                all.cost += cost.as_secs_f64() * 1e6 / wall;
                if let Some(after) = totals.switched_off_after {
                    eprintln!("{name}: switched off after {after:?}");
                }
            } else {
                let (before, began) = (victim.count(), Instant::now());
                std::thread::sleep(WINDOW);
                off = (victim.count() - before) as f64 / began.elapsed().as_secs_f64();
            }
        }
        ratios.push(on / off);
        rates.push(off);
    }
    let (ratio, error) = mean_and_error(&ratios);
    let (rate, _) = mean_and_error(&rates);
    let n = PAIRS as f64;
    let (waits, cost) = (all.waits_per_second / n, all.cost / n);
    println!(
        "{name:34} {rate:>10.0}/s off  ratio {ratio:.3} ± {error:.3}  {waits:>8.0} waits/s  \
         cost {cost:>7.0} us/s  {:>5.0} ns/wait  {:>5.0} samples/s  lost {}",
        cost * 1000.0 / waits.max(1.0),
        all.samples_per_second / n,
        all.lost
    );
}

fn count_for_until(
    counter: kernel::lock_waits::WaitCounter,
    victim: &mut Victim,
    rate: &mut f64,
    before: u64,
    began: Instant,
) -> (usize, kernel::lock_waits::WaitTotals) {
    let mut counter = counter;
    let mut samples = 0;
    while began.elapsed() < WINDOW {
        std::thread::sleep(Duration::from_millis(50));
        counter.poll(&mut |_| samples += 1);
    }
    *rate = (victim.count() - before) as f64 / began.elapsed().as_secs_f64();
    let totals = counter.finish().expect("the tables can be read");
    (samples + totals.samples.len(), totals)
}

fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
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
    for (threads, work) in [
        ("8", "50"),
        ("8", "350"),
        ("8", "700"),
        ("8", "1400"),
        ("8", "3000"),
    ] {
        let mut victim = Victim::start(&["hammer", threads, work]);
        for stacks in [0, 200, 2000] {
            let asked = unlimited(victim.pid(), stacks);
            let name = format!("hammer work {work}, {stacks} stacks/s");
            measure(&name, &mut victim, &asked);
        }
    }
}

#[test]
#[ignore = "a measurement, minutes long"]
fn switches_of_others() {
    let idle = Victim::start(&["stuck"]);
    let mut victim = Victim::start(&["pipes"]);
    let asked = unlimited(idle.pid(), 0);
    measure("pipes of another process", &mut victim, &asked);
}

#[test]
#[ignore = "a measurement"]
fn the_rate_of_waits_by_work() {
    for work in [
        "20", "50", "100", "200", "350", "500", "700", "1000", "1400", "2000", "3000", "5000",
    ] {
        let mut victim = Victim::start(&["hammer", "8", work]);
        let Some(counter) = open(&unlimited(victim.pid(), 0)) else {
            return;
        };
        let before = victim.count();
        let (_, totals) = count_for(counter, Duration::from_secs(1));
        let done = victim.count() - before;
        println!(
            "work {work}: {} waits, {done} acquisitions, cost {:?}",
            totals.events, totals.cost
        );
    }
}
