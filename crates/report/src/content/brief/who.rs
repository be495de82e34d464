//! Who did it, as far as somebody is known: a session, a process, a disk, a setting, a kind of statement.

use diagnosis::{Actor, Catalogue, Finding};
use model::{Counted, Incident, OrderBy, QueryMethod};

use super::confidence::witness_text;
use super::phrases::{capital, is_plain, number, quoted, rate, sentence, span};
use crate::evidence::workload::{self, Workload, WorkloadRow};

/// Actors that are told; the others are a number.
const ACTORS_MAX: usize = 2;

/// A kind of statement that came so many times as often as before is worth a word.
const MORE_TIMES: f64 = 3.0;

/// And comes so often in a second.
const RATE_MIN: f64 = 20.0;

/// And has such a share of all statements in the stall.
const SHARE_MIN: f64 = 0.2;

/// A statement with this share of the time of all had most of it.
const MOST_TIME: f64 = 0.4;

/// A longer statement is cut, in characters.
const STATEMENT_MAX: usize = 90;

/// Areas of signals that are about a thing that may be slow or full.
const THINGS: [&str; 2] = ["disk", "filesystem"];

/// A longer text ends at the end of a clause, in characters.
const THING_MAX: usize = 100;

/// Parts of those whose statement may as well be what suffers: what came more often, or took most time, is told rather.
const COMMON: &str = "common-statement";

/// How the part of a setting begins.
const SETTING: &str = "setting ";

/// In one or two sentences.
pub(super) fn who(incident: &Incident, finding: &Finding) -> String {
    // The server is who suffers it.
    let actors = finding.actors.iter().filter(|actor| actor.who != "server");
    let (common, mut actors): (Vec<&Actor>, Vec<_>) = actors.partition(|one| one.who == COMMON);
    actors.order_by_key(|actor| rank(actor));
    let mut lines: Vec<String> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for actor in &actors {
        // One may have two parts: the first says more.
        let name = actor.name();
        if name.is_empty() || names.contains(&name) {
            continue;
        }
        names.push(name);
        if lines.len() < ACTORS_MAX {
            lines.push(sentence(&says(actor)));
        }
    }
    if names.len() > ACTORS_MAX {
        lines.push(format!("{} more with --full.", names.len() - ACTORS_MAX));
    }
    let is_setting = |actor: &&Actor| actor.who.starts_with(SETTING);
    let statement = || {
        let common = || common.first().map(|one| sentence(&says(one)));
        statements(incident)
            .or_else(|| slow_statement(incident, finding))
            .or_else(common)
    };
    if lines.is_empty() {
        lines.extend(thing(finding).or_else(statement));
    } else if lines.len() < ACTORS_MAX && actors.iter().all(is_setting) {
        // A setting does nothing by itself.
        lines.extend(statement());
    }
    match lines.is_empty() {
        true => format!("Unknown: {}.", lacking(finding)),
        false => lines.join(" "),
    }
}

/// What would have named somebody, by the first part that the cause is about.
fn lacking(finding: &Finding) -> &'static str {
    let cause = Catalogue::builtin().get(&finding.cause);
    let part = cause.and_then(|cause| cause.parts().find(|part| *part != "server"));
    match part.unwrap_or_default() {
        "row-lock-holder" | "prepared-transaction" | "oldest-transaction" => {
            "no status of InnoDB in the stall shows it"
        }
        "busy-program" | "map-reader" => "no profile or top in the stall shows it",
        "busy-disk" => "no recorded disk was busy or slow",
        "replica" => "no recorded processlist has a replica",
        COMMON => "no statement was common to most sessions",
        "" => "the recording names nobody",
        part if part.starts_with(SETTING) => "the recorded settings do not show it",
        _ => "no processlist in the stall shows it",
    }
}

/// Who is surely in front comes first, then who else surely has a part in it.
fn rank(actor: &Actor) -> (bool, bool) {
    (!actor.sure, !is_in_front(actor))
}

fn is_in_front(actor: &Actor) -> bool {
    let others = ["flush-blocker", "prepared-transaction"];
    actor.who.ends_with("-holder") || others.contains(&actor.who.as_str())
}

