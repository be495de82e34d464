//! Which servers stalled like this one.

use super::{Format, Parameter, Question, column};

pub(super) static QUESTION: Question = Question {
    name: "like-this",
    asks: "Which servers stalled like this one?",
    sqlite: include_str!("like_this.sqlite.sql"),
    clickhouse: Some(include_str!("like_this.clickhouse.sql")),
    parameters: &[
        Parameter::Since,
        Parameter::Rows,
        Parameter::Me,
        Parameter::Cause,
        Parameter::Shape,
        Parameter::Stacks,
    ],
    columns: &[
        column("host", "SERVER", Format::Text),
        column("stalls", "STALLS", Format::Count),
        column("cause", "CAUSE", Format::Text),
        column("alike", "ALIKE", Format::Text),
        column("last", "LAST", Format::Moment),
        column("stall_seconds", "IN ALL", Format::Duration),
        column("frame", "MOST SIMILAR", Format::File),
        column("incident", "", Format::Text),
        column("onset", "", Format::Moment),
        column("verdict", "", Format::Text),
        column("confidence", "", Format::Number),
    ],
    days: 400,
    empty: "No other incident has its cause, its shape or its stacks.",
    note: "",
};
