//! What may be it where no cause can be judged: names that causes ask for, and the layers that they are about.
//!
//! A finding needs its gates. A suspicion has one speaking sign and gates of which nothing is known; what was measured
//! and is not there refuses it as it refuses a finding.
//!
//! **Suspicion, below possible** (`diagnosis/src/suspicion.rs`). It exists only where nothing is found in captures
//! that people took. At most three causes are named that no measurement refutes. They are ranked by four things: by
//! the names that their signs look for, where a name counts the less the more causes look for it; by the layers of
//! the lexicon that they are about; by signs that hold; and by how like the text is to those that are written of
//! such stalls (crate `likeness`), which speaks where people leave the sign out or name it otherwise.
//!
//! - Gates order findings. Where nothing is known about them, they do not silence a suspicion.
//! - A name that was looked for and not found refutes nothing where much of what was seen is in the same layer: it
//!   has another name in that version, or is inlined.
//! - Each cause also has words that point at it wherever they occur (`told`): a suspicion needs a name, and half of
//!   what people paste has one that no sign looks for.
//! - Each kind of line in a log counts once: how often one is written says nothing about how much it means. What was
//!   quoted in sentences is counted there.
//! - A suspicion has no remedy: it says what would decide it.
//! - A record of our own has none: the recorder reads all that it can, and a suspicion can hit a healthy server.
//! - A recorder does not load the lexicon for it (5 MB).

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use crate::catalogue::Catalogue;
use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::judge;
use crate::measure::Sign;
use crate::named::{AllNamed, InLayer, Named, Seen};
use crate::rank;
use crate::sentence;
use crate::verdict::{Finding, Level, Verdict, Witness};
use model::OrderBy;

/// Suspicions that are told, at the most.
const SUSPICIONS_MAX: usize = 3;

/// What a cause must have of all that was seen, 0 to 1.
const WEIGHT_MIN: f64 = 0.1;

/// A layer is shared by more than a name is: what it counts for beside one.
const LAYER_WEIGHT: f64 = 0.5;

/// A word that points at one cause alone, beside a name that is all that was seen.
const TOLD_WEIGHT: f64 = 0.7;

/// A statement that can do it was there: many a one does no harm.
const STATEMENT_WEIGHT: f64 = 0.3;

/// A setting or a counter that somebody picked out, for a cause that looks at it or changes it; a statement, for a cause
/// that is about what it looks at.
const PICKED_WEIGHT: f64 = 0.3;

/// A thread that was at work while most waited, beside all that did not idle.
const AT_WORK_WEIGHT: f64 = 0.5;

/// A name that tells how something waits and not what for, beside one that does.
const GENERAL_SHARE: f64 = 0.3;

/// A thing was spoken of in anybody's words.
const TERM_WEIGHT: f64 = 0.3;

/// What is done on most servers at any time, beside a thing that happened.
const AT_WORK_SHARE: f64 = 0.5;

/// A sign that holds, beside a name that is all that was seen.
const SIGN_WEIGHT: f64 = 0.5;

/// What a sign counts for that a cause can do without, beside one that it needs.
const OPTIONAL_SHARE: f64 = 0.6;

/// A text that is like those of one cause alone, beside a name that is all that was seen: what is left out or named
/// otherwise is no sign, and the rest of the text still tells of it.
const LIKENESS_WEIGHT: f64 = 3.5;

/// How like its texts a text is from which that tells something: nearly all are that tell of a stall of a known cause.
const LIKE_MIN: f64 = 0.1;

/// A weight that is as much as there can be, for how sure a suspicion is.
const WEIGHT_FULL: f64 = 6.0;

/// What a cause counts for, when suspicions are put in order, that follows from any other.
const SYMPTOM_SHARE: f64 = 0.5;

/// The same for a cause of which only the layers were seen or told of: nothing points at it.
const NEAR_SHARE: f64 = 0.5;

/// Share of a source in a cause's layers from which a sign that was not found there refuses nothing: its names are
/// those of other versions, or inlined.
const SAME_LAYER_MIN: f64 = 0.2;

