//! Stacks, profiles and lock tables in an incident file.

use std::collections::{BTreeMap, HashMap};

use model::{
    Callers, Incident, LockTable, Profile, ProfileCount, SnapshotMeta, Stack, StackEvidence,
    StackFrame, StackId, StackTable, ThreadRun,
};
use rusqlite::{Row, Transaction, params};

use crate::columns::{json, json_column, ms_column, word, word_column};
use crate::tables::{Damage, Table, Tables};

/// A stack's list of frames is not read beyond this, bytes: some ten thousand of them, more than any
/// stack has that is taken.
const FRAMES_BYTES_MAX: usize = 64 << 10;

pub(crate) fn write_stacks(
    transaction: &Transaction<'_>,
    incident: &Incident,
) -> rusqlite::Result<()> {
    let evidence = &incident.stacks;
    write_book(transaction, &evidence.table)?;
    write_snapshots(transaction, evidence)?;
    write_profiles(transaction, evidence)?;
    let mut insert =
        transaction.prepare("INSERT INTO lock_table (from_ms, to_ms, body) VALUES (?1, ?2, ?3)")?;
    for table in &evidence.locks {
        insert.execute(params![table.from as i64, table.to as i64, json(table)?])?;
    }
    Ok(())
}

fn write_book(transaction: &Transaction<'_>, book: &StackTable) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare(
        "INSERT INTO stack_frame (id, name, image, side, nameless) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?;
    for (id, frame) in book.frames().iter().enumerate() {
        let nameless = frame.nameless.as_ref().map(word).transpose()?;
        insert.execute(params![
            id as i64,
            frame.name,
            frame.image,
            word(&frame.side)?,
            nameless
        ])?;
    }
    let mut insert =
        transaction.prepare("INSERT INTO stack (id, frames, end) VALUES (?1, ?2, ?3)")?;
    for (id, stack) in book.stacks().iter().enumerate() {
        insert.execute(params![id as i64, json(&stack.frames)?, word(&stack.end)?])?;
    }
    Ok(())
}

fn write_snapshots(
    transaction: &Transaction<'_>,
    evidence: &StackEvidence,
) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare(
        "INSERT INTO snapshot (at_ms, method, wall_us, stopped_us, threads, complete)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for note in &evidence.snapshots {
        insert.execute(params![
            note.at as i64,
            word(&note.method)?,
            note.wall_us as i64,
            note.stopped_us as i64,
            note.threads,
            note.complete
        ])?;
    }
    let mut insert = transaction.prepare(
        "INSERT INTO thread_run (tid, name, from_ms, to_ms, snapshots, unmoved, state, syscall, stack)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?;
    for run in &evidence.runs {
        insert.execute(params![
            run.tid,
            run.name,
            run.from as i64,
            run.to as i64,
            run.snapshots,
            run.unmoved,
            word(&run.state)?,
            run.syscall.as_ref().map(json).transpose()?,
            run.stack.0
        ])?;
    }
    Ok(())
}

fn write_profiles(transaction: &Transaction<'_>, evidence: &StackEvidence) -> rusqlite::Result<()> {
    let mut profile = transaction.prepare(
        "INSERT INTO profile (id, from_ms, to_ms, hz, processors, lost)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
    )?;
    for (id, row) in evidence.profiles.iter().enumerate() {
        profile.execute(params![
            id as i64,
            row.from as i64,
            row.to as i64,
            row.hz,
            row.processors,
            row.lost as i64
        ])?;
    }
    let counts = evidence.profiles.iter().enumerate();
    let counts = counts.flat_map(|(id, profile)| profile.counts.iter().map(move |row| (id, row)));
    write_counts(transaction, "profile_count", counts)?;
    let callers = evidence.callers.iter();
    let callers = callers.flat_map(|one| one.counts.iter().map(|row| (one.profile, row)));
    write_counts(transaction, "profile_caller", callers)
}

fn write_counts<'a>(
    transaction: &Transaction<'_>,
    table: &str,
    rows: impl Iterator<Item = (usize, &'a ProfileCount)>,
) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare(&format!(
        "INSERT INTO {table} (profile, stack, thread, server, count) VALUES (?1, ?2, ?3, ?4, ?5)"
    ))?;
    for (profile, row) in rows {
        insert.execute(params![
            profile as i64,
            row.stack.0,
            row.thread,
            row.server,
            row.count as i64
        ])?;
    }
    Ok(())
}

/// `has_callers`: the file's version has the table of them.
pub(crate) fn read_stacks(tables: &mut Tables<'_>, has_callers: bool) -> StackEvidence {
    let book = read_book(tables);
    let columns = "at_ms, method, wall_us, stopped_us, threads, complete";
    let mut snapshots = tables.read(Table::small("snapshot", columns), |row| {
        Ok(SnapshotMeta {
            at: ms_column(row, 0)?,
            method: word_column(row, 1)?,
            wall_us: ms_column(row, 2)?,
            stopped_us: ms_column(row, 3)?,
            threads: row.get(4)?,
            complete: row.get(5)?,
        })
    });
    snapshots.sort_by_key(|note| note.at);
    let columns = "tid, name, from_ms, to_ms, snapshots, unmoved, state, syscall, stack";
    let runs = Table::small("thread_run", columns).percent(25);
    let mut runs = tables.read(runs, run_row);
    runs.sort_by_key(|run| run.from);
    let (profiles, callers) = read_profiles(tables, has_callers);
    let locks = Table::small("lock_table", "body").percent(20).json("body");
    let locks = tables.read(locks, |row| json_column::<LockTable>(row, 0));
    let mut evidence = StackEvidence {
        table: book,
        snapshots,
        runs,
        profiles,
        callers,
        locks,
    };
    note_foreign_stacks(&mut evidence, &mut tables.damage);
    evidence
}

