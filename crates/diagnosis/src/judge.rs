//! Judges one cause.

use std::collections::BTreeSet;

use model::{Says, source_says};

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::measure::{Need, Sign, Test};
use crate::once::once;
use crate::provenance;
use crate::sign::{self, Instead, Outcome};
use crate::verdict::{Finding, Level, Rejected, Witness};

/// What came out for a cause.
pub(crate) enum Judgement {
    Found(Box<Finding>),
    /// It had signs and is refuted, or a necessary one is not there.
    Rejected(Turned),
    /// Evidence that it needs is absent.
    Unjudged(Unjudged),
    /// Nothing speaks for it.
    Nothing,
}

/// A cause that was turned down.
pub(crate) struct Turned {
    pub(crate) rejected: Rejected,
    /// A sign against it holds; else a necessary one is not there.
    pub(crate) refuted: bool,
    /// How many signs for it hold.
    pub(crate) signs: usize,
}

/// A cause that could not be judged.
pub(crate) struct Unjudged {
    /// The sources that would have brought the evidence.
    pub(crate) sources: BTreeSet<String>,
    /// Something speaks for it.
    pub(crate) pointed_at: bool,
}

/// Independent sources for the level "likely".
const SOURCES_LIKELY: usize = 2;

/// Independent sources for the level "certain" without a conclusive witness.
const SOURCES_CERTAIN: usize = 3;

/// How many statements run.
const RUNNING: &str = "status.Threads_running";

/// What is absent when only the comparison with the time before the onset is.
const TIME_BEFORE: &str = "the time before the onset";

/// A cause with its signs, of which no more are tested than its judgement needs.
pub(crate) struct Trial<'c> {
    pub(crate) cause: &'c Cause,
    tested: Tested<'c>,
    needed: Needed<'c>,
}

impl<'c> Trial<'c> {
    /// Most causes lack something that they need, which is found with half of their signs.
    pub(crate) fn new(cause: &'c Cause, evidence: &Evidence) -> Self {
        let mut tested = Tested::untested(&cause.witnesses);
        Self {
            needed: need(&cause.witnesses, &mut tested, evidence),
            tested,
            cause,
        }
    }

    pub(crate) fn lacks_nothing(&self) -> bool {
        matches!(self.needed, Needed::Met)
    }

    /// By all signs.
    pub(crate) fn judge(self, evidence: &Evidence) -> Judgement {
        let (cause, mut tested) = (self.cause, self.tested);
        tested.test(evidence, |_| true);
        let counting = tested.holding.iter().filter(|(sign, _)| sign.counts);
        let signs = counting.count();
        let rejected = |why: String, looked_in: Vec<String>, refuted: bool| {
            Judgement::Rejected(Turned {
                rejected: Rejected {
                    cause: cause.id.clone(),
                    title: cause.title.clone(),
                    why,
                    looked_in,
                },
                refuted,
                signs,
            })
        };
        if signs == 0 && !matches!(self.needed, Needed::Unknown(_)) {
            return Judgement::Nothing;
        }
        let against = || Tested::new(&cause.against, evidence);
        match self.needed {
            Needed::Met => {}
            Needed::Missing(group) => {
                let not = tested.not.iter();
                let not = not.filter(|(sign, _)| is_of_group(sign, group));
                let (seen, looked_in): (Vec<String>, Vec<String>) = not
                    .map(|(sign, instead)| (instead.words(sign, evidence), sign.source()))
                    .unzip();
                let why = format!("a necessary sign is missing: {}", seen.join(", and "));
                return rejected(why, looked_in, false);
            }
            Needed::Unknown(names) => {
                let sources = names.iter().map(|name| provenance::source_of(name));
                let mut sources: BTreeSet<String> = sources.collect();
                if sources.is_empty() {
                    sources.insert(TIME_BEFORE.to_owned());
                }
                let is_deep = |source: &String| source_says(source) == Says::Deep;
                let refuted = against().holding.iter().any(|(sign, _)| sign.refutes);
                let points_at = |(sign, witness): &(&Sign, Witness)| {
                    sign.counts && !is_general(&witness.source)
                };
                let pointed_at = tested.holding.iter().any(points_at);
                if refuted || (!pointed_at && sources.iter().all(is_deep)) {
                    return Judgement::Nothing;
                }
                return Judgement::Unjudged(Unjudged {
                    sources,
                    pointed_at: signs > 0,
                });
            }
        }
        let against = against();
        if let Some((_, refuting)) = against.holding.iter().find(|(sign, _)| sign.refutes) {
            return rejected(refuting.says.clone(), Vec::new(), true);
        }
        let weakened = !against.holding.is_empty();
        let (level, confidence) = level(&tested.holding, weakened, evidence);
        Judgement::Found(Box::new(Finding {
            unknown: unknown(&tested, &against, evidence),
            witnesses: tested.witnesses(),
            against: against.witnesses(),
            remedy: cause.remedy.clone(),
            ..cause.finding(level, confidence)
        }))
    }
}

