//! Each question over a fleet whose answer is known.

use std::collections::BTreeMap;

use fleet::questions::{QUESTIONS, Question, views};
use fleet::row::{Action, Hash64, Phase, Proof, RemedyRow, Seconds, StackKind};

use fleet::sqlite::Given;
use fleet::value::id_text;

use crate::common::{DAY, Fleet, NOW, ask, ask_like, column, stack_id, text};

/// A text of a column, for each row.
fn told(fleet: &Fleet, question: &str, name: &str) -> Vec<String> {
    column(&ask(&fleet.store(), question), question, name)
}

#[test]
fn every_statement_runs_on_an_empty_store_and_has_its_columns() {
    let store = Fleet::new().store();
    for question in QUESTIONS.into_iter().chain(views::ALL) {
        let rows = store.ask(question, &Given::default()).unwrap().rows;
        assert_eq!(rows, Vec::<Vec<_>>::new());
        for parameter in question.parameters {
            let place = format!(":{}", parameter.name());
            assert!(
                question.sqlite.contains(&place),
                "{}: {place}",
                question.name
            );
        }
    }
    let names: std::collections::BTreeSet<_> = QUESTIONS.map(|one| one.name).into();
    assert_eq!(names.len(), QUESTIONS.len());
}

#[test]
fn like_this_ranks_cause_then_shape_then_stacks() {
    let mut fleet = Fleet::new();
    for id in 1..=5 {
        fleet.host(id, "never", &[]);
    }
    let cause = fleet.incident_of_shape(2, 4 * DAY, 20, "slow-fsync", 70);
    let shape = fleet.incident_of_shape(3, 3 * DAY, 30, "", 7);
    let stacks = fleet.incident_of_shape(4, 2 * DAY, 40, "", 71);
    let other = fleet.incident_of_shape(5, 2 * DAY, 50, "mdl-pileup", 72);
    let me = fleet.incident_of_shape(1, DAY, 10, "slow-fsync", 7);
    let heavy: [&[&str]; 2] = [&["fsync", "log_write"], &["fsync", "flush"]];
    let idle: &[&str] = &["poll", "main"];
    for stack in heavy {
        fleet.stack((1, me), Phase::Stall, StackKind::Wait, stack, 500);
        fleet.stack((4, stacks), Phase::Stall, StackKind::Wait, stack, 50);
        // Another cause is known there.
        fleet.stack((5, other), Phase::Stall, StackKind::Wait, stack, 50);
    }
    // What always stands there says nothing.
    for (host, incident) in [(1, me), (5, other)] {
        fleet.stack((host, incident), Phase::Before, StackKind::Wait, idle, 900);
        fleet.stack((host, incident), Phase::Stall, StackKind::Wait, idle, 900);
    }
    let store = fleet.store();
    let subject = store.subject(None).unwrap().unwrap();
    assert_eq!((subject.id, subject.cause.as_str()), (me, "slow-fsync"));
    let mut wanted = heavy.map(stack_id);
    wanted.sort_by_key(|stack| stack.0.cast_signed());
    assert_eq!(subject.stacks, wanted);
    let answer = ask(&store, "like-this");
    let of = |name: &str| column(&answer, "like-this", name);
    assert_eq!(of("host"), ["db2:3306", "db3:3306", "db4:3306"]);
    assert_eq!(of("alike"), ["cause", "shape", "100 % of stacks"]);
    assert_eq!(of("cause"), ["slow-fsync", "(none named)", "(none named)"]);
    assert_eq!(of("frame")[0], "/frames/1.frame");
    assert_eq!(
        of("incident"),
        [cause, shape, stacks].map(|id| id_text(&id.0))
    );
    let onsets = [4, 3, 2].map(|days| ((NOW - days * DAY) * 1000).to_string());
    assert_eq!(of("onset"), onsets);
    assert_eq!(of("verdict"), ["named", "not_enough", "not_enough"]);
    assert_eq!(of("confidence"), ["0.900"; 3]);
    // By name, and by UUID.
    let named = ask_like(&store, "like-this", Some("3306-2"));
    assert_eq!(column(&named, "like-this", "host")[0], "db1:3306");
    let uuid = fleet::value::id_text(&shape.0);
    assert_eq!(store.subject(Some(&uuid)).unwrap().unwrap().id, shape);
    assert_eq!(store.subject(Some("nothing")).unwrap(), None);
    assert_ne!(cause, me);
}

