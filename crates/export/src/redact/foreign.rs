//! Stacks of an import that may be none.
//!
//! A row of a table with semicolons and a number at its end has the form of a folded stack, and `12 alice,bob` that of
//! pt-pmp's. A recorder has its functions from the programs themselves; an import has whatever a text holds. So there a
//! stack in which the lexicon knows no function is taken for somebody's words.
//!
//! Of other programs a recorder keeps the kernel's part alone; `perf` samples all that runs on a host, and the functions
//! and libraries of a company's own program are its names.

use std::collections::HashSet;

use model::{FrameSide, Incident, StackEvidence, StackId, Stall};

/// Which stacks and frames are somebody's, by their numbers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Foreign {
    is_import: bool,
    stacks: Vec<bool>,
    frames: Vec<bool>,
}

impl Foreign {
    /// Those of an incident; none where a recorder took the stacks.
    pub(crate) fn of(incident: &Incident) -> Self {
        let mut triggers = incident.stall.triggers.iter();
        if !triggers.any(|trigger| trigger.rule == Stall::IMPORTED) {
            return Self::default();
        }
        let table = &incident.stacks.table;
        let is_known: Vec<bool> = table
            .frames()
            .iter()
            .map(|frame| frame.is_known())
            .collect();
        let known = |id: &model::FrameId| is_known.get(id.0 as usize) == Some(&true);
        let of_others = of_other_programs(&incident.stacks);
        let mut frames = vec![true; is_known.len()];
        let mut stacks = Vec::with_capacity(table.stacks().len());
        for (number, stack) in (0_u32..).zip(table.stacks()) {
            let is_code = stack.frames.iter().any(known);
            let is_of_server = !of_others.contains(&StackId(number));
            stacks.push(!is_code);
            for id in stack.frames.iter().filter(|_| is_code) {
                let is_of_kernel = || {
                    table
                        .frame(*id)
                        .is_some_and(|frame| frame.side == FrameSide::Kernel)
                };
                if let Some(frame) = frames.get_mut(id.0 as usize)
                    && (is_of_server || known(id) || is_of_kernel())
                {
                    *frame = false;
                }
            }
        }
        // A frame without a name is called by its library, one that stands for a program by that.
        for (is_foreign, frame) in frames.iter_mut().zip(table.frames()) {
            *is_foreign &= frame.nameless.is_none() && !super::is_program_frame(&frame.name);
        }
        Self {
            is_import: true,
            stacks,
            frames,
        }
    }

    /// Whether other tools read the stacks: then names of threads are whatever stood in their text.
    pub(crate) fn is_import(&self) -> bool {
        self.is_import
    }

    /// Whether the frame of this number is somebody's.
    pub(crate) fn has_frame(&self, number: usize) -> bool {
        self.frames.get(number) == Some(&true)
    }

    /// Whether the stack is.
    pub(crate) fn has_stack(&self, id: model::StackId) -> bool {
        self.stacks.get(id.0 as usize) == Some(&true)
    }
}

/// The stacks that no thread of the server had.
fn of_other_programs(stacks: &StackEvidence) -> HashSet<StackId> {
    let rows = || {
        let profiles = stacks.profiles.iter().map(|profile| &profile.counts);
        let callers = stacks.callers.iter().map(|callers| &callers.counts);
        profiles.chain(callers).flatten()
    };
    let mut others: HashSet<StackId> = rows()
        .filter(|row| !row.server)
        .map(|row| row.stack)
        .collect();
    for row in rows().filter(|row| row.server) {
        others.remove(&row.stack);
    }
    for run in &stacks.runs {
        others.remove(&run.stack);
    }
    others
}
