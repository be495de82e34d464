//! Locks: who waited for what, for how long, and who held it.

use crate::markup::{Markup, markup, row};
use model::{Depth, Holder, HolderBy, Incident, LockRow, LockTable, NamedBy, StackBook};

use super::{
    frames,
    table::{Holds, Table, cell, column},
};
use crate::{
    units::{Quantity, digits, grouped},
    when,
};

/// Locks in the table.
const LOCKS_MAX: usize = 20;
/// Locks whose callers and holders are shown.
const DETAILED_MAX: usize = 8;
/// Bytes of callers and holders together, about.
const DETAILS_BYTES_MAX: usize = 250_000;
/// Callers of one lock.
const CALLERS_MAX: usize = 8;
/// Holders of one lock.
const HOLDERS_MAX: usize = 4;
/// Locks of the kernel.
const KERNEL_LOCKS_MAX: usize = 15;
/// Functions of a call path.
const PATH_MAX: usize = 6;
/// Other tables told of.
const TABLES_MAX: usize = 20;

pub(super) fn section(incident: &Incident) -> Option<Markup> {
    let stall = incident.stall_window();
    let all = &incident.stacks.locks;
    let waited = |table: &LockTable| table.locks.iter().map(|row| row.total_us).sum::<f64>();
    let inside = |table: &LockTable| table.to >= stall.from && table.from <= stall.to;
    let shown = all.iter().max_by(|a, b| {
        let by = inside(a).cmp(&inside(b));
        by.then_with(|| waited(a).total_cmp(&waited(b)))
    })?;
    let book = &incident.stacks.book;
    let place = match (inside(shown), shown.from < stall.from) {
        (true, _) => "",
        (false, true) => " before the onset",
        (false, false) => " after the stall",
    };
    let mut out = markup!(
        "<p>{}{place}. {}</p>",
        range(incident, shown),
        depth(&shown.depth),
        ..place
    );
    out += locks(shown);
    out += details(book, shown);
    out += conditions(shown);
    out += kernel(shown);
    if !shown.absent.is_empty() {
        let items: Markup = shown
            .absent
            .iter()
            .map(|absent| {
                markup!(
                    "<li>{}: {} <small>{}</small></li>",
                    cell(&absent.what),
                    absent.reason.words(),
                    cell(&absent.detail)
                )
            })
            .collect();
        out += markup!("<h4>Not taken</h4><ul>{items}</ul>", ..items);
    }
    let others: Vec<&LockTable> = all
        .iter()
        .filter(|table| !std::ptr::eq(*table, shown))
        .collect();
    if !others.is_empty() {
        out += other_tables(incident, &others);
    }
    Some(out)
}

fn range(incident: &Incident, table: &LockTable) -> Markup {
    markup!(
        "<b>{} to {}</b> ({})",
        when::moment(&incident.clock, table.from),
        when::moment_utc(&incident.clock, table.to),
        when::duration(table.to.saturating_sub(table.from))
    )
}

/// How the waits were counted, in words.
fn depth(depth: &Depth) -> String {
    match depth {
        Depth::Sampled {
            snapshots,
            interval_ms,
        } => format!(
            "Sampled: {} snapshots of all threads, {} apart. Waits shorter than that are seen by \
             chance, as often as they are long; counts and times are estimates.",
            grouped(i64::from(*snapshots)),
            time(interval_ms * 1000.0)
        ),
        Depth::Exact {
            events,
            stack_every,
            cost_us,
            switched_off_after_ms,
        } => {
            let mut out = format!(
                "Exact: each of {} waits was counted and timed; callers are from one wait in {}.",
                number(*events),
                grouped(i64::from(*stack_every))
            );
            if *cost_us > 0 {
                out += &format!(
                    " Counting took {} of processor time.",
                    time(*cost_us as f64)
                );
            }
            if let Some(ms) = switched_off_after_ms {
                out += &format!(
                    " It switched itself off after {}, above its limit of waits a second.",
                    when::duration(*ms)
                );
            }
            out
        }
        Depth::Told { by } => format!(
            "Told by {}: what it does not tell of a lock stands as 0.",
            by
        ),
    }
}

