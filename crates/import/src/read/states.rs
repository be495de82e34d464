//! Sessions counted by their state: as many sessions, of which nothing else is known.

use std::rc::Rc;

use server::Row;

use super::Read;
use crate::clean::Line;
use crate::kind::{cells, counted_state, state_columns};

/// Sessions of one list that are made.
const SESSIONS_MAX: usize = 100_000;

pub(super) fn read(lines: &[Line<'_>]) -> Read {
    let mut read = Read::default();
    let names: Rc<[String]> = ["id", "command", "state"].map(str::to_owned).into();
    let mut rows: Vec<Row> = Vec::new();
    let mut columns: Option<(usize, usize)> = None;
    let mut states = 0_usize;
    for line in lines {
        let text = line.trimmed();
        let cells = cells(text);
        if let Some(found) = state_columns(&cells) {
            columns = Some(found);
            continue;
        }
        let row = match columns {
            Some((state, number)) => cells
                .get(number)
                .and_then(|number| number.parse::<u64>().ok())
                .zip(cells.get(state).copied()),
            None => counted_state(text).map(|row| (row.sessions, row.state)),
        };
        let Some((sessions, state)) = row else {
            continue;
        };
        states += 1;
        let state = if state == "NULL" { "" } else { state };
        // A session without a state asks nothing, but for the moment between two states.
        let command = if state.is_empty() { "Sleep" } else { "Query" };
        for _ in 0..sessions {
            if rows.len() >= SESSIONS_MAX {
                read.skipped.push((
                    line.number,
                    format!("more than {SESSIONS_MAX} sessions").into(),
                ));
                break;
            }
            let id = (rows.len() + 1).to_string();
            let values = vec![id, command.to_owned(), state.to_owned()];
            rows.push(Row::new(Rc::clone(&names), values));
        }
    }
    read.brought = format!(
        "{} in {}",
        super::counted(rows.len(), "session", "sessions"),
        super::counted(states, "state", "states")
    );
    if !rows.is_empty() {
        let taken = server::processlist_taken(&rows, &[]);
        read.take("processlist", None, 0, taken);
    }
    read
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean;

    fn sessions(text: &str) -> (String, Vec<f64>) {
        let read = read(&clean::lines(text));
        let waiting = read.values("processlist.state.Waiting_for_table_metadata_lock");
        (read.brought.to_string(), waiting)
    }

    #[test]
    fn counted_by_uniq_and_by_the_server() {
        let uniq = "     45   State: Waiting for table metadata lock\n     12   State: Sending data\n      3   State:\n";
        let bare = "     45 Waiting for table metadata lock\n     12 Sending data\n      3 NULL\n";
        let table = "+-------+----------+\n| state | count(*) |\n+-------+----------+\n\
            | Waiting for table metadata lock |       45 |\n| Sending data | 12 |\n|  | 3 |\n+---+---+\n";
        let tabs = "cnt\tstate\n45\tWaiting for table metadata lock\n12\tSending data\n3\tNULL\n";
        for text in [uniq, bare, table, tabs] {
            let told = ("60 sessions in 3 states".to_owned(), vec![45.0]);
            assert_eq!(sessions(text), told, "{text}");
        }
    }

    #[test]
    fn a_number_without_end_is_no_memory_without_end() {
        let (brought, waiting) =
            sessions("18446744073709551615 State: Waiting for table metadata lock\n");
        assert_eq!(brought, "100000 sessions in 1 state");
        assert_eq!(waiting, [100_000.0]);
    }
}
