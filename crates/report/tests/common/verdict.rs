//! The synthetic incident's verdict.

use diagnosis::{
    Actor, Finding, Level, Rejected, Relation, Remedy, Show, SourceRead, Verdict, Witness,
};
use model::{Absent, Reason};

/// A witness of a source with its numbers and signals.
pub(crate) fn witness(
    id: &str,
    source: &str,
    says: &str,
    numbers: [Option<f64>; 3],
    signals: &[&str],
) -> Witness {
    Witness {
        id: id.to_owned(),
        source: source.to_owned(),
        says: says.to_owned(),
        value: numbers[0],
        baseline: numbers[1],
        limit: numbers[2],
        signals: signals.iter().map(|name| (*name).to_owned()).collect(),
        conclusive: id == "warnings-rate",
        show: match numbers[0] {
            Some(share) if share < 1.0 => Show::Percent,
            _ => Show::Count,
        },
    }
}

fn lines(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|line| (*line).to_owned()).collect()
}

/// Its verdict.
pub(crate) fn verdict() -> Verdict {
    Verdict {
        sentence: "The server stalled for 67 s because clients sent 46,800 SHOW WARNINGS a second over compressed connections; certain, from 4 witnesses.".to_owned(),
        findings: vec![show_warnings(), compression()],
        mechanism: Vec::new(),
        folded: vec![Finding {
            cause: "cpu-saturation".to_owned(),
            title: "More runnable tasks than CPUs".to_owned(),
            level: Level::Possible,
            ..compression()
        }],
        rejected: vec![
            Rejected {
                cause: "thp-compaction".to_owned(),
                title: "Transparent huge pages: compaction in page faults".to_owned(),
                why: "vmstat.compact_stall did not grow in the stall, and THP is off for this process".to_owned(),
                looked_in: Vec::new(),
            },
            Rejected {
                cause: "mutex-contention".to_owned(),
                title: "Contention on an InnoDB latch".to_owned(),
                why: "InnoDB had no semaphore wait at the trigger".to_owned(),
                looked_in: Vec::new(),
            },
        ],
        absent: vec![Absent::new("profile", Reason::Permission, "perf_event_paranoid is 3; CAP_PERFMON would bring it")],
        sources: vec![SourceRead {
            path: "/var/lib/freezeframe/3306-20240512T031605Z.frame".to_owned(),
            kind: "freezeframe incident".to_owned(),
            ..SourceRead::default()
        }],
    }
}

fn show_warnings() -> Finding {
    Finding {
        cause: "show-warnings-flood".to_owned(),
        title: "SHOW WARNINGS flood".to_owned(),
        what: "Clients ask for warnings after every statement. Each answer is small, so the server spends its time in system calls and packets, not in queries.".to_owned(),
        level: Level::Certain,
        confidence: 0.97,
        witnesses: vec![
            witness("warnings-rate", "status", "Com_show_warnings grew by 46,812 a second in the stall, 3 before; the limit is 1,000", [Some(46_812.0), Some(3.0), Some(1_000.0)], &["status.Com_show_warnings"]),
            witness("system-cpu", "cpu", "system CPU took 77 % of all CPUs, 6 % before; the limit is 40 %", [Some(0.77), Some(0.061), Some(0.4)], &["cpu.system_share"]),
            witness("sessions-class", "processlist", "319 of 344 active sessions ran SHOW WARNINGS at the worst moment", [Some(319.0), Some(1.0), Some(50.0)], &["processlist.class.show_warnings"]),
            witness("switches", "cpu", "context switches rose to 958,000 a second, 82,000 before", [Some(958_000.0), Some(82_000.0), None], &["cpu.context_switches"]),
        ],
        against: vec![witness("queries-held", "status", "other statements fell to 4,400 a second, so part of the CPU time may be theirs", [Some(4_400.0), Some(21_400.0), None], &["status.Com_select"])],
        refuted_by: lines(&["The stall comes again with the ORM's log level at `error` and Com_show_warnings below 100 a second."]),
        unknown: lines(&["Kernel profile: it would show `tcp_sendmsg` and `__x64_sys_recvfrom` on top."]),
        actors: vec![Actor {
            who: "long-statement".to_owned(),
            sure: true,
            says: "connection 91 (shop_api@10.0.0.7): SHOW WARNINGS for 3 s".to_owned(),
            connection: Some(91),
            ..Actor::default()
        }],
        relations: vec![Relation { kind: "aggravated-by".to_owned(), cause: "compressed-protocol".to_owned() }],
        remedy: Remedy {
            now: lines(&[
                "Find who sends them: SELECT user, host, COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SHOW WARNINGS%' GROUP BY user, host",
                "Restart or stop that client, or take its connections away: ALTER USER 'shop_api'@'%' WITH MAX_USER_CONNECTIONS 50 (new ones only)",
            ]),
            durable: lines(&["Set the ORM's log level to `error`: at `warning` it asks for warnings after every statement."]),
            undo: lines(&["ALTER USER 'shop_api'@'%' WITH MAX_USER_CONNECTIONS 0"]),
            risk: "Clients over the connection limit get error 1226 until they have the new log level.".to_owned(),
            verify: lines(&[
                "Com_show_warnings grows by less than 100 a second:\nmysqladmin extended-status --relative --sleep=1 | grep -w Com_show_warnings",
                "freezeframe compare before.frame after.frame",
            ]),
            fix: Vec::new(),
        },
        sources: lines(&["MySQL 8.0 manual, 15.7.7.42 SHOW WARNINGS"]),
    }
}

fn compression() -> Finding {
    Finding {
        cause: "compressed-protocol".to_owned(),
        title: "Many small packets over compressed connections".to_owned(),
        what: "Every packet of a compressed connection is compressed by itself, with buffers that are allocated anew.".to_owned(),
        level: Level::Likely,
        confidence: 0.7,
        witnesses: vec![
            witness("compressed", "sessions", "398 sessions use compression, 4 before the onset", [Some(398.0), Some(4.0), Some(30.0)], &["sessions.compressed"]),
            witness("small-packets", "status", "an answer had 410 bytes on average", [Some(410.0), Some(514.0), Some(1_000.0)], &["status.Bytes_sent", "status.Questions"]),
        ],
        against: Vec::new(),
        refuted_by: lines(&["The same rate of statements without compression takes as much system CPU."]),
        unknown: Vec::new(),
        actors: Vec::new(),
        relations: vec![Relation { kind: "aggravates".to_owned(), cause: "show-warnings-flood".to_owned() }],
        remedy: Remedy {
            now: lines(&["SET GLOBAL protocol_compression_algorithms = 'uncompressed';"]),
            durable: lines(&["In the server's option file:\n[mysqld]\nprotocol_compression_algorithms = uncompressed"]),
            undo: lines(&["SET GLOBAL protocol_compression_algorithms = 'zlib,zstd,uncompressed';"]),
            risk: "Clients that insist on compression cannot connect; those far away need more bandwidth.".to_owned(),
            verify: lines(&["SELECT COUNT(*) FROM performance_schema.status_by_thread WHERE VARIABLE_NAME = 'Compression' AND VARIABLE_VALUE = 'ON';"]),
            fix: Vec::new(),
        },
        sources: Vec::new(),
    }
}
