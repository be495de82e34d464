//! Servers that start after the recorder: found without a restart, and who of the recorded ones each belongs to.

use std::collections::HashMap;

use kernel::roots::ProcRoot;
use kernel::servers::{self, ServerProcess};

use crate::claims::Claims;
use crate::target::Target;
use crate::target_process;

/// A process that was looked at so often in vain is looked at now and then only, one in so many times. The first looks
/// come close together, because the start of a container makes its database first and becomes the server then.
const LOOKS_OFTEN: u32 = 6;
const RARELY: u32 = 6;

/// Looks for servers that nobody records yet.
#[derive(Debug)]
pub struct Newcomers {
    proc: ProcRoot,
    claims: Claims,
    /// Processes that were no servers, by how often they were looked at.
    others: HashMap<u32, u32>,
}

impl Newcomers {
    /// That nobody of these has claimed.
    pub fn new(claims: Claims) -> Self {
        Self {
            proc: ProcRoot::default(),
            claims,
            others: HashMap::new(),
        }
    }

    /// The servers that began since the last look and listen by now; those that belong to one of `recorded`, which sees
    /// to it itself, are left out. Costs some ten microseconds a process of the host.
    pub fn look<'a>(
        &mut self,
        recorded: impl Iterator<Item = &'a Target> + Clone,
    ) -> Vec<ServerProcess> {
        let Ok((all, _)) = servers::processes(&self.proc) else {
            return Vec::new();
        };
        let mut others = HashMap::with_capacity(all.len());
        let mut found = Vec::new();
        for pid in all {
            let looks = self.others.get(&pid).map_or(0, |looks| looks + 1);
            let is_due = looks < LOOKS_OFTEN || looks.is_multiple_of(RARELY);
            match is_due.then(|| servers::server(&self.proc, pid)).flatten() {
                Some(process) => found.push(process),
                None => {
                    others.insert(pid, looks);
                }
            }
        }
        self.others = others;
        found.retain(|process| self.is_new(process, recorded.clone()));
        found
    }

    fn is_new<'a>(
        &self,
        process: &ServerProcess,
        mut recorded: impl Iterator<Item = &'a Target>,
    ) -> bool {
        let only_starts = target_process::is_unseen(process) && process.absent.is_empty();
        !only_starts
            && !self.claims.has(process)
            && !recorded.any(|target| {
                belongs(target, process) && !self.claims.is_alive(&target.label, &self.proc)
            })
    }
}

/// Whether the process is the next one of a target whose own is gone, or never was there.
fn belongs(target: &Target, process: &ServerProcess) -> bool {
    if target.other_host.is_some() {
        return false;
    }
    let is_at_address = target_process::listens_on(process, &target.addresses);
    match &target.process {
        Some(first) => is_at_address || target_process::is_successor(first, process),
        None => is_at_address,
    }
}
