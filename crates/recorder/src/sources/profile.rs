//! What the processors run: a low rate always, a higher one in a burst.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use kernel::perf::{PerfError, RawSample, Sampler, SamplerOptions, Scope, ring_bytes_for};
use kernel::roots::ProcRoot;
use model::{Absent, Millis, Reading, Reason, SourceData, Unit};
use stacks::{Sampled, Watch};

use super::{Outcome, Reader, State, signals};
use crate::clock::RecorderClock;
use crate::context::Context;
use crate::stacks::{ProfileSample, StackWatch};
use crate::target::Shared;

/// Samples a second of one processor: in calm, in a burst.
const CALM_HZ: u32 = 49;
const BURST_HZ: u32 = 99;

/// Samples a second of all processors together, so that a machine with hundreds of them pays no
/// more than one with four: in calm, in a burst.
const CALM_SAMPLES_MAX: u32 = 200;
const BURST_SAMPLES_MAX: u32 = 2000;

/// User stack copied with a sample. Of a server under load 5 % of the stacks are deeper than
/// 16 KiB and none was deeper than 28.
const STACK_BYTES: u32 = 32 * 1024 - 8;

/// How often the rings are emptied, milliseconds.
const DRAIN_EVERY_MS: Millis = 250;

/// Names of threads that are remembered at the most; then they are read anew.
const NAMES_MAX: usize = 8192;

/// Pause after the sampler could not be opened, milliseconds.
const RETRY_MS: Millis = 30_000;

/// Pause between attempts to read a server's memory map, milliseconds: a refused one is not asked
/// at every drain, and a new server is there soon enough.
const LOOK_AGAIN_MS: Millis = 5000;

/// How often readings are given, milliseconds.
const TELL_EVERY_MS: Millis = 1000;

/// What the thread for the profile remembers.
pub(crate) struct ProfileState {
    shared: Arc<Shared>,
    watch: Arc<StackWatch>,
    clock: RecorderClock,
    sampler: Option<(Sampler, Option<u32>)>,
    server: Option<Watch>,
    hz: u32,
    names: HashMap<u32, Arc<str>>,
    refused: Option<(Absent, Millis)>,
    look_again: Millis,
    drained: Millis,
    told: Millis,
    samples: u64,
    complete: u64,
    lost: u64,
    /// Samples of the recorder itself, which are in no profile.
    own: u64,
}

impl State for ProfileState {
    const THREAD: &'static str = "ff-profile";

    fn new(context: &Context) -> Self {
        Self {
            shared: context.shared.clone(),
            watch: context.stacks.clone(),
            clock: context.clock.clone(),
            sampler: None,
            server: None,
            hz: 0,
            names: HashMap::new(),
            refused: None,
            look_again: 0,
            drained: 0,
            told: 0,
            samples: 0,
            complete: 0,
            lost: 0,
            own: 0,
        }
    }

    /// Whether the rings are to be emptied before the source's second.
    fn wants_now(&self, _: &str) -> bool {
        self.sampler.is_some() && self.clock.now() >= self.drained + DRAIN_EVERY_MS
    }
}

impl ProfileState {
    fn open(&mut self, pid: Option<u32>) -> Result<Vec<Absent>, Absent> {
        let now = self.clock.now();
        if let Some((absent, until)) = &self.refused
            && now < *until
        {
            return Err(absent.clone());
        }
        let refused =
            |error: &PerfError| Absent::new("profile", Reason::Permission, error.to_string());
        let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
        match started(Scope::Machine, processors) {
            Ok(sampler) => {
                self.hz = sampler.hz();
                self.sampler = Some((sampler, None));
                Ok(Vec::new())
            }
            Err(error) => {
                let absent = refused(&error);
                // The server's own threads can be sampled with less permission.
                let own = pid.and_then(|pid| {
                    started(Scope::Process(pid), 1)
                        .ok()
                        .map(|sampler| (sampler, pid))
                });
                if let Some((sampler, pid)) = own {
                    self.hz = sampler.hz();
                    self.sampler = Some((sampler, Some(pid)));
                    let what = "profile of the machine, kernel side";
                    return Ok(vec![Absent::new(what, absent.reason, absent.detail)]);
                }
                self.refused = Some((absent.clone(), now + RETRY_MS));
                Err(absent)
            }
        }
    }

    /// Turns to a server's process; without its images there are the kernel's parts only.
    fn look_at(&mut self, pid: Option<u32>) {
        let now = self.clock.now();
        if self.server.as_ref().map(Watch::pid) != pid && now >= self.look_again {
            self.names.clear();
            self.look_again = now + LOOK_AGAIN_MS;
            self.server = pid
                .and_then(|pid| Watch::open(pid, &self.watch.images, self.watch.book.clone()).ok());
        }
    }

