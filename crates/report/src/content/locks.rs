//! Locks: who waited for what, for how long, and who held it.

use model::{
    Holder, HolderBy, KernelLockRow, LockCaller, LockRow, LockTable, NamedBy, StackTable,
    WaitChain, WaitCounting,
};

use super::absences;
use crate::document::{CellKind, Column, Folded, Part, Prose, Row, Section, Shape, Stack, Table};
use crate::evidence::chain::{chain_sentence, holder_by_words};
use crate::evidence::stacks_json::address;
use crate::units::{Quantity, counted, grouped, plural};

/// Microseconds in a second.
const MICROSECONDS: f64 = 1e6;
/// Locks without a known holder that the chains name.
const UNKNOWN_MAX: usize = 6;
/// Locks whose callers and holders a terminal shows.
const DETAILED_MAX: usize = 5;
/// Locks whose callers and holders a page shows.
const PAGE_DETAILED_MAX: usize = 8;
/// Locks of a page's table.
pub(crate) const PAGE_LOCKS_MAX: usize = 20;
/// Locks that are shown however little time they have.
const LINES_MIN: usize = 5;
/// Locks are shown until they have so much of the time waited for all of them.
const LINES_SHARE: f64 = 0.99;
/// Call paths of a lock that are shown, on a terminal and on a page.
const CALLERS_MAX: (usize, usize) = (3, 8);
/// Call paths with less of their lock's time are not shown on a terminal, but for the first.
const CALLER_SHARE_MIN: f64 = 0.05;
/// Functions of a call path that are shown.
const PATH_MAX: usize = 8;
/// Holders of a lock that are shown; on a terminal with the frames of the first.
const HOLDERS_MAX: usize = 4;
/// Frames of a holder that a terminal shows.
const HOLDER_FRAMES: usize = 10;
/// Frames of the kernel among them, for a holder that is in it.
const HOLDER_KERNEL_FRAMES: usize = 3;
/// Waits on condition variables that are shown, on a terminal and on a page.
const CONDITIONS_MAX: (usize, usize) = (5, 20);
/// Locks of the kernel that are shown, on a terminal and on a page.
const KERNEL_LOCKS_MAX: (usize, usize) = (8, 15);
/// Locks of the kernel with less of the time waited for all of them are not shown on a terminal.
const KERNEL_SHARE_MIN: f64 = 0.01;
/// Functions of their call paths that are shown.
const KERNEL_PATH_MAX: usize = 4;
/// How a terminal lays out the tables: a narrow one has the numbers of a lock in a sentence.
const SHAPE: Shape = Shape {
    name_lines: 3,
    ..Shape::NAME_LAST
};

/// The chains, a sentence each; those that name no holder in one.
pub(crate) fn chains(table: &LockTable) -> Vec<Part> {
    let chains = table.chains.iter().filter(|chain| !chain.links.is_empty());
    let (held, unknown): (Vec<&WaitChain>, Vec<&WaitChain>) =
        chains.partition(|chain| chain.links.iter().any(|link| link.holder.is_some()));
    let mut lines: Vec<String> = held
        .iter()
        .map(|chain| chain_sentence(chain) + ".")
        .collect();
    let crowds: Vec<String> = unknown
        .iter()
        .take(UNKNOWN_MAX)
        .filter_map(|chain| chain.links.first())
        .map(|link| {
            let threads = counted(u64::from(link.waiters), "thread");
            format!("{} ({threads})", link.lock)
        })
        .collect();
    if !crowds.is_empty() {
        let more = match unknown.len() - crowds.len() {
            0 => String::new(),
            more => format!(" and {}", counted_more(more, "lock")),
        };
        lines.push(format!("Unknown who holds {}{more}.", crowds.join(", ")));
    }
    match lines.is_empty() {
        true => Vec::new(),
        false => vec![Part::list(lines)],
    }
}

/// The locks, then callers and holders of each, waits that are for no lock, locks of the kernel and
/// what is absent. A terminal shows `limit` locks at the most; 0 for all.
pub(crate) fn sections(table: &LockTable, book: &StackTable, limit: usize) -> Vec<Section> {
    [
        ("Locks", locks(table, limit)),
        ("Callers and holders", details(table, book, limit)),
        (
            "Waits for work or answers (not for locks)",
            conditions(table),
        ),
        (
            "Locks of the kernel, all processes",
            kernel(&table.kernel_locks),
        ),
        ("Missing evidence", absences::list(&table.absent)),
    ]
    .into_iter()
    .filter_map(|(title, parts)| Section::from_parts(title, parts))
    .collect()
}

