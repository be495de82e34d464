//! A cause as people read it: what each of its signs looks for, in words, with its limits.

use serde::Serialize;

use crate::catalogue::{
    Cause, Column, Counting, FactTest, Limits, LookAlike, MeasureTest, Need, Over, ProcesslistTest,
    Sign, Test, Wanted,
};
use crate::deep::{
    LockCounting, LockTest, ProfileCounting, ProfileTest, StacksCounting, StacksTest,
    StatementsCounting, StatementsTest,
};
use crate::human::{self, Show};
use crate::names::NamePattern;
use crate::sign::{lines, semaphores};
use crate::texts::{LineCounting, LinesTest, SemaphoresTest, WaitCounting};
use crate::verdict::Remedy;

/// A cause of the catalogue, described.
#[derive(Debug, Clone, Serialize)]
pub struct Description {
    /// Unique id.
    pub id: String,
    /// Short name for people.
    pub title: String,
    /// What it is.
    pub what: String,
    /// Signs for it.
    pub witnesses: Vec<SignDescription>,
    /// Signs against it.
    pub against: Vec<SignDescription>,
    /// What would refute it, in words.
    pub refuted_by: Vec<String>,
    /// Causes that look alike.
    pub look_alikes: Vec<LookAlike>,
    /// Ids of causes that this one makes worse.
    pub aggravates: Vec<String>,
    /// Ids of causes of which this one is usually a consequence.
    pub effect_of: Vec<String>,
    /// What to do.
    pub remedy: Remedy,
    /// Where the knowledge is from.
    pub sources: Vec<String>,
}

/// A sign, described.
#[derive(Debug, Clone, Serialize)]
pub struct SignDescription {
    /// Unique within its list.
    pub id: String,
    /// Kind of test (`measure`, `stacks`, …).
    pub kind: &'static str,
    /// The source of the evidence.
    pub source: String,
    /// What is looked for and its limit, in words.
    pub looks_for: String,
    /// `necessary`, `one of GROUP`, `in place of ID`; empty when the cause can do without it.
    pub need: String,
    /// It proves the cause once a second source stands beside it.
    pub conclusive: bool,
    /// It counts for the level.
    pub counts: bool,
    /// For a sign against: it refutes; else it weakens.
    pub refutes: bool,
}

impl Cause {
    /// The cause in words.
    pub fn describe(&self) -> Description {
        Description {
            id: self.id.clone(),
            title: self.title.clone(),
            what: self.what.clone(),
            witnesses: self.witnesses.iter().map(sign).collect(),
            against: self.against.iter().map(sign).collect(),
            refuted_by: self.refuted_by.clone(),
            look_alikes: self.look_alikes.clone(),
            aggravates: self.aggravates.clone(),
            effect_of: self.effect_of.clone(),
            remedy: self.remedy.clone(),
            sources: self.sources.clone(),
        }
    }

    /// The kinds of its witnesses, each once, by name.
    pub fn kinds(&self) -> Vec<&'static str> {
        let kinds = self.witnesses.iter().map(|sign| kind(&sign.test));
        let kinds: std::collections::BTreeSet<&str> = kinds.collect();
        kinds.into_iter().collect()
    }
}

fn kind(test: &Test) -> &'static str {
    match test {
        Test::Measure(_) => "measure",
        Test::Processlist(_) => "processlist",
        Test::Fact(_) => "fact",
        Test::Profile(_) => "profile",
        Test::Stacks(_) => "stacks",
        Test::Lock(_) => "lock",
        Test::Statements(_) => "statements",
        Test::Semaphores(_) => "semaphores",
        Test::Lines(test) => match test.of.name() {
            "innodb" => "innodb",
            _ => "log",
        },
    }
}

fn sign(sign: &Sign) -> SignDescription {
    SignDescription {
        id: sign.id.clone(),
        kind: kind(&sign.test),
        source: sign.source(),
        looks_for: looks_for(&sign.test),
        need: match &sign.need {
            Need::Optional => String::new(),
            Need::Necessary => "necessary".to_owned(),
            Need::OneOf(group) => format!("one of {group}"),
            Need::InsteadOf(id) => format!("in place of {id}"),
        },
        conclusive: sign.conclusive,
        counts: sign.counts,
        refutes: sign.refutes,
    }
}