/// An actor with what it does.
fn says(actor: &Actor) -> String {
    let (name, value) = (actor.name(), actor.value.as_deref().unwrap_or_default());
    if actor.who.starts_with(SETTING) {
        return setting(&name, without_number(value), actor.sure);
    }
    let are_many = actor.sessions.is_some();
    let part = match actor.who.as_str() {
        // It may hold the lock, or wait for an open transaction itself.
        "metadata-lock-holder" if actor.runs_ddl() => "is in front of all that wait",
        "row-lock-holder" | "metadata-lock-holder" | "table-lock-holder" | "user-lock-holder" => {
            "holds the lock"
        }
        "global-lock-holder" => "holds the lock of all tables",
        "prepared-transaction" => "is prepared, and nobody ends it",
        "flush-blocker" => "is in front of the flush",
        "waiting-ddl" => "waits first, and all others wait behind it",
        "running-ddl" => "changes a table",
        "global-lock-statement" => "wants the lock of all tables",
        "binlog-reader" => "reads the binary log",
        "oldest-transaction" => "has the oldest transaction",
        "applier" => "applies what the replica received",
        "replica" => "reads the binary log as a replica",
        "metadata-reader" if are_many => "ask for metadata",
        "metadata-reader" => "asks for metadata",
        "newcomer" if are_many => "log in",
        "newcomer" => "logs in",
        COMMON => "run the same",
        "busy-disk" => "was busy or slow",
        "busy-program" => "uses the processors",
        "map-reader" => "walks through the memory map",
        _ => "runs long",
    };
    let who = match actor.sure {
        true => capital(&name),
        false => format!("Perhaps {name}"),
    };
    // The server counts in seconds.
    let time = actor.running_seconds.filter(|time| *time >= 1.0);
    if let Some(statement) = &actor.statement {
        let up_to = if are_many { "up to " } else { "" };
        let time = time.map_or_else(String::new, |time| format!(" for {up_to}{}", span(time)));
        let statement = quoted(statement, STATEMENT_MAX);
        return format!("{who} {part}{time}: {statement}");
    }
    let mut does: Vec<String> = Vec::new();
    does.extend((!value.is_empty()).then(|| value.to_owned()));
    let class = actor.statement_class.as_ref();
    // Of SHOW only some forms have a class of their own.
    let class = class.map(|class| class.trim_end_matches(" other").to_uppercase());
    let class = class.filter(|class| class != "OTHER");
    match (class, time, actor.idle_seconds) {
        (Some(class), Some(time), _) => does.push(format!("{class} for {}", span(time))),
        (Some(class), None, _) => does.push(class),
        (None, _, Some(time)) => does.push(format!("idle for {}", span(time))),
        (None, Some(time), None) => does.push(format!("active for {}", span(time))),
        (None, None, None) => {}
    }
    if let Some(time) = actor.transaction_seconds {
        does.push(format!("its transaction is open for {}", span(time)));
    }
    match actor.waiters {
        Some(1) => does.push("1 waits for it".to_owned()),
        Some(count) if count > 1 => does.push(format!("{} wait for it", number(count as f64))),
        _ => {}
    }
    let known = actor.says.split_once(": ").map(|(_, known)| known);
    match (does.is_empty(), known) {
        (false, _) => format!("{who} {part}: {}", does.join(", ")),
        (true, Some(known)) => format!("{who} {part}: {known}"),
        (true, None) => format!("{who} {part}"),
    }
}

/// A setting with its value. It is what it is: only whether it matters may be unsure.
fn setting(name: &str, value: &str, is_sure: bool) -> String {
    // What the server runs with is no setting of its own.
    if let Some(what) = name.strip_prefix("server.") {
        let the = if is_sure { "The" } else { "Perhaps the" };
        return format!("{the} {what} is {value}");
    }
    let of_group = name.strip_prefix("cgroup.");
    let named = of_group.map(|limit| format!("{limit} of the server's control group"));
    let named = named.as_deref().unwrap_or(name);
    match is_sure {
        true => format!("The setting {named} is {value}"),
        false => format!("Perhaps a setting: {named} is {value}"),
    }
}

