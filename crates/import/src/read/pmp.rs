//! pt-pmp: `187 f(libpthread.so.0),g,h(a.cc:3),...`.

use model::Side;

use super::{FRAMES_MAX, Read, Snapshot, THREADS_MAX, Thread, end_of, frame};
use crate::clean::Line;
use crate::kind::{is_pmp_rest, pmp_frames};

pub(super) fn read(lines: &[Line<'_>]) -> Read {
    let mut snapshot = Snapshot::default();
    let mut read = Read::default();
    let mut threads: usize = 0;
    for (number, row) in rows(lines) {
        let Some((count, stack)) = row.split_once([' ', '\t']) else {
            continue;
        };
        let Ok(count) = count.parse::<u32>() else {
            continue;
        };
        let room = THREADS_MAX.saturating_sub(threads);
        let kept = count.min(u32::try_from(room).unwrap_or(u32::MAX));
        if kept < count {
            read.skipped.push((
                number,
                format!("{} threads over {THREADS_MAX}", count - kept).into(),
            ));
        }
        if kept == 0 {
            continue;
        }
        threads += kept as usize;
        let mut cut = false;
        let mut frames = Vec::new();
        for part in pmp_frames(stack.trim()) {
            if part == "..." {
                cut = true;
                continue;
            }
            if frames.len() < FRAMES_MAX {
                let (name, place) = part.split_once('(').unwrap_or((part, ""));
                // Neither a place in the source nor parameters.
                let image = place
                    .strip_suffix(')')
                    .filter(|place| !place.contains([':', '*', '&']) && !place.is_empty());
                let image = image.unwrap_or_default();
                frames.push(frame(name, image, Side::User));
            }
        }
        let end = end_of(&frames, cut);
        snapshot.threads.push(Thread {
            tid: None,
            name: String::new(),
            count: kept,
            frames,
            end,
        });
    }
    read.brought = format!(
        "{threads} threads with {} different stacks",
        snapshot.threads.len()
    );
    if !snapshot.threads.is_empty() {
        read.snapshots.push(snapshot);
    }
    read
}

/// The rows with the number of their first line: one that ends with a comma goes on below.
fn rows(lines: &[Line<'_>]) -> Vec<(usize, String)> {
    let mut rows: Vec<(usize, String)> = Vec::new();
    for line in lines {
        let text = line.trimmed();
        match rows.last_mut() {
            Some((_, row)) if row.ends_with(',') && is_pmp_rest(text) => row.push_str(text),
            _ => rows.push((line.number, text.to_owned())),
        }
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean;

    #[test]
    fn blanks_and_line_ends_behind_commas() {
        let read = read(&clean::lines(
            "507 pthread_cond_wait,one_thread_per_connection_end,\nstart_thread,clone\n\
             398 pthread_cond_wait, MDL_wait::timed_wait(mdl.cc:1837), open_tables(sql_base.cc:5942), clone\n",
        ));
        let threads = &read.snapshots[0].threads;
        let frames: Vec<(u32, usize)> = threads
            .iter()
            .map(|thread| (thread.count, thread.frames.len()))
            .collect();
        assert_eq!(frames, [(507, 4), (398, 4)]);
        assert_eq!(threads[1].frames[1].name, "MDL_wait::timed_wait");
        assert!(threads.iter().all(|thread| thread.end.is_complete()));
    }

    #[test]
    fn parameters_that_were_cut_are_none_of_the_stack() {
        let read = read(&clean::lines(
            "24 __lll_lock_wait,get_db_stats(char,mysql_execute_command(THD*,,do_command(THD*),start_thread,clone",
        ));
        let thread = &read.snapshots[0].threads[0];
        let frames = thread.frames.iter();
        let names: Vec<(&str, &str)> = frames
            .map(|frame| (frame.name.as_str(), frame.image.as_str()))
            .collect();
        assert_eq!(
            names,
            [
                "__lll_lock_wait",
                "get_db_stats",
                "mysql_execute_command",
                "do_command",
                "start_thread",
                "clone"
            ]
            .map(|name| (name, ""))
        );
        assert!(thread.end.is_complete());
    }

    #[test]
    fn counts_and_frames() {
        let read = read(&clean::lines(
            "    12 __lll_lock_wait(libpthread.so.0),PolicyMutex<TTASEventMutex<X>(ut0mutex.ic:89),start_thread,clone(libc.so.6)\n1 a,...",
        ));
        let threads = &read.snapshots[0].threads;
        let names: Vec<&str> = threads[0]
            .frames
            .iter()
            .map(|frame| frame.name.as_str())
            .collect();
        assert_eq!(threads[0].count, 12);
        assert_eq!(
            names,
            [
                "__lll_lock_wait",
                "PolicyMutex<TTASEventMutex<>",
                "start_thread",
                "clone"
            ]
        );
        assert!(threads[0].end.is_complete() && !threads[1].end.is_complete());
        assert_eq!(read.brought, "13 threads with 2 different stacks");
    }
}