fn locks(table: &LockTable) -> Markup {
    if table.locks.is_empty() {
        return Markup::literal("<p class=\"none\">No thread was seen waiting for a lock.</p>");
    }
    let about = match table.depth {
        Depth::Sampled { .. } => "about ",
        Depth::Exact { .. } | Depth::Told { .. } => "",
    };
    let columns = [
        column("Lock", Holds::Code),
        column("Waiting at once", Holds::Numbers),
        column("Waits", Holds::Numbers),
        column("Waited", Holds::Numbers),
        column("Mean", Holds::Numbers),
        column("Longest", Holds::Numbers),
        column("Share of thread time", Holds::Numbers),
        column("Held by", Holds::Words),
    ];
    let rows = table.locks.iter().map(|row| {
        let held = row.holders.first().map_or_else(
            || "not known".to_owned(),
            |holder| match holder.by {
                HolderBy::Server => format!("{}, {}", holder.name, doing(holder)),
                _ => format!("thread {} ({}), {}", holder.tid, holder.name, doing(holder)),
            },
        );
        row![
            row.name,
            markup!("<b>{}</b>", grouped(i64::from(row.waiters_max))),
            format!("{about}{}", number(row.waits)),
            format!("{about}{}", time(row.total_us)),
            time(row.mean_us()),
            time(row.max_us),
            share(row.share),
            held,
        ]
    });
    Table::wide("", &columns).rows(rows, LOCKS_MAX)
}

fn doing(holder: &Holder) -> String {
    match holder.doing.starts_with("in ") {
        true => format!("which is {}", holder.doing),
        false if holder.doing.is_empty() => "doing unknown".to_owned(),
        false => format!("which {}", holder.doing),
    }
}

/// Callers and holders of each lock, the first one unfolded.
fn details(book: &StackBook, table: &LockTable) -> Markup {
    let mut out = Markup::new();
    let mut left_out = table.locks.len().saturating_sub(DETAILED_MAX);
    for (index, row) in table.locks.iter().take(DETAILED_MAX).enumerate() {
        if out.len() > DETAILS_BYTES_MAX {
            left_out += 1;
            continue;
        }
        let open = Markup::literal(if index == 0 { " open=\"\"" } else { "" });
        out += markup!(
            "<details class=\"lock\"{open}><summary><code>{}</code>: who asked, who held</summary>{}</details>",
            cell(&row.name),
            detail(book, row),
            ..open
        );
    }
    if left_out > 0 {
        out += markup!(
            "<p class=\"none\">Callers and holders of {left_out} more locks are not shown.</p>",
            ..left_out
        );
    }
    out
}

fn detail(book: &StackBook, row: &LockRow) -> Markup {
    let address = match row.address {
        0 if row.named_by == NamedBy::Told => Markup::literal("its address is not told"),
        0 => Markup::literal("several addresses under one name"),
        address => markup!("<code>{}</code>", format!("{address:#x}")),
    };
    let named = match row.named_by {
        NamedBy::Symbol => "named by its symbol",
        NamedBy::Arena => "named by its place in an allocation arena and its callers",
        NamedBy::CallPath => "named by the only call path that waits for it",
        NamedBy::Address => "no name known",
        NamedBy::Told => "named by who told it",
    };
    let mut out = markup!(
        "<p class=\"numbers\"><span>{named}</span> <span>{address}</span></p>",
        ..named,
        ..address
    );
    for holder in row.holders.iter().take(HOLDERS_MAX) {
        if holder.by == HolderBy::Server {
            out += markup!(
                "<p>Held by <b>{}</b>, {}; known from the server.</p>",
                cell(&holder.name),
                cell(&doing(holder))
            );
            continue;
        }
        let by = match holder.by {
            HolderBy::OwnerField => "the lock's own owner field",
            HolderBy::Stack => "its stack: it stands in code that runs only under this lock",
            HolderBy::Server => "the server",
        };
        out += markup!(
            "<p>Held by thread <b>{}</b> ({}), {}, in {} snapshots; known from {by}.</p>{}",
            holder.tid,
            cell(&holder.name),
            cell(&doing(holder)),
            grouped(i64::from(holder.snapshots)),
            frames::folded(book, holder.stack, None),
            ..by
        );
    }
    if row.holders.len() > HOLDERS_MAX {
        out += markup!(
            "<p class=\"none\">{} more holders are not shown.</p>",
            row.holders.len() - HOLDERS_MAX
        );
    }
    if row.callers.is_empty() {
        return out;
    }
    let columns = [
        column("Asked for by, innermost first", Holds::Code),
        column("Waits", Holds::Numbers),
        column("Waited", Holds::Numbers),
        column("Longest", Holds::Numbers),
    ];
    let rows = row.callers.iter().map(|caller| {
        row![
            markup!(
                "<details class=\"stacked\"><summary>{}</summary>{}</details>",
                path(&caller.path),
                frames::list(book, caller.stack)
            ),
            number(caller.waits),
            time(caller.total_us),
            time(caller.max_us),
        ]
    });
    out += Table::wide("", &columns).rows(rows, CALLERS_MAX);
    out
}

