//! Profiles as people read them: a table of functions as opreport prints it, and two compared.

use std::collections::BTreeMap;

use model::{Nameless, Profile, StackBook};

use super::profile_table::{
    DiffRow, DiffShare, ProfileDiff, ProfileTable, RankBy, Symbol, profile_table,
};
use crate::{
    TextOptions, escape,
    text::{
        page::{Page, Style},
        wrap,
    },
    units::{Quantity, grouped},
};

/// Columns of the image's name at the most.
const IMAGE_MAX: usize = 24;
/// Columns of a page from which a comparison shows processor time too.
const WIDTH_WITH_CPU: usize = 100;
/// Samples below which a share is rough.
const SAMPLES_FEW: u64 = 100;
/// One profile with this many times the samples a second of the other: shares alone mislead.
const RATE_APART: f64 = 4.0;
/// Changes below this share (0.05 percentage points) are none.
const CHANGE_MIN: f64 = 0.0005;
/// Columns of a share: `100.0%`.
const SHARE_COLUMNS: usize = 6;

/// How a profile is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ProfileTextOptions {
    /// Width and colours.
    pub text: TextOptions,
    /// Functions, and threads, that are shown; 0 for all.
    pub limit: usize,
    /// Leave out what is not the server's.
    pub server_only: bool,
}

/// The profile as text: how it was taken, the functions with their own samples and their total,
/// the threads by name.
pub fn profile_text(profile: &Profile, book: &StackBook, options: &ProfileTextOptions) -> String {
    let table = profile_table(profile, book, options.server_only);
    let mut page = options.text.page();
    page.paragraph(0, &headline(&table, profile.hz), Style::Bold);
    if table.samples > 0 {
        page.paragraph(0, &sides(&table, options.server_only), Style::Plain);
        page.blank();
        symbols(&mut page, &table, options.limit);
        threads(&mut page, &table, options.limit);
        unnamed(&mut page, &table);
    }
    page.finish()
}

/// `1,980 samples in 10 s (198/s at 99 Hz), 1.86 of 2 processors busy`
fn headline(table: &ProfileTable, hz: u32) -> String {
    let mut out = format!(
        "{} {}",
        grouped_count(table.samples),
        if table.samples == 1 {
            "sample"
        } else {
            "samples"
        }
    );
    if let (Some(seconds), Some(rate)) = (table.seconds, table.rate()) {
        out += &format!(
            " in {} ({}{})",
            Quantity::Seconds.say(seconds),
            Quantity::PerSecond.say(rate),
            if hz > 0 {
                format!(" at {hz} Hz")
            } else {
                String::new()
            }
        );
    }
    if let Some(cores) = table.cores {
        let cores = Quantity::Count.say(cores);
        out += &match table.processors {
            Some(all) => format!(", {cores} of {all} processors busy"),
            None => format!(", {cores} processors' time"),
        };
    }
    out
}

/// `48% kernel, 52% user; 91% the server's; …`
fn sides(table: &ProfileTable, server_only: bool) -> String {
    let share = |part| Quantity::Share.say(table.share(part));
    let mut out = format!("{} kernel, {} user", share(table.kernel), share(table.user));
    if server_only {
        out += "; only the server's samples";
    } else {
        out += &format!("; {} the server's", share(table.server));
    }
    if let Some(idle) = table.idle() {
        out += &format!(
            "; the processors idle for {} of the time",
            Quantity::Share.say(idle)
        );
    }
    out += &format!(
        "; {} of the stacks complete",
        Quantity::Share.say(1.0 - table.share(table.cut))
    );
    match table.lost {
        0 => {}
        lost => out += &format!("; {} samples lost", grouped_count(lost)),
    }
    out + "."
}

