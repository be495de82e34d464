//! A lock table as people read it: what plockstat tells, and who held the lock.

use model::{Depth, Holder, KernelLockRow, LockCaller, LockRow, LockTable, NamedBy, StackBook};

use super::{
    chain::{chain_sentence, holder_by_words},
    frames_text::FrameLines,
    locks_json::LocksInput,
    stacks_json::address,
};
use crate::{
    TextOptions, escape,
    text::{
        page::{Page, Style},
        wrap,
    },
    units::{Quantity, grouped},
};

/// Microseconds in a second.
const MICROSECONDS: f64 = 1e6;
/// Call paths of a lock that are shown.
const CALLERS_MAX: usize = 5;
/// Functions of a call path that are shown.
const PATH_MAX: usize = 8;
/// Holders of a lock that are shown.
const HOLDERS_MAX: usize = 3;
/// Frames of a holder that are shown.
const HOLDER_FRAMES: usize = 12;
/// Waits on condition variables that are shown.
const CONDITIONS_MAX: usize = 8;
/// Locks of the kernel that are shown.
const KERNEL_LOCKS_MAX: usize = 15;
/// Columns of the numbers beside a name.
const NUMBERS: usize = 56;
/// Columns of a name at the least; a page too narrow for it has the numbers in words.
const NAME_MIN: usize = 12;
/// Columns of a name at the most, so that its numbers stay near.
const NAME_MAX: usize = 60;

/// How a lock table is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LocksTextOptions {
    /// Width and colours.
    pub text: TextOptions,
    /// Locks that are shown; 0 for all.
    pub limit: usize,
}

/// The table as text: how it was counted, the chains as sentences, each lock with its numbers,
/// callers and holders, waits on conditions and locks of the kernel in short, and what is absent.
pub fn locks_text(input: &LocksInput<'_>, options: &LocksTextOptions) -> String {
    let table = input.table;
    let mut page = options.text.page();
    let seconds = table.to.saturating_sub(table.from) as f64 / 1000.0;
    let headline = format!(
        "pid {}: {} waited for in {}",
        input.pid,
        counted(table.locks.len() as u64, "lock"),
        Quantity::Seconds.say(seconds)
    );
    page.paragraph(0, &headline, Style::Bold);
    page.paragraph(0, &depth_words(table), Style::Plain);
    let chains = table.chains.iter().filter(|chain| !chain.links.is_empty());
    for (index, chain) in chains.enumerate() {
        if index == 0 {
            page.heading("WHO WAITS FOR WHOM");
        }
        page.item(2, "- ", &(chain_sentence(chain) + "."), Style::Plain);
    }
    let mut frames = FrameLines::new(HOLDER_FRAMES);
    locks(&mut page, table, input.book, options.limit, &mut frames);
    conditions(&mut page, table);
    kernel_locks(&mut page, &table.kernel_locks);
    if !table.absent.is_empty() {
        page.heading("ABSENT EVIDENCE");
        for absent in &table.absent {
            let detail = if absent.detail.is_empty() { "" } else { ": " };
            let line = format!(
                "{}: {}{detail}{}",
                absent.what,
                absent.reason.words(),
                absent.detail
            );
            page.item(2, "- ", &line, Style::Plain);
        }
    }
    frames.finish(&mut page);
    page.finish()
}

