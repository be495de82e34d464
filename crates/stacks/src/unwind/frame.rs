//! The registers of one frame, and from them those of its caller.

use super::arch;
use super::cfi::Expressions;
use super::rule::{CFA_FROM_SP, Offsets, Saved, TRACKED, tracked};
use gimli::{
    CfaRule, EvaluationResult, Expression, Location, Register, RegisterRule, UnwindExpression,
    UnwindTableRow, Value,
};
use kernel::snapshot::Registers;
use model::StackEnd;

/// Farther above the stack pointer than any stack is deep: such an address comes from a wrong register.
const STACK_BYTES_MAX: u64 = 1 << 30;
/// Rules have fewer than ten operations; a damaged one must end.
const OPERATIONS_MAX: u32 = 1000;

/// The bytes of a stack.
#[derive(Debug, Clone, Copy)]
pub(super) struct StackCopy<'a> {
    /// Address of the first byte.
    pub(super) start: u64,
    pub(super) bytes: &'a [u8],
    /// There is nothing above them.
    pub(super) whole: bool,
}

/// Where a word would be that is not in the copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hole {
    Below,
    Above,
    Far,
}

impl StackCopy<'_> {
    fn word(&self, address: u64) -> Result<u64, Hole> {
        let Some(offset) = address.checked_sub(self.start) else {
            return Err(Hole::Below);
        };
        usize::try_from(offset)
            .ok()
            .and_then(|at| self.bytes.get(at..at.checked_add(8)?))
            .and_then(|bytes| bytes.try_into().ok())
            .map(u64::from_le_bytes)
            .ok_or(if offset > STACK_BYTES_MAX {
                Hole::Far
            } else {
                Hole::Above
            })
    }

    fn end_at(&self, hole: Hole, after_signal: bool) -> StackEnd {
        match hole {
            // A handler may have run on a stack of its own (sigaltstack(2)): the interrupted one was not copied.
            _ if after_signal => StackEnd::TooDeep,
            Hole::Above if !self.whole => StackEnd::TooDeep,
            _ => StackEnd::Broken,
        }
    }
}

/// The registers in one frame. A register is unknown when nothing on the way saved it and the kernel did not tell it;
/// a rule that needs it then ends the stack: a guess would make a wrong one.
#[derive(Debug, Clone, Copy)]
pub(super) struct FrameRegisters {
    /// Program counter; a return address unless `exact`.
    pub(super) pc: u64,
    /// The program counter is that of an instruction that was about to run: the innermost frame, or one that a signal
    /// interrupted.
    pub(super) exact: bool,
    sp: u64,
    tracked: [Option<u64>; TRACKED],
    after_signal: bool,
}

impl FrameRegisters {
    pub(super) fn innermost(registers: &Registers) -> Self {
        let mut known = [None; TRACKED];
        if let Some(slot) = known.get_mut(arch::FRAME_POINTER) {
            *slot = registers.bp;
        }
        if let Some(slot) = arch::LINK.and_then(|link| known.get_mut(link)) {
            *slot = registers.lr;
        }
        Self {
            pc: registers.ip,
            exact: true,
            sp: registers.sp,
            tracked: known,
            after_signal: false,
        }
    }

    /// An address in the instruction that runs or calls: a return address may be that of the next function.
    pub(super) fn lookup_address(&self) -> Option<u64> {
        if self.exact {
            Some(self.pc)
        } else {
            self.pc.checked_sub(1)
        }
    }

    /// The kernel did not tell the frame pointer, and no frame so far saved it.
    pub(super) fn lacks_frame_pointer(&self) -> bool {
        self.tracked(arch::FRAME_POINTER).is_err()
    }

    /// This frame with a frame pointer at a distance above the stack pointer, and the return address that it implies.
    pub(super) fn with_frame_pointer(
        &self,
        distance: u64,
        stack: &StackCopy<'_>,
    ) -> Option<(Self, u64)> {
        let pointer = self.sp.checked_add(distance)?;
        let return_address = stack.word(pointer.checked_add(8)?).ok()?;
        let mut frame = *self;
        *frame.tracked.get_mut(arch::FRAME_POINTER)? = Some(pointer);
        Some((frame, return_address))
    }

    /// The caller's frame, by fixed offsets.
    pub(super) fn caller(&self, rule: &Offsets, stack: &StackCopy<'_>) -> Result<Self, StackEnd> {
        let base = if rule.cfa_register == CFA_FROM_SP {
            self.sp
        } else {
            self.tracked(usize::from(rule.cfa_register))?
        };
        let cfa = base
            .checked_add_signed(i64::from(rule.cfa_offset))
            .ok_or(StackEnd::Broken)?;
        let mut known = self.tracked;
        for (slot, saved) in known.iter_mut().zip(rule.saved) {
            *slot = self.restored(*slot, saved, cfa, stack);
        }
        let pc = match rule.return_address.offset() {
            Some(offset) => stack
                .word(cfa.wrapping_add_signed(offset))
                .map_err(|hole| stack.end_at(hole, self.after_signal))?,
            None if rule.return_address == Saved::KEPT => {
                self.tracked(arch::LINK.ok_or(StackEnd::Broken)?)?
            }
            None => return Err(StackEnd::Broken),
        };
        self.next(pc, cfa, known, rule.signal)
    }

