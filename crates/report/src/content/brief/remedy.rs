//! What to do first, with what may go wrong and how to take it back.

use diagnosis::{Actor, Finding, Level, Paired, Undoable};
use model::Server;

use super::for_server::fits;
use super::phrases::{capital, sentence, shortened};
use crate::document::Prose;
use crate::steps::{self, StepPart};

/// Longer steps end at the end of a clause, in characters.
const STEP_MAX: usize = 200;

/// The same of what may go wrong, and of the way back.
const BESIDE_MAX: usize = 120;

/// The same on paper, where there is room for a change with all that belongs to it.
const PAPER_STEP_MAX: usize = 340;

/// How steps begin that only look.
const LOOKS: [&str; 15] = [
    "Note ",
    "SELECT ",
    "SHOW ",
    "cat ",
    "df ",
    "grep ",
    "journalctl ",
    "pgrep ",
    "pidof ",
    "ls ",
    "systemctl show ",
    "systemctl list-",
    "systemctl status ",
    "docker inspect ",
    "sysctl ",
];

/// What stands in a step that changes something.
const CHANGES: [&str; 22] = [
    "SET GLOBAL ",
    "SET PERSIST ",
    "SELECT innodb_set_",
    "KILL ",
    "PURGE BINARY LOGS BEFORE",
    "STOP REPLICA",
    "UPDATE ",
    "ALTER ",
    "ANALYZE ",
    "kill -",
    "echo ",
    " -w ",
    "systemctl st",
    "systemctl set-",
    "systemctl thaw",
    "docker update",
    "docker run",
    "auditctl -A",
    "date -s",
    "pt-kill ",
    " and stop it",
    "raise it",
];

/// How a list of sessions ends a step that finds one to be ended, where nobody is known.
const FIND_ANY: &str = "for KILL QUERY: SHOW FULL PROCESSLIST";

/// What a step has in it that ends a session or a statement.
const KILLS: [&str; 3] = ["KILL QUERY", "KILL ID", "for KILL"];

/// A sentence that has so many words in common with another step, and none with this one, is about that one.
const OTHERS_MIN: usize = 2;

/// What stands between a step under a condition and the one that is done without it.
const OTHERWISE: &str = ". Otherwise: ";

/// What is said of a session that is ended, whatever the cause: its remedy's risk may be about another step.
const KILL_RISK: &str = "What is killed is rolled back, which takes time.";

/// Whether there is something to do first.
pub(crate) fn is_known(server: &Server, finding: &Finding) -> bool {
    chosen(server, &finding.remedy.paired().now).is_some()
}

/// The first step, its risk, its undo: a line each.
pub(crate) fn first(server: &Server, finding: &Finding) -> Vec<Prose> {
    let remedy = &finding.remedy;
    let paired = remedy.paired();
    let Some((index, chosen)) = chosen(server, &paired.now) else {
        return vec!["Unknown; see --full.".into()];
    };
    let mut step = unnamed(chosen.step.trim(), &finding.actors);
    // What is done under a condition only is half an answer.
    if step.starts_with("When ")
        && let Some(next) = paired.now.get(index + 1)
    {
        let next = unnamed(next.step.trim(), &finding.actors);
        let step_alone = sentence(&step);
        step = format!("{}{OTHERWISE}{next}", step_alone.trim_end_matches('.'));
    }
    let (short, has_looked) = without_look(&step);
    let undo = match ends_session(&step) {
        true => undo_of_kill(&step, &remedy.undo),
        false => undo(&paired, (index, chosen), remedy.undo.first()),
    };
    let is_noted = undo.is_some_and(|undo| undo.contains("noted"));
    let says = sentence(shortened(&short, STEP_MAX));
    let note = match is_noted && (has_looked || index > 0) && !says.starts_with("Note ") {
        true => " Note the old value first.",
        false => "",
    };
    let guess = match finding.level {
        Level::Possible => "If it is this: ",
        _ => "",
    };
    let first = match says.split_once(OTHERWISE) {
        // Each of both is a command of its own, and copied as such.
        Some((one, other)) => behind(marked(guess, one).text(OTHERWISE), other),
        None => marked(guess, &says),
    };
    let mut lines = vec![first.text(note)];
    let risk = match ends_session(&step) {
        true => Some(kill_risk(&remedy.risk)),
        false => risk(finding, &step),
    };
    let beside = |word: &str, text: &str| {
        let text = text.trim();
        let short = shortened(text, BESIDE_MAX);
        // The values of an example are not those of this server.
        let text = match text.contains("noted") && !short.contains("noted") {
            true => text,
            false => short,
        };
        marked(&format!("{word}: "), &sentence(text))
    };
    lines.extend(risk.map(|risk| beside("Risk", risk)));
    lines.extend(undo.map(|undo| beside("Undo", undo)));
    lines
}

