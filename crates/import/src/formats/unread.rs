//! What is known by its form and holds nothing that a cause asks for: it is called by its name. What the server says of one
//! statement (`EXPLAIN`, `SHOW PROFILE`), tables of performance_schema and statuses of other engines, reports of tools that
//! tell of averages since the server's start.

use crate::format::AHEAD;
use crate::format::Candidate;
use crate::format::{Format, Gap, Group, Heads, Recogniser, sign};
use crate::formats::name_value::is_variable;
use crate::formats::replication::is_bare_query;
use crate::line::Line;
use crate::read::{Read, counted};
use crate::session_values::is_of_server;
use crate::table_rows::add_row;
use crate::tables::{cells, is_rule, is_vertical_row, vertical_name};

pub(crate) static FORMAT: Format = Format {
    id: "unread",
    group: Group::Server,
    name: "known text",
    printed_by: "`EXPLAIN`, `SHOW PROFILE`, prepared statements, table handles and events of performance_schema, variables by thread, statuses of other engines, MySQLTuner, iotop, strace, pt-stalk's log, ProxySQL's sessions",
    content: "",
    recognisers: &[Recogniser::new(150, "", 0, |at| unread(at).is_some())],
    continues: |open, next| {
        is_bare_query(next.text)
            || open.is_vertical_part(next)
            || (open.cells > 0 && open.is_row(next.text))
            || (open.cells == 0 && next.own.is_none() && is_of_plan(next.text))
    },
    add: add_row,
    gap: Gap::Lines(6),
    is_table: true,
    heads: Heads::Each,
    read,
    ..Format::NONE
};

/// Tables in the form of `\G`, by columns that they alone have.
const TABLES: [(&str, &[&str]); 3] = [
    (
        "prepared statements",
        &["STATEMENT_ID", "OBJECT_INSTANCE_BEGIN"],
    ),
    (
        "performance_schema.table_handles",
        &["OBJECT_INSTANCE_BEGIN", "INTERNAL_LOCK"],
    ),
    (
        "events of performance_schema",
        &["THREAD_ID", "EVENT_ID", "EVENT_NAME"],
    ),
];

/// Statuses of engines that no cause looks at, by their first field.
const ENGINES: [&str; 8] = [
    "TokuDB",
    "STATISTICS",
    "DBSTATS",
    "CF_COMPACTION",
    "MEMORY_STATS",
    "BG_THREADS",
    "PERF_CONTEXT",
    "performance_schema",
];

/// What a line begins, where that is known and tells nothing that a cause asks for.
fn unread_of(text: &str, next: &[&str]) -> Option<&'static str> {
    unread(&Candidate::new(text, text, next))
}

