//! What a sign can measure that is no signal: `sessions(state = '…')`, `log_lines(log = error, line = '…')`.
//!
//! One file for each kind of evidence, with the arguments, the evaluation and the words; one row for each function. The rest
//! (limits, windows, conditions, levels, comparisons) is the same for all and knows them by the table only.

pub(crate) mod arguments;
mod call;
mod latches;
mod lines;
mod locks;
mod profile;
mod sessions;
mod snapshots;
mod statements;
mod threads;

use expression::ExpressionError;

pub(crate) use self::arguments::{Argument, Arguments, Read, Value};
use crate::measure::{Kind, Known};

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
