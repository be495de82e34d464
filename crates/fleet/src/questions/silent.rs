//! Who is not recording, and what evidence is missing.

use super::{Format, Parameter, Question, column};

pub(super) static QUESTION: Question = Question {
    name: "silent",
    asks: "Which servers are not recorded, or lack evidence?",
    sqlite: include_str!("silent.sqlite.sql"),
    clickhouse: Some(include_str!("silent.clickhouse.sql")),
    parameters: &[Parameter::Now, Parameter::Rows],
    columns: &[
        column("host", "SERVER", Format::Text),
        column("last", "LAST HEARD", Format::Moment),
        column("silent_seconds", "SILENT FOR", Format::Duration),
        column("lost", "LOST", Format::Count),
        column("absent", "ABSENT", Format::List),
    ],
    days: 400,
    empty: "Every server was heard of in the last five minutes, with all evidence.",
    note: "",
};
