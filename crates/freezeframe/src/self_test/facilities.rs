//! What of the kernel a recorder wants, and what is not recorded where it is not given. No server is looked at.

use std::path::Path;

use kernel::access::{access, advise, tier};

use super::{CheckResult, TestSetup};

/// Files that everybody may read, where the kernel was built with them.
struct Wanted {
    check: &'static str,
    path: &'static str,
    without: &'static str,
    to_do: &'static str,
}

const WANTED: [Wanted; 5] = [
    Wanted {
        check: "pressure",
        path: "/proc/pressure/memory",
        without: "no pressure signals: how long tasks wait for CPU, memory and disks (psi.*)",
        to_do: "boot with psi=1, where the kernel has CONFIG_PSI",
    },
    Wanted {
        check: "reclaim and compaction",
        path: "/proc/vmstat",
        without: "memory causes (huge pages, swapping, reclaim) cannot be found",
        to_do: "the unit must not have ProcSubset=pid",
    },
    Wanted {
        check: "free blocks",
        path: "/proc/buddyinfo",
        without: "fragmented memory cannot be seen (signals buddyinfo.*)",
        to_do: "the unit must not have ProcSubset=pid",
    },
    Wanted {
        check: "disks",
        path: "/proc/diskstats",
        without: "slow disks cannot be found (signals disk.*)",
        to_do: "the unit must not have ProcSubset=pid",
    },
    Wanted {
        check: "kernel log",
        path: "/dev/kmsg",
        without: "incidents lack processes that the kernel killed, and disk errors",
        to_do: "CAP_SYSLOG, and DeviceAllow=/dev/kmsg r in the unit",
    },
];

pub(super) fn of_kernel(_: &TestSetup) -> Vec<CheckResult> {
    let access = access();
    let mut found: Vec<CheckResult> = WANTED.iter().map(file).collect();
    for advice in advise(&access, None) {
        found.push(match advice.available {
            true => CheckResult::works(advice.evidence, advice.why),
            false => {
                let says = format!("{}; incidents will lack this evidence", advice.why);
                let note = CheckResult::note(advice.evidence, says);
                match advice.cure {
                    Some(cure) => note.advised(cure),
                    None => note,
                }
            }
        });
    }
    let tier = tier(&access);
    for (right, has) in &tier.above {
        if *has {
            continue;
        }
        let says = format!("not granted; missing: {}", right.without);
        let note = CheckResult::note(&right.capability.name().to_uppercase(), says);
        found.push(match &tier.cure {
            Some(cure) => note.advised(cure.clone()),
            None => note,
        });
    }
    once(found)
}

/// Opened and read from: a file may be there and masked.
fn file(wanted: &Wanted) -> CheckResult {
    let opened = rustix::fs::open(
        Path::new(wanted.path),
        rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::CLOEXEC,
        rustix::fs::Mode::empty(),
    );
    match opened {
        Ok(_) => CheckResult::works(wanted.check, format!("{} can be read", wanted.path)),
        Err(error) => {
            let says = format!("{}: {error}: {}", wanted.path, wanted.without);
            CheckResult::note(wanted.check, says).advised(wanted.to_do)
        }
    }
}

/// The same advice is given once: a command that gives several rights stands below the first of them.
fn once(mut found: Vec<CheckResult>) -> Vec<CheckResult> {
    let mut told: Vec<String> = Vec::new();
    for one in &mut found {
        let Some(to_do) = &mut one.to_do else {
            continue;
        };
        match told.contains(to_do) {
            true => *to_do = "as above".to_owned(),
            false => told.push(to_do.clone()),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::self_test::State;

    #[test]
    fn nothing_of_the_kernel_is_a_failure_and_what_is_missing_says_what_it_costs() {
        let masked = Wanted {
            path: "/nonexistent/pressure",
            ..WANTED[0]
        };
        let found = file(&masked);
        assert_eq!(found.state, State::Note);
        assert!(found.says.ends_with(WANTED[0].without), "{}", found.says);
        assert_eq!(found.to_do.as_deref(), Some(WANTED[0].to_do));
        let scene = TestSetup {
            dir: "/dev/null".into(),
            config: crate::config::Config::default(),
        };
        let all = of_kernel(&scene);
        assert!(all.len() > WANTED.len(), "{all:?}");
        assert!(all.iter().all(|one| one.state != State::Failed), "{all:?}");
    }

    #[test]
    fn the_same_advice_is_given_once() {
        let note = |to_do: &str| CheckResult::note("x", "y").advised(to_do);
        let told = once(vec![note("setcap a"), note("setcap b"), note("setcap a")]);
        let told: Vec<_> = told.into_iter().filter_map(|one| one.to_do).collect();
        assert_eq!(told, ["setcap a", "setcap b", "as above"]);
    }
}
