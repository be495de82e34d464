//! Stacks by the BPF program `bpf/threads.bpf.c`, a sleepable iterator over the threads of a process.

use super::futex::FUTEX_SYSCALL;
use super::task_files::{TaskFiles, is_gone};
use super::{OpenError, Pass, STACK_BYTES_MAX, SnapshotError, SnapshotOptions, Taken};
use super::{bpf_link, record, refusal};
use crate::bpf_objects;
use crate::kernel_types::with_types;
use aya::maps::{Array, HashMap, MapData};
use aya::programs::Iter;
use aya::{Btf, EbpfLoader};
use rustix::fd::OwnedFd;
use rustix::io::{Errno, read, retry_on_intr};
use std::collections::HashSet;
use std::error::Error;
use std::io;
use std::time::Duration;

const PROGRAM: &str = "threads";
/// The kernel fills at most this much at once (kernel/bpf/bpf_iter.c, `bpf_seq_read`), whole records only.
const READ_BYTES: usize = 32 << 10;
/// A map of the kernel's for a few threads costs as much as one for these.
const MAP_ENTRIES_MIN: usize = 1024;

// `flags` of `Control`.
const REUSE: u32 = 1;
const KERNEL_STACKS: u32 = 2;
const ONLY_WANTED: u32 = 4;

/// `struct control` of the program.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Control {
    generation: u64,
    generation_first: u64,
    deadline_ns: u64,
    leader_start_ns: u64,
    pid: u32,
    flags: u32,
    stack_bytes_max: u32,
    threads_max: u32,
    emitted: u32,
    left_out: u32,
    last_tid: u32,
    futex_syscall: u32,
}

// SAFETY: `repr(C)`, only integers, and no padding: four of 8 bytes, then eight of 4.
#[expect(unsafe_code, reason = "the map's value goes to the kernel as bytes")]
unsafe impl aya::Pod for Control {}

/// The way itself: a program of its own, so that two do not disturb each other.
pub(super) struct BpfThreads {
    /// Iterates over the process's threads; before 6.1 over all tasks of the host.
    link: OwnedFd,
    /// Iterates over all tasks.
    link_all: OwnedFd,
    control: Array<MapData, Control>,
    wanted: HashMap<MapData, u32, u32>,
    files: TaskFiles,
    settings: Control,
}

impl BpfThreads {
    pub(super) fn open(pid: u32, options: &SnapshotOptions) -> Result<Self, OpenError> {
        let files = TaskFiles::open(pid).map_err(|e| {
            if is_gone(e) {
                OpenError::Gone
            } else {
                OpenError::Refused(refusal::proc(e, "/proc/PID/task", pid))
            }
        })?;
        let mut way = load(pid, options, files)?;
        // The first thread, without its stack: the way from the program to here is open.
        let trial = Pass {
            pid,
            wanted: Some(&[pid]),
            reuse: false,
            deadline: Duration::ZERO,
            bytes_expected: 0,
        };
        let mut starts = Vec::new();
        match way.read_all(&trial, &mut starts) {
            Ok(_) => {}
            Err(SnapshotError::Gone { .. }) => return Err(OpenError::Gone),
            Err(e) => return Err(refused("read the BPF iterator", &e)),
        }
        match starts.first() {
            Some(&(_, start_ns)) => way.settings.leader_start_ns = start_ns,
            None => {
                let reason =
                    "the BPF program cannot see the process: its pid namespace is not below ours";
                return Err(OpenError::Refused(reason.to_owned()));
            }
        }
        Ok(way)
    }

    pub(super) fn pass(&mut self, pass: &Pass<'_>) -> Result<Taken, SnapshotError> {
        let taken = self.read_all(pass, &mut Vec::new());
        if taken.is_err() {
            // The program may remember stacks that nobody got.
            self.settings.generation_first = self.settings.generation + 1;
        }
        taken
    }

