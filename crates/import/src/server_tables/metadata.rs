//! Waits for metadata locks: who has asked for a table, and who has it.

use std::collections::{BTreeMap, HashMap};

use super::waits::{Known, UNKNOWN, Wait};
use super::whole;
use crate::read::rows::{Rows, Table};
use crate::value_notes;

/// Owners of one object that are looked at: each pair is a wait.
const OWNERS_MAX: usize = 1000;

/// Owners of a lock that are kept for one that waits.
const BLOCKERS_MAX: usize = 10;

/// What is locked, as servers name it where the object has no name.
const KINDS: [&str; 15] = [
    "acl cache",
    "backup",
    "backup lock",
    "backup tables",
    "check constraint",
    "column statistics",
    "commit",
    "foreign key",
    "global",
    "locking service",
    "resource groups",
    "schema",
    "srid",
    "table",
    "tablespace",
];

#[derive(Default)]
struct Object {
    granted: Vec<u64>,
    pending: Vec<u64>,
}

/// The waits of a moment, whose rows are given.
pub(super) fn waits(all: &[&Rows], known: &mut Known, threads: &HashMap<u64, u64>) -> Vec<Wait> {
    let here = |table: Table| all.iter().filter(move |rows| rows.table == table);
    let mut objects: BTreeMap<(String, String, String), Object> = BTreeMap::new();
    let columns = [
        "object_type",
        "object_schema",
        "object_name",
        "lock_status",
        "processlist_id",
        "owner_thread_id",
    ];
    for rows in here(Table::MetadataLocks) {
        for [kind, schema, name, status, connection, thread] in rows.each(columns) {
            let who = match whole(connection) {
                0 => known.connection(whole(thread), threads),
                connection => connection,
            };
            let key = (kind.to_owned(), schema.to_owned(), name.to_owned());
            let object = objects.entry(key).or_default();
            let owners = match status {
                "PENDING" => &mut object.pending,
                "GRANTED" => &mut object.granted,
                _ => continue,
            };
            if owners.len() < OWNERS_MAX && !owners.contains(&who) {
                owners.push(who);
            }
        }
    }
    let mut waits = Vec::new();
    for ((kind, schema, name), object) in objects {
        let lock = lock_name(&kind, &schema, &name);
        for waiter in &object.pending {
            let granted = object.granted.iter().filter(|owner| *owner != waiter);
            // One that wants more than it has waits for others, never for itself.
            let mut blockers: Vec<u64> = granted.take(BLOCKERS_MAX).copied().collect();
            // People show those that wait; who has the lock is in a row that is not there.
            if blockers.is_empty() {
                blockers.push(UNKNOWN);
            }
            waits.extend(blockers.into_iter().map(|blocker| Wait {
                lock: lock.clone(),
                waiter: *waiter,
                blocker,
                seconds: 0.0,
            }));
        }
    }
    let columns = [
        "object_schema",
        "object_name",
        "waiting_pid",
        "waiting_query_secs",
        "blocking_pid",
    ];
    for rows in here(Table::MetadataWaits) {
        for [schema, name, waiter, seconds, blocker] in rows.each(columns) {
            let (waiter, blocker) = (whole(waiter), whole(blocker));
            if waiter != blocker {
                waits.push(Wait {
                    lock: lock_name("TABLE", schema, name),
                    waiter,
                    blocker,
                    seconds: seconds.parse().unwrap_or(0.0),
                });
            }
        }
    }
    waits
}

/// `metadata lock on shop.orders`, `metadata lock (global)`. A name of GET_LOCK() or of the locking service is a value of
/// the application: it stays out.
fn lock_name(kind: &str, schema: &str, name: &str) -> String {
    let plain = |text: &str| -> String {
        let name = value_notes::name_alone(text);
        name.chars().filter(|c| !c.is_control()).take(150).collect()
    };
    let lower = kind.to_ascii_lowercase();
    let known = KINDS.iter().find(|known| **known == lower);
    if lower == "user level lock" {
        return "user lock".to_owned();
    }
    let (schema, name) = match lower == "locking service" {
        true => ("", ""),
        false => (schema, name),
    };
    match (plain(schema), plain(name)) {
        (schema, name) if !schema.is_empty() && !name.is_empty() => {
            format!("metadata lock on {schema}.{name}")
        }
        (schema, _) if !schema.is_empty() => format!("metadata lock on {schema}"),
        _ => format!("metadata lock ({})", known.unwrap_or(&"another object")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_called_by_what_servers_name() {
        for (kind, schema, name, shown) in [
            ("TABLE", "shop", "orders", "metadata lock on shop.orders"),
            ("SCHEMA", "shop", "", "metadata lock on shop"),
            (
                "TABLE",
                "shop",
                "orders   <-- Alice, hunter2",
                "metadata lock on shop.orders",
            ),
            ("GLOBAL", "", "", "metadata lock (global)"),
            ("COMMIT", "", "", "metadata lock (commit)"),
            ("USER LEVEL LOCK", "", "hunter2", "user lock"),
            (
                "LOCKING SERVICE",
                "of acme",
                "hunter2",
                "metadata lock (locking service)",
            ),
            (
                "her password is hunter2",
                "",
                "",
                "metadata lock (another object)",
            ),
        ] {
            assert_eq!(lock_name(kind, schema, name), shown);
        }
    }
}
