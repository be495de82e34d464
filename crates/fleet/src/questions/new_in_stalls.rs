//! Stacks and functions that are new in stalls.

use super::{Format, Parameter, Question, column};

pub(super) static QUESTION: Question = Question {
    name: "new-in-stalls",
    asks: "Which functions stand in stacks of stalls and not before them?",
    sqlite: include_str!("new_in_stalls.sqlite.sql"),
    clickhouse: None,
    parameters: &[Parameter::Since, Parameter::Rows],
    columns: &[
        column("function", "FUNCTION", Format::Text),
        column("module", "IMAGE", Format::Text),
        column("seen", "SEEN", Format::Text),
        column("stall_share", "IN STALLS", Format::Share),
        column("calm_share", "BEFORE", Format::Share),
        column("servers", "SERVERS", Format::Count),
    ],
    days: 30,
    empty: "No stacks of stalls are in the store from that time.",
    note: "",
};