#[test]
fn a_second_finding_makes_alike_too() {
    let mut fleet = Fleet::new();
    fleet.host(1, "never", &[]).host(2, "never", &[]);
    let second = fleet.incident_of_shape(2, 2 * DAY, 5, "disk-full", 1);
    fleet.finding(second, 2, 2 * DAY, "disk-full", 0);
    fleet.finding(second, 2, 2 * DAY, "slow-fsync", 1);
    fleet.incident_of_shape(1, DAY, 5, "slow-fsync", 2);
    assert_eq!(told(&fleet, "like-this", "alike"), ["second cause"]);
}

#[test]
fn costs_are_summed_by_cause() {
    let mut fleet = Fleet::new();
    fleet.host(1, "never", &[]).host(2, "never", &[]);
    for seconds in 1..=10 {
        fleet.incident(1 + u64::from(seconds % 2), DAY, seconds, "slow-fsync");
    }
    fleet.incident(1, DAY, 45, "");
    // Before the seven days.
    fleet.incident(1, 8 * DAY, 1000, "disk-full");
    assert_eq!(
        told(&fleet, "costs", "cause"),
        ["slow-fsync", "(none named)"]
    );
    assert_eq!(told(&fleet, "costs", "stall_seconds"), ["55.000", "45.000"]);
    assert_eq!(told(&fleet, "costs", "share"), ["0.550", "0.450"]);
    assert_eq!(told(&fleet, "costs", "servers"), ["2", "1"]);
    assert_eq!(told(&fleet, "costs", "p90_seconds"), ["9.000", "45.000"]);
}

/// Somebody captures a calm time, or keeps an hour of the history: nothing stalled.
#[test]
fn what_was_only_requested_is_no_stall() {
    let mut fleet = Fleet::new();
    fleet.host(1, "never", &[]);
    fleet.requested(1, DAY, 600, "");
    for question in ["costs", "unnamed"] {
        assert_eq!(told(&fleet, question, "stalls"), [""; 0], "{question}");
    }
    let given = Given {
        since: (NOW - 7 * DAY) * 1000,
        ..Given::default()
    };
    assert_eq!(listed(&fleet, &views::HOURS, given.clone()).len(), 0);
    assert_eq!(listed(&fleet, &views::HOSTS, given)[0][4], "0");
    // Who captures in a stall may have no recorder that notices it.
    fleet.requested(1, DAY, 30, "slow-fsync");
    assert_eq!(told(&fleet, "costs", "cause"), ["slow-fsync"]);
}

#[test]
fn at_risk_is_who_shows_the_sign_and_has_not_stalled() {
    let mut fleet = Fleet::new();
    let always = [("thp.enabled", "always")];
    fleet.host(1, "always", &always).host(2, "always", &always);
    fleet.host(3, "never", &[("thp.enabled", "never")]);
    fleet.host(4, "never", &[("variables.max_connections", "151")]);
    fleet.host(5, "never", &[("variables.max_connections", "500")]);
    fleet.incident(2, DAY, 9, "thp-compaction");
    for host in 1..=3 {
        fleet.signal(host, "vmstat.compact_stall", 3600, 12.0);
    }
    fleet.signal(1, "vmstat.compact_stall", 7200, 80.0);
    for host in [4, 5] {
        fleet.signal(host, "status.Threads_connected", 3600, 140.0);
    }
    fleet.signal(5, "filesystem.dir_x.used_share", 3600, 0.97);
    // Too long ago.
    fleet.signal(3, "filesystem.dir_x.used_share", 5 * DAY, 0.99);
    assert_eq!(
        told(&fleet, "at-risk", "cause"),
        ["thp-compaction", "disk-full", "max-connections"]
    );
    assert_eq!(
        told(&fleet, "at-risk", "host"),
        ["db1:3306", "db5:3306", "db4:3306"]
    );
    assert_eq!(
        told(&fleet, "at-risk", "worst"),
        ["80.000", "0.970", "140.000"]
    );
    assert_eq!(told(&fleet, "at-risk", "stalled_servers"), ["1", "0", "0"]);
}

