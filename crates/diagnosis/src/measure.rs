//! A sign, and what it measures.

use std::fmt;
use std::sync::Arc;

use expression::{Condition, Expression};
use model::{Holder, Window};

use crate::evaluate::{self, Missing, Truth};
use crate::evidence::Evidence;
use crate::functions::arguments::{Arguments, Read};
use crate::human::Show;
use crate::moments::Over;
use crate::named;
use crate::names::NamePattern;
use crate::provenance;
use crate::template::Template;

/// A test on the evidence whose outcome speaks for or against a cause.
#[derive(Debug, Clone)]
pub(crate) struct Sign {
    pub(crate) id: String,
    pub(crate) says: Template,
    pub(crate) need: Need,
    pub(crate) conclusive: bool,
    /// Whether it counts for the level: a circumstance that must hold does not.
    pub(crate) counts: bool,
    /// For a sign against: whether it refutes, or only weakens.
    pub(crate) refutes: bool,
    pub(crate) test: Test,
    /// A number says nothing in windows in which one of these does not hold.
    pub(crate) only_if: Vec<Condition>,
    /// Windows in which all of these hold say nothing.
    pub(crate) left_out_if: Vec<Condition>,
    /// It is looked for in each thing that `*` stands for.
    pub(crate) each: bool,
    /// None for a fact, which is compared as a text.
    pub(crate) limits: Limits,
    pub(crate) over: Over,
    /// How its number is written.
    pub(crate) show: Show,
}

impl Sign {
    /// The source of the evidence: that of the first signal or fact.
    pub(crate) fn source(&self) -> String {
        match &self.test {
            Test::Signals(SignalsTest { expression, .. }) => {
                let patterns = expression.patterns();
                let name = patterns.first().copied();
                provenance::source_of(name.or(expression.first_fact()).unwrap_or_default())
            }
            Test::Call(call) => call.function.source().to_owned(),
            Test::Fact(test) => provenance::source_of(&test.name),
        }
    }

    /// What its number is, in words.
    pub(crate) fn words(&self) -> String {
        match &self.test {
            Test::Signals(test) => test.text.clone(),
            Test::Call(call) => call.function.words(false),
            Test::Fact(test) => test.name.clone(),
        }
    }

    /// The function that it asks.
    pub(crate) fn call(&self) -> Option<&Call> {
        match &self.test {
            Test::Call(call) => Some(call),
            Test::Signals(_) | Test::Fact(_) => None,
        }
    }
}

/// Whether a cause can be considered without a sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Need {
    Optional,
    Necessary,
    /// One of the signs of this group is necessary.
    OneOf(String),
    /// It takes the place of the sign with this id where that one cannot be judged.
    InsteadOf(String),
}

impl Need {
    /// Whether a cause is not considered without it, or without its group.
    pub(crate) fn is_needed(&self) -> bool {
        matches!(self, Self::Necessary | Self::OneOf(_))
    }
}

/// What is looked at.
#[derive(Debug, Clone)]
pub(crate) enum Test {
    /// A number that is computed from signals.
    Signals(SignalsTest),
    /// The number of a function.
    Call(Call),
    Fact(FactTest),
}

#[derive(Debug, Clone)]
pub(crate) struct SignalsTest {
    /// As it is written in the file.
    pub(crate) text: String,
    pub(crate) expression: Expression,
}

#[derive(Debug, Clone)]
pub(crate) struct FactTest {
    pub(crate) name: String,
    pub(crate) wanted: Wanted,
    /// How its number is written; else as the server writes it.
    pub(crate) show: Option<Show>,
}

impl FactTest {
    /// Whether this value, as the server writes it, is the wanted one.
    pub(crate) fn holds(&self, value: &str) -> bool {
        let number = value.parse::<f64>();
        let is = |fits: &dyn Fn(f64) -> bool| number.is_ok_and(fits);
        match &self.wanted {
            Wanted::Equals(text) => value.eq_ignore_ascii_case(text),
            Wanted::Not(text) => !value.eq_ignore_ascii_case(text),
            Wanted::Matches(pattern) => pattern.is_match(value),
            Wanted::Above(limit) => is(&|number| number >= *limit),
            Wanted::Below(limit) => is(&|number| number <= *limit),
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) enum Wanted {
    Equals(String),
    Not(String),
    Matches(NamePattern),
    Above(f64),
    Below(f64),
}

/// When a number is a sign. Limits are included: `above = 3` holds for 3.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Limits {
    pub(crate) above: Option<f64>,
    pub(crate) below: Option<f64>,
    /// At least so many times the value before the onset.
    pub(crate) times_baseline: Option<f64>,
    /// At most so many times the value before the onset.
    pub(crate) at_most_times_baseline: Option<f64>,
    /// Where nothing is known of the time before, the other limits suffice.
    pub(crate) baseline_optional: bool,
}

impl Limits {
    /// Whether large values are the sign, or small ones.
    pub(crate) fn wants_high(&self) -> bool {
        self.above.is_some() || self.times_baseline.is_some()
    }

    /// The same on a number of threads, sessions or waits that can hardly be larger than this.
    fn up_to(mut self, most: f64) -> Self {
        self.above = self.above.map(|above| above.min(most));
        self
    }

