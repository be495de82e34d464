//! A digest of statements, and what two of them differ in.

use model::{FoldedClasses, QueryClass, QueryDigest, QueryMeasure};

use crate::document::{CellKind, Column, Folded, Part, Prose, Row, Shape, Table, Tint};
use crate::evidence::queries_diff::{QueriesDiff, change_text, rate_title, time_of};
use crate::evidence::queries_format::{
    counted, is_yes_no, item, method_text, names, range, rate, seconds, share, value, values,
};
use crate::markup::{Markup, markup};
use crate::units::{Quantity, digits, grouped};

/// Users, hosts, databases that are named.
const NAMES_MAX: usize = 12;
/// Lines of a plan.
const NOTES_MAX: usize = 16;
/// Rows of a page's tables of classes and of changes.
const PAGE_ROWS_MAX: usize = 100;
const PAGE_CHANGES_MAX: usize = 20;
/// Bytes of a statement that stands for its class on a page.
const TITLE_BYTES_MAX: usize = 160;
/// From where each bar of the distribution counts.
const DECADES: [&str; 8] = [
    "1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s", "10 s",
];

/// How much there is, then how it was seen, then what was lost: a line each.
pub(crate) fn head(digest: &QueryDigest) -> Vec<String> {
    let folded = digest.folded.map_or(0, |folded| folded.classes_at_least);
    let classes = digest.classes.len() as u64 + folded;
    let mut parts = vec![
        counted(digest.count, "statement", "statements"),
        counted(classes, "class", "classes"),
    ];
    if let Some(seconds) = seconds(digest).filter(|_| digest.count > 0) {
        parts.push(rate(digest.count as f64 / seconds));
        if let Some(time) = time_of(digest) {
            parts.push(format!("{} of time", Quantity::Seconds.to_text(time)));
            parts.push(format!("{}x concurrency", digits(time / seconds)));
        }
    }
    parts.extend(
        digest
            .errors
            .map(|errors| counted(errors, "error", "errors")),
    );
    let seen = match range(digest.from_us, digest.to_us) {
        Some(range) => format!("{range}, {}", method_text(digest.method)),
        None => method_text(digest.method).to_owned(),
    };
    let mut out = vec![parts.join(", "), seen];
    if digest.lost > 0 {
        out.push(format!("{} lost on the way", grouped(digest.lost)));
    }
    out
}

fn time_measure(class: &QueryClass) -> Option<&QueryMeasure> {
    let mut measures = class.measures.iter();
    measures.find(|measure| measure.name == "Query_time")
}

/// The variance against the mean: pt-query-digest's V/M, seconds.
fn spread(time: &QueryMeasure) -> Option<f64> {
    let mean = time.sum / time.count.max(1) as f64;
    let deviation = time.stddev?;
    (mean > 0.0).then(|| deviation * deviation / mean)
}

fn bar(percent: f64) -> Markup {
    let percent = percent.clamp(0.0, 100.0);
    markup!(
        "<span class=\"bar\" style=\"width:{:.0}%\"></span>",
        percent
    )
}

/// Numbers in columns; as shares of others when these are given.
pub(crate) fn measures(measures: &[QueryMeasure], of: Option<&[QueryMeasure]>) -> Vec<Part> {
    let number = |title, short, rank| {
        let column = Column::new(title, CellKind::Numbers);
        column.short(short, 9).rank(rank)
    };
    let mut columns = vec![Column::new("Attribute", CellKind::Text).short("Attribute", 14)];
    columns.extend(of.map(|_| number("Share", "pct", 0)));
    columns.extend([
        number("Total", "total", 0),
        number("Min", "min", 5),
        number("Max", "max", 2),
        number("Mean", "avg", 1),
        number("95 %", "95%", 3),
        number("Deviation", "stddev", 6),
        number("Median", "median", 4),
    ]);
    let positive = || measures.iter().filter(|measure| measure.sum > 0.0);
    let rows = positive()
        .filter(|measure| !is_yes_no(measure))
        .map(|measure| {
            let mut cells = vec![measure.name.clone()];
            cells.extend(of.map(|of| {
                let whole = of.iter().find(|whole| whole.name == measure.name);
                share(measure.sum, whole.map_or(0.0, |whole| whole.sum))
            }));
            cells.extend(values(measure));
            Row::new(cells)
        });
    let shape = Shape {
        indent: 0,
        gap: 1,
        name_min: 14,
        ..Shape::USUAL
    };
    let table = Table::new(columns).rows(rows).shape(shape);
    let mut out = match table.rows.is_empty() {
        true => Vec::new(),
        false => vec![Part::Table(table)],
    };
    let yes: Vec<String> = positive()
        .filter(|measure| is_yes_no(measure))
        .map(|measure| {
            let share = share(measure.sum, measure.count as f64);
            format!("{} {share}", measure.name)
        })
        .collect();
    if !yes.is_empty() {
        out.push(Part::Fields(vec![("Yes", yes.join(", "))]));
    }
    out
}