/// The first steps for this server, a line each, for those who read them on paper.
pub(crate) fn on_paper(server: &Server, steps: &[String], most: usize) -> Vec<Prose> {
    let steps = steps.iter().map(|step| step.trim());
    let own = steps.filter(|step| fits(server, step)).take(most);
    let line = |step: &str| {
        let says = sentence(shortened(step, PAPER_STEP_MAX));
        match says.contains('`') {
            true => Prose::with_code(&says),
            false => marked("", &says),
        }
    };
    own.map(line).collect()
}

/// A sentence whose command is marked as one, where it has one: it is found at a glance, and copied.
fn marked(begin: &str, says: &str) -> Prose {
    behind(Prose::from(begin), says)
}

/// The same behind what is there already.
fn behind(begin: Prose, says: &str) -> Prose {
    let says = says.trim();
    let bare = says.strip_suffix('.').unwrap_or(says);
    let parts = steps::step_parts(bare);
    let texts = parts.iter().map(|part| match part {
        StepPart::Command(text) | StepPart::Prose(text) => *text,
    });
    // It is said word by word as it was.
    if texts.collect::<Vec<&str>>().join(" ") != bare {
        return begin.text(says);
    }
    let mut out = begin;
    for (number, part) in parts.iter().enumerate() {
        if number > 0 {
            out = out.text(" ");
        }
        out = match part {
            StepPart::Command(text) => out.code(text),
            StepPart::Prose(text) => out.text(text),
        };
    }
    out.text(says.get(bare.len()..).unwrap_or_default())
}

/// A step without who it is about: that stands a line above, with all that is known.
fn unnamed(step: &str, actors: &[Actor]) -> String {
    let mut step = step.to_owned();
    for actor in actors.iter().filter(|actor| !actor.says.is_empty()) {
        if actor.sure {
            step = step.replace(&format!(": {}", actor.says), "");
        }
        step = step.replace(&actor.says, &actor.name());
    }
    step
}

/// The first step that is for this server and that is more than a look; else the first.
fn chosen<'p, 'r>(server: &Server, steps: &'p [Undoable<'r>]) -> Option<(usize, &'p Undoable<'r>)> {
    let mut fitting = steps
        .iter()
        .enumerate()
        .filter(|(_, one)| fits(server, one.step));
    let mut ahead = fitting.clone();
    ahead
        .find(|(_, one)| !only_looks(one.step))
        .or_else(|| fitting.next())
        .or_else(|| steps.iter().enumerate().next())
}

fn changes(step: &str) -> bool {
    CHANGES.iter().any(|word| step.contains(word))
}

/// A step with nothing in it but a look at something: who has read it has changed nothing.
fn only_looks(step: &str) -> bool {
    step.ends_with(FIND_ANY) || is_look(step) && !changes(step)
}

fn is_look(step: &str) -> bool {
    let step = step.trim();
    LOOKS.iter().any(|start| step.starts_with(start))
}

