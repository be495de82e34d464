//! From signals to an answer. Every answer but *not proven* needs its reasons; what speaks against
//! one makes it *not proven* and is told.

use model::Millis;

use super::case::{Case, Judged};
use super::server_wide::{ELSEWHERE, PRESSURE, RUN_QUEUE, RUNNING};
use super::signals::{ALPHA, HELD_MIN, MATTERS};
use super::{Answer, Fate, Role, SignalChange, Stretch, words};

/// The load may fall to this before calm proves nothing, and grow to its reciprocal before trouble
/// proves nothing.
const LOAD_FELL: f64 = 0.7;

/// A shorter time after a change tells nothing, whatever its seconds say.
const AFTER_MIN_MS: Millis = 30_000;

/// What speaks against an answer, and what would settle it.
#[derive(Default)]
struct Doubts {
    against: Vec<String>,
    missing: Vec<String>,
}

impl Doubts {
    fn add(&mut self, against: impl Into<String>, missing: impl Into<String>) {
        self.against.push(against.into());
        let missing = missing.into();
        if !missing.is_empty() {
            self.missing.push(missing);
        }
    }

    fn nothing_to_compare(&mut self) {
        self.add(
            "the cause was neither there before nor after, so nothing can be compared",
            "A time before the change with the cause.",
        );
    }
}

pub(super) fn judge(case: &Case) -> Judged {
    let deciding: Vec<&SignalChange> = of_role(case.signals, Role::Deciding);
    let of_fate = |wanted: &[Fate]| -> Vec<&SignalChange> {
        let rows = deciding.iter().copied();
        rows.filter(|row| wanted.contains(&row.fate)).collect()
    };
    let better = of_fate(&[Fate::Gone]);
    let less = of_fate(&[Fate::Less]);
    let same = of_fate(&[Fate::Same]);
    let (was_there, is_there) = (is_there(&deciding, false), is_there(&deciding, true));
    let may_hold = |row: &&SignalChange| row.after.held.is_none_or(|held| held > HELD_MIN);
    let mut more = of_fate(&[Fate::More]);
    more.retain(|row| is_there && may_hold(row));
    // Without a cause there are no limits: clearly less is all that can be said.
    let gone = match case.cause {
        Some(_) => better,
        None => less.clone(),
    };
    // Without what it needs the cause is not there, whatever else stays: a server is busy with other things, too. A
    // circumstance that is gone (`counts = false`) does not tell that.
    let needed_is_gone = gone.iter().any(|row| {
        let mut alike = deciding.iter().filter(|other| other.group == row.group);
        !row.circumstance && alike.all(|other| is_gone_with(other, row))
    });
    let all_is_gone = same.is_empty() && less.is_empty();
    let mut there_after = same;
    there_after.retain(may_hold);
    let mut doubts = Doubts::default();
    let supposed = if !more.is_empty() {
        worse(case, &mut doubts);
        elsewhere(case, Fate::More, &mut doubts);
        Some(Answer::Worse)
    } else if !gone.is_empty() && (case.cause.is_none() || needed_is_gone || all_is_gone) {
        worked(case, &mut doubts);
        Some(Answer::Worked)
    } else if !there_after.is_empty()
        && gone.is_empty()
        && less.is_empty()
        && was_there
        && is_there
        && (case.cause.is_some() || of_fate(&[Fate::Unclear, Fate::TooShort]).is_empty())
    {
        worse(case, &mut doubts);
        too_short(case, &mut doubts);
        Some(Answer::NoEffect)
    } else if !was_there && !is_there {
        doubts.nothing_to_compare();
        None
    } else {
        undecided(case, &deciding, &mut doubts);
        None
    };
    let sure = doubts.against.is_empty();
    let answer = supposed.filter(|_| sure).unwrap_or(Answer::NotProven);
    let told: Vec<&SignalChange> = match supposed {
        Some(Answer::Worse) => more,
        Some(Answer::Worked) => gone,
        Some(Answer::NoEffect) => there_after,
        _ => deciding
            .iter()
            .copied()
            .filter(|row| !matches!(row.fate, Fate::NotThere | Fate::NotMeasured))
            .collect(),
    };
    let sentence = words::sentence(case, answer, &told, doubts.against.first());
    let mut reasons = doubts.against.clone();
    reasons.extend(deciding.iter().map(|row| words::reason(row)));
    reasons.extend(words::load(case.load));
    reasons.extend(case.recurrence.map(words::recurrence));
    if answer == Answer::Worked
        && case.before.stretch == Stretch::Window
        && case.recurrence.is_some_and(|it| !it.counts)
    {
        doubts.missing.push(
            "Before the change the cause was there nearly all the time, in one stretch. No number can tell whether the change ended it, or whether it ended by itself then. To find out, undo the change for a minute."
                .to_owned(),
        );
    }
    not_measured(case, &mut doubts);
    Judged {
        answer,
        sentence,
        reasons,
        missing: doubts.missing,
    }
}