    fn restored(
        &self,
        now: Option<u64>,
        saved: Saved,
        cfa: u64,
        stack: &StackCopy<'_>,
    ) -> Option<u64> {
        let Some(offset) = saved.offset() else {
            return if saved == Saved::KEPT { now } else { None };
        };
        match stack.word(cfa.wrapping_add_signed(offset)) {
            Ok(value) => Some(value),
            // Below the stack pointer: a function at its end has popped the register already, and compilers do not
            // say so in the table.
            Err(Hole::Below) if self.exact => now,
            Err(_) => None,
        }
    }

    /// The caller's frame by a row with expressions: a signal's frame, a jump table, a realigned stack.
    pub(super) fn caller_by_row(
        &self,
        row: &UnwindTableRow<usize>,
        expressions: &Expressions<'_>,
        signal: bool,
        stack: &StackCopy<'_>,
    ) -> Result<Self, StackEnd> {
        let evaluation = Evaluation {
            frame: self,
            expressions,
            stack,
        };
        let cfa = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => self
                .register(*register)
                .and_then(|base| base.checked_add_signed(*offset))
                .ok_or(StackEnd::Broken)?,
            CfaRule::Expression(place) => evaluation.run(place, None)?,
        };
        let mut known = self.tracked;
        for (slot, register) in known.iter_mut().zip(arch::TRACKED) {
            *slot = evaluation
                .register(row.register(register), *slot, cfa)
                .unwrap_or(None);
        }
        let link = arch::LINK.and_then(|link| self.tracked.get(link).copied().flatten());
        let pc = evaluation
            .register(row.register(arch::RETURN), link, cfa)?
            .ok_or(StackEnd::Broken)?;
        self.next(pc, cfa, known, signal)
    }

    fn next(
        &self,
        pc: u64,
        sp: u64,
        tracked: [Option<u64>; TRACKED],
        signal: bool,
    ) -> Result<Self, StackEnd> {
        // A call pushes, so callers are higher up; on aarch64 a leaf function may have pushed nothing.
        let moved = sp > self.sp || (arch::LINK.is_some() && self.exact && sp == self.sp);
        if !signal && !moved {
            return Err(StackEnd::Broken);
        }
        Ok(Self {
            pc: arch::code(pc),
            exact: signal,
            sp,
            tracked,
            after_signal: self.after_signal || signal,
        })
    }

    fn tracked(&self, index: usize) -> Result<u64, StackEnd> {
        self.tracked
            .get(index)
            .copied()
            .flatten()
            .ok_or(StackEnd::Broken)
    }

    fn register(&self, register: Register) -> Option<u64> {
        if register == arch::SP {
            return Some(self.sp);
        }
        match tracked(register) {
            Some(index) => self.tracked.get(index).copied().flatten(),
            None => (register == arch::RETURN).then_some(self.pc),
        }
    }
}

struct Evaluation<'a> {
    frame: &'a FrameRegisters,
    expressions: &'a Expressions<'a>,
    stack: &'a StackCopy<'a>,
}

impl Evaluation<'_> {
    fn word(&self, address: u64) -> Result<u64, StackEnd> {
        self.stack
            .word(address)
            .map_err(|hole| self.stack.end_at(hole, self.frame.after_signal))
    }

    fn register(
        &self,
        rule: Option<RegisterRule<usize>>,
        now: Option<u64>,
        cfa: u64,
    ) -> Result<Option<u64>, StackEnd> {
        Ok(match rule {
            None | Some(RegisterRule::SameValue) => now,
            Some(RegisterRule::Offset(offset)) => Some(self.word(cfa.wrapping_add_signed(offset))?),
            Some(RegisterRule::ValOffset(offset)) => Some(cfa.wrapping_add_signed(offset)),
            Some(RegisterRule::Register(other)) => self.frame.register(other),
            Some(RegisterRule::Expression(place)) => Some(self.word(self.run(&place, Some(cfa))?)?),
            Some(RegisterRule::ValExpression(place)) => Some(self.run(&place, Some(cfa))?),
            Some(RegisterRule::Constant(value)) => Some(value),
            Some(_) => None,
        })
    }

    fn run(&self, place: &UnwindExpression<usize>, initial: Option<u64>) -> Result<u64, StackEnd> {
        let Expression(bytes) = self.expressions.get(place).ok_or(StackEnd::Broken)?;
        let mut evaluation = Expression(bytes).evaluation(self.expressions.encoding);
        evaluation.set_max_iterations(OPERATIONS_MAX);
        if let Some(value) = initial {
            evaluation.set_initial_value(value);
        }
        let mut state = evaluation.evaluate();
        loop {
            state = match state.map_err(|_| StackEnd::Broken)? {
                EvaluationResult::Complete => break,
                EvaluationResult::RequiresMemory {
                    address, size: 8, ..
                } => evaluation.resume_with_memory(Value::Generic(self.word(address)?)),
                EvaluationResult::RequiresRegister { register, .. } => {
                    let value = self.frame.register(register).ok_or(StackEnd::Broken)?;
                    evaluation.resume_with_register(Value::Generic(value))
                }
                _ => return Err(StackEnd::Broken),
            };
        }
        match evaluation.as_result().last().map(|piece| &piece.location) {
            Some(Location::Address { address }) => Ok(*address),
            _ => Err(StackEnd::Broken),
        }
    }
}
