//! Registers that a function keeps for its caller: those that an unwinding rule may need further up.

pub(super) use here::{LINK, RETURN, SP, SUPPORTED, TRACKED};

/// Index of the frame pointer in [`TRACKED`].
pub(super) const FRAME_POINTER: usize = 0;

/// System V ABI, AMD64 supplement, figure 3.4.
#[cfg(target_arch = "x86_64")]
mod here {
    use gimli::{Register, X86_64};

    pub const SUPPORTED: bool = true;
    pub const SP: Register = X86_64::RSP;
    pub const RETURN: Register = X86_64::RA;
    pub const LINK: Option<usize> = None;
    pub const TRACKED: [Register; 6] = [
        X86_64::RBP,
        X86_64::RBX,
        X86_64::R12,
        X86_64::R13,
        X86_64::R14,
        X86_64::R15,
    ];
}

/// Procedure Call Standard for the Arm 64-bit architecture, section 6.1.1.
#[cfg(target_arch = "aarch64")]
mod here {
    use gimli::{AArch64, Register};

    pub const SUPPORTED: bool = true;
    pub const SP: Register = AArch64::SP;
    pub const RETURN: Register = AArch64::X30;
    pub const LINK: Option<usize> = Some(1);
    pub const TRACKED: [Register; 12] = [
        AArch64::X29,
        AArch64::X30,
        AArch64::X19,
        AArch64::X20,
        AArch64::X21,
        AArch64::X22,
        AArch64::X23,
        AArch64::X24,
        AArch64::X25,
        AArch64::X26,
        AArch64::X27,
        AArch64::X28,
    ];
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod here {
    use gimli::Register;

    pub const SUPPORTED: bool = false;
    pub const SP: Register = Register(0);
    pub const RETURN: Register = Register(0);
    pub const LINK: Option<usize> = None;
    pub const TRACKED: [Register; 1] = [Register(0)];
}

/// A return address as code: aarch64 may keep a signature in the bits above 48 (pointer authentication).
pub(super) fn code(address: u64) -> u64 {
    if cfg!(target_arch = "aarch64") {
        address & 0x0000_ffff_ffff_ffff
    } else {
        address
    }
}