/// `276 MiB` of `276 MiB (289685504)`: the whole report has the number, for who compares or copies it.
fn without_number(value: &str) -> &str {
    let number = value.strip_suffix(')').and_then(|it| it.rsplit_once(" ("));
    match number {
        Some((size, digits)) if digits.bytes().all(|byte| byte.is_ascii_digit()) => size,
        _ => value,
    }
}

/// The disk or file system that a sign was measured at.
fn thing(finding: &Finding) -> Option<String> {
    let is_of_thing = |signal: &String| {
        let area = signal.split('.').next().unwrap_or_default();
        THINGS.contains(&area)
    };
    let mut witnesses = finding.witnesses.iter();
    let about = witnesses.find(|one| one.signals.iter().any(is_of_thing) && is_plain(&one.says))?;
    Some(capital(&witness_text(about, THING_MAX)))
}

/// The kind of statement that came much more often than before.
fn statements(incident: &Incident) -> Option<String> {
    let ways = workload::workloads(incident);
    let compared = |way: &&Workload| way.before_seconds.is_some() && way.stall_seconds.is_some();
    let more = |way: &Workload| -> Option<WorkloadRow> {
        let all = way.in_stall.filter(|all| *all > 0.0)?;
        let rows = way.rows.iter();
        let is_more = |row: &&WorkloadRow| {
            let (before, now) = (row.before.unwrap_or(0.0), row.in_stall.unwrap_or(0.0));
            now >= RATE_MIN && now >= MORE_TIMES * before && now >= SHARE_MIN * all
        };
        let largest = rows.filter(is_more).max_by(|a, b| {
            a.in_stall
                .unwrap_or(0.0)
                .total_cmp(&b.in_stall.unwrap_or(0.0))
        });
        largest.cloned()
    };
    let row = ways.iter().filter(compared).find_map(more)?;
    // The server's counters know no senders; another way that looked may.
    let kind = row.kind.to_lowercase();
    let same = ways
        .iter()
        .filter(|way| way.way != QueryMethod::StatementCounters)
        .flat_map(|way| &way.rows)
        .filter(|other| other.kind.to_lowercase() == kind);
    let from = [&row].into_iter().chain(same).filter_map(sender).next();
    let from = from.map_or_else(String::new, |from| format!(" from {from}"));
    Some(format!(
        "Perhaps {} statements{from}: {} a second, {} before.",
        row.kind.to_uppercase().replace('_', " "),
        rate(row.in_stall.unwrap_or(0.0)),
        rate(row.before.unwrap_or(0.0))
    ))
}

/// The statement that had most of the time in the stall, where the remedy is about statements.
fn slow_statement(incident: &Incident, finding: &Finding) -> Option<String> {
    let steps = &finding.remedy.now;
    let asks =
        |step: &String| step.contains("KILL QUERY") || step.starts_with("Find the statement");
    if !steps.iter().any(asks) {
        return None;
    }
    let most = |way: Workload| {
        let time = |row: &WorkloadRow| row.time_in_stall.unwrap_or(0.0);
        let all: f64 = way.rows.iter().map(time).sum();
        let rows = way.rows.into_iter();
        let row = rows.max_by(|a, b| time(a).total_cmp(&time(b)))?;
        (all > 0.0 && time(&row) >= MOST_TIME * all).then(|| (time(&row) / all, row))
    };
    let ways = workload::workloads(incident).into_iter();
    let (share, row) = ways.filter(|way| !way.is_blind_to_most()).find_map(most)?;
    let from = sender(&row).map_or_else(String::new, |from| format!(" from {from}"));
    Some(format!(
        "Perhaps this statement{from}, {:.0} % of their total time: {}",
        100.0 * share,
        quoted(&row.fingerprint, STATEMENT_MAX)
    ))
}

