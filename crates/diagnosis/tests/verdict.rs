//! What holds for every verdict: quiet servers, order, relations, absent evidence.

use crate::common;
use common::{Story, finding, named, stalls};
use diagnosis::{
    Catalogue, FINDINGS_MAX, Finding, Level, Relation, Verdict, diagnose, order_by_times,
};
use model::Reason;

fn relations(verdict: &diagnosis::Verdict, cause: &str) -> Vec<(String, String)> {
    finding(verdict, cause)
        .relations
        .iter()
        .map(|relation| (relation.kind.clone(), relation.cause.clone()))
        .collect()
}

fn pair(kind: &str, cause: &str) -> (String, String) {
    (kind.to_owned(), cause.to_owned())
}

#[test]
fn a_quiet_server_gets_no_finding() {
    let healthy = Story::healthy();
    let mut idle = Story::healthy();
    for name in [
        "status.Questions",
        "status.Com_show_warnings",
        "status.Bytes_sent",
        "status.Connections",
        "status.Innodb_buffer_pool_reads",
        "status.Innodb_buffer_pool_read_requests",
        "status.Innodb_data_fsyncs",
        "process.user_ticks",
        "process.minor_faults",
        "disk.sda.reads",
        "disk.sda.writes",
        "disk.sda.write_ms",
        "disk.sda.flushes",
        "disk.sda.flush_ms",
        "disk.sda.busy_ms",
    ] {
        idle = idle.rate(name, 0.0, 0.0);
    }
    let idle = idle
        .level("disk.sda.in_flight", 0.0, 0.0)
        .busy(&[])
        .busy_before(&[]);
    // As measured on a server that uses all of two CPUs for ordinary small transactions.
    let busy = Story::healthy()
        .rate("status.Questions", 44_000.0, 45_000.0)
        .rate("status.Bytes_sent", 110e6, 111e6)
        .rate("status.Innodb_data_fsyncs", 1_500.0, 1_500.0)
        .rate("disk.sda.flushes", 700.0, 700.0)
        .rate("disk.sda.flush_ms", 1_400.0, 1_400.0)
        .rate("disk.sda.busy_ms", 900.0, 900.0)
        .level("cpu.system_share", 0.45, 0.46)
        .level("cpu.busy_share", 0.99, 1.0)
        .level("status.Threads_running", 16.0, 17.0)
        .busy_before(&[
            ("commit", "Commit", "app", 8),
            ("update", "Updating", "app", 6),
        ])
        .busy(&[
            ("commit", "Commit", "app", 9),
            ("update", "Updating", "app", 6),
        ]);
    // The same load beginning on an idle server.
    let begins = busy
        .clone()
        .rate("status.Questions", 1.0, 45_000.0)
        .rate("status.Bytes_sent", 10_000.0, 111e6)
        .level("cpu.system_share", 0.01, 0.46)
        .level("cpu.busy_share", 0.02, 1.0)
        .rate("process.system_ticks", 1.0, 90.0)
        .rate("status.Innodb_data_fsyncs", 1.0, 1_500.0)
        .level("status.Threads_running", 1.0, 17.0)
        .busy_before(&[]);
    // A connector that asks for warnings after each statement, on a server that copes.
    let chatty = healthy
        .clone()
        .rate("status.Com_show_warnings", 1_900.0, 2_000.0);
    // All sessions compressed, and the server copes.
    let compressed = healthy.clone().level("sessions.compressed", 60.0, 60.0);
    for (name, story) in [
        ("healthy", healthy),
        ("idle", idle),
        ("busy", busy),
        ("load begins", begins),
        ("chatty", chatty),
        ("compressed", compressed),
    ] {
        let verdict = story.verdict();
        assert_eq!(named(&verdict), [], "{name}: {}", verdict.sentence);
        assert_eq!(
            verdict.sentence,
            "No known cause fits what was recorded. Seen: SELECT 1 took 3.2 s, the limit is 1 s.",
            "{name}"
        );
    }
}

#[test]
fn what_was_so_before_is_not_what_changed() {
    for (cause, story) in stalls::all() {
        // These need no comparison: a refusal is a refusal, and a small pool is chronic.
        if ["max-connections", "small-bufpool"].contains(&cause) {
            continue;
        }
        let verdict = story.unchanged().verdict();
        assert_eq!(named(&verdict), [], "{cause}: {}", verdict.sentence);
    }
}

