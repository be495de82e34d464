//! A processlist as counts by command, class and state, with the sessions that are kept in full.

use std::borrow::Cow;
use std::collections::BTreeMap;

use model::{OrderBy, ProcessList, Reading, Session, Unit};

use crate::connection::Row;

/// Sessions kept in full, the longest in their state first.
const LONGEST_MAX: usize = 50;

/// Sleeping sessions kept in full, where others wait.
const IDLE_MAX: usize = 20;

/// Replicas that are kept: more than read from most servers.
const REPLICAS_MAX: usize = 10;

/// A session that has been in its statement for so long is counted by itself.
const STUCK_SECONDS: f64 = 2.0;

/// Different states, users or classes counted; the rest is counted under `OTHER`.
const NAMES_MAX: usize = 40;

const OTHER: &str = "(other)";

/// Commands of sessions that wait for work or serve the server itself.
const NOT_ACTIVE: [&str; 6] = [
    "Sleep",
    "Daemon",
    "Binlog Dump",
    "Binlog Dump GTID",
    "Slave_IO",
    "Slave_SQL",
];

/// What the column `Command` may say, of all servers. Another word there was read from something that is no list of
/// sessions, and may be anything.
const COMMANDS: [&str; 45] = [
    "Query",
    "Sleep",
    "Connect",
    "Daemon",
    "Execute",
    "Prepare",
    "Close stmt",
    "Reset stmt",
    "Long Data",
    "Fetch",
    "Killed",
    "Kill",
    "Quit",
    "Init DB",
    "Field List",
    "Create DB",
    "Drop DB",
    "Statistics",
    "Processlist",
    "Process list",
    "Ping",
    "Time",
    "Debug",
    "Refresh",
    "Shutdown",
    "Change user",
    "Reset Connection",
    "Set option",
    "Delayed insert",
    "Connect Out",
    "Table Dump",
    "Binlog Dump",
    "Binlog Dump GTID",
    "Register Slave",
    "Register Replica",
    "Slave_IO",
    "Slave_SQL",
    "Slave_worker",
    "Bulk_execute",
    "Multi",
    "Com_multi",
    "clone",
    "Group Replication Data Stream subscription",
    "Subscribe Group Replication Stream",
    "Error",
];

/// Letters of a command that a narrow column has cut.
const COMMAND_CHARS_MIN: usize = 3;

/// The command of a session, as it stands there; any other text becomes `OTHER`.
fn command_of(row: &Row) -> &str {
    let text = row.get("command");
    let is_command = |known: &str| {
        let head = known.get(..text.len());
        (text.len() >= COMMAND_CHARS_MIN || text.len() == known.len())
            && head.is_some_and(|head| head.eq_ignore_ascii_case(text))
    };
    match text.is_empty() || COMMANDS.iter().any(|known| is_command(known)) {
        true => text,
        false => OTHER,
    }
}

/// The state of a session, as it stands there. No server's has a quotation mark, an equals sign or an account in it: where one
/// has, a statement stands in its place, as of a list whose columns nothing parts but blanks.
fn state_of(row: &Row) -> &str {
    let text = row.get("state");
    match text.contains(['\'', '"', '`', '=', '@']) {
        true => OTHER,
        false => text,
    }
}

/// How statements and states of a list are shown.
#[derive(Clone, Copy)]
pub(crate) struct Shown {
    statement: fn(&str) -> String,
    state: fn(&str) -> Cow<'_, str>,
    /// Who asked for the list may be one of its sessions.
    has_asker: bool,
}

impl Shown {
    /// As a server told them.
    pub(crate) const TOLD: Self = Self {
        statement: sql::redact_in_any_mode,
        state: as_told,
        has_asker: false,
    };

    /// Of a list that somebody showed to others: he may have written behind them. `state` is what one was before.
    pub(crate) fn pasted(state: fn(&str) -> Cow<'_, str>) -> Self {
        Self {
            statement: pasted_statement,
            state,
            has_asker: true,
        }
    }
}

/// Stands for what is in the place of a statement and is none: a sentence, a cell of another column.
const NO_STATEMENT: &str = "?";

