//! Which build or setting stalls more.

use super::{Format, Parameter, Question, column};

pub(super) static QUESTION: Question = Question {
    name: "builds",
    asks: "Which build or setting stalls more?",
    sqlite: include_str!("builds.sqlite.sql"),
    clickhouse: Some(include_str!("builds.clickhouse.sql")),
    parameters: &[Parameter::Since, Parameter::Now, Parameter::Rows],
    columns: &[
        column("what", "WHAT", Format::Text),
        column("value", "VALUE", Format::Text),
        column("servers", "SERVERS", Format::Count),
        column("stalls", "STALLS", Format::Count),
        column("per_server_day", "A DAY AND SERVER", Format::Number),
        column("others_per_server_day", "THE OTHERS", Format::Number),
        column("cause", "MOSTLY", Format::Text),
    ],
    days: 30,
    empty: "No build or setting has more stalls than the other servers.",
    note: "",
};