/// A step without the look at the value that it changes, and whether there was one. What stands before the look, such as
/// who must agree, stays.
fn without_look(step: &str) -> (String, bool) {
    let Some((first, rest)) = step.split_once("; ") else {
        return (step.to_owned(), false);
    };
    let (lead, look) = match first.rsplit_once(": ") {
        Some((lead, look)) => (format!("{lead}: "), look),
        None => (String::new(), first),
    };
    let is_closed = first.matches('(').count() == first.matches(')').count();
    let notes = ["SELECT @@", "cat ", "sysctl "]
        .iter()
        .any(|it| look.starts_with(it));
    let notes = notes || look.contains("(note");
    match notes && is_closed && !changes(look) && changes(rest) {
        true => {
            let (rest, _) = without_look(rest);
            let rest = rest.trim_start_matches("then ");
            let is_name = rest
                .split(' ')
                .next()
                .is_some_and(|word| word.contains('_'));
            let is_prose = matches!(steps::step_parts(rest).first(), Some(StepPart::Prose(_)));
            let rest = match is_prose && !is_name && lead.is_empty() {
                true => capital(rest),
                false => rest.to_owned(),
            };
            (format!("{lead}{rest}"), true)
        }
        false => (step.to_owned(), false),
    }
}

fn ends_session(step: &str) -> bool {
    let pieces = steps::step_parts(step);
    let mut pieces = pieces.iter();
    KILLS.iter().any(|word| step.contains(word))
        || pieces.any(|piece| matches!(piece, StepPart::Command(it) if it.starts_with("KILL ")))
}

/// The sentence about what is ended, or what is true of any.
fn kill_risk(risk: &str) -> &str {
    const ABOUT: [&str; 5] = ["kill", "Kill", "rollback", "rolls back", "a part of it"];
    let mut sentences = risk.split_inclusive(". ").map(str::trim);
    let about = sentences.find(|sentence| ABOUT.iter().any(|word| sentence.contains(word)));
    about.unwrap_or(KILL_RISK)
}

/// What is to be done again after something was ended: no other line takes that back. Whoever's statement is ended keeps
/// its session.
fn undo_of_kill<'r>(step: &str, undo: &'r [String]) -> Option<&'r str> {
    const ABOUT: [&str; 4] = ["kill", "Kill", "aborted", " again"];
    let keeps_session = step.contains("KILL QUERY");
    let is_about = |line: &&String| {
        let is_other = keeps_session && line.contains("killed session");
        !is_other && ABOUT.iter().any(|word| line.contains(word))
    };
    undo.iter().find(is_about).map(String::as_str)
}

/// How a step is taken back: the line that names what it changes, or what the look before it looked at; else the first
/// line, where that is about no other step.
fn undo<'r>(
    paired: &Paired<'r>,
    (index, chosen): (usize, &Undoable<'r>),
    first: Option<&'r String>,
) -> Option<&'r str> {
    let before = paired.now.get(..index).unwrap_or_default().iter();
    let looked = before.filter(|one| only_looks(one.step));
    let own = [chosen].into_iter().chain(looked);
    let own = own.filter_map(|one| one.undo.first().copied()).next();
    let first = first.map(String::as_str);
    let is_open = |line: &&str| paired.rest.iter().any(|one| one == line);
    own.or_else(|| first.filter(is_open))
}

/// What may go wrong with this step. The risk of a cause is one text for all of its steps: a sentence is about the step
/// that it has most words in common with.
fn risk<'r>(finding: &'r Finding, step: &str) -> Option<&'r str> {
    let remedy = &finding.remedy;
    let others = || {
        remedy
            .now
            .iter()
            .chain(&remedy.durable)
            .filter(|other| *other != step)
    };
    let own = words(shortened(step, 0));
    let sentences = remedy.risk.split_inclusive(". ").map(str::trim);
    let is_off = ["OFF", "never", "none", "= 0"]
        .iter()
        .any(|it| step.contains(it));
    let scored = sentences.filter_map(|sentence| {
        let said = words(sentence);
        let common = |step: &[String]| said.iter().filter(|word| step.contains(word)).count();
        let mine = common(&own);
        let theirs = others().map(|one| common(&words(one))).max().unwrap_or(0);
        let is_it = match mine {
            // Nothing tells: that of a change is about the change, unless it plainly is not.
            0 => {
                let is_of_off = sentence.starts_with("Without ") && !is_off;
                let is_other = is_of_off || sentence.starts_with("Using ");
                changes(step) && theirs < OTHERS_MIN && !is_other
            }
            mine => mine >= theirs,
        };
        is_it.then_some((mine, sentence))
    });
    let mut best: Option<(usize, &str)> = None;
    for (mine, sentence) in scored {
        if best.is_none_or(|(most, _)| mine > most) {
            best = Some((mine, sentence));
        }
    }
    best.map(|(_, sentence)| sentence)
}

