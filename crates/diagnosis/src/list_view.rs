//! The processlists of a record as the signs look at them: their texts stay where they are. A record of minutes has
//! hundreds of them, and to copy their texts takes as long as much of the rest of a verdict.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;

use serde::Deserialize;

/// A [`model::ProcessList`].
#[derive(Deserialize)]
pub(crate) struct ListView<'a> {
    /// Sessions seen.
    pub(crate) sessions: u64,
    /// Sessions by `Command`.
    #[serde(borrow)]
    pub(crate) by_command: Counts<'a>,
    /// Sessions that do something, by `State`.
    #[serde(borrow)]
    pub(crate) by_state: Counts<'a>,
    /// Sessions that do something, by user.
    #[serde(borrow)]
    pub(crate) by_user: Counts<'a>,
    /// Sessions that do something, by class of their statement.
    #[serde(borrow)]
    pub(crate) by_class: Counts<'a>,
    #[serde(borrow)]
    longest: Vec<Longest<'a>>,
    #[serde(skip)]
    active: OnceCell<u64>,
}

impl ListView<'_> {
    /// Sessions that do something.
    pub(crate) fn active(&self) -> u64 {
        // The counts of a file that somebody wrote by hand need not add up.
        let counts = self.by_class.iter().map(|(_, count)| count);
        let sum = || counts.fold(0, u64::saturating_add);
        *self.active.get_or_init(sum)
    }

    /// The statements of the sessions that have been longest in their state.
    pub(crate) fn statements(&self) -> impl Iterator<Item = &str> {
        let statements = self.longest.iter().map(|one| one.statement.as_ref());
        statements.filter(|text| !text.is_empty())
    }

    /// The states of these sessions, with the seconds since they began.
    pub(crate) fn longest_states(&self) -> impl Iterator<Item = (&str, f64)> {
        let longest = self.longest.iter();
        longest.map(|one| (one.state.as_ref(), one.seconds))
    }
}

/// What is looked at of one session.
#[derive(Deserialize)]
struct Longest<'a> {
    #[serde(borrow)]
    statement: Cow<'a, str>,
    #[serde(borrow)]
    state: Cow<'a, str>,
    seconds: f64,
}

/// Texts with their numbers.
#[derive(Default, Deserialize)]
pub(crate) struct Counts<'a>(#[serde(borrow)] BTreeMap<Text<'a>, u64>);

impl Counts<'_> {
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(text, count)| (text.0.as_ref(), *count))
    }

    /// The number of this text, or 0.
    pub(crate) fn count(&self, wanted: &str) -> u64 {
        let mut found = self.iter().filter(|(text, _)| *text == wanted);
        found.next().map_or(0, |(_, count)| count)
    }
}

/// serde borrows a text from its source where it stands in a field, not where it is a key.
#[derive(PartialEq, Eq, PartialOrd, Ord, Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use model::{ProcessList, Session};

    use super::*;

    #[test]
    fn it_reads_what_the_recorder_writes() {
        let counts = |pairs: &[(&str, u64)]| {
            let pairs = pairs.iter();
            pairs
                .map(|(text, count)| ((*text).to_owned(), *count))
                .collect()
        };
        let session = |statement: &str| Session {
            id: 1,
            user: "app".to_owned(),
            host: "web".to_owned(),
            db: String::new(),
            command: "Query".to_owned(),
            seconds: 1.5,
            state: "Sending data".to_owned(),
            statement: statement.to_owned(),
        };
        let list = ProcessList {
            sessions: 9,
            by_command: counts(&[("Query", 3), ("Sleep", 6)]),
            by_state: counts(&[("Waiting for \"x\"\n", 3)]),
            by_user: counts(&[("app", 3)]),
            by_class: counts(&[("select", 2), ("update", 1)]),
            longest: vec![session("SELECT ?"), session("")],
            idle: Vec::new(),
            idle_count: 0,
            replicas: Vec::new(),
        };
        let json = serde_json::to_string(&list).unwrap();
        let read: ListView = serde_json::from_str(&json).unwrap();
        assert_eq!((read.sessions, read.active()), (9, list.active()));
        assert_eq!(read.by_command.count("Sleep"), 6);
        assert_eq!(read.by_command.count("Daemon"), 0);
        let states: Vec<_> = read.by_state.iter().collect();
        assert_eq!(states, [("Waiting for \"x\"\n", 3)]);
        assert_eq!(read.by_user.count("app"), 3);
        assert_eq!(read.statements().collect::<Vec<_>>(), ["SELECT ?"]);
        let longest = read.longest_states().next();
        assert_eq!(longest, Some(("Sending data", 1.5)));
        // What was not escaped is not copied.
        assert!(matches!(
            read.by_user.0.keys().next(),
            Some(Text(Cow::Borrowed("app")))
        ));
    }
}