fn unread(at: &Candidate<'_>) -> Option<&'static str> {
    let (text, next) = (at.text, at.next);
    if let Some(name) = plan_of(at).or_else(|| report_of(text)) {
        return Some(name);
    }
    if is_vertical_row(text) {
        let fields = || next.iter().filter_map(|line| vertical_name(line.trim()));
        let has = |wanted: &str| fields().any(|(name, _)| name == wanted);
        let table = TABLES
            .iter()
            .find(|(_, columns)| columns.iter().all(|column| has(column)));
        if let Some((name, _)) = table {
            return Some(name);
        }
        let engine = fields()
            .next()
            .filter(|(name, value)| *name == "Type" && ENGINES.contains(value));
        return engine.map(|_| "status of another engine");
    }
    let is_head = |text: &str| {
        let text = text.trim_start_matches(['|', ' ']);
        text.get(..9)
            .is_some_and(|begin| begin.eq_ignore_ascii_case("thread_id"))
    };
    if at.has(sign::TABLE)
        && is_head(text)
        && let [thread, name, value, ..] = at.cells()
        && thread.eq_ignore_ascii_case("thread_id")
        && name.eq_ignore_ascii_case("variable_name")
        && value.eq_ignore_ascii_case("variable_value")
    {
        return Some("variables by thread");
    }
    if at.has(sign::TABLE) && is_sessions_of_proxy(at.cells()) {
        return Some("sessions of ProxySQL");
    }
    if is_stalk_line(text) {
        return Some("pt-stalk's own log");
    }
    is_strace_line(text).then_some("strace output")
}

/// The head of ProxySQL's `SHOW PROCESSLIST`: times in milliseconds, and groups of servers.
fn is_sessions_of_proxy(cells: &[&str]) -> bool {
    ["SessionID", "hostgroup", "time_ms"]
        .iter()
        .all(|name| cells.contains(name))
}

/// `EXPLAIN` as a table, in the form of `\G`, as a tree or as JSON.
const PLAN: &str = "plan of a statement (EXPLAIN)";

/// `SHOW PROFILE`: the stages of a statement that somebody ran for it.
const STAGES: &str = "stages of one statement (SHOW PROFILE)";

/// `SHOW PROFILES`: the last statements of one session.
const STATEMENTS: &str = "durations of a session's statements (SHOW PROFILES)";

/// Stages that nearly every statement has; rows are known by one of them among the next.
const COMMON: [&str; 12] = [
    "starting",
    "checking permissions",
    "Opening tables",
    "System lock",
    "init",
    "optimizing",
    "statistics",
    "preparing",
    "executing",
    "query end",
    "freeing items",
    "cleaning up",
];

/// What a line begins, or belongs to.
fn plan_of(at: &Candidate<'_>) -> Option<&'static str> {
    let (text, next) = (at.text, at.next);
    if is_vertical_row(text) {
        let mut fields = next.iter().filter_map(|line| vertical_name(line.trim()));
        let is_plan = fields.any(|(name, _)| name == "select_type" || name == "EXPLAIN");
        return is_plan.then_some(PLAN);
    }
    let is = |cell: &str, name: &str| cell.eq_ignore_ascii_case(name);
    match at.cells() {
        [id, kind, table, ..] if is(id, "id") && is(kind, "select_type") && is(table, "table") => {
            return Some(PLAN);
        }
        [status, duration, ..] if is(status, "Status") && is(duration, "Duration") => {
            return Some(STAGES);
        }
        [id, duration, query]
            if is(id, "Query_ID") && is(duration, "Duration") && is(query, "Query") =>
        {
            return Some(STATEMENTS);
        }
        _ => {}
    }
    if is_step(text) || text.starts_with("\"query_block\": {") {
        return Some(PLAN);
    }
    let is_common =
        |line: &&str| stage(line.trim()).is_some_and(|(name, _)| COMMON.contains(&name));
    let is_stage = at.has(sign::TABLE | sign::DOT)
        && stage(text).is_some()
        && std::iter::once(&text).chain(next).any(is_common);
    is_stage.then_some(STAGES)
}

/// `-> Table scan on t  (cost=10.2 rows=100) (actual time=0.1..2.3 rows=100 loops=1)`.
fn is_step(text: &str) -> bool {
    if !text.starts_with(['|', 'E', '-']) {
        return false;
    }
    let text = text.trim_start_matches(['|', ' ']);
    let text = text.strip_prefix("EXPLAIN: ").unwrap_or(text);
    text.starts_with("->")
        && ["(cost=", "(actual time="]
            .iter()
            .any(|word| text.contains(word))
}

/// `| Opening tables | 0.000029 |`: the stage and its seconds, always with six digits.
pub(crate) fn stage(text: &str) -> Option<(&str, f64)> {
    let (name, seconds) = match cells(text).as_slice() {
        [name, seconds, ..] => (*name, *seconds),
        _ => return None,
    };
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic()) && !is_variable(name);
    let (whole, part) = seconds.split_once('.')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_duration = is_number(whole) && is_number(part) && part.len() == 6;
    (is_name && is_duration).then_some((name, seconds.parse().ok()?))
}

/// MySQLTuner's first line, or a line of iotop.
fn report_of(text: &str) -> Option<&'static str> {
    // Behind marks that look like those of quoted mail.
    let version = text
        .trim_start_matches(['>', ' '])
        .strip_prefix("MySQLTuner ");
    if version.is_some_and(|version| version.starts_with(|c: char| c.is_ascii_digit())) {
        return Some("MySQLTuner report");
    }
    is_iotop(text).then_some("iotop output")
}

