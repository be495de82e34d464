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

/// A server is seen so often without a socket before it is taken for one whose sockets are hidden: while it starts there is
/// a moment in which not all of it can be read.
const HIDDEN_LOOKS: u32 = 4;

/// Looks for servers that nobody records yet.
#[derive(Debug)]
pub struct Newcomers {
    proc: ProcRoot,
    claims: Claims,
    /// Processes that were no servers, by how often they were looked at.
    others: HashMap<u32, u32>,
    /// Servers that were seen to listen nowhere, in the same way.
    unseen: HashMap<u32, u32>,
}

impl Newcomers {
    /// That nobody of these has claimed.
    pub fn new(claims: Claims) -> Self {
        Self {
            proc: ProcRoot::default(),
            claims,
            others: HashMap::new(),
            unseen: HashMap::new(),
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
        let unseen = found
            .iter()
            .filter(|process| target_process::is_unseen(process));
        self.unseen = unseen
            .map(|process| {
                let looks = self.unseen.get(&process.pid).map_or(1, |looks| looks + 1);
                (process.pid, looks)
            })
            .collect();
        found.retain(|process| self.is_new(process, recorded.clone()));
        found
    }

    fn is_new<'a>(
        &self,
        process: &ServerProcess,
        mut recorded: impl Iterator<Item = &'a Target>,
    ) -> bool {
        // What listens nowhere only starts; or its sockets are hidden from us, and that does not change.
        let is_hidden = !process.absent.is_empty()
            && self.unseen.get(&process.pid).copied().unwrap_or(0) >= HIDDEN_LOOKS;
        (!target_process::is_unseen(process) || is_hidden)
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
        // One whose sockets are not seen may be what listens at its address.
        None => {
            is_at_address || (target_process::is_unseen(process) && !target.addresses.is_empty())
        }
    }
}

#[cfg(test)]
mod tests {
    use server::Login;

    use super::*;
    use crate::target_process::tests::process;

    fn target(label: &str, process: Option<ServerProcess>) -> Target {
        Target {
            label: label.to_owned(),
            addresses: Vec::new(),
            login: Login {
                user: "u".to_owned(),
                password: None,
                from: String::new(),
                tls: server::Tls::default(),
            },
            process,
            other_host: None,
            is_named: false,
            metrics: None,
            claims: Claims::default(),
        }
    }

    #[test]
    fn who_comes_back_is_no_newcomer_and_one_that_is_alike_is() {
        let claims = Claims::default();
        let newcomers = Newcomers::new(claims.clone());
        let is_new = |process: &ServerProcess, of: &[Target]| newcomers.is_new(process, of.iter());
        // Of process 1 nobody says that it is gone, and of this one there is none.
        let mut alive = process(1, "/run/s", "/proc/1/root/run/s", 3306);
        alive.start_time_ticks = {
            let proc = ProcRoot::default();
            let ticks = (0..1000).find(|ticks| servers::is_alive(&proc, 1, *ticks));
            ticks.unwrap_or_default()
        };
        let gone = process(4_000_001, "/run/s", "/proc/4000001/root/run/s", 3306);
        let next = process(4_000_002, "/run/s", "/proc/4000002/root/run/s", 3306);
        let one = [target("3306", Some(gone.clone()))];
        assert!(claims.claim("3306", &gone));
        assert!(!is_new(&gone, &[]), "it is recorded");
        assert!(!is_new(&next, &one), "it belongs to the one that is gone");
        let named = [Target {
            other_host: Some("db7".to_owned()),
            ..target("db7", None)
        }];
        assert!(
            is_new(&next, &named),
            "what is of another host is none of ours"
        );
        let mut starts = next.clone();
        (starts.unix_sockets, starts.tcp_ports) = Default::default();
        assert!(!is_new(&starts, &[]), "it listens nowhere yet");
        assert!(claims.claim("3306", &alive));
        let is_there = servers::is_alive(&ProcRoot::default(), 1, alive.start_time_ticks);
        assert_eq!(is_new(&next, &one), is_there, "the other one lives");
    }
}