    /// Also tells when each thread began.
    fn read_all(
        &mut self,
        pass: &Pass<'_>,
        starts: &mut Vec<(u32, u64)>,
    ) -> Result<Taken, SnapshotError> {
        let mut control = Control {
            generation: self.settings.generation + 1,
            deadline_ns: u64::try_from(pass.deadline.as_nanos()).unwrap_or(u64::MAX),
            ..self.settings
        };
        self.settings.generation = control.generation;
        if pass.reuse {
            control.flags |= REUSE;
        }
        let mut taken = pass.nothing_taken();
        if let Some(wanted) = pass.wanted {
            control.flags |= ONLY_WANTED;
            self.iterate(false, control, Some(wanted), &mut taken, starts)?;
        } else {
            self.iterate(false, control, None, &mut taken, starts)?;
        }

        let count = taken.threads.len();
        if pass.wanted.is_none() && count > 0 && self.files.threads() == Ok(count) {
            return Ok(taken);
        }
        // When the thread that the kernel is at ends while the program looks at it, the kernel takes it for the last one
        // (kernel/bpf/task_iter.c, `task_group_seq_get_next`). An iterator over all tasks does not have this defect.
        let listed = self
            .files
            .list()
            .map_err(|e| SnapshotError::system("/proc/PID/task", e))?;
        if listed.is_empty() {
            return Err(SnapshotError::Gone { pid: pass.pid });
        }
        let limited = taken.left_out > 0;
        let seen: HashSet<u32> = taken.threads.iter().map(|thread| thread.tid).collect();
        let missing: Vec<u32> = listed
            .into_iter()
            .filter(|tid| !seen.contains(tid))
            .filter(|tid| pass.wanted.is_none_or(|wanted| wanted.contains(tid)))
            .collect();
        if !missing.is_empty() && !limited {
            let before = taken.threads.len();
            control.threads_max = control
                .threads_max
                .saturating_sub(u32::try_from(before).unwrap_or(u32::MAX));
            control.flags |= ONLY_WANTED;
            self.iterate(true, control, Some(&missing), &mut taken, starts)?;
            let gone = (before + missing.len()).saturating_sub(taken.threads.len());
            taken.left_out = u32::try_from(gone).unwrap_or(u32::MAX);
        }
        Ok(taken)
    }

    fn iterate(
        &mut self,
        all_tasks: bool,
        control: Control,
        wanted: Option<&[u32]>,
        taken: &mut Taken,
        starts: &mut Vec<(u32, u64)>,
    ) -> Result<(), SnapshotError> {
        let wanted = wanted.unwrap_or_default();
        let mut put_in = 0;
        for tid in wanted {
            // More than the map holds: as many as it does.
            if self.wanted.insert(tid, 1, 0).is_err() {
                break;
            }
            put_in += 1;
        }
        taken.left_out += u32::try_from(wanted.len() - put_in).unwrap_or(u32::MAX);
        let result = self.iterate_wanted(all_tasks, control, taken, starts);
        for tid in wanted.iter().take(put_in) {
            // Fails only when it is named twice and so already out.
            let _ = self.wanted.remove(tid);
        }
        result
    }

    fn iterate_wanted(
        &mut self,
        all_tasks: bool,
        control: Control,
        taken: &mut Taken,
        starts: &mut Vec<(u32, u64)>,
    ) -> Result<(), SnapshotError> {
        let map = |e: aya::maps::MapError| SnapshotError::system("BPF map", io::Error::other(e));
        self.control.set(0, control, 0).map_err(map)?;
        let link = if all_tasks {
            &self.link_all
        } else {
            &self.link
        };
        let pass =
            bpf_link::begin(link).map_err(|e| SnapshotError::system("BPF_ITER_CREATE", e))?;
        let mut at = taken.bytes.len();
        loop {
            let read = fill(&pass, &mut taken.bytes)
                .map_err(|e| SnapshotError::system("read the BPF iterator", e))?;
            if read == 0 {
                break;
            }
            while at < taken.bytes.len() {
                let record = record::read(&taken.bytes, at).ok_or(SnapshotError::Record)?;
                at = record.end;
                starts.push((record.thread.tid, record.start_ns));
                taken.threads.push(record.thread);
            }
        }
        taken.left_out += self.control.get(&0, 0).map_err(map)?.left_out;
        Ok(())
    }
}