/// A source that rises with any trouble.
pub(crate) fn is_general(source: &str) -> bool {
    source_says(source) == Says::General
}

/// The signs of a cause that hold, where nothing that was measured refuses it. A sign that is `excused` refuses nothing
/// by not being there.
pub(crate) fn open<'c>(
    cause: &'c Cause,
    evidence: &Evidence,
    excused: impl Fn(&Sign) -> bool,
) -> Option<Vec<(&'c Sign, Witness)>> {
    let mut tested = Tested::new(&cause.witnesses, evidence);
    let (open, not) = tested.not.into_iter().partition(|(sign, _)| excused(sign));
    tested.not = not;
    let open: Vec<(&Sign, Instead)> = open;
    let nothing_known = open.into_iter().map(|(sign, _)| (sign, BTreeSet::new()));
    tested.unknown.extend(nothing_known);
    if let Needed::Missing(..) = need(&cause.witnesses, &mut tested, evidence) {
        return None;
    }
    let against = Tested::new(&cause.against, evidence);
    let is_refuted = against.holding.iter().any(|(sign, _)| sign.refutes);
    (!is_refuted).then_some(tested.holding)
}

/// What is absent and would decide whether it is this cause, in words.
pub(crate) fn undecided(cause: &Cause, evidence: &Evidence) -> Vec<String> {
    let mut needed = Tested::new(&cause.witnesses, evidence);
    needed.unknown.retain(|(sign, _)| sign.need.is_needed());
    let against = Tested::new(&[], evidence);
    unknown(&needed, &against, evidence)
}

