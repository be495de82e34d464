//! Waits for metadata locks: who has asked for a table, and who has it.

use std::collections::{BTreeMap, HashMap};

use super::waits::{Known, UNKNOWN, Wait};
use super::whole;
use crate::read::rows::{Rows, Table};

/// Owners of one object that are looked at: each pair is a wait.
const OWNERS_MAX: usize = 1000;

/// Owners of a lock that are kept for one that waits.
const BLOCKERS_MAX: usize = 10;

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

/// `metadata lock on shop.orders`, `metadata lock (global)`. A name of GET_LOCK() is a value of the application: it stays
/// out.
fn lock_name(kind: &str, schema: &str, name: &str) -> String {
    let plain =
        |text: &str| -> String { text.chars().filter(|c| !c.is_control()).take(150).collect() };
    if kind.eq_ignore_ascii_case("USER LEVEL LOCK") {
        return "user lock".to_owned();
    }
    match (plain(schema), plain(name)) {
        (schema, name) if !schema.is_empty() && !name.is_empty() => {
            format!("metadata lock on {schema}.{name}")
        }
        (schema, _) if !schema.is_empty() => format!("metadata lock on {schema}"),
        _ => format!("metadata lock ({})", plain(kind).to_ascii_lowercase()),
    }
}
