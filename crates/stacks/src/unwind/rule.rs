//! Unwinding rules in the few bytes that most of them need: thousands are kept.

use super::arch;
use gimli::{CfaRule, Register, RegisterRule, UnwindTableRow};

pub(super) const TRACKED: usize = arch::TRACKED.len();

/// The stack pointer, where [`Offsets::cfa_register`] else is an index in the tracked registers.
pub(super) const CFA_FROM_SP: u8 = u8::MAX;

/// How to get from a function to its caller, at one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    /// The return address is marked as undefined: nothing called this function.
    Root,
    /// No table covers the address, or what it says about it is damaged.
    Missing,
    /// Everything is found at fixed offsets.
    Offsets(Offsets),
    /// The row must be evaluated each time: it has expressions.
    Evaluate {
        /// The frame that the kernel makes for a signal handler: its caller was interrupted, and called nothing.
        signal: bool,
    },
}

/// Where the caller's registers are. The CFA ("canonical frame address", DWARF 5 section 6.4) is the caller's stack
/// pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Offsets {
    pub(super) signal: bool,
    pub(super) cfa_register: u8,
    pub(super) cfa_offset: i32,
    pub(super) return_address: Saved,
    pub(super) saved: [Saved; TRACKED],
}

impl Offsets {
    /// The frame pointer points to its caller's, below the return address, and the rule starts from it. Tells the bytes
    /// that other registers take below.
    pub(super) fn pushed_below_frame_pointer(&self) -> Option<u64> {
        let at = |saved: &Saved| saved.offset();
        let usual = usize::from(self.cfa_register) == arch::FRAME_POINTER
            && self.cfa_offset == 16
            && at(&self.return_address) == Some(-8)
            && self.saved.get(arch::FRAME_POINTER).and_then(at) == Some(-16);
        let lowest = self.saved.iter().filter_map(at).min()?;
        usual.then(|| (-16 - lowest).max(0) as u64)
    }
}

/// Where a register of the caller is: in two bytes, since thousands of these are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Saved(i16);

impl Saved {
    /// In the register itself.
    pub(super) const KEPT: Self = Self(i16::MIN);
    /// Nowhere.
    pub(super) const LOST: Self = Self(i16::MIN + 1);

    fn at(offset: i64) -> Option<Self> {
        let words = i16::try_from(offset / 8).ok()?;
        (offset % 8 == 0 && words > Self::LOST.0).then_some(Self(words))
    }

    /// Offset from the CFA in bytes, when it is in memory.
    pub(super) fn offset(self) -> Option<i64> {
        (self != Self::KEPT && self != Self::LOST).then(|| i64::from(self.0) * 8)
    }
}

pub(super) fn tracked(register: Register) -> Option<usize> {
    arch::TRACKED.iter().position(|known| *known == register)
}

/// The compact form of a row, or [`Rule::Evaluate`] when it has none.
pub(super) fn compile(row: &UnwindTableRow<usize>, signal: bool) -> Rule {
    match row.register(arch::RETURN) {
        Some(RegisterRule::Undefined) => return Rule::Root,
        None if arch::LINK.is_none() => return Rule::Missing,
        _ => {}
    }
    compact(row, signal).map_or(Rule::Evaluate { signal }, Rule::Offsets)
}

fn compact(row: &UnwindTableRow<usize>, signal: bool) -> Option<Offsets> {
    let CfaRule::RegisterAndOffset { register, offset } = *row.cfa() else {
        return None;
    };
    let cfa_register = if register == arch::SP {
        CFA_FROM_SP
    } else {
        u8::try_from(tracked(register)?).ok()?
    };
    let mut saved = [Saved::KEPT; TRACKED];
    for (slot, register) in saved.iter_mut().zip(arch::TRACKED) {
        *slot = place(row, register)?;
    }
    Some(Offsets {
        signal,
        cfa_register,
        cfa_offset: i32::try_from(offset).ok()?,
        return_address: place(row, arch::RETURN)?,
        saved,
    })
}

fn place(row: &UnwindTableRow<usize>, register: Register) -> Option<Saved> {
    match row.register(register) {
        None | Some(RegisterRule::SameValue) => Some(Saved::KEPT),
        Some(RegisterRule::Undefined) => Some(Saved::LOST),
        Some(RegisterRule::Offset(offset)) => Saved::at(offset),
        _ => None,
    }
}
