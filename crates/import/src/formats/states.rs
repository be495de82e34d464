//! Sessions counted by their state, without the sessions: `… | grep State: | sort | uniq -c`, or
//! `SELECT state, COUNT(*) FROM information_schema.processlist GROUP BY state`. They are read as so many sessions of which
//! nothing else is known.

use std::borrow::Cow;
use std::rc::Rc;

use lexicon::{Kind, Lexicon};
use server::Row;

use crate::format::Candidate;
use crate::format::{Format, Group, Recogniser};
use crate::line::Line;
use crate::read::{Read, counted};
use crate::session_values::{is_of_server, known_state};
use crate::tables::{cells, is_rule, null};

pub(crate) static FORMAT: Format = Format {
    id: "states",
    group: Group::Server,
    name: "sessions by state",
    printed_by: "a processlist counted by state (`sort | uniq -c`, `GROUP BY state`)",
    content: "sessions by state",
    recognisers: &[Recogniser::new(110, "|0123456789sScCnNtTqQpP", 0, |at| {
        is_states(at)
    })],
    continues: |open, next| {
        is_rule(next.text)
            || open.is_row(next.text)
            || (next.own.is_none() && counted_state(next.text).is_some())
    },
    is_table: true,
    preference: 3,
    read,
    ..Format::NONE
};

/// States of sessions as the servers of all generations name them; one that ends with a blank goes on in many ways.
const STATES: [&str; 50] = [
    "NULL",
    "Waiting ",
    "waiting ",
    "Sending ",
    "Locked",
    "Updating",
    "updating",
    "update",
    "statistics",
    "Statistics",
    "Opening table",
    "Opening tables",
    "freeing items",
    "Freeing items",
    "init",
    "Init",
    "end",
    "query end",
    "Query end",
    "Copying to ",
    "copy to tmp table",
    "Creating ",
    "creating table",
    "Sorting ",
    "login",
    "checking permissions",
    "Checking permissions",
    "System lock",
    "Table lock",
    "closing tables",
    "Closing tables",
    "cleaning up",
    "executing",
    "Executing",
    "preparing",
    "optimizing",
    "Writing to net",
    "Reading from net",
    "converting HEAP ",
    "removing tmp table",
    "altering table",
    "Commit",
    "starting",
    "deleting from ",
    "Filling schema table",
    "User sleep",
    "User lock",
    "logging slow query",
    "Reset for next command",
    "wsrep: ",
];

/// What the column of the numbers is called.
const COUNTS: [&str; 12] = [
    "count(*)",
    "count(1)",
    "count(id)",
    "count",
    "cnt",
    "c",
    "n",
    "num",
    "total",
    "sessions",
    "threads",
    "qty",
];

/// A row without a table.
#[derive(Debug, PartialEq, Eq)]
struct Counted<'a> {
    sessions: u64,
    state: &'a str,
    /// `State:` stood in front of the state.
    labelled: bool,
}

/// `744 State: Sending data`, `45 Waiting for table metadata lock`.
fn counted_state(text: &str) -> Option<Counted<'_>> {
    let (sessions, rest) = text.split_once(|c: char| c.is_ascii_whitespace())?;
    let sessions = sessions.parse().ok()?;
    let rest = rest.trim_start();
    let label = rest.get(..6);
    let labelled = label.is_some_and(|label| label.eq_ignore_ascii_case("state:"));
    let state = match labelled {
        true => rest.get(6..).unwrap_or_default().trim(),
        false => rest,
    };
    (state.len() <= 64).then_some(Counted {
        sessions,
        state,
        labelled,
    })
}

impl Counted<'_> {
    fn is_known(&self) -> bool {
        let is = |state: &str| match state.ends_with(' ') {
            true => self.state.starts_with(state),
            false => self.state == state,
        };
        self.labelled || STATES.iter().any(|state| is(state))
    }
}

/// The columns of the state and of the number in the head of a table, which has no sessions of its own: statements that
/// were counted with their state may stand there as well.
fn state_columns(cells: &[&str]) -> Option<(usize, usize)> {
    let place = |names: &[&str]| {
        cells
            .iter()
            .position(|cell| names.iter().any(|name| cell.eq_ignore_ascii_case(name)))
    };
    if !(2..=5).contains(&cells.len()) || place(&["id"]).is_some() {
        return None;
    }
    Some((place(&["state", "processlist_state"])?, place(&COUNTS)?))
}

/// A head of such a table, or a row where another one is behind it: a single number and a word are anybody's.
fn is_states(at: &Candidate<'_>) -> bool {
    if state_columns(at.cells()).is_some() {
        return true;
    }
    let Some(own) = counted_state(at.text) else {
        return false;
    };
    own.labelled
        || (own.is_known()
            && at
                .next
                .first()
                .and_then(|line| counted_state(line.trim()))
                .is_some_and(|next| next.is_known()))
}

/// The state, if it is a server's; any other text becomes another one.
fn known(state: &str) -> &str {
    let is_known =
        |state: &str| is_of_server(state) || Lexicon::get().lookup(Kind::State, state).is_some();
    match known_state(state) {
        Cow::Borrowed(state) if is_known(state) => state,
        Cow::Borrowed(_) | Cow::Owned(_) => OTHER,
    }
}

/// What stands for a state that no server has.
const OTHER: &str = "(other)";

/// Sessions of one list that are made.
const SESSIONS_MAX: usize = 100_000;

fn read(lines: &[Line<'_>]) -> Read {
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
        let state = known(null(state));
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
            rows.push(Row::new(Rc::clone(&names), &[&id, command, state]));
        }
    }
    read.brought = format!(
        "{} in {}",
        counted(rows.len(), "session", "sessions"),
        counted(states, "state", "states")
    );
    if !rows.is_empty() {
        let taken = server::pasted_processlist_taken(&rows, &[], known_state);
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
            let expected = ("60 sessions in 3 states".to_owned(), vec![45.0]);
            assert_eq!(sessions(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_no_state_is_not_kept() {
        let text = "  45   State: Waiting for table metadata lock\n  12   State: Alice says hunter2\n   \
                    3   State: updating hunter2\n";
        let read = read(&clean::lines(text));
        let told = format!("{read:?}");
        assert!(
            !told.contains("Alice") && !told.contains("hunter2"),
            "{told}"
        );
        assert_eq!(
            read.values("processlist.state.Waiting_for_table_metadata_lock"),
            [45.0]
        );
        assert_eq!(read.values("processlist.state.updating"), [3.0]);
        assert_eq!(read.values("processlist.sessions"), [60.0]);
    }

    #[test]
    fn a_number_without_end_is_no_memory_without_end() {
        let (brought, waiting) =
            sessions("18446744073709551615 State: Waiting for table metadata lock\n");
        assert_eq!(brought, "100000 sessions in 1 state");
        assert_eq!(waiting, [100_000.0]);
    }
}