/// How waits were counted, what that means for the numbers, and what it cost.
pub fn depth_words(table: &LockTable) -> String {
    match &table.depth {
        Depth::Sampled {
            snapshots,
            interval_ms,
        } => {
            let interval = Quantity::Seconds.say(interval_ms / 1000.0);
            format!(
                "Sampled: {}, one each {interval}. Counts and times are estimates (~); a wait \
                 shorter than {interval} is seen with the probability of its length.",
                counted(u64::from(*snapshots), "snapshot"),
            )
        }
        Depth::Exact {
            events,
            stack_every,
            cost_us,
            switched_off_after_ms,
        } => {
            let callers = match stack_every {
                0 => "callers were not taken".to_owned(),
                1 => "callers are from every wait".to_owned(),
                every => format!(
                    "callers are from one wait in {}",
                    grouped(i64::from(*every))
                ),
            };
            let seconds = match switched_off_after_ms {
                Some(ms) => *ms,
                None => table.to.saturating_sub(table.from),
            } as f64
                / 1000.0;
            let cost = match (cost_us, seconds > 0.0) {
                (0, _) => "the kernel does not account what counting cost".to_owned(),
                (us, positive) => {
                    let spent = *us as f64 / MICROSECONDS;
                    let of_one = match positive {
                        true => format!(
                            " ({} of one processor)",
                            Quantity::Share.say(spent / seconds)
                        ),
                        false => String::new(),
                    };
                    format!("counting cost {}{of_one}", Quantity::Seconds.say(spent))
                }
            };
            let off = match switched_off_after_ms {
                None => String::new(),
                Some(ms) => format!(
                    " It switched itself off after {}, above the set rate of events: what came \
                     later is not counted.",
                    Quantity::Seconds.say(*ms as f64 / 1000.0)
                ),
            };
            format!(
                "Exact: every wait was counted and timed, {}; {callers}; {cost}.{off}",
                counted(*events, "wait")
            )
        }
    }
}

/// The columns of numbers of a row.
#[derive(Debug, Clone, Copy)]
struct Numbers {
    /// Waits and times are estimates.
    estimated: bool,
}

impl Numbers {
    fn of(depth: &Depth) -> Self {
        Self {
            estimated: matches!(depth, Depth::Sampled { .. }),
        }
    }

    fn head(self) -> String {
        format!(
            "{:>7} {:>10} {:>9} {:>9} {:>9} {:>7}",
            "WAITERS", "WAITS", "TOTAL", "MEAN", "MAX", "SHARE"
        )
    }

    /// The numbers in words.
    fn words(self, row: &LockRow) -> String {
        format!(
            "waiters {}, waits {}, total {}, mean {}, max {}, share {}",
            grouped(i64::from(row.waiters_max)),
            self.count(row.waits),
            self.time(row.total_us),
            self.time(row.mean_us()),
            self.at_least(row.max_us),
            Quantity::Share.say(row.share),
        )
    }

    fn row(self, row: &LockRow) -> String {
        format!(
            "{:>7} {:>10} {:>9} {:>9} {:>9} {:>7}",
            grouped(i64::from(row.waiters_max)),
            self.count(row.waits),
            self.time(row.total_us),
            self.time(row.mean_us()),
            self.at_least(row.max_us),
            Quantity::Share.say(row.share),
        )
    }

    fn count(self, count: u64) -> String {
        format!("{}{}", self.mark(), Quantity::Count.say(count as f64))
    }

    fn time(self, us: f64) -> String {
        format!(
            "{}{}",
            self.mark(),
            Quantity::Seconds.say(us / MICROSECONDS)
        )
    }

    /// A longest wait is as long as it was seen.
    fn at_least(self, us: f64) -> String {
        let mark = if self.estimated { "≥" } else { "" };
        format!("{mark}{}", Quantity::Seconds.say(us / MICROSECONDS))
    }

    fn mark(self) -> &'static str {
        if self.estimated { "~" } else { "" }
    }
}