/// All classes in numbers, those that took most first.
pub(crate) fn profile(digest: &QueryDigest, compat_ids: bool) -> Part {
    let time = time_of(digest);
    let has_time = time.is_some();
    let whole = time.unwrap_or(digest.count as f64);
    let number = |title, short, width| Column::new(title, CellKind::Numbers).short(short, width);
    let id = Column::new("ID", CellKind::Code).short("Query ID", if compat_ids { 32 } else { 16 });
    let mut columns = vec![
        Column::new("Statement", CellKind::Code).short("Item", 0),
        number("Rank", "Rank", 4),
        id,
    ];
    let share_title = if has_time { "Share of time" } else { "Share" };
    columns.extend(has_time.then(|| number("Time", "Time", 9)));
    columns.push(number(share_title, "%", 6));
    columns.push(number("Calls", "Calls", 11));
    if has_time {
        columns.extend([
            number("Each", "R/Call", 9).rank(1),
            number("V/M", "V/M", 6).rank(1),
            number("95 %", "", 0).page_only(),
            number("Largest", "", 0).page_only(),
        ]);
    }
    let say = |number: Option<f64>| match number {
        Some(number) => Quantity::Seconds.to_text(number),
        None => "–".to_owned(),
    };
    let row = |name: String, rank: String, id: &str, part: f64, calls: u64, times: [String; 5]| {
        let [sum, each, spread, p95, largest] = times.map(Prose::from);
        let part =
            Prose::from(share(part, whole)).page(bar(100.0 * part / whole.max(f64::MIN_POSITIVE)));
        let mut cells = vec![name.into(), rank.into(), id.into()];
        match has_time {
            true => cells.extend([sum, part, grouped(calls).into(), each, spread, p95, largest]),
            false => cells.extend([part, grouped(calls).into()]),
        }
        Row::new(cells)
    };
    let classes = digest.classes.iter().enumerate().map(|(index, class)| {
        let id = match (compat_ids, &class.compat_id) {
            (true, Some(id)) => id.as_str(),
            _ => class.id.as_str(),
        };
        let time = time_measure(class);
        let spread = time.and_then(spread).map(|spread| format!("{spread:.2}"));
        let times = [
            say(time.map(|time| time.sum)),
            say(time.map(|time| time.sum / time.count.max(1) as f64)),
            spread.unwrap_or_else(|| "–".to_owned()),
            say(time.and_then(|time| time.p95)),
            say(time.and_then(|time| time.max)),
        ];
        let part = match has_time {
            true => time.map_or(0.0, |time| time.sum),
            false => class.count as f64,
        };
        let name = item(&class.fingerprint, &class.kind);
        Row {
            strong: true,
            ..row(name, (index + 1).to_string(), id, part, class.count, times)
        }
    });
    let folded = digest.folded.map(|folded: FoldedClasses| {
        let others = counted(folded.classes_at_least, "other class", "other classes");
        let each = folded.seconds.map(|time| time / folded.count.max(1) as f64);
        let none = String::new;
        let times = [say(folded.seconds), say(each), none(), none(), none()];
        let part = folded.seconds.unwrap_or(folded.count as f64);
        row(
            format!("({others}, together)"),
            none(),
            "–",
            part,
            folded.count,
            times,
        )
    });
    let shape = Shape {
        name_min: 31,
        cut_end: true,
        ..Shape::NAME_LAST
    };
    let table = Table::new(columns).rows(classes.chain(folded));
    Part::Table(table.shape(shape).limits(usize::MAX, PAGE_ROWS_MAX))
}

/// Each class with its numbers, the first one unfolded.
pub(crate) fn details(digest: &QueryDigest, overall: Option<&QueryClass>) -> Vec<Part> {
    let classes = digest.classes.iter().enumerate();
    classes
        .map(|(index, class)| {
            let title = Markup::cut(&item(&class.fingerprint, &class.kind), TITLE_BYTES_MAX);
            let summary = format!("{}. ID {} {}", index + 1, class.id, class.kind);
            Part::Folded(Folded {
                summary: Prose::default().terminal(summary.trim_end()).page(markup!(
                    "{}. <code>{}</code>",
                    index + 1,
                    title
                )),
                class: "lock",
                open: index == 0,
                on_terminal: true,
                parts: detail(digest, overall, class),
            })
        })
        .collect()
}

