//! Sessions counted by their state, without the sessions: `… | grep State: | sort | uniq -c`, or
//! `SELECT state, COUNT(*) FROM information_schema.processlist GROUP BY state`.

use super::place::Place;

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
pub(crate) struct Counted<'a> {
    pub(crate) sessions: u64,
    pub(crate) state: &'a str,
    /// `State:` stood in front of the state.
    labelled: bool,
}

/// `744 State: Sending data`, `45 Waiting for table metadata lock`.
pub(crate) fn counted(text: &str) -> Option<Counted<'_>> {
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

/// The columns of the state and of the number in the head of a table, which has no sessions of its own.
pub(crate) fn columns(cells: &[&str]) -> Option<(usize, usize)> {
    let place = |names: &[&str]| {
        cells
            .iter()
            .position(|cell| names.iter().any(|name| cell.eq_ignore_ascii_case(name)))
    };
    if !(2..=5).contains(&cells.len()) || place(&["id", "info"]).is_some() {
        return None;
    }
    Some((place(&["state", "processlist_state"])?, place(&COUNTS)?))
}

/// A head of such a table, or a row where another one is behind it: a single number and a word are anybody's.
pub(super) fn is_states(at: &Place<'_>) -> bool {
    if columns(at.cells()).is_some() {
        return true;
    }
    let Some(own) = counted(at.text) else {
        return false;
    };
    own.labelled
        || (own.is_known()
            && at
                .next
                .first()
                .and_then(|line| counted(line.trim()))
                .is_some_and(|next| next.is_known()))
}