fn locks(
    page: &mut Page,
    table: &LockTable,
    book: &StackBook,
    limit: usize,
    frames: &mut FrameLines,
) {
    page.heading("LOCKS");
    if table.locks.is_empty() {
        page.paragraph(2, "No thread was seen waiting for a lock.", Style::Plain);
        return;
    }
    let numbers = Numbers::of(&table.depth);
    let name_columns = name_columns(page, &table.locks);
    head(page, numbers, name_columns, "LOCK");
    let shown = match limit {
        0 => table.locks.len(),
        limit => limit.min(table.locks.len()),
    };
    for (index, row) in table.locks.iter().take(shown).enumerate() {
        if index > 0 {
            page.blank();
        }
        line(page, numbers, row, name_columns);
        page.paragraph(4, &named_words(row), Style::Dim);
        for (index, caller) in row.callers.iter().take(CALLERS_MAX).enumerate() {
            if index == 0 {
                page.raw(&[("    asked for by", Style::Dim)]);
            }
            self::caller(page, caller, numbers);
        }
        more(page, row.callers.len(), CALLERS_MAX, "call path");
        for (index, holder) in row.holders.iter().take(HOLDERS_MAX).enumerate() {
            if index == 0 {
                page.raw(&[("    held by", Style::Dim)]);
            }
            page.item(6, "- ", &holder_words(holder), Style::Plain);
            frames.write(page, 8, book, holder.stack);
        }
        more(page, row.holders.len(), HOLDERS_MAX, "holder");
    }
    if shown < table.locks.len() {
        page.blank();
        more(page, table.locks.len(), shown, "lock");
    }
}

fn caller(page: &mut Page, caller: &LockCaller, numbers: Numbers) {
    let mut path: Vec<&str> = caller
        .path
        .iter()
        .take(PATH_MAX)
        .map(String::as_str)
        .collect();
    if caller.path.len() > PATH_MAX {
        path.push("…");
    }
    let path = match path.is_empty() {
        true => "no stack was taken".to_owned(),
        false => path.join(" < "),
    };
    let waits = if caller.waits == 1 { "wait" } else { "waits" };
    let text = format!(
        "{} in {} {waits}, longest {}: {path}",
        numbers.time(caller.total_us),
        numbers.count(caller.waits),
        numbers.at_least(caller.max_us),
    );
    page.item(6, "- ", &text, Style::Plain);
}

fn holder_words(holder: &Holder) -> String {
    let name = match holder.name.is_empty() {
        true => String::new(),
        false => format!(" ({})", holder.name),
    };
    let doing = match holder.doing.is_empty() {
        true => String::new(),
        false => format!(": {}", holder.doing),
    };
    format!(
        "thread {}{name}, known {}, in {}{doing}",
        holder.tid,
        holder_by_words(holder.by),
        counted(u64::from(holder.snapshots), "snapshot"),
    )
}

fn named_words(row: &LockRow) -> String {
    let at = match row.address {
        0 => "several addresses".to_owned(),
        at => format!("at {}", address(at)),
    };
    let by = match row.named_by {
        NamedBy::Symbol => "named by the symbol at its address",
        NamedBy::Arena => "an allocation arena of glibc, by its place and its callers",
        NamedBy::CallPath => "named by the call path of those that wait",
        NamedBy::Address => "nothing but the address is known",
    };
    format!("{by}; {at}")
}

fn conditions(page: &mut Page, table: &LockTable) {
    if table.conditions.is_empty() && table.idle_threads == 0 {
        return;
    }
    page.heading("WAITS FOR WORK OR ANSWERS, NO LOCKS");
    if table.idle_threads > 0 {
        let text = format!(
            "{} for work.",
            match table.idle_threads {
                1 => "1 thread waits".to_owned(),
                count => format!("{} threads wait", grouped(i64::from(count))),
            }
        );
        page.paragraph(2, &text, Style::Plain);
    }
    if table.conditions.is_empty() {
        return;
    }
    let numbers = Numbers::of(&table.depth);
    let shown = table.conditions.len().min(CONDITIONS_MAX);
    let rows = table.conditions.get(..shown).unwrap_or_default();
    let name_columns = name_columns(page, rows);
    head(page, numbers, name_columns, "CONDITION");
    for row in rows {
        line(page, numbers, row, name_columns);
        if let Some(path) = row.callers.first().map(|caller| &caller.path)
            && !path.is_empty()
        {
            let path: Vec<&str> = path.iter().take(PATH_MAX).map(String::as_str).collect();
            page.paragraph(6, &path.join(" < "), Style::Dim);
        }
    }
    more(page, table.conditions.len(), shown, "condition");
}

