//! All servers, with what they stalled.

use super::{Format, Parameter, Question, column};

/// A row for each server, also for those that did not stall: the longest stalled first.
pub static VIEW: Question = Question {
    name: "hosts",
    asks: "Which servers are there, and how long did each stall?",
    sqlite: include_str!("hosts.sqlite.sql"),
    clickhouse: Some(include_str!("hosts.clickhouse.sql")),
    parameters: &[Parameter::Since, Parameter::Now, Parameter::Rows],
    columns: &[
        column("host", "SERVER", Format::Text),
        column("vendor", "VENDOR", Format::Text),
        column("version", "VERSION", Format::Text),
        column("cluster", "CLUSTER", Format::Text),
        column("stalls", "STALLS", Format::Count),
        column("stall_seconds", "STALLED", Format::Duration),
        column("last_stall", "LAST", Format::Moment),
    ],
    days: 7,
    empty: "No server is in the store.",
    note: "",
};
