//! A digest of statements as people read it: the layout of pt-query-digest, all of it without literals.

use model::{QueryClass, QueryDigest, QueryMeasure};

use super::queries_words::{
    count, counted, is_yes_no, item, names, range, rate, seconds, share, value, values, way,
};
use crate::{
    TextOptions, escape,
    text::{
        page::{Page, Style},
        wrap,
    },
    units::{Quantity, digits},
};

/// Columns of a line where the terminal does not tell: a statement needs some.
const WIDTH_USUAL: usize = 120;
/// Columns of a measure's name, at the least.
const NAME: usize = 14;
/// Columns of its numbers.
const NUMBER: usize = 9;
/// Columns of a page, without the identity, that has room for all numbers of a class and some of its statement.
const WIDE: usize = 84;
/// The numbers of a measure, and which of them a narrow page has rather than others.
const TITLES: [&str; 7] = ["total", "min", "max", "avg", "95%", "stddev", "median"];
const RANKS: [usize; 7] = [0, 5, 2, 1, 3, 6, 4];
/// Columns of the longest bar.
const BAR: usize = 60;
/// Users, hosts, databases that are named.
const NAMES_MAX: usize = 6;
/// Lines of a statement.
const STATEMENT_LINES_MAX: usize = 24;
/// Lines of a plan.
const NOTES_MAX: usize = 16;

/// From where each bar of the distribution counts.
const DECADES: [&str; 8] = ["1us", "10us", "100us", "1ms", "10ms", "100ms", "1s", "10s+"];

/// How a digest is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct QueriesTextOptions {
    /// Width and colours.
    pub text: TextOptions,
    /// Classes have pt-query-digest's identities in the profile.
    pub compat_ids: bool,
}

/// The digest as text: all statements together, the profile of classes, then each class.
pub fn queries_text(
    digest: &QueryDigest,
    overall: Option<&QueryClass>,
    options: &QueriesTextOptions,
) -> String {
    let width = match options.text.width {
        0 => WIDTH_USUAL,
        width => width.max(40),
    };
    let mut page = Page::new(width, options.text.color);
    head(&mut page, digest);
    if let Some(overall) = overall.filter(|overall| overall.count > 0) {
        table(&mut page, &overall.measures, None);
    }
    if digest.count > 0 {
        profile(&mut page, digest, options.compat_ids);
    }
    for (index, class) in digest.classes.iter().enumerate() {
        detail(&mut page, digest, overall, (index + 1, class));
    }
    if !digest.blind.is_empty() {
        page.heading("NOT SEEN");
        for absent in &digest.blind {
            let detail = if absent.detail.is_empty() { "" } else { ": " };
            let line = format!("{}{detail}{}", absent.what, absent.detail);
            page.item(2, "- ", &line, Style::Plain);
        }
    }
    if !digest.tried.is_empty() {
        page.heading("TRIED BEFORE");
        for absent in &digest.tried {
            let line = format!("{}: {}", absent.what, absent.detail);
            page.item(2, "- ", &line, Style::Plain);
        }
    }
    page.finish()
}

fn head(page: &mut Page, digest: &QueryDigest) {
    let classes =
        digest.classes.len() as u64 + digest.folded.map_or(0, |folded| folded.classes_at_least);
    let mut words = vec![
        counted(digest.count, "statement", "statements"),
        counted(classes, "class", "classes"),
    ];
    if let Some(seconds) = seconds(digest).filter(|_| digest.count > 0) {
        words.push(rate(digest.count as f64 / seconds));
        if let Some(time) = time_of(digest) {
            words.push(format!("{} of time", Quantity::Seconds.say(time)));
            words.push(format!("{}x concurrency", digits(time / seconds)));
        }
    }
    if let Some(errors) = digest.errors {
        words.push(counted(errors, "error", "errors"));
    }
    page.paragraph(0, &words.join(", "), Style::Bold);
    let place = match range(digest.from_us, digest.to_us) {
        Some(range) => format!("{range}, {}", way(digest.way)),
        None => way(digest.way).to_owned(),
    };
    page.paragraph(0, &place, Style::Plain);
    if digest.lost > 0 {
        page.paragraph(
            0,
            &format!("{} lost on the way", count(digest.lost)),
            Style::Plain,
        );
    }
}

/// The time of all statements, seconds, where it is known.
pub(crate) fn time_of(digest: &QueryDigest) -> Option<f64> {
    let times: Vec<f64> = digest
        .classes
        .iter()
        .filter_map(|class| class.sum("Query_time"))
        .chain(digest.folded.and_then(|folded| folded.seconds))
        .collect();
    (!times.is_empty()).then(|| times.iter().sum())
}