fn kernel_locks(page: &mut Page, rows: &[KernelLockRow]) {
    if rows.is_empty() {
        return;
    }
    page.heading("LOCKS OF THE KERNEL");
    let head = format!(
        "{:>10} {:>10} {:>9} {:>9} {:>9}  LOCK",
        "WAITS", "SERVER'S", "TOTAL", "MEAN", "MAX"
    );
    page.raw(&[(&wrap::cut(&head, page.width()), Style::Dim)]);
    let exact = Numbers { estimated: false };
    for row in rows.iter().take(KERNEL_LOCKS_MAX) {
        let mean = match row.waits {
            0 => 0.0,
            waits => row.total_us / waits as f64,
        };
        let numbers = format!(
            "{:>10} {:>10} {:>9} {:>9} {:>9}  ",
            exact.count(row.waits),
            exact.count(row.server_waits),
            exact.time(row.total_us),
            exact.time(mean),
            exact.time(row.max_us),
        );
        let numbers = wrap::cut(&numbers, page.width());
        let room = page.width().saturating_sub(wrap::columns(&numbers));
        let name = wrap::cut_middle(&escape::terminal(&row.name), room);
        page.raw(&[(&numbers, Style::Plain), (&name, Style::Bold)]);
        if !row.path.is_empty() {
            let path: Vec<&str> = row.path.iter().take(PATH_MAX).map(String::as_str).collect();
            page.paragraph(12, &path.join(" < "), Style::Dim);
        }
    }
    more(page, rows.len(), KERNEL_LOCKS_MAX, "lock");
}

/// Columns for the names of rows, so that their numbers stand below each other and the line fits;
/// none on a page too narrow for both.
fn name_columns(page: &Page, rows: &[LockRow]) -> Option<usize> {
    let longest = rows
        .iter()
        .map(|row| wrap::columns(&escape::terminal(&row.name)))
        .max()
        .unwrap_or(0);
    let room = page.width().checked_sub(NUMBERS + 1)?;
    (room >= NAME_MIN).then(|| longest.clamp(NAME_MIN, NAME_MAX).min(room))
}

fn head(page: &mut Page, numbers: Numbers, name_columns: Option<usize>, what: &str) {
    if let Some(columns) = name_columns {
        let text = format!("{what:columns$} {}", numbers.head());
        page.raw(&[(&text, Style::Dim)]);
    }
}

/// A name with its numbers; a name that is longer than its column has a line of its own.
fn line(page: &mut Page, numbers: Numbers, row: &LockRow, name_columns: Option<usize>) {
    let name = escape::terminal(&row.name);
    let name = wrap::cut_middle(&name, page.width());
    let fitting = name_columns.filter(|columns| wrap::columns(&name) <= *columns);
    let Some(columns) = fitting else {
        page.raw(&[(&name, Style::Bold)]);
        match name_columns {
            None => page.paragraph(4, &numbers.words(row), Style::Plain),
            Some(columns) => {
                let lead = " ".repeat(columns + 1);
                page.raw(&[
                    (&lead, Style::Plain),
                    (&wrap::cut(&numbers.row(row), NUMBERS), Style::Plain),
                ]);
            }
        }
        return;
    };
    let missing = " ".repeat(columns.saturating_sub(wrap::columns(&name)) + 1);
    page.raw(&[
        (&name, Style::Bold),
        (&missing, Style::Plain),
        (&wrap::cut(&numbers.row(row), NUMBERS), Style::Plain),
    ]);
}

fn more(page: &mut Page, all: usize, shown: usize, noun: &str) {
    if let Some(rest @ 1..) = all.checked_sub(shown) {
        let text = format!("{} not shown.", counted_more(rest as u64, noun));
        page.paragraph(8, &text, Style::Dim);
    }
}

fn counted_more(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{} more {noun}{plural}", grouped(count as i64))
}

fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    format!("{} {noun}{plural}", grouped(count))
}