/// The layer of processors that have nothing to do.
const SCHEDULER: &str = "kernel-scheduler";

/// Part of the ids of witnesses that something is of a cause's layers.
const OF_LAYER: &str = "of-layer-";

/// The id of the witness that a text is like others.
const LIKENESS: &str = "likeness";

/// Parts of the ids of witnesses that tell of no thing which was seen. The layer of a line is that of what follows, too.
const UNSEEN: [&str; 3] = [LIKENESS, "sentences-", OF_LAYER];

/// Witnesses of a suspicion, at the most.
const WITNESSES_MAX: usize = 3;

/// The strongest first.
pub(crate) fn suspicions(
    catalogue: &Catalogue,
    evidence: &Evidence,
    all: &AllNamed,
) -> Vec<Finding> {
    let tested: Vec<(&Cause, Vec<(&Sign, Witness)>)> = catalogue
        .causes()
        .iter()
        .filter_map(|cause| Some((cause, speaking(cause, evidence, all)?)))
        .collect();
    let open: Vec<&Cause> = tested.iter().map(|(cause, _)| *cause).collect();
    let mut weights = Weights::default();
    // What other programs do is no sign of what the server suffers.
    let is_telling = |seen: Seen| match seen {
        Seen::Host => false,
        Seen::Logs | Seen::Sentences => true,
        _ if evidence.incident.began_after_it() => false,
        Seen::Profile => !is_at_rest(all),
        _ => true,
    };
    // Sessions of any kind are in `init` or `updating`; what somebody picked out to tell of is not any state of any session.
    let is_strong = |named: &Named| {
        named.kind != lexicon::Kind::State
            || named.seen == Seen::Sentences
            || named.entry().is_none_or(|entry| entry.is_strong)
    };
    let mut waited: BTreeSet<(&str, Seen)> = BTreeSet::new();
    let telling = all.names.iter().filter(|one| is_telling(one.seen));
    for named in telling.filter(|one| is_strong(one)) {
        let asks = among(&open, |cause| cause.asks_for(named.kind, &named.name));
        let whole = named.share * of_waiters(named.seen) * general_share(named);
        let each = whole / asks.len() as f64;
        for cause in asks {
            // The functions in which one and the same lock is waited for are one witness.
            if !named.is_general() || waited.insert((cause.id.as_str(), named.seen)) {
                weights.add(cause, each, || of_name(named, evidence));
            }
        }
    }
    let is_setting = |one: &&Named| one.kind == lexicon::Kind::Setting;
    let settings = all.names.iter().filter(is_setting).count().max(1);
    for named in all.names.iter().filter(|one| is_telling(one.seen)) {
        let word = named.name.to_lowercase();
        let told = among(&open, |cause| match named.kind {
            lexicon::Kind::Term => cause.terms.contains(&named.name),
            _ => cause.told.iter().any(|pattern| is_in(pattern, &word)),
        });
        // What was counted speaks as much as there is of it; somebody's words are not counted.
        let share = match named.seen {
            Seen::Sentences | Seen::Logs => 1.0,
            seen => named.share * of_waiters(seen),
        };
        let whole = match (named.seen, named.kind) {
            (Seen::Sentences, lexicon::Kind::Statement) => STATEMENT_WEIGHT,
            // One that somebody picked out points at something; one of many is how the server is set up.
            (Seen::Sentences, lexicon::Kind::Setting) => TOLD_WEIGHT / settings as f64,
            (_, lexicon::Kind::Term) => TERM_WEIGHT * at_work_share(named),
            _ => TOLD_WEIGHT,
        };
        weights.share(&told, whole * share, || of_name(named, evidence));
        if told.is_empty() && named.seen == Seen::Sentences {
            let picked = among(&open, |cause| is_picked_for(cause, named));
            let of_many = if is_setting(&named) { settings } else { 1 };
            let whole = PICKED_WEIGHT / of_many as f64;
            weights.share(&picked, whole, || of_name(named, evidence));
        }
    }
    let layers = all.layers.iter().filter(|one| is_telling(one.seen));
    for layer in layers.filter(|one| !one.is_general()) {
        let about = among(&open, |cause| {
            cause.about.iter().any(|name| name == layer.layer)
        });
        let whole = LAYER_WEIGHT * layer.share * of_waiters(layer.seen);
        weights.share(&about, whole, || of_layer(layer));
    }
    let held: Vec<(&Cause, Witness, f64)> = tested
        .into_iter()
        .flat_map(|(cause, signs)| {
            let signs = signs.into_iter();
            signs.map(move |(sign, witness)| (cause, witness, weight_of(sign, all)))
        })
        .collect();
    for (cause, witness, whole) in &held {
        // The same fact may speak for several.
        let shared = held
            .iter()
            .filter(|(_, other, _)| is_same_fact(witness, other));
        let weight = whole / shared.count().max(1) as f64;
        weights.add(cause, weight, || witness.clone());
    }
    for like in likeness::likenesses(&evidence.incident.known_words) {
        // What is no more like it than any text is.
        let is_like = like.score >= LIKE_MIN && !evidence.incident.began_after_it();
        if let Some(cause) = open.iter().find(|cause| is_like && cause.id == like.cause) {
            weights.add(cause, LIKENESS_WEIGHT * like.share, || of_likeness(&like));
        }
    }
    weights.findings(catalogue, evidence)
}