fn pasted_statement(statement: &str) -> String {
    let statement = sql::without_remark(statement);
    // A stored program is seen at its cursors, too.
    let fetches = || {
        let first = statement.get(..6);
        first.is_some_and(|first| first.eq_ignore_ascii_case("fetch "))
    };
    match statement.is_empty() || sql::may_begin(statement) || fetches() {
        true => sql::redact_in_any_mode(statement),
        false => NO_STATEMENT.to_owned(),
    }
}

fn as_told(state: &str) -> Cow<'_, str> {
    Cow::Borrowed(state)
}

/// The counts by states as they are shown; what is shown alike is counted together.
fn by_shown(counts: BTreeMap<String, u64>, shown: Shown) -> BTreeMap<String, u64> {
    let mut by_state: BTreeMap<String, u64> = BTreeMap::new();
    for (state, count) in counts {
        *by_state
            .entry((shown.state)(&state).into_owned())
            .or_default() += count;
    }
    by_state
}

/// The session that asked for a list that somebody shows: of those that ask for one the latest. It is not what the server was
/// busy with, and its state is none of a client's.
fn asker_of(rows: &[Row], shown: Shown) -> Option<&Row> {
    const BYTES_MAX: usize = 400;
    // He asks at this moment; of thousands of sessions in a stall most have waited for longer, and need not be read.
    const SECONDS_MAX: f64 = 1.0;
    let reads = |statement: &str| {
        let begin = statement.get(..statement.floor_char_boundary(BYTES_MAX));
        let mut parts = begin.unwrap_or(statement).split('.').skip(1);
        let table = "processlist";
        parts.any(|part| {
            let name = part.get(..table.len());
            name.is_some_and(|name| name.eq_ignore_ascii_case(table))
        })
    };
    let asks = |row: &&Row| {
        let statement = row.get("info");
        match sql::statement_class(statement) {
            "show processlist" => true,
            "select" => reads(statement),
            _ => false,
        }
    };
    let rows = rows.iter().filter(|_| shown.has_asker);
    let now = rows.filter(|row| seconds(row) <= SECONDS_MAX);
    let asking = now.filter(asks);
    asking.min_by(|one, other| seconds(one).total_cmp(&seconds(other)))
}

/// Makes the histograms and the list of the longest; `own` are the recorder's connections.
pub(crate) fn summarise(rows: &[Row], own: &[u64], shown: Shown) -> ProcessList {
    let full = |row: &Row, seconds: f64| full(row, seconds, shown);
    let asker = asker_of(rows, shown);
    let mut list = ProcessList::default();
    let mut sessions = Vec::new();
    let mut asleep = Vec::new();
    for row in rows {
        let id = row.get("id").parse().unwrap_or(0);
        if own.contains(&id) {
            continue;
        }
        let command = command_of(row);
        list.sessions += 1;
        // A list with chosen columns need not have it.
        if !command.is_empty() {
            count(&mut list.by_command, command);
        }
        if NOT_ACTIVE.contains(&command) && !is_waiting_applier(row) {
            if command == "Sleep" && row.get("user") != "system user" {
                asleep.push((seconds(row), row));
            }
            if command.starts_with("Binlog Dump") && list.replicas.len() < REPLICAS_MAX {
                list.replicas.push(full(row, seconds(row)));
            }
            continue;
        }
        let statement = row.get("info");
        if command.is_empty() && statement.is_empty() && row.get("state").is_empty() {
            continue;
        }
        let class = match (sql::statement_class(statement), command) {
            ("", "") => OTHER,
            // Without a statement the command is what is known ("Connect", "Quit", "Prepare").
            ("", command) => command,
            (class, _) => class,
        };
        if !asker.is_some_and(|asker| std::ptr::eq(asker, row)) {
            count(&mut list.by_state, state_of(row));
        }
        count(&mut list.by_user, row.get("user"));
        count(&mut list.by_class, class);
        sessions.push((seconds(row), row));
    }
    list.by_state = by_shown(list.by_state, shown);
    sessions.order_by(|(a, _), (b, _)| b.total_cmp(a));
    if let Some(since) = waiting_since(&sessions) {
        asleep.retain(|(seconds, _)| *seconds >= since);
        asleep.order_by(|(a, _), (b, _)| a.total_cmp(b));
        list.idle_count = asleep.len() as u64;
        list.idle = asleep
            .into_iter()
            .take(IDLE_MAX)
            .map(|(seconds, row)| full(row, seconds))
            .collect();
    }
    list.longest = sessions
        .into_iter()
        .take(LONGEST_MAX)
        .map(|(seconds, row)| full(row, seconds))
        .collect();
    list
}

