//! What is kept of a process from stack to stack: rules, frames and calls by address.

use super::call_site::Layout;
use super::rule::Rule;
use crate::images::CodeAddress;
use gimli::UnwindContext;
use std::collections::HashMap;

/// Addresses whose rule is kept, about 1.5 MB. Snapshots of a busy server of 500 threads show about 1,500.
pub(super) const STEPS_MAX: usize = 16_384;

/// Rules of a process by address.
#[derive(Debug, Default)]
pub(crate) struct Unwinder {
    pub(super) steps: HashMap<u64, Step>,
    pub(super) frame_pointers: FramePointers,
    pub(super) context: UnwindContext<usize>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Step {
    pub(super) address: CodeAddress,
    pub(super) rule: Rule,
}

impl Unwinder {
    /// Forgets all rules: the addresses mean something else now.
    pub(crate) fn forget(&mut self) {
        self.steps.clear();
        self.frame_pointers.forget();
    }
}

/// What is known of frames and calls, by address.
#[derive(Debug, Default)]
pub(super) struct FramePointers {
    /// By program counter.
    pub(super) layouts: HashMap<u64, Layout>,
    /// By return address and the function that is to be called there.
    pub(super) proofs: HashMap<(u64, u64), Proof>,
}

/// What the instruction before a return address says about a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Proof {
    /// It calls this function.
    Calls,
    /// It calls a function that it does not name.
    CallsSome,
    /// It calls another one, or is no call.
    None,
}

impl FramePointers {
    fn forget(&mut self) {
        self.layouts.clear();
        self.proofs.clear();
    }

    pub(super) fn make_room(&mut self) {
        if self.layouts.len() >= STEPS_MAX {
            self.layouts.clear();
        }
        if self.proofs.len() >= STEPS_MAX {
            self.proofs.clear();
        }
    }
}