fn looks_for(test: &Test) -> String {
    match test {
        Test::Measure(test) => measure(test),
        Test::Processlist(test) => processlist(test),
        Test::Fact(test) => fact(test),
        Test::Profile(test) => profile(test),
        Test::Stacks(test) => stacks(test),
        Test::Lock(test) => lock(test),
        Test::Statements(test) => statements(test),
        Test::Semaphores(test) => waits(test),
        Test::Lines(test) => log_lines(test),
    }
}

fn measure(test: &MeasureTest) -> String {
    let each = if test.each { ", for one of them" } else { "" };
    let what = format!("{}{each}", test.text);
    let left_out = match test.left_out_if.as_slice() {
        [] => String::new(),
        some => {
            let texts: Vec<&str> = some.iter().map(|one| one.text.as_str()).collect();
            format!("; left out while {}", texts.join(" and "))
        }
    };
    format!(
        "{what} {}{}{}{left_out}",
        limits(&test.limits, test.show),
        over(test.over),
        conditions(test.only_if.iter().map(|one| one.text.as_str())),
    )
}

fn processlist(test: &ProcesslistTest) -> String {
    let (what, show) = match test.counting {
        Counting::Share => ("the share of sessions", Show::Percent),
        Counting::Sessions => ("the number of sessions", Show::Count),
    };
    let of = match &test.column {
        Column::Class(class) => format!("that run '{class}'"),
        Column::State(regex) => format!("in a state like /{regex}/"),
        Column::Command(regex) => format!("with a command like /{regex}/"),
        Column::User(regex) => format!("of a user like /{regex}/"),
        Column::Statement(regex) => format!("with a statement like /{regex}/"),
    };
    let few = match test.min_sessions {
        0 | 1 => String::new(),
        min => format!(", where there are {min} sessions or more"),
    };
    format!(
        "{what} {of} {}{few}{}{}",
        limits(&test.limits, show),
        over(test.over),
        conditions(test.only_if.iter().map(|one| one.text.as_str())),
    )
}

fn fact(test: &FactTest) -> String {
    let shown = |limit: f64| match test.show {
        Some(show) => human::show(limit, show),
        None => limit.to_string(),
    };
    let wanted = match &test.wanted {
        Wanted::Equals(text) => format!("is {text}"),
        Wanted::Not(text) => format!("is not {text}"),
        Wanted::Matches(regex) => format!("is like /{regex}/"),
        Wanted::Above(limit) => format!("is at least {}", shown(*limit)),
        Wanted::Below(limit) => format!("is at most {}", shown(*limit)),
    };
    format!("the setting {} {wanted}", test.name)
}

fn profile(test: &ProfileTest) -> String {
    let (what, show) = match test.counting {
        ProfileCounting::Share => ("the share of samples", Show::Percent),
        ProfileCounting::Cpus => ("the number of busy CPUs", Show::Count),
    };
    let side = match test.side {
        Some(model::Side::Kernel) => "the kernel's ",
        Some(model::Side::User) => "the server's own ",
        None => "",
    };
    let place = if test.only_self {
        "that stand in"
    } else {
        "in"
    };
    let under = test.under.as_ref().map_or_else(String::new, |under| {
        format!(" called from /{}/", under.text())
    });
    let of = if test.machine {
        ", of the whole machine,"
    } else {
        ""
    };
    format!(
        "{what} {place} {side}/{}/{under}{of} {}{}",
        test.functions.text(),
        limits(&test.limits, show),
        conditions(test.only_if.iter().map(|one| one.text.as_str())),
    )
}

fn stacks(test: &StacksTest) -> String {
    let (what, show) = match test.counting {
        StacksCounting::Share => ("the share of the server's threads", Show::Percent),
        StacksCounting::Threads => ("the number of the server's threads", Show::Count),
    };
    let mut which = Vec::new();
    if let Some(thread) = &test.thread {
        which.push(format!("named /{}/", thread.text()));
    }
    if let Some(state) = test.state {
        which.push(format!("that are {}", state.words()));
    }
    if !test.frames.is_empty() {
        let between = if test.direct {
            " called by "
        } else {
            " under "
        };
        which.push(format!("in {}", frames(&test.frames, between)));
    }
    format!(
        "{what} {} {}{}{}",
        which.join(", "),
        limits(&test.limits, show),
        over(test.over),
        conditions(test.only_if.iter().map(|one| one.text.as_str())),
    )
}

