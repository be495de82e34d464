//! Samples of programs that do a known thing.

#![allow(clippy::print_stderr, reason = "tests tell what they skip or measure")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod processor_victim;

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use kernel::perf::{Drained, PerfError, Sampler, SamplerOptions, Scope, ring_bytes_for};
use kernel::roots::SysRoot;
use processor_victim::Victim;

/// Nothing here takes so long on a machine that works.
const LIMIT: Duration = Duration::from_secs(60);

/// What a test keeps of a sample.
struct Kept {
    time: Duration,
    pid: u32,
    tid: u32,
    cpu: u32,
    ip: Option<u64>,
    stack_bytes: usize,
    kernel_stack: Vec<u64>,
    in_kernel: bool,
}

fn options(scope: Scope) -> SamplerOptions {
    SamplerOptions {
        scope,
        hz: 499,
        stack_bytes: 4096,
        kernel: true,
        user_stacks: true,
        ring_bytes: ring_bytes_for(499, 4096, Duration::from_millis(200)),
    }
}

/// A sampler moves to the thread that drains it.
const fn moves<T: Send>() {}
const _: () = moves::<Sampler>();

/// `None`, with a word on it, when the system refuses it.
fn open(options: &SamplerOptions) -> Option<Sampler> {
    allowed(Sampler::open(options))
}

