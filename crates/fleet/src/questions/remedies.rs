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
        column("undecided", "UNDECIDED", Format::Count),
        column("before_per_day", "BEFORE/DAY", Format::Number),
        column("after_per_day", "AFTER/DAY", Format::Number),
        column("proven", "PROVEN", Format::Count),
        column("undone", "UNDONE", Format::Count),
    ],
    days: 400,
    empty: "No remedy is in the store: recorders with [fleet] url report what `freezeframe fix` changed on their hosts.",
    note: "HELPED: at most half as many stalls a day as before, in up to 14 days. UNDECIDED: too few stalls or too little time to tell. PROVEN: freezeframe compare --since-fix reported it.",
};
