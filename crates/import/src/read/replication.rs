//! The status of a replica (`SHOW REPLICA STATUS`, in the words of all generations): how far it is
//! behind, and whether its threads run.

use server::{ReplicaChannel, replica_readings};

use super::{Read, Tick, counted};
use crate::clean::Line;
use crate::kind::{cells, is_replication_head, is_vertical_row, vertical_name};
use crate::times;

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
            self.read.ticks.push(Tick {
                source: "replica",
                at: self.at,
                after: self.nth * 1000,
                readings,
            });
            self.nth += 1;
        }
        self.most = self.most.max(channels.len());
        let mut states = channels.iter().map(ReplicaChannel::state);
        if let Some(state) = states.find(|state| !state.is_empty()) {
            self.state = state.to_owned();
        }
    }
}

pub(super) fn read(lines: &[Line<'_>]) -> Read {
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
