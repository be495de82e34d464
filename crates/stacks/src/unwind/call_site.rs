//! What instructions of x86-64 tell about frames: how much stack a function takes, what it calls, where a jump leads
//! (Intel 64 Software Developer's Manual, volume 2). Only the forms that compilers write are known.

use crate::images::ImageBody;

/// Prologues are shorter; those with many moves between the pushes too.
const PROLOGUE_BYTES: usize = 128;
/// The whole function is searched for changes of the stack pointer, up to here.
const FUNCTION_BYTES_MAX: u64 = 64 << 10;
/// The longest call instruction that is recognised.
const CALL_BYTES: usize = 7;
/// Instructions that take arguments off the stack after a call.
const CLEANUP_BYTES: usize = 32;
/// A call of seven to twelve arguments pushes this much at most.
const ARGUMENT_BYTES_MAX: u64 = 64;
/// A function whose last act is a jump to another one is searched for it up to here.
const JUMPING_BYTES_MAX: u64 = 16 << 10;
/// No function has more in fixed places; glibc's own limit for a frame without a probe is a page.
const FRAME_BYTES_MAX: u32 = 1 << 20;

/// How far the frame pointer may be above the stack pointer in the body of a function.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Layout {
    /// Candidates in bytes, the likeliest first.
    pub(super) distances: Vec<u64>,
    /// Further candidates, to be taken only with the best proof: with arguments on the stack that are taken off later.
    pub(super) doubtful: Vec<u64>,
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
        let Some(code) = body.code(start, length as usize) else {
            return Self::default();
        };
        let after = body.code(pc, CLEANUP_BYTES).unwrap_or_default();
        Self::from_code(&code, pushed).with_arguments(arguments(&after))
    }

    fn from_code(code: &[u8], pushed: u64) -> Self {
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
            doubtful: Vec::new(),
            // sub %reg,%rsp; lea or mov to it are how it is given back.
            dynamic: has(
                |bytes| matches!(bytes, [0x48 | 0x4c, 0x29, modrm] if modrm & 0xc7 == 0xc4),
            ),
        }
    }
}

impl Layout {
    fn with_arguments(mut self, bytes: u64) -> Self {
        if bytes > 0 {
            // At the function's end the same instruction gives its own bytes back.
            let with = self.distances.iter().map(|distance| distance + bytes);
            self.distances = with.chain(self.distances.iter().copied()).collect();
        }
        self.doubtful = (1..=ARGUMENT_BYTES_MAX / 8)
            .flat_map(|words| {
                self.distances
                    .iter()
                    .map(move |distance| distance + words * 8)
            })
            .collect();
        self
    }
}

/// Bytes that the instructions after a call take off the stack: `pop` into a register that calls may change, or
/// `add $imm,%rsp`.
fn arguments(mut code: &[u8]) -> u64 {
    let mut bytes = 0;
    loop {
        (bytes, code) = match code {
            [0x58..=0x5a | 0x5e | 0x5f, rest @ ..] | [0x41, 0x58..=0x5b, rest @ ..] => {
                (bytes + 8, rest)
            }
            [0x48, 0x83, 0xc4, byte @ 0..0x80, rest @ ..] => (bytes + u64::from(*byte), rest),
            _ => return bytes,
        };
    }
}

/// Whether a function jumps to another one, as at its end instead of a call and a return.
pub(super) fn jumps_to(body: &ImageBody, start: u64, end: u64, target: u64) -> bool {
    let length = end.saturating_sub(start).min(JUMPING_BYTES_MAX);
    let Some(mut code) = body.code(start, length as usize) else {
        return false;
    };
    // The last jump of five bytes has a window of its own.
    code.push(0);
    // jmp, and jcc behind 0x0f, with a distance of four bytes from the next instruction.
    code.windows(6).enumerate().any(|(at, bytes)| {
        let (distance, after) = match bytes {
            [0xe9, a, b, c, d, _] => ([*a, *b, *c, *d], 5),
            [0x0f, 0x80..=0x8f, a, b, c, d] => ([*a, *b, *c, *d], 6),
            _ => return false,
        };
        let from = start + at as u64 + after;
        from.wrapping_add_signed(i64::from(i32::from_le_bytes(distance))) == target
    })
}

/// Whether the code at an address only jumps to where a word in memory says, as in a procedure linkage table.
pub(super) fn is_linkage(body: &ImageBody, address: u64) -> bool {
    let code = body.code(address, 8).unwrap_or_default();
    // endbr64, then perhaps a prefix `bnd`, then jmp *disp(%rip).
    let code = code
        .strip_prefix(&[0xf3, 0x0f, 0x1e, 0xfa])
        .unwrap_or(&code);
    let code = code.strip_prefix(&[0xf2]).unwrap_or(code);
    code.starts_with(&[0xff, 0x25])
}

impl Call {
    /// The instruction that ends before a return address.
    pub(super) fn before(body: &ImageBody, return_address: u64) -> Self {
        return_address
            .checked_sub(CALL_BYTES as u64)
            .and_then(|from| body.code(from, CALL_BYTES))
            .map_or(Self::None, |code| Self::from_code(&code, return_address))
    }

    fn from_code(code: &[u8], return_address: u64) -> Self {
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
        let layout = Layout::from_code(&code, 24);
        assert_eq!(layout.distances, [24 + 0x68, 0x68, 24]);
        assert!(!layout.dynamic);
        let mut with_alloca = code.to_vec();
        with_alloca.extend([0x48, 0x29, 0xc4]);
        assert!(Layout::from_code(&with_alloca, 24).dynamic);
        let mut realigned = code.to_vec();
        realigned.extend([0x48, 0x83, 0xe4, 0xe0]);
        assert!(Layout::from_code(&realigned, 24).distances.is_empty());
    }

    #[test]
    fn arguments_on_the_stack() {
        // pop %rdi; pop %r8; test %eax,%eax
        assert_eq!(arguments(&[0x5f, 0x41, 0x58, 0x85, 0xc0]), 16);
        // add $0x20,%rsp; mov %eax,%ebx
        assert_eq!(arguments(&[0x48, 0x83, 0xc4, 0x20, 0x89, 0xc3]), 32);
        assert_eq!(arguments(&[0x89, 0xc3]), 0);
        // pop %rbp; ret
        assert_eq!(arguments(&[0x5d, 0xc3]), 0);
        let layout = Layout::from_code(&[0x55, 0x48, 0x89, 0xe5], 0).with_arguments(16);
        assert_eq!(layout.distances, [16, 0]);
        assert_eq!(layout.doubtful.first(), Some(&24));
    }

    #[test]
    fn calls() {
        assert_eq!(
            Call::from_code(&[0x90, 0x90, 0xe8, 0xfb, 0xff, 0xff, 0xff], 0x1000),
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
            assert_eq!(Call::from_code(&code, 0x1000), Call::Indirect, "{code:x?}");
        }
        // jmp *%rax; nop; mov
        for code in [
            [0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xe0],
            [0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90],
            [0x48, 0x89, 0xe5, 0x48, 0x89, 0xd3, 0x5b],
        ] {
            assert_eq!(Call::from_code(&code, 0x1000), Call::None, "{code:x?}");
        }
    }
}
