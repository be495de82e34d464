//! Short work done at once.

use rustix::process::{getpriority_process, setpriority_process};

/// Gives this thread nine times the weight of an ordinary one (kernel/sched/core.c, `sched_prio_to_weight`): it hardly
/// waits, and does not starve others as a real-time thread would.
const NICE: i32 = -10;

/// While this lives, the calling OS thread comes before ordinary ones. Where that is not permitted (CAP_SYS_NICE),
/// nothing changes.
///
/// A snapshot takes a few milliseconds of a processor whenever it is taken. On a host where hundreds of threads want to
/// run it would take them in pieces over a second, and be a picture of no moment.
#[derive(Debug)]
pub(super) struct Precedence {
    before: Option<i32>,
}

impl Precedence {
    pub(super) fn take() -> Self {
        // No process id stands for the calling thread (setpriority(2), "C library/kernel differences").
        let before = getpriority_process(None).ok().filter(|&nice| nice > NICE);
        let before = before.filter(|_| setpriority_process(None, NICE).is_ok());
        Self { before }
    }
}

impl Drop for Precedence {
    fn drop(&mut self) {
        if let Some(nice) = self.before {
            // To step back is always permitted.
            let _ = setpriority_process(None, nice);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_thread_is_put_back() {
        let before = getpriority_process(None);
        let first = Precedence::take();
        let meanwhile = getpriority_process(None);
        assert_eq!(
            meanwhile,
            if first.before.is_some() {
                Ok(NICE)
            } else {
                before
            }
        );
        drop(first);
        assert_eq!(getpriority_process(None), before);
    }
}
