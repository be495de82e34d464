//! Names of futex(2) operations (`include/uapi/linux/futex.h`).

/// `FUTEX_PRIVATE_FLAG`: the futex is not shared between processes.
const PRIVATE_FLAG: u32 = 128;
/// `FUTEX_CLOCK_REALTIME`: the timeout is on the wall clock.
const CLOCK_REALTIME: u32 = 256;

/// The commands, by number.
const COMMANDS: [&str; 14] = [
    "FUTEX_WAIT",
    "FUTEX_WAKE",
    "FUTEX_FD",
    "FUTEX_REQUEUE",
    "FUTEX_CMP_REQUEUE",
    "FUTEX_WAKE_OP",
    "FUTEX_LOCK_PI",
    "FUTEX_UNLOCK_PI",
    "FUTEX_TRYLOCK_PI",
    "FUTEX_WAIT_BITSET",
    "FUTEX_WAKE_BITSET",
    "FUTEX_WAIT_REQUEUE_PI",
    "FUTEX_CMP_REQUEUE_PI",
    "FUTEX_LOCK_PI2",
];

/// The command of an operation, without its flags: `FUTEX_WAIT_BITSET` for 0x189. The number where
/// it has no name.
pub fn futex_command_name(operation: u32) -> String {
    let command = operation & !(PRIVATE_FLAG | CLOCK_REALTIME);
    COMMANDS.get(command as usize).map_or_else(
        || format!("futex operation {command:#x}"),
        ToString::to_string,
    )
}

/// The operation with its flags: `FUTEX_WAIT_BITSET|FUTEX_PRIVATE_FLAG|FUTEX_CLOCK_REALTIME` for
/// 0x189. A command without a name stands as its number.
pub fn futex_operation_name(operation: u32) -> String {
    let command = operation & !(PRIVATE_FLAG | CLOCK_REALTIME);
    let mut out = COMMANDS
        .get(command as usize)
        .map_or_else(|| format!("{command:#x}"), ToString::to_string);
    for (flag, name) in [
        (PRIVATE_FLAG, "|FUTEX_PRIVATE_FLAG"),
        (CLOCK_REALTIME, "|FUTEX_CLOCK_REALTIME"),
    ] {
        if operation & flag != 0 {
            out.push_str(name);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_have_their_names() {
        for (operation, name) in [
            (0, "FUTEX_WAIT"),
            (
                0x189,
                "FUTEX_WAIT_BITSET|FUTEX_PRIVATE_FLAG|FUTEX_CLOCK_REALTIME",
            ),
            (0x80, "FUTEX_WAIT|FUTEX_PRIVATE_FLAG"),
            (6, "FUTEX_LOCK_PI"),
            (13, "FUTEX_LOCK_PI2"),
            (14, "0xe"),
            (
                u32::MAX,
                "0xfffffe7f|FUTEX_PRIVATE_FLAG|FUTEX_CLOCK_REALTIME",
            ),
        ] {
            assert_eq!(futex_operation_name(operation), name);
        }
        assert_eq!(futex_command_name(0x189), "FUTEX_WAIT_BITSET");
        assert_eq!(futex_command_name(0x8e), "futex operation 0xe");
    }
}