/// `Total DISK READ : …`, `TID PRIO USER DISK READ …`, `412 be/3 root 0.00 B/s 15.50 K/s 0.00 % 99.91 % [jbd2/sda1-8]`.
fn is_iotop(text: &str) -> bool {
    const HEADS: [&str; 3] = ["Total DISK READ", "Actual DISK READ", "TID  PRIO  USER"];
    if HEADS.iter().any(|head| text.starts_with(head)) {
        return true;
    }
    let mut words = text.split_whitespace();
    let is_thread = words.next().is_some_and(|word| word.parse::<u32>().is_ok());
    let is_priority = words.next().is_some_and(|word| {
        let class = word.split('/').next().unwrap_or_default();
        ["be", "rt", "id", "idle"].contains(&class) && word.len() <= 5
    });
    is_thread
        && is_priority
        && ["B/s ", "K/s ", "M/s "]
            .iter()
            .any(|unit| text.contains(unit))
        && text.contains(" % ")
}

/// `2026_11_21_12_55_42 Starting /usr/bin/pt-stalk --function=status …`: what pt-stalk says itself.
fn is_stalk_line(text: &str) -> bool {
    text.split_once(' ').is_some_and(|(time, _)| {
        time.len() == 19
            && time.bytes().enumerate().all(|(at, byte)| match at {
                4 | 7 | 10 | 13 | 16 => byte == b'_',
                _ => byte.is_ascii_digit(),
            })
    })
}

/// `4711  futex(0x7f00, FUTEX_WAIT_PRIVATE, 0, NULL) = 0 <0.000052>`.
fn is_strace_line(text: &str) -> bool {
    let Some((pid, call)) = text.split_once(' ') else {
        return false;
    };
    if pid.parse::<u32>().is_err() {
        return false;
    }
    let call = call.trim_start();
    let is_call = call.starts_with("<... ")
        || call.split_once('(').is_some_and(|(name, _)| {
            !name.is_empty()
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        });
    is_call
        && (text.ends_with(" <unfinished ...>")
            || (text.ends_with('>') && text.contains(" = ") && text.contains(" <0.")))
}

/// A row in boxes, a step of a tree or a line of JSON, as `EXPLAIN` and `SHOW PROFILE` print them.
fn is_of_plan(text: &str) -> bool {
    is_rule(text) || text.starts_with("-> ") || text.starts_with(['|', '"', '{', '}', '[', ']'])
}

pub(crate) const NOTHING_ASKED: &str = "recognised; it has nothing that a cause uses";

const ONE_STATEMENT: &str = "recognised; it describes one statement, not the server during a stall";

