//! Answers for people: a table, and below each row what is longer than a column.

use ::fleet::Value;
use ::fleet::questions::{AnswerColumn, Format, Parameter, Question};
use ::fleet::sqlite::{Answer, Extent, Given};
use anyhow::{Result, anyhow};
use cli::output::{self, plain, wrapped};

/// What was asked.
pub(super) struct Asked<'a> {
    pub(super) name: &'a str,
    pub(super) is_of_files: bool,
    pub(super) extent: Extent,
}

/// The questions, a line each.
pub(super) fn list(questions: &[&Question]) -> String {
    let names = questions.iter().map(|question| question.name.len());
    let width = names.max().unwrap_or(0);
    let mut text = String::new();
    for question in questions {
        text += &format!("{:<width$}  {}\n", question.name, question.asks);
    }
    text + "\nA directory of incidents: freezeframe fleet ask QUESTION --dir DIR\n\
            A store: freezeframe fleet ask QUESTION --url sqlite:///DIR/FILE\n\
            ClickHouse: freezeframe fleet ask QUESTION --url http://USER@HOST:8123/DATABASE\n"
}

/// The statement, with what its parameters are.
pub(super) fn statement(question: &Question) -> String {
    head(question, ":") + question.sqlite
}

/// The same for ClickHouse: `clickhouse-client --param_since=…` gives a parameter its value.
pub(super) fn statement_of_clickhouse(question: &Question) -> Result<String> {
    let statement = question
        .clickhouse
        .ok_or_else(|| anyhow!("'{}' has no statement for ClickHouse", question.name))?;
    Ok(head(question, "param_") + statement)
}

fn head(question: &Question, prefix: &str) -> String {
    let mut text = format!("-- {}\n", question.asks);
    for parameter in question.parameters {
        let name = parameter.name();
        text += &format!("-- {prefix}{name} is {}\n", words(*parameter));
    }
    text
}

fn words(parameter: Parameter) -> &'static str {
    match parameter {
        Parameter::Since => "the start, milliseconds since 1970",
        Parameter::Now => "the current time, milliseconds since 1970",
        Parameter::Rows => "the number of rows",
        Parameter::Me => "the incident_id of the incident to compare with",
        Parameter::Server => "the server as answers have it, empty for all",
        Parameter::Cause => "that incident's cause",
        Parameter::Shape => "that incident's shape",
        Parameter::Stacks => {
            "the stacks that took more of that stall than of the time before, a JSON array of stack_id"
        }
    }
}

pub(super) fn answer(
    question: &Question,
    given: &Given,
    answer: &Answer,
    asked: &Asked<'_>,
) -> String {
    let width = output::text_options().width;
    let mut text = wrapped("", question.asks, width);
    if let Some(me) = &given.subject {
        let cause = match me.cause.as_str() {
            "" => "no cause",
            cause => cause,
        };
        text += &wrapped("", &format!("This incident: {}, {cause}", me.name), width);
    }
    text += &wrapped("", &scope(question, given, asked), width);
    text.push('\n');
    if answer.rows.is_empty() {
        return text + &wrapped("", question.empty, width);
    }
    text += &table(question.columns, answer, width);
    if !question.note.is_empty() {
        text.push('\n');
        text += &wrapped("", question.note, width);
    }
    if answer.rows.len() as u64 == u64::from(given.rows) {
        text += &format!("\nThe first {}: --limit shows more.\n", given.rows);
    }
    text
}

/// What was looked at.
fn scope(question: &Question, given: &Given, asked: &Asked<'_>) -> String {
    let plural = |count: u64, word: &str| match count {
        1 => format!("1 {word}"),
        count => format!("{count} {word}s"),
    };
    let mut scope = format!(
        "{} of {} in {}",
        plural(asked.extent.incidents, "incident"),
        plural(asked.extent.hosts, "server"),
        asked.name
    );
    if question.parameters.contains(&Parameter::Since) && !asked.is_of_files {
        scope += &format!(", since {}", output::date(given.since));
    }
    if asked.is_of_files && question.name == "silent" {
        scope += "; files know only stalls: a server was last heard of when a stall ended";
    }
    scope
}

/// Shown below the row.
fn is_long(format: Format) -> bool {
    matches!(format, Format::File | Format::List | Format::Sentence)
}

