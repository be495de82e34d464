//! Stacks and functions that are new in stalls.

use super::{Format, Parameter, Question, column};

pub(super) static QUESTION: Question = Question {
    name: "new-in-stalls",
    asks: "Which functions are threads in during stalls, but not before?",
    sqlite: include_str!("new_in_stalls.sqlite.sql"),
    clickhouse: Some(include_str!("new_in_stalls.clickhouse.sql")),
    parameters: &[Parameter::Since, Parameter::Rows],
    columns: &[
        column("stall_share", "IN STALLS", Format::Share),
        column("calm_share", "BEFORE", Format::Share),
        column("servers", "SERVERS", Format::Count),
        column("seen", "THREADS", Format::Text),
        column("functions", "IN", Format::Text),
    ],
    days: 30,
    empty: "No stacks of stalls are in the store from that time.",
    note: "Shares are of all waiting threads, or of all threads on a CPU. A function is listed before its callers.",
};
