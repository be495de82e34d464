//! pt-pmp: `187 f(libpthread.so.0),g,h(a.cc:3),...`.

use lexicon::{Kind, Lexicon};
use model::FrameSide;

use crate::format::{DIGITS, Format, Group, Recogniser};
use crate::line::Line;
use crate::read::{FRAMES_MAX, Read, Snapshot, THREADS_MAX, Thread, frame, stack_end};
use crate::stack_lines::is_symbol;

pub(crate) static FORMAT: Format = Format {
    id: "pt_pmp",
    group: Group::Stacks,
    name: "pt-pmp output",
    printed_by: "pt-pmp, and scripts that print the same",
    content: "counted stacks",
    recognisers: &[
        Recogniser::new(190, DIGITS, 0, |at| is_pmp(at.text)),
        Recogniser::new(195, "", 0, |at| is_uncounted(at.text)),
    ],
    continues: |open, next| open.statement && next.own.is_none() && is_pmp_rest(next.text),
    add: |open, text| open.statement = text.ends_with(','),
    read,
    ..Format::NONE
};

/// Functions that the lexicon knows in a row whose count was lost, at the least.
const KNOWN_MIN: usize = 4;

/// `187 f,g(libc.so.6),h(a.cc:3)`, also with blanks behind commas.
fn is_pmp(text: &str) -> bool {
    let Some((count, frames)) = text.split_once([' ', '\t']) else {
        return false;
    };
    let is_count =
        (1..=9).contains(&count.len()) && count.bytes().all(|byte| byte.is_ascii_digit());
    let frames = frames.trim();
    is_count
        && (frames.trim_end_matches(',').contains(',') || frames.ends_with(')'))
        && !frames.contains("  ")
        && match frames.contains(", ") {
            false => pmp_frames(frames).take(3).all(is_pmp_frame) && has_function(frames),
            true => is_sure_pmp(frames),
        }
}

/// `f,g,h(a.cc:3)`: a row as people quote it, without its count. Most of its functions are known.
fn is_uncounted(text: &str) -> bool {
    if text.contains(' ') || text.bytes().filter(|byte| *byte == b',').count() < KNOWN_MIN {
        return false;
    }
    // Most lists with commas have a number in them: what each word means is looked up of the others only.
    if !pmp_frames(text).all(is_pmp_frame) {
        return false;
    }
    let names = pmp_frames(text).map(|frame| frame.split('(').next().unwrap_or(frame));
    let is_known = |name: &&str| Lexicon::get().lookup(Kind::Function, name).is_some();
    let known = names.clone().filter(is_known).count();
    known >= KNOWN_MIN && known * 2 >= names.count()
}

/// The rest of a row that ends with a comma, on the next line.
fn is_pmp_rest(text: &str) -> bool {
    !text.contains(' ') && pmp_frames(text).all(is_pmp_frame) && is_sure_pmp_frame(text)
}

/// The frames; commas within parentheses do not part them. pt-pmp cuts names inside of template
/// arguments, so brackets need not be closed: a place in parentheses closes them. Other scripts cut at the first blank,
/// inside of parameters (`f(THD*,,g(char,h`): where parentheses stay open each comma parts.
fn pmp_frames(stack: &str) -> impl Iterator<Item = &str> + Clone {
    let is_closed = stack.matches('(').count() == stack.matches(')').count();
    let mut depth = 0_usize;
    let parts = stack.trim_end_matches(',').split(move |letter| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            ',' if depth == 0 || !is_closed => return true,
            _ => {}
        }
        false
    });
    parts
        .map(str::trim)
        .filter(move |frame| is_closed || !frame.is_empty())
}

fn is_pmp_frame(frame: &str) -> bool {
    let name = frame.split('(').next().unwrap_or(frame);
    frame == "..." || (is_symbol(name) && !name.contains('='))
}

/// A word of prose is none.
fn is_sure_pmp_frame(frame: &str) -> bool {
    frame.contains('_') || frame.contains("::") || frame.contains('(') || frame.contains(',')
}

/// Whether one of the frames is a function by its signs or by the lexicon: `uniq -c` counts lines of any table.
fn has_function(frames: &str) -> bool {
    // What has brackets is told by them.
    let is_known = |frame: &str| Lexicon::get().lookup(Kind::Function, frame).is_some();
    let is_function = |frame: &str| {
        is_sure_pmp_frame(frame) || frame == "..." || frame.starts_with('?') || is_known(frame)
    };
    pmp_frames(frames).any(is_function)
}

/// Words behind commas and blanks may be prose: most of them must be what prose has not.
fn is_sure_pmp(frames: &str) -> bool {
    const FRAMES_MIN: usize = 4;
    let all = pmp_frames(frames).count();
    let sure = pmp_frames(frames).filter(|frame| is_sure_pmp_frame(frame));
    all >= FRAMES_MIN && sure.count() * 2 > all && pmp_frames(frames).all(is_pmp_frame)
}

fn read(lines: &[Line<'_>]) -> Read {
    let mut snapshot = Snapshot::default();
    let mut read = Read::default();
    let mut threads: usize = 0;
    for (number, row) in rows(lines) {
        let counted = row.split_once([' ', '\t']);
        let uncounted = || is_uncounted(&row).then_some(("1", row.as_str()));
        let Some((count, stack)) = counted.or_else(uncounted) else {
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
                    .filter(|place| !place.contains([':', '*', '&', ' ']) && !place.is_empty());
                let image = image.unwrap_or_default();
                frames.push(frame(name, image, FrameSide::User));
            }
        }
        let end = stack_end(&frames, cut);
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
    fn a_row_without_its_count_is_one_thread() {
        let row = "select,os_thread_sleep,fil_flush,buf_flush_single_page_from_LRU,mysql_parse,handle_one_connection,clone";
        let text = format!("This is what most of them are in:\n\n{row}\n\nWhat is it?\n");
        let input = crate::Input {
            path: "x",
            bytes: text.as_bytes(),
        };
        let incident = crate::import(&[input]).incident.unwrap();
        let frames = incident.stacks.table.frames().iter();
        let names: Vec<&str> = frames.map(|frame| frame.name.as_str()).collect();
        assert_eq!(names.join(","), row);
        for text in [
            "one,two,three,four,five",
            "a,b,c",
            "id,name,state,info,time,command",
        ] {
            assert!(!is_uncounted(text), "{text}");
        }
    }

    #[test]
    fn counted_lines_of_a_table_are_no_stacks() {
        for row in [
            "12 Alice,Miller,Berlin",
            "     3 acme,shop,hunter2",
            "4711 alice,bob",
        ] {
            assert!(!is_pmp(row.trim()), "{row}");
        }
        for row in [
            "12 poll,main",
            "1 sigwait,main",
            "3 ??,??",
            "2 a,...",
            "5 a,b_c",
            "7 a(libc.so.6),b",
        ] {
            assert!(is_pmp(row), "{row}");
        }
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
