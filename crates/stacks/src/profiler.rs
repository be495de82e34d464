//! A profile of the processors, of the whole machine or of one process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use kernel::perf::{PerfError, RawSample, Sampler, SamplerOptions, Scope, ring_bytes_for};
use kernel::roots::ProcRoot;
use kernel::tasks::thread_name;
use model::{FrameSide, Millis, Profile, ProfileCount, StackFrame, StackId, StackTable};

use crate::images::Images;
use crate::names::Namer;
use crate::naming::RawStacks;
use crate::raw_stack_table::{RawStackId, RawStackTable};
use crate::watch::{Watch, kernel_part, lock};

/// User stack copied with a sample: of a server under load 5 % of the stacks are deeper than 16 KiB.
const STACK_BYTES: u32 = 48 * 1024;

/// How often the rings are emptied.
const DRAIN_EVERY: Duration = Duration::from_millis(200);

/// Distinct stacks of a profile.
const STACKS_MAX: usize = 500_000;

/// Processes whose user side is unwound; of others there is the kernel's part and the name.
const PROCESSES_MAX: usize = 256;

/// What is profiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// Everything that runs.
    Machine,
    /// One process.
    Process(u32),
}

/// Takes a profile.
pub struct Profiler {
    sampler: Sampler,
    subject: Subject,
    server: Option<u32>,
    images: Images,
    book: Arc<Mutex<RawStackTable>>,
    watches: HashMap<u32, Option<Watch>>,
    names: HashMap<u32, Arc<str>>,
    counts: HashMap<(RawStackId, Arc<str>, bool, bool), u64>,
    begin: Instant,
    hz: u32,
    lost: u64,
    samples: u64,
}

/// A profile with its stacks.
#[derive(Debug)]
pub struct Profiled {
    /// The samples.
    pub profile: Profile,
    /// Their stacks.
    pub book: StackTable,
    /// Build ids of the images, by file name.
    pub build_ids: HashMap<String, String>,
}

impl Profiler {
    /// Begins. `server` is the process whose samples are marked as the server's.
    pub fn open(subject: Subject, server: Option<u32>, hz: u32) -> Result<Self, PerfError> {
        let options = |scope| SamplerOptions {
            scope,
            hz,
            stack_bytes: STACK_BYTES,
            kernel: true,
            user_stacks: true,
            ring_bytes: ring_bytes_for(hz, STACK_BYTES, DRAIN_EVERY),
        };
        let mut sampler = match (Sampler::open(&options(Scope::Machine)), subject) {
            (Ok(sampler), _) => sampler,
            // The process's own threads need less permission.
            (Err(_), Subject::Process(pid)) => Sampler::open(&options(Scope::Process(pid)))?,
            (Err(error), Subject::Machine) => return Err(error),
        };
        sampler.enable()?;
        Ok(Self {
            sampler,
            subject,
            server,
            images: Images::new(),
            book: Arc::new(Mutex::new(RawStackTable::new(STACKS_MAX))),
            watches: HashMap::new(),
            names: HashMap::new(),
            counts: HashMap::new(),
            begin: Instant::now(),
            hz,
            lost: 0,
            samples: 0,
        })
    }

    /// What tells the time of a sample: `cycles`, or `cpu-clock` on machines without such counters.
    pub fn clock_name(&self) -> &'static str {
        self.sampler.clock_name()
    }

    /// Whether the kernel's side is seen.
    pub fn sees_kernel(&self) -> bool {
        self.sampler.sees_kernel()
    }

    /// Samples until `goes_on` says no; it is told how many there are, several times a second.
    pub fn run(&mut self, mut goes_on: impl FnMut(u64) -> bool) {
        while goes_on(self.samples) {
            std::thread::sleep(DRAIN_EVERY);
            self.drain();
        }
    }

    fn drain(&mut self) {
        let (subject, server, book, images) = (self.subject, self.server, &self.book, &self.images);
        let (watches, names, counts) = (&mut self.watches, &mut self.names, &mut self.counts);
        let drained = self.sampler.drain(&mut |sample: &RawSample<'_>| {
            if let Subject::Process(pid) = subject
                && sample.pid != pid
            {
                return;
            }
            let watch = watch_of(watches, sample, images, book);
            // What of a process is not unwound stands under its name.
            let (stack, whole) = match watch {
                Some(watch) => (watch.sample(sample).stack, true),
                None => (
                    kernel_part(book, sample),
                    sample.registers.is_none() && sample.pid == 0,
                ),
            };
            let name = names
                .entry(sample.tid)
                .or_insert_with(|| name_of(sample))
                .clone();
            let is_server = server == Some(sample.pid);
            *counts.entry((stack, name, is_server, whole)).or_default() += 1;
            self.samples += 1;
        });
        self.lost += drained.lost;
    }

    /// Ends and names everything. Reads symbol tables.
    pub fn finish(mut self) -> Profiled {
        let to = self.begin.elapsed().as_millis() as Millis;
        let _ = self.sampler.disable();
        self.drain();
        let ids = self.counts.keys().map(|(stack, ..)| *stack).collect();
        let stacks = RawStacks::copy(&lock(&self.book), &ids);
        let mut book = StackTable::default();
        let numbers = stacks.name(&mut Namer::new(&self.images), &mut book);
        let mut counts: HashMap<(StackId, Arc<str>, bool), u64> = HashMap::new();
        for ((stack, thread, server, whole), count) in self.counts {
            let stack = if whole {
                numbers.get(stack)
            } else {
                under_its_program(numbers.get(stack), &thread, &mut book)
            };
            *counts.entry((stack, thread, server)).or_default() += count;
        }
        let mut counts: Vec<ProfileCount> = counts
            .into_iter()
            .map(|((stack, thread, server), count)| ProfileCount {
                stack,
                thread: thread.to_string(),
                server,
                count,
            })
            .collect();
        counts.sort_by_key(|row| (std::cmp::Reverse(row.count), row.stack));
        Profiled {
            profile: Profile {
                from: 0,
                to,
                hz: self.hz,
                // How busy the machine was is not known from one process.
                processors: match self.subject {
                    Subject::Machine => self.sampler.processors(),
                    Subject::Process(_) => 1,
                },
                counts,
                lost: self.lost,
            },
            book,
            build_ids: self.images.build_ids(),
        }
    }
}

/// The watch of a sample's process; none for threads of the kernel and what cannot be read.
fn watch_of<'a>(
    watches: &'a mut HashMap<u32, Option<Watch>>,
    sample: &RawSample<'_>,
    images: &Images,
    book: &Arc<Mutex<RawStackTable>>,
) -> Option<&'a mut Watch> {
    sample.registers?;
    if !watches.contains_key(&sample.pid) && watches.len() >= PROCESSES_MAX {
        return None;
    }
    watches
        .entry(sample.pid)
        .or_insert_with(|| Watch::open(sample.pid, images, book.clone()).ok())
        .as_mut()
}

fn name_of(sample: &RawSample<'_>) -> Arc<str> {
    thread_name(&ProcRoot::default(), sample.pid, sample.tid)
        .map_or_else(|| model::ENDED_THREAD.into(), Arc::from)
}

/// A stack of which only the kernel's part is there, with its program as one frame below it.
pub fn under_its_program(stack: StackId, thread: &str, book: &mut StackTable) -> StackId {
    let program = book.frame_id(StackFrame {
        name: format!("({thread})"),
        image: thread.to_owned(),
        side: FrameSide::User,
        nameless: None,
    });
    let mut with_program = book.stack(stack).clone();
    with_program.frames.push(program);
    book.stack_id(with_program)
}