/// Puts what the evidence does not decide between in the order of how often something is known to have happened: most often
/// first where there are only suspicions; of what is possible, what did happen before what never did.
pub fn order_by_times(verdict: &mut Verdict, times: impl Fn(&str) -> u64) {
    let said = |findings: &[Finding]| {
        let found = sentence::found(findings).unwrap_or_default();
        [found, sentence::maybe(findings)]
    };
    let before = said(&verdict.findings);
    let mut findings = verdict.findings.iter();
    if findings.all(|finding| finding.level == Level::Suspicion) {
        (verdict.findings).order_by_key(|finding| Reverse(times(&finding.cause)));
    }
    rank::undecided_first(&mut verdict.findings, |one, other| {
        times(&one.cause) > 0 && times(&other.cause) == 0
    });
    for (before, now) in before.iter().zip(said(&verdict.findings)) {
        verdict.sentence = verdict.sentence.replace(before, &now);
    }
}

/// Whether a finding that follows from any cause is explained by this suspicion: something that was seen must point at it,
/// not only what somebody tells.
pub(crate) fn explains(suspicion: &Finding, symptom: &Cause) -> bool {
    let is_seen = |witness: &Witness| !UNSEEN.iter().any(|part| witness.id.contains(part));
    symptom.follows_from_all() && suspicion.witnesses.iter().any(is_seen)
}

fn among<'c>(causes: &[&'c Cause], is: impl Fn(&Cause) -> bool) -> Vec<&'c Cause> {
    causes.iter().copied().filter(|cause| is(cause)).collect()
}

fn general_share(named: &Named) -> f64 {
    match named.is_general() {
        true => GENERAL_SHARE,
        false => 1.0,
    }
}

/// Who does not wait while most do may hold what they wait for, or be anybody who was seen at that moment.
fn of_waiters(seen: Seen) -> f64 {
    match seen {
        Seen::AtWork => AT_WORK_WEIGHT,
        _ => 1.0,
    }
}

/// A cause is about what somebody picked out of hundreds of names, though no sign of it lists that one.
fn is_picked_for(cause: &Cause, named: &Named) -> bool {
    // An amount has its value behind its name.
    let name = named.name.split(' ').next().unwrap_or_default();
    match named.kind {
        lexicon::Kind::Setting | lexicon::Kind::Status => {
            // People tell of the slow log that they look with, and of the port.
            let entry = lexicon::Lexicon::get().lookup(named.kind, name);
            entry.is_none_or(|entry| entry.is_strong) && cause.speaks_of(name)
        }
        lexicon::Kind::Statement => {
            let entry = named.entry();
            entry.is_some_and(|entry| cause.about.iter().any(|layer| layer == entry.layer))
        }
        _ => false,
    }
}

