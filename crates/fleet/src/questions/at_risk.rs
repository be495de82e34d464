//! Who is at risk and has not stalled yet.

use super::{Format, Parameter, Question, column};

pub(super) static QUESTION: Question = Question {
    name: "at-risk",
    asks: "Which servers are at risk of a cause that they have not had yet?",
    sqlite: include_str!("at_risk.sqlite.sql"),
    clickhouse: Some(include_str!("at_risk.clickhouse.sql")),
    parameters: &[Parameter::Since, Parameter::Now, Parameter::Rows],
    columns: &[
        column("host", "SERVER", Format::Text),
        column("cause", "AT RISK OF", Format::Text),
        column("why", "WHY", Format::Sentence),
        column("signal", "SIGNAL", Format::Text),
        column("worst", "WORST", Format::Number),
        column("at", "WHEN", Format::Moment),
        column("stalled_servers", "HAD IT", Format::Count),
    ],
    days: 2,
    empty: "No server shows a sign of a cause that it has not had yet.",
    note: "",
};
