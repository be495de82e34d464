//! Stalls by server and hour: what a map of them is made of.

use super::{Format, Parameter, Question, column};

/// A row for each server and hour with a stall, the latest first.
pub static VIEW: Question = Question {
    name: "hours",
    asks: "When did which server stall?",
    sqlite: include_str!("hours.sqlite.sql"),
    clickhouse: Some(include_str!("hours.clickhouse.sql")),
    parameters: &[Parameter::Since, Parameter::Now, Parameter::Rows],
    columns: &[
        column("host", "SERVER", Format::Text),
        column("hour", "HOUR", Format::Moment),
        column("stalls", "STALLS", Format::Count),
        column("stall_seconds", "STALLED", Format::Duration),
    ],
    days: 7,
    empty: "No stall was recorded in that time.",
    note: "",
};
