//! Rows of the server that tell of replication, of open tables, and those that are known and not read.

use super::place::{Place, sign};
use super::plans::plan_of;
use super::process::{is_stalk_line, is_strace_line};
use super::reports::report_of;
use super::{cells, is_vertical_row, vertical_name};

/// Columns by which a status of replication is known, with the words of all generations.
const HEADS: [&str; 4] = [
    "slave_io_state",
    "replica_io_state",
    "slave_sql_running",
    "replica_sql_running",
];

/// Fields of the status in the words of all generations (MySQL manual, "SHOW REPLICA STATUS"), by
/// which one in the form of `\G` is known whose first lines are missing. No other table has them.
const FIELDS: [&str; 22] = [
    "Slave_IO_State",
    "Replica_IO_State",
    "Master_Host",
    "Source_Host",
    "Master_Log_File",
    "Source_Log_File",
    "Read_Master_Log_Pos",
    "Read_Source_Log_Pos",
    "Relay_Log_File",
    "Relay_Log_Space",
    "Relay_Master_Log_File",
    "Relay_Source_Log_File",
    "Slave_IO_Running",
    "Replica_IO_Running",
    "Slave_SQL_Running",
    "Replica_SQL_Running",
    "Exec_Master_Log_Pos",
    "Exec_Source_Log_Pos",
    "Seconds_Behind_Master",
    "Seconds_Behind_Source",
    "Slave_SQL_Running_State",
    "Replica_SQL_Running_State",
];

/// So many of them tell that it is such a status.
const FIELDS_MIN: usize = 3;

/// A status of a replica, one of performance_schema's tables of replication, or the statement that
/// pt-stalk prints in front of either.
pub(super) fn is_replication(at: &Place<'_>) -> bool {
    if is_vertical_row(at.text) {
        let mut names = at.next.iter().filter_map(|line| vertical_name(line.trim()));
        return names.any(|(name, _)| {
            HEADS.iter().any(|head| name.eq_ignore_ascii_case(head)) || name == "CHANNEL_NAME"
        });
    }
    is_status_query(at.text)
        || (at.has(sign::TABLE) && at.text.contains("_IO_State") && is_replication_head(at.cells()))
        || (at.has(sign::COLON) && is_headless(at.text, at.next))
}

/// A field of the status, with others of it behind.
fn is_headless(text: &str, next: &[&str]) -> bool {
    let is_field =
        |line: &str| vertical_name(line.trim()).is_some_and(|(name, _)| FIELDS.contains(&name));
    // What the names of all these fields begin with.
    if !text.starts_with(['S', 'R', 'M', 'E']) || !is_field(text) {
        return false;
    }
    let behind = next.iter().filter(|line| is_field(line)).count();
    behind + 1 >= FIELDS_MIN
}

/// The head of a table of the status.
pub(crate) fn is_replication_head(cells: &[&str]) -> bool {
    cells.len() > 10
        && cells
            .iter()
            .any(|cell| HEADS.iter().any(|head| cell.eq_ignore_ascii_case(head)))
}

fn is_status_query(text: &str) -> bool {
    [
        "SHOW SLAVE STATUS\\G",
        "SHOW REPLICA STATUS\\G",
        "SHOW ALL SLAVES STATUS\\G",
    ]
    .contains(&text)
}

/// A statement that pt-stalk prints in front of its answer.
pub(crate) fn is_bare_query(text: &str) -> bool {
    is_status_query(text)
        || (text.len() < 400
            && (text.starts_with("SELECT * FROM performance_schema.")
                || text.starts_with("select * from performance_schema.")
                || text.starts_with("select t.processlist_id, "))
            && text.ends_with(['G', ';']))
}

/// `Database  Table  In_use  Name_locked`.
pub(crate) fn is_open_tables_head(text: &str) -> bool {
    text.contains("Name_locked")
        && matches!(
            cells(text).as_slice(),
            ["Database", "Table", "In_use", "Name_locked"]
        )
}

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
pub(crate) fn unread_of(text: &str, next: &[&str]) -> Option<&'static str> {
    unread(&Place::new(text, text, next))
}

pub(super) fn unread(at: &Place<'_>) -> Option<&'static str> {
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

#[cfg(test)]
mod tests {
    use crate::{Input, import};

    #[test]
    fn sessions_of_a_proxy_are_known() {
        let text = "| SessionID | user | db | hostgroup | command | time_ms | info |\n| 21012 | app | shop | 1 | Query | 1462397 | SELECT 1 |\n";
        let bytes = text.as_bytes();
        let part = import(&[Input { path: "x", bytes }]).parts.remove(0);
        assert_eq!(part.kind, "sessions of ProxySQL");
    }

    fn part(text: &str) -> (String, String) {
        let bytes = text.as_bytes();
        let part = import(&[Input { path: "x", bytes }]).parts.remove(0);
        (part.kind, part.brought)
    }

    #[test]
    fn a_status_without_its_first_line_is_one() {
        let old = "it says\n            Slave_IO_Running: Yes\n           Slave_SQL_Running: Yes\n                  Last_Error: \n\
                    Relay_Log_Space: 500\n       Seconds_Behind_Master: 808\t# rising\n                   SQL_Delay: 0\n";
        let new = old.replace("Slave", "Replica").replace("Master", "Source");
        for text in [old, &new] {
            let (kind, brought) = part(text);
            assert_eq!(kind, "replication status", "{text}");
            assert_eq!(brought, "1 channel, 808 s behind");
        }
    }

    #[test]
    fn two_fields_are_not_enough() {
        let text = "Slave_IO_Running: Yes\nSlave_SQL_Running: Yes\nIs_this: all right\n";
        assert_eq!(part(text).0, "unknown");
    }
}