    fn name(&mut self, pid: u32, tid: u32) -> Arc<str> {
        if let Some(name) = self.names.get(&tid) {
            return name.clone();
        }
        if self.names.len() >= NAMES_MAX {
            self.names.clear();
        }
        let name = kernel::tasks::thread_name(&ProcRoot::default(), pid, tid)
            .map_or_else(|| model::ENDED_THREAD.into(), Arc::<str>::from);
        self.names.insert(tid, name.clone());
        name
    }
}

fn started(scope: Scope, processors: u32) -> Result<Sampler, PerfError> {
    let mut sampler = Sampler::open(&options(scope, processors))?;
    sampler.enable()?;
    Ok(sampler)
}

fn options(scope: Scope, processors: u32) -> SamplerOptions {
    let hz = rate(BURST_HZ, BURST_SAMPLES_MAX, processors);
    SamplerOptions {
        scope,
        hz: rate(CALM_HZ, CALM_SAMPLES_MAX, processors),
        stack_bytes: STACK_BYTES,
        kernel: true,
        user_stacks: true,
        ring_bytes: ring_bytes_for(hz, STACK_BYTES, Duration::from_millis(DRAIN_EVERY_MS)),
    }
}

fn rate(hz: u32, samples_max: u32, processors: u32) -> u32 {
    hz.min(samples_max / processors.max(1)).max(1)
}

#[rustfmt::skip]
pub(crate) static PROFILE: Reader<ProfileState> = Reader {
    source: "profile",
    signals: &[
        signals(&["profile.samples", "profile.complete", "profile.lost", "profile.own"], "c", "samples; with a complete stack; lost; of the recorder itself (in nothing else)"),
    ],
    read: profile,
};

/// Empties the rings; once a second there are readings.
fn profile(state: &mut ProfileState) -> Outcome {
    let now = state.clock.now();
    let pid = state.shared.process().map(|process| process.pid);
    let mut absent = Vec::new();
    // A sampler of one process ends with it.
    if state
        .sampler
        .as_ref()
        .is_some_and(|(_, of)| of.is_some() && *of != pid)
    {
        state.sampler = None;
    }
    if state.sampler.is_none() {
        absent = state.open(pid)?;
    }
    let Some((mut sampler, of)) = state.sampler.take() else {
        return Ok(SourceData::default());
    };
    let wanted = if state.watch.in_burst(now) {
        rate(BURST_HZ, BURST_SAMPLES_MAX, sampler.processors())
    } else {
        rate(CALM_HZ, CALM_SAMPLES_MAX, sampler.processors())
    };
    let before = (state.hz, sampler.processors());
    let mut samples: Vec<ProfileSample> = Vec::new();
    state.look_at(pid);
    let watch = state.watch.clone();
    let _adding = watch
        .sweeping
        .read()
        .unwrap_or_else(PoisonError::into_inner);
    let book = state.watch.book.clone();
    let server = &mut state.server;
    let recorder = std::process::id();
    let mut by_recorder = 0;
    let drained = sampler.drain(&mut |sample: &RawSample<'_>| {
        // Who looks is no part of what is looked at.
        if sample.pid == recorder {
            by_recorder += 1;
            return;
        }
        let own = server.as_mut().filter(|watch| watch.pid() == sample.pid);
        let is_server = own.is_some();
        let sampled = own.map_or_else(
            || Sampled {
                stack: stacks::kernel_part(&book, sample),
                complete: true,
            },
            |watch| watch.sample(sample),
        );
        samples.push(ProfileSample {
            pid: sample.pid,
            tid: sample.tid,
            server: is_server,
            stack: sampled.stack,
            complete: sampled.complete,
        });
    });
    if wanted != state.hz && sampler.set_hz(wanted).is_ok() {
        state.hz = wanted;
    }
    state.sampler = Some((sampler, of));
    state.drained = now;
    state.own += by_recorder;
    for sample in &samples {
        let name = state.name(sample.pid, sample.tid);
        state.samples += 1;
        state.complete += u64::from(sample.complete);
        state.watch.count(now, before, sample, name);
    }
    state.lost += drained.lost;
    state.watch.profiled(now, before, drained.lost);
    if now < state.told + TELL_EVERY_MS && absent.is_empty() {
        return Ok(SourceData::default());
    }
    state.told = now;
    let counter =
        |name: &'static str, value: u64| Reading::counter(name, Unit::Count, value as f64);
    Ok(SourceData {
        readings: vec![
            counter("profile.samples", state.samples),
            counter("profile.complete", state.complete),
            counter("profile.lost", state.lost),
            counter("profile.own", state.own),
        ],
        absent,
        ..SourceData::default()
    })
}
