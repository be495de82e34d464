//! Tables of locks: who waits for what, and what the holder does. Their words are ours, or those of the
//! server's own tables of locks.

use model::{KernelLockRow, LockRow, LockTable};

use super::book::Book;
use super::keywords::is_keyword;
use super::{absent, names, statement, words};

/// Beginnings of locks that are named by what they lock.
const ON: [&str; 3] = ["row lock on ", "metadata lock on ", "table lock on "];

pub(super) fn rename(book: &mut Book<'_>, table: &LockTable) -> LockTable {
    let mut out = table.clone();
    for row in out.locks.iter_mut().chain(&mut out.conditions) {
        lock(book, row);
    }
    for link in out.chains.iter_mut().flat_map(|chain| &mut chain.links) {
        link.lock = name(book, &link.lock);
        if let Some(holder) = &mut link.holder {
            holder.name = book.sweep(&holder.name).into_owned();
            holder.doing = doing(book, &holder.doing);
        }
    }
    for KernelLockRow { name, path, .. } in &mut out.kernel_locks {
        *name = book.sweep(name).into_owned();
        for function in path {
            *function = book.sweep(function).into_owned();
        }
    }
    for one in &mut out.absent {
        absent(book, one);
    }
    out
}

fn lock(book: &mut Book<'_>, row: &mut LockRow) {
    row.name = name(book, &row.name);
    for function in row.callers.iter_mut().flat_map(|caller| &mut caller.path) {
        *function = book.sweep(function).into_owned();
    }
    for holder in &mut row.holders {
        holder.name = book.sweep(&holder.name).into_owned();
        holder.doing = doing(book, &holder.doing);
    }
}

/// `row lock on shop.orders (mail_idx)`, `metadata lock on shop.orders`; others are the server's own.
fn name(book: &mut Book<'_>, name: &str) -> String {
    let Some((head, what)) = ON
        .iter()
        .find_map(|head| name.strip_prefix(head).map(|what| (*head, what)))
    else {
        return book.sweep(name).into_owned();
    };
    let (table, index) = match what
        .strip_suffix(')')
        .and_then(|what| what.rsplit_once(" ("))
    {
        Some((table, index)) => (table, Some(index)),
        None => (what, None),
    };
    let table = named(book, table);
    let renamed = match index.map(|index| names::identifier(book, index)) {
        Some(index) => format!("{head}{table} ({index})"),
        None => format!("{head}{table}"),
    };
    book.sweep(&renamed).into_owned()
}

/// `shop.orders`, or the schema alone. A name with anything but letters stands as the server gave it.
fn named(book: &mut Book<'_>, table: &str) -> String {
    match table.split_once(['.', '/']) {
        Some((schema, table)) => names::qualified(book, schema, table).replace('`', ""),
        None if words::SCHEMAS.contains(&table.to_ascii_lowercase().as_str()) => table.to_owned(),
        None => book.name(super::What::Schema, table),
    }
}

/// `runs update t set … (open for 5 s)`, `waits for row lock on t (i)`, `in fdatasync`.
fn doing(book: &mut Book<'_>, doing: &str) -> String {
    if let Some(lock) = doing.strip_prefix("waits for ") {
        return format!("waits for {}", name(book, lock));
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
            let renamed = statement::rename(book, sql);
            let renamed = book.sweep(&renamed).into_owned();
            return format!("runs {renamed}{}", from(book, remarks));
        }
    }
    from(book, doing)
}

/// ` (from db7)`: where the holder's client is.
fn from(book: &mut Book<'_>, remarks: &str) -> String {
    let Some((head, rest)) = remarks.split_once("(from ") else {
        return book.sweep(remarks).into_owned();
    };
    let (host, tail) = rest.split_at(rest.find(')').unwrap_or(rest.len()));
    let host = names::host_(book, host);
    format!("{}(from {host}{}", book.sweep(head), book.sweep(tail))
}