/// One read behind what is there already.
fn fill(pass: &OwnedFd, bytes: &mut Vec<u8>) -> Result<usize, Errno> {
    bytes.reserve(READ_BYTES);
    loop {
        match retry_on_intr(|| read(pass, rustix::buffer::spare_capacity(bytes))) {
            // After a million tasks that the program had nothing to say of.
            Err(Errno::AGAIN) => {}
            result => return result,
        }
    }
}

fn load(pid: u32, options: &SnapshotOptions, files: TaskFiles) -> Result<BpfThreads, OpenError> {
    with_types(|btf| {
        let btf = btf.map_err(|e| refused("types of the kernel", &e))?;
        load_with(pid, options, files, btf)
    })
}

fn load_with(
    pid: u32,
    options: &SnapshotOptions,
    files: TaskFiles,
    btf: &Btf,
) -> Result<BpfThreads, OpenError> {
    let threads_max = u32::try_from(options.threads_max).unwrap_or(u32::MAX);
    let entries = threads_max.max(MAP_ENTRIES_MIN as u32);
    let mut object = EbpfLoader::new()
        .btf(Some(btf))
        // Twice, because those of threads that have ended stay until their room is needed.
        .map_max_entries("given", entries.saturating_mul(2))
        .map_max_entries("wanted", entries)
        .load(&bpf_objects::object("threads.bpf.o"))
        .map_err(|e| refused("load the BPF object", &e))?;
    let control = object.take_map("control").ok_or_else(missing)?;
    let control = Array::try_from(control).map_err(|e| refused("BPF map", &e))?;
    let wanted = object.take_map("wanted").ok_or_else(missing)?;
    let wanted = HashMap::try_from(wanted).map_err(|e| refused("BPF map", &e))?;

    let program: &mut Iter = object
        .program_mut(PROGRAM)
        .ok_or_else(missing)?
        .try_into()
        .map_err(|e| refused("BPF program", &e))?;
    program
        .load("task", btf)
        .map_err(|e| refused("load the BPF program", &e))?;
    // The links keep the program, and the program its maps: nothing else of the object is needed any more.
    let program = program.fd().map_err(|e| refused("BPF program", &e))?;
    let link_all =
        bpf_link::link(program, None).map_err(|e| refused("link the BPF iterator", &e))?;
    let link = match bpf_link::link(program, Some(pid)) {
        Ok(link) => link,
        Err(e) if e.raw_os_error() == Some(libc::ESRCH) => return Err(OpenError::Gone),
        // An old kernel; the program looks at the process id itself.
        Err(_) => {
            bpf_link::link(program, None).map_err(|e| refused("link the BPF iterator", &e))?
        }
    };
    let stack_bytes_max = options.stack_bytes_max.min(STACK_BYTES_MAX);
    Ok(BpfThreads {
        link,
        link_all,
        control,
        wanted,
        files,
        settings: Control {
            pid,
            flags: if options.kernel_stacks {
                KERNEL_STACKS
            } else {
                0
            },
            stack_bytes_max: stack_bytes_max as u32,
            threads_max,
            futex_syscall: FUTEX_SYSCALL as u32,
            ..Control::default()
        },
    })
}

fn refused(what: &str, error: &(dyn Error + 'static)) -> OpenError {
    OpenError::Refused(refusal::bpf(what, error))
}

fn missing() -> OpenError {
    OpenError::Refused("the embedded BPF object lacks a part".to_owned())
}