/// How waits were counted, what that means for the numbers, and what it cost.
pub(crate) fn depth(table: &LockTable) -> String {
    match &table.depth {
        WaitCounting::Sampled {
            snapshots,
            interval_ms,
        } => {
            let interval = Quantity::Seconds.to_text(interval_ms / 1000.0);
            format!(
                "Sampled: {}, one every {interval}. Counts and times are estimates (~); a wait \
                 shorter than {interval} is seen with the probability of its length.",
                counted(u64::from(*snapshots), "snapshot"),
            )
        }
        WaitCounting::Exact {
            events,
            stack_every,
            cost_us,
            switched_off_after_ms,
        } => {
            let callers = match stack_every {
                0 => "callers were not recorded".to_owned(),
                1 => "callers are from every wait".to_owned(),
                every => format!("callers are from one wait in {}", grouped(*every)),
            };
            let seconds = match switched_off_after_ms {
                Some(ms) => *ms,
                None => table.to.saturating_sub(table.from),
            } as f64
                / 1000.0;
            let cost = match (cost_us, seconds > 0.0) {
                (0, _) => "the kernel does not report the cost of counting".to_owned(),
                (us, positive) => {
                    let spent = *us as f64 / MICROSECONDS;
                    let of_one = match positive {
                        true => {
                            format!(" ({} of one CPU)", Quantity::Share.to_text(spent / seconds))
                        }
                        false => String::new(),
                    };
                    format!("counting cost {}{of_one}", Quantity::Seconds.to_text(spent))
                }
            };
            let off = match switched_off_after_ms {
                None => String::new(),
                Some(ms) => format!(
                    " Counting stopped after {}, because the rate of events was above the limit.",
                    Quantity::Seconds.to_text(*ms as f64 / 1000.0)
                ),
            };
            format!(
                "Exact: every wait was counted and timed, {}; {callers}; {cost}.{off}",
                counted(*events, "wait")
            )
        }
        WaitCounting::Told { by } => {
            format!("Reported by {by}; values that it does not have are 0.")
        }
    }
}

/// Writes numbers of waits: with a mark where they are estimates.
#[derive(Debug, Clone, Copy)]
struct Numbers {
    estimated: bool,
}

impl Numbers {
    const EXACT: Self = Self { estimated: false };

    fn for_depth(depth: &WaitCounting) -> Self {
        Self {
            estimated: matches!(depth, WaitCounting::Sampled { .. }),
        }
    }

    fn count(self, count: u64) -> String {
        format!("{}{}", self.mark(), Quantity::Count.to_text(count as f64))
    }

    fn waits(self, waits: u64) -> String {
        format!("{} {}", self.count(waits), plural(waits, "wait"))
    }

    fn time(self, us: f64) -> String {
        let time = Quantity::Seconds.to_text(us / MICROSECONDS);
        format!("{}{time}", self.mark())
    }

    /// A longest wait is as long as it was seen.
    fn at_least(self, us: f64) -> String {
        let mark = if self.estimated { "≥" } else { "" };
        format!("{mark}{}", Quantity::Seconds.to_text(us / MICROSECONDS))
    }

    fn mark(self) -> &'static str {
        if self.estimated { "~" } else { "" }
    }

    fn columns(self, name: &str) -> Vec<Column> {
        let number =
            |title, short, width| Column::new(title, CellKind::Numbers).short(short, width);
        vec![
            Column::new(name, CellKind::Code).short(&name.to_uppercase(), 0),
            number("Waiting together", "WAITERS", 7),
            number("Waits", "WAITS", 8),
            number("Waited", "TOTAL", 9),
            number("Mean", "MEAN", 9),
            number("Longest", "MAX", 9),
            number("Share of thread time", "SHARE", 6),
        ]
    }

    fn row(self, row: &LockRow) -> Row {
        let numbers = [
            grouped(row.waiters_max),
            self.count(row.waits),
            self.time(row.total_us),
            self.time(row.mean_us()),
            self.at_least(row.max_us),
            Quantity::Share.to_text(row.share),
        ];
        let mut cells = vec![Prose::from(name(&row.name))];
        let [waiters, rest @ ..] = numbers;
        cells.push(Prose::default().strong(waiters));
        cells.extend(rest.map(Prose::from));
        Row {
            strong: true,
            ..Row::new(cells)
        }
    }
}

fn name(name: &str) -> &str {
    match name.is_empty() {
        true => "(no name)",
        false => name,
    }
}

