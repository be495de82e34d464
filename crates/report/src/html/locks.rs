//! Locks: who waited for what, for how long, and who held it.

use model::{Depth, Holder, HolderBy, Incident, LockRow, LockTable, NamedBy, StackBook};

use super::{
    frames,
    table::{Column, Holds, Table, cell},
};
use crate::{
    escape,
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

pub(super) fn section(incident: &Incident) -> Option<String> {
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
    let mut out = format!(
        "<p>{}{place}. {}</p>",
        range(incident, shown),
        depth(&shown.depth)
    );
    out.push_str(&locks(shown));
    out.push_str(&details(book, shown));
    out.push_str(&conditions(shown));
    out.push_str(&kernel(shown));
    if !shown.absent.is_empty() {
        let items: String = shown
            .absent
            .iter()
            .map(|absent| {
                format!(
                    "<li>{}: {} <small>{}</small></li>",
                    cell(&absent.what),
                    absent.reason.words(),
                    cell(&absent.detail)
                )
            })
            .collect();
        out.push_str(&format!("<h4>Not taken</h4><ul>{items}</ul>"));
    }
    let others: Vec<&LockTable> = all
        .iter()
        .filter(|table| !std::ptr::eq(*table, shown))
        .collect();
    if !others.is_empty() {
        out.push_str(&other_tables(incident, &others));
    }
    Some(out)
}

fn range(incident: &Incident, table: &LockTable) -> String {
    format!(
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
                out.push_str(&format!(
                    " Counting took {} of processor time.",
                    time(*cost_us as f64)
                ));
            }
            if let Some(ms) = switched_off_after_ms {
                out.push_str(&format!(
                    " It switched itself off after {}, above its limit of waits a second.",
                    when::duration(*ms)
                ));
            }
            out
        }
        Depth::Told { by } => format!(
            "Told by {}: what it does not tell of a lock stands as 0.",
            escape::html(by)
        ),
    }
}

