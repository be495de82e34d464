//! Evidence that is absent, for people: twenty sources that fail for one reason are one line.

use std::cell::RefCell;

use model::Absent;

use super::journal::Entry;

/// Absences that are still to be told, in the order in which they came.
#[derive(Default)]
pub(super) struct Absences(RefCell<Vec<AbsenceGroup>>);

/// What is absent of one server for one reason.
pub(super) struct AbsenceGroup {
    pub(super) label: String,
    /// journald's fields of the first of them.
    pub(super) entry: Option<Entry>,
    first: Absent,
    /// Names of what is absent.
    names: Vec<String>,
}

impl Absences {
    /// Keeps an absence until [`Self::take`].
    pub(super) fn add(&self, label: &str, absent: Absent, entry: Option<Entry>) {
        let mut groups = self.0.borrow_mut();
        let same = groups.iter_mut().find(|group| {
            group.label == label
                && group.first.reason == absent.reason
                && group.first.detail == absent.detail
        });
        match same {
            Some(group) => group.names.push(absent.what),
            None => groups.push(AbsenceGroup {
                label: label.to_owned(),
                entry,
                names: vec![absent.what.clone()],
                first: absent,
            }),
        }
    }

    /// Those that were kept; none is kept then.
    pub(super) fn take(&self) -> Vec<AbsenceGroup> {
        self.0.take()
    }
}

impl AbsenceGroup {
    /// The line.
    pub(super) fn line(&self) -> String {
        format!(
            "missing: {}: {} ({})",
            self.names.join(", "),
            self.first.reason.to_text(),
            self.first.detail
        )
    }
}

#[cfg(test)]
mod tests {
    use model::Reason;

    use super::*;

    #[test]
    fn one_line_a_server_and_reason() {
        let absences = Absences::default();
        let gone = |what: &str| Absent::new(what, Reason::Unsupported, "no process");
        absences.add("3306", gone("threads"), None);
        absences.add(
            "3306",
            Absent::new("status", Reason::NoConnection, "refused"),
            None,
        );
        absences.add("3306", gone("stacks"), None);
        absences.add("3307", gone("threads"), None);
        let groups = absences.take();
        let lines: Vec<_> = groups
            .iter()
            .map(|group| (group.label.as_str(), group.line()))
            .collect();
        let expected = [
            (
                "3306",
                "missing: threads, stacks: not available here (no process)",
            ),
            ("3306", "missing: status: no connection (refused)"),
            ("3307", "missing: threads: not available here (no process)"),
        ];
        assert_eq!(
            lines,
            expected.map(|(label, line)| (label, line.to_owned()))
        );
        assert!(absences.take().is_empty());
    }
}
