//! Unnamed stalls by their shape: the next cause to write.

use super::{Format, Parameter, Question, column};

pub(super) static QUESTION: Question = Question {
    name: "unnamed",
    asks: "Which stalls without a named cause look alike?",
    sqlite: include_str!("unnamed.sqlite.sql"),
    clickhouse: Some(include_str!("unnamed.clickhouse.sql")),
    parameters: &[Parameter::Since, Parameter::Rows],
    columns: &[
        column("shape", "SHAPE", Format::Hash),
        column("stall_seconds", "STALLED", Format::Duration),
        column("stalls", "STALLS", Format::Count),
        column("servers", "SERVERS", Format::Count),
        column("trigger", "TRIGGER", Format::Text),
        column("functions", "HEAVIEST FUNCTIONS", Format::List),
        column("frame", "LONGEST", Format::File),
    ],
    days: 400,
    empty: "Every stall of that time has a cause that is at least likely.",
    note: "",
};
