//! Witnesses that look at profiles, stacks, locks and statements. The causes and the evidence here
//! are made up.

#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "clippy does not see that helpers of tests are test code"
)]

use crate::common;
use common::Story;
use common::deep::{Asked, Lock};
use diagnosis::{Catalogue, Level, Verdict, diagnose};
use model::{QueryMethod, RunState};

const HEAD: &str = r#"id = "x"
title = "A cause"
what = "It is this. It does that."
refuted_by = ["This."]
sources = ["A page."]
"#;

const TAIL: &str = r#"
[remedy]
now = ["a"]
durable = ["b"]
undo = ["c"]
risk = "d"
verify = ["e"]
"#;

fn file(signs: &str) -> String {
    format!("{HEAD}{signs}{TAIL}")
}

fn verdict(story: &Story, signs: &str) -> Verdict {
    let catalogue =
        Catalogue::from_files(&[("x.toml", file(signs))]).unwrap_or_else(|error| panic!("{error}"));
    diagnose(&story.build(), &catalogue)
}

/// The sentence of the only witness, or nothing.
fn says(story: &Story, sign: &str) -> Option<String> {
    let verdict = verdict(story, &format!("[[witness]]\nid = \"w\"\n{sign}\n"));
    let finding = verdict.findings.first()?;
    finding
        .witnesses
        .first()
        .map(|witness| witness.says.clone())
}

/// Why the cause was rejected or could not be judged, when the sign is a necessary one beside
/// another that holds.
fn why_not(story: &Story, sign: &str) -> String {
    let signs = format!(
        "[[witness]]\nid = \"w\"\nnecessary = true\n{sign}\n[[witness]]\nid = \"q\"\n\
         measure = \"rate(status.Questions)\"\nabove = 1\nunit = \"per_second\"\nsays = \"q\"\n"
    );
    let verdict = verdict(story, &signs);
    assert!(verdict.findings.is_empty(), "{}", verdict.sentence);
    verdict
        .rejected
        .first()
        .map_or(verdict.sentence, |rejected| rejected.why.clone())
}

const COMPACTION: &str = r#"measure = "profile_share(function = '^compact_zone$|^isolate_freepages', side = kernel)"
above = 0.2
times_baseline = 3
baseline_optional = true
says = "{value} of the samples were in {each}[, against {baseline} before]""#;

fn compaction() -> Story {
    Story::healthy().samples(&[(
        99,
        &[
            "k:isolate_freepages_block",
            "k:compact_zone",
            "memset",
            "do_command",
        ],
    )])
}

#[test]
fn a_profile_tells_the_share_of_a_function() {
    // 99 of 132 samples a second.
    assert_eq!(
        says(&compaction(), COMPACTION).as_deref(),
        Some("75 % of the samples were in isolate_freepages_block, against 0 % before")
    );
    let own = COMPACTION.replace("side =", "self, side =");
    assert!(says(&compaction(), &own).is_some());
    let own = own.replace("|^isolate_freepages", "");
    assert_eq!(says(&compaction(), &own), None);
    let user = COMPACTION.replace("= kernel", "= user");
    assert_eq!(says(&compaction(), &user), None);
    for (under, expected) in [
        ("^memset$", true),
        ("^compact_zone$", true),
        ("^malloc$", false),
    ] {
        let under = COMPACTION.replace("side =", &format!("under = '{under}', side ="));
        assert_eq!(says(&compaction(), &under).is_some(), expected, "{under}");
    }
    // 99 samples a second at 49 a second and processor.
    let cpus = COMPACTION.replace("profile_share", "profile_cpus");
    assert_eq!(
        says(&compaction(), &cpus).as_deref(),
        Some("2.02 of the samples were in isolate_freepages_block, against 0 before")
    );
    assert_eq!(
        why_not(&Story::healthy(), COMPACTION),
        "a necessary sign is missing: the share of samples in /^compact_zone$|^isolate_freepages/ \
         was 0 %, the limit is 20 %"
    );
    assert_eq!(says(&compaction().unchanged(), COMPACTION), None);
}

