//! What the processors ran.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{FrameId, FrameSide, Millis, ProfileCount, StackId, Window};

use super::{Arguments, Read};
use crate::evidence::Evidence;
use crate::human::Show;
use crate::measure::{Function, Kind, Limits, Measured, Seen, Sign, Taken, absent, known};
use crate::named;
use crate::names::NamePattern;
use crate::once::most;
use crate::profile_samples::Samples;
use crate::provenance::PROFILE;

pub(crate) static KIND: Kind = Kind {
    name: "profile",
    documentation: r"
**Profile**: samples of the stall together. `{each}` is the function that matched most. A large share cannot grow by `times_baseline`: half of what was left to 100 % is enough. An idle server has a profile too: put a witness or `only_if` beside it.

| | |
|---|---|
| `profile_share(…)`, `profile_cpus(…)` | share of samples; processors kept busy |
| `function` (needed) | the function, or one it was called by |
| `self`, `under`, `side` | innermost only; a caller; `kernel` or `user` |
| `machine` | samples of all, not of the server's threads only |
| `min_samples` | default 50 |
",
    taken: Taken::Stretches,
    each: Some("a function"),
    names: Some(named::Seen::Profile),
    functions: &[
        known("profile_share", Show::Percent, |from| {
            Profile::read(from, true)
        }),
        known("profile_cpus", Show::Count, |from| {
            Profile::read(from, false)
        }),
    ],
};

/// Samples that a profile must have where a file does not say it: a tenth of them is 5 ± 2.
const MIN_SAMPLES: u64 = 50;

#[derive(Debug)]
struct Profile {
    function: NamePattern,
    under: Option<NamePattern>,
    /// The function itself, not what it called.
    only_self: bool,
    side: Option<FrameSide>,
    /// Samples of the whole machine, not of the server only.
    machine: bool,
    /// Of the samples; else processors kept busy, on average.
    share: bool,
    min_samples: u64,
}

impl Profile {
    fn read(from: &mut Arguments, share: bool) -> Read<Arc<dyn Function>> {
        Ok(Arc::new(Self {
            function: from.needed("function")?,
            under: from.pattern("under")?,
            only_self: from.flag("self")?,
            side: from.word(
                "side",
                &[("kernel", FrameSide::Kernel), ("user", FrameSide::User)],
            )?,
            machine: from.flag("machine")?,
            share,
            min_samples: from.count("min_samples", MIN_SAMPLES)?.max(1),
        }))
    }

    fn named(&self, evidence: &Evidence) -> BTreeMap<StackId, FrameId> {
        let (of, under) = (&self.function, self.under.as_ref());
        let frames = &evidence.frames;
        frames.innermost(of, under, self.side, self.only_self)
    }

    fn value(&self, counted: &Counted) -> Option<f64> {
        match self.share {
            true => (counted.of > 0).then(|| counted.matching as f64 / counted.of as f64),
            false => (counted.covered > 0).then(|| counted.cpu_ms / counted.covered as f64),
        }
    }
}

impl Function for Profile {
    fn source(&self) -> &'static str {
        PROFILE
    }

    fn words(&self, in_full: bool) -> String {
        let mut what = match self.share {
            true => "the share of samples",
            false => "the number of CPUs busy",
        }
        .to_owned();
        if in_full && self.machine {
            what += " of the whole machine";
        }
        if in_full && self.only_self {
            what += " that stand";
        }
        what += match self.side.filter(|_| in_full) {
            Some(FrameSide::Kernel) => " in the kernel's",
            Some(FrameSide::User) => " in the server's own",
            None => " in",
        };
        what += &format!(" /{}/", self.function.shown(in_full));
        if let Some(under) = self.under.as_ref().filter(|_| in_full) {
            what += &format!(" called from /{}/", under.text());
        }
        what
    }

    fn measure(&self, sign: &Sign, evidence: &Evidence) -> Measured {
        let named = self.named(evidence);
        let stall = count(self, evidence, &named, Evidence::tells_of_stall);
        let before = count(self, evidence, &named, Evidence::tells_of_before);
        let no_times = (stall.covered == 0 || stall.is_without_rate) && !self.share;
        let seen = if stall.profiles == 0 || no_times || stall.lost > stall.of {
            absent(PROFILE)
        } else if stall.of < self.min_samples {
            // A server that hardly ran has no share worth telling, and a profile that covers little of
            // the stall tells little of it; nor does one of which nobody knows how long it took.
            if stall.covered > 0 && stall.covered.saturating_mul(2) >= evidence.stall.length() {
                Seen::Nothing
            } else {
                absent(PROFILE)
            }
        } else {
            self.value(&stall).map_or(Seen::Nothing, Seen::Number)
        };
        let baseline = match self.share {
            true if before.of < self.min_samples => None,
            true => before.usual_share().or_else(|| self.value(&before)),
            false => self.value(&before),
        };
        let mut measured = Measured::over_stall(sign, evidence, seen, baseline);
        measured.each = most(names(stall.by_frame, evidence)).map(str::to_owned);
        if self.share {
            measured.limits = reachable(&sign.limits, baseline);
        }
        measured
    }

    /// Where the server did not run, none of it was in it.
    fn readings(&self, evidence: &Evidence) -> Vec<(Window, f64)> {
        let named = self.named(evidence);
        let profiles = evidence.incident.stacks.profiles.iter();
        profiles
            .map(|profile| {
                let counted = count(self, evidence, &named, |_, from, to| {
                    (from, to) == (profile.from, profile.to)
                });
                let window = Window::new(profile.from, profile.to);
                (window, self.value(&counted).unwrap_or(0.0))
            })
            .collect()
    }

    fn asks_for(&self, kind: lexicon::Kind, name: &str) -> bool {
        kind == lexicon::Kind::Function && self.function.is_match(name)
    }
}