    /// The same where a part is shown: one is what was shown.
    pub(crate) fn in_part(self) -> Self {
        self.up_to(1.0)
    }
}

/// A kind of evidence with its functions.
#[derive(Debug)]
pub(crate) struct Kind {
    /// What people are told of it.
    pub(crate) name: &'static str,
    /// What stands in docs/reference/causes.md of its functions and their arguments.
    pub(crate) documentation: &'static str,
    pub(crate) taken: Taken,
    /// `{each}` in a sentence is what most of the number is of; in words, where no single one is meant. Nothing where a
    /// sentence has no such place.
    pub(crate) each: Option<&'static str>,
    /// Where the names stand that its patterns are for.
    pub(crate) names: Option<named::Seen>,
    pub(crate) functions: &'static [Known],
}

/// How evidence is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Taken {
    /// At moments: a stall is looked at in slices.
    Snapshots,
    /// Over stretches of time: there is one number for a stall.
    Stretches,
    /// When something happens; likewise, and there are no readings to compare.
    Events,
}

pub(crate) type ReadCall = fn(&mut Arguments) -> Read<Arc<dyn Function>>;

/// A function.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) name: &'static str,
    /// How its number is written; nothing where a sign says it.
    pub(crate) unit: Option<Show>,
    pub(crate) read: ReadCall,
}

/// A function whose number is written in this unit.
pub(crate) const fn known(name: &'static str, unit: Show, read: ReadCall) -> Known {
    Known {
        name,
        unit: Some(unit),
        read,
    }
}

/// A function with its arguments.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) kind: &'static Kind,
    pub(crate) unit: Option<Show>,
    pub(crate) function: Arc<dyn Function>,
}

pub(crate) trait Function: fmt::Debug + Send + Sync {
    /// The source of the evidence, where a measurement does not know it better.
    fn source(&self) -> &'static str;

    /// What is counted, in words: `in_full` with all that is asked for.
    fn words(&self, in_full: bool) -> String;

    /// The numbers of the stall and of the time before.
    fn measure(&self, sign: &Sign, evidence: &Evidence) -> Measured;

    /// The number of each snapshot or stretch of the record.
    fn readings(&self, _: &Evidence) -> Vec<(Window, f64)> {
        Vec::new()
    }

    /// The signals that show the same.
    fn signals(&self, _: &Evidence) -> Vec<String> {
        Vec::new()
    }

    /// It is the server's or the kernel's own word for what is wrong.
    fn is_said(&self, _: &Evidence) -> bool {
        false
    }

    /// It asks for such a name of the lexicon.
    fn asks_for(&self, _: lexicon::Kind, _: &str) -> bool {
        false
    }

    /// It is about this lock, whoever holds it.
    fn is_of_lock(&self, _lock: &str) -> bool {
        false
    }

    /// It asks for this holder.
    fn is_of_holder(&self, _: &Holder, _: &Evidence) -> bool {
        false
    }
}

/// What a sign came to, before it is held against its limits.
#[derive(Default)]
pub(crate) struct Measured {
    /// In each window of the stall that is looked at.
    pub(crate) seen: Vec<Seen>,
    pub(crate) baseline: Option<f64>,
    /// The sign's, as far as this evidence can reach them.
    pub(crate) limits: Limits,
    /// Only a part was shown: it proves nothing.
    pub(crate) is_part: bool,
    /// The thing that it is about.
    pub(crate) each: Option<String>,
    /// Where it is not the sign's.
    pub(crate) source: Option<String>,
    /// The baseline is the average since the server's start. That can make a sign sure, and not deny it: what is wrong may
    /// be so since the start.
    pub(crate) since_start: bool,
}

impl Measured {
    pub(crate) fn new(sign: &Sign, seen: Vec<Seen>, baseline: Option<f64>) -> Self {
        Self {
            seen,
            baseline,
            limits: sign.limits,
            ..Self::default()
        }
    }

    /// Of one number over the stall as a whole.
    pub(crate) fn over_stall(
        sign: &Sign,
        evidence: &Evidence,
        seen: Seen,
        baseline: Option<f64>,
    ) -> Self {
        let seen = conditional(sign, evidence, &[evidence.stall], vec![seen]);
        Self::new(sign, seen, baseline)
    }

    /// The same of a number of sessions, of threads or of those that wait, where it may be that there are few at all.
    pub(crate) fn of_crowd(mut self, evidence: &Evidence) -> Self {
        if let Some(few) = evidence.in_statements() {
            // They cannot be a crowd: half of them is one.
            self.limits = self.limits.up_to(few / 2.0);
        }
        self
    }

    /// The same of a part of what there was, in which one is what was shown.
    pub(crate) fn of_part(self, sign: &Sign) -> Self {
        Self {
            limits: sign.limits.in_part(),
            is_part: true,
            ..self
        }
    }
}

/// What was seen in each window, where the conditions of the sign are or are not met.
pub(crate) fn conditional(
    sign: &Sign,
    evidence: &Evidence,
    windows: &[Window],
    mut seen: Vec<Seen>,
) -> Vec<Seen> {
    if sign.only_if.is_empty() || !seen.iter().any(|one| matches!(one, Seen::Number(_))) {
        return seen;
    }
    let truths = evaluate::truths(&sign.only_if, evidence.incident, windows);
    for (one, truth) in seen.iter_mut().zip(truths) {
        if let Seen::Number(number) = *one {
            *one = met(number, truth);
        }
    }
    seen
}

/// What a number is where conditions are or are not met.
pub(crate) fn met(number: f64, truth: Truth) -> Seen {
    match truth {
        Truth::True => Seen::Number(number),
        Truth::False => Seen::Idle(number),
        Truth::Absent(names) => Seen::Absent(names),
    }
}

pub(crate) fn absent(name: &str) -> Seen {
    Seen::Absent(evaluate::only(name))
}

/// What a number was in one window.
#[derive(Clone)]
pub(crate) enum Seen {
    Number(f64),
    /// A number, where the conditions of the sign are not met.
    Idle(f64),
    /// Recorded, but without a value.
    Nothing,
    Absent(Missing),
}