fn symbols(page: &mut Page, table: &ProfileTable, limit: usize) {
    let shown = shown(table.symbols.len(), limit);
    let rows = table.symbols.get(..shown).unwrap_or_default();
    let images: Vec<String> = rows
        .iter()
        .map(|row| wrap::cut(&escape::terminal(&row.symbol.image), IMAGE_MAX))
        .collect();
    let image_columns = widest(images.iter().map(String::as_str), "IMAGE");
    let count_columns = widest(
        rows.iter()
            .map(|row| grouped_count(row.self_samples))
            .collect::<Vec<_>>()
            .iter()
            .map(String::as_str),
        "SAMPLES",
    );
    let head = format!(
        "{:>count_columns$}  {:>SHARE_COLUMNS$}  {:>SHARE_COLUMNS$}  {:image_columns$}  FUNCTION",
        "SAMPLES", "SELF", "TOTAL", "IMAGE"
    );
    page.raw(&[(&wrap::cut(&head, page.width()), Style::Dim)]);
    for (row, image) in rows.iter().zip(&images) {
        let numbers = format!(
            "{:>count_columns$}  {}  {}  ",
            grouped_count(row.self_samples),
            percent(table.share(row.self_samples)),
            percent(table.share(row.total_samples)),
        );
        let image = pad(image, image_columns) + "  ";
        let room = page
            .width()
            .saturating_sub(wrap::columns(&numbers) + wrap::columns(&image));
        page.raw(&[
            (&numbers, Style::Plain),
            (&image, Style::Dim),
            (&function(&row.symbol, room), Style::Plain),
        ]);
    }
    more(page, table.symbols.len() - shown, "function");
}

fn threads(page: &mut Page, table: &ProfileTable, limit: usize) {
    page.heading("THREADS BY NAME");
    let shown = shown(table.threads.len(), limit);
    let rows = table.threads.get(..shown).unwrap_or_default();
    let counts: Vec<String> = rows.iter().map(|row| grouped_count(row.samples)).collect();
    let count_columns = widest(counts.iter().map(String::as_str), "SAMPLES");
    let head = format!(
        "{:>count_columns$}  {:>SHARE_COLUMNS$}  KERNEL  THREADS",
        "SAMPLES", "SHARE"
    );
    page.raw(&[(&head, Style::Dim)]);
    for (row, count) in rows.iter().zip(&counts) {
        let numbers = format!(
            "{count:>count_columns$}  {}  {}  ",
            percent(table.share(row.samples)),
            percent(super::groups::share(row.kernel, row.samples)),
        );
        let whose = match (row.server, table.server < table.samples) {
            (true, true) => "  (server)",
            _ => "",
        };
        let room = page
            .width()
            .saturating_sub(wrap::columns(&numbers) + whose.len());
        let name = named(&row.name);
        page.raw(&[
            (&numbers, Style::Plain),
            (&wrap::cut(&name, room), Style::Plain),
            (whose, Style::Dim),
        ]);
    }
    more(page, table.threads.len() - shown, "name");
}

/// How much of the time went to functions without a name, and why they have none.
fn unnamed(page: &mut Page, table: &ProfileTable) {
    let mut sums: BTreeMap<(Nameless, &str), u64> = BTreeMap::new();
    for row in &table.symbols {
        if let Some(reason) = row.nameless {
            let sum = sums.entry((reason, &row.symbol.image)).or_default();
            *sum = sum.saturating_add(row.self_samples);
        }
    }
    sums.retain(|_, samples| *samples > 0);
    if sums.is_empty() {
        return;
    }
    page.heading("WITHOUT A NAME");
    for ((reason, image), samples) in sums {
        let image = if image.is_empty() { "no image" } else { image };
        let share = Quantity::Share.say(table.share(samples));
        let line = format!("{share} of the samples, in {image}: {}", reason.words());
        page.item(2, "- ", &line, Style::Plain);
    }
}

