//! Statements that were seen first shortly before a stall.

use super::{Format, Parameter, Question, column};

pub(super) static QUESTION: Question = Question {
    name: "new-statements",
    asks: "Which statement was seen first shortly before a stall?",
    sqlite: include_str!("new_statements.sqlite.sql"),
    clickhouse: Some(include_str!("new_statements.clickhouse.sql")),
    parameters: &[Parameter::Since, Parameter::Rows],
    columns: &[
        column("host", "SERVER", Format::Text),
        column("onset", "STALLED", Format::Moment),
        column("before_seconds", "FIRST SEEN BEFORE", Format::Duration),
        column("cause", "CAUSE", Format::Text),
        column("statements", "STATEMENTS", Format::Count),
        column("digest", "DIGEST", Format::Hash),
        column("text", "STATEMENT", Format::Sentence),
    ],
    days: 30,
    empty: "No statement was new.",
    note: "",
};
