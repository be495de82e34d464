//! Bringing the BPF object into the kernel.

use std::io::Read;
use std::os::unix::fs::MetadataExt;

use aya::maps::{Map, MapData, MapError, RingBuf};
use aya::programs::tp_btf::BtfTracePointLinkId;
use aya::programs::{BtfTracePoint, Iter, ProgramError};
use aya::{Btf, BtfError, Ebpf, EbpfLoader};

use super::error::classify;
use super::wire::{SAMPLE_HEADER_BYTES, STACK_BYTES_MAX, STACK_STEP_BYTES, WINDOWS_PER_SECOND};
use super::{WaitError, WaitOptions};
#[cfg(target_arch = "x86_64")]
use crate::{bpf_objects::object, kernel_types::with_types};

/// The ring holds a quarter of a second of samples, within these.
const RING_BYTES_MIN: u64 = 256 << 10;
const RING_BYTES_MAX: u64 = 8 << 20;

/// Inode of the first pid namespace (`PROC_PID_INIT_INO`, include/linux/proc_ns.h).
const PID_NAMESPACE_INIT_INO: u64 = 0xEFFF_FFFC;

pub(super) const ON_SWITCH: &str = "on_switch";
pub(super) const ON_CONTENTION_BEGIN: &str = "on_contention_begin";
pub(super) const ON_CONTENTION_END: &str = "on_contention_end";
const BEFORE: &str = "before";

/// A loaded object, not attached yet.
pub(super) struct Loaded {
    pub ebpf: Ebpf,
    pub ring: RingBuf<MapData>,
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn load(_: &WaitOptions) -> Result<Loaded, WaitError> {
    Err(WaitError::Unsupported)
}

#[cfg(target_arch = "x86_64")]
pub(super) fn load(options: &WaitOptions) -> Result<Loaded, WaitError> {
    check_process(options.pid)?;
    with_types(|btf| {
        let btf = btf.map_err(|_| WaitError::KernelLacks {
            what: "type information (/sys/kernel/btf/vmlinux)",
            needs: "it needs CONFIG_DEBUG_INFO_BTF, which distributions set from about 5.10 on",
        })?;
        load_with(options, btf)
    })
}

#[cfg(target_arch = "x86_64")]
fn load_with(options: &WaitOptions, btf: &Btf) -> Result<Loaded, WaitError> {
    let stack_bytes = stack_bytes(options.stack_bytes);
    let mut loader = EbpfLoader::new();
    let samples = u64::from(options.stacks_per_second_max).div_ceil(WINDOWS_PER_SECOND);
    let waits = options.events_per_second_max.div_ceil(WINDOWS_PER_SECOND);
    loader
        .btf(Some(btf))
        .override_global("target", &options.pid, true)
        .override_global("stack_bytes", &stack_bytes, true)
        .override_global("waits_per_window", &waits, true)
        .override_global("samples_per_window", &samples, true)
        .map_max_entries("events", ring_bytes(samples, stack_bytes));
    if !options.kernel_locks {
        // Megabytes that nothing would use.
        for map in [
            "kernel_waits",
            "kernel_paths",
            "kernel_stacks",
            "spin_stacks",
        ] {
            loader.map_max_entries(map, 1);
        }
    }
    let mut ebpf = loader
        .load(&object("lock_waits.bpf.o"))
        .map_err(|e| classify("creating BPF maps", &e))?;

    load_tracepoint(&mut ebpf, ON_SWITCH, "sched_switch", btf)?;
    load_iterator(&mut ebpf, btf)?;
    if options.kernel_locks {
        load_tracepoint(&mut ebpf, ON_CONTENTION_BEGIN, "contention_begin", btf)?;
        load_tracepoint(&mut ebpf, ON_CONTENTION_END, "contention_end", btf)?;
    }
    let ring = take_map(&mut ebpf, "events")?;
    Ok(Loaded { ebpf, ring })
}

fn missing(what: &'static str) -> WaitError {
    WaitError::Failed {
        what: "reading the BPF object",
        reason: format!("it has no {what}"),
    }
}

fn load_tracepoint(
    ebpf: &mut Ebpf,
    program: &'static str,
    tracepoint: &'static str,
    btf: &Btf,
) -> Result<(), WaitError> {
    tracepoint_program(ebpf, program)?
        .load(tracepoint, btf)
        .map_err(|e| match e {
            ProgramError::Btf(BtfError::UnknownBtfTypeName { .. }) => WaitError::KernelLacks {
                what: tracepoint,
                needs: "contention_begin needs Linux 5.19; futex waits can be counted without it",
            },
            e => classify("loading BPF programs", &e),
        })
}

fn tracepoint_program<'e>(
    ebpf: &'e mut Ebpf,
    program: &'static str,
) -> Result<&'e mut BtfTracePoint, WaitError> {
    ebpf.program_mut(program)
        .and_then(|p| p.try_into().ok())
        .ok_or_else(|| missing(program))
}