/// For how long somebody waits for a lock, seconds; where no state says so, as none does of those that wait for a row,
/// the shortest time of those that are stuck in their statements. Nothing when all goes well. `sessions` are those that
/// do something, the longest first.
fn waiting_since(sessions: &[(f64, &Row)]) -> Option<f64> {
    let waits = |row: &Row| {
        let state = row.get("state");
        state
            .get(..11)
            .is_some_and(|head| head.eq_ignore_ascii_case("waiting for"))
            || state == "Locked"
    };
    let waiting = sessions.iter().find(|(_, row)| waits(row));
    let stuck = || {
        sessions
            .iter()
            .rfind(|(seconds, _)| *seconds >= STUCK_SECONDS)
    };
    waiting.or_else(stuck).map(|(seconds, _)| *seconds)
}

/// Galera's appliers are listed as sleeping whatever they do: their state tells when one is stuck.
/// One that waits for work has nothing to do.
fn is_waiting_applier(row: &Row) -> bool {
    if row.get("command") != "Sleep" || row.get("user") != "system user" {
        return false;
    }
    let state = row.get("state").to_ascii_lowercase();
    state.contains("waiting for ") && !["event", "work"].iter().any(|idle| state.contains(idle))
}

/// The histograms as signals.
pub(crate) fn readings(list: &ProcessList) -> Vec<Reading> {
    let gauge = |name: String, value: u64| Reading::gauge(name, Unit::Count, value as f64);
    let long = |session: &&Session| session.seconds >= STUCK_SECONDS;
    let stuck = list.longest.iter().filter(long).count();
    let mut readings = vec![
        gauge("processlist.sessions".into(), list.sessions),
        gauge("processlist.active".into(), list.active()),
        gauge("processlist.active_2s".into(), stuck as u64),
    ];
    for (area, counts) in [
        ("command", &list.by_command),
        ("class", &list.by_class),
        ("state", &list.by_state),
    ] {
        for (name, value) in counts {
            readings.push(gauge(ProcessList::signal(area, name), *value));
        }
    }
    readings
}

fn count(counts: &mut BTreeMap<String, u64>, name: &str) {
    if let Some(count) = counts.get_mut(name) {
        *count += 1;
        return;
    }
    let name = match counts.len() >= NAMES_MAX {
        true => OTHER,
        false => name,
    };
    *counts.entry(name.to_owned()).or_default() += 1;
}

/// Time in the state. The server counts from its own clock, which may have been set back, and
/// some versions print that as a number near 2^32: such a time is taken as 0.
pub(crate) fn seconds(row: &Row) -> f64 {
    let seconds: f64 = row.get("time").parse().unwrap_or(0.0);
    if (0.0..4e9).contains(&seconds) {
        seconds
    } else {
        0.0
    }
}