fn locks(table: &LockTable, limit: usize) -> Vec<Part> {
    if table.locks.is_empty() {
        let nothing = "No thread was seen waiting for a lock.";
        return vec![Part::paragraph(nothing)];
    }
    let numbers = Numbers::for_depth(&table.depth);
    let mut columns = numbers.columns("Lock");
    columns.push(Column::new("Held by", CellKind::Text).page_only());
    let rows = table.locks.iter().map(|lock| {
        let mut row = numbers.row(lock);
        let holder = lock.holders.first();
        row.cells.push(match holder {
            Some(holder) => format!("{}{}", who(holder), doing(holder)).into(),
            None => "unknown".into(),
        });
        row
    });
    let shown = worth_showing(&table.locks, limit);
    let rest = table.locks.get(shown..).unwrap_or_default();
    let mut out = Table::new(columns).rows(rows).shape(SHAPE);
    out.more = format!(
        "{} with {} in {} not shown.",
        counted_more(rest.len(), "lock"),
        numbers.time(rest.iter().map(|row| row.total_us).sum()),
        numbers.waits(rest.iter().map(|row| row.waits).sum()),
    );
    vec![Part::Table(out.limits(shown, PAGE_LOCKS_MAX))]
}

/// How many rows are shown: up to the limit, and not those that together have next to no time.
fn worth_showing(locks: &[LockRow], limit: usize) -> usize {
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

/// What each lock's name rests on, its call paths and its holders; the first one unfolded.
fn details(table: &LockTable, book: &StackTable, limit: usize) -> Vec<Part> {
    let numbers = Numbers::for_depth(&table.depth);
    let shown = worth_showing(&table.locks, limit);
    let detailed = match limit {
        0 => shown,
        limit => limit.min(DETAILED_MAX).min(shown),
    };
    let on_page = PAGE_DETAILED_MAX.max(detailed);
    let locks = table.locks.iter().take(on_page).enumerate();
    locks
        .map(|(index, row)| {
            Part::Folded(Folded {
                summary: Prose::default().code(name(&row.name)),
                class: "lock",
                open: index == 0,
                on_terminal: index < detailed,
                parts: detail(row, book, numbers),
            })
        })
        .collect()
}

fn detail(row: &LockRow, book: &StackTable, numbers: Numbers) -> Vec<Part> {
    let mut out = vec![Part::Note(named(row).into())];
    if !row.callers.is_empty() {
        out.push(callers(row, book, numbers));
    }
    for (index, holder) in row.holders.iter().take(HOLDERS_MAX).enumerate() {
        out.push(Part::Lead("held by", holder_sentence(holder).into()));
        // What the kernel does tells nothing of one that waits or is ready to run.
        let in_kernel = holder.doing.starts_with("in ") || holder.doing.starts_with("unint");
        out.push(Part::Stack(Stack {
            frames_max: HOLDER_FRAMES,
            kernel_max: if in_kernel { HOLDER_KERNEL_FRAMES } else { 0 },
            on_terminal: index == 0,
            ..Stack::from_book(book, holder.stack)
        }));
    }
    if let Some(rest @ 1..) = row.holders.len().checked_sub(HOLDERS_MAX) {
        let text = format!("{} not shown.", counted_more(rest, "holder"));
        out.push(Part::Note(text.into()));
    }
    out
}

fn callers(row: &LockRow, book: &StackTable, numbers: Numbers) -> Part {
    let is_worth = |(index, caller): &(usize, &LockCaller)| {
        *index == 0 || caller.total_us >= row.total_us * CALLER_SHARE_MIN
    };
    let callers = row.callers.iter().enumerate().take(CALLERS_MAX.0);
    let shown = callers.take_while(is_worth).count();
    let rest = row.callers.get(shown..).unwrap_or_default();
    let rows = row.callers.iter().enumerate().map(|(index, caller)| {
        let path = path(&caller.path, PATH_MAX);
        let sentence = format!(
            "{} in {}: {path}",
            numbers.time(caller.total_us),
            numbers.waits(caller.waits)
        );
        Row {
            sentence: (index < shown).then(|| sentence.into()),
            ..Row::new([
                Prose::default().path(path, Stack::from_book(book, caller.stack)),
                numbers.count(caller.waits).into(),
                numbers.time(caller.total_us).into(),
                numbers.at_least(caller.max_us).into(),
            ])
        }
    });
    let columns = vec![
        Column::new("Callers, innermost first", CellKind::Code),
        Column::new("Waits", CellKind::Numbers),
        Column::new("Waited", CellKind::Numbers),
        Column::new("Longest", CellKind::Numbers),
    ];
    let mut table = Table::new(columns).rows(rows).shape(Shape::SENTENCES);
    let time = rest.iter().map(|caller| caller.total_us).sum();
    let more = counted_more(rest.len(), "call path");
    table.more = format!("{more} with {} not shown.", numbers.time(time));
    Part::Table(table.limits(shown, CALLERS_MAX.1))
}

fn path(functions: &[String], most: usize) -> String {
    let mut path: Vec<&str> = functions.iter().take(most).map(String::as_str).collect();
    if functions.len() > most {
        path.push("…");
    }
    match path.is_empty() {
        true => "no stack was recorded".to_owned(),
        false => path.join(" < "),
    }
}

fn holder_sentence(holder: &Holder) -> String {
    let seen = match holder.by {
        HolderBy::Server => String::new(),
        _ => format!(", in {}", counted(u64::from(holder.snapshots), "snapshot")),
    };
    format!(
        "{}, known {}{seen}{}",
        who(holder),
        holder_by_words(holder.by),
        doing(holder)
    )
}

fn who(holder: &Holder) -> String {
    match (holder.by, holder.name.is_empty()) {
        (HolderBy::Server, false) => holder.name.clone(),
        (_, true) => format!("thread {}", holder.tid),
        (_, false) => format!("thread {} ({})", holder.tid, holder.name),
    }
}

fn doing(holder: &Holder) -> String {
    match holder.doing.is_empty() {
        true => String::new(),
        false => format!(": {}", holder.doing),
    }
}

fn named(row: &LockRow) -> String {
    let at = match row.address {
        0 => String::new(),
        at => format!(", at {}", address(at)),
    };
    let by = match row.named_by {
        NamedBy::Symbol => "named by the symbol at its address",
        NamedBy::Arena => "an allocation arena of glibc, known by its address and callers",
        NamedBy::CallPath => "named by the call path of the waiting threads",
        NamedBy::Address => "no name, only the callers are known",
        NamedBy::Told => "named by the source",
    };
    format!("{by}{at}")
}

fn conditions(table: &LockTable) -> Vec<Part> {
    let mut out = Vec::new();
    match table.idle_threads {
        0 => {}
        1 => out.push(Part::paragraph("1 thread waits for work.")),
        count => {
            let count = grouped(count);
            out.push(Part::paragraph(format!("{count} threads wait for work.")));
        }
    }
    if table.conditions.is_empty() {
        return out;
    }
    let numbers = Numbers::for_depth(&table.depth);
    let mut columns = numbers.columns("Condition");
    columns.push(Column::new("From", CellKind::Code).page_only());
    let rows = table.conditions.iter().map(|condition| {
        let caller = condition.callers.first();
        let caller = caller.filter(|caller| !caller.path.is_empty());
        let path = caller.map_or_else(String::new, |caller| path(&caller.path, PATH_MAX));
        let mut row = numbers.row(condition);
        row.cells.push(path.as_str().into());
        Row { below: path, ..row }
    });
    let mut rows = Table::new(columns).rows(rows).shape(SHAPE);
    let (shown, on_page) = CONDITIONS_MAX;
    let rest = table.conditions.len().saturating_sub(shown);
    rows.more = format!("{} not shown.", counted_more(rest, "condition"));
    out.push(Part::Table(rows.limits(shown, on_page)));
    out
}

fn kernel(locks: &[KernelLockRow]) -> Vec<Part> {
    if locks.is_empty() {
        return Vec::new();
    }
    let number = |title, short, width| Column::new(title, CellKind::Numbers).short(short, width);
    let columns = vec![
        Column::new("Lock", CellKind::Code).short("LOCK", 0),
        number("Waits", "WAITS", 8),
        number("By the server", "SERVER'S", 8),
        number("Waited", "TOTAL", 9),
        number("Mean", "MEAN", 9),
        number("Longest", "MAX", 9),
        Column::new("Callers, innermost first", CellKind::Code).page_only(),
    ];
    let exact = Numbers::EXACT;
    let rows = locks.iter().map(|lock| {
        let path = match lock.path.is_empty() {
            true => String::new(),
            false => path(&lock.path, KERNEL_PATH_MAX),
        };
        Row {
            strong: true,
            below: path.clone(),
            ..Row::new([
                name(&lock.name).to_owned(),
                exact.count(lock.waits),
                exact.count(lock.server_waits),
                exact.time(lock.total_us),
                exact.time(lock.total_us / lock.waits.max(1) as f64),
                exact.time(lock.max_us),
                path,
            ])
        }
    });
    let all: f64 = locks.iter().map(|row| row.total_us).sum();
    let (most, on_page) = KERNEL_LOCKS_MAX;
    let shown = locks
        .iter()
        .take(most)
        .take_while(|row| row.total_us >= all * KERNEL_SHARE_MIN)
        .count();
    let rest = locks.get(shown..).unwrap_or_default();
    let mut table = Table::new(columns).rows(rows).shape(SHAPE);
    let time = exact.time(rest.iter().map(|row| row.total_us).sum());
    table.more = format!(
        "{} with {time} not shown.",
        counted_more(rest.len(), "lock")
    );
    vec![Part::Table(table.limits(shown, on_page))]
}

fn counted_more(count: usize, noun: &str) -> String {
    format!("{} more {}", grouped(count), plural(count as u64, noun))
}