fn lock(test: &LockTest) -> String {
    let (what, show) = match test.counting {
        LockCounting::Share => (
            "the share of all busy threads' time in waits",
            Show::Percent,
        ),
        LockCounting::Waiters => ("the most threads that wait at once", Show::Count),
        LockCounting::Waiting => ("the number of threads that wait", Show::Count),
        LockCounting::PerSecond => ("waits", Show::PerSecond),
    };
    let caller = test.caller.as_ref().map_or_else(String::new, |caller| {
        format!(" asked for by /{}/", caller.text())
    });
    let holder = if test.holder.is_empty() {
        String::new()
    } else {
        format!(", held by a thread in {},", frames(&test.holder, " and "))
    };
    format!(
        "{what} for the lock /{}/{caller}{holder} {}{}",
        test.lock.text(),
        limits(&test.limits, show),
        conditions(test.only_if.iter().map(|one| one.text.as_str())),
    )
}

fn statements(test: &StatementsTest) -> String {
    let (what, show) = match test.counting {
        StatementsCounting::Share => ("the share of statements", Show::Percent),
        StatementsCounting::Time => ("the share of the statements' time", Show::Percent),
        StatementsCounting::PerSecond => ("statements", Show::PerSecond),
    };
    let mut of = String::new();
    if let Some(class) = &test.class {
        of.push_str(&format!(" of class '{class}'"));
    }
    if let Some(statement) = &test.statement {
        of.push_str(&format!(" like /{statement}/"));
    }
    format!(
        "{what}{of} {}{}",
        limits(&test.limits, show),
        conditions(test.only_if.iter().map(|one| one.text.as_str())),
    )
}

fn waits(test: &SemaphoresTest) -> String {
    let (what, show) = semaphores::what(test.counting);
    let few = match (test.counting, test.min_waits) {
        (WaitCounting::Share, min) if min > 1 => format!(", of {min} waits or more,"),
        _ => String::new(),
    };
    format!(
        "{what} for InnoDB's latches{}{few} {}{}",
        semaphores::described(test),
        limits(&test.limits, show),
        conditions(test.only_if.iter().map(|one| one.text.as_str())),
    )
}

fn log_lines(test: &LinesTest) -> String {
    let show = match test.counting {
        LineCounting::Lines => Show::Count,
        LineCounting::Largest => test.show,
    };
    format!(
        "{} {}{}",
        lines::what(test, &test.line.text()),
        limits(&test.limits, show),
        conditions(test.only_if.iter().map(|one| one.text.as_str())),
    )
}

fn frames(patterns: &[NamePattern], between: &str) -> String {
    let texts = patterns.iter().map(|one| format!("/{}/", one.text()));
    texts.collect::<Vec<_>>().join(between)
}

fn limits(limits: &Limits, show: Show) -> String {
    let mut parts = Vec::new();
    if let Some(limit) = limits.above {
        parts.push(format!("at least {}", human::show(limit, show)));
    }
    if let Some(limit) = limits.below {
        parts.push(format!("at most {}", human::show(limit, show)));
    }
    let known = if limits.baseline_optional {
        ", where that is known"
    } else {
        ""
    };
    if let Some(times) = limits.times_baseline {
        parts.push(format!(
            "at least {} the value before the onset{known}",
            human::times(times)
        ));
    }
    if let Some(times) = limits.at_most_times_baseline {
        parts.push(format!(
            "at most {} the value before the onset{known}",
            human::times(times)
        ));
    }
    format!("is {}", parts.join(" and "))
}

fn over(over: Over) -> &'static str {
    match over {
        Over::Worst => "",
        Over::Every => ", all through the stall",
        Over::Stall => ", over the stall as a whole",
    }
}

fn conditions<'t>(texts: impl Iterator<Item = &'t str>) -> String {
    let texts: Vec<&str> = texts.collect();
    if texts.is_empty() {
        String::new()
    } else {
        format!("; only where {}", texts.join(" and "))
    }
}
