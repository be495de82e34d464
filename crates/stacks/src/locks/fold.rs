//! Locks of which there are many, put together.
//!
//! A latch of each page, each transaction or each session is one lock by itself and a crowd of rows
//! in a table. Those of one name, and those known by their address only and asked for by the same
//! function, become one row; a lock that has a good part of the time of all of them keeps its own.

use std::collections::BTreeMap;

use model::NamedBy;

use super::matching::matches_any;
use super::naming::RowName;
use super::own::Kind;
use super::scene::{RowId, Scene};

/// So many locks of one kind stay as they are.
const APART_MAX: usize = 2;

/// A lock with one part in so many of the time of its kind keeps its row.
const OWN_ROW_PART: f64 = 4.0;

/// What MariaDB's group commit waits for, as the table of known waits calls it.
const GROUP_COMMIT: &str = "redo log write and flush";

/// What was seen of one row.
#[derive(Debug, Default, Clone)]
pub(super) struct Tally {
    /// Time, in any unit that is the same for all rows.
    pub(super) weight: f64,
    /// Functions that asked, with how often.
    asked_by: BTreeMap<String, u64>,
    /// All waits were on futexes of the program's own, within a commit.
    within_commit: bool,
}

/// Tallies by row.
pub(super) type Tallies = BTreeMap<RowId, Tally>;

/// One wait that was seen.
pub(super) struct Seen<'a> {
    pub(super) row: RowId,
    pub(super) kind: Kind,
    /// The function that asked; absent without a stack.
    pub(super) asked_by: Option<&'a str>,
    /// All functions, plain names.
    pub(super) stack: &'a [&'a str],
}

/// Adds a wait.
pub(super) fn add(tallies: &mut Tallies, seen: &Seen<'_>, weight: f64) {
    let commits = seen.kind == Kind::OwnFutex
        && seen
            .stack
            .iter()
            .any(|name| matches_any("ha_commit_trans|ha_commit_one_phase", name));
    let tally = tallies.entry(seen.row).or_insert_with(|| Tally {
        within_commit: true,
        ..Tally::default()
    });
    tally.weight += weight;
    tally.within_commit &= commits;
    if let Some(name) = seen.asked_by {
        *tally.asked_by.entry(name.to_owned()).or_insert(0) += 1;
    }
}

/// What the snapshots show of the rows.
pub(super) fn tallies_of(scene: &Scene<'_>) -> Tallies {
    let mut tallies = Tallies::new();
    for moment in &scene.moments {
        for waiter in &moment.waiters {
            if scene
                .rows
                .get(waiter.row)
                .is_none_or(|row| row.address == 0)
            {
                continue;
            }
            let path = scene.classifier.path(waiter.thread.stack, &waiter.class);
            let seen = Seen {
                row: waiter.row,
                kind: waiter.class.kind,
                asked_by: path.first().map(String::as_str),
                stack: &scene.names(waiter.thread.stack),
            };
            add(&mut tallies, &seen, moment.weight);
        }
    }
    tallies
}

/// Rows that may be put together: contended or not, name, what the name rests on.
type Family = (bool, String, NamedBy);

/// Puts rows together and gives those known by their address the name of who asks. Returns where
/// each row went, by its former number.
pub(super) fn fold(scene: &mut Scene<'_>, tallies: &Tallies) -> Vec<RowId> {
    let mut into: Vec<RowId> = (0..scene.rows.len()).collect();
    for ((contended, name, named_by), members) in families(scene, tallies) {
        let row = |name: String, named_by, family: &str| RowName {
            contended,
            name,
            named_by,
            address: 0,
            family: family.to_owned(),
        };
        if is_group_commit(scene, &members, tallies) {
            let row = scene.row_id(row(GROUP_COMMIT.to_owned(), NamedBy::CallPath, ""));
            members.iter().for_each(|member| into[*member] = row);
            continue;
        }
        let together = together(&members, tallies);
        if !together.is_empty() {
            let others = if together.len() == members.len() {
                "addresses"
            } else {
                "others"
            };
            let several = format!("{name} ({} {others})", together.len());
            let row = scene.row_id(row(several, named_by, &name));
            together.iter().for_each(|member| into[*member] = row);
        }
        for member in members {
            if let Some(row) = scene.rows.get_mut(member)
                && row.family.is_empty()
            {
                row.name = format!("{name} at {:#x}", row.address);
            }
        }
    }
    let waiters = scene
        .moments
        .iter_mut()
        .flat_map(|moment| &mut moment.waiters);
    for waiter in waiters {
        if let Some(row) = into.get(waiter.row) {
            waiter.row = *row;
        }
    }
    into
}

fn families(scene: &Scene<'_>, tallies: &Tallies) -> BTreeMap<Family, Vec<RowId>> {
    let mut families: BTreeMap<Family, Vec<RowId>> = BTreeMap::new();
    for (id, row) in scene.rows.iter().enumerate() {
        if row.address == 0 {
            continue;
        }
        let name = match (row.family.as_str(), row.named_by) {
            ("", NamedBy::Address) => caller_text(tallies.get(&id), row.contended),
            ("", _) => continue,
            (family, _) => family.to_owned(),
        };
        families
            .entry((row.contended, name, row.named_by))
            .or_default()
            .push(id);
    }
    families
}

/// What a row known by its address is called: by the function that asked most often.
fn caller_text(tally: Option<&Tally>, contended: bool) -> String {
    let what = if contended { "lock" } else { "condition" };
    tally
        .and_then(|tally| {
            tally
                .asked_by
                .iter()
                .max_by(|(a_name, a), (b_name, b)| a.cmp(b).then(b_name.cmp(a_name)))
        })
        .map_or_else(
            || format!("{what}, callers not taken,"),
            |(name, _)| format!("{what} of {name}"),
        )
}

/// The members that become one row: all but those with a good part of the time.
fn together(members: &[RowId], tallies: &Tallies) -> Vec<RowId> {
    if members.len() <= APART_MAX {
        return Vec::new();
    }
    let weight = |row: &RowId| tallies.get(row).map_or(0.0, |tally| tally.weight);
    let all: f64 = members.iter().map(weight).sum();
    let rest: Vec<RowId> = members
        .iter()
        .copied()
        .filter(|row| weight(row) <= 0.0 || weight(row) * OWN_ROW_PART < all)
        .collect();
    if rest.len() < 2 { Vec::new() } else { rest }
}

/// Whether these are the semaphores of MariaDB's group commit, for a server whose InnoDB has no
/// names: each thread waits on a variable of its own (`group_commit_lock::acquire`, log0sync.cc: a
/// `thread_local` waiter), most of them in a commit. A thread's own variables are at the same place
/// in the pages of its stack's mapping for all threads (nptl/allocatestack.c), which the locks of an
/// object are not.
fn is_group_commit(scene: &Scene<'_>, members: &[RowId], tallies: &Tallies) -> bool {
    const PAGE: u64 = 4096;
    let place = |row: &RowId| scene.rows.get(*row).map(|row| row.address % PAGE);
    let within_commit = members
        .iter()
        .filter(|row| tallies.get(row).is_some_and(|tally| tally.within_commit))
        .count();
    members.len() > APART_MAX
        && members
            .windows(2)
            .all(|pair| place(&pair[0]) == place(&pair[1]))
        && within_commit * 2 > members.len()
}