fn load_iterator(ebpf: &mut Ebpf, btf: &Btf) -> Result<(), WaitError> {
    iterator(ebpf)?
        .load("task", btf)
        .map_err(|e| classify("loading BPF programs", &e))
}

fn iterator(ebpf: &mut Ebpf) -> Result<&mut Iter, WaitError> {
    ebpf.program_mut(BEFORE)
        .and_then(|p| p.try_into().ok())
        .ok_or_else(|| missing(BEFORE))
}

/// Attaches a tracepoint's program. The link is a file descriptor that goes with this process.
pub(super) fn attach(
    ebpf: &mut Ebpf,
    program: &'static str,
) -> Result<BtfTracePointLinkId, WaitError> {
    tracepoint_program(ebpf, program)?
        .attach()
        .map_err(|e| classify("attaching to a tracepoint", &e))
}

/// Detaches it; one that is gone already is as good.
pub(super) fn detach(ebpf: &mut Ebpf, program: &'static str, link: BtfTracePointLinkId) {
    if let Ok(program) = tracepoint_program(ebpf, program) {
        let _gone = program.detach(link);
    }
}

/// Runs the pass over all tasks that finds those asleep already.
pub(super) fn note_sleepers(ebpf: &mut Ebpf) -> Result<(), WaitError> {
    let what = "iterating over tasks";
    let program = iterator(ebpf)?;
    let link = program.attach().map_err(|e| classify(what, &e))?;
    let link = program.take_link(link).map_err(|e| classify(what, &e))?;
    let mut file = link.into_file().map_err(|e| classify(what, &e))?;
    // The program writes nothing: one read is the whole pass.
    let mut nothing = Vec::new();
    file.read_to_end(&mut nothing)
        .map_err(|e| classify(what, &e))?;
    Ok(())
}

/// Takes a map out of the object.
pub(super) fn take_map<M: TryFrom<Map, Error = MapError>>(
    ebpf: &mut Ebpf,
    name: &'static str,
) -> Result<M, WaitError> {
    ebpf.take_map(name)
        .ok_or_else(|| missing(name))
        .and_then(|m| M::try_from(m).map_err(|e| classify("reading BPF maps", &e)))
}

fn check_process(pid: u32) -> Result<(), WaitError> {
    let own = std::fs::metadata("/proc/self/ns/pid");
    if own.is_ok_and(|m| m.ino() != PID_NAMESPACE_INIT_INO) {
        return Err(WaitError::PidNamespace);
    }
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let leader = status
        .lines()
        .find_map(|l| l.strip_prefix("Tgid:"))
        .and_then(|v| v.trim().parse().ok());
    if leader == Some(pid) {
        Ok(())
    } else {
        Err(WaitError::NoProcess { pid })
    }
}

fn stack_bytes(asked: u32) -> u32 {
    (asked / STACK_STEP_BYTES * STACK_STEP_BYTES).clamp(STACK_STEP_BYTES, STACK_BYTES_MAX)
}

/// A ring's size is a power of two (and of pages, which the minimum sees to).
fn ring_bytes(samples_per_window: u64, stack_bytes: u32) -> u32 {
    let sample = SAMPLE_HEADER_BYTES as u64 + u64::from(stack_bytes);
    let quarter = samples_per_window
        .saturating_mul(WINDOWS_PER_SECOND)
        .saturating_mul(sample)
        / 4;
    quarter
        .clamp(RING_BYTES_MIN, RING_BYTES_MAX)
        .next_power_of_two() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_stay_within_what_the_object_can_do() {
        assert_eq!(stack_bytes(0), 512);
        assert_eq!(stack_bytes(5000), 4608);
        assert_eq!(stack_bytes(u32::MAX), STACK_BYTES_MAX);
        assert_eq!(u64::from(ring_bytes(0, 512)), RING_BYTES_MIN);
        assert_eq!(ring_bytes(200, 8192), 4 << 20);
        assert_eq!(u64::from(ring_bytes(u64::MAX, 8192)), RING_BYTES_MAX);
    }

    #[test]
    fn a_thread_and_an_absent_process_are_no_process() {
        assert!(matches!(
            check_process(u32::MAX),
            Err(WaitError::NoProcess { .. } | WaitError::PidNamespace)
        ));
    }
}