/// Who sent most of them, as an account is written.
fn sender(row: &WorkloadRow) -> Option<String> {
    let first = |names: &[Counted]| {
        let mut names = names.iter().map(|one| one.name.clone());
        names.find(|name| !name.is_empty())
    };
    match (first(&row.users), first(&row.hosts)) {
        (Some(user), Some(host)) => Some(format!("{user}@{host}")),
        (user, host) => user.or(host),
    }
}

#[cfg(test)]
mod tests {
    use diagnosis::{Level, Remedy};
    use model::{QueryClass, QueryDigest, QueryMeasure, TimedDigest, Timeline};

    use super::*;
    use crate::testing::incident_of;

    fn class(fingerprint: &str, seconds: f64) -> QueryClass {
        QueryClass {
            fingerprint: fingerprint.to_owned(),
            id: fingerprint.to_owned(),
            kind: "SELECT".to_owned(),
            count: 100,
            measures: vec![QueryMeasure {
                name: "Query_time".to_owned(),
                sum: seconds,
                ..QueryMeasure::default()
            }],
            users: vec![Counted {
                name: "shop".to_owned(),
                count: 100,
            }],
            ..QueryClass::default()
        }
    }

    #[test]
    fn a_setting_is_named_in_words_and_units_of_people() {
        for (name, value, is_sure, says) in [
            (
                "cgroup.memory_max",
                "276 MiB (289685504)",
                false,
                "Perhaps a setting: memory_max of the server's control group is 276 MiB",
            ),
            (
                "query_cache_size",
                "1 MiB (1048576)",
                true,
                "The setting query_cache_size is 1 MiB",
            ),
            (
                "binlog_format",
                "ROW (default)",
                true,
                "The setting binlog_format is ROW (default)",
            ),
            (
                "cgroup.cpu_max",
                "0.1 CPUs (10000 100000)",
                true,
                "The setting cpu_max of the server's control group is 0.1 CPUs (10000 100000)",
            ),
            (
                "server.version",
                "5.5.9",
                false,
                "Perhaps the version is 5.5.9",
            ),
        ] {
            assert_eq!(setting(name, without_number(value), is_sure), says);
        }
    }

    #[test]
    fn the_statement_with_most_of_the_time_is_named_where_one_is_looked_for() {
        let mut incident = incident_of(Timeline::default());
        let digest = QueryDigest {
            method: QueryMethod::Packets,
            count: 200,
            classes: vec![
                class("select a from t", 90.0),
                class("select b from t", 10.0),
            ],
            from_us: None,
            to_us: None,
            errors: None,
            folded: None,
            lost: 0,
            blind: Vec::new(),
            tried: Vec::new(),
            connections: None,
        };
        incident.queries.push(TimedDigest {
            window: incident.stall_window(),
            digest,
        });
        let mut finding = Finding {
            cause: "x".to_owned(),
            title: "x".to_owned(),
            what: "x".to_owned(),
            level: Level::Likely,
            confidence: 0.6,
            witnesses: Vec::new(),
            against: Vec::new(),
            refuted_by: Vec::new(),
            unknown: Vec::new(),
            actors: Vec::new(),
            relations: Vec::new(),
            remedy: Remedy {
                now: vec!["Find the statement: EXPLAIN it".to_owned()],
                durable: Vec::new(),
                undo: Vec::new(),
                risk: String::new(),
                verify: Vec::new(),
                fix: Vec::new(),
            },
            sources: Vec::new(),
        };
        assert_eq!(
            who(&incident, &finding),
            "Perhaps this statement from shop, 90 % of their total time: select a from t."
        );
        finding.remedy.now.clear();
        assert!(who(&incident, &finding).starts_with("Unknown"));
        // A crowd is told where no count of statements says more, and behind a setting.
        let crowd = Actor {
            who: COMMON.to_owned(),
            sessions: Some(43),
            user: Some("shop".to_owned()),
            statement: Some("select c from t where id in (?)".to_owned()),
            running_seconds: Some(0.0),
            ..Actor::default()
        };
        let setting = Actor {
            who: "setting variables.innodb_thread_concurrency".to_owned(),
            sure: true,
            thing: Some("innodb_thread_concurrency".to_owned()),
            value: Some("2".to_owned()),
            ..Actor::default()
        };
        finding.actors = vec![crowd];
        let common = "Perhaps 43 sessions of shop run the same: select c from t where id in (?).";
        assert_eq!(who(&incident, &finding), common);
        finding.actors.push(setting);
        assert_eq!(
            who(&incident, &finding),
            format!("The setting innodb_thread_concurrency is 2. {common}")
        );
        finding.actors[1].thing = Some("server.allocator".to_owned());
        assert_eq!(
            who(&incident, &finding),
            format!("The allocator is 2. {common}")
        );
    }

