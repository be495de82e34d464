//! A pass that other programs do not hold up much.

use rustix::process::{getpriority_process, setpriority_process};

/// Three times the usual share of a processor. On a machine whose processors are all busy, a pass at the usual one
/// waits for its turn as long as it works, and shows threads of different moments. Not more: a pass over thousands of
/// threads must not keep a server's own threads waiting either.
const NICE: i32 = -5;

/// While it lives, the calling thread has priority, where that is permitted (CAP_SYS_NICE, RLIMIT_NICE).
#[derive(Debug)]
pub(super) struct Hurry {
    nice_before: Option<i32>,
}

impl Hurry {
    /// Does nothing for a thread that has as much already.
    pub(super) fn begin() -> Self {
        // Of the calling thread: Linux has no niceness of processes (setpriority(2)).
        let before = getpriority_process(None).ok().filter(|nice| *nice > NICE);
        let changed = before.is_some_and(|_| setpriority_process(None, NICE).is_ok());
        Self {
            nice_before: before.filter(|_| changed),
        }
    }
}

impl Drop for Hurry {
    fn drop(&mut self) {
        if let Some(nice) = self.nice_before {
            // To less priority, which nobody is refused.
            let _ = setpriority_process(None, nice);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hurry_is_over_afterwards() {
        let nice = || getpriority_process(None).unwrap();
        let before = nice();
        let hurry = Hurry::begin();
        let permitted = hurry.nice_before.is_some() || before <= NICE;
        if permitted {
            assert_eq!(nice(), before.min(NICE));
        } else {
            eprintln!("skipped: more priority is not permitted");
            assert_eq!(nice(), before);
        }
        drop(hurry);
        assert_eq!(nice(), before);
    }
}
