//! What a server was asked: a digest of statements, and what two of them differ in.

use crate::markup::{Markup, markup, row};
use model::{QueryClass, QueryDigest, QueryMeasure};

use super::head;
use super::table::{Holds, Table, cell, column};
use crate::evidence::queries_diff::{QueriesDiff, queries_diff, rate_title, said, side_words};
use crate::evidence::queries_text::{spread, time_of};
use crate::evidence::queries_words::{
    count, counted, is_yes_no, item, names, range, rate, seconds, share, values, way,
};
use crate::units::{Quantity, digits};

/// Classes in the table of an incident, and changes.
const CLASSES_MAX: usize = 20;
/// Classes that can be unfolded.
const DETAILED_MAX: usize = 30;
/// Bytes of the details together, about.
const DETAILS_BYTES_MAX: usize = 400_000;
/// Users, hosts, databases that are named.
const NAMES_MAX: usize = 12;
/// Lines of a plan.
const NOTES_MAX: usize = 32;
/// Bytes of a statement in the details.
const STATEMENT_BYTES_MAX: usize = 8_000;

/// From where each bar of the distribution counts.
const DECADES: [&str; 8] = [
    "1 µs", "10 µs", "100 µs", "1 ms", "10 ms", "100 ms", "1 s", "10 s",
];

/// What two digests differ in, most first, as a table. For an incident: before the onset, and in the stall.
pub(super) fn changes(diff: &QueriesDiff, rows: usize) -> Markup {
    let columns = [
        column("Statement", Holds::Code),
        column(rate_title(diff), Holds::Numbers),
        column("Time a second", Holds::Numbers),
        column("Mean", Holds::Numbers),
        column("Part of the change", Holds::Numbers),
    ];
    let body = diff.changes.iter().map(|change| {
        let said = said(diff, change);
        let weight = (change.weight * 100.0).clamp(0.0, 100.0);
        row![
            item(&change.fingerprint, &change.kind),
            markup!("<b>{}</b>", said.rates),
            said.loads,
            said.means,
            markup!(
                "{weight:.0}%<span class=\"bar\" style=\"width:{weight:.0}%\"></span>",
                ..weight
            ),
        ]
    });
    let mut out = match diff.by_kind {
        true => Markup::literal(
            "<p>The two were seen in different ways, so kinds of statements are compared, not classes.</p>",
        ),
        false => Markup::new(),
    };
    out += Table::wide("", &columns).rows(body, rows);
    out
}

/// A digest: how much of what, then each class. `None` when there was nothing.
pub(super) fn section(digest: &QueryDigest, overall: Option<&QueryClass>) -> Option<Markup> {
    if digest.count == 0 && digest.classes.is_empty() {
        return None;
    }
    let mut out = markup!("<p>{}</p>", headline(digest));
    if let Some(overall) = overall {
        out += markup!(
            "<h3>All statements</h3>{}",
            measures(&overall.measures, None)
        );
    }
    out += markup!("<h3>By class</h3>{}", profile(digest));
    out += markup!("<h3>Each class</h3>{}", details(digest, overall));
    for (heading, absents) in [("Not seen", &digest.blind), ("Tried before", &digest.tried)] {
        if absents.is_empty() {
            continue;
        }
        let items: Markup = absents
            .iter()
            .map(|absent| markup!("<li>{}: {}</li>", cell(&absent.what), cell(&absent.detail)))
            .collect();
        out += markup!("<h4>{heading}</h4><ul>{items}</ul>", ..heading, ..items);
    }
    Some(out)
}

fn headline(digest: &QueryDigest) -> Markup {
    let mut words = vec![markup!(
        "<b>{}</b>",
        counted(digest.count, "statement", "statements")
    )];
    if let Some(seconds) = seconds(digest) {
        words.push(markup!("<b>{}</b>", rate(digest.count as f64 / seconds)));
        if let Some(time) = time_of(digest) {
            words.push(markup!(
                "{} of time, {} at once on average",
                Quantity::Seconds.say(time),
                digits(time / seconds)
            ));
        }
    }
    if let Some(errors) = digest.errors {
        words.push(markup!("{}", counted(errors, "error", "errors")));
    }
    if digest.lost > 0 {
        words.push(markup!("{} lost on the way", count(digest.lost)));
    }
    words.extend(range(digest.from_us, digest.to_us).map(|range| markup!("{}", range)));
    markup!("{}; {}.", Markup::join(words, ", "), way(digest.way))
}