fn detail(digest: &QueryDigest, overall: Option<&QueryClass>, class: &QueryClass) -> Vec<Part> {
    let statement = item(&class.fingerprint, &class.kind);
    let calls = counted(class.count, "call", "calls");
    let part = share(class.count as f64, digest.count as f64);
    let mut numbers = vec![format!("{calls} ({part})")];
    if let Some(seconds) = seconds(digest) {
        numbers.push(rate(class.count as f64 / seconds));
        let time = class.sum("Query_time");
        numbers.extend(time.map(|time| format!("{}x concurrency", digits(time / seconds))));
    }
    let errors = class.errors.filter(|errors| *errors > 0);
    numbers.extend(errors.map(|errors| counted(errors, "error", "errors")));
    numbers.extend(range(class.first_us, class.last_us));
    let mut out = vec![
        Part::Block(statement, Tint::Mark),
        Part::paragraph(numbers.join(", ")),
    ];
    let whole = overall.map(|overall| overall.measures.as_slice());
    out.extend(measures(&class.measures, whole));
    let mut fields: Vec<(&'static str, String)> = [
        ("Users", &class.users),
        ("Hosts", &class.hosts),
        ("Databases", &class.databases),
        ("Programs", &class.programs),
    ]
    .into_iter()
    .filter(|(_, these)| !these.is_empty())
    .map(|(name, these)| (name, names(these, NAMES_MAX)))
    .collect();
    fields.extend(class.compat_id.iter().map(|id| ("pt ID", id.clone())));
    if !fields.is_empty() {
        out.push(Part::Fields(fields));
    }
    let time = time_measure(class);
    if let Some(time) = time.filter(|time| !time.decades.is_empty()) {
        let decades = DECADES.iter().zip(&time.decades);
        out.push(Part::Label("Query_time distribution, from".to_owned()));
        out.push(Part::Counts(
            decades.map(|(name, count)| (*name, *count)).collect(),
        ));
    }
    if let Some(sample) = &class.sample
        && *sample != class.fingerprint
    {
        out.push(Part::Label(match time {
            Some(time) => format!("Slowest, {}", value(time, time.max)),
            None => "Example".to_owned(),
        }));
        out.push(Part::Block(sample.clone(), Tint::Plain));
    }
    if !class.notes.is_empty() {
        let lines: Vec<&str> = class
            .notes
            .iter()
            .take(NOTES_MAX)
            .map(String::as_str)
            .collect();
        out.push(Part::Label("Attributes from the log".to_owned()));
        out.push(Part::Block(lines.join("\n"), Tint::Faint));
    }
    out
}

/// What two digests differ in, most first. A terminal shows `limit` rows.
pub(crate) fn changes(diff: &QueriesDiff, limit: usize) -> Vec<Part> {
    let mut out = Vec::new();
    if diff.by_kind {
        out.push(Part::paragraph(
            "The two were recorded in different ways, so kinds of statements are compared, not classes.",
        ));
    }
    if diff.changes.is_empty() {
        out.push(Part::paragraph(
            "Nothing to compare: there are no statements.",
        ));
        return out;
    }
    let mut sides = diff
        .changes
        .iter()
        .flat_map(|one| [&one.before, &one.during]);
    let has_load = sides.any(|side| side.load.is_some());
    let number =
        |title: &str, short, width| Column::new(title, CellKind::Numbers).short(short, width);
    let times = |column: Column| match has_load {
        true => column.rank(1),
        false => column.page_only(),
    };
    let title = rate_title(diff);
    let columns = vec![
        Column::new("Statement", CellKind::Code).short("Item", 0),
        number("Rank", "Rank", 4),
        number(title, &format!("{title} →"), 22),
        times(number("Time a second", "Load →", 18)),
        times(number("Mean", "Mean →", 20)),
        number("Share of the change", "", 0).page_only(),
    ];
    let rows = diff.changes.iter().enumerate().map(|(index, change)| {
        let said = change_text(diff, change);
        let weight = 100.0 * change.weight;
        Row {
            strong: change.weight >= 0.1,
            ..Row::new([
                item(&change.fingerprint, &change.kind).into(),
                (index + 1).to_string().into(),
                Prose::default().strong(said.rates),
                said.loads.into(),
                said.means.into(),
                Prose::from(format!("{weight:.0}%")).page(bar(weight)),
            ])
        }
    });
    let shape = Shape {
        gap: 2,
        name_min: 24,
        cut_end: true,
        ..Shape::NAME_LAST
    };
    let mut table = Table::new(columns).rows(rows).shape(shape);
    let more = diff.changes.len().saturating_sub(limit);
    table.more = format!("{} more with smaller changes", grouped(more));
    out.push(Part::Table(table.limits(limit, PAGE_CHANGES_MAX)));
    if diff.before.folded + diff.during.folded > 0 {
        out.push(Part::paragraph(format!(
            "Not in this table, because there were too many classes to keep apart: {} statements before, {} during.",
            grouped(diff.before.folded),
            grouped(diff.during.folded)
        )));
    }
    out
}