#[test]
fn the_seconds_in_which_it_begins_are_not_the_usual() {
    // A server that did little, and two seconds in which the trouble was there before somebody noticed.
    let mut incident = compaction().build();
    let stacks = &mut incident.stacks;
    let [before, stall, ..] = stacks.profiles.as_slice() else {
        panic!("{} profiles", stacks.profiles.len());
    };
    let (mut quiet, mut begun) = (before.clone(), stall.clone());
    quiet.to -= 2_000;
    for row in &mut quiet.counts {
        row.count = row.count.min(2);
    }
    (begun.from, begun.to) = (quiet.to, before.to);
    stacks.profiles.splice(..1, [quiet, begun]);
    let sign = format!("[[witness]]\nid = \"w\"\n{COMPACTION}\n");
    let catalogue = Catalogue::from_files(&[("x.toml", file(&sign))]).unwrap();
    let verdict = diagnose(&incident, &catalogue);
    let witness = &verdict.findings.first().expect("it is found").witnesses[0];
    let baseline = witness.baseline.unwrap();
    assert!((0.01..0.1).contains(&baseline), "{baseline}");
}

#[test]
fn a_profile_of_few_samples_says_nothing() {
    let many = COMPACTION.replace("side =", "min_samples = 5000, side =");
    assert!(why_not(&compaction(), &many).contains("had nothing to count"));
    assert!(
        why_not(&compaction().without_stacks(), COMPACTION)
            .contains("Not checked, because evidence is missing (profile): x.")
    );
}

const QUEUE: &str = r#"measure = "threads(stack = ['^__lll_lock_wait', '^malloc$'])"
above = 4
times_baseline = 3
baseline_optional = true
says = "{value} threads[, {baseline} before]""#;

fn queue() -> Story {
    Story::healthy().threads(&[(
        20,
        "mysqld",
        RunState::Sleeping,
        &[
            "k:futex_wait",
            "__lll_lock_wait_private",
            "_int_malloc",
            "malloc",
            "my_malloc",
        ],
    )])
}

#[test]
fn stacks_tell_where_threads_stand() {
    assert_eq!(
        says(&queue(), QUEUE).as_deref(),
        Some("20 threads, 0 before")
    );
    let turned = QUEUE.replace(
        "'^__lll_lock_wait', '^malloc$'",
        "'^malloc$', '^__lll_lock_wait'",
    );
    assert_eq!(says(&queue(), &turned), None);
    let share = QUEUE
        .replace("threads(", "threads_share(")
        .replace("above = 4", "above = 0.2");
    assert_eq!(
        says(&queue(), &share).as_deref(),
        Some("25 % threads, 0 % before")
    );
    for (state, expected) in [("sleeping", true), ("uninterruptible", false)] {
        let state = QUEUE.replace("stack =", &format!("state = {state}, stack ="));
        assert_eq!(says(&queue(), &state).is_some(), expected);
    }
    let named = QUEUE.replace("stack =", "thread = '^page_cleaner', stack =");
    assert_eq!(says(&queue(), &named), None);
    assert_eq!(says(&queue().unchanged(), QUEUE), None);
    assert_eq!(
        why_not(&Story::healthy(), QUEUE),
        "a necessary sign is missing: the number of threads in /^__lll_lock_wait/ under /^malloc$/ \
         was 0, the limit is 2",
        "half of the four sessions that are in statements"
    );
    assert!(why_not(&queue().without_stacks(), QUEUE).contains("(stacks): x."));
}

const LOCK: &str = r#"measure = "lock_waiters(lock = '^kernel_mutex$')"
above = 8
says = "{value} waited for {each}""#;

fn kernel_mutex() -> Story {
    Story::healthy().locks(
        &[
            Lock {
                name: "kernel_mutex",
                waiters: 30,
                path: &["trx_start", "trx_start_if_not_started"],
                holder: Some((
                    "waits for malloc arena main_arena",
                    &["__lll_lock_wait", "malloc"],
                )),
            },
            Lock {
                name: "malloc arena main_arena",
                waiters: 4,
                path: &["malloc", "mem_heap_create_block"],
                holder: Some(("runs", &["k:clear_page_erms", "sysmalloc", "_int_malloc"])),
            },
        ],
        &[&[0, 1]],
    )
}