/// Columns of numbers end on one line.
fn is_right(format: Format) -> bool {
    matches!(
        format,
        Format::Count | Format::Number | Format::Duration | Format::Share
    )
}

fn table(columns: &[AnswerColumn], answer: &Answer, terminal: usize) -> String {
    let place = |long: bool| {
        let columns = columns.iter().enumerate();
        columns
            .filter(move |(_, column)| !column.title.is_empty() && is_long(column.format) == long)
            .collect::<Vec<_>>()
    };
    let (short, long) = (place(false), place(true));
    let cell = |row: &[Value], index: usize, format| {
        row.get(index)
            .map_or_else(String::new, |value| plain(&shown(value, format)))
    };
    let widths: Vec<usize> = short
        .iter()
        .map(|(index, column)| {
            let cells = answer
                .rows
                .iter()
                .map(|row| cell(row, *index, column.format));
            let widest = cells.map(|cell| cell.chars().count()).max();
            widest.unwrap_or(0).max(column.title.chars().count())
        })
        .collect();
    let line = |cells: &[String]| {
        let mut head = String::new();
        let last = cells.len().saturating_sub(1);
        for (((cell, width), (_, column)), index) in cells.iter().zip(&widths).zip(&short).zip(0..)
        {
            if index > 0 {
                head += "  ";
            }
            match is_right(column.format) {
                true => head += &format!("{cell:>width$}"),
                false if index == last => return wrapped(&head, cell, terminal),
                false => head += &format!("{cell:<width$}"),
            }
        }
        format!("{}\n", head.trim_end())
    };
    let titles: Vec<String> = short
        .iter()
        .map(|(_, column)| column.title.to_owned())
        .collect();
    let mut text = line(&titles);
    for row in &answer.rows {
        let cells: Vec<String> = short
            .iter()
            .map(|(index, column)| cell(row, *index, column.format))
            .collect();
        text += &line(&cells);
        for (index, column) in &long {
            let value = cell(row, *index, column.format);
            if !value.is_empty() {
                let title = column.title.to_lowercase();
                text += &match column.format {
                    // So that it can be taken as it is.
                    Format::File => format!("    {title}: {value}\n"),
                    _ => wrapped(&format!("    {title}: "), &value, terminal),
                };
            }
        }
    }
    text
}

fn shown(value: &Value, format: Format) -> String {
    match (value, format) {
        (Value::Null, _) => "-".to_owned(),
        (Value::Signed(ms), Format::Moment) => output::date(*ms),
        (Value::Unsigned(hash), Format::Hash) => format!("{hash:016x}"),
        (Value::Unsigned(value), _) => value.to_string(),
        (Value::Signed(value), Format::Duration) => seconds(*value as f64),
        (Value::Signed(value), Format::Share) => share(*value as f64),
        (Value::Signed(value), _) => value.to_string(),
        (Value::Float(value), Format::Duration) => seconds(*value),
        (Value::Float(value), Format::Share) => share(*value),
        (Value::Float(value), _) => number(*value),
        (Value::Text(text), _) => text.clone(),
        (Value::List(values), _) => {
            let words = values.iter().map(|value| shown(value, Format::Text));
            words.collect::<Vec<_>>().join(", ")
        }
        _ => String::new(),
    }
}

fn seconds(value: f64) -> String {
    report::duration((value.max(0.0) * 1000.0) as u64)
}

fn share(value: f64) -> String {
    let percent = value * 100.0;
    match percent {
        percent if percent > 0.0 && percent < 0.1 => "< 0.1 %".to_owned(),
        percent if percent < 10.0 => format!("{percent:.1} %"),
        percent => format!("{percent:.0} %"),
    }
}

/// Three digits that say something.
fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.1 => format!("{value:.2}"),
        size if size >= 0.001 => format!("{value:.4}"),
        _ => format!("{value:e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_digits_that_say_something() {
        let numbers = [0.0, 0.01234, 0.5, 12.345, 1234.5].map(number);
        assert_eq!(numbers, ["0", "0.0123", "0.50", "12.3", "1234"]);
        assert_eq!(
            [0.0, 0.0001, 0.05, 0.5].map(share),
            ["0.0 %", "< 0.1 %", "5.0 %", "50 %"]
        );
    }
}
