//! A lock table as people read it: what plockstat tells, and who held the lock.

use model::{
    Depth, Holder, KernelLockRow, LockCaller, LockRow, LockTable, NamedBy, StackBook, WaitChain,
};

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
/// Locks without a known holder that the chains name.
const UNKNOWN_MAX: usize = 6;
/// Locks whose callers and holders are shown.
const DETAILED_MAX: usize = 5;
/// Locks that are shown however little time they have.
const LINES_MIN: usize = 5;
/// Locks are shown until they have so much of the time waited for all of them.
const LINES_SHARE: f64 = 0.99;
/// Call paths of a lock that are shown.
const CALLERS_MAX: usize = 3;
/// Call paths with less of their lock's time are not shown, but for the first.
const CALLER_SHARE_MIN: f64 = 0.05;
/// Functions of a call path that are shown.
const PATH_MAX: usize = 8;
/// Holders of a lock that are shown; the frames of the first.
const HOLDERS_MAX: usize = 2;
/// Frames of a holder that are shown.
const HOLDER_FRAMES: usize = 10;
/// Frames of the kernel among them, for a holder that is in it.
const HOLDER_KERNEL_FRAMES: usize = 3;
/// Waits on condition variables that are shown.
const CONDITIONS_MAX: usize = 5;
/// Locks of the kernel that are shown.
const KERNEL_LOCKS_MAX: usize = 8;
/// Locks of the kernel with less of the time waited for all of them are not shown.
const KERNEL_SHARE_MIN: f64 = 0.01;
/// Functions of their call paths that are shown.
const KERNEL_PATH_MAX: usize = 4;
/// Columns of the numbers of a lock, with the gap behind them.
const NUMBERS: usize = 55;
/// Columns of a name at the least; a page too narrow for it has the numbers in words.
const NAME_MIN: usize = 12;

/// Lines of a name at the most.
const NAME_LINES: usize = 3;

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
    chains(&mut page, table);
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

/// The chains, a sentence each; those that name no holder in one.
fn chains(page: &mut Page, table: &LockTable) {
    let chains = table.chains.iter().filter(|chain| !chain.links.is_empty());
    let (held, unknown): (Vec<&WaitChain>, Vec<&WaitChain>) =
        chains.partition(|chain| chain.links.iter().any(|link| link.holder.is_some()));
    if held.is_empty() && unknown.is_empty() {
        return;
    }
    page.heading("WHO WAITS FOR WHOM");
    for chain in held {
        page.item(2, "- ", &(chain_sentence(chain) + "."), Style::Plain);
    }
    let shown = unknown.len().min(UNKNOWN_MAX);
    let crowds: Vec<String> = unknown
        .iter()
        .take(shown)
        .filter_map(|chain| chain.links.first())
        .map(|link| {
            format!(
                "{} ({})",
                link.lock,
                counted(u64::from(link.waiters), "thread")
            )
        })
        .collect();
    if !crowds.is_empty() {
        let more = match unknown.len() - shown {
            0 => String::new(),
            more => format!(" and {}", counted_more(more as u64, "lock")),
        };
        let text = format!("Not known is who has {}{more}.", crowds.join(", "));
        page.item(2, "- ", &text, Style::Plain);
    }
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
        Depth::Told { by } => {
            format!("Told by {by}: what it does not tell of a lock stands as 0.")
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
            "{:>7} {:>8} {:>9} {:>9} {:>9} {:>6}  ",
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
            "{:>7} {:>8} {:>9} {:>9} {:>9} {:>6}  ",
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
    let (shown, rest) = table.locks.split_at(lines(&table.locks, limit));
    head(page, numbers, "LOCK");
    for row in shown {
        line(page, numbers, row);
    }
    if !rest.is_empty() {
        let text = format!(
            "{} with {} in {} not shown.",
            counted_more(rest.len() as u64, "lock"),
            numbers.time(rest.iter().map(|row| row.total_us).sum()),
            waits_words(numbers, rest.iter().map(|row| row.waits).sum()),
        );
        page.paragraph(2, &text, Style::Dim);
    }
    page.heading("WHO ASKS FOR THEM, AND WHO HAS THEM");
    let detailed = match limit {
        0 => shown.len(),
        limit => limit.min(DETAILED_MAX).min(shown.len()),
    };
    for (index, row) in shown.iter().take(detailed).enumerate() {
        if index > 0 {
            page.blank();
        }
        details(page, row, book, numbers, frames);
    }
}

/// How many rows are shown: up to the limit, and not those that together have next to no time.
fn lines(locks: &[LockRow], limit: usize) -> usize {
    if limit == 0 {
        return locks.len();
    }
    let all: f64 = locks.iter().map(|row| row.total_us).sum();
    let mut before = 0.0;
    let worth = locks
        .iter()
        .take_while(|row| {
            let worth = before < all * LINES_SHARE || all <= 0.0;
            before += row.total_us;
            worth
        })
        .count();
    worth.max(LINES_MIN).min(limit).min(locks.len())
}

/// What a row's name rests on, its call paths and its holders.
fn details(
    page: &mut Page,
    row: &LockRow,
    book: &StackBook,
    numbers: Numbers,
    frames: &mut FrameLines,
) {
    page.paragraph(0, &row.name, Style::Bold);
    page.paragraph(2, &named_words(row), Style::Dim);
    let shown = row
        .callers
        .iter()
        .take(CALLERS_MAX)
        .enumerate()
        .take_while(|(index, caller)| {
            *index == 0 || caller.total_us >= row.total_us * CALLER_SHARE_MIN
        })
        .count();
    let (callers, rest) = row.callers.split_at(shown);
    for caller in callers {
        self::caller(page, caller, numbers);
    }
    if !rest.is_empty() {
        let text = format!(
            "{} with {}",
            counted_more(rest.len() as u64, "call path"),
            numbers.time(rest.iter().map(|caller| caller.total_us).sum()),
        );
        page.item(2, "- ", &text, Style::Dim);
    }
    for (index, holder) in row.holders.iter().take(HOLDERS_MAX).enumerate() {
        page.item(2, "held by ", &holder_words(holder), Style::Plain);
        if index == 0 {
            // What the kernel does tells nothing of one that waits or is ready to run.
            let in_kernel = holder.doing.starts_with("in ") || holder.doing.starts_with("unint");
            frames.kernel_max = Some(if in_kernel { HOLDER_KERNEL_FRAMES } else { 0 });
            frames.write(page, 2, book, holder.stack);
        }
    }
    more(page, row.holders.len(), HOLDERS_MAX, "holder");
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
    let text = format!(
        "{} in {}: {path}",
        numbers.time(caller.total_us),
        waits_words(numbers, caller.waits),
    );
    page.item(2, "- ", &text, Style::Plain);
}

fn waits_words(numbers: Numbers, waits: u64) -> String {
    let noun = if waits == 1 { "wait" } else { "waits" };
    format!("{} {noun}", numbers.count(waits))
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
        0 => String::new(),
        at => format!(", at {}", address(at)),
    };
    let by = match row.named_by {
        NamedBy::Symbol => "named by the symbol at its address",
        NamedBy::Arena => "an allocation arena of glibc, by its place and its callers",
        NamedBy::CallPath => "named by the call path of those that wait",
        NamedBy::Address => "no name is known, only who asks",
        NamedBy::Told => "named by who told it",
    };
    format!("{by}{at}")
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
    head(page, numbers, "CONDITION");
    for row in table.conditions.get(..shown).unwrap_or_default() {
        line(page, numbers, row);
        if let Some(path) = row.callers.first().map(|caller| &caller.path)
            && !path.is_empty()
        {
            let path: Vec<&str> = path.iter().take(PATH_MAX).map(String::as_str).collect();
            page.paragraph(4, &path.join(" < "), Style::Dim);
        }
    }
    more(page, table.conditions.len(), shown, "condition");
}

