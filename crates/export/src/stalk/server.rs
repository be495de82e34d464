//! What the server said, and what every collection has.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use model::{Millis, OrderBy, ProcessList, TextKind, TimedText};

use super::ticks::{Scene, number};

/// InnoDB statuses of a collection beside the first and the last.
const MORE_STATUSES_MAX: usize = 30;

/// Bytes of a line of logs.
const LINE_BYTES_MAX: usize = 4096;

/// Where pt-stalk's standard output goes.
pub(super) fn output(scene: &Scene<'_>) -> String {
    let incident = scene.incident;
    format!(
        "{} Exported by freezeframe {} from its incident {}\n{} Collected from {} to {}\n",
        scene.prefix(),
        env!("CARGO_PKG_VERSION"),
        one_line(&incident.id),
        scene.prefix(),
        scene.local(scene.window.from, "%F %T%z"),
        scene.local(scene.window.to, "%F %T%z"),
    )
}

/// `2026_11_20_23_30_15 Check results: …`.
pub(super) fn trigger(scene: &Scene<'_>) -> String {
    let incident = scene.incident;
    let stall = &incident.stall;
    let at = |at: Millis| scene.local(at, super::prefix_format());
    let mut out = String::new();
    for trigger in &stall.triggers {
        let _ = writeln!(
            out,
            "{} Check results: freezeframe({})={}, matched=yes",
            at(stall.trigger),
            one_line(&trigger.rule),
            one_line(&trigger.says)
        );
    }
    let _ = writeln!(
        out,
        "{} freezeframe: onset {}, trigger {}, end {}",
        at(stall.trigger),
        at(stall.onset),
        at(stall.trigger),
        stall.end.map_or("not seen".to_owned(), at)
    );
    out
}

pub(super) fn hostname(scene: &Scene<'_>) -> String {
    match scene.incident.host.as_str() {
        "" => String::new(),
        host => format!("{}\n", one_line(host)),
    }
}

/// `mysqladmin ext -i1`: a box each second.
pub(super) fn mysqladmin(scene: &Scene<'_>) -> String {
    let mut series = scene.series("status.");
    series.order_by_key(|(name, _)| name.to_ascii_lowercase());
    let mut out = String::new();
    let Some((_, first)) = series.first() else {
        return out;
    };
    for tick in scene.ticks(first) {
        let rows: Vec<(&str, String)> = series
            .iter()
            .filter_map(|(name, series)| Some((*name, number(tick.value(series)?))))
            .collect();
        if rows.is_empty() {
            continue;
        }
        let wide = |least: usize, lengths: &mut dyn Iterator<Item = usize>| {
            lengths.max().unwrap_or(0).max(least)
        };
        let names = wide(13, &mut rows.iter().map(|(name, _)| name.len()));
        let values = wide(5, &mut rows.iter().map(|(_, value)| value.len()));
        let rule = format!("+{}+{}+\n", "-".repeat(names + 2), "-".repeat(values + 2));
        out.push_str(&rule);
        let _ = writeln!(
            out,
            "| {:<names$} | {:<values$} |",
            "Variable_name", "Value"
        );
        out.push_str(&rule);
        for (name, value) in rows {
            let _ = writeln!(out, "| {name:<names$} | {value:<values$} |");
        }
        out.push_str(&rule);
        out.push('\n');
    }
    out
}

/// `SHOW FULL PROCESSLIST\G`, each second.
pub(super) fn processlist(scene: &Scene<'_>) -> String {
    let mut out = String::new();
    for timed in scene.texts(TextKind::Processlist, scene.window.from) {
        let Some(list) = ProcessList::from_text(timed.text.body()) else {
            continue;
        };
        scene.ts(&mut out, timed.at);
        for (index, session) in list.longest.iter().enumerate() {
            let or_null = |text: &str| match text {
                "" => "NULL".to_owned(),
                text => one_line(text),
            };
            let _ = write!(
                out,
                "*************************** {}. row ***************************\n     \
                 Id: {}\n   User: {}\n   Host: {}\n     db: {}\nCommand: {}\n   Time: {:.0}\n  \
                 State: {}\n   Info: {}\n",
                index + 1,
                session.id,
                one_line(&session.user),
                one_line(&session.host),
                or_null(&session.db),
                one_line(&session.command),
                session.seconds.floor(),
                one_line(&session.state),
                or_null(&session.statement),
            );
        }
    }
    if out.lines().any(|line| !line.starts_with("TS ")) {
        out
    } else {
        String::new()
    }
}

/// How [`model::WaitCounting::Told`] calls InnoDB's tables.
const BY_INNODB: &str = "InnoDB's tables of lock waits";