/// Signs after their test.
#[derive(Default)]
struct Tested<'c> {
    untested: Vec<&'c Sign>,
    holding: Vec<(&'c Sign, Witness)>,
    not: Vec<(&'c Sign, Instead)>,
    unknown: Vec<(&'c Sign, BTreeSet<String>)>,
}

impl<'c> Tested<'c> {
    fn untested(signs: &'c [Sign]) -> Self {
        Self {
            untested: signs.iter().collect(),
            ..Self::default()
        }
    }

    fn new(signs: &'c [Sign], evidence: &Evidence) -> Self {
        let mut tested = Self::untested(signs);
        tested.test(evidence, |_| true);
        tested
    }

    /// Tests those of the signs that are wanted and were not tested yet.
    fn test(&mut self, evidence: &Evidence, is_wanted: impl Fn(&Sign) -> bool) {
        let untested = std::mem::take(&mut self.untested).into_iter();
        let (wanted, untested): (Vec<&Sign>, _) = untested.partition(|sign| is_wanted(sign));
        self.untested = untested;
        for one in wanted {
            if evidence.incident.began_after_it() && !may_tell_of_before(one) {
                self.unknown.push((one, BTreeSet::new()));
                continue;
            }
            match sign::test(one, evidence) {
                Outcome::Holds(witness) => self.holding.push((one, witness)),
                Outcome::Not(instead) => self.not.push((one, instead)),
                Outcome::Unknown(names)
                    if names
                        .iter()
                        .any(|one| provenance::is_of_captures_alone(one))
                        && !evidence.incident.is_imported() => {}
                Outcome::Unknown(names) => self.unknown.push((one, names)),
            }
        }
        // In the order of the file, in which they stand one behind the other.
        let place = |sign: &Sign| std::ptr::from_ref(sign);
        self.holding.sort_by_key(|(sign, _)| place(sign));
        self.unknown.sort_by_key(|(sign, _)| place(sign));
    }

    /// A sign that could not be judged has another one in its place, and that one holds.
    fn has_stand_in(&self, sign: &Sign) -> bool {
        let for_it = |need: &Need| matches!(need, Need::InsteadOf(id) if *id == sign.id);
        self.holding.iter().any(|(other, _)| for_it(&other.need))
    }

    fn witnesses(self) -> Vec<Witness> {
        self.holding
            .into_iter()
            .map(|(_, witness)| witness)
            .collect()
    }
}

/// What a capture has of the time before its begin: settings, logs, how many ran when somebody's tool was triggered, and
/// the most that were there at once since the server's start.
fn may_tell_of_before(sign: &Sign) -> bool {
    match &sign.test {
        Test::Fact(_) => true,
        Test::Signals(test) => (test.expression.patterns().iter())
            .all(|name| *name == RUNNING || name.starts_with("status.Max_used_")),
        Test::Call(_) => ["error_log", "kernel_log"].contains(&sign.source().as_str()),
    }
}

enum Needed<'c> {
    Met,
    /// Those of a group, or what is necessary by itself.
    Missing(Option<&'c str>),
    /// Names of the signals and facts that are absent.
    Unknown(BTreeSet<String>),
}

/// Whether one of a group is needed, and this is one; without a group, whether it is necessary by itself.
fn is_of_group(sign: &Sign, group: Option<&str>) -> bool {
    match (&sign.need, group) {
        (Need::Necessary, None) => true,
        (Need::OneOf(name), Some(group)) => name == group,
        _ => false,
    }
}

/// Tests what is needed, up to what is missing.
fn need<'c>(signs: &'c [Sign], tested: &mut Tested<'c>, evidence: &Evidence) -> Needed<'c> {
    let mut absent: Option<BTreeSet<String>> = None;
    let needs: BTreeSet<Option<&str>> = signs
        .iter()
        .filter_map(|sign| match &sign.need {
            Need::Optional | Need::InsteadOf(_) => None,
            Need::Necessary => Some(None),
            Need::OneOf(group) => Some(Some(group.as_str())),
        })
        .collect();
    for group in needs {
        let of_group = |sign: &Sign| is_of_group(sign, group);
        tested.test(evidence, of_group);
        if tested.unknown.iter().any(|(sign, _)| of_group(sign)) {
            tested.test(evidence, |sign| matches!(sign.need, Need::InsteadOf(_)));
        }
        let tested = &*tested;
        let replaced = |sign: &Sign| of_group(sign) && tested.has_stand_in(sign);
        let holds = tested.holding.iter().any(|(sign, _)| of_group(sign))
            || tested.unknown.iter().any(|(sign, _)| replaced(sign));
        let unknown: Vec<&BTreeSet<String>> = tested
            .unknown
            .iter()
            .filter(|(sign, _)| of_group(sign) && !tested.has_stand_in(sign))
            .map(|(_, names)| names)
            .collect();
        let missing = match group {
            None => tested.not.iter().any(|(sign, _)| of_group(sign)),
            Some(_) => !holds && unknown.is_empty(),
        };
        if missing {
            return Needed::Missing(group);
        }
        let open = match group {
            None => !unknown.is_empty(),
            Some(_) => !holds,
        };
        if open {
            absent
                .get_or_insert_with(BTreeSet::new)
                .extend(unknown.into_iter().flatten().cloned());
        }
    }
    absent.map_or(Needed::Met, Needed::Unknown)
}

/// The level, and the same as a number: more independent sources are more, within the level.
fn level(holding: &[(&Sign, Witness)], weakened: bool, evidence: &Evidence) -> (Level, f64) {
    let counting = || holding.iter().filter(|(sign, _)| sign.counts);
    let sources: BTreeSet<&str> = counting()
        .map(|(_, witness)| witness.source.as_str())
        .collect();
    let conclusive = counting().any(|(_, witness)| witness.conclusive);
    // No reading of stacks or numbers, but the server's or the kernel's own words for what is wrong.
    let said_in_words = counting().any(|(sign, witness)| {
        let call = sign.call();
        witness.conclusive && call.is_some_and(|call| call.function.is_said(evidence))
    });
    let enough_to_be_certain = if conclusive {
        SOURCES_LIKELY
    } else {
        SOURCES_CERTAIN
    };
    let level = match (sources.len(), weakened) {
        (count, false) if count >= enough_to_be_certain => Level::Certain,
        (count, true) if count >= enough_to_be_certain => Level::Likely,
        (count, false) if count >= SOURCES_LIKELY || said_in_words => Level::Likely,
        _ => Level::Possible,
    };
    let base: u32 = match level {
        Level::Certain => 90,
        Level::Likely => 60,
        Level::Possible | Level::Suspicion => 30,
    };
    let more = 2 * sources.len().min(4) as u32 + u32::from(conclusive);
    // Less than the limit, and held only because part of the threads or waits was shown: behind what reaches its own.
    let is_below = |(sign, witness): &(&Sign, Witness)| {
        let limits = sign.limits.above.zip(witness.value);
        limits.is_some_and(|(above, value)| value < above)
    };
    let less = u32::from(counting().all(is_below));
    (level, f64::from(base + more - less) / 100.0)
}

fn unknown(tested: &Tested, against: &Tested, evidence: &Evidence) -> Vec<String> {
    let incident = evidence.incident;
    let mut lines = Vec::new();
    let mut by_source: Vec<(String, Vec<&str>)> = Vec::new();
    for (sign, names) in tested.unknown.iter().chain(&against.unknown) {
        if names.is_empty() {
            let why = match evidence.incident.began_after_it() {
                true => "the stall was over when the capture began",
                false => {
                    "the time before the onset is not in the record, or too short to compare with"
                }
            };
            lines.push(format!("{}: {why}", sign.id));
        }
        for name in names {
            // "max" of a control group's file: it was taken, and there is nothing to compare with.
            if let Some(word) = incident.fact(name).filter(|it| it.parse::<f64>().is_err()) {
                lines.push(format!("{name} is {word:?}, which is no number"));
                continue;
            }
            // Facts have a file or a statement of their own under the same name.
            let prefix = name.split('.').next().unwrap_or(name).to_owned();
            match by_source.iter_mut().find(|(known, _)| *known == prefix) {
                Some((_, known)) if !known.contains(&name.as_str()) => known.push(name),
                Some(_) => {}
                None => by_source.push((prefix, vec![name])),
            }
        }
    }
    let missing = by_source.iter();
    lines.extend(missing.map(|(_, names)| provenance::missing(incident, names)));
    once(lines)
}