#[test]
fn lock_tables_tell_who_waits_and_who_holds() {
    assert_eq!(
        says(&kernel_mutex(), LOCK).as_deref(),
        Some("30 waited for kernel_mutex")
    );
    for (function, limit, expected) in [
        ("lock_share", "0.4", "50 % waited for kernel_mutex"),
        ("lock_waiting", "29", "30 waited for kernel_mutex"),
        ("lock_rate", "299", "300/s waited for kernel_mutex"),
    ] {
        let sign = LOCK
            .replace("lock_waiters", function)
            .replace("= 8", &format!("= {limit}"));
        assert_eq!(says(&kernel_mutex(), &sign).as_deref(), Some(expected));
    }
    for (argument, expected) in [
        ("caller = '^trx_start'", true),
        ("caller = '^trx_commit'", false),
        ("holder = 'malloc arena'", true),
        ("holder = ['^malloc$', '^__lll_lock_wait$']", true),
        // Who holds what the holder waits for.
        ("holder = ['^clear_page']", true),
        ("holder = ['^fsync$']", false),
    ] {
        let sign = LOCK.replace("lock =", &format!("{argument}, lock ="));
        let holds = says(&kernel_mutex(), &sign).is_some();
        assert_eq!(holds, expected, "{argument}");
    }
    assert!(why_not(&Story::healthy().without_stacks(), LOCK).contains("(stacks): x."));
    assert!(
        why_not(&kernel_mutex(), &LOCK.replace("kernel_mutex", "LOCK_open")).contains(
            "the most threads that waited at once for /^LOCK_open$/ was 0, the limit is 2"
        )
    );
}

const FLOOD: &str = r#"measure = "statements_share(class = 'SHOW WARNINGS')"
above = 0.3
times_baseline = 3
baseline_optional = true
says = "{value} were SHOW WARNINGS[, {baseline} before]""#;

fn flood(way: QueryMethod) -> Vec<Asked> {
    let seconds_each = (way != QueryMethod::StatementCounters).then_some(0.001);
    vec![
        Asked {
            way,
            kind: "SHOW WARNINGS",
            fingerprint: "show warnings",
            before: 10,
            during: 600,
            seconds_each,
        },
        Asked {
            way,
            kind: "SELECT",
            fingerprint: "select * from t where id = ?",
            before: 390,
            during: 400,
            seconds_each: seconds_each.map(|seconds| seconds * 6.0),
        },
    ]
}

#[test]
fn the_mix_of_statements_is_told_by_each_way() {
    for (way, source) in [
        (QueryMethod::PerformanceSchema, "performance_schema"),
        (QueryMethod::Packets, "packets"),
        (QueryMethod::StatementCounters, "status"),
    ] {
        let story = Story::healthy().asked(&flood(way));
        let verdict = verdict(&story, &format!("[[witness]]\nid = \"w\"\n{FLOOD}\n"));
        let witness = verdict.findings.first().unwrap().witnesses.first().unwrap();
        assert_eq!(witness.says, "60 % were SHOW WARNINGS, 2.5 % before");
        assert_eq!(witness.source, source);
        assert_eq!(says(&story.unchanged(), FLOOD), None);
    }
    let story = Story::healthy().asked(&flood(QueryMethod::Packets));
    let time = FLOOD.replace("_share", "_time").replace("0.3", "0.15");
    assert_eq!(
        says(&story, &time).as_deref(),
        Some("20 % were SHOW WARNINGS, 0.426 % before")
    );
    let rate = FLOOD.replace("_share", "_rate").replace("0.3", "500");
    assert_eq!(
        says(&story, &rate).as_deref(),
        Some("600/s were SHOW WARNINGS, 10/s before")
    );
    let like = FLOOD.replace(
        "class = 'SHOW WARNINGS'",
        "statement = '(?i)^select .* from t '",
    );
    assert!(says(&story, &like.replace("= 3\n", "= 0.1\n")).is_some());
    let other = FLOOD.replace("class =", "way = performance_schema, class =");
    assert!(why_not(&story, &other).contains("(performance_schema): x."));
    let few = FLOOD.replace("class =", "min_statements = 1000000, class =");
    assert!(why_not(&story, &few).contains("had nothing to count"));
    assert!(why_not(&Story::healthy(), FLOOD).contains("(statements): x."));
}