    #[test]
    fn what_would_have_named_somebody_is_told() {
        let lacks = |cause: &str| {
            lacking(&Finding {
                cause: cause.to_owned(),
                ..Finding::default()
            })
        };
        assert_eq!(lacks("slow-fsync"), "no recorded disk was busy or slow");
        assert_eq!(
            lacks("semisync-ack"),
            "no recorded processlist has a replica"
        );
        assert_eq!(lacks("a cause of my own"), "the recording names nobody");
        // None of the built-in parts is forgotten: a word for it is about where it would stand.
        for cause in Catalogue::builtin().causes() {
            let has_part = cause.parts().any(|part| part != "server");
            assert_eq!(lacks(&cause.id) == lacks(""), !has_part, "{}", cause.id);
        }
    }

    #[test]
    fn things_and_crowds_say_what_they_were_like() {
        let disk = Actor {
            who: "busy-disk".to_owned(),
            sure: true,
            thing: Some("disk sda".to_owned()),
            value: Some("93 % busy, 34 ms a request, 0.8 ms before".to_owned()),
            ..Actor::default()
        };
        assert_eq!(
            says(&disk),
            "Disk sda was busy or slow: 93 % busy, 34 ms a request, 0.8 ms before"
        );
        let readers = Actor {
            who: "metadata-reader".to_owned(),
            sure: true,
            sessions: Some(30),
            user: Some("monitor".to_owned()),
            host: Some("10.0.0.5".to_owned()),
            statement: Some("select table_rows from information_schema.tables".to_owned()),
            running_seconds: Some(12.0),
            ..Actor::default()
        };
        assert_eq!(
            says(&readers),
            "30 sessions of monitor@10.0.0.5 ask for metadata for up to 12 s: select table_rows from information_schema.tables."
        );
        let applier = Actor {
            who: "applier".to_owned(),
            sure: true,
            connection: Some(16),
            user: Some("system user".to_owned()),
            value: Some("Applying batch of row changes (update)".to_owned()),
            running_seconds: Some(70.0),
            ..Actor::default()
        };
        assert_eq!(
            says(&applier),
            "Connection 16 (system user) applies what the replica received: Applying batch of row changes (update), active for 1 min 10 s"
        );
    }

    #[test]
    fn ages_are_said_as_people_say_them() {
        let actor = Actor {
            who: "waiting-ddl".to_owned(),
            sure: true,
            connection: Some(5388),
            user: Some("agent".to_owned()),
            host: Some("web1".to_owned()),
            statement_class: Some("alter".to_owned()),
            running_seconds: Some(25_904.0),
            ..Actor::default()
        };
        assert_eq!(
            says(&actor),
            "Connection 5388 (agent@web1) waits first, and all others wait behind it: ALTER for 7 h 11 min"
        );
        let in_front = Actor {
            who: "metadata-lock-holder".to_owned(),
            running_seconds: Some(14.0),
            waiters: Some(38),
            ..actor
        };
        assert_eq!(
            says(&in_front),
            "Connection 5388 (agent@web1) is in front of all that wait: ALTER for 14 s, 38 wait for it"
        );
        let perhaps = Actor {
            who: "row-lock-holder".to_owned(),
            connection: Some(91),
            idle_seconds: Some(33.0),
            waiters: Some(40),
            ..Actor::default()
        };
        assert_eq!(
            says(&perhaps),
            "Perhaps connection 91 holds the lock: idle for 33 s, 40 wait for it"
        );
    }
}
