//! The status of a replica (`SHOW REPLICA STATUS`, in the words of all generations): how far it is
//! behind, and whether its threads run.

use server::{ReplicaChannel, replica_readings};

use crate::format::Candidate;
use crate::format::{Format, Gap, Group, Heads, Recogniser, sign};
use crate::line::Line;
use crate::read::{Read, counted};
use crate::session_values::is_of_server;
use crate::table_rows::add_row;
use crate::tables::{cells, is_rule, is_vertical_row, vertical_name};
use crate::times;

pub(crate) static FORMAT: Format = Format {
    id: "replication",
    group: Group::Server,
    name: "replication status",
    printed_by: "`SHOW SLAVE STATUS`, `SHOW REPLICA STATUS`, of all channels",
    content: "`replica.*`",
    recognisers: &[Recogniser::new(130, "", 0, is_replication)],
    continues: |open, next| {
        is_bare_query(next.text)
            || open.is_vertical_part(next)
            || (open.cells > 0 && open.is_row(next.text))
            || (open.cells == 0 && next.text.starts_with('|') && next.own.is_none())
            || is_rule(next.text)
    },
    add: add_row,
    gap: Gap::Lines(6),
    is_table: true,
    heads: Heads::Each,
    preference: 19,
    read,
    ..Format::NONE
};

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
fn is_replication(at: &Candidate<'_>) -> bool {
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
fn is_replication_head(cells: &[&str]) -> bool {
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

/// Channels of one status that are read.
const CHANNELS_MAX: usize = 1_000;

/// Prints of the status, each with its channels.
#[derive(Default)]
struct Prints {
    at: Option<i64>,
    channels: Vec<ReplicaChannel>,
    now: ReplicaChannel,
    read: Read,
    nth: u64,
    most: usize,
    state: String,
}

impl Prints {
    fn end_channel(&mut self) {
        let done = std::mem::take(&mut self.now);
        if done.is_some() && self.channels.len() < CHANNELS_MAX {
            self.channels.push(done);
        }
    }

    fn end(&mut self) {
        self.end_channel();
        let channels = std::mem::take(&mut self.channels);
        if channels.is_empty() {
            return;
        }
        let readings = replica_readings(&channels);
        if !readings.is_empty() {
            self.read
                .push("replica", self.at, self.nth * 1000, readings);
            self.nth += 1;
        }
        self.most = self.most.max(channels.len());
        let mut states = channels.iter().map(ReplicaChannel::state);
        // It is told as it stands there.
        if let Some(state) = states.find(|state| !state.is_empty() && is_of_server(state)) {
            self.state = state.to_owned();
        }
    }
}

fn read(lines: &[Line<'_>]) -> Read {
    let mut prints = Prints::default();
    let mut columns: Vec<String> = Vec::new();
    for line in lines {
        let text = line.trimmed();
        if let Some(at) = times::ts(text) {
            prints.end();
            prints.at = Some(at);
        } else if is_vertical_row(text) {
            prints.end_channel();
            if text.contains("* 1. row *") {
                prints.end();
            }
        } else if text.starts_with('|')
            || (text.contains('\t') && (!columns.is_empty() || vertical_name(text).is_none()))
        {
            let row = cells(text);
            if is_replication_head(&row) {
                prints.end();
                columns = row.iter().map(|cell| (*cell).to_owned()).collect();
            } else if row.len() == columns.len() {
                for (name, value) in columns.iter().zip(row) {
                    prints.now.field(name, value);
                }
                prints.end_channel();
            }
        } else if let Some((name, value)) = vertical_name(text) {
            prints.now.field(name, value);
        }
    }
    prints.end();
    let mut read = prints.read;
    if read.ticks.is_empty() {
        read.skipped
            .push((0, "no status in it: the server is no replica".into()));
        return read;
    }
    let last = read.ticks.last().map(|tick| tick.readings.as_slice());
    let behind = last
        .unwrap_or_default()
        .iter()
        .find(|reading| reading.name == "replica.seconds_behind");
    read.brought = counted(prints.most, "channel", "channels");
    if let Some(behind) = behind {
        read.brought
            .push_str(&format!(", {:.0} s behind", behind.value));
    }
    if !prints.state.is_empty() {
        read.brought
            .push_str(&format!("; applier: {}", prints.state));
    }
    read
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean;
    use crate::{Input, import};

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

    fn print(behind: &str, sql: &str) -> String {
        format!(
            "*************************** 1. row ***************************\n\
               Slave_IO_State: Waiting for master to send event\n                  Master_Host: h\n\
             Slave_IO_Running: Yes\n            Slave_SQL_Running: {sql}\n              Relay_Log_Space: 500\n\
        Seconds_Behind_Master: {behind}\n      Slave_SQL_Running_State: Waiting for prior transaction to commit\n"
        )
    }

    #[test]
    fn both_vocabularies_say_the_same() {
        let old = [print("5", "Yes"), print("9", "No")].concat();
        let new = old
            .replace("Slave_", "Replica_")
            .replace("Master", "Source");
        for text in [old, new] {
            let read = read(&clean::lines(&text));
            assert_eq!(read.values("replica.seconds_behind"), [5.0, 9.0]);
            assert_eq!(read.values("replica.applies"), [1.0, 0.0]);
            assert_eq!(
                read.brought,
                "1 channel, 9 s behind; applier: Waiting for prior transaction to commit"
            );
        }
    }

    #[test]
    fn what_is_no_state_is_not_told() {
        let text =
            print("9", "Yes").replace("prior transaction to commit", "Alice, her pin is hunter2");
        assert_eq!(read(&clean::lines(&text)).brought, "1 channel, 9 s behind");
    }

    #[test]
    fn a_source_that_is_not_reached_has_no_lag() {
        let read = read(&clean::lines(&print("NULL", "Yes")));
        assert_eq!(read.values("replica.seconds_behind"), [0.0; 0]);
        assert_eq!(read.values("replica.receives"), [1.0]);
    }

    #[test]
    fn a_note_behind_a_number_is_none_of_it() {
        let read = read(&clean::lines(&print("808           // and rising", "Yes")));
        assert_eq!(read.values("replica.seconds_behind"), [808.0]);
    }

    #[test]
    fn the_worst_of_several_channels_counts() {
        let (first, second) = (print("5", "Yes"), print("70", "Yes"));
        let text = first + &second.replace("* 1. row", "* 2. row");
        let read = read(&clean::lines(&text));
        assert_eq!(read.values("replica.seconds_behind"), [70.0]);
        assert!(read.brought.starts_with("2 channels, 70 s behind"));
    }

    #[test]
    fn tables_are_read_too() {
        let head = "Replica_IO_State\tSource_Host\ta\tb\tc\td\te\tf\tReplica_IO_Running\tReplica_SQL_Running\tSeconds_Behind_Source";
        let text = format!("{head}\nx\th\t1\t2\t3\t4\t5\t6\tYes\tYes\t31\n");
        let read = read(&clean::lines(&text));
        assert_eq!(read.values("replica.seconds_behind"), [31.0]);
        let none = super::read(&clean::lines("SHOW SLAVE STATUS\\G\n"));
        assert!(none.is_empty() && none.skipped.len() == 1);
    }
}
