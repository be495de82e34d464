//! What has a name in a record, and how much of what was seen it is: functions, states, places of waits, words in
//! sentences. The lexicon says what layer of the server or the host each is of.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use lexicon::{Entry, Kind, Lexicon, Role};
use model::{Mention, OrderBy, StackId, TextKind, WaitCounting};

use crate::evidence::{Evidence, LINES_MAX, cut};
use crate::meanings::Meanings;
use crate::provenance;
use crate::statement_time;

/// Names of one source that are kept, at the most, those with the largest share first.
const NAMES_MAX: usize = 120;

/// Shapes of lines that are looked up in one record's logs, at the most.
const SHAPES_MAX: usize = 5_000;

/// The name of what sessions are in that were killed.
const KILLED: &str = "command: Killed";

/// Where something was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Seen {
    /// Samples of the processors: of the server, where it is told apart from others.
    Profile,
    /// Samples of other programs and of the kernel's own threads.
    Host,
    /// Threads that neither idle nor wait for a lock, while most wait for one: who holds the lock is among them.
    AtWork,
    /// Threads that do not idle.
    Threads,
    /// Sessions that do something.
    Sessions,
    /// Waits for latches, as InnoDB lists them.
    Waits,
    /// Waits for locks, as the server's tables tell who waits for whom.
    Locks,
    /// The time of the statements in a slow log.
    Statements,
    /// Lines of the server's error log and of the kernel's log, each kind of line once: how often one is written says
    /// nothing about how much it means.
    Logs,
    /// Words in sentences.
    Sentences,
}

impl Seen {
    /// The name under which such evidence is a source, and what shares are of, in words.
    fn names(self) -> [&'static str; 2] {
        match self {
            Self::Profile => [provenance::PROFILE, "the CPU samples"],
            Self::Host => ["host-profile", "the samples outside the server"],
            Self::AtWork => [
                "threads-at-work",
                "the threads that neither idle nor wait for a lock",
            ],
            Self::Threads => [provenance::STACKS, "the threads that do not idle"],
            Self::Sessions => [provenance::PROCESSLIST, "the sessions that do something"],
            Self::Waits => [provenance::SEMAPHORES, "the waits that InnoDB lists"],
            Self::Locks => ["locks", "the waits for locks that the server tells"],
            Self::Statements => ["slow_log", "the time of the logged statements"],
            Self::Logs => ["logs", "the kinds of lines in the logs that mean something"],
            Self::Sentences => ["sentences", "the words in sentences"],
        }
    }

    /// The name under which such evidence is a source.
    pub(crate) fn source(self) -> &'static str {
        self.names()[0]
    }

    /// What shares are of, in words.
    pub(crate) fn whole(self) -> &'static str {
        self.names()[1]
    }

    /// Such a share of that, 0 to 1, in words.
    pub(crate) fn part(self, share: f64) -> String {
        format!("{:.0} % of {}", 100.0 * share, self.whole())
    }
}

/// A name that was seen.
#[derive(Debug, Clone)]
pub(crate) struct Named {
    pub(crate) seen: Seen,
    pub(crate) kind: Kind,
    pub(crate) name: String,
    /// Of all that was seen there, 0 to 1.
    pub(crate) share: f64,
}

impl Named {
    /// What it means.
    pub(crate) fn entry(&self) -> Option<&'static Entry> {
        Lexicon::get().lookup(self.kind, &self.name)
    }

    /// It tells how something waits or runs, not what it is for.
    pub(crate) fn is_general(&self) -> bool {
        let is_general = |entry: &Entry| lexicon::is_general(entry.layer);
        self.kind == Kind::Function && self.entry().is_some_and(is_general)
    }
}

/// How much of what was seen is in one layer.
#[derive(Debug, Clone)]
pub(crate) struct InLayer {
    pub(crate) seen: Seen,
    pub(crate) layer: &'static str,
    pub(crate) share: f64,
    /// The names that say so, those with the largest share first.
    pub(crate) names: Vec<String>,
    /// What the first of them means.
    pub(crate) entry: &'static Entry,
}

impl InLayer {
    /// It tells how something waits or runs, not what it is for.
    pub(crate) fn is_general(&self) -> bool {
        lexicon::is_general(self.layer)
    }
}

/// Everything with a name.
#[derive(Debug, Default)]
pub(crate) struct AllNamed {
    pub(crate) names: Vec<Named>,
    /// Of each source the layer with the largest share first.
    pub(crate) layers: Vec<InLayer>,
}