#[test]
fn the_root_comes_first_and_the_consequence_follows() {
    let verdict = stalls::row_lock_pileup()
        .level("probe.connect_outcome", 0.0, 3.0)
        .rate("status.Connection_errors_max_connections", 0.0, 40.0)
        .level("status.Threads_connected", 60.0, 151.0)
        .level("processlist.sessions", 60.0, 151.0)
        .without("innodb.", Reason::Permission)
        .without("cpu.", Reason::Failed)
        .verdict();
    assert_eq!(
        named(&verdict),
        [
            ("row-lock-pileup", Level::Likely),
            ("max-connections", Level::Certain)
        ]
    );
    assert_eq!(
        relations(&verdict, "row-lock-pileup"),
        [pair("root-of", "max-connections")]
    );
    assert_eq!(
        relations(&verdict, "max-connections"),
        [pair("effect-of", "row-lock-pileup")]
    );
    assert!(
        verdict.sentence.starts_with(
            "Likely: Row locks: sessions queue behind a transaction (row-lock-pileup), followed by \
             max-connections: "
        ),
        "{}",
        verdict.sentence
    );
}

#[test]
fn what_makes_another_worse_stands_after_it() {
    let verdict = stalls::compressed_show_warnings().verdict();
    assert_eq!(
        relations(&verdict, "show-warnings-flood"),
        [pair("aggravated-by", "compressed-protocol")]
    );
    assert_eq!(
        relations(&verdict, "compressed-protocol"),
        [pair("aggravates", "show-warnings-flood")]
    );
}

#[test]
fn what_is_only_possible_comes_last() {
    let verdict = stalls::slow_fsync()
        .level("status.Innodb_row_lock_current_waits", 0.0, 9.0)
        .busy(&[("commit", "Commit", "app", 24)])
        .verdict();
    assert_eq!(
        named(&verdict),
        [
            ("slow-fsync", Level::Certain),
            ("row-lock-pileup", Level::Possible)
        ]
    );
    // A root that is only possible does not go before the consequence that is sure.
    let verdict = stalls::max_connections()
        .level("status.Innodb_row_lock_current_waits", 0.0, 9.0)
        .verdict();
    assert_eq!(
        named(&verdict),
        [
            ("max-connections", Level::Certain),
            ("row-lock-pileup", Level::Possible)
        ]
    );
    assert!(
        verdict.sentence.starts_with(
            "Certain: All connections in use (max-connections), perhaps a consequence of \
             row-lock-pileup: "
        ),
        "{}",
        verdict.sentence
    );
}

#[test]
fn findings_beyond_the_limit_are_folded() {
    let verdict = stalls::slow_fsync()
        .level("status.Innodb_row_lock_current_waits", 0.0, 30.0)
        .level("innodb.lock_wait_transactions", 0.0, 30.0)
        .level("innodb.lock_wait_seconds_max", 0.0, 9.0)
        .rate("status.Connections", 20.0, 900.0)
        .level("probe.connect_us", 900.0, 2e6)
        .level("probe.connect_outcome", 0.0, 3.0)
        .rate("status.Connection_errors_max_connections", 0.0, 40.0)
        .level("status.Threads_connected", 60.0, 151.0)
        .verdict();
    let causes: Vec<&str> = named(&verdict)
        .into_iter()
        .map(|(cause, _)| cause)
        .collect();
    assert_eq!(
        causes,
        [
            "slow-fsync",
            "row-lock-pileup",
            "connection-storm",
            "max-connections"
        ]
    );
    assert_eq!(verdict.findings.len(), FINDINGS_MAX);
    assert_eq!(verdict.folded.len(), 1);
}