fn full(row: &Row, seconds: f64, shown: Shown) -> Session {
    let host = row.get("host");
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
    Session {
        id: row.get("id").parse().unwrap_or(0),
        user: row.get("user").to_owned(),
        host: host.to_owned(),
        db: row.get("db").to_owned(),
        command: command_of(row).to_owned(),
        seconds,
        state: (shown.state)(state_of(row)).into_owned(),
        statement: (shown.statement)(row.get("info")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(sessions: &[(&str, &str, &str)]) -> ProcessList {
        let columns: std::rc::Rc<[String]> = ["id", "user", "command", "time", "state", "info"]
            .map(str::to_owned)
            .into();
        let rows: Vec<Row> = sessions
            .iter()
            .map(|(user, command, state)| {
                let values = ["5", user, command, "1027", state, ""];
                Row::new(std::rc::Rc::clone(&columns), &values)
            })
            .collect();
        summarise(&rows, &[], Shown::TOLD)
    }

    fn first_word(state: &str) -> Cow<'_, str> {
        Cow::Borrowed(state.split(' ').next().unwrap_or_default())
    }

    #[test]
    fn what_somebody_wrote_behind_a_statement_or_a_state_is_none_of_it() {
        let columns: std::rc::Rc<[String]> =
            ["id", "command", "state", "info"].map(str::to_owned).into();
        let row = |state: &str, info: &str| {
            Row::new(std::rc::Rc::clone(&columns), &["5", "Query", state, info])
        };
        let rows = [
            row("updating hunter2", "COMMIT, Alice says hunter2"),
            row(
                "updating",
                "update t set a = 'x' where b = 5 Alice says hunter2",
            ),
        ];
        let list = summarise(&rows, &[], Shown::pasted(first_word));
        let told = format!("{list:?}");
        assert!(
            !told.contains("hunter2") && !told.contains("Alice"),
            "{told}"
        );
        assert_eq!(list.by_state.get("updating"), Some(&2));
        let statements: Vec<&str> = list
            .longest
            .iter()
            .map(|one| one.statement.as_str())
            .collect();
        assert_eq!(statements, ["COMMIT", "update t set a = ? where b = ?"]);
        for (info, statement) in [
            ("Alice has hunter2 in here", "?"),
            ("hunter2", "?"),
            ("...unter2', a = 'hunter2'", "?"),
            ("", ""),
            ("/* app */ select 1", "select ?"),
            ("(select a from t)", "(select a from t)"),
            ("FETCH c INTO a", "FETCH c INTO a"),
        ] {
            let list = summarise(&[row("updating", info)], &[], Shown::pasted(first_word));
            assert_eq!(list.longest[0].statement, statement, "{info}");
        }
        // A server's are as it told them.
        let list = summarise(&rows, &[], Shown::TOLD);
        assert_eq!(list.by_state.get("updating hunter2"), Some(&1));
    }

    #[test]
    fn who_asked_for_a_list_is_not_counted_in_its_state() {
        let columns: std::rc::Rc<[String]> = ["id", "command", "time", "state", "info"]
            .map(str::to_owned)
            .into();
        let row = |time: &str, info: &str| {
            let values = ["5", "Query", time, "starting", info];
            Row::new(std::rc::Rc::clone(&columns), &values)
        };
        let counted = |rows: &[Row], shown: Shown| {
            let list = summarise(rows, &[], shown);
            assert_eq!(list.active() as usize, rows.len());
            list.by_state.get("starting").copied().unwrap_or(0)
        };
        let pasted = Shown::pasted(as_told);
        for asker in [
            "SHOW FULL PROCESSLIST",
            "/* a tool */ show processlist",
            "SELECT * FROM INFORMATION_SCHEMA.PROCESSLIST WHERE time > 5",
            "select id from performance_schema.processlist",
        ] {
            let rows = [row("0", "KILL 90"), row("0", asker)];
            assert_eq!(counted(&rows, pasted), 1, "{asker}");
            // A recorder knows its own connections.
            assert_eq!(counted(&rows, Shown::TOLD), 2);
            // Others that ask are clients: they wait already.
            let rows = [row("0", asker), row("40", asker), row("41", asker)];
            assert_eq!(counted(&rows, pasted), 2, "{asker}");
        }
        let rows = [row("0", "select 1"), row("1", "show tables")];
        assert_eq!(counted(&rows, pasted), 2);
    }

    #[test]
    fn what_stands_in_the_place_of_a_state_is_none() {
        for state in [
            "init GRANT ALL ON *.* TO app IDENTIFIED BY 'hunter2'",
            "CHANGE MASTER TO MASTER_PASSWORD=\"hunter2\"",
            "set pin=hunter2",
            "`hunter2`",
            "for hunter2@web",
        ] {
            let list = list(&[("app", "Query", state)]);
            let told = format!("{list:?}{:?}", readings(&list));
            assert!(!told.contains("hunter2"), "{told}");
            assert_eq!(list.by_state.get(OTHER), Some(&1));
        }
        for state in [
            "Slave has read all relay log; waiting for more updates",
            "wsrep: committed write set (4711)",
            "Making temporary file (append) before replaying LOAD DATA INFILE",
            "",
        ] {
            assert_eq!(
                list(&[("app", "Query", state)]).by_state.get(state),
                Some(&1)
            );
        }
    }

    #[test]
    fn without_commands_a_state_is_what_is_known() {
        let list = list(&[("", "", ""), ("", "", "Waiting on empty queue")]);
        assert_eq!((list.sessions, list.active()), (2, 1));
        assert!(list.by_command.is_empty());
        assert_eq!(list.by_class[OTHER], 1);
    }

    #[test]
    fn a_command_is_one_of_a_closed_set() {
        let list = list(&[
            ("a", "hunter2", ""),
            ("b", "Berlin", ""),
            ("c", "Binlog Dum", ""),
            ("d", "query", ""),
            ("e", "Q", ""),
        ]);
        assert_eq!(list.by_command[OTHER], 3);
        assert_eq!(list.by_command["Binlog Dum"], 1);
        assert_eq!(list.by_command["query"], 1);
        let all = serde_json::to_string(&list).unwrap();
        assert!(!all.contains("hunter2") && !all.contains("Berlin"), "{all}");
    }

    #[test]
    fn who_sends_to_a_replica_is_kept_and_does_nothing() {
        let sends = "Master has sent all binlog to slave; waiting for more updates";
        let list = list(&[
            ("repl", "Binlog Dump", sends),
            ("repl2", "Binlog Dump GTID", sends),
            ("app", "Query", "Sending data"),
        ]);
        assert_eq!(list.active(), 1);
        let users: Vec<&str> = list.replicas.iter().map(|one| one.user.as_str()).collect();
        assert_eq!(users, ["repl", "repl2"]);
    }

    #[test]
    fn an_applier_that_waits_is_active() {
        let list = list(&[
            ("system user", "Sleep", "wsrep aborter idle"),
            ("system user", "Sleep", "committed 12224277"),
            ("system user", "Sleep", "Waiting for commit lock"),
            ("system user", "Sleep", "Waiting for work from SQL thread"),
            ("app", "Sleep", "Waiting for commit lock"),
        ]);
        assert_eq!((list.sessions, list.active()), (5, 1));
        assert_eq!(list.by_state["Waiting for commit lock"], 1);
        assert_eq!(list.longest[0].user, "system user");
    }

    #[test]
    fn who_slept_before_the_wait_began_is_kept_and_only_then() {
        let columns: std::rc::Rc<[String]> = ["id", "user", "host", "command", "time", "state"]
            .map(str::to_owned)
            .into();
        let list = |rows: &[[&str; 4]]| {
            let rows: Vec<Row> = rows
                .iter()
                .map(|[id, command, time, state]| {
                    let values = [*id, "app", "web1:4711", command, time, state];
                    Row::new(std::rc::Rc::clone(&columns), &values)
                })
                .collect();
            summarise(&rows, &[9], Shown::TOLD)
        };
        let asleep = [
            ["4", "Sleep", "9", ""],
            ["5", "Sleep", "300", ""],
            ["6", "Sleep", "1", ""],
        ];
        let with = |more: &[[&str; 4]]| {
            let list = list(&[asleep.as_slice(), more].concat());
            let ids: Vec<u64> = list.idle.iter().map(|one| one.id).collect();
            (ids, list.idle_count)
        };
        let lock = "Waiting for table metadata lock";
        assert_eq!(with(&[]), (vec![], 0));
        assert_eq!(with(&[["7", "Query", "1", "Sending data"]]), (vec![], 0));
        // Our own sleeps, too.
        let waits = [
            ["7", "Query", "8", lock],
            ["8", "Query", "3", lock],
            ["9", "Sleep", "50", ""],
        ];
        assert_eq!(with(&waits), (vec![4, 5], 2));
        // A report does not hide who sleeps for less long than it runs.
        let report = [
            ["7", "Query", "200", "Sending data"],
            ["8", "Query", "8", lock],
        ];
        assert_eq!(with(&report), (vec![4, 5], 2));
        // Who waits for a row says nothing of it.
        assert_eq!(with(&[["7", "Query", "5", "Updating"]]), (vec![4, 5], 2));
    }
}