fn kernel_locks(page: &mut Page, rows: &[KernelLockRow]) {
    if rows.is_empty() {
        return;
    }
    page.heading("LOCKS OF THE KERNEL, ALL PROCESSES");
    let head = format!(
        "{:>8} {:>8} {:>9} {:>9} {:>9}  LOCK",
        "WAITS", "SERVER'S", "TOTAL", "MEAN", "MAX"
    );
    page.raw(&[(&wrap::cut(&head, page.width()), Style::Dim)]);
    let exact = Numbers { estimated: false };
    let all: f64 = rows.iter().map(|row| row.total_us).sum();
    let shown = rows
        .iter()
        .take(KERNEL_LOCKS_MAX)
        .take_while(|row| row.total_us >= all * KERNEL_SHARE_MIN)
        .count();
    let (shown, rest) = rows.split_at(shown);
    for row in shown {
        let mean = match row.waits {
            0 => 0.0,
            waits => row.total_us / waits as f64,
        };
        let numbers = format!(
            "{:>8} {:>8} {:>9} {:>9} {:>9}  ",
            exact.count(row.waits),
            exact.count(row.server_waits),
            exact.time(row.total_us),
            exact.time(mean),
            exact.time(row.max_us),
        );
        let indent = wrap::columns(&numbers);
        named(
            page,
            &numbers,
            &row.name,
            page.width().saturating_sub(indent),
        );
        if !row.path.is_empty() {
            let path: Vec<&str> = row
                .path
                .iter()
                .take(KERNEL_PATH_MAX)
                .map(String::as_str)
                .collect();
            page.paragraph(10, &path.join(" < "), Style::Dim);
        }
    }
    if !rest.is_empty() {
        let text = format!(
            "{} with {} not shown.",
            counted_more(rest.len() as u64, "lock"),
            exact.time(rest.iter().map(|row| row.total_us).sum()),
        );
        page.paragraph(2, &text, Style::Dim);
    }
}

fn head(page: &mut Page, numbers: Numbers, what: &str) {
    if page.width() >= NUMBERS + NAME_MIN {
        let text = numbers.head() + what;
        page.raw(&[(&text, Style::Dim)]);
    }
}

/// The numbers of a row and its name behind them; in words on a page too narrow for both.
fn line(page: &mut Page, numbers: Numbers, row: &LockRow) {
    let text = numbers.row(row);
    let room = page.width().saturating_sub(wrap::columns(&text));
    if page.width() >= NUMBERS + NAME_MIN && room >= NAME_MIN {
        named(page, &text, &row.name, room);
    } else {
        page.paragraph(0, &row.name, Style::Bold);
        page.paragraph(4, &numbers.words(row), Style::Plain);
    }
}

/// Numbers, and a name beside them in so many columns, on as many lines as it takes.
fn named(page: &mut Page, numbers: &str, name: &str, room: usize) {
    let name = match name.is_empty() {
        true => "(no name)".to_owned(),
        false => escape::terminal(name),
    };
    let name = wrap::cut_middle(&name, room * NAME_LINES);
    let mut lead = wrap::cut(numbers, page.width());
    let blank = " ".repeat(wrap::columns(&lead));
    for line in wrap::wrap(&name, room.max(1)) {
        page.raw(&[(&lead, Style::Plain), (&line, Style::Bold)]);
        lead.clone_from(&blank);
    }
}

fn more(page: &mut Page, all: usize, shown: usize, noun: &str) {
    if let Some(rest @ 1..) = all.checked_sub(shown) {
        let text = format!("{} not shown.", counted_more(rest as u64, noun));
        page.paragraph(2, &text, Style::Dim);
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