/// What is counted of one source.
#[derive(Default)]
struct Counted {
    all: u64,
    /// By name.
    names: BTreeMap<(Kind, String), u64>,
    /// By layer, and in it by the name that tells it.
    layers: BTreeMap<&'static str, BTreeMap<String, (u64, &'static Entry)>>,
}

impl Counted {
    fn name(&mut self, kind: Kind, name: &str, count: u64) {
        *self.names.entry((kind, name.to_owned())).or_default() += count;
    }

    /// A name with what it means, where that is known.
    fn seen(&mut self, kind: Kind, name: &str, count: u64) {
        self.all += count;
        self.name(kind, name, count);
        if let Some(entry) = Lexicon::get().lookup(kind, name) {
            self.meaning(entry, name, count);
        }
    }

    fn meaning(&mut self, entry: &'static Entry, name: &str, count: u64) {
        let layer = self.layers.entry(entry.layer).or_default();
        let told = layer.entry(name.to_owned()).or_insert((0, entry));
        told.0 += count;
    }
}

impl AllNamed {
    pub(crate) fn from_evidence(evidence: &Evidence) -> Self {
        let mut all = Self::default();
        let meanings = evidence.meanings();
        let [server, host] = profiles(evidence, meanings);
        all.take(Seen::Profile, server);
        let [at_work, threads] = threads(evidence, meanings);
        all.take(Seen::AtWork, at_work);
        all.take(Seen::Threads, threads);
        all.take(Seen::Sessions, sessions(evidence));
        all.take(Seen::Waits, waits(evidence));
        all.take(Seen::Locks, locks(evidence));
        all.take(Seen::Statements, statements(evidence));
        let logs = logs(evidence);
        let sentences = sentences(evidence, &logs);
        all.take(Seen::Logs, logs);
        all.take(Seen::Sentences, sentences);
        all.take(Seen::Host, host);
        all
    }

    fn take(&mut self, seen: Seen, counted: Counted) {
        let whole = counted.all.max(1) as f64;
        let mut names: Vec<_> = counted.names.into_iter().collect();
        names.order_by_key(|(_, count)| std::cmp::Reverse(*count));
        let names = names.into_iter().take(NAMES_MAX);
        self.names.extend(names.map(|((kind, name), count)| Named {
            seen,
            kind,
            name,
            share: count as f64 / whole,
        }));
        let mut layers: Vec<InLayer> = Vec::new();
        for (layer, names) in counted.layers {
            let mut names: Vec<_> = names.into_iter().collect();
            names.order_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
            let count: u64 = names.iter().map(|(_, (count, _))| *count).sum();
            let Some((_, (_, entry))) = names.first() else {
                continue;
            };
            layers.push(InLayer {
                seen,
                layer,
                share: count as f64 / whole,
                entry,
                names: names.into_iter().map(|(name, _)| name).collect(),
            });
        }
        layers.order_by(|left, right| right.share.total_cmp(&left.share));
        self.layers.extend(layers);
    }

    /// How much of what one source shows is in these layers.
    pub(crate) fn share_of(&self, seen: Seen, about: &[String]) -> f64 {
        let layers = self.layers.iter().filter(|one| one.seen == seen);
        let of = layers.filter(|one| about.iter().any(|layer| layer == one.layer));
        of.map(|one| one.share).sum()
    }

    /// How much of the stacks is in these layers. What sessions and lists of waits say is of those that wait: it tells
    /// who suffers.
    pub(crate) fn share_of_stacks(&self, about: &[String]) -> f64 {
        let sources = [Seen::Profile, Seen::Threads];
        let shares = sources.map(|seen| self.share_of(seen, about));
        shares.into_iter().fold(0.0, f64::max)
    }
}

/// Counts a stack: its names, and the layer of the frame that says what it is for. What was on a processor did not
/// idle, though each client's thread begins in a function in which it is parked without a client.
fn count_stack(meanings: &Meanings, counted: &mut Counted, stack: StackId, count: u64) {
    let known = || {
        meanings
            .frames(stack)
            .filter_map(|(name, entry)| Some((name, entry?)))
    };
    counted.all += count;
    let once: BTreeSet<&str> = meanings.frames(stack).map(|(name, _)| name).collect();
    for name in once {
        counted.name(Kind::Function, name, count);
    }
    let telling = known().find(|(_, entry)| !lexicon::is_general(entry.layer));
    if let Some((name, entry)) = telling.or_else(|| known().next()) {
        counted.meaning(entry, name, count);
    }
}

