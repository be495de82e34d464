//! Stalls that hit many servers at once.

use super::{Format, Parameter, Question, column};

pub(super) static QUESTION: Question = Question {
    name: "at-once",
    asks: "Which stalls hit many servers at once?",
    sqlite: include_str!("at_once.sqlite.sql"),
    clickhouse: Some(include_str!("at_once.clickhouse.sql")),
    parameters: &[Parameter::Since, Parameter::Rows],
    columns: &[
        column("first", "FIRST", Format::Moment),
        column("servers", "SERVERS", Format::Count),
        column("within_seconds", "WITHIN", Format::Duration),
        column("longest_seconds", "LONGEST", Format::Duration),
        column("causes", "CAUSES", Format::List),
        column("hosts", "WHERE", Format::List),
    ],
    days: 30,
    empty: "No three servers stalled within 30 s of each other.",
    note: "",
};