fn allowed(opened: Result<Sampler, PerfError>) -> Option<Sampler> {
    match opened {
        Ok(mut sampler) => {
            sampler.enable().unwrap();
            Some(sampler)
        }
        Err(error @ (PerfError::Refused { .. } | PerfError::NotInKernel)) => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// Drains until there are `count` samples of the kind that is wanted.
fn collect(sampler: &mut Sampler, count: usize, wanted: impl Fn(&Kept) -> bool) -> Vec<Kept> {
    let began = Instant::now();
    let mut samples = Vec::new();
    while samples.len() < count {
        assert!(began.elapsed() < LIMIT, "{} of {count}", samples.len());
        sampler.wait(Duration::from_millis(50)).unwrap();
        let drained = sampler.drain(&mut |sample| {
            let kept = Kept {
                time: sample.time,
                pid: sample.pid,
                tid: sample.tid,
                cpu: sample.cpu,
                ip: sample.registers.map(|registers| registers.ip),
                stack_bytes: sample.stack.len(),
                kernel_stack: sample.kernel_stack.to_vec(),
                in_kernel: sample.in_kernel,
            };
            if wanted(&kept) {
                samples.push(kept);
            }
        });
        assert_eq!(drained.damaged, 0);
    }
    samples
}

fn monotonic() -> Duration {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.try_into().unwrap()
}

fn assert_spins(samples: &[Kept], victim: &Victim) {
    // A thread that has just started may still be in the kernel, with a stack that is not there yet.
    let inside: Vec<_> = samples
        .iter()
        .filter(|sample| sample.ip.is_some_and(|ip| victim.function.contains(&ip)))
        .collect();
    assert!(
        inside.len() * 10 >= samples.len() * 9,
        "{} of {}",
        inside.len(),
        samples.len()
    );
    assert!(inside.iter().all(|sample| sample.stack_bytes > 0));
}

#[test]
fn a_machine_shows_a_spinning_function_in_all_its_threads() {
    let victim = Victim::start("spin", 3);
    let Some(mut sampler) = open(&options(Scope::Machine)) else {
        return;
    };
    let before = monotonic();
    let pid = victim.pid();
    let samples = collect(&mut sampler, 300, |sample| sample.pid == pid);
    let after = monotonic();
    assert_spins(&samples, &victim);
    let threads: BTreeSet<u32> = samples.iter().map(|sample| sample.tid).collect();
    assert_eq!(threads.len(), 3);
    assert!(!threads.contains(&pid), "its first thread sleeps");
    assert!(
        samples
            .iter()
            .all(|sample| sample.cpu < 8192 && (before..after).contains(&sample.time))
    );
    assert!(
        samples
            .iter()
            .all(|sample| sample.in_kernel != sample.kernel_stack.is_empty())
    );
}

#[test]
fn a_process_shows_its_threads_alone_and_new_ones_too() {
    let mut victim = Victim::start("late", 1);
    let other = Victim::start("spin", 1);
    let Some(mut sampler) = open(&options(Scope::Process(victim.pid()))) else {
        return;
    };
    assert_eq!(sampler.threads_left_out(), 0);
    let first = collect(&mut sampler, 50, |_| true);
    assert_spins(&first, &victim);
    victim.go_on();
    let known: BTreeSet<u32> = first.iter().map(|sample| sample.tid).collect();
    let late = collect(&mut sampler, 50, |sample| !known.contains(&sample.tid));
    assert_spins(&late, &victim);
    let of_other = first.iter().chain(&late).filter(|s| s.pid == other.pid());
    assert_eq!(of_other.count(), 0);
    let of_victim = first.iter().chain(&late).all(|s| s.pid == victim.pid());
    assert!(of_victim);
}

#[test]
fn a_thread_in_the_kernel_has_both_sides() {
    let victim = Victim::start("call", 1);
    let Some(mut sampler) = open(&options(Scope::Machine)) else {
        return;
    };
    assert!(sampler.sees_kernel());
    let pid = victim.pid();
    let samples = collect(&mut sampler, 100, |sample| {
        sample.pid == pid && sample.in_kernel
    });
    // Addresses of the kernel are in the upper half; marks are the last 4095 of them.
    let upper = (1_u64 << 63)..(-4095_i64 as u64);
    for sample in &samples {
        assert!(!sample.kernel_stack.is_empty());
        assert!(sample.kernel_stack.iter().all(|ip| upper.contains(ip)));
        assert!(sample.ip.is_some_and(|ip| ip < 1 << 63));
        assert!(sample.stack_bytes > 0);
    }
    // Reading zeros is a few calls deep.
    assert!(samples.iter().any(|sample| sample.kernel_stack.len() > 3));
}

#[test]
fn without_stacks_there_are_registers() {
    let victim = Victim::start("spin", 1);
    let plain = SamplerOptions {
        kernel: false,
        user_stacks: false,
        ..options(Scope::Process(victim.pid()))
    };
    let Some(mut sampler) = open(&plain) else {
        return;
    };
    assert!(!sampler.sees_kernel());
    let samples = collect(&mut sampler, 50, |_| true);
    assert!(samples.iter().all(|sample| {
        sample.ip.is_some_and(|ip| victim.function.contains(&ip))
            && sample.stack_bytes == 0
            && sample.kernel_stack.is_empty()
            && !sample.in_kernel
    }));
}

#[test]
fn what_finds_no_room_is_counted() {
    let victim = Victim::start("spin", 2);
    let tiny = SamplerOptions {
        hz: 4999,
        stack_bytes: 8192,
        ring_bytes: 0,
        ..options(Scope::Process(victim.pid()))
    };
    let Some(mut sampler) = open(&tiny) else {
        return;
    };
    assert!(sampler.ring_bytes() <= 32 << 10);
    let began = Instant::now();
    let mut all = Drained::default();
    // The kernel tells the loss when there is room again.
    while all.lost == 0 {
        assert!(began.elapsed() < LIMIT);
        std::thread::sleep(Duration::from_millis(50));
        let drained = sampler.drain(&mut |sample| assert!(sample.stack.len() <= 8192));
        all.samples += drained.samples;
        all.lost += drained.lost;
        assert_eq!(drained.damaged, 0);
    }
    assert!(all.samples > 0);
}

/// The median time between two samples of a thread on a processor: what the rate says, also under load.
fn median_gap(samples: &[Kept]) -> Duration {
    let mut last = BTreeMap::new();
    let mut gaps: Vec<Duration> = samples
        .iter()
        .filter_map(|sample| {
            let before = last.insert((sample.tid, sample.cpu), sample.time)?;
            Some(sample.time - before)
        })
        .collect();
    gaps.sort();
    *gaps.get(gaps.len() / 2).unwrap()
}

fn rate_follows(scope: Scope, pid: u32) {
    let slow = SamplerOptions {
        hz: 50,
        ..options(scope)
    };
    let Some(mut sampler) = open(&slow) else {
        return;
    };
    let before = median_gap(&collect(&mut sampler, 40, |sample| sample.pid == pid));
    sampler.set_hz(2000).unwrap();
    assert_eq!(sampler.hz(), 2000);
    sampler.drain(&mut |_| {});
    let after = median_gap(&collect(&mut sampler, 400, |sample| sample.pid == pid));
    // 20 ms and 0.5 ms.
    assert!(before > 8 * after, "{before:?} {after:?}");
    assert!(matches!(sampler.set_hz(0), Err(PerfError::Options(_))));
}

#[test]
fn the_rate_of_a_machine_can_be_changed() {
    let victim = Victim::start("spin", 1);
    rate_follows(Scope::Machine, victim.pid());
}

#[test]
fn the_rate_of_a_process_can_be_changed() {
    let victim = Victim::start("spin", 1);
    rate_follows(Scope::Process(victim.pid()), victim.pid());
}

#[test]
fn a_stopped_sampler_is_silent_and_a_full_ring_wakes() {
    let victim = Victim::start("spin", 2);
    let Some(mut sampler) = open(&options(Scope::Process(victim.pid()))) else {
        return;
    };
    sampler.disable().unwrap();
    sampler.drain(&mut |_| {});
    assert!(!sampler.wait(Duration::from_millis(100)).unwrap());
    assert_eq!(sampler.drain(&mut |_| {}), Drained::default());
    sampler.enable().unwrap();
    let began = Instant::now();
    while !sampler.wait(Duration::from_millis(100)).unwrap() {
        assert!(began.elapsed() < LIMIT);
    }
    assert!(sampler.drain(&mut |_| {}).samples > 0);
}

#[test]
fn processors_that_come_and_go_are_followed() {
    let victim = Victim::start("spin", 2);
    let directory = tempfile::tempdir().unwrap();
    let cpu = directory.path().join("devices/system/cpu");
    std::fs::create_dir_all(&cpu).unwrap();
    let online = |list: &str| std::fs::write(cpu.join("online"), list).unwrap();
    if !std::path::Path::new("/sys/devices/system/cpu/cpu1").exists() {
        eprintln!("skipped: one processor");
        return;
    }
    for scope in [Scope::Machine, Scope::Process(victim.pid())] {
        online("0\n");
        let sys = SysRoot::at(directory.path());
        let Some(mut sampler) = allowed(Sampler::open_at(&options(scope), sys)) else {
            continue;
        };
        assert_eq!(sampler.processors(), 1);
        collect(&mut sampler, 20, |sample| sample.cpu == 0);
        online("0-1\n");
        sampler.follow_processors();
        assert_eq!(sampler.processors(), 2);
        collect(&mut sampler, 20, |sample| sample.cpu == 1);
        collect(&mut sampler, 20, |sample| sample.cpu == 0);
        if scope == Scope::Machine {
            online("1\n");
            sampler.follow_processors();
            assert_eq!(sampler.processors(), 1);
            sampler.drain(&mut |_| {});
            let samples = collect(&mut sampler, 20, |_| true);
            assert!(samples.iter().all(|sample| sample.cpu == 1));
        }
    }
}

#[test]
fn what_cannot_be_is_refused_with_a_reason() {
    let bad = |change: fn(&mut SamplerOptions)| {
        let mut options = options(Scope::Machine);
        change(&mut options);
        Sampler::open(&options).map(drop).unwrap_err()
    };
    assert!(matches!(bad(|o| o.hz = 0), PerfError::Options(_)));
    assert!(matches!(bad(|o| o.hz = 1 << 20), PerfError::Options(_)));
    assert!(matches!(bad(|o| o.stack_bytes = 12), PerfError::Options(_)));
    assert!(matches!(
        bad(|o| o.stack_bytes = 64 << 10),
        PerfError::Options(_)
    ));
    let nobody = Sampler::open(&options(Scope::Process(u32::MAX >> 1))).map(drop);
    match nobody.unwrap_err() {
        PerfError::NoProcess(pid) => assert_eq!(pid, u32::MAX >> 1),
        error => panic!("{error}"),
    }
}
