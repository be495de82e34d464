//! The questions to a fleet: each a file with its sentence, its columns and its statement for each engine.
//!
//! A statement is fixed text with named parameters, so that `--sql` shows what runs. `:name` is SQLite's way to write one;
//! ClickHouse's is `{name:Type}`. All statements know the same names, those of [`Parameter`].

mod at_once;
mod at_risk;
mod builds;
mod costs;
mod hosts;
mod hours;
mod incidents;
mod like_this;
mod new_in_stalls;
mod new_statements;
mod remedies;
mod silent;
mod unnamed;

/// How the values of a column are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A text as it is.
    Text,
    /// A text of any length, on lines of its own.
    Sentence,
    /// A text that is a file's name: nothing of it is cut.
    File,
    /// A whole number.
    Count,
    /// A number with as many digits as it takes.
    Number,
    /// A length of time, seconds.
    Duration,
    /// A moment, milliseconds since 1970 UTC.
    Moment,
    /// A share between 0 and 1.
    Share,
    /// 64 bits that stand for a thing.
    Hash,
    /// A list of texts, a JSON array in SQLite.
    List,
}

/// A column of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AnswerColumn {
    /// Its name in the statement and in JSON, with its unit where it has one (`stall_seconds`).
    pub name: &'static str,
    /// Its head for people; nothing where it is for programs and links alone.
    pub title: &'static str,
    /// How it is shown.
    pub format: Format,
}

const fn column(name: &'static str, title: &'static str, format: Format) -> AnswerColumn {
    AnswerColumn {
        name,
        title,
        format,
    }
}

/// What a statement can be given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Parameter {
    /// `since`: from when on, milliseconds since 1970 UTC.
    Since,
    /// `now`: the moment of the question, milliseconds since 1970 UTC.
    Now,
    /// `rows`: how many rows are wanted.
    Rows,
    /// `me`: the incident that the question is about, as its UUID. Where others are compared with it, it is no answer.
    Me,
    /// `cause`: that incident's cause, empty when it has none.
    Cause,
    /// `shape`: that incident's shape, 64 bits.
    Shape,
    /// `stacks`: what was heavier in that stall than before, a list of 64 bits; in SQLite a JSON array of integers.
    Stacks,
    /// `server`: a server as answers call it, its host with its label; nothing for all.
    Server,
}

impl Parameter {
    /// Its name in statements.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Since => "since",
            Self::Now => "now",
            Self::Rows => "rows",
            Self::Me => "me",
            Self::Cause => "cause",
            Self::Shape => "shape",
            Self::Stacks => "stacks",
            Self::Server => "server",
        }
    }
}

/// A question to the fleet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Question {
    /// What it is asked by.
    pub name: &'static str,
    /// The question, one sentence.
    pub asks: &'static str,
    /// Its statement in SQLite.
    pub sqlite: &'static str,
    /// Its statement in ClickHouse, with the same columns; none until it is written.
    pub clickhouse: Option<&'static str>,
    /// What its statement is given.
    pub parameters: &'static [Parameter],
    /// The columns of the answer, as the statement has them.
    pub columns: &'static [AnswerColumn],
    /// How many days back it looks when nothing else is said.
    pub days: u16,
    /// What an empty answer means, and what to do about it.
    pub empty: &'static str,
    /// What to know of an answer; nothing where it says all.
    pub note: &'static str,
}

/// All questions, in the order in which they are listed.
pub static QUESTIONS: [&Question; 10] = [
    &like_this::QUESTION,
    &costs::QUESTION,
    &at_risk::QUESTION,
    &remedies::QUESTION,
    &new_in_stalls::QUESTION,
    &new_statements::QUESTION,
    &builds::QUESTION,
    &at_once::QUESTION,
    &unnamed::QUESTION,
    &silent::QUESTION,
];

/// What pages show beside the answers: lists and sums, which are no questions of a terminal.
pub mod views {
    pub use super::hosts::VIEW as HOSTS;
    pub use super::hours::VIEW as HOURS;
    pub use super::incidents::VIEW as INCIDENTS;

    use super::Question;

    /// All of them.
    pub static ALL: [&Question; 3] = [&HOSTS, &HOURS, &INCIDENTS];
}

/// The question with this name.
pub fn question(name: &str) -> Option<&'static Question> {
    QUESTIONS.into_iter().find(|question| question.name == name)
}