fn remedy(host: u64, ago: i64, action: Action, proof: Proof) -> RemedyRow {
    RemedyRow {
        host_id: Hash64(host),
        at: Seconds(NOW - ago),
        remedy: "thp-never".to_owned(),
        cause: "thp-compaction".to_owned(),
        action,
        proof,
        rev: 1,
    }
}

#[test]
fn a_remedy_is_judged_by_the_stalls_of_its_cause() {
    let mut fleet = Fleet::new();
    fleet.host(1, "never", &[]).host(2, "never", &[]);
    fleet.push(&remedy(1, 20 * DAY, Action::Apply, Proof::Proven));
    fleet.push(&remedy(2, 20 * DAY, Action::Apply, Proof::NotProven));
    fleet.push(&remedy(2, 10 * DAY, Action::Undo, Proof::Pending));
    for day in 21..=27 {
        fleet.incident(1, day * DAY, 5, "thp-compaction");
        fleet.incident(2, day * DAY, 5, "thp-compaction");
    }
    // After: none on the first; on the second ten in ten days, and one after it was undone.
    for day in 10..20 {
        fleet.incident(2, day * DAY + 1, 5, "thp-compaction");
    }
    fleet.incident(2, 5 * DAY, 5, "thp-compaction");
    fleet.incident(1, 19 * DAY, 5, "disk-full");
    // In the days before the last stall the third had none of it, and for the fourth's an hour is too short.
    fleet.host(3, "never", &[]).host(4, "never", &[]);
    fleet.push(&remedy(3, 20 * DAY, Action::Apply, Proof::Pending));
    fleet.push(&remedy(4, 3600, Action::Apply, Proof::Pending));
    for hour in 2..=9 {
        fleet.incident(4, hour * 3600, 5, "thp-compaction");
    }
    let of = |name: &str| told(&fleet, "remedies", name);
    assert_eq!(of("remedy"), ["thp-never"]);
    assert_eq!(of("servers"), ["4"]);
    assert_eq!(of("helped"), ["1"]);
    assert_eq!(of("undecided"), ["2"]);
    // 7, 7, 0 and 8 stalls in 14 days.
    assert_eq!(of("before_per_day"), ["0.393"]);
    // Ten stalls in 14, 10, 14 days and an hour.
    assert_eq!(of("after_per_day"), ["0.263"]);
    assert_eq!(
        (of("proven"), of("undone")),
        (vec!["1".to_owned()], vec!["1".to_owned()])
    );
}

