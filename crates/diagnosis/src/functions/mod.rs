//! What a sign can measure that is no signal: `sessions(state = '…')`, `log_lines(log = error, line = '…')`.
//!
//! One file for each kind of evidence, with the arguments, the evaluation and the words; one row for each function. The rest
//! (limits, windows, conditions, levels, comparisons) is the same for all and knows them by the table only.

mod arguments;
mod call;
mod latches;
mod lines;
mod locks;
mod profile;
mod sessions;
mod snapshots;
mod statements;
mod threads;

use std::fmt;
use std::sync::Arc;

use expression::ExpressionError;
use model::{Holder, Window};

pub(crate) use self::arguments::{Argument, Arguments, Read, Value};
pub(crate) use self::latches::PlacedWait;
pub(crate) use self::lines::LINES_MAX;
pub(crate) use self::profile::Sampled;
use crate::catalogue::Sign;
use crate::evidence::Evidence;
use crate::human::Show;
use crate::named::Seen;
use crate::sign::Measured;

static KINDS: [&Kind; 8] = [
    &sessions::KIND,
    &threads::KIND,
    &profile::KIND,
    &locks::KIND,
    &statements::KIND,
    &latches::KIND,
    &lines::LOG,
    &lines::INNODB,
];

/// A kind of evidence with its functions.
#[derive(Debug)]
pub(crate) struct Kind {
    /// What people are told of it.
    pub(crate) name: &'static str,
    pub(crate) taken: Taken,
    /// `{each}` in a sentence is what most of the number is of.
    pub(crate) has_each: bool,
    /// Where the names stand that its patterns are for.
    pub(crate) names: Option<Seen>,
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

type ReadCall = fn(&mut Arguments) -> Read<Arc<dyn Function>>;

/// A function.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) name: &'static str,
    /// How its number is written; nothing where a sign says it.
    pub(crate) unit: Option<Show>,
    pub(crate) read: ReadCall,
}

/// A function whose number is written in this unit.
const fn known(name: &'static str, unit: Show, read: ReadCall) -> Known {
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

/// The function of this name, with its kind.
pub(crate) fn find(name: &str) -> Option<(&'static Kind, &'static Known)> {
    KINDS.into_iter().find_map(|kind| {
        let known = kind.functions.iter().find(|known| known.name == name)?;
        Some((kind, known))
    })
}

/// Says of a name that an expression does not know what the functions of other evidence make of it.
pub(crate) fn explain_unknown(error: &mut ExpressionError) {
    let Some(name) = error.unknown.take() else {
        return;
    };
    if find(&name).is_some() {
        error.problem = format!("{name} stands alone: it is all of a measure");
    } else {
        let functions = KINDS.into_iter().flat_map(|kind| kind.functions);
        let names: Vec<&str> = functions.map(|known| known.name).collect();
        error.problem += &format!(", and alone {}", names.join(", "));
    }
}
