//! Tables of locks: who waits for what, and what the holder does. Their words are ours, or those of the
//! server's own tables of locks.

use model::{KernelLockRow, LockRow, LockTable};

use super::keywords::is_keyword;
use super::pseudonyms::Pseudonyms;
use super::{absent, names, statement, well_known};

/// Beginnings of locks that are named by what they lock.
const ON: [&str; 3] = ["row lock on ", "metadata lock on ", "table lock on "];

pub(super) fn rename(pseudonyms: &mut Pseudonyms<'_>, table: &LockTable) -> LockTable {
    let mut out = table.clone();
    for row in out.locks.iter_mut().chain(&mut out.conditions) {
        lock(pseudonyms, row);
    }
    for link in out.chains.iter_mut().flat_map(|chain| &mut chain.links) {
        link.lock = name(pseudonyms, &link.lock);
        if let Some(holder) = &mut link.holder {
            holder.name = pseudonyms.sweep(&holder.name).into_owned();
            holder.doing = doing(pseudonyms, &holder.doing);
        }
    }
    for KernelLockRow { name, path, .. } in &mut out.kernel_locks {
        *name = pseudonyms.sweep(name).into_owned();
        for function in path {
            *function = pseudonyms.sweep(function).into_owned();
        }
    }
    for one in &mut out.absent {
        absent(pseudonyms, one);
    }
    out
}

fn lock(pseudonyms: &mut Pseudonyms<'_>, row: &mut LockRow) {
    row.name = name(pseudonyms, &row.name);
    for function in row.callers.iter_mut().flat_map(|caller| &mut caller.path) {
        *function = pseudonyms.sweep(function).into_owned();
    }
    for holder in &mut row.holders {
        holder.name = pseudonyms.sweep(&holder.name).into_owned();
        holder.doing = doing(pseudonyms, &holder.doing);
    }
}

/// `row lock on shop.orders (mail_idx)`, `metadata lock on shop.orders`; others are the server's own.
fn name(pseudonyms: &mut Pseudonyms<'_>, name: &str) -> String {
    let Some((head, what)) = ON
        .iter()
        .find_map(|head| name.strip_prefix(head).map(|what| (*head, what)))
    else {
        return pseudonyms.sweep(name).into_owned();
    };
    let (table, index) = match what
        .strip_suffix(')')
        .and_then(|what| what.rsplit_once(" ("))
    {
        Some((table, index)) => (table, Some(index)),
        None => (what, None),
    };
    let table = named(pseudonyms, table);
    let renamed = match index.map(|index| names::identifier(pseudonyms, index)) {
        Some(index) => format!("{head}{table} ({index})"),
        None => format!("{head}{table}"),
    };
    pseudonyms.sweep(&renamed).into_owned()
}

/// `shop.orders`, or the schema alone. A name with anything but letters stands as the server gave it.
fn named(pseudonyms: &mut Pseudonyms<'_>, table: &str) -> String {
    match table.split_once(['.', '/']) {
        Some((schema, table)) => names::qualified(pseudonyms, schema, table).replace('`', ""),
        None if well_known::SCHEMAS.contains(&table.to_ascii_lowercase().as_str()) => {
            table.to_owned()
        }
        None => pseudonyms.name(super::NameKind::Schema, table),
    }
}

/// `runs update t set … (open for 5 s)`, `waits for row lock on t (i)`, `in fdatasync`.
fn doing(pseudonyms: &mut Pseudonyms<'_>, doing: &str) -> String {
    if let Some(lock) = doing.strip_prefix("waits for ") {
        return format!("waits for {}", name(pseudonyms, lock));
    }
    // `runs in pwrite64`: a system call, and no statement begins with that word.
    if let Some(rest) = doing.strip_prefix("runs ")
        && !rest.starts_with("no statement ")
        && !rest.starts_with("in ")
    {
        let cut = [" (open for ", " (from "]
            .iter()
            .filter_map(|mark| rest.rfind(mark))
            .min();
        let (sql, remarks) = rest.split_at(cut.unwrap_or(rest.len()));
        let first = sql.split(|c: char| !c.is_ascii_alphabetic()).next();
        if first.is_some_and(|first| is_keyword(&first.to_ascii_lowercase())) {
            let renamed = statement::rename(pseudonyms, sql);
            let renamed = pseudonyms.sweep(&renamed).into_owned();
            return format!("runs {renamed}{}", from(pseudonyms, remarks));
        }
    }
    from(pseudonyms, doing)
}

/// ` (from db7)`: where the holder's client is.
fn from(pseudonyms: &mut Pseudonyms<'_>, remarks: &str) -> String {
    let Some((head, rest)) = remarks.split_once("(from ") else {
        return pseudonyms.sweep(remarks).into_owned();
    };
    let (host, tail) = rest.split_at(rest.find(')').unwrap_or(rest.len()));
    let host = names::host_(pseudonyms, host);
    format!(
        "{}(from {host}{}",
        pseudonyms.sweep(head),
        pseudonyms.sweep(tail)
    )
}
