//! Did the remedy work across the fleet.

use super::{Format, Parameter, Question, column};

pub(super) static QUESTION: Question = Question {
    name: "remedies",
    asks: "Did the remedy work across the fleet?",
    sqlite: include_str!("remedies.sqlite.sql"),
    clickhouse: Some(include_str!("remedies.clickhouse.sql")),
    parameters: &[Parameter::Since, Parameter::Now, Parameter::Rows],
    columns: &[
        column("remedy", "REMEDY", Format::Text),
        column("cause", "AGAINST", Format::Text),
        column("servers", "SERVERS", Format::Count),
        column("helped", "HELPED", Format::Count),
        column("before_per_day", "STALLS A DAY BEFORE", Format::Number),
        column("after_per_day", "AFTER", Format::Number),
        column("proven", "PROVEN", Format::Count),
        column("undone", "UNDONE", Format::Count),
    ],
    days: 400,
    empty: "No remedy is in the store: recorders report what `freezeframe fix` changed.",
    note: "",
};