#[test]
fn ways_are_independent_of_each_other() {
    let mut asked = flood(QueryMethod::Packets);
    asked.extend(flood(QueryMethod::PerformanceSchema));
    let story = Story::healthy().asked(&asked);
    let sign = |id: &str, way: &str| {
        let sign = FLOOD.replace("class =", &format!("way = {way}, class ="));
        format!("[[witness]]\nid = \"{id}\"\n{sign}\n")
    };
    let level = |signs: &str| verdict(&story, signs).findings.first().unwrap().level;
    let two = format!(
        "{}{}",
        sign("a", "packets"),
        sign("b", "performance_schema")
    );
    assert_eq!(level(&two), Level::Likely);
    let same = format!("{}{}", sign("a", "packets"), sign("b", "packets"));
    assert_eq!(level(&same), Level::Possible);
    // Lock tables are made from the snapshots.
    let both = format!("[[witness]]\nid = \"a\"\n{LOCK}\n[[witness]]\nid = \"b\"\n{QUEUE}\n");
    let mut story = kernel_mutex();
    story = story.threads(&[(
        20,
        "mysqld",
        RunState::Sleeping,
        &["__lll_lock_wait_private", "malloc"],
    )]);
    assert_eq!(
        verdict(&story, &both).findings.first().unwrap().level,
        Level::Possible
    );
}

#[test]
fn mistakes_are_told_with_file_line_and_key() {
    for (sign, before, after, expected) in [
        (
            COMPACTION,
            "'^compact",
            "'(^compact",
            "x.toml:8: measure: column 26: function: not a regular",
        ),
        (
            COMPACTION,
            "side",
            "lock = 'a', side",
            "lock: is no argument of profile_share",
        ),
        (
            COMPACTION,
            "function = '^compact_zone$|^isolate_freepages', ",
            "",
            "measure: column 14: needs function = '…'",
        ),
        (
            COMPACTION,
            "= kernel",
            "= kernle",
            "x.toml:8: measure: column 70: side: ",
        ),
        (
            COMPACTION,
            "above = 0.2\ntimes_baseline = 3\nbaseline_optional = true",
            "",
            "needs a limit",
        ),
        (
            COMPACTION,
            "above",
            "window = \"worst\"\nabove",
            "window: belongs to signals, sessions and threads",
        ),
        (
            COMPACTION,
            "side",
            "self = 'outside', side",
            "self: stands alone",
        ),
        (
            QUEUE,
            "['^__lll_lock_wait', '^malloc$']",
            "[]",
            "stack: must have 1 to 16",
        ),
        (
            QUEUE,
            "stack = ['^__lll_lock_wait', '^malloc$']",
            "",
            "needs stack = ['…'], or a state",
        ),
        (
            QUEUE,
            "'^malloc$'",
            "'['",
            "stack: not a regular expression",
        ),
        (
            QUEUE,
            "stack",
            "state = R, stack",
            "state: must be one of running, sleeping",
        ),
        (
            QUEUE,
            "{value} threads",
            "{value} on {each}",
            "says: {each} needs",
        ),
        (LOCK, "'^kernel_mutex$'", "' '", "lock: must not be empty"),
        (
            LOCK,
            "lock =",
            "holder = [], lock =",
            "holder: must have 1 to 16",
        ),
        (
            FLOOD,
            "class = 'SHOW WARNINGS'",
            "",
            "needs class, statement or both",
        ),
        (
            FLOOD,
            "share(",
            "time(way = status, ",
            "way: status knows classes",
        ),
        (
            FLOOD,
            "class",
            "way = wire, class",
            "x.toml:8: measure: column 24: way: ",
        ),
        (FLOOD, "{value}", "{value} {each}", "says: {each} needs"),
    ] {
        assert!(sign.contains(before), "{before}");
        let text = file(&format!(
            "[[witness]]\nid = \"w\"\n{}\n",
            sign.replacen(before, after, 1)
        ));
        let error = match Catalogue::from_files(&[("x.toml", &text)]) {
            Ok(_) => panic!("no error for {after}"),
            Err(error) => error.to_string(),
        };
        assert!(
            error.contains(expected),
            "{after}\n  got {error}\n  not {expected}"
        );
    }
}