/// What the words of a text begin with, as far as they say what it is about.
fn words(text: &str) -> Vec<String> {
    const USUAL: [&str; 30] = [
        "serve", "state", "sessi", "which", "where", "these", "those", "other", "first", "takes",
        "while", "until", "befor", "after", "there", "their", "value", "globa", "selec", "query",
        "mysql", "maria", "later", "with", "witho", "table", "that", "them", "what", "than",
    ];
    let parts = text.split(|c: char| !c.is_ascii_alphanumeric());
    let long = parts.filter(|word| word.len() >= 4);
    let begins = long.map(|word| word.to_ascii_lowercase().chars().take(5).collect());
    begins
        .filter(|word: &String| !USUAL.contains(&word.as_str()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_are_told_from_changes() {
        for look in [
            "sysctl vm.swappiness   # note the value",
            "SELECT @@global.query_cache_size, @@global.query_cache_type",
            "df -h; df -i; on the data directory",
            "Note the limit: systemctl show -p CPUQuotaPerSecUSec mariadb.service",
        ] {
            assert!(only_looks(look), "{look}");
        }
        for step in [
            "sysctl -w vm.swappiness=1",
            "SELECT @@x; SET GLOBAL x = 1",
            "Find the sender: SELECT user FROM information_schema.processlist",
            "KILL 12",
        ] {
            assert!(!only_looks(step), "{step}");
        }
    }

    #[test]
    fn the_look_before_a_change_is_left_out_and_its_condition_stays() {
        for (step, short) in [
            (
                "SELECT @@x, @@y; SET GLOBAL x = 1; SET GLOBAL y = 2",
                "SET GLOBAL x = 1; SET GLOBAL y = 2",
            ),
            (
                "With the consent of X: auditctl -l and auditctl -s (note both); auditctl -A never,exit",
                "With the consent of X: auditctl -A never,exit",
            ),
            (
                "MariaDB: SELECT @@x (note it); SET GLOBAL x = 2",
                "MariaDB: SET GLOBAL x = 2",
            ),
            (
                "SELECT @@x; then raise it in steps: SET GLOBAL x = 2",
                "Raise it in steps: SET GLOBAL x = 2",
            ),
            (
                "sysctl vm.swappiness (note it); sysctl -w vm.swappiness=1",
                "sysctl -w vm.swappiness=1",
            ),
        ] {
            assert_eq!(without_look(step), (short.to_owned(), true));
        }
        let whole = "Find who else writes: iotop -o, backups; stop it";
        assert_eq!(without_look(whole), (whole.to_owned(), false));
    }

    #[test]
    fn of_two_steps_each_has_its_own_command() {
        let finding = Finding {
            level: Level::Certain,
            remedy: diagnosis::Remedy {
                now: vec![
                    "When a debugger is attached, end it: grep -E TracerPid /proc/7/status"
                        .to_owned(),
                    "kill -CONT 7".to_owned(),
                ],
                ..diagnosis::Remedy::default()
            },
            ..Finding::default()
        };
        let first = first(&Server::default(), &finding);
        let says = first.first().expect("a step").markup(1_000).into_string();
        assert_eq!(
            says,
            "When a debugger is attached, end it: <code>grep <span class=\"whole\">-E</span> TracerPid \
             /proc/7/status</code>. Otherwise: <code>kill <span class=\"whole\">-CONT</span> 7</code>."
        );
    }

    fn finding(now: &str, risk: &str, undo: &str) -> Finding {
        Finding {
            level: Level::Certain,
            remedy: diagnosis::Remedy {
                now: vec![now.to_owned()],
                risk: risk.to_owned(),
                undo: vec![undo.to_owned()],
                ..diagnosis::Remedy::default()
            },
            ..Finding::default()
        }
    }

    #[test]
    fn an_undo_says_that_the_noted_values_are_meant_however_long_it_is() {
        let undo = "sysctl -w vm.dirty_background_ratio=10 vm.dirty_ratio=20 (use the values noted before; setting a \
            ratio sets the bytes to 0)";
        let step = "sysctl -w vm.dirty_background_ratio=5 vm.dirty_ratio=9";
        let lines = first(&Server::default(), &finding(step, "", undo));
        let last = lines.last().map(|line| line.plain()).unwrap_or_default();
        assert!(
            last.starts_with("Undo: ") && last.contains("noted before"),
            "{last}"
        );
    }

    #[test]
    fn the_risk_of_something_that_is_not_done_is_none() {
        let risk = "Using swapoff to bring all pages back may kill processes.";
        let finding = finding("sysctl -w vm.swappiness=1", risk, "");
        assert_eq!(super::risk(&finding, "sysctl -w vm.swappiness=1"), None);
        assert_eq!(super::risk(&finding, "swapoff -a; swapon -a"), Some(risk));
    }

    #[test]
    fn what_was_ended_is_begun_again_and_nothing_else() {
        let after = |kill: &str, undo: &[&str]| {
            let finding = Finding {
                level: Level::Certain,
                remedy: diagnosis::Remedy {
                    now: vec![format!("It holds the lock: connection 7: {kill}")],
                    undo: undo.iter().map(|line| (*line).to_owned()).collect(),
                    ..diagnosis::Remedy::default()
                },
                ..Finding::default()
            };
            let lines = first(&Server::default(), &finding);
            let mut lines = lines.iter().map(|line| line.plain());
            lines.find_map(|line| line.strip_prefix("Undo: ").map(str::to_owned))
        };
        let undo = |lines: &[&str]| after("KILL 7", lines);
        let of_holder = "UNLOCK TABLES in the session that holds the lock";
        let of_backup = "An aborted backup must be run again";
        assert_eq!(
            undo(&[of_holder, of_backup]).as_deref(),
            Some("An aborted backup must be run again.")
        );
        assert_eq!(undo(&[of_holder]), None);
        let of_session = "A killed session cannot be restored";
        assert_eq!(
            undo(&[of_session]).as_deref(),
            Some("A killed session cannot be restored.")
        );
        assert_eq!(after("KILL QUERY 7", &[of_session]), None);
        assert_eq!(
            undo(&["A killed DDL must be run again", of_backup]).as_deref(),
            Some("A killed DDL must be run again.")
        );
    }

    #[test]
    fn on_paper_are_whole_steps_for_this_server() {
        let server = Server {
            version: "10.11.19-MariaDB".to_owned(),
            ..Server::default()
        };
        let steps = [
            "Keep transactions short",
            "MySQL 8.0: SET PERSIST x = 1",
            "Set the level to `error`",
            "One more",
        ]
        .map(str::to_owned);
        let says: Vec<String> = on_paper(&server, &steps, 2)
            .iter()
            .map(|line| line.markup(1_000).into_string())
            .collect();
        assert_eq!(
            says,
            [
                "Keep transactions short.",
                "Set the level to <code>error</code>."
            ]
        );
    }

    #[test]
    fn the_risk_of_a_kill_is_that_of_a_kill() {
        let own = "A killed session loses its transaction and its locks.";
        assert_eq!(kill_risk(&format!("Less is cached. {own} More.")), own);
        assert_eq!(
            kill_risk("With mode 2 the values are not consecutive."),
            KILL_RISK
        );
    }
}