#[test]
fn absent_evidence_lowers_the_level_and_is_listed() {
    let verdict = stalls::thp_compaction()
        .without("psi.", Reason::Unsupported)
        .without("buddyinfo.", Reason::Permission)
        .without("process.", Reason::Gone)
        .verdict();
    let thp = finding(&verdict, "thp-compaction");
    assert_eq!(thp.level, Level::Likely);
    assert_eq!(
        thp.unknown,
        [
            "process.system_ticks is not in the record; taken by /proc/PID/stat of the server (gone: \
             process was asked for)",
            "buddyinfo.order_10_free_blocks, buddyinfo.order_9_free_blocks are not in the record; \
             taken by /proc/buddyinfo (not permitted: buddyinfo was asked for)",
            "psi.memory.some_us is not in the record; taken by /proc/pressure, Linux 4.20 and later \
             with PSI on (not available here: psi was asked for)",
        ]
    );
    assert_eq!(verdict.absent.len(), 3);

    let verdict = stalls::compressed_show_warnings()
        .without("processlist", Reason::Permission)
        .without("process.", Reason::Gone)
        .without("sessions.", Reason::Unsupported)
        .verdict();
    // Whether the server became busy is not known, so compression cannot be judged.
    assert_eq!(named(&verdict), [("show-warnings-flood", Level::Likely)]);
}

#[test]
fn without_a_login_nothing_is_claimed_and_the_reader_is_told() {
    let verdict = stalls::show_warnings_flood()
        .without("status.", Reason::NoLogin)
        .without("processlist", Reason::NoLogin)
        .without("innodb.", Reason::NoLogin)
        .without("sessions.", Reason::NoLogin)
        .without("variables.", Reason::NoLogin)
        .verdict();
    assert_eq!(named(&verdict), []);
    // What something speaks for has a name; the many others are a number.
    let (head, others) = verdict
        .sentence
        .split_once(" and ")
        .unwrap_or((&verdict.sentence, ""));
    assert_eq!(
        head,
        "No known cause fits what was recorded. Seen: SELECT 1 took 3.2 s, the limit is 1 s. Not \
         checked, because evidence is missing (innodb, processlist, replica, sessions, statements, status, variables): \
         show-warnings-flood"
    );
    assert!(others.ends_with(" other causes."), "{others}");
    // What the host tells suffices for this one.
    let verdict = stalls::thp_compaction()
        .without("status.", Reason::NoLogin)
        .without("processlist", Reason::NoLogin)
        .verdict();
    assert_eq!(named(&verdict), [("thp-compaction", Level::Certain)]);
}

#[test]
fn without_a_time_before_nothing_relative_is_claimed() {
    let mut story = stalls::show_warnings_flood();
    story.onset_s = 4;
    story.end_s = Some(20);
    let verdict = story.verdict();
    let flood = finding(&verdict, "show-warnings-flood");
    assert_eq!(flood.level, Level::Likely);
    assert!(
        flood.unknown.contains(
            &"system-cpu: the time before the onset is not in the record, or too short to compare with"
                .to_owned()
        ),
        "{:?}",
        flood.unknown
    );
    let first = flood.witnesses.first().unwrap();
    assert_eq!(
        first.says,
        "SHOW WARNINGS ran at 12.3 k/s, a fifth of all statements or more"
    );
    assert_eq!(first.baseline, None);
}

#[test]
fn a_short_stall_in_a_long_window_is_not_averaged_away() {
    let mut story = stalls::thp_compaction();
    story.end_s = Some(66);
    story.to_s = 300;
    let mut incident = story.build();
    incident.stall.end = None;
    let verdict = diagnose(&incident, Catalogue::builtin());
    assert_eq!(named(&verdict), [("thp-compaction", Level::Certain)]);
}

#[test]
fn a_stall_that_lasts_less_than_a_beat_is_read() {
    let mut story = stalls::thp_compaction();
    story.end_s = Some(61);
    let mut incident = story.build();
    incident.stall.onset = 60_400;
    incident.stall.end = Some(60_600);
    let verdict = diagnose(&incident, Catalogue::builtin());
    assert!(
        named(&verdict)
            .iter()
            .any(|(cause, _)| *cause == "thp-compaction"),
        "{}",
        verdict.sentence
    );
}

#[test]
fn readings_that_hang_with_the_server_still_tell() {
    let verdict = stalls::show_warnings_flood()
        .silent("status")
        .silent("process")
        .verdict();
    assert_eq!(named(&verdict), [("show-warnings-flood", Level::Certain)]);
    let rate = finding(&verdict, "show-warnings-flood")
        .witnesses
        .first()
        .and_then(|witness| witness.value)
        .unwrap();
    assert!((rate - 12_300.0).abs() < 1.0, "{rate}");
}

