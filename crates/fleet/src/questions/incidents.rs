//! Incidents one by one.

use super::{Format, Parameter, Question, column};

/// Incidents of a time, the latest first: of all servers or of one, or one incident alone.
pub static VIEW: Question = Question {
    name: "incidents",
    asks: "Which incidents are there?",
    sqlite: include_str!("incidents.sqlite.sql"),
    clickhouse: Some(include_str!("incidents.clickhouse.sql")),
    parameters: &[
        Parameter::Since,
        Parameter::Now,
        Parameter::Rows,
        Parameter::Me,
        Parameter::Server,
    ],
    columns: &[
        column("incident", "", Format::Text),
        column("name", "NAME", Format::Text),
        column("host", "SERVER", Format::Text),
        column("onset", "STALLED", Format::Moment),
        column("stall_seconds", "FOR", Format::Duration),
        column("cause", "CAUSE", Format::Text),
        column("verdict", "VERDICT", Format::Text),
        column("confidence", "CONFIDENCE", Format::Number),
        column("trigger", "TRIGGER", Format::Text),
        column("functions", "HEAVIEST FUNCTIONS", Format::List),
        column("frame", "FILE", Format::File),
        column("frame_sha256", "", Format::Text),
    ],
    days: 400,
    empty: "No incident is in the store from that time.",
    note: "",
};