fn read(lines: &[Line<'_>]) -> Read {
    let mut read = Read::default();
    let mut names: Vec<&str> = Vec::new();
    let mut rows = 0_usize;
    for (index, line) in lines.iter().enumerate() {
        let text = line.trimmed();
        let is_row = is_vertical_row(text);
        rows += usize::from(is_row);
        // Only rows are told by what stands behind them.
        let ahead = if is_row { AHEAD } else { 0 };
        let next: Vec<&str> = lines
            .get(index + 1..(index + 1 + ahead).min(lines.len()))
            .unwrap_or_default()
            .iter()
            .map(|line| line.text.as_ref())
            .collect();
        if let Some(name) = unread_of(text, &next)
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    let is_profile = names == [STAGES];
    read.what = Some(names.join(", "));
    let longest = lines.iter().filter_map(|line| stage(line.trimmed()));
    // Any table with a name and a share has such rows.
    let longest = longest.filter(|(stage, _)| is_of_server(stage));
    let why = match longest.max_by(|(_, a), (_, b)| a.total_cmp(b)) {
        Some((stage, seconds)) if is_profile => {
            format!("{ONE_STATEMENT}; longest: {stage}, {seconds} s")
        }
        _ if rows == 0 => NOTHING_ASKED.to_owned(),
        _ => format!("{NOTHING_ASKED} ({})", counted(rows, "row", "rows")),
    };
    read.skipped.push((0, why.into()));
    read
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean;
    use crate::{Input, import};

    #[test]
    fn sessions_of_a_proxy_are_known() {
        let text = "| SessionID | user | db | hostgroup | command | time_ms | info |\n| 21012 | app | shop | 1 | Query | 1462397 | SELECT 1 |\n";
        let bytes = text.as_bytes();
        let part = import(&[Input { path: "x", bytes }]).parts.remove(0);
        assert_eq!(part.kind, "sessions of ProxySQL");
    }

    fn plan(text: &str, next: &[&str]) -> Option<&'static str> {
        plan_of(&Candidate::new(text, text, next))
    }

    #[test]
    fn forms_of_both() {
        for (text, what) in [
            ("| id | select_type | table | type |", PLAN),
            ("id\tselect_type\ttable\tpartitions", PLAN),
            ("-> Limit: 10 row(s)  (cost=1.2 rows=10)", PLAN),
            (
                "| -> Nested loop inner join  (actual time=0.1..2 rows=1 loops=1)",
                PLAN,
            ),
            ("EXPLAIN: -> Table scan on t  (cost=10.2 rows=100)", PLAN),
            ("\"query_block\": {", PLAN),
            ("| Status | Duration |", STAGES),
            ("Status\tDuration\tCPU_user", STAGES),
            ("| Opening tables | 0.000029 |", STAGES),
            ("| Query_ID | Duration | Query |", STATEMENTS),
        ] {
            assert_eq!(plan(text, &[]), Some(what), "{text}");
        }
        let rare = "| Repair by sorting | 0.020695 |";
        assert_eq!(plan(rare, &[]), None);
        assert_eq!(plan(rare, &["| query end | 0.000003 |"]), Some(STAGES));
        for text in [
            "| wsrep_flow_control_paused | 0.984000 |",
            "| init | 0.98 |",
            "-> then restart it (cost: none)",
            "| id | User | Host |",
        ] {
            assert_eq!(plan(text, &[]), None, "{text}");
        }
    }

    #[test]
    fn lines_of_known_reports() {
        for (text, name) in [
            (
                "MySQLTuner 1.7.17 - Major Hayden <major@mhtx.net>",
                "MySQLTuner report",
            ),
            (">>  MySQLTuner 2.2.8", "MySQLTuner report"),
            (
                "Total DISK READ :       0.00 B/s | Total DISK WRITE :      21.11 M/s",
                "iotop output",
            ),
            (
                "412 be/3 root 0.00 B/s 15.50 K/s 0.00 % 99.91 % [jbd2/sda1-8]",
                "iotop output",
            ),
        ] {
            assert_eq!(report_of(text), Some(name), "{text}");
        }
        for text in [
            "MySQLTuner says so",
            "412 be careful at 5 m/s ",
            "12 idlers",
        ] {
            assert_eq!(report_of(text), None, "{text}");
        }
    }

    fn said(read: &Read) -> (&str, &str) {
        assert!(read.is_empty());
        let what = read.what.as_deref().unwrap_or_default();
        (what, &read.skipped[0].1)
    }

    #[test]
    fn what_is_known_has_its_name() {
        let text = "*************************** 1. row ***************************\n       processlist_id: 5\n\
            OBJECT_INSTANCE_BEGIN: 139\n         STATEMENT_ID: 1\n             SQL_TEXT: select 1\n";
        assert_eq!(
            said(&read(&clean::lines(text))),
            (
                "prepared statements",
                "recognised; it has nothing that a cause uses (1 row)"
            )
        );
        let text = "| Status | Duration |\n| starting | 0.000011 |\n| Copying to tmp table on disk | 4.040516 |\n";
        assert_eq!(
            said(&read(&clean::lines(text))),
            (
                "stages of one statement (SHOW PROFILE)",
                "recognised; it describes one statement, not the server during a stall; longest: Copying to tmp table on disk, 4.040516 s"
            )
        );
    }

    #[test]
    fn a_row_of_another_table_is_no_stage() {
        let text = "| Status | Duration |\n| starting | 0.000011 |\n| Alice Miller | 4.040516 |\n| init | 0.5 |\n";
        let read = read(&clean::lines(text));
        let (_, why) = said(&read);
        assert!(
            !why.contains("Alice") && why.ends_with("longest: starting, 0.000011 s"),
            "{why}"
        );
    }
}