/// Two profiles compared, as text: both heads, then the functions by change.
///
/// `a_name` and `b_name` are what people call them: file names, or "baseline" and "stall".
pub fn diff_text(
    diff: &ProfileDiff,
    (a_name, b_name): (&str, &str),
    rank_by: RankBy,
    options: &ProfileTextOptions,
) -> String {
    let mut page = options.text.page();
    for (letter, name, table) in [("A", a_name, &diff.a), ("B", b_name, &diff.b)] {
        let text = format!("{name}: {}", headline(table, 0));
        page.item(0, &format!("{letter}  "), &text, Style::Bold);
    }
    page.blank();
    head_rows(&mut page, diff);
    for note in notes(diff) {
        page.paragraph(0, &note, Style::Plain);
    }
    page.blank();
    diff_rows(&mut page, diff, rank_by, options.limit);
    page.finish()
}

/// Idle time and the kernel's part, in both and their change.
fn head_rows(page: &mut Page, diff: &ProfileDiff) {
    let line = |page: &mut Page, label: &str, a: String, b: String, change: String| {
        let text = format!("{label:28}{a:>10}{b:>10}{change:>12}");
        page.raw(&[(&wrap::cut(&text, page.width()), Style::Plain)]);
    };
    let head = format!("{:28}{:>10}{:>10}{:>12}", "", "A", "B", "CHANGE");
    page.raw(&[(&wrap::cut(&head, page.width()), Style::Dim)]);
    let (a, b) = (&diff.a, &diff.b);
    if let (Some(x), Some(y)) = (a.rate(), b.rate()) {
        let say = |rate| Quantity::PerSecond.say(rate);
        line(page, "samples", say(x), say(y), times(x, y));
    }
    if let (Some(x), Some(y)) = (a.cores, b.cores) {
        let say = |cores| Quantity::Cores.say(cores);
        line(page, "processors' time", say(x), say(y), times(x, y));
    }
    if let (Some(x), Some(y)) = (a.idle(), b.idle()) {
        line(
            page,
            "processors idle",
            percent(x),
            percent(y),
            points(y - x),
        );
    }
    for (label, x, y) in [
        (
            "in the kernel, of samples",
            a.share(a.kernel),
            b.share(b.kernel),
        ),
        (
            "the server's, of samples",
            a.share(a.server),
            b.share(b.server),
        ),
    ] {
        line(page, label, percent(x), percent(y), points(y - x));
    }
}

/// What keeps shares from being compared at face value.
fn notes(diff: &ProfileDiff) -> Vec<String> {
    let mut out = Vec::new();
    for (name, table) in [("A", &diff.a), ("B", &diff.b)] {
        match table.samples {
            0 => out.push(format!(
                "{name} has no samples: there is nothing to compare with."
            )),
            few if few < SAMPLES_FEW => out.push(format!(
                "{name} has only {few} {}: its shares are rough, one sample is {}.",
                if few == 1 { "sample" } else { "samples" },
                Quantity::Share.say(1.0 / few as f64)
            )),
            _ => {}
        }
    }
    if let (Some(a), Some(b)) = (diff.a.rate(), diff.b.rate())
        && a > 0.0
        && b > 0.0
    {
        let (busy, calm, ratio) = if b >= a {
            ("B", "A", b / a)
        } else {
            ("A", "B", a / b)
        };
        if ratio >= RATE_APART {
            out.push(format!(
                "{busy} was {} times as busy as {calm}: a share of {calm} is a share of little. \
                 Processor time (CPU) compares them as they were.",
                Quantity::Count.say(ratio)
            ));
        }
    }
    out
}