/// Whether a sign that stands for another one, which is gone, does not speak for the cause any more: it is gone as well, or
/// was there more seldom and never again, so that its few readings alone could not tell. Beside a conclusive one its level
/// may be nearly what it was, as long as that is on the other side of its limit.
fn is_gone_with(row: &SignalChange, gone: &SignalChange) -> bool {
    let never_again = || match (row.held(), gone.held()) {
        (Some((before, after)), Some((of_gone, _))) => after <= HELD_MIN && before <= of_gone,
        _ => false,
    };
    match row.fate {
        Fate::Gone | Fate::NotThere | Fate::NotMeasured => true,
        Fate::Unclear | Fate::TooShort => never_again(),
        Fate::Less | Fate::Same => gone.conclusive && never_again(),
        Fate::More => false,
    }
}

/// Whether the cause is on a side: of every sign that it needs, or of those that stand for each
/// other one, more than an odd reading says so. What cannot be told does not speak against it.
fn is_there(deciding: &[&SignalChange], after: bool) -> bool {
    let held = |row: &SignalChange| match after {
        true => row.after.held,
        false => row.before.held,
    };
    deciding.iter().all(|row| {
        let mut alike = deciding.iter().filter(|other| other.group == row.group);
        alike.any(|other| held(other).is_none_or(|held| held > HELD_MIN))
    })
}

fn of_role(signals: &[SignalChange], role: Role) -> Vec<&SignalChange> {
    signals.iter().filter(|row| row.role == role).collect()
}

/// What speaks against "worked".
fn worked(case: &Case, doubts: &mut Doubts) {
    match case.load.and_then(|load| load.ratio) {
        Some(ratio) if ratio < LOAD_FELL => doubts.add(
            format!(
                "the load fell to {}, and with so little to do the cause might be gone without any change",
                words::percent(ratio)
            ),
            format!(
                "A time after the change with a load like before it ({} of other statements).",
                case.load.map_or_else(String::new, |load| words::rate(load.before))
            ),
        ),
        Some(_) => {}
        None => doubts.add(
            "it is unknown whether the load was the same: statements were not counted on both sides",
            "A login for the recorder, so that it counts statements (Questions).",
        ),
    }
    elsewhere(case, Fate::Less, doubts);
    too_short(case, doubts);
    // Who does many times the work answers a little later.
    let load_grew = case.load.and_then(|load| load.ratio).is_some_and(grew);
    for row in of_role(case.signals, Role::ServerWide) {
        let slower = match row.id.as_str() {
            "query-latency" => !load_grew,
            "unanswered" => true,
            _ => false,
        };
        if slower && row.fate == Fate::More {
            doubts.add(
                format!(
                    "the cause's sign is gone, but the server became slower: {}",
                    words::brief(row)
                ),
                "Why it is slower now: another cause may be at work; record and explain a stall.",
            );
        }
    }
    recurrence(case, doubts);
}

/// What speaks against saying that something went or stayed: so short a time that its seconds are one piece of luck.
fn too_short(case: &Case, doubts: &mut Doubts) {
    let length = case.after.window.length();
    if case.after.stretch == Stretch::Window && length < AFTER_MIN_MS {
        doubts.add(
            format!(
                "the time after the change is too short: {}",
                words::hours(length as f64 / 3_600_000.0)
            ),
            "A longer time after the change.",
        );
    }
}

/// The load after, by the one before, is clearly more.
fn grew(ratio: f64) -> bool {
    ratio > 1.0 / LOAD_FELL
}

/// A cause that comes and goes is gone when it stays away for longer than chance allows.
fn recurrence(case: &Case, doubts: &mut Doubts) {
    let Some(seen) = case.recurrence else {
        if !matches!(case.before.stretch, Stretch::Window | Stretch::Run) {
            doubts.add(
                "stalls come and go: a calm time after one stall proves nothing, and how often they came is unknown",
                "The directory of incidents (--dir) with the recorder's history, so that stalls an hour can be counted.",
            );
        }
        return;
    };
    if !seen.counts || seen.p < ALPHA {
        return;
    }
    let times = |count: u32| match count {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        count => format!("{count} times"),
    };
    let came = format!(
        "it came {} in {} before and {} in {} after, which may be chance (p = {:.2})",
        times(seen.before),
        words::hours(seen.before_hours),
        match seen.after {
            0 => "never".to_owned(),
            count => times(count),
        },
        words::hours(seen.after_hours),
        seen.p
    );
    let missing = match seen.more_hours {
        Some(more) => format!(
            "Another {} without a stall of this kind.",
            words::hours(more)
        ),
        None => "More time, before and after, or fewer stalls after.".to_owned(),
    };
    doubts.add(came, missing);
}

