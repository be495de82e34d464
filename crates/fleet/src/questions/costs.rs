//! What costs the most stall time.

use super::{Format, Parameter, Question, column};

pub(super) static QUESTION: Question = Question {
    name: "costs",
    asks: "What costs the most stall time?",
    sqlite: include_str!("costs.sqlite.sql"),
    clickhouse: Some(include_str!("costs.clickhouse.sql")),
    parameters: &[Parameter::Since, Parameter::Rows],
    columns: &[
        column("cause", "CAUSE", Format::Text),
        column("stall_seconds", "STALLED", Format::Duration),
        column("share", "OF ALL", Format::Share),
        column("stalls", "STALLS", Format::Count),
        column("servers", "SERVERS", Format::Count),
        column("p90_seconds", "9 OF 10 BELOW", Format::Duration),
    ],
    days: 7,
    empty: "No stall was recorded in that time: --since looks further back.",
    note: "",
};