#[test]
fn a_record_with_holes_does_not_say_that_something_was_not_there() {
    let mut story = stalls::thp_compaction()
        .rate("vmstat.compact_stall", 0.2, 0.2)
        .silent("vmstat");
    story.end_s = None;
    let verdict = story.verdict();
    assert_eq!(named(&verdict), []);
    assert!(
        !verdict
            .rejected
            .iter()
            .any(|rejected| rejected.cause == "thp-compaction"),
        "{:?}",
        verdict.rejected
    );
    assert!(
        verdict
            .sentence
            .ends_with("Not checked, because evidence is missing (vmstat): direct-reclaim, numa-swap, thp-compaction."),
        "{}",
        verdict.sentence
    );
}

/// Several at a time: one after the other it would be the last test that runs.
#[test]
fn any_times_are_taken() {
    std::thread::scope(|scope| {
        for to in [0, 90_000, u64::MAX] {
            scope.spawn(move || any_times_up_to(to));
        }
    });
}

fn any_times_up_to(to: u64) {
    let mut incident = stalls::slow_fsync().build();
    incident.window.to = to;
    for onset in [0, 60_000, 91_000, u64::MAX] {
        for end in [None, Some(0), Some(61_000), Some(u64::MAX)] {
            incident.stall.onset = onset;
            incident.stall.end = end;
            let verdict = diagnose(&incident, Catalogue::builtin());
            assert!(!verdict.sentence.is_empty());
        }
    }
}

#[test]
fn a_cause_that_needs_a_comparison_is_not_judged_without_one() {
    let mut storm = stalls::connection_storm();
    storm.onset_s = 5;
    // What came after it is something to compare with.
    let after = storm.clone().verdict();
    assert!(
        after.sentence.contains("after the end"),
        "{}",
        after.sentence
    );
    assert_eq!(after.findings[0].cause, "connection-storm");
    storm.to_s = 80;
    // What was usual since the server's start is something to compare with.
    let usual = storm.clone().verdict().sentence;
    assert!(usual.contains("on average since its start"), "{usual}");
    let sentence = storm
        .without("status.Uptime", Reason::NotRecorded)
        .verdict()
        .sentence;
    assert!(
        sentence.contains("(the time before the onset): connection-storm"),
        "{sentence}"
    );
}

#[test]
fn the_same_incident_gives_the_same_verdict_and_json() {
    let incident = stalls::compressed_show_warnings().build();
    let first = diagnose(&incident, Catalogue::builtin());
    let second = diagnose(&incident, Catalogue::builtin());
    assert_eq!(first, second);
    let json = serde_json::to_value(&first).unwrap();
    let level = json.pointer("/findings/0/level").unwrap();
    assert_eq!(level, "certain");
}

/// A cause that lacks what it needs is told with all that speaks for it, where it is told at all.
#[test]
fn beside_a_finding_only_its_look_alikes_are_told_of() {
    let witness = |id: &str, above: u64, more: &str| {
        format!(
            "[[witness]]\nid = \"{id}\"\nmeasure = \"rate(status.Questions)\"\nabove = {above}\n\
             unit = \"per_second\"\nsays = \"{id}\"\n{more}\n"
        )
    };
    let file = |id: &str, signs: &str| {
        let head = format!(
            "id = \"{id}\"\ntitle = \"A cause\"\nwhat = \"It is this. It does that.\"\n\
             refuted_by = [\"This.\"]\nsources = [\"A page.\"]\n"
        );
        let tail = "[remedy]\nnow = [\"a\"]\ndurable = [\"b\"]\nundo = [\"c\"]\nrisk = \"d\"\nverify = [\"e\"]\n";
        (format!("{id}.toml"), format!("{head}{signs}{tail}"))
    };
    let lacking = |more: &str| {
        let needed = witness("needed", 1_000_000_000, more);
        format!(
            "{}{needed}{}",
            witness("first", 1, ""),
            witness("last", 1, "")
        )
    };
    let alike = "[[look_alike]]\ncause = \"b-found\"\ndifference = \"It is another.\"\n";
    let files = |found_from: u64| {
        [
            file(
                "a-alike",
                &format!("{}{alike}", lacking("necessary = true")),
            ),
            file("b-found", &witness("it", found_from, "necessary = true")),
            file("c-other", &lacking("necessary = true")),
            file(
                "d-alike",
                &format!("{}{alike}", lacking("one_of = \"group\"")),
            ),
            file(
                "e-alike",
                &format!(
                    "{}{alike}",
                    witness("it", 1_000_000_000, "necessary = true")
                ),
            ),
        ]
    };
    let told = |found_from: u64| {
        let catalogue = Catalogue::from_files(&files(found_from)).unwrap();
        let verdict = diagnose(&Story::healthy().build(), &catalogue);
        let rejected = verdict.rejected.into_iter();
        let rejected: Vec<(String, String)> = rejected.map(|one| (one.cause, one.why)).collect();
        let is_found = |one: &Finding| one.cause == "b-found";
        assert_eq!(verdict.findings.iter().any(is_found), found_from == 1);
        rejected
    };
    let causes = |told: &[(String, String)]| -> Vec<String> {
        told.iter().map(|(cause, _)| cause.clone()).collect()
    };
    let beside = told(1);
    assert_eq!(causes(&beside), ["a-alike", "d-alike"]);
    let alone = told(1_000_000_000);
    assert_eq!(causes(&alone), ["a-alike", "c-other", "d-alike"]);
    // What is told of one does not depend on what else is found.
    assert!(
        beside.iter().all(|one| alone.contains(one)),
        "{beside:?} {alone:?}"
    );
}

