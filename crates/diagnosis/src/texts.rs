//! Tests on what the server and the kernel wrote: waits for InnoDB's latches, its status, and lines
//! of logs, as a cause file asks for them.

use model::TextKind;
use regex::Regex;

use crate::catalogue::Limits;
use crate::expression::Condition;
use crate::human::Show;
use crate::names::{NamePattern, may_match_a_line};

/// The name of the group in a pattern that captures the number for [`LineCounting::Largest`].
pub(crate) const NUMBER: &str = "number";

/// Threads that wait for a mutex or a latch of InnoDB, as it lists them itself.
#[derive(Debug, Clone)]
pub(crate) struct SemaphoresTest {
    /// Where the latch was asked for, as `file line N` without folders.
    pub(crate) asked_at: Option<NamePattern>,
    /// Where it was created, in the same form.
    pub(crate) created_at: Option<NamePattern>,
    /// Where it was last taken, for reading, for writing or as a mutex, in the same form.
    pub(crate) last_locked_at: Option<NamePattern>,
    /// Its name.
    pub(crate) lock: Option<NamePattern>,
    /// What is wanted: `Mutex`, `S-lock`, `X-lock (wait_ex)`.
    pub(crate) lock_kind: Option<NamePattern>,
    /// What the holder's connection runs.
    pub(crate) holder_query: Option<NamePattern>,
    /// Waits that lasted less are not meant, in seconds.
    pub(crate) min_seconds: f64,
    /// A list with fewer waits has no share.
    pub(crate) min_waits: u64,
    pub(crate) counting: WaitCounting,
    pub(crate) only_if: Vec<Condition>,
    pub(crate) limits: Limits,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WaitCounting {
    /// Threads in one list.
    Waits,
    /// Of all waits of a list.
    Share,
    /// The longest wait.
    Seconds,
}

/// Lines of a log, or of a status of InnoDB.
#[derive(Debug, Clone)]
pub(crate) struct LinesTest {
    pub(crate) of: LinesOf,
    pub(crate) line: LinePattern,
    pub(crate) counting: LineCounting,
    pub(crate) show: Show,
    pub(crate) only_if: Vec<Condition>,
    pub(crate) limits: Limits,
}

/// Where the lines stand.
#[derive(Debug, Clone)]
pub(crate) enum LinesOf {
    ErrorLog,
    KernelLog,
    /// A status of InnoDB, or one section of it by its heading.
    InnodbStatus {
        section: Option<String>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LineCounting {
    /// Of a log all lines of the stall together; of a status those of the one with most.
    Lines,
    /// The largest number that the pattern captures.
    Largest,
}

/// A pattern on a line.
#[derive(Debug, Clone)]
pub(crate) enum LinePattern {
    /// Whether the line matches.
    Matches(NamePattern),
    /// The same with the group [`NUMBER`].
    Captures(Regex),
}

impl LinePattern {
    /// What the line says: nothing when it does not match, else its number where one is captured.
    pub(crate) fn read(&self, line: &str) -> Option<Option<f64>> {
        match self {
            Self::Matches(pattern) => pattern.is_match(line).then_some(None),
            Self::Captures(regex) => {
                let captures = regex.captures(line)?;
                let number = captures
                    .name(NUMBER)
                    .and_then(|text| text.as_str().parse::<f64>().ok())
                    .filter(|number| number.is_finite());
                Some(number)
            }
        }
    }

    /// Whether some line of a text may match: `false` is certain.
    pub(crate) fn may_match_in(&self, text: &str) -> bool {
        match self {
            Self::Matches(pattern) => pattern.may_match_in(text),
            Self::Captures(regex) => may_match_a_line(regex, text),
        }
    }

    /// As it stands in the file.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Matches(pattern) => pattern.text().to_owned(),
            Self::Captures(regex) => regex.as_str().to_owned(),
        }
    }

    /// For people.
    pub(crate) fn short(&self) -> String {
        match self {
            Self::Matches(pattern) => pattern.short(),
            Self::Captures(regex) => regex.as_str().to_owned(),
        }
    }
}

impl LinesOf {
    /// The name under which the lines are a source, and are missed.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::ErrorLog => "error_log",
            Self::KernelLog => "kernel_log",
            Self::InnodbStatus { .. } => "innodb",
        }
    }

    /// The texts that have them.
    pub(crate) fn kind(&self) -> TextKind {
        match self {
            Self::ErrorLog => TextKind::ErrorLog,
            Self::KernelLog => TextKind::KernelLog,
            Self::InnodbStatus { .. } => TextKind::InnodbStatus,
        }
    }
}