/// Numbers in columns; as shares of others when these are given.
fn table(page: &mut Page, measures: &[QueryMeasure], of: Option<&[QueryMeasure]>) {
    let shown: Vec<&QueryMeasure> = measures
        .iter()
        .filter(|measure| measure.sum > 0.0 && !is_yes_no(measure))
        .collect();
    if !shown.is_empty() {
        page.blank();
        let name = shown
            .iter()
            .map(|m| wrap::columns(&m.name))
            .max()
            .unwrap_or(0);
        // Room for the numbers comes first; where there is too little, whole columns are left out.
        let columns = TITLES.len() + usize::from(of.is_some());
        let room = page.width().saturating_sub(columns * (NUMBER + 1));
        let name = name.clamp(NAME, room.clamp(NAME, 40));
        let fit = page.width().saturating_sub(name) / (NUMBER + 1);
        let fit = fit.saturating_sub(usize::from(of.is_some()));
        let in_columns = |cells: [&str; 7]| -> String {
            let ranked = cells.iter().zip(RANKS);
            ranked
                .filter(|(_, rank)| *rank < fit)
                .map(|(cell, _)| format!(" {cell:>NUMBER$}"))
                .collect()
        };
        let pct = if of.is_some() {
            format!(" {:>NUMBER$}", "pct")
        } else {
            String::new()
        };
        let head = format!("{:name$}{pct}{}", "Attribute", in_columns(TITLES));
        page.raw(&[(&wrap::cut(&head, page.width()), Style::Dim)]);
        for measure in shown {
            let pct = of.map_or_else(String::new, |of| {
                let whole = of.iter().find(|whole| whole.name == measure.name);
                let share = share(measure.sum, whole.map_or(0.0, |whole| whole.sum));
                format!(" {share:>NUMBER$}")
            });
            let values = values(measure);
            let numbers = in_columns(values.each_ref().map(String::as_str));
            let label = wrap::cut(&escape::terminal(&measure.name), name);
            let pad = " ".repeat(name.saturating_sub(wrap::columns(&label)));
            let line = format!("{label}{pad}{pct}{numbers}");
            page.raw(&[(&wrap::cut(&line, page.width()), Style::Plain)]);
        }
    }
    let yes: Vec<String> = measures
        .iter()
        .filter(|measure| is_yes_no(measure) && measure.sum > 0.0)
        .map(|measure| {
            format!(
                "{} {}",
                measure.name,
                share(measure.sum, measure.count as f64)
            )
        })
        .collect();
    if !yes.is_empty() {
        page.field("Yes", &yes.join(", "));
    }
}

fn profile(page: &mut Page, digest: &QueryDigest, compat_ids: bool) {
    page.heading("PROFILE");
    let has_time = time_of(digest).is_some();
    let whole = match time_of(digest) {
        Some(time) => time,
        None => digest.count as f64,
    };
    let id_width = if compat_ids { 32 } else { 16 };
    let is_wide = page.width() >= WIDE + id_width;
    let lead = |rank: &str, id: &str, columns: [&str; 5]| {
        let [time, part, calls, each, spread] = columns;
        if has_time && !is_wide {
            format!("{rank:>4} {id:<id_width$} {time:>9} {part:>6} {calls:>11}  ")
        } else if has_time {
            format!(
                "{rank:>4} {id:<id_width$} {time:>9} {part:>6} {calls:>11} {each:>9} {spread:>6}  "
            )
        } else {
            format!("{rank:>4} {id:<id_width$} {part:>6} {calls:>11}  ")
        }
    };
    let title = lead("Rank", "Query ID", ["Time", "%", "Calls", "R/Call", "V/M"]);
    page.raw(&[(
        &wrap::cut(&format!("{title}Item"), page.width()),
        Style::Dim,
    )]);
    for (index, class) in digest.classes.iter().enumerate() {
        let id = match (compat_ids, &class.compat_id) {
            (true, Some(id)) => id.as_str(),
            _ => class.id.as_str(),
        };
        let time = class
            .measures
            .iter()
            .find(|measure| measure.name == "Query_time");
        let said = |number: Option<f64>| {
            number.map_or_else(|| "–".to_owned(), |number| Quantity::Seconds.say(number))
        };
        let part = time.map_or(class.count as f64, |time| time.sum);
        let line = lead(
            &(index + 1).to_string(),
            &escape::terminal(id),
            [
                &said(time.map(|time| time.sum)),
                &share(part, whole),
                &count(class.count),
                &said(time.map(|time| time.sum / time.count.max(1) as f64)),
                &time
                    .and_then(spread)
                    .map_or_else(|| "–".to_owned(), |spread| format!("{spread:.2}")),
            ],
        );
        let item = escape::terminal(&item(&class.fingerprint, &class.kind));
        profile_line(page, &line, (&item, Style::Bold));
    }
    if let Some(folded) = &digest.folded {
        let seconds = folded.seconds;
        let line = lead(
            "",
            "MISC",
            [
                &seconds.map_or_else(|| "–".to_owned(), |s| Quantity::Seconds.say(s)),
                &share(seconds.unwrap_or(folded.count as f64), whole),
                &count(folded.count),
                &seconds.map_or_else(
                    || "–".to_owned(),
                    |s| Quantity::Seconds.say(s / folded.count.max(1) as f64),
                ),
                "",
            ],
        );
        let words = format!(
            "({})",
            counted(folded.classes_at_least, "other class", "other classes")
        );
        profile_line(page, &line, (&words, Style::Dim));
    }
}

