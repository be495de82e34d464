//! What a sampler opens, it closes. Alone in its program: other tests open files, too.

#![allow(clippy::print_stderr, reason = "tests tell what they skip or measure")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod processor_victim;

use kernel::perf::{PerfError, Sampler, SamplerOptions, Scope};
use processor_victim::Victim;

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn mappings() -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    maps.matches("[perf_event]").count()
}

#[test]
fn nothing_stays_open() {
    let victim = Victim::start("spin", 5);
    for scope in [Scope::Machine, Scope::Process(victim.pid())] {
        let before = descriptors();
        let options = SamplerOptions {
            scope,
            hz: 99,
            stack_bytes: 16 << 10,
            kernel: true,
            user_stacks: true,
            // More than may be locked by an ordinary user: refused at first, then smaller.
            ring_bytes: 16 << 20,
        };
        match Sampler::open(&options) {
            Ok(mut sampler) => {
                sampler.enable().unwrap();
                let rings = sampler.processors() as usize;
                assert_eq!(mappings(), rings);
                assert!(descriptors() >= before + rings);
                sampler.set_hz(49).unwrap();
                assert_eq!(mappings(), rings);
                eprintln!(
                    "{scope:?}: {} descriptors, {rings} rings of {} bytes",
                    descriptors() - before,
                    sampler.ring_bytes()
                );
            }
            Err(error @ PerfError::Refused { .. }) => eprintln!("skipped: {error}"),
            Err(error) => panic!("{error}"),
        }
        assert_eq!(descriptors(), before);
        assert_eq!(mappings(), 0);
    }
}
