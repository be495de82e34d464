//! What takes a step back stands beside that step, and nowhere else.

use diagnosis::{Catalogue, Remedy};

fn lines(lines: &[&str]) -> Vec<String> {
    lines.iter().map(|&line| line.to_owned()).collect()
}

/// Words with `_` inside: names of settings.
fn settings(text: &str) -> Vec<&str> {
    text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| word.contains('_'))
        .collect()
}

#[test]
fn an_undo_belongs_to_the_step_that_makes_the_change() {
    let remedy = Remedy {
        now: lines(&[
            "SELECT @@sync_binlog (note it)",
            "SET GLOBAL sync_binlog = 100",
            "Who is in front: KILL 4",
        ]),
        durable: lines(&["lock_wait_timeout = 10", "sync_binlog = 1000"]),
        undo: lines(&[
            "What was ended must be run again",
            "SET GLOBAL lock_wait_timeout = 50",
            "SET GLOBAL sync_binlog = 1",
            "SET GLOBAL unknown_setting = 1",
        ]),
        risk: String::new(),
        verify: Vec::new(),
        fix: Vec::new(),
    };
    let paired = remedy.paired();
    let undo = |index: usize| paired.now[index].undo.clone();
    assert_eq!(undo(0), [""; 0]);
    assert_eq!(undo(1), ["SET GLOBAL sync_binlog = 1"]);
    assert_eq!(undo(2), [""; 0]);
    assert_eq!(
        paired.durable[0].undo,
        ["SET GLOBAL lock_wait_timeout = 50"]
    );
    assert_eq!(paired.durable[1].undo, [""; 0]);
    assert_eq!(
        paired.rest,
        [
            "What was ended must be run again",
            "SET GLOBAL unknown_setting = 1"
        ]
    );
}

#[test]
fn no_cause_takes_back_a_setting_that_none_of_its_steps_changes() {
    let mut wrong = Vec::new();
    for cause in Catalogue::builtin().causes() {
        let paired = cause.remedy.paired();
        for line in paired.rest.iter().filter(|line| !settings(line).is_empty()) {
            wrong.push(format!("{}: of no step: {line}", cause.id));
        }
        for one in paired.now.iter().chain(&paired.durable) {
            let named = settings(one.step);
            let missing = |line: &&&str| settings(line).iter().any(|word| !named.contains(word));
            for line in one.undo.iter().filter(missing) {
                wrong.push(format!("{}: of more than one step: {line}", cause.id));
            }
        }
    }
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn the_limit_of_a_wait_for_rows_is_no_undo_of_a_kill() {
    let cause = Catalogue::builtin().get("row-lock-pileup").unwrap();
    let paired = cause.remedy.paired();
    assert!(paired.now.iter().all(|one| one.undo.is_empty()));
    assert!(paired.rest.iter().all(|line| settings(line).is_empty()));
    let of_limit = paired.durable.iter().find(|one| !one.undo.is_empty());
    let step = of_limit.map(|one| one.step).unwrap_or_default();
    assert!(step.contains("innodb_lock_wait_timeout = 10"), "{step}");
}

/// A line may be broken before it, and what follows would be a step of its own: of `PURGE BINARY LOGS BEFORE NOW()` and
/// `- INTERVAL 1 DAY` the first half purges all.
#[test]
fn no_step_has_a_dash_that_begins_a_line_like_another_step() {
    let mut wrong = Vec::new();
    for cause in Catalogue::builtin().causes() {
        let remedy = &cause.remedy;
        let lists = [&remedy.now, &remedy.durable, &remedy.undo, &remedy.verify];
        let steps = lists.into_iter().flatten();
        wrong.extend(steps.filter(|step| step.contains(" - ")));
    }
    assert_eq!(wrong, [""; 0]);
}
