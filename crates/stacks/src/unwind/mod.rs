//! From registers and the bytes of a stack to code addresses, by the unwinding tables that compilers write for
//! exceptions (`.eh_frame`; DWARF 5 section 6.4).
//!
//! A stack counts as complete only where a table marks the outermost function as called by nobody, or where that
//! function is known as the first of a thread or program. Everything else has a reason. No frame pointers are followed
//! where a table says otherwise, and where there is no table the stack ends: a wrong frame is worse than none.
//!
//! Registers that functions keep for their callers are followed through the frames, so that a rule that needs one finds
//! it, although the kernel told only the program counter and the stack pointer. Where it needs a frame pointer that nobody
//! saved, see `frame_pointer.rs`.

mod arch;
pub(crate) mod cache;
mod call_site;
pub(crate) mod cfi;
mod frame;
mod frame_pointer;
mod rule;

use crate::images::{Address, CodeAddress, Image, Process};
use cache::{STEPS_MAX, Step};
use frame::{FrameRegisters, StackCopy};
use kernel::snapshot::Registers;
use model::StackEnd;
use rule::Rule;
use std::sync::Arc;

/// Frames of a stack that are kept.
pub const FRAMES_MAX: usize = 256;
/// A stack as addresses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unwound {
    /// Innermost first.
    pub addresses: Vec<CodeAddress>,
    /// Why it ends there.
    pub end: StackEnd,
}

impl Process {
    /// Unwinds a stack from the registers of its thread and the bytes from the stack pointer upwards. `whole` says that
    /// there is nothing above them.
    ///
    /// May read the maps again, and files of images that were not met before: it can block (see [`Process`]).
    pub fn unwind(&mut self, registers: &Registers, stack: &[u8], whole: bool) -> Unwound {
        let mut addresses = Vec::with_capacity(32);
        let stack = StackCopy {
            start: registers.sp,
            bytes: stack,
            whole,
        };
        let end = if arch::SUPPORTED {
            self.walk(FrameRegisters::innermost(registers), &stack, &mut addresses)
        } else {
            addresses.push(self.code_address(registers.ip));
            StackEnd::NoUnwindRule
        };
        Unwound { addresses, end }
    }

    fn walk(
        &mut self,
        mut frame: FrameRegisters,
        stack: &StackCopy<'_>,
        addresses: &mut Vec<CodeAddress>,
    ) -> StackEnd {
        loop {
            if addresses.len() >= FRAMES_MAX {
                return StackEnd::FrameLimit;
            }
            let Some(step) = self.step(&frame) else {
                if addresses.is_empty() {
                    addresses.push(CodeAddress::Unmapped(frame.pc));
                    return StackEnd::Broken;
                }
                return self.end_after(addresses, StackEnd::Broken);
            };
            addresses.push(step.address);
            let caller = match step.rule {
                Rule::Root => return StackEnd::Complete,
                Rule::Missing => Err(StackEnd::NoUnwindRule),
                Rule::Offsets(offsets) => {
                    if frame.lacks_frame_pointer()
                        && let Some(found) = self.find_frame_pointer(&frame, &offsets, stack)
                    {
                        frame = found;
                    }
                    frame.caller(&offsets, stack)
                }
                Rule::Evaluate { signal } => self.evaluate(&frame, step.address, signal, stack),
            };
            match caller {
                Ok(caller) => frame = caller,
                Err(end) => return self.end_after(addresses, end),
            }
        }
    }

    /// The end of a stack whose last frame gave no caller: complete when nothing can have called that function.
    fn end_after(&self, addresses: &[CodeAddress], end: StackEnd) -> StackEnd {
        match addresses.last() {
            Some(CodeAddress::In(Address { image, offset }))
                if self
                    .images()
                    .get(*image)
                    .is_some_and(|image| image.is_root(*offset)) =>
            {
                StackEnd::Complete
            }
            _ => end,
        }
    }

    /// The rule of a frame; nothing when its program counter is no code.
    fn step(&mut self, frame: &FrameRegisters) -> Option<Step> {
        let key = (frame.pc << 1) | u64::from(frame.exact);
        if let Some(step) = self.unwinder.steps.get(&key) {
            return Some(*step);
        }
        let at = frame.lookup_address()?;
        let known = self.is_code(at) || (self.rescan_if_due() && self.is_code(at));
        if !known {
            return None;
        }
        let step = match self.image_at(at) {
            None => Step {
                address: CodeAddress::Unmapped(at),
                rule: Rule::Missing,
            },
            Some((image, address)) => {
                let rule = image.cfi().rule(address.offset, &mut self.unwinder.context);
                let signal = match rule {
                    Rule::Offsets(offsets) => offsets.signal,
                    Rule::Evaluate { signal } => signal,
                    Rule::Root | Rule::Missing => false,
                };
                // A signal's frame was not called: its "return address" is the start of the trampoline.
                let offset = if signal && !frame.exact {
                    address.offset + 1
                } else {
                    address.offset
                };
                Step {
                    address: CodeAddress::In(Address { offset, ..address }),
                    rule,
                }
            }
        };
        if self.unwinder.steps.len() >= STEPS_MAX {
            self.unwinder.steps.clear();
        }
        self.unwinder.steps.insert(key, step);
        Some(step)
    }

    fn image_at(&self, address: u64) -> Option<(Arc<Image>, Address)> {
        let (loaded, address) = self.locate(address)?;
        Some((Arc::clone(&loaded.image), address))
    }

    fn evaluate(
        &mut self,
        frame: &FrameRegisters,
        address: CodeAddress,
        signal: bool,
        stack: &StackCopy<'_>,
    ) -> Result<FrameRegisters, StackEnd> {
        let CodeAddress::In(Address { image, offset }) = address else {
            return Err(StackEnd::NoUnwindRule);
        };
        let image = self.images().get(image).ok_or(StackEnd::NoUnwindRule)?;
        image
            .cfi()
            .with_row(offset, &mut self.unwinder.context, |row, _, expressions| {
                frame.caller_by_row(row, expressions, signal, stack)
            })
            .unwrap_or(Err(StackEnd::NoUnwindRule))
    }
}