/// The server's samples, and those of everything else. Where nothing tells them apart, all are the server's.
fn profiles(evidence: &Evidence, meanings: &Meanings) -> [Counted; 2] {
    let mut by_stack: [BTreeMap<u32, u64>; 2] = Default::default();
    let profiles = evidence.incident.stacks.profiles.iter();
    let told = profiles.filter(|one| evidence.tells_of_stall(one.from, one.to));
    for row in told.flat_map(|one| &one.counts) {
        let of = &mut by_stack[usize::from(!row.server)];
        *of.entry(row.stack.0).or_default() += row.count;
    }
    if by_stack[0].is_empty() {
        by_stack.swap(0, 1);
    }
    by_stack.map(|by_stack| {
        let mut counted = Counted::default();
        for (stack, count) in by_stack {
            count_stack(meanings, &mut counted, StackId(stack), count);
        }
        counted
    })
}

/// Those that neither idle nor wait for a lock, if most wait for one, and all that do not idle.
fn threads(evidence: &Evidence, meanings: &Meanings) -> [Counted; 2] {
    let [mut at_work, mut all] = <[Counted; 2]>::default();
    let mut by_stack: BTreeMap<u32, u64> = BTreeMap::new();
    for run in &evidence.incident.stacks.runs {
        if evidence.tells_of_stall(run.from, run.to) {
            *by_stack.entry(run.stack.0).or_default() += u64::from(run.snapshots.max(1));
        }
    }
    for (stack, count) in by_stack {
        let stack = StackId(stack);
        if meanings.is_idle(stack) {
            continue;
        }
        count_stack(meanings, &mut all, stack, count);
        if !meanings.waits_for_lock(stack) {
            count_stack(meanings, &mut at_work, stack, count);
        }
    }
    if at_work.all * 2 > all.all {
        at_work = Counted::default();
    }
    // Without stacks one thread still tells what it does: InnoDB's master thread, in the status.
    if all.all == 0 {
        let statuses = evidence.statuses().iter();
        for (_, status) in statuses.filter(|(at, _)| evidence.tells_of_stall(*at, *at)) {
            let state = server_text::innodb::parse(status.text()).main_thread_state;
            let entry = |state: &String| Lexicon::get().lookup(Kind::InnodbWord, state);
            let works = |state: &String| entry(state).is_some_and(|one| one.role == Role::Work);
            if let Some(state) = state.filter(works) {
                at_work.seen(Kind::InnodbWord, &state, 1);
            }
        }
    }
    [at_work, all]
}

fn sessions(evidence: &Evidence) -> Counted {
    let mut counted = Counted::default();
    for list in evidence.lists_of_stall() {
        for (state, count) in list.by_state.iter().filter(|(state, _)| !state.is_empty()) {
            let entry = Lexicon::get().lookup(Kind::State, state);
            if entry.is_none_or(|entry| entry.role != Role::Idle) {
                counted.seen(Kind::State, state, count);
            }
        }
        // One that was killed and is still there undoes something, or waits where nobody looks at the flag.
        let killed = list.by_command.count("Killed");
        if killed > 0 {
            counted.all += killed;
            counted.name(Kind::State, KILLED, killed);
        }
    }
    counted
}

fn waits(evidence: &Evidence) -> Counted {
    let mut counted = Counted::default();
    for wait in evidence.semaphores().iter().flat_map(|(_, list)| list) {
        counted.all += 1;
        let place = wait.asked_at.as_str();
        let file = place.split(' ').next().unwrap_or_default();
        counted.name(Kind::Place, place, 1);
        let latch = wait.wait.lock_name.as_deref();
        if let Some(latch) = latch {
            counted.name(Kind::Latch, latch, 1);
        }
        // The latch is one thing; the place that asks for it is any of its victims.
        let lexicon = Lexicon::get();
        let by_latch = latch.and_then(|name| Some((name, lexicon.lookup(Kind::Latch, name)?)));
        let told = by_latch.or_else(|| Some((file, lexicon.lookup(Kind::Place, file)?)));
        if let Some((name, entry)) = told {
            counted.meaning(entry, name, 1);
        }
    }
    counted
}