#[test]
fn an_empty_record_says_so() {
    let mut story = Story::healthy();
    for prefix in [
        "status.",
        "processlist",
        "innodb.",
        "sessions.",
        "variables.",
        "probe.",
        "cpu.",
        "psi.",
        "vmstat.",
        "buddyinfo.",
        "disk.",
        "net.",
        "accept_queue.",
        "threads.",
        "process.",
        "thp.",
        "host.",
    ] {
        story = story.without(prefix, Reason::NotRecorded);
    }
    let verdict = story.verdict();
    assert_eq!(named(&verdict), []);
    assert!(verdict.rejected.is_empty(), "{:?}", verdict.rejected);
    assert!(
        verdict.sentence.contains("Not checked"),
        "{}",
        verdict.sentence
    );
}

/// A stall that comes again within a minute is named as surely as the first time.
#[test]
fn the_stall_before_is_not_what_is_usual() {
    let mut story = stalls::thp_compaction();
    let first = story.verdict();
    story.earlier_s = Some((20, 45));
    let again = story.verdict();
    assert_eq!(named(&again), named(&first));
    let before = |verdict: &Verdict| {
        let finding = finding(verdict, "thp-compaction");
        let mut witnesses = finding.witnesses.iter();
        let witness = witnesses.find(|witness| witness.id == "direct-compaction");
        witness.and_then(|witness| witness.baseline)
    };
    assert_eq!(before(&again), before(&first));
    story.knows_earlier = false;
    let level = |verdict: &Verdict| verdict.findings.first().map(|found| found.level);
    assert!(
        level(&story.verdict()) < level(&first),
        "it would be less sure"
    );
}

/// What a fleet had goes before what it never had where nothing decides, and never before its own root.
#[test]
fn what_happened_before_goes_first_where_the_evidence_does_not_decide() {
    let possible = |cause: &str, kind: &str, other: &str| Finding {
        cause: cause.to_owned(),
        title: cause.to_uppercase(),
        level: Level::Possible,
        relations: vec![Relation {
            kind: kind.to_owned(),
            cause: other.to_owned(),
        }],
        ..Finding::default()
    };
    let verdict = || Verdict {
        findings: vec![
            possible("a", "root-of", "b"),
            possible("b", "effect-of", "a"),
            possible("c", "root-of", "d"),
        ],
        ..Story::healthy().verdict()
    };
    let order = |times: [u64; 3], mut verdict: Verdict| {
        order_by_times(&mut verdict, |cause| match cause {
            "a" => times[0],
            "b" => times[1],
            _ => times[2],
        });
        let findings = verdict.findings.iter();
        findings.map(|one| one.cause.clone()).collect::<String>()
    };
    for (times, wanted) in [
        ([0, 0, 0], "abc"),
        ([0, 0, 3], "cab"),
        ([1, 0, 9], "acb"),
        ([0, 5, 0], "abc"),
        ([0, 5, 2], "abc"),
    ] {
        assert_eq!(order(times, verdict()), wanted, "{times:?}");
    }
    let mut sure = verdict();
    sure.findings[0].level = Level::Likely;
    assert_eq!(order([0, 0, 3], sure), "abc");
}