/// On one server: stalls so many days ago, and when the remedy was applied and undone. What is said of it.
fn judged(stalls: &[i64], changes: &[(i64, Action)]) -> &'static str {
    let mut fleet = Fleet::new();
    fleet.host(1, "never", &[]);
    for (place, ago) in stalls.iter().enumerate() {
        fleet.incident(1, ago * DAY - place as i64, 5, "thp-compaction");
    }
    for (ago, action) in changes {
        fleet.push(&remedy(1, *ago, *action, Proof::Pending));
    }
    let of = |name: &str| told(&fleet, "remedies", name).remove(0);
    match (of("helped").as_str(), of("undecided").as_str()) {
        ("1", "0") => "helped",
        ("0", "0") => "did not help",
        ("0", "1") => "undecided",
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_remedy_is_judged_only_where_enough_stalls_were_to_be_expected() {
    use Action::{Apply, Undo};
    let daily: Vec<i64> = (16..30).collect();
    let for_good = [(15 * DAY, Apply)];
    assert_eq!(judged(&daily, &for_good), "helped");
    // Half as many are fewer; more than half are not.
    let after = |days: std::ops::Range<i64>| [daily.clone(), days.collect()].concat();
    assert_eq!(judged(&after(2..9), &for_good), "helped");
    assert_eq!(judged(&after(2..10), &for_good), "did not help");
    // Two stalls in 14 days, and none in 14: that may be chance. Three that came are none.
    assert_eq!(judged(&[16, 20], &for_good), "undecided");
    assert_eq!(judged(&[16, 20, 24], &for_good), "helped");
    assert_eq!(judged(&[], &for_good), "undecided");
    assert_eq!(judged(&[3, 4, 5], &for_good), "did not help");
    // A stall a day, and a lease of ten minutes or of four days without one.
    let lease = |length: i64| [(15 * DAY, Apply), (15 * DAY - length, Undo)];
    assert_eq!(judged(&daily, &lease(600)), "undecided");
    assert_eq!(judged(&daily, &lease(4 * DAY)), "helped");
    // A trial that was undone, and then made for good: what is in force is judged.
    let [apply, undo] = lease(600);
    let trial = [(16 * DAY, Apply), (16 * DAY - 600, Undo)];
    assert_eq!(judged(&daily, &[trial[0], trial[1], apply]), "helped");
    assert_eq!(
        judged(&daily, &[trial[0], trial[1], apply, undo]),
        "undecided"
    );
}

#[test]
fn functions_are_told_with_their_callers() {
    let mut fleet = Fleet::new();
    fleet.host(1, "never", &[]).host(2, "never", &[]);
    let (one, two) = (fleet.incident(1, DAY, 9, ""), fleet.incident(2, DAY, 9, ""));
    let calm: &[&str] = &["row_search", "do_command"];
    let stall: &[&str] = &["compaction_alloc", "page_fault", "row_search", "do_command"];
    for incident in [(1, one), (2, two)] {
        fleet.stack(incident, Phase::Before, StackKind::OnCpu, calm, 1000);
        fleet.stack(incident, Phase::Stall, StackKind::OnCpu, calm, 250);
        fleet.stack(incident, Phase::Stall, StackKind::OnCpu, stall, 750);
    }
    let of = |name: &str| told(&fleet, "new-in-stalls", name);
    assert_eq!(
        of("functions"),
        ["compaction_alloc < page_fault < row_search"]
    );
    assert_eq!(
        (of("stall_share"), of("calm_share")),
        (vec!["0.750".to_owned()], vec!["0.000".to_owned()])
    );
    assert_eq!(of("servers"), ["2"]);
    assert_eq!(of("seen"), ["on a processor"]);
}

/// Of each incident the heaviest 128 places are told apart, here of 300: of the first ten nothing changes by it.
#[test]
fn what_was_seen_seldom_changes_nothing_of_the_first_ten() {
    let mut fleet = Fleet::new();
    fleet.host(1, "never", &[]);
    let mut sums: BTreeMap<String, [u64; 2]> = BTreeMap::new();
    for number in 0..12 {
        let incident = (1, fleet.incident(1, DAY, 9, ""));
        for place in 0..300 {
            let function = format!("f{place:03}");
            let stall = (1 + place * number % 3) * 3000 / (1 + place);
            let calm = 10 + (31 * place + 7 * number) % 50;
            let functions = [function.as_str()];
            fleet.stack(incident, Phase::Stall, StackKind::OnCpu, &functions, stall);
            fleet.stack(incident, Phase::Before, StackKind::OnCpu, &functions, calm);
            let sum = sums.entry(function).or_default();
            *sum = [sum[0] + stall, sum[1] + calm];
        }
    }
    let all = |of: usize| sums.values().map(|sum| sum[of]).sum::<u64>() as f64;
    let (stall, calm) = (all(0), all(1));
    let mut wanted: Vec<(f64, String)> = sums
        .iter()
        .map(|(function, sum)| {
            let more = sum[0] as f64 / stall - sum[1] as f64 / calm;
            (more, function.clone())
        })
        .collect();
    wanted.sort_by(|one, other| other.0.total_cmp(&one.0));
    let answer = ask(&fleet.store(), "new-in-stalls");
    let of = |name: &str| column(&answer, "new-in-stalls", name);
    let functions: Vec<&String> = wanted[..10].iter().map(|(_, function)| function).collect();
    assert_eq!(of("functions").iter().collect::<Vec<_>>(), functions);
    let share = |of: usize, all: f64| -> Vec<String> {
        let shares = functions.iter().map(|function| sums[*function][of] as f64);
        shares.map(|share| format!("{:.3}", share / all)).collect()
    };
    assert_eq!(of("stall_share"), share(0, stall));
    assert_eq!(of("calm_share"), share(1, calm));
    assert_eq!(of("servers"), vec!["1"; 10]);
}

#[test]
fn a_statement_is_new_only_where_the_others_were_known() {
    let mut fleet = Fleet::new();
    fleet.host(1, "never", &[]).host(2, "never", &[]);
    let onset = DAY;
    fleet.incident(1, onset, 60, "row-lock-pileup");
    fleet.incident(2, onset, 60, "row-lock-pileup");
    fleet
        .query(1, 10, onset + 7200, 5)
        .query(1, 10, onset + 60, 5);
    fleet
        .query(1, 11, onset + 300, 40)
        .query(1, 12, onset + 200, 900);
    // Nothing of it was heard before: all is new there.
    fleet.query(2, 11, onset + 300, 40);
    // First seen in the stall itself.
    fleet.query(1, 13, onset - 5, 1_000_000);
    let of = |name: &str| told(&fleet, "new-statements", name);
    assert_eq!(of("host"), ["db1:3306"]);
    assert_eq!(of("digest"), ["12"]);
    assert_eq!(of("statements"), ["2"]);
    assert_eq!(of("before_seconds"), ["200.000"]);
    assert_eq!(of("text"), ["select 12 from table_a"]);
}

#[test]
fn builds_are_compared_with_the_other_servers() {
    let mut fleet = Fleet::new();
    for id in 1..=6 {
        let flush = if id <= 2 { "1" } else { "2" };
        let thp = if id % 2 == 0 { "always" } else { "never" };
        let settings = [
            ("variables.innodb_flush_log_at_trx_commit", flush),
            ("thp.enabled", thp),
        ];
        fleet.host(id, thp, &settings);
    }
    for day in 1..=15 {
        fleet.incident(1, day * DAY, 5, "slow-fsync");
        fleet.incident(2, day * DAY, 5, "slow-fsync");
    }
    fleet.incident(3, DAY, 5, "disk-full");
    let answer = ask(&fleet.store(), "builds");
    let of = |name: &str| column(&answer, "builds", name)[0].clone();
    assert_eq!(of("what"), "variables.innodb_flush_log_at_trx_commit");
    assert_eq!(
        (of("value"), of("servers"), of("stalls")),
        ("1".into(), "2".into(), "30".into())
    );
    assert_eq!(of("per_server_day"), "0.500");
    assert_eq!(of("others_per_server_day"), "0.008");
    assert_eq!(of("cause"), "slow-fsync");
    // What all have in common is no answer.
    assert!(!column(&answer, "builds", "what").contains(&"vendor".to_owned()));
}

#[test]
fn stalls_at_once_need_three_servers() {
    let mut fleet = Fleet::new();
    for id in 1..=4 {
        fleet.host(id, "never", &[]);
    }
    // Across the border of any fixed half minute, each within 30 s of the one before.
    for (host, ago) in [(1, 5000), (2, 4980), (3, 4955), (3, 4950)] {
        fleet.incident(host, ago, 9, "dns-resolve");
    }
    for (host, ago) in [(1, 3000), (2, 2990), (1, 2980)] {
        fleet.incident(host, ago, 9, "");
    }
    let of = |name: &str| told(&fleet, "at-once", name);
    assert_eq!(of("servers"), ["3"]);
    assert_eq!(of("within_seconds"), ["50.000"]);
    assert_eq!(of("causes"), ["dns-resolve"]);
    assert_eq!(of("hosts"), ["db1:3306,db2:3306,db3:3306"]);
    assert_eq!(of("first"), [((NOW - 5000) * 1000).to_string()]);
}

#[test]
fn unnamed_stalls_are_grouped_by_shape() {
    let mut fleet = Fleet::new();
    fleet.host(1, "never", &[]).host(2, "never", &[]);
    fleet.incident_of_shape(1, DAY, 10, "", u64::MAX);
    fleet.incident_of_shape(2, 2 * DAY, 30, "", u64::MAX);
    fleet.incident_of_shape(1, DAY, 15, "", 3);
    fleet.incident_of_shape(1, DAY, 99, "disk-full", 3);
    let of = |name: &str| told(&fleet, "unnamed", name);
    assert_eq!(of("shape"), [u64::MAX.to_string(), "3".to_owned()]);
    assert_eq!(of("stall_seconds"), ["40.000", "15.000"]);
    assert_eq!(of("servers"), ["2", "1"]);
    assert_eq!(of("frame")[0], "/frames/2.frame");
    assert_eq!(of("functions")[0], "buf_read");
}

#[test]
fn of_stalls_that_lasted_equally_long_the_latest_is_shown() {
    let mut fleet = Fleet::new();
    fleet.host(1, "never", &[]).host(2, "never", &[]);
    for (host, ago) in [(1, 2 * DAY), (2, DAY), (1, 3 * DAY)] {
        fleet.incident_of_shape(host, ago, 10, "", 3);
    }
    assert_eq!(told(&fleet, "unnamed", "frame"), ["/frames/2.frame"]);
}

#[test]
fn silent_is_who_was_not_heard_of_or_lacks_evidence() {
    let mut fleet = Fleet::new();
    for id in 1..=4 {
        fleet.host(id, "never", &[]);
    }
    fleet.health(1, 20, &[]);
    fleet.health(2, 7000, &["profile"]).health(2, 4000, &[]);
    fleet
        .health(3, 7000, &[])
        .health(3, 30, &["stacks", "packets"]);
    // The fourth sent no sign of life, and was seen ten seconds ago.
    let of = |name: &str| told(&fleet, "silent", name);
    assert_eq!(of("host"), ["db2:3306", "db3:3306"]);
    assert_eq!(of("silent_seconds"), ["4000", "30"]);
    assert_eq!(of("absent"), ["", "stacks,packets"]);
    assert_eq!(of("lost"), ["6", "6"]);
}

/// The rows of a list, as texts.
fn listed(fleet: &Fleet, view: &Question, given: Given) -> Vec<Vec<String>> {
    let given = Given {
        now: if given.now == 0 {
            NOW * 1000
        } else {
            given.now
        },
        rows: 10,
        ..given
    };
    let rows = fleet.store().ask(view, &given).unwrap().rows;
    let rows = rows.iter();
    rows.map(|row| row.iter().map(text).collect()).collect()
}

#[test]
fn hosts_are_all_there_the_longest_stalled_first() {
    let mut fleet = Fleet::new();
    fleet
        .host(1, "never", &[])
        .host(2, "never", &[])
        .host(3, "never", &[]);
    fleet.incident(2, DAY, 9, "slow-fsync");
    fleet.incident(2, 2 * DAY, 5, "");
    fleet.incident(3, DAY, 13, "");
    // Before and behind the time.
    fleet.incident(1, 8 * DAY, 99, "");
    fleet.incident(1, 0, 99, "");
    let given = Given {
        since: (NOW - 7 * DAY) * 1000,
        ..Given::default()
    };
    let rows = listed(&fleet, &views::HOSTS, given);
    let told: Vec<[&str; 4]> = rows
        .iter()
        .map(|row| [0, 4, 5, 6].map(|place: usize| row[place].as_str()))
        .collect();
    let day_ago = ((NOW - DAY) * 1000).to_string();
    assert_eq!(
        told,
        [
            ["db2:3306", "2", "14.000", day_ago.as_str()],
            ["db3:3306", "1", "13.000", day_ago.as_str()],
            ["db1:3306", "0", "0.000", "-"],
        ]
    );
    assert_eq!(rows[0][1..4], ["MariaDB", "10.11.6-MariaDB", ""]);
}

#[test]
fn hours_sum_the_stalls_that_began_in_them() {
    let mut fleet = Fleet::new();
    fleet.host(1, "never", &[]).host(2, "never", &[]);
    // The begin of an hour, a second before it, and its last second.
    let hour = NOW - NOW % 3600 - 7200;
    for (host, at, seconds) in [
        (1, hour, 4),
        (1, hour + 3599, 5),
        (1, hour - 1, 6),
        (2, hour, 7),
    ] {
        fleet.incident(host, NOW - at, seconds, "");
    }
    let rows = listed(&fleet, &views::HOURS, Given::default());
    let moment = |at: i64| (at * 1000).to_string();
    assert_eq!(
        rows,
        [
            [
                "db1:3306".to_owned(),
                moment(hour),
                "2".into(),
                "9.000".into()
            ],
            [
                "db2:3306".to_owned(),
                moment(hour),
                "1".into(),
                "7.000".into()
            ],
            [
                "db1:3306".to_owned(),
                moment(hour - 3600),
                "1".into(),
                "6.000".into()
            ],
        ]
    );
}

#[test]
fn incidents_are_listed_by_server_or_alone() {
    let mut fleet = Fleet::new();
    fleet.host(1, "never", &[]).host(2, "never", &[]);
    let first = fleet.incident(1, 3 * DAY, 4, "slow-fsync");
    let second = fleet.incident(2, 2 * DAY, 5, "");
    let third = fleet.incident(1, DAY, 6, "");
    let ids = |given: Given| -> Vec<String> {
        let rows = listed(&fleet, &views::INCIDENTS, given);
        rows.into_iter().map(|row| row[0].clone()).collect()
    };
    let wanted = |ids: &[fleet::row::IncidentId]| -> Vec<String> {
        ids.iter().map(|id| id_text(&id.0)).collect()
    };
    assert_eq!(ids(Given::default()), wanted(&[third, second, first]));
    let of = |server: &str| Given {
        server: server.to_owned(),
        ..Given::default()
    };
    assert_eq!(ids(of("db1:3306")), wanted(&[third, first]));
    assert_eq!(ids(of("db1")), wanted(&[]));
    assert_eq!(ids(of("' OR 1 --")), wanted(&[]));
    let time = Given {
        since: (NOW - 3 * DAY) * 1000,
        now: (NOW - DAY) * 1000,
        ..Given::default()
    };
    assert_eq!(ids(time), wanted(&[second, first]));
    let subject = fleet.store().subject(Some("3306-1")).unwrap();
    let alone = Given {
        subject,
        ..Given::default()
    };
    assert_eq!(ids(alone.clone()), wanted(&[first]));
    let row = &listed(&fleet, &views::INCIDENTS, alone)[0];
    assert_eq!(
        row[1..],
        [
            "3306-1",
            "db1:3306",
            &((NOW - 3 * DAY) * 1000).to_string(),
            "4.000",
            "slow-fsync",
            "named",
            "0.900",
            "query-probe",
            "buf_read",
            "/frames/1.frame",
            &"0".repeat(64),
        ]
    );
}
