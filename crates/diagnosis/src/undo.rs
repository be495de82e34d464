//! Which step of a remedy a line of its undo takes back: the one that sets what the line sets back.

use std::collections::BTreeSet;

use crate::verdict::Remedy;

/// A step of a remedy with its undo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Undoable<'a> {
    /// The step as the remedy prints it.
    pub step: &'a str,
    /// The lines of the undo that belong to this step.
    pub undo: Vec<&'a str>,
}

/// The steps of a remedy, each with its own undo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Paired<'a> {
    /// Steps that end the stall now.
    pub now: Vec<Undoable<'a>>,
    /// Permanent changes.
    pub durable: Vec<Undoable<'a>>,
    /// Lines of the undo that set nothing which a step names: they are about the remedy as a whole.
    pub rest: Vec<&'a str>,
}

impl Remedy {
    /// Puts each line of the undo beside the step that it takes back, so that nobody sets back what
    /// they did not change. It is the step that names most of the settings of the line; of several
    /// one that is done at once, and the last of these: to note a value comes before the change.
    pub fn paired(&self) -> Paired<'_> {
        let mut now = alone(&self.now);
        let mut durable = alone(&self.durable);
        let mut rest = Vec::new();
        for line in self.undo.iter().map(String::as_str) {
            let wanted = settings(line);
            let common = |one: &Undoable| settings(one.step).intersection(&wanted).count();
            let in_order = durable.iter_mut().chain(&mut now);
            let best = in_order
                .map(|one| (common(one), one))
                .max_by_key(|(common, _)| *common)
                .filter(|(common, _)| *common > 0);
            match best {
                Some((_, one)) => one.undo.push(line),
                None => rest.push(line),
            }
        }
        Paired { now, durable, rest }
    }
}

fn alone(steps: &[String]) -> Vec<Undoable<'_>> {
    let steps = steps.iter().map(|step| Undoable {
        step,
        undo: Vec::new(),
    });
    steps.collect()
}

/// The settings that a step names: words with a letter in front and `_` or `.` inside, such as
/// `innodb_io_capacity`, `vm.swappiness`, `MAX_USER_CONNECTIONS`.
fn settings(text: &str) -> BTreeSet<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    text.split(|c: char| !is_part(c))
        .map(|word| word.trim_matches('.'))
        .filter(|word| word.starts_with(|c: char| c.is_ascii_alphabetic()))
        .filter(|word| word.contains(['_', '.']))
        .collect()
}
