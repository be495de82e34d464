//! What points at a cause where none is found: a line of a log that nobody's sign asks for, a single print of counters.
#![allow(
    clippy::unwrap_used,
    reason = "a test fails by panicking; clippy does not see that helpers of tests are test code"
)]

use diagnosis::{Catalogue, Level, diagnose_closely};
use import::{Input, import};

fn found(text: &str) -> Vec<(String, Level)> {
    let input = Input {
        path: "x",
        bytes: text.as_bytes(),
    };
    let incident = import(&[input]).incident.unwrap();
    let findings = diagnose_closely(&incident, Catalogue::builtin()).findings;
    let named = findings.into_iter();
    named
        .map(|finding| (finding.cause, finding.level))
        .collect()
}

/// The lexicon knows the line and its layer, and several causes are about the layer: the line tells which.
#[test]
fn a_line_about_a_layer_tells_which_cause_of_it() {
    for (text, cause) in [
        (
            "Mar 03 02:11:09 db1 kernel: nfs: server 10.1.1.9 not responding, still trying\n",
            "slow-fsync",
        ),
        (
            "[91223.112233] device-mapper: multipath: 253:2: Failing path 8:32.\n\
             [91224.112233] sd 2:0:0:1: rejecting I/O to offline device\n",
            "slow-fsync",
        ),
        (
            "[91223.112233] md: recovery of RAID array md0\n",
            "slow-fsync",
        ),
        (
            "[91223.112233] device-mapper: thin: 253:4: switching pool to out-of-data-space (queue IO) mode\n",
            "disk-full",
        ),
        (
            "Mar 03 02:11:09 h corosync[12]: [MAIN  ] Corosync main process was not scheduled for 9122.1 ms\n",
            "steal-time",
        ),
        (
            "Mar 03 02:11:09 h kernel: PM: suspend entry (s2idle)\n",
            "server-stopped",
        ),
        (
            "[9122.112233] hv_balloon: Balloon request will be partially fulfilled. Balloon floor reached.\n",
            "direct-reclaim",
        ),
        (
            "SQLSTATE[08004] [1040] Demasiadas conexiones\n",
            "max-connections",
        ),
        (
            "ERROR 1040 (08004): Zu viele Verbindungen\n",
            "max-connections",
        ),
    ] {
        let found = found(text);
        let first = found.first().map(|(cause, level)| (cause.as_str(), *level));
        assert_eq!(first, Some((cause, Level::Suspicion)), "{text}: {found:?}");
    }
}