fn profile(digest: &QueryDigest) -> Markup {
    let time = time_of(digest);
    let whole = time.unwrap_or(digest.count as f64);
    let mut columns = vec![
        column("Statement", Holds::Code),
        column(
            if time.is_some() {
                "Share of time"
            } else {
                "Share"
            },
            Holds::Numbers,
        ),
        column("Calls", Holds::Numbers),
    ];
    if time.is_some() {
        columns.extend([
            column("Time", Holds::Numbers),
            column("Each", Holds::Numbers),
            column("95 %", Holds::Numbers),
            column("Largest", Holds::Numbers),
            column("V/M", Holds::Numbers),
        ]);
    }
    columns.push(column("ID", Holds::Code));
    let bar = |part: f64| {
        let width = if whole > 0.0 {
            (100.0 * part / whole).clamp(0.0, 100.0)
        } else {
            0.0
        };
        markup!(
            "{}<span class=\"bar\" style=\"width:{width:.0}%\"></span>",
            share(part, whole),
            ..width
        )
    };
    let number = |number: Option<f64>| match number {
        Some(number) => Quantity::Seconds.say(number),
        None => "–".to_owned(),
    };
    let has_time = time.is_some();
    let rows = digest.classes.iter().map(|class| {
        let time = time_measure(class);
        let mut row = row![
            item(&class.fingerprint, &class.kind),
            bar(match (has_time, time) {
                (true, time) => time.map_or(0.0, |time| time.sum),
                (false, _) => class.count as f64,
            }),
            count(class.count),
        ];
        if has_time {
            row.extend(row![
                number(time.map(|time| time.sum)),
                number(time.map(|time| time.sum / time.count.max(1) as f64)),
                number(time.and_then(|time| time.p95)),
                number(time.and_then(|time| time.max)),
                time.and_then(spread)
                    .map_or_else(|| "–".to_owned(), |spread| format!("{spread:.2}")),
            ]);
        }
        row.push(cell(&class.id));
        row
    });
    let mut out =
        Table::wide("", &columns).rows(rows, CLASSES_MAX.max(digest.classes.len().min(100)));
    if let Some(folded) = &digest.folded {
        let time = folded.seconds.map_or_else(String::new, |seconds| {
            format!(" and {} of time", Quantity::Seconds.say(seconds))
        });
        out += markup!(
            "<p class=\"none\">And {} with {}{time}.</p>",
            counted(folded.classes_at_least, "other class", "other classes"),
            counted(folded.count, "statement", "statements"),
            ..time
        );
    }
    out
}

fn time_measure(class: &QueryClass) -> Option<&QueryMeasure> {
    class
        .measures
        .iter()
        .find(|measure| measure.name == "Query_time")
}

fn measures(measures: &[QueryMeasure], of: Option<&[QueryMeasure]>) -> Markup {
    let mut columns = vec![column("Attribute", Holds::Text)];
    if of.is_some() {
        columns.push(column("Share", Holds::Numbers));
    }
    let titles = ["Total", "Min", "Max", "Mean", "95 %", "Deviation", "Median"];
    columns.extend(titles.map(|title| column(title, Holds::Numbers)));
    let shown: Vec<&QueryMeasure> = measures
        .iter()
        .filter(|measure| measure.sum > 0.0 && !is_yes_no(measure))
        .collect();
    let mut out = Markup::new();
    if !shown.is_empty() {
        let rows = shown.into_iter().map(|measure| {
            let mut row = row![measure.name];
            if let Some(of) = of {
                let whole = of.iter().find(|whole| whole.name == measure.name);
                row.push(cell(&share(
                    measure.sum,
                    whole.map_or(0.0, |whole| whole.sum),
                )));
            }
            row.extend(values(measure).map(|value| cell(&value)));
            row
        });
        out += Table::wide("", &columns).rows(rows, 64);
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
        out += markup!("<p>Yes: {}</p>", yes.join(", "));
    }
    out
}

/// Each class with its numbers, the first one unfolded.
fn details(digest: &QueryDigest, overall: Option<&QueryClass>) -> Markup {
    let mut out = Markup::new();
    for (index, class) in digest.classes.iter().take(DETAILED_MAX).enumerate() {
        if out.len() > DETAILS_BYTES_MAX {
            break;
        }
        let open = Markup::literal(if index == 0 { " open=\"\"" } else { "" });
        let title = Markup::cut(&item(&class.fingerprint, &class.kind), 160);
        out += markup!(
            "<details class=\"lock\"{open}><summary>{}. <code>{title}</code></summary>{}</details>",
            index + 1,
            detail(digest, overall, class),
            ..open,
            ..title
        );
    }
    out
}

