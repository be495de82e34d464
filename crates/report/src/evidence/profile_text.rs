//! Profiles as people read them: a table of functions as opreport prints it, and two compared.

use std::collections::BTreeMap;

use model::{Profile, StackTable, UnnamedReason};

use super::{
    meanings,
    profile_diff::{BUSY_APART, DiffRow, DiffShare, ProfileDiff, RankBy},
    profile_table::{ProfileTable, profile_table},
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
/// Columns of a page from which a comparison shows own and total shares.
const WIDTH_WITH_BOTH: usize = 64;
/// Samples below which a share is rough.
const SAMPLES_FEW: u64 = 100;
/// Changes below this share (0.05 percentage points) are none.
const CHANGE_MIN: f64 = 0.0005;
/// Columns of a function's name for which its image's gives way.
const FUNCTION_MIN: usize = 30;
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
pub fn profile_text(profile: &Profile, book: &StackTable, options: &ProfileTextOptions) -> String {
    let table = profile_table(profile, book, options.server_only);
    let mut page = options.text.page();
    page.paragraph(0, &headline(&table, profile.hz), Style::Bold);
    if table.samples > 0 {
        page.paragraph(0, &sides(&table, options.server_only), Style::Plain);
        page.blank();
        symbols(&mut page, &table, options.limit);
        let rows = table.symbols.iter();
        let rows = rows.take(shown(table.symbols.len(), options.limit));
        let own = rows.filter(|row| row.self_samples > 0);
        let names = own.map(|row| row.symbol.name.as_str());
        meanings::write(&mut page, &meanings::of_functions(names));
        threads(&mut page, &table, options.limit);
        unnamed(&mut page, &table);
    }
    page.finish()
}

/// `1,980 samples in 10 s (198/s at 99 Hz), 1.86 of 2 CPUs busy`
fn headline(table: &ProfileTable, hz: u32) -> String {
    let mut out = format!(
        "{} {}",
        grouped(table.samples),
        if table.samples == 1 {
            "sample"
        } else {
            "samples"
        }
    );
    if let (Some(seconds), Some(rate)) = (table.seconds, table.rate()) {
        out += &format!(
            " in {} ({}{})",
            Quantity::Seconds.to_text(seconds),
            Quantity::PerSecond.to_text(rate),
            if hz > 0 {
                format!(" at {hz} Hz")
            } else {
                String::new()
            }
        );
    }
    if let Some(cores) = table.cores {
        let cores = Quantity::Count.to_text(cores);
        out += &match table.processors {
            Some(all) => format!(", {cores} of {all} CPUs busy"),
            None => format!(", {cores} CPUs busy"),
        };
    }
    out
}

/// `48% kernel, 52% user; 91% the server's; …`
fn sides(table: &ProfileTable, server_only: bool) -> String {
    let share = |part| Quantity::Share.to_text(table.share(part));
    let mut out = format!("{} kernel, {} user", share(table.kernel), share(table.user));
    if server_only {
        out += "; only the server's samples";
    } else {
        out += &format!("; {} the server's", share(table.server));
    }
    if let Some(idle) = table.idle() {
        out += &format!(
            "; the CPUs were idle for {} of the time",
            Quantity::Share.to_text(idle)
        );
    }
    out += &format!(
        "; {} of the stacks complete",
        Quantity::Share.to_text(1.0 - table.share(table.cut))
    );
    match table.lost {
        0 => {}
        lost => out += &format!("; {} samples lost", grouped(lost)),
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
    let counts: Vec<String> = rows.iter().map(|row| grouped(row.self_samples)).collect();
    let count_columns = widest(counts.iter().map(String::as_str), "SAMPLES");
    let image_columns = widest(images.iter().map(String::as_str), "IMAGE");
    let numbers_columns = count_columns + 2 * (SHARE_COLUMNS + 2) + 2;
    let room = page.width().saturating_sub(numbers_columns);
    // On a narrow page the function's name is worth more than its image's.
    let with_image = room >= image_columns + 2 + FUNCTION_MIN;
    let mut head = format!(
        "{:>count_columns$}  {:>SHARE_COLUMNS$}  {:>SHARE_COLUMNS$}  ",
        "SAMPLES", "SELF", "TOTAL"
    );
    if with_image {
        head += &format!("{:image_columns$}  ", "IMAGE");
    }
    page.raw(&[(&wrap::cut(&(head + "FUNCTION"), page.width()), Style::Dim)]);
    for ((row, image), count) in rows.iter().zip(&images).zip(&counts) {
        let numbers = format!(
            "{count:>count_columns$}  {}  {}  ",
            percent(table.share(row.self_samples)),
            percent(table.share(row.total_samples)),
        );
        let numbers = wrap::cut(&numbers, page.width());
        let image = match with_image {
            true => pad(image, image_columns) + "  ",
            false => String::new(),
        };
        let taken = wrap::columns(&numbers) + wrap::columns(&image);
        let room = page.width().saturating_sub(taken);
        page.raw(&[
            (&numbers, Style::Plain),
            (&image, Style::Dim),
            (
                &wrap::cut_middle(&named(&row.symbol.name), room),
                Style::Plain,
            ),
        ]);
    }
    more(page, table.symbols.len() - shown, "function");
}

fn threads(page: &mut Page, table: &ProfileTable, limit: usize) {
    page.heading("THREADS BY NAME");
    let shown = shown(table.threads.len(), limit);
    let rows = table.threads.get(..shown).unwrap_or_default();
    let counts: Vec<String> = rows.iter().map(|row| grouped(row.samples)).collect();
    let count_columns = widest(counts.iter().map(String::as_str), "SAMPLES");
    let head = format!(
        "{:>count_columns$}  {:>SHARE_COLUMNS$}  KERNEL  THREADS",
        "SAMPLES", "SHARE"
    );
    page.raw(&[(&wrap::cut(&head, page.width()), Style::Dim)]);
    for (row, count) in rows.iter().zip(&counts) {
        let numbers = format!(
            "{count:>count_columns$}  {}  {}  ",
            percent(table.share(row.samples)),
            percent(super::groups::share(row.kernel, row.samples)),
        );
        let numbers = wrap::cut(&numbers, page.width());
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
    let mut sums: BTreeMap<(UnnamedReason, &str), u64> = BTreeMap::new();
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
        let share = Quantity::Share.to_text(table.share(samples));
        let line = format!("{share} of the samples, in {image}: {}", reason.to_text());
        page.item(2, "- ", &line, Style::Plain);
    }
}

/// Two profiles compared, as text: both heads, then the functions by change.
///
/// `a_name` and `b_name` are what people call them: file names, or "baseline" and "stall".
pub fn diff_text(
    diff: &ProfileDiff,
    (a_name, b_name): (&str, &str),
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
    diff_rows(&mut page, diff, options.limit);
    page.finish()
}

/// Idle time and the kernel's part, in both and their change.
fn head_rows(page: &mut Page, diff: &ProfileDiff) {
    let narrow = page.width() < WIDTH_WITH_BOTH;
    let line = |page: &mut Page, label: &str, a: String, b: String, change: String| {
        if narrow {
            let (a, b) = (a.trim(), b.trim());
            let change = match change.is_empty() {
                true => change,
                false => format!(" ({change})"),
            };
            page.paragraph(0, &format!("{label}: {a} to {b}{change}"), Style::Plain);
            return;
        }
        let text = format!("{label:26}{a:>13}{b:>13}{change:>12}");
        page.raw(&[(&wrap::cut(&text, page.width()), Style::Plain)]);
    };
    if !narrow {
        let head = format!("{:26}{:>13}{:>13}{:>12}", "", "A", "B", "CHANGE");
        page.raw(&[(&head, Style::Dim)]);
    }
    let (a, b) = (&diff.a, &diff.b);
    if let (Some(x), Some(y)) = (a.rate(), b.rate()) {
        let say = |rate| Quantity::PerSecond.to_text(rate);
        line(page, "samples", say(x), say(y), times(x, y));
    }
    if let (Some(x), Some(y)) = (a.cores, b.cores) {
        let say = |cores| Quantity::Cores.to_text(cores);
        line(page, "CPU time", say(x), say(y), times(x, y));
    }
    if let (Some(x), Some(y)) = (a.idle(), b.idle()) {
        line(page, "CPUs idle", percent(x), percent(y), points(y - x));
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
                "{name} has no samples, so nothing can be compared."
            )),
            few if few < SAMPLES_FEW => out.push(format!(
                "{name} has only {few} {}: its shares are rough, one sample is {}.",
                if few == 1 { "sample" } else { "samples" },
                Quantity::Share.to_text(1.0 / few as f64)
            )),
            _ => {}
        }
    }
    if let (Some(a), Some(b)) = (diff.a.cores, diff.b.cores)
        && a > 0.0
        && b > 0.0
    {
        let (busy, calm, ratio) = if b >= a {
            ("B", "A", b / a)
        } else {
            ("A", "B", a / b)
        };
        if ratio >= BUSY_APART {
            let meaning = match diff.rank_by.is_time() {
                true => "so the shares are of all CPU time, with idle time",
                false => "so its shares are of very little time; compare by time",
            };
            out.push(format!(
                "{busy} was {} times as busy as {calm}, {meaning}.",
                Quantity::Count.to_text(ratio)
            ));
        }
    }
    out
}

