//! Which process is whose, where the recorders of this program find their servers by themselves.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kernel::roots::ProcRoot;
use kernel::servers::{self, ServerProcess};

/// Which processes are recorded, by the labels of their recorders. Two containers of one image have servers that are
/// alike in everything but their process: the one that is recorded already is not the successor of the other.
#[derive(Debug, Clone, Default)]
pub struct Claims(Arc<Mutex<HashMap<String, Claim>>>);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Claim {
    pid: u32,
    start_time_ticks: u64,
}

impl Claim {
    fn of(process: &ServerProcess) -> Self {
        Self {
            pid: process.pid,
            start_time_ticks: process.start_time_ticks,
        }
    }
}

impl Claims {
    fn all(&self) -> MutexGuard<'_, HashMap<String, Claim>> {
        // Plain values: a panic elsewhere cannot have left one half-written.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The process is this recorder's from now on. False, and nothing is changed, when it is another one's.
    pub(crate) fn claim(&self, label: &str, process: &ServerProcess) -> bool {
        let mut all = self.all();
        let claim = Claim::of(process);
        let is_taken = all
            .iter()
            .any(|(owner, other)| *other == claim && owner != label);
        if !is_taken {
            all.insert(label.to_owned(), claim);
        }
        !is_taken
    }

    /// Whether another recorder has it.
    pub(crate) fn is_others(&self, label: &str, process: &ServerProcess) -> bool {
        let claim = Claim::of(process);
        let all = self.all();
        all.iter()
            .any(|(owner, other)| *other == claim && owner != label)
    }

    /// This recorder has ended.
    pub fn give_up(&self, label: &str) {
        self.all().remove(label);
    }

    /// Whether any has it.
    pub(crate) fn has(&self, process: &ServerProcess) -> bool {
        let claim = Claim::of(process);
        self.all().values().any(|other| *other == claim)
    }

    /// Whether the process that this recorder had is alive.
    pub fn is_alive(&self, label: &str, proc: &ProcRoot) -> bool {
        let claim = self.all().get(label).copied();
        claim.is_some_and(|claim| servers::is_alive(proc, claim.pid, claim.start_time_ticks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target_process::tests::process;

    #[test]
    fn a_process_has_one_recorder() {
        let claims = Claims::default();
        let (a, b) = (process(1, "/s", "/s", 3306), process(2, "/s", "/s", 3306));
        assert!(claims.claim("one", &a) && claims.claim("one", &a));
        assert!(!claims.claim("two", &a) && claims.is_others("two", &a));
        assert!(claims.claim("one", &b), "it was started anew");
        assert!(claims.has(&b) && !claims.has(&a));
        claims.give_up("one");
        assert!(claims.claim("two", &b));
    }
}