/// A share that was 60 % cannot double: to have grown by half of what was left is as much. What a server does that
/// has hardly anything to do may be much of its time.
fn reachable(limits: &Limits, baseline: Option<f64>) -> Limits {
    let mut limits = *limits;
    if let (Some(times), Some(baseline)) = (&mut limits.times_baseline, baseline)
        && baseline > 0.0
    {
        *times = times.min((1.0 + baseline) / 2.0 / baseline);
    }
    limits
}

/// Samples of some stretch of time.
#[derive(Default)]
struct Counted {
    matching: u64,
    of: u64,
    /// Busy processors times milliseconds.
    cpu_ms: f64,
    profiles: u64,
    /// How often samples were taken is not known of one of them.
    is_without_rate: bool,
    covered: Millis,
    /// The share in each profile times the milliseconds that it covers, and those milliseconds.
    share_ms: f64,
    sampled_ms: f64,
    lost: u64,
    by_frame: BTreeMap<FrameId, u64>,
}

impl Counted {
    /// The share that it had most of the time: a server that did little and then, in the seconds in which the trouble
    /// began, much has most of its samples of those.
    fn usual_share(&self) -> Option<f64> {
        (self.sampled_ms > 0.0).then(|| self.share_ms / self.sampled_ms)
    }
}

/// The samples of each function: one has several frames where it was inlined or stands in two files.
fn names<'n>(by_frame: BTreeMap<FrameId, u64>, evidence: &Evidence<'n>) -> BTreeMap<&'n str, u64> {
    let mut names: BTreeMap<&str, u64> = BTreeMap::new();
    for (frame, count) in by_frame {
        if let Some(frame) = evidence.incident.stacks.table.frame(frame) {
            let sum = names.entry(&frame.name).or_default();
            *sum = count.saturating_add(*sum);
        }
    }
    names
}

fn count<'e>(
    test: &Profile,
    evidence: &Evidence<'e>,
    named: &BTreeMap<StackId, FrameId>,
    tells: impl Fn(&Evidence<'e>, Millis, Millis) -> bool,
) -> Counted {
    let mut counted = Counted::default();
    let callers = &evidence.incident.stacks.callers;
    let profiles = evidence.incident.stacks.profiles.iter();
    let sampled = evidence.sampled();
    let is_told = profiles
        .clone()
        .map(|one| tells(evidence, one.from, one.to));
    let mut told: Vec<Option<u64>> = is_told.map(|is_told| is_told.then_some(0)).collect();
    for (stack, frame) in named {
        let mut sum: u64 = 0;
        let of_test = |row: &&Samples| test.machine || row.server;
        for row in sampled.of(*stack).iter().filter(of_test) {
            if let Some(Some(matching)) = told.get_mut(row.profile as usize) {
                *matching = matching.saturating_add(row.count);
                sum = sum.saturating_add(row.count);
            }
        }
        if sum > 0 {
            let by_frame = counted.by_frame.entry(*frame).or_default();
            *by_frame = by_frame.saturating_add(sum);
        }
    }
    let profiles = profiles.zip(&sampled.totals).zip(told).enumerate();
    for (index, ((profile, (server, machine)), matching)) in profiles {
        let Some(mut matching) = matching else {
            continue;
        };
        counted.profiles += 1;
        counted.is_without_rate |= profile.hz == 0;
        let covered = profile.to.saturating_sub(profile.from);
        counted.covered = counted.covered.saturating_add(covered);
        counted.lost = counted.lost.saturating_add(profile.lost);
        let of = if test.machine { *machine } else { *server };
        counted.of = counted.of.saturating_add(of);
        let rows = callers.iter().filter(|one| one.profile == index);
        let rows = rows.flat_map(|one| &one.counts);
        if !test.only_self
            && let Some((frame, most)) = most_of_callers(test, named, rows)
            && most > matching
        {
            // Samples of its own function are among them.
            let by_frame = counted.by_frame.entry(frame).or_default();
            *by_frame = most.max(*by_frame);
            matching = most;
        }
        counted.matching = counted.matching.saturating_add(matching);
        if of > 0 {
            let covered = covered as f64;
            counted.share_ms += covered * matching as f64 / of as f64;
            counted.sampled_ms += covered;
        }
        counted.cpu_ms += matching as f64 * 1000.0 / f64::from(profile.hz.max(1));
    }
    counted
}

/// The function that matches and had most samples with those of what it called. Such functions may
/// include each other and the profile's own rows: the largest is what is sure.
fn most_of_callers<'p>(
    test: &Profile,
    named: &BTreeMap<StackId, FrameId>,
    rows: impl Iterator<Item = &'p ProfileCount>,
) -> Option<(FrameId, u64)> {
    let rows = rows.filter(|row| test.machine || row.server);
    rows.filter_map(|row| Some((*named.get(&row.stack)?, row.count)))
        .max_by_key(|(_, count)| *count)
}