/// Who blocks how many, as pt-stalk's first query of `lock-waits` tells it, where a server was asked.
/// How long who blocks has been idle was not kept and is 0.
pub(super) fn lock_waits(scene: &Scene<'_>) -> String {
    let mut out = String::new();
    let tables = scene.incident.stacks.locks.iter().filter(|table| {
        matches!(&table.depth, model::WaitCounting::Told { by } if by == BY_INNODB)
            && table.from >= scene.window.from
            && table.to <= scene.window.to
    });
    for table in tables {
        scene.ts(&mut out, table.from);
        let blocking = table
            .locks
            .iter()
            .filter_map(|row| Some((row, row.holders.first()?)));
        for (index, (row, holder)) in blocking.enumerate() {
            let _ = write!(
                out,
                "*************************** {}. row ***************************\n   \
                 who_blocks: thread {} from \n  idle_in_trx: 0\nmax_wait_time: {:.0}\n  \
                 num_waiters: {}\n",
                index + 1,
                holder.tid,
                row.max_us / 1e6,
                row.waits,
            );
        }
    }
    if out.contains("who_blocks") {
        out
    } else {
        String::new()
    }
}

/// `SHOW GLOBAL VARIABLES`, as `mysql -e` prints it into a file.
pub(super) fn variables(scene: &Scene<'_>) -> String {
    let mut out = String::new();
    for (name, value) in facts_then(scene) {
        if let Some(name) = name.strip_prefix("variables.") {
            if out.is_empty() {
                out.push_str("\nSHOW GLOBAL VARIABLES\n\nVariable_name\tValue\n");
            }
            // As mysql's batch mode writes what would end a cell.
            let value = value
                .replace('\\', "\\\\")
                .replace('\t', "\\t")
                .replace('\n', "\\n");
            let _ = writeln!(out, "{name}\t{value}");
        }
    }
    out
}

/// Facts by name as they were when the collection began.
pub(super) fn facts_then<'a>(scene: &Scene<'a>) -> BTreeMap<&'a str, &'a str> {
    let mut facts = BTreeMap::new();
    for timed in &scene.incident.facts {
        let fact = &timed.fact;
        if timed.at <= scene.named_at || !facts.contains_key(fact.name.as_str()) {
            facts.insert(fact.name.as_str(), fact.value.as_str());
        }
    }
    facts
}

pub(super) fn error_log(scene: &Scene<'_>) -> String {
    lines(scene.texts(TextKind::ErrorLog, scene.logs_from))
}

pub(super) fn kernel_log(scene: &Scene<'_>) -> String {
    lines(scene.texts(TextKind::KernelLog, scene.logs_from))
}

fn lines<'a>(texts: impl Iterator<Item = &'a TimedText>) -> String {
    let mut out = String::new();
    for line in texts.flat_map(|timed| timed.text.body().lines()) {
        let end = line.floor_char_boundary(LINE_BYTES_MAX);
        out.push_str(line.get(..end).unwrap_or(line));
        out.push('\n');
    }
    out
}

fn statuses<'a>(scene: &Scene<'a>) -> Vec<&'a TimedText> {
    scene
        .texts(TextKind::InnodbStatus, scene.window.from)
        .collect()
}

/// `SHOW ENGINE INNODB STATUS\G`, the first (1) or the last (2) of the collection.
pub(super) fn innodb_status(scene: &Scene<'_>, which: u8) -> String {
    let all = statuses(scene);
    let one = match which {
        1 => all.first(),
        _ => all.get(1..).and_then(<[_]>::last),
    };
    one.map_or_else(String::new, |timed| status_row(timed))
}

/// Those between, from number 3 on.
pub(super) fn more_innodb_statuses(scene: &Scene<'_>) -> Vec<(usize, String)> {
    let all = statuses(scene);
    let between = all.get(1..all.len().saturating_sub(1)).unwrap_or_default();
    between
        .iter()
        .take(MORE_STATUSES_MAX)
        .enumerate()
        .map(|(index, timed)| (index + 3, status_row(timed)))
        .collect()
}

fn status_row(timed: &TimedText) -> String {
    let line_feed = if timed.text.body().ends_with('\n') {
        ""
    } else {
        "\n"
    };
    format!(
        "*************************** 1. row ***************************\n  Type: InnoDB\n  Name: \nStatus: \n{}{line_feed}",
        timed.text.body().trim_start_matches('\n')
    )
}

/// Text of one line: what would end it is a blank.
fn one_line(text: &str) -> String {
    text.replace(|c: char| c.is_control(), " ")
}
