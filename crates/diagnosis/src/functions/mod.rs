//! What a sign can measure that is no signal: `sessions(state = '…')`, `log_lines(log = error, line = '…')`.
//!
//! One file for each kind of evidence, with the arguments, the evaluation, the words and the documentation; one row for each
//! function. The rest (limits, windows, conditions, levels, comparisons) is the same for all and knows them by the table
//! only, which the build script makes of these files.

use expression::{AGGREGATES, ExpressionError, Of};

use self::arguments::{Argument, Value};
pub(crate) use self::arguments::{Arguments, Read};
use crate::measure::{Kind, Known};

include!(concat!(env!("OUT_DIR"), "/functions.rs"));

/// The documentation of all functions, as Markdown: of those of one signal, and of those that are all of a measure.
pub fn functions_documentation() -> [String; 2] {
    let rows = AGGREGATES.iter().map(|function| {
        let value = match function.of {
            Of::ReadingsAndValue(_) => ", 3",
            _ => "",
        };
        format!("| `{}(s{value})` | {} |\n", function.name, function.says)
    });
    [
        format!(
            "| function | meaning |\n|---|---|\n{}",
            rows.collect::<String>()
        ),
        KINDS.iter().map(|kind| kind.documentation).collect(),
    ]
}

/// The function of this name, with its kind.
pub(crate) fn find(name: &str) -> Option<(&'static Kind, &'static Known)> {
    KINDS.iter().copied().find_map(|kind| {
        let known = kind.functions.iter().find(|known| known.name == name)?;
        Some((kind, known))
    })
}

/// Says of a name that an expression does not know what the functions of other evidence make of it.
pub(crate) fn explained(mut error: ExpressionError) -> ExpressionError {
    let Some(name) = error.unknown.take() else {
        return error;
    };
    if find(&name).is_some() {
        error.problem = format!("{name} stands alone: it is all of a measure");
    } else {
        let functions = KINDS.iter().flat_map(|kind| kind.functions);
        let names: Vec<&str> = functions.map(|known| known.name).collect();
        error.problem += &format!(", and alone {}", names.join(", "));
    }
    error
}