fn detail(digest: &QueryDigest, overall: Option<&QueryClass>, class: &QueryClass) -> Markup {
    let statement = |text: &str| {
        markup!(
            "<pre class=\"status\">{}</pre>",
            Markup::cut(text, STATEMENT_BYTES_MAX)
        )
    };
    let mut out = statement(&item(&class.fingerprint, &class.kind));
    let mut words = vec![markup!(
        "<b>{}</b> ({})",
        counted(class.count, "call", "calls"),
        share(class.count as f64, digest.count as f64)
    )];
    if let Some(seconds) = seconds(digest) {
        words.push(markup!("{}", rate(class.count as f64 / seconds)));
    }
    if let Some(errors) = class.errors.filter(|errors| *errors > 0) {
        words.push(markup!("{}", counted(errors, "error", "errors")));
    }
    words.extend(range(class.first_us, class.last_us).map(|range| markup!("{}", range)));
    out += markup!("<p>{}</p>", Markup::join(words, ", "));
    out += measures(
        &class.measures,
        overall.map(|overall| overall.measures.as_slice()),
    );
    let mut pairs = Markup::new();
    for (name, these) in [
        ("Users", &class.users),
        ("Hosts", &class.hosts),
        ("Databases", &class.databases),
        ("Programs", &class.programs),
    ] {
        if !these.is_empty() {
            pairs += markup!(
                "<div><dt>{name}</dt><dd>{}</dd></div>",
                cell(&names(these, NAMES_MAX)),
                ..name
            );
        }
    }
    if let Some(id) = &class.compat_id {
        pairs += markup!(
            "<div><dt>Query ID of pt-query-digest</dt><dd><code>{}</code></dd></div>",
            cell(id)
        );
    }
    if !pairs.is_empty() {
        out += markup!("<dl class=\"head\">{pairs}</dl>", ..pairs);
    }
    if let Some(time) = time_measure(class).filter(|time| !time.decades.is_empty()) {
        out += distribution(time);
    }
    if let Some(sample) = &class.sample
        && *sample != class.fingerprint
    {
        let title = match time_measure(class) {
            Some(_) => "The slowest",
            None => "One of them",
        };
        out += markup!("<h4>{title}</h4>{}", statement(sample), ..title);
    }
    if !class.notes.is_empty() {
        let lines: Vec<&str> = class
            .notes
            .iter()
            .take(NOTES_MAX)
            .map(String::as_str)
            .collect();
        out += markup!(
            "<h4>What the log says of it</h4>{}",
            statement(&lines.join("\n"))
        );
    }
    out
}

fn distribution(time: &QueryMeasure) -> Markup {
    let most = time.decades.iter().copied().max().unwrap_or(0).max(1);
    let columns = [
        column("Time from", Holds::Text),
        column("Statements", Holds::Numbers),
        column("", Holds::Text),
    ];
    let rows = DECADES.iter().zip(&time.decades).map(|(name, number)| {
        let width = 100.0 * *number as f64 / most as f64;
        let bar = match number {
            0 => Markup::new(),
            _ => markup!(
                "<span class=\"bar\" style=\"width:{width:.1}%\"></span>",
                ..width
            ),
        };
        row![(*name).to_owned(), count(*number), bar]
    });
    let table = Table::narrow("histogram", "", &columns).rows(rows, DECADES.len());
    markup!("<h4>How long they took</h4>{table}", ..table)
}

/// A digest as one self-contained page. The title is text. Its size is bounded.
pub fn queries_page(title: &str, digest: &QueryDigest, overall: Option<&QueryClass>) -> String {
    let body = section(digest, overall)
        .unwrap_or_else(|| Markup::literal("<p class=\"none\">There are no statements.</p>"));
    page(
        title,
        markup!("<section id=\"queries\">{body}</section>", ..body),
    )
}

/// What two digests differ in, and both of them, as one self-contained page.
pub fn queries_diff_page(title: &str, before: &QueryDigest, during: &QueryDigest) -> String {
    let diff = queries_diff(before, during);
    let mut body = markup!(
        "<ul><li><b>Before</b>: {}</li><li><b>During</b>: {}</li></ul>\
         <section id=\"changes\"><h2>What changed</h2>{}</section>",
        side_words(&diff.before),
        side_words(&diff.during),
        changes(&diff, CLASSES_MAX)
    );
    for (id, name, digest) in [("during", "During", during), ("before", "Before", before)] {
        if let Some(section) = section(digest, None) {
            body += markup!(
                "<section id=\"{id}\"><h2>{name}</h2>{section}</section>",
                ..id,
                ..name,
                ..section
            );
        }
    }
    page(title, body)
}

fn page(title: &str, body: Markup) -> String {
    markup!(
        "{document}<main>\n<header class=\"top\"><p class=\"brand\">freezeframe <span>queries</span></p>\n\
         <h1>{title}</h1></header>\n{body}\n</main>\n\
         <footer><p>Written by freezeframe {version}. Times are UTC. Statements have no literals, \
         unless whoever made this page asked for them. Quantiles are off by at most 0.8 %.</p></footer>\n\
         </body>\n</html>\n",
        document = head::document(title, &[]),
        ..title,
        version = env!("CARGO_PKG_VERSION"),
        ..body
    )
    .into_string()
}