fn read_book(tables: &mut Tables<'_>) -> StackTable {
    // Each frame and each stack is there twice: the book finds them by what they are.
    let columns = "name, image, side, nameless, name, image";
    let frames = Table::small("stack_frame", columns).percent(15);
    let frames = tables.read(frames, |row| {
        Ok(StackFrame {
            name: row.get(0)?,
            image: row.get(1)?,
            side: word_column(row, 2)?,
            nameless: match row.get::<_, Option<String>>(3)? {
                Some(_) => Some(word_column(row, 3)?),
                None => None,
            },
        })
    });
    let stacks = Table::small("stack", "frames, end")
        .percent(25)
        .json("frames")
        .cells(FRAMES_BYTES_MAX);
    let stacks = tables.read(stacks, |row| {
        Ok(Stack {
            frames: json_column(row, 0)?,
            end: word_column(row, 1)?,
        })
    });
    StackTable::from_parts(frames, stacks)
}

fn run_row(row: &Row<'_>) -> rusqlite::Result<ThreadRun> {
    Ok(ThreadRun {
        tid: row.get(0)?,
        name: row.get(1)?,
        from: ms_column(row, 2)?,
        to: ms_column(row, 3)?,
        snapshots: row.get(4)?,
        unmoved: row.get(5)?,
        state: word_column(row, 6)?,
        syscall: match row.get::<_, Option<String>>(7)? {
            Some(_) => Some(json_column(row, 7)?),
            None => None,
        },
        stack: StackId(row.get(8)?),
    })
}

/// The profiles by time, and what is known of their functions with all that they called.
fn read_profiles(tables: &mut Tables<'_>, has_callers: bool) -> (Vec<Profile>, Vec<Callers>) {
    let columns = "id, from_ms, to_ms, hz, processors, lost";
    let mut heads = tables.read(Table::small("profile", columns), |row| {
        let profile = Profile {
            from: ms_column(row, 1)?,
            to: ms_column(row, 2)?,
            hz: row.get(3)?,
            processors: row.get(4)?,
            counts: Vec::new(),
            lost: ms_column(row, 5)?,
        };
        Ok((row.get::<_, i64>(0)?, profile))
    });
    heads.sort_by_key(|(_, profile)| profile.from);
    let ids = heads.iter().enumerate();
    let place: HashMap<i64, usize> = ids.map(|(index, (id, _))| (*id, index)).collect();
    let mut profiles: Vec<Profile> = heads.into_iter().map(|(_, profile)| profile).collect();
    each_count(tables, "profile_count", |id, count| {
        if let Some(profile) = place.get(&id).and_then(|index| profiles.get_mut(*index)) {
            profile.counts.push(count);
        }
    });
    let mut callers: BTreeMap<usize, Vec<ProfileCount>> = BTreeMap::new();
    if has_callers {
        each_count(tables, "profile_caller", |id, count| {
            if let Some(profile) = place.get(&id) {
                callers.entry(*profile).or_default().push(count);
            }
        });
    }
    let callers = callers.into_iter();
    let callers = callers.map(|(profile, counts)| Callers { profile, counts });
    (profiles, callers.collect())
}

fn each_count(
    tables: &mut Tables<'_>,
    name: &'static str,
    mut with: impl FnMut(i64, ProfileCount),
) {
    let table = Table::small(name, "profile, stack, thread, server, count").percent(25);
    tables.each(table, 2 * size_of::<ProfileCount>(), |row| {
        let count = ProfileCount {
            stack: StackId(row.get(1)?),
            thread: row.get(2)?,
            server: row.get(3)?,
            count: ms_column(row, 4)?,
        };
        with(row.get(0)?, count);
        Ok(0)
    });
}

/// A number that is of no stack of the file reads as an empty stack; that is damage.
fn note_foreign_stacks(evidence: &mut StackEvidence, damage: &mut Vec<Damage>) {
    let known = evidence.table.stacks().len() as u64;
    let is_foreign = |stack: StackId| u64::from(stack.0) >= known;
    let runs = evidence.runs.iter().map(|run| run.stack);
    let counts = evidence.profiles.iter().flat_map(|profile| &profile.counts);
    let callers = evidence.callers.iter().flat_map(|callers| &callers.counts);
    let foreign = runs
        .chain(counts.chain(callers).map(|count| count.stack))
        .filter(|stack| is_foreign(*stack))
        .count();
    if foreign > 0 {
        damage.push(Damage {
            table: "stack",
            rows_read: evidence.table.stacks().len(),
            problem: format!("{foreign} rows refer to stacks that are not there"),
            is_limit: false,
        });
    }
}
