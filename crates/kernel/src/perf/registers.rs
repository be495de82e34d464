use perf_event_open_sys::bindings;

use crate::snapshot::Registers;

/// A register that unwinding needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Register {
    Ip,
    Sp,
    Bp,
    #[cfg_attr(
        target_arch = "x86_64",
        allow(dead_code, reason = "x86-64 has no link register")
    )]
    Lr,
}

/// Numbers of these registers in `sample_regs_user`, ascending: the kernel writes their values in this order
/// (`perf_output_sample_regs`).
#[cfg(target_arch = "x86_64")] // arch/x86/include/uapi/asm/perf_regs.h
const TABLE: &[(u32, Register)] = &[(6, Register::Bp), (7, Register::Sp), (8, Register::Ip)];
#[cfg(target_arch = "aarch64")] // arch/arm64/include/uapi/asm/perf_regs.h
const TABLE: &[(u32, Register)] = &[
    (29, Register::Bp),
    (30, Register::Lr),
    (31, Register::Sp),
    (32, Register::Ip),
];
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
const TABLE: &[(u32, Register)] = &[];

/// Registers in a sample of this architecture; 0 where it is not supported.
pub(super) const COUNT: usize = TABLE.len();

/// `sample_regs_user`.
pub(super) fn mask() -> u64 {
    TABLE.iter().fold(0, |mask, (bit, _)| mask | 1 << bit)
}

/// The registers from their values in the kernel's order. `None` for an `abi` other than 64 bit: a 32-bit process has
/// another layout of stack and registers.
pub(super) fn from_values(abi: u64, values: impl Iterator<Item = u64>) -> Option<Registers> {
    if abi != u64::from(bindings::PERF_SAMPLE_REGS_ABI_64) {
        return None;
    }
    let mut registers = Registers::default();
    for ((_, register), value) in TABLE.iter().zip(values) {
        match register {
            Register::Ip => registers.ip = value,
            Register::Sp => registers.sp = value,
            Register::Bp => registers.bp = Some(value),
            Register::Lr => registers.lr = Some(value),
        }
    }
    Some(registers)
}