fn locks(table: &LockTable) -> String {
    if table.locks.is_empty() {
        return "<p class=\"none\">No thread was seen waiting for a lock.</p>".to_owned();
    }
    let about = match table.depth {
        Depth::Sampled { .. } => "about ",
        Depth::Exact { .. } | Depth::Told { .. } => "",
    };
    let columns = [
        Column("Lock", Holds::Code),
        Column("Waiting at once", Holds::Numbers),
        Column("Waits", Holds::Numbers),
        Column("Waited", Holds::Numbers),
        Column("Mean", Holds::Numbers),
        Column("Longest", Holds::Numbers),
        Column("Share of thread time", Holds::Numbers),
        Column("Held by", Holds::Words),
    ];
    let rows = table.locks.iter().map(|row| {
        let held = row.holders.first().map_or_else(
            || "not known".to_owned(),
            |holder| match holder.by {
                HolderBy::Server => format!("{}, {}", cell(&holder.name), cell(&doing(holder))),
                _ => format!(
                    "thread {} ({}), {}",
                    holder.tid,
                    cell(&holder.name),
                    cell(&doing(holder))
                ),
            },
        );
        vec![
            cell(&row.name),
            format!("<b>{}</b>", grouped(i64::from(row.waiters_max))),
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
fn details(book: &StackBook, table: &LockTable) -> String {
    let mut out = String::new();
    let mut left_out = table.locks.len().saturating_sub(DETAILED_MAX);
    for (index, row) in table.locks.iter().take(DETAILED_MAX).enumerate() {
        if out.len() > DETAILS_BYTES_MAX {
            left_out += 1;
            continue;
        }
        let open = if index == 0 { " open=\"\"" } else { "" };
        out.push_str(&format!(
            "<details class=\"lock\"{open}><summary><code>{}</code>: who asked, who held</summary>{}</details>",
            cell(&row.name),
            detail(book, row)
        ));
    }
    if left_out > 0 {
        out.push_str(&format!(
            "<p class=\"none\">Callers and holders of {left_out} more locks are not shown.</p>"
        ));
    }
    out
}

fn detail(book: &StackBook, row: &LockRow) -> String {
    let address = match row.address {
        0 if row.named_by == NamedBy::Told => "its address is not told".to_owned(),
        0 => "several addresses under one name".to_owned(),
        address => format!("<code>{address:#x}</code>"),
    };
    let named = match row.named_by {
        NamedBy::Symbol => "named by its symbol",
        NamedBy::Arena => "named by its place in an allocation arena and its callers",
        NamedBy::CallPath => "named by the only call path that waits for it",
        NamedBy::Address => "no name known",
        NamedBy::Told => "named by who told it",
    };
    let mut out = format!("<p class=\"numbers\"><span>{named}</span> <span>{address}</span></p>");
    for holder in row.holders.iter().take(HOLDERS_MAX) {
        if holder.by == HolderBy::Server {
            out.push_str(&format!(
                "<p>Held by <b>{}</b>, {}; known from the server.</p>",
                cell(&holder.name),
                cell(&doing(holder))
            ));
            continue;
        }
        let by = match holder.by {
            HolderBy::OwnerField => "the lock's own owner field",
            HolderBy::Stack => "its stack: it stands in code that runs only under this lock",
            HolderBy::Server => "the server",
        };
        out.push_str(&format!(
            "<p>Held by thread <b>{}</b> ({}), {}, in {} snapshots; known from {by}.</p>{}",
            holder.tid,
            cell(&holder.name),
            cell(&doing(holder)),
            grouped(i64::from(holder.snapshots)),
            frames::folded(book, holder.stack, None)
        ));
    }
    if row.holders.len() > HOLDERS_MAX {
        out.push_str(&format!(
            "<p class=\"none\">{} more holders are not shown.</p>",
            row.holders.len() - HOLDERS_MAX
        ));
    }
    if row.callers.is_empty() {
        return out;
    }
    let columns = [
        Column("Asked for by, innermost first", Holds::Code),
        Column("Waits", Holds::Numbers),
        Column("Waited", Holds::Numbers),
        Column("Longest", Holds::Numbers),
    ];
    let rows = row.callers.iter().map(|caller| {
        vec![
            format!(
                "<details class=\"stacked\"><summary>{}</summary>{}</details>",
                path(&caller.path),
                frames::list(book, caller.stack)
            ),
            number(caller.waits),
            time(caller.total_us),
            time(caller.max_us),
        ]
    });
    out + &Table::wide("", &columns).rows(rows, CALLERS_MAX)
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
        false => cell(&shown.join(" ← ")) + more,
    }
}

fn conditions(table: &LockTable) -> String {
    let idle = match table.idle_threads {
        0 => String::new(),
        count => format!(
            "<p>{} threads waited for work; they count nowhere above.</p>",
            grouped(i64::from(count))
        ),
    };
    if table.conditions.is_empty() {
        return idle;
    }
    let columns = [
        Column("Condition", Holds::Code),
        Column("Waiting at once", Holds::Numbers),
        Column("Waits", Holds::Numbers),
        Column("Waited", Holds::Numbers),
        Column("From", Holds::Code),
    ];
    let rows = table.conditions.iter().map(|row| {
        vec![
            cell(&row.name),
            grouped(i64::from(row.waiters_max)),
            number(row.waits),
            time(row.total_us),
            row.callers
                .first()
                .map_or_else(String::new, |caller| path(&caller.path)),
        ]
    });
    format!(
        "{idle}<details><summary>Waits on condition variables ({}): for work or an answer, no contention</summary>{}</details>",
        table.conditions.len(),
        Table::wide("", &columns).rows(rows, LOCKS_MAX)
    )
}

fn kernel(table: &LockTable) -> String {
    if table.kernel_locks.is_empty() {
        return String::new();
    }
    let columns = [
        Column("Lock of the kernel", Holds::Code),
        Column("Waits", Holds::Numbers),
        Column("By the server", Holds::Numbers),
        Column("Waited", Holds::Numbers),
        Column("Longest", Holds::Numbers),
        Column("Asked for by, innermost first", Holds::Code),
    ];
    let rows = table.kernel_locks.iter().map(|row| {
        vec![
            cell(&row.name),
            number(row.waits),
            number(row.server_waits),
            time(row.total_us),
            time(row.max_us),
            path(&row.path),
        ]
    });
    format!(
        "<h3>In the kernel</h3>{}",
        Table::wide("", &columns).rows(rows, KERNEL_LOCKS_MAX)
    )
}

fn other_tables(incident: &Incident, tables: &[&LockTable]) -> String {
    let items: String = tables
        .iter()
        .take(TABLES_MAX)
        .map(|table| {
            let first = table.locks.first().map_or_else(
                || "no lock waited for".to_owned(),
                |row| {
                    format!(
                        "{}: {} waiting at once, {} waited",
                        cell(&row.name),
                        grouped(i64::from(row.waiters_max)),
                        time(row.total_us)
                    )
                },
            );
            format!("<li>{}: {first}</li>", range(incident, table))
        })
        .collect();
    let more = match tables.len().saturating_sub(TABLES_MAX) {
        0 => String::new(),
        count => format!("<p class=\"none\">{count} more are not shown.</p>"),
    };
    format!(
        "<details><summary>The fullest table is shown; the other {} by their first lock</summary><ul>{items}</ul>{more}</details>",
        tables.len()
    )
}

fn time(us: f64) -> String {
    escape::html(&Quantity::Seconds.say(us * 1e-6))
}

fn number(count: u64) -> String {
    grouped(i64::try_from(count).unwrap_or(i64::MAX))
}

fn share(share: f64) -> String {
    escape::html(&format!("{}%", digits(share * 100.0)))
}