/// The numbers of a class, and as much of its statement as there is room for.
fn profile_line(page: &mut Page, line: &str, (item, style): (&str, Style)) {
    let room = page.width().saturating_sub(wrap::columns(line));
    let line = wrap::cut(line, page.width());
    page.raw(&[(&line, Style::Plain), (&wrap::cut(item, room), style)]);
}

/// The variance against the mean: pt-query-digest's V/M, seconds.
pub(crate) fn spread(time: &QueryMeasure) -> Option<f64> {
    let mean = time.sum / time.count.max(1) as f64;
    let deviation = time.stddev?;
    (mean > 0.0).then(|| deviation * deviation / mean)
}

fn detail(
    page: &mut Page,
    digest: &QueryDigest,
    overall: Option<&QueryClass>,
    (rank, class): (usize, &QueryClass),
) {
    let mut title = format!("{rank}  ID {}", escape::terminal(&class.id));
    if !class.kind.is_empty() {
        title = format!("{title}  {}", escape::terminal(&class.kind));
    }
    page.heading(&wrap::cut(&title, page.width()));
    statement(page, &item(&class.fingerprint, &class.kind), Style::Mark);
    let mut words = vec![format!(
        "{} ({})",
        counted(class.count, "call", "calls"),
        share(class.count as f64, digest.count as f64)
    )];
    if let Some(seconds) = seconds(digest) {
        words.push(rate(class.count as f64 / seconds));
        if let Some(time) = class.sum("Query_time") {
            words.push(format!("{}x concurrency", digits(time / seconds)));
        }
    }
    if let Some(errors) = class.errors.filter(|errors| *errors > 0) {
        words.push(counted(errors, "error", "errors"));
    }
    words.extend(range(class.first_us, class.last_us));
    page.paragraph(0, &words.join(", "), Style::Plain);
    table(
        page,
        &class.measures,
        overall.map(|overall| overall.measures.as_slice()),
    );
    for (name, these) in [
        ("Users", &class.users),
        ("Hosts", &class.hosts),
        ("Databases", &class.databases),
        ("Programs", &class.programs),
    ] {
        if !these.is_empty() {
            page.field(name, &names(these, NAMES_MAX));
        }
    }
    if let Some(id) = &class.compat_id {
        page.field("pt ID", id);
    }
    let time = class
        .measures
        .iter()
        .find(|measure| measure.name == "Query_time");
    if let Some(time) = time.filter(|time| !time.decades.is_empty()) {
        distribution(page, time);
    }
    if let Some(sample) = &class.sample
        && *sample != class.fingerprint
    {
        let slowest = match time {
            Some(time) => format!("Slowest, {}:", value(time, time.max)),
            None => "One of them:".to_owned(),
        };
        page.raw(&[(&slowest, Style::Dim)]);
        statement(page, sample, Style::Plain);
    }
    for note in class.notes.iter().take(NOTES_MAX) {
        // Plans have tabs between their columns.
        let line = escape::terminal(&note.replace('\t', "  "));
        page.raw(&[
            ("  ", Style::Plain),
            (&wrap::cut(&line, page.width() - 2), Style::Dim),
        ]);
    }
}

/// A statement, folded to the width.
fn statement(page: &mut Page, text: &str, style: Style) {
    let width = page.width().saturating_sub(2);
    let mut lines: Vec<String> = text
        .lines()
        .flat_map(|line| wrap::wrap(&escape::terminal(line), width))
        .collect();
    if lines.len() > STATEMENT_LINES_MAX {
        lines.truncate(STATEMENT_LINES_MAX);
        lines.push("…".to_owned());
    }
    for line in lines {
        page.raw(&[("  ", Style::Plain), (&line, style)]);
    }
}

/// Bars for each power of ten of a second.
fn distribution(page: &mut Page, time: &QueryMeasure) {
    let most = time.decades.iter().copied().max().unwrap_or(0).max(1);
    let room = page.width().saturating_sub(24).clamp(8, BAR);
    page.raw(&[("Query_time distribution", Style::Dim)]);
    for (name, number) in DECADES.iter().zip(&time.decades) {
        let bar = match number {
            0 => 0,
            number => ((*number as f64 / most as f64 * room as f64).round() as usize).max(1),
        };
        let said = if *number == 0 {
            String::new()
        } else {
            format!(" {}", count(*number))
        };
        page.raw(&[
            (&format!("{name:>6}  "), Style::Plain),
            (&"#".repeat(bar), Style::Mark),
            (&said, Style::Dim),
        ]);
    }
}