/// What speaks against "worse" and "no effect".
fn worse(case: &Case, doubts: &mut Doubts) {
    if let Some(ratio) = case.load.and_then(|load| load.ratio)
        && grew(ratio)
    {
        doubts.add(
            format!(
                "the load grew to {}, which alone may explain this",
                words::percent(ratio)
            ),
            "A time after the change with a load like before it.",
        );
    }
}

/// Where only what clients feel is compared, the machine may have been another one: what others
/// take of its processors, clients wait for.
fn elsewhere(case: &Case, fate: Fate, doubts: &mut Doubts) {
    if case.cause.is_some() {
        return;
    }
    let became = |id: &str| {
        let mut rows = case.signals.iter();
        rows.find(|row| row.id == id && row.fate == fate)
    };
    // What the server itself wants of the processors goes up and down with its sessions at work.
    let row = match became(RUNNING) {
        Some(_) => became(ELSEWHERE),
        None => [ELSEWHERE, PRESSURE, RUN_QUEUE]
            .iter()
            .find_map(|id| became(id)),
    };
    if let Some(row) = row {
        doubts.add(
            format!("the machine was not the same: {}", words::brief(row)),
            "Two times with the same other work on the machine, or the cause in question (--cause).",
        );
    }
}

/// No answer suggests itself: why.
fn undecided(case: &Case, deciding: &[&SignalChange], doubts: &mut Doubts) {
    let both = [case.before, case.after];
    if case.cause.is_some() && both.iter().all(|side| side.stretch == Stretch::Stall) {
        doubts.add(
            "the same cause stalled the server again; whether there is less of it than before is unknown",
            "",
        );
    }
    let any = |fate: Fate| deciding.iter().any(|row| row.fate == fate);
    let all = |fates: &[Fate]| deciding.iter().all(|row| fates.contains(&row.fate));
    if deciding.is_empty() || all(&[Fate::NotMeasured]) {
        doubts.add(
            "no sign of the cause was measured on both sides",
            "Recordings of both times by the same sources; the history keeps no stacks, profiles and lock tables: \
             compare incidents for causes that show in these.",
        );
    } else if all(&[Fate::NotThere, Fate::NotMeasured]) {
        doubts.nothing_to_compare();
    } else if any(Fate::TooShort) && all(&[Fate::TooShort, Fate::NotThere, Fate::NotMeasured]) {
        doubts.add(
            "too few independent readings",
            "Longer times on both sides, such as windows of the history (--before, --after).",
        );
    } else {
        // What may have changed or not is why there is no answer; what did not change comes after it.
        let same = deciding.iter().filter(|row| row.fate == Fate::Same);
        let others = deciding.iter().filter(|row| row.fate != Fate::Same);
        for row in others.chain(same) {
            match row.fate {
                Fate::Less if case.cause.is_some() => doubts.add(
                    format!("there is less of it, but it is still there: {}", words::brief(row)),
                    "",
                ),
                Fate::Same => doubts.add(
                    format!("this did not change: {}", words::brief(row)),
                    "",
                ),
                Fate::Unclear => doubts.add(
                    format!("it is unclear whether this changed: {}", words::brief(row)),
                    "Longer times on both sides: the seconds vary too much for the time that was compared.",
                ),
                _ => {}
            }
        }
        if doubts.against.is_empty() {
            doubts.add("nothing that matters changed", "");
        }
    }
    if let Some(ratio) = case.load.and_then(|load| load.ratio)
        && !(MATTERS..=1.0 / MATTERS).contains(&ratio)
    {
        doubts
            .missing
            .push("Two times of about the same load.".to_owned());
    }
}

/// Signals of the cause that one side does not have.
fn not_measured(case: &Case, doubts: &mut Doubts) {
    let names: Vec<&str> = case
        .signals
        .iter()
        .filter(|row| row.role != Role::ServerWide && row.fate == Fate::NotMeasured)
        .map(|row| row.title.as_str())
        .collect();
    if !names.is_empty() {
        doubts.missing.push(format!(
            "Left out, because measured on one side only: {}.",
            names.join("; ")
        ));
    }
}
