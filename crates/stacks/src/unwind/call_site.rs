//! A frame pointer that the kernel did not tell, found from the code and proved by it.
//!
//! `/proc/PID/task/TID/syscall` gives the program counter and the stack pointer only, and the C library's shortest system
//! call wrappers save no register. In a program that is built with frame pointers the function above them has the rule
//! "CFA is the frame pointer and 16", so without more every connection that waits in poll(2) would have a stack of two
//! frames.
//!
//! Such a function has pushed its registers and then taken a fixed number of bytes from the stack pointer; both stand in
//! its first instructions, so the frame pointer is the stack pointer and that distance. This is taken for true only when
//! the word where the return address would then be follows a call instruction in mapped code, and that call leads to this
//! very function. A call whose target is not in the instruction (through a pointer) counts only where the function takes
//! no further stack, as with alloca(3). Otherwise the stack ends there.

use crate::images::ImageBody;

/// Prologues are shorter; those with many moves between the pushes too.
const PROLOGUE_BYTES: usize = 128;
/// The whole function is searched for changes of the stack pointer, up to here.
const FUNCTION_BYTES_MAX: u64 = 64 << 10;
/// The longest call instruction that is recognised.
const CALL_BYTES: usize = 7;
/// No function has more in fixed places; glibc's own limit for a frame without a probe is a page.
const FRAME_BYTES_MAX: u32 = 1 << 20;

/// How far the frame pointer may be above the stack pointer in the body of a function.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Layout {
    /// Candidates in bytes, the likeliest first.
    pub(super) distances: Vec<u64>,
    /// The function moves its stack pointer by amounts that are not in the code.
    pub(super) dynamic: bool,
}

/// What an instruction before a return address is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    /// A call of this ELF virtual address.
    To(u64),
    /// A call through a register or memory.
    Indirect,
    /// Something else: no return address.
    None,
}

impl Layout {
    /// From the code of the function that begins at `start` and has reached `pc`, and the bytes that its pushed registers
    /// take below the frame pointer.
    pub(super) fn read(body: &ImageBody, start: u64, pc: u64, pushed: u64) -> Self {
        if !cfg!(target_arch = "x86_64") {
            return Self::default();
        }
        let length = pc.saturating_sub(start);
        if length > FUNCTION_BYTES_MAX {
            return Self::default();
        }
        body.code(start, length as usize)
            .map(|code| Self::of(&code, pushed))
            .unwrap_or_default()
    }

    fn of(code: &[u8], pushed: u64) -> Self {
        let has = |pattern: fn(&[u8]) -> bool| code.windows(3).any(pattern);
        // and $imm,%rsp: the distance depends on where the caller's stack was.
        if has(|bytes| matches!(bytes, [0x48, 0x83 | 0x81, 0xe4])) {
            return Self::default();
        }
        let mut distances = Vec::new();
        let prologue = code.get(..code.len().min(PROLOGUE_BYTES)).unwrap_or(&[]);
        for at in 0..prologue.len() {
            // sub $imm,%rsp
            let taken = match prologue.get(at..) {
                Some([0x48, 0x83, 0xec, byte, ..]) => u32::from(*byte),
                Some([0x48, 0x81, 0xec, a, b, c, d, ..]) => u32::from_le_bytes([*a, *b, *c, *d]),
                _ => continue,
            };
            if taken < FRAME_BYTES_MAX {
                // Registers are pushed before, or stored into what was taken.
                distances.extend([pushed + u64::from(taken), u64::from(taken)]);
            }
        }
        distances.push(pushed);
        distances.dedup();
        Self {
            distances,
            // sub %reg,%rsp; lea or mov to it are how it is given back.
            dynamic: has(
                |bytes| matches!(bytes, [0x48 | 0x4c, 0x29, modrm] if modrm & 0xc7 == 0xc4),
            ),
        }
    }
}

impl Call {
    /// The instruction that ends before a return address.
    pub(super) fn before(body: &ImageBody, return_address: u64) -> Self {
        return_address
            .checked_sub(CALL_BYTES as u64)
            .and_then(|from| body.code(from, CALL_BYTES))
            .map_or(Self::None, |code| Self::of(&code, return_address))
    }

    fn of(code: &[u8], return_address: u64) -> Self {
        if let [.., 0xe8, a, b, c, d] = code {
            let distance = i32::from_le_bytes([*a, *b, *c, *d]);
            return Self::To(return_address.wrapping_add_signed(i64::from(distance)));
        }
        // Opcode ff /2 with a register, or memory at a register and 0, 1 or 4 bytes, or at an address in the code.
        let is_call = |modrm: &u8| modrm & 0x38 == 0x10;
        let indirect = match code {
            [.., 0xff, modrm] if is_call(modrm) && modrm & 0xc0 != 0x40 && modrm & 0xc0 != 0x80 => {
                true
            }
            [.., 0xff, modrm, _] if is_call(modrm) && modrm & 0xc0 == 0x40 => true,
            [.., 0xff, modrm, _, _] if is_call(modrm) && modrm & 0xc7 == 0x44 => true,
            [.., 0xff, modrm, _, _, _, _]
                if is_call(modrm) && (modrm & 0xc0 == 0x80 || modrm & 0xc7 == 0x05) =>
            {
                true
            }
            [0xff, modrm, _, _, _, _, _] if is_call(modrm) && modrm & 0xc7 == 0x84 => true,
            _ => false,
        };
        if indirect { Self::Indirect } else { Self::None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distance_of_a_frame() {
        // MariaDB's vio_io_wait: push rbp; mov rsp,rbp; push r13, r12, rbx; mov edx,ebx; sub $0x68,rsp
        let code = [
            0x55, 0x48, 0x89, 0xe5, 0x41, 0x55, 0x41, 0x54, 0x53, 0x89, 0xd3, 0x48, 0x83, 0xec,
            0x68, 0x8b, 0x07,
        ];
        let layout = Layout::of(&code, 24);
        assert_eq!(layout.distances, [24 + 0x68, 0x68, 24]);
        assert!(!layout.dynamic);
        let mut with_alloca = code.to_vec();
        with_alloca.extend([0x48, 0x29, 0xc4]);
        assert!(Layout::of(&with_alloca, 24).dynamic);
        let mut realigned = code.to_vec();
        realigned.extend([0x48, 0x83, 0xe4, 0xe0]);
        assert_eq!(Layout::of(&realigned, 24).distances, []);
    }

    #[test]
    fn calls() {
        assert_eq!(
            Call::of(&[0x90, 0x90, 0xe8, 0xfb, 0xff, 0xff, 0xff], 0x1000),
            Call::To(0xffb)
        );
        // call *%rax; call *0x28(%rax); call *0x8(%rsp); call *0x100(%rbx); call *0x10(%rip)
        for code in [
            [0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0],
            [0x90, 0x90, 0x90, 0x90, 0xff, 0x50, 0x28],
            [0x90, 0x90, 0x90, 0xff, 0x54, 0x24, 0x08],
            [0x90, 0xff, 0x93, 0x00, 0x01, 0x00, 0x00],
            [0x90, 0xff, 0x15, 0x10, 0x00, 0x00, 0x00],
        ] {
            assert_eq!(Call::of(&code, 0x1000), Call::Indirect, "{code:x?}");
        }
        // jmp *%rax; nop; mov
        for code in [
            [0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xe0],
            [0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90],
            [0x48, 0x89, 0xe5, 0x48, 0x89, 0xd3, 0x5b],
        ] {
            assert_eq!(Call::of(&code, 0x1000), Call::None, "{code:x?}");
        }
    }
}
