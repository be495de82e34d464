//! A frame pointer that the kernel did not tell, found from the code and proved by it.
//!
//! `/proc/PID/task/TID/syscall` gives the program counter and the stack pointer only, and the C library's shortest system
//! call wrappers save no register. In a program that is built with frame pointers the function above them has the rule
//! "CFA is the frame pointer and 16", so without more every connection that waits in poll(2), and every thread that waits
//! for one of InnoDB's own locks, would have a stack of two frames.
//!
//! Such a function has pushed its registers and then taken a fixed number of bytes from the stack pointer; both stand in
//! its first instructions, so the frame pointer is the stack pointer and that distance. This is taken for true only when
//! the word where the return address would then be follows a call instruction in mapped code, and that call leads to this
//! very function, or to one that jumps to it. A call whose target is not in the instruction (through a pointer, or to
//! another image) counts only where the function takes no further stack, as with alloca(3). Otherwise the stack ends.

use super::cache::Proof;
use super::call_site::{Call, Layout, is_linkage, jumps_to};
use super::frame::{FrameRegisters, StackCopy};
use super::rule::Offsets;
use crate::images::Process;

impl Process {
    /// The frame with its frame pointer, where the rule needs it and the code proves it.
    pub(super) fn find_frame_pointer(
        &mut self,
        frame: &FrameRegisters,
        rule: &Offsets,
        stack: &StackCopy<'_>,
    ) -> Option<FrameRegisters> {
        let pushed = rule.pushed_below_frame_pointer()?;
        let at = frame.lookup_address()?;
        let (image, place) = self.image_at(at)?;
        let start = image.function_start(place.offset)?;
        let function = at.wrapping_sub(place.offset).wrapping_add(start);
        // The instruction pointer of a caller is the return address: the one behind the call.
        let reached = place.offset.wrapping_add(frame.pc.wrapping_sub(at));
        let body = image.body()?;
        self.unwinder.frame_pointers.make_room();
        let layouts = &mut self.unwinder.frame_pointers.layouts;
        let layout = layouts
            .entry(frame.pc)
            .or_insert_with(|| Layout::read(body, start, reached, pushed))
            .clone();
        let mut called_by_some = None;
        for distance in layout.distances {
            let Some((found, return_address)) = frame.with_frame_pointer(distance, stack) else {
                continue;
            };
            match self.proof(return_address, function) {
                Proof::Calls => return Some(found),
                Proof::CallsSome if !layout.dynamic => {
                    called_by_some = called_by_some.or(Some(found));
                }
                _ => {}
            }
        }
        called_by_some.or_else(|| {
            layout.doubtful.into_iter().find_map(|distance| {
                let (found, return_address) = frame.with_frame_pointer(distance, stack)?;
                (self.proof(return_address, function) == Proof::Calls).then_some(found)
            })
        })
    }

    fn proof(&mut self, return_address: u64, function: u64) -> Proof {
        let key = (return_address, function);
        if let Some(proof) = self.unwinder.frame_pointers.proofs.get(&key) {
            return *proof;
        }
        let at = return_address.wrapping_sub(1);
        if !self.is_code(at) {
            // Most candidates are no addresses of code; they are not worth remembering.
            return Proof::None;
        }
        let proof = self.prove(at, function).unwrap_or(Proof::None);
        self.unwinder.frame_pointers.proofs.insert(key, proof);
        proof
    }

    fn prove(&self, at: u64, function: u64) -> Option<Proof> {
        let (image, place) = self.image_at(at)?;
        let body = image.body()?;
        let bias = at.wrapping_sub(place.offset);
        let target = match Call::before(body, place.offset.wrapping_add(1)) {
            Call::To(target) => target,
            Call::Indirect => return Some(Proof::CallsSome),
            Call::None => return None,
        };
        let function = function.wrapping_sub(bias);
        if target == function {
            return Some(Proof::Calls);
        }
        if is_linkage(body, target) {
            return Some(Proof::CallsSome);
        }
        let (start, end) = image.cfi().function_range(target)?;
        (start == target && jumps_to(body, start, end, function)).then_some(Proof::Calls)
    }
}