/// A backup, a report, a change of a table, monitoring: people tell of it in many a story that is about something else.
fn at_work_share(term: &Named) -> f64 {
    let entry = term.entry();
    match entry.is_some_and(|entry| entry.role == lexicon::Role::Work) {
        true => AT_WORK_SHARE,
        false => 1.0,
    }
}

/// The processors spent more time on going to sleep and waking up than on anything else: what little they ran is no trouble.
fn is_at_rest(all: &AllNamed) -> bool {
    let mut layers = all.layers.iter().filter(|one| one.seen == Seen::Profile);
    layers.next().is_some_and(|first| first.layer == SCHEDULER)
}

/// What speaks for a cause, and how much.
type Said = Vec<(f64, Witness)>;

/// The same by cause.
#[derive(Default)]
struct Weights(BTreeMap<String, Said>);

impl Weights {
    fn add(&mut self, cause: &Cause, weight: f64, witness: impl FnOnce() -> Witness) {
        let of = self.0.entry(cause.id.clone()).or_default();
        of.push((weight, witness()));
    }

    /// The causes share a weight alike: what points at many points at none.
    fn share(&mut self, causes: &[&Cause], whole: f64, witness: impl Fn() -> Witness) {
        for cause in causes {
            self.add(cause, whole / causes.len() as f64, &witness);
        }
    }

    fn findings(self, catalogue: &Catalogue, evidence: &Evidence) -> Vec<Finding> {
        let mut all: Vec<(f64, &Cause, Said)> = self
            .0
            .into_iter()
            .filter_map(|(id, said)| {
                let weight = said.iter().map(|(weight, _)| weight).sum();
                Some((weight, catalogue.get(&id)?, said))
            })
            .filter(|(weight, ..)| *weight >= WEIGHT_MIN)
            .collect();
        // What follows from anything is in many a story that is not about it.
        let order = |(weight, cause, said): &(f64, &Cause, Said)| {
            let is_symptom = cause.follows_from_all();
            let is_near = said.iter().all(|(_, one)| one.id.contains(OF_LAYER));
            let near = if is_near { NEAR_SHARE } else { 1.0 };
            weight * near * if is_symptom { SYMPTOM_SHARE } else { 1.0 }
        };
        all.order_by(|left, right| order(right).total_cmp(&order(left)));
        all.truncate(SUSPICIONS_MAX);
        all.into_iter()
            .map(|(weight, cause, said)| finding(cause, weight, said, evidence))
            .collect()
    }
}

fn finding(cause: &Cause, weight: f64, mut said: Said, evidence: &Evidence) -> Finding {
    said.order_by(|left, right| right.0.total_cmp(&left.0));
    let mut witnesses: Vec<Witness> = Vec::new();
    for (_, witness) in said {
        if witnesses.len() < WITNESSES_MAX && !witnesses.iter().any(|one| one.says == witness.says)
        {
            witnesses.push(witness);
        }
    }
    let confidence = (10.0 + 15.0 * (weight / WEIGHT_FULL).min(1.0)).round() / 100.0;
    // It says what to look at, not what to change: it has no remedy.
    Finding {
        witnesses,
        unknown: judge::undecided(cause, evidence),
        ..cause.finding(Level::Suspicion, confidence)
    }
}

/// Where nothing that was measured speaks against a cause: its signs that hold and point at it. What rises with any
/// trouble does not.
fn speaking<'c>(
    cause: &'c Cause,
    evidence: &Evidence,
    all: &AllNamed,
) -> Option<Vec<(&'c Sign, Witness)>> {
    let share_of = |seen: Seen| all.share_of(seen, &cause.about);
    let is_about = |seen: Seen| match seen {
        // Where most wait, one who holds what they wait for is enough.
        Seen::Threads => share_of(seen).max(share_of(Seen::AtWork)) >= SAME_LAYER_MIN,
        _ => share_of(seen) >= SAME_LAYER_MIN,
    };
    // Those who wait were told one by one: that there are fewer than in a crowd refuses nothing.
    let is_told = is_about(Seen::Locks);
    let names = |sign: &Sign| sign.call().and_then(|call| call.kind.names);
    let is_same_layer = |sign: &Sign| is_told || names(sign).is_some_and(&is_about);
    let mut holding = judge::open(cause, evidence, is_same_layer)?;
    holding.retain(|(sign, witness)| sign.counts && !judge::is_general(&witness.source));
    Some(holding)
}