fn diff_rows(page: &mut Page, diff: &ProfileDiff, rank_by: RankBy, limit: usize) {
    let changed = |row: &&DiffRow| {
        row.self_change().abs() >= CHANGE_MIN || row.total_change().abs() >= CHANGE_MIN
    };
    let rows: Vec<&DiffRow> = diff.rows.iter().filter(changed).collect();
    let unchanged = diff.rows.len() - rows.len();
    let shown = shown(rows.len(), limit);
    let cpu = page.width() >= WIDTH_WITH_CPU && diff.a.cores.is_some() && diff.b.cores.is_some();
    let mut head = format!(
        "{:>9} {:>7} {:>7} {:>8} {:>8}",
        "CHANGE", "SELF A", "SELF B", "TOTAL A", "TOTAL B"
    );
    if cpu {
        head += &format!(" {:>10} {:>10}", "CPU A", "CPU B");
    }
    page.raw(&[(&wrap::cut(&(head + "  FUNCTION"), page.width()), Style::Dim)]);
    for row in rows.iter().take(shown) {
        let change = match rank_by {
            RankBy::Own => row.self_change(),
            RankBy::Total => row.total_change(),
        };
        let mut numbers = format!(
            "{:>9} {:>7} {:>7} {:>8} {:>8}",
            points(change),
            percent(row.a.self_share),
            percent(row.b.self_share),
            percent(row.a.total_share),
            percent(row.b.total_share),
        );
        if cpu {
            let time = |share: &DiffShare| {
                let cores = match rank_by {
                    RankBy::Own => share.self_cores,
                    RankBy::Total => share.total_cores,
                };
                format!("{:.1} ms/s", cores.unwrap_or(0.0) * 1000.0)
            };
            numbers += &format!(" {:>10} {:>10}", time(&row.a), time(&row.b));
        }
        numbers += "  ";
        let room = page.width().saturating_sub(wrap::columns(&numbers));
        let image = wrap::cut(&escape::terminal(&row.symbol.image), IMAGE_MAX);
        let aside = match image.is_empty() || wrap::columns(&image) * 3 > room {
            true => String::new(),
            false => format!("  {image}"),
        };
        let name = function(&row.symbol, room.saturating_sub(wrap::columns(&aside)));
        page.raw(&[
            (&numbers, Style::Plain),
            (&name, Style::Plain),
            (&aside, Style::Dim),
        ]);
    }
    more(page, rows.len() - shown, "function");
    let what = match rank_by {
        RankBy::Own => "the function itself",
        RankBy::Total => "the function with what it called",
    };
    let same = match unchanged {
        0 => String::new(),
        count => format!(" {} unchanged, not shown.", grouped_count(count as u64)),
    };
    page.blank();
    let cpu = if cpu {
        "; CPU is processor time a second"
    } else {
        ""
    };
    page.paragraph(
        0,
        &format!(
            "Change of {what} from A to B in percentage points (pp); shares are of each \
             profile's own samples, so that a longer one does not count more{cpu}.{same}"
        ),
        Style::Dim,
    );
}

fn function(symbol: &Symbol, room: usize) -> String {
    wrap::cut_middle(&named(&symbol.name), room)
}

fn named(name: &str) -> String {
    match name.is_empty() {
        true => "(no name)".to_owned(),
        false => escape::terminal(name),
    }
}

/// `  3.1%`, with one digit behind the point so that columns can be compared.
fn percent(share: f64) -> String {
    format!("{:>5.1}%", share * 100.0)
}

/// `+17.0 pp`
fn points(change: f64) -> String {
    let points = change * 100.0;
    match points.abs() < 0.05 {
        true => "0.0 pp".to_owned(),
        false => format!("{points:+.1} pp"),
    }
}

fn times(a: f64, b: f64) -> String {
    if a <= 0.0 {
        return String::new();
    }
    format!("×{}", Quantity::Count.say(b / a))
}

fn shown(count: usize, limit: usize) -> usize {
    match limit {
        0 => count,
        limit => count.min(limit),
    }
}

fn more(page: &mut Page, count: usize, noun: &str) {
    if count > 0 {
        let plural = if count == 1 { "" } else { "s" };
        let text = format!("{} more {noun}{plural}.", grouped_count(count as u64));
        page.paragraph(2, &text, Style::Dim);
    }
}

fn widest<'a>(texts: impl Iterator<Item = &'a str>, head: &str) -> usize {
    texts.map(wrap::columns).max().unwrap_or(0).max(head.len())
}

fn pad(text: &str, columns: usize) -> String {
    let missing = columns.saturating_sub(wrap::columns(text));
    text.to_owned() + &" ".repeat(missing)
}

fn grouped_count(count: u64) -> String {
    grouped(i64::try_from(count).unwrap_or(i64::MAX))
}