fn diff_rows(page: &mut Page, diff: &ProfileDiff, limit: usize) {
    let rank_by = diff.rank_by;
    let (own, total) = match rank_by.is_time() {
        true => (RankBy::OwnTime, RankBy::TotalTime),
        false => (RankBy::Own, RankBy::Total),
    };
    let changed = |row: &&DiffRow| {
        row.change(own).abs() >= CHANGE_MIN || row.change(total).abs() >= CHANGE_MIN
    };
    let rows: Vec<&DiffRow> = diff.rows.iter().filter(changed).collect();
    let unchanged = diff.rows.len() - rows.len();
    let shown = shown(rows.len(), limit);
    let cpu = page.width() >= WIDTH_WITH_CPU && diff.a.cores.is_some() && diff.b.cores.is_some();
    // A narrow page has room for the two shares that are ranked.
    let both = page.width() >= WIDTH_WITH_BOTH;
    let with_own = both || !rank_by.is_total();
    let with_total = both || rank_by.is_total();
    let mut head = format!("{:>9}", "CHANGE");
    if with_own {
        head += &format!(" {:>7} {:>7}", "SELF A", "SELF B");
    }
    if with_total {
        head += &format!(" {:>8} {:>8}", "TOTAL A", "TOTAL B");
    }
    if cpu {
        head += &format!(" {:>12} {:>12}", "CPU A", "CPU B");
    }
    page.raw(&[(&wrap::cut(&(head + "  FUNCTION"), page.width()), Style::Dim)]);
    for row in rows.iter().take(shown) {
        let mut numbers = format!("{:>9}", points(row.change(rank_by)));
        if with_own {
            let (a, b) = (row.a.ranked(own), row.b.ranked(own));
            numbers += &format!(" {:>7} {:>7}", percent(a), percent(b));
        }
        if with_total {
            let (a, b) = (row.a.ranked(total), row.b.ranked(total));
            numbers += &format!(" {:>8} {:>8}", percent(a), percent(b));
        }
        if cpu {
            for share in [&row.a, &row.b] {
                numbers += &format!(" {:>12}", time(share, rank_by));
            }
        }
        numbers = wrap::cut(&(numbers + "  "), page.width());
        let room = page.width().saturating_sub(wrap::columns(&numbers));
        let name = named(&row.symbol.name);
        let image = wrap::cut(&escape::terminal(&row.symbol.image), IMAGE_MAX);
        let aside = match wrap::columns(&name) + wrap::columns(&image) + 2 <= room {
            true => format!("  {image}"),
            false => String::new(),
        };
        page.raw(&[
            (&numbers, Style::Plain),
            (&wrap::cut_middle(&name, room), Style::Plain),
            (&aside, Style::Dim),
        ]);
    }
    more(page, rows.len() - shown, "function");
    page.blank();
    page.paragraph(0, &legend(rank_by, cpu, unchanged), Style::Dim);
}

/// What the columns mean.
fn legend(rank_by: RankBy, cpu: bool, unchanged: usize) -> String {
    let what = match rank_by.is_total() {
        false => "the function itself",
        true => "the function with its callees",
    };
    let shares = match rank_by.is_time() {
        false => "shares are of each profile's own samples",
        true => "shares are of all CPU time of each profile",
    };
    let cpu = match cpu {
        true => "; CPU is its CPU time in each second",
        false => "",
    };
    let same = match unchanged {
        0 => String::new(),
        count => format!(" {} unchanged, not shown.", grouped(count)),
    };
    format!(
        "Change of {what} from A to B in percentage points (pp); {shares}, so that a longer one \
         does not count more{cpu}.{same}"
    )
}

/// Processor time in each second.
fn time(share: &DiffShare, rank_by: RankBy) -> String {
    let cores = match rank_by.is_total() {
        false => share.self_cores,
        true => share.total_cores,
    };
    format!("{:.1} ms/s", cores.unwrap_or(0.0) * 1000.0)
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
    format!("×{}", Quantity::Count.to_text(b / a))
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
        let text = format!("{} more {noun}{plural}.", grouped(count));
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