fn locks(evidence: &Evidence) -> Counted {
    let mut counted = Counted::default();
    let tables = evidence.incident.stacks.locks.iter();
    let told = tables.filter(|table| {
        matches!(table.depth, WaitCounting::Told { .. })
            && evidence.tells_of_stall(table.from, table.to)
    });
    for row in told.flat_map(|table| &table.locks) {
        // `row lock on shop.orders`: the table is its user's.
        let name = row.name.split(" on ").next().unwrap_or(&row.name);
        counted.seen(Kind::Latch, name, u64::from(row.waiters_max));
    }
    counted
}

/// By milliseconds of their time.
fn statements(evidence: &Evidence) -> Counted {
    let mut counted = Counted::default();
    let (words, seconds) = statement_time::by_class(evidence);
    let ms = |seconds: f64| (seconds * 1000.0) as u64;
    for (word, seconds) in words {
        counted.seen(Kind::Statement, word, ms(seconds));
    }
    counted.all = ms(seconds);
    counted
}

/// What lines of a log have in common that differ by times and numbers of threads only: each look into the lexicon takes
/// microseconds, and logs have a hundred thousand lines of some dozens of shapes. The number of an error is its meaning.
fn shape(line: &str) -> String {
    match line.to_ascii_lowercase().contains("err") {
        true => line.to_owned(),
        false => line.chars().filter(|c| !c.is_ascii_digit()).collect(),
    }
}

/// What was quoted in sentences is counted there.
fn logs(evidence: &Evidence) -> Counted {
    let mut known: BTreeMap<&'static str, &'static Entry> = BTreeMap::new();
    let mut shapes: HashSet<String> = HashSet::new();
    let around = evidence.around_stall();
    for timed in &evidence.incident.texts {
        let (kind, source) = match timed.text.kind() {
            TextKind::ErrorLog => (Kind::Message, "error_log"),
            TextKind::KernelLog => (Kind::KernelLine, "kernel_log"),
            _ => continue,
        };
        if !around.contains(timed.at) || evidence.is_quoted(source) {
            continue;
        }
        for line in timed.text.body().lines().take(LINES_MAX) {
            let line = cut(line);
            if shapes.len() >= SHAPES_MAX || !shapes.insert(shape(line)) {
                continue;
            }
            let entry = Lexicon::get().lookup(kind, line);
            if let Some(entry) = entry.filter(|one| one.is_strong && one.role != Role::Idle) {
                known.insert(entry.pattern, entry);
            }
        }
    }
    let mut counted = Counted::default();
    for (pattern, entry) in known {
        counted.all += 1;
        counted.name(entry.kind, pattern, 1);
        counted.meaning(entry, pattern, 1);
    }
    counted
}

fn sentences(evidence: &Evidence, logs: &Counted) -> Counted {
    let mut counted = Counted::default();
    for mention in &evidence.incident.mentions {
        let is_in_log = logs
            .names
            .contains_key(&(mention.kind, mention.word.clone()));
        // A listing that was taken when the stall was over tells of that time.
        let is_elsewhere = || evidence.incident.began_after_it() || is_counted(mention, evidence);
        if mention.is_read && (is_in_log || is_elsewhere()) {
            continue;
        }
        // An amount is told by its name and its value, a statement by its words.
        let is_name = mention.kind.is_amount() || mention.kind == Kind::Statement;
        if is_name || (mention.is_read && !is_of_listing(mention.kind)) {
            counted.name(mention.kind, &mention.word, 1);
            continue;
        }
        let entry = Lexicon::get().lookup(mention.kind, &mention.word);
        if entry.is_some_and(|entry| entry.role != Role::Idle) {
            counted.seen(mention.kind, &mention.word, 1);
        }
    }
    counted
}

/// Kinds that are counted where they stand in a listing.
fn is_of_listing(kind: Kind) -> bool {
    matches!(kind, Kind::Function | Kind::Place | Kind::State)
}

/// What stands in a listing was counted there, unless its reader left it out.
fn is_counted(mention: &Mention, evidence: &Evidence) -> bool {
    match mention.kind {
        Kind::State => evidence.processlists.iter().any(|(_, list)| {
            let mut states = list.by_state.iter();
            states.any(|(state, _)| state.eq_ignore_ascii_case(&mention.word))
        }),
        Kind::Function => {
            let mut frames = evidence.incident.stacks.table.frames().iter();
            frames.any(|frame| frame.name.contains(&mention.word))
        }
        Kind::Place => evidence
            .semaphores()
            .iter()
            .flat_map(|(_, list)| list)
            .any(|wait| wait.asked_at.starts_with(&mention.word)),
        _ => false,
    }
}