fn path(functions: &[String]) -> String {
    let shown: Vec<&str> = functions
        .iter()
        .take(PATH_MAX)
        .map(String::as_str)
        .collect();
    let more = if functions.len() > PATH_MAX {
        " ← …"
    } else {
        ""
    };
    match shown.is_empty() {
        true => "(not known)".to_owned(),
        false => shown.join(" ← ") + more,
    }
}

fn conditions(table: &LockTable) -> Markup {
    let idle = match table.idle_threads {
        0 => Markup::new(),
        count => markup!(
            "<p>{} threads waited for work; they count nowhere above.</p>",
            grouped(i64::from(count))
        ),
    };
    if table.conditions.is_empty() {
        return idle;
    }
    let columns = [
        column("Condition", Holds::Code),
        column("Waiting at once", Holds::Numbers),
        column("Waits", Holds::Numbers),
        column("Waited", Holds::Numbers),
        column("From", Holds::Code),
    ];
    let rows = table.conditions.iter().map(|row| {
        row![
            row.name,
            grouped(i64::from(row.waiters_max)),
            number(row.waits),
            time(row.total_us),
            row.callers
                .first()
                .map_or_else(String::new, |caller| path(&caller.path)),
        ]
    });
    markup!(
        "{idle}<details><summary>Waits on condition variables ({}): for work or an answer, no contention</summary>{}</details>",
        table.conditions.len(),
        Table::wide("", &columns).rows(rows, LOCKS_MAX),
        ..idle
    )
}

fn kernel(table: &LockTable) -> Markup {
    if table.kernel_locks.is_empty() {
        return Markup::new();
    }
    let columns = [
        column("Lock of the kernel", Holds::Code),
        column("Waits", Holds::Numbers),
        column("By the server", Holds::Numbers),
        column("Waited", Holds::Numbers),
        column("Longest", Holds::Numbers),
        column("Asked for by, innermost first", Holds::Code),
    ];
    let rows = table.kernel_locks.iter().map(|row| {
        row![
            row.name,
            number(row.waits),
            number(row.server_waits),
            time(row.total_us),
            time(row.max_us),
            path(&row.path),
        ]
    });
    markup!(
        "<h3>In the kernel</h3>{}",
        Table::wide("", &columns).rows(rows, KERNEL_LOCKS_MAX)
    )
}

fn other_tables(incident: &Incident, tables: &[&LockTable]) -> Markup {
    let items: Markup = tables
        .iter()
        .take(TABLES_MAX)
        .map(|table| {
            let first = table.locks.first().map_or_else(
                || "no lock waited for".to_owned(),
                |row| {
                    format!(
                        "{}: {} waiting at once, {} waited",
                        row.name,
                        grouped(i64::from(row.waiters_max)),
                        time(row.total_us)
                    )
                },
            );
            markup!("<li>{}: {first}</li>", range(incident, table), ..first)
        })
        .collect();
    let more = match tables.len().saturating_sub(TABLES_MAX) {
        0 => Markup::new(),
        count => markup!("<p class=\"none\">{count} more are not shown.</p>", ..count),
    };
    markup!(
        "<details><summary>The fullest table is shown; the other {} by their first lock</summary><ul>{items}</ul>{more}</details>",
        tables.len(),
        ..items,
        ..more
    )
}

fn time(us: f64) -> String {
    Quantity::Seconds.say(us * 1e-6)
}

fn number(count: u64) -> String {
    grouped(i64::try_from(count).unwrap_or(i64::MAX))
}

fn share(share: f64) -> String {
    format!("{}%", digits(share * 100.0))
}