/// Whether a text has the parts of a pattern, one behind the other. Each begins a word, and a number is a whole one: `md_`
/// is not in `do_huge_pmd_wp_page`, `icu` not in "difficult", and `errno: 12` not in `errno: 126`.
fn is_in(pattern: &str, text: &str) -> bool {
    let both = |at: usize, is: fn(&u8) -> bool| {
        let pair = at
            .checked_sub(1)
            .and_then(|left| text.as_bytes().get(left..=at));
        pair.is_some_and(|pair| pair.iter().all(is))
    };
    let is_number = |at: usize| both(at, u8::is_ascii_digit);
    let is_cut = |at: usize| both(at, u8::is_ascii_alphabetic) || is_number(at);
    let mut from = 0;
    pattern.split('*').all(|part| {
        let mut places = text.match_indices(part).map(|(at, _)| at);
        let found = places.find(|at| *at >= from && !is_cut(*at) && !is_number(at + part.len()));
        from = found.map_or(from, |at| at + part.len());
        found.is_some()
    })
}

/// A sign that a cause cannot do without speaks for it; others go along with it. One that holds by names which tell only
/// how something waits says little more than that something waits.
fn weight_of(sign: &Sign, all: &AllNamed) -> f64 {
    let need = match sign.need.is_needed() {
        true => SIGN_WEIGHT,
        false => SIGN_WEIGHT * OPTIONAL_SHARE,
    };
    let asks_for = |named: &&Named| {
        let call = sign.call();
        call.is_some_and(|call| call.function.asks_for(named.kind, &named.name))
    };
    let shares = all.names.iter().filter(asks_for).map(general_share);
    need * shares.reduce(f64::max).unwrap_or(1.0)
}

/// Two signs that look at the same number, or say the same.
fn is_same_fact(one: &Witness, other: &Witness) -> bool {
    let is_of_signals = !one.signals.is_empty() && one.signals == other.signals;
    one.source == other.source && (is_of_signals || one.says == other.says)
}

fn witness(seen: Seen, name: &str, says: String) -> Witness {
    Witness {
        id: format!("{}-{name}", seen.source()),
        source: seen.source().to_owned(),
        says,
        ..Witness::default()
    }
}

fn of_name(named: &Named, evidence: &Evidence) -> Witness {
    let mut mentions = evidence.incident.mentions.iter();
    let mention = mentions.find(|one| named.seen == Seen::Sentences && one.word == named.name);
    let says = match mention {
        Some(mention) => format!("{}:{} tells of {}", mention.path, mention.line, named.name),
        None if named.seen == Seen::Logs => format!("the logs tell of: {}", named.name),
        None => format!("{}: {}", named.seen.part(named.share), named.name),
    };
    witness(named.seen, &named.name, says)
}

fn of_likeness(like: &likeness::Likeness) -> Witness {
    let words = like.words.join(", ");
    Witness {
        id: LIKENESS.to_owned(),
        source: "words".to_owned(),
        says: format!("its words are like those of such stalls, most of all: {words}"),
        ..Witness::default()
    }
}

fn of_layer(layer: &InLayer) -> Witness {
    let name = layer.names.first().cloned().unwrap_or_default();
    let words = lexicon::layer(layer.layer).map_or(layer.layer, |layer| layer.words);
    let says = match layer.seen {
        Seen::Logs => format!("the logs tell of {words} ({name})"),
        seen => format!("{} are in {words} ({name})", seen.part(layer.share)),
    };
    witness(layer.seen, &format!("{OF_LAYER}{}", layer.layer), says)
}
