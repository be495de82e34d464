//! gdb's `thread apply all bt`, systemd-coredump's list, pstack, gstack, eu-stack, pt-eustack-resolver.

use std::collections::HashSet;

use model::StackFrame;

use crate::format::{Format, Gap, Group, Recogniser};
use crate::format::{Next, Open, WRAPPED_LINES_MAX};
use crate::line::Line;
use crate::read::{FRAMES_MAX, Read, Snapshot, THREADS_MAX, Thread, counted, stack_end};
use crate::stack_lines::{
    frame_number, is_bare, is_first, is_function, is_thread_head, listed_thread, looks_like_frame,
    printed_frame,
};
use crate::times;

pub(crate) static FORMAT: Format = Format {
    id: "backtrace",
    group: Group::Stacks,
    name: "backtraces of threads",
    printed_by: "gdb (also its `info threads`), pstack, gstack, eu-stack, quickstack, systemd-coredump",
    content: "all threads, their stacks",
    recognisers: &[
        Recogniser::new(10, "#TS[", 0, |at| is_backtrace(at.text, at.next)),
        Recogniser::new(20, "*0123456789", 0, |at| listed_thread(at.text).is_some()),
    ],
    continues,
    add,
    pass: |open, _| open.frame = None,
    gap: Gap::Lines(6),
    has_version: true,
    read,
    ..Format::NONE
};

/// A thread's head, a frame, or what a debugger says around them.
fn is_backtrace(text: &str, next: &[&str]) -> bool {
    is_thread_head(text)
        || frame_number(text).is_some_and(|(number, rest)| {
            looks_like_frame(rest) || (number == 0 && is_bare(rest) && is_first(next))
        })
        || [
            "[New LWP ",
            "[New Thread ",
            "[Switching to ",
            "[Thread debugging using ",
        ]
        .iter()
        .any(|start| text.starts_with(start))
}

fn continues(open: &Open, next: &Next<'_>) -> bool {
    is_next_frame(open, next.text)
        || (open.carried < WRAPPED_LINES_MAX
            && !next.text.is_empty()
            && next.own.is_none()
            && (open.depth > 0 || is_wrapped(next.line, next.text)))
}

/// The frame behind the one on the line before, of which nothing but the name is told.
fn is_next_frame(open: &Open, text: &str) -> bool {
    frame_number(text).is_some_and(|(number, rest)| {
        open.frame.is_some_and(|frame| frame + 1 == number)
            && !rest.contains(' ')
            && is_function(rest)
    })
}

fn add(open: &mut Open, text: &str) {
    if let Some((number, _)) = frame_number(text) {
        open.frame = Some(number);
        open.depth = 0;
        open.carried = 0;
    } else if is_thread_head(text) {
        open.depth = 0;
        open.carried = 0;
        return;
    } else {
        open.carried += 1;
    }
    open.depth += brackets(text);
}

/// Opened and not closed round brackets.
fn brackets(text: &str) -> i32 {
    let count = |letter: u8| {
        i32::try_from(text.bytes().filter(|byte| *byte == letter).count()).unwrap_or(0)
    };
    count(b'(') - count(b')')
}

/// The rest of a frame: `    at file.cc:3`, `    from /lib/x.so`, `    arg=…)`.
fn is_wrapped(line: &str, text: &str) -> bool {
    text.starts_with("at /")
        || text.starts_with("from /")
        || (line.starts_with([' ', '\t'])
            && (text.starts_with("at ")
                || text.starts_with("from ")
                || text.contains("=0x")
                || text.contains("=<")))
}

/// Characters of one frame with all its arguments that are read.
const FRAME_BYTES_MAX: usize = 16 << 10;

/// Bytes of an address and a function that tell it from others.
const PLACE_BYTES_MAX: usize = 128;

fn read(lines: &[Line<'_>]) -> Read {
    let mut reader = Reader::default();
    for line in lines {
        reader.line(line);
    }
    reader.finish()
}

/// The threads that [`read`] finds, each as the first lines of its frames.
pub(crate) fn printed(lines: &[Line<'_>]) -> Vec<Vec<String>> {
    let mut reader = Reader {
        printed: Some(Printed::default()),
        ..Reader::default()
    };
    for line in lines {
        reader.line(line);
    }
    reader.end_thread();
    reader
        .printed
        .take()
        .map_or_else(Vec::new, |printed| printed.threads)
}

/// Lines of frames, kept only where they are asked for.
#[derive(Default)]
struct Printed {
    threads: Vec<Vec<String>>,
    thread: Vec<String>,
}

#[derive(Default)]
struct Reader {
    printed: Option<Printed>,
    read: Read,
    snapshot: Snapshot,
    /// Threads of the snapshot that is being read.
    seen: HashSet<u32>,
    head: Option<Head>,
    frames: Vec<StackFrame>,
    /// Where the thread that is being read is, by the start of its first frame's text.
    place: Option<String>,
    /// Where the threads with heads are.
    places: HashSet<String>,
    /// Stacks of one frame without a head: which threads of the snapshot they are, and where.
    lone: Vec<(usize, String)>,
    /// Where the thread before is, if it has a head.
    before: Option<String>,
    /// The frame that is being read: its number, and its text from several lines.
    text: Option<(usize, String)>,
    threads: usize,
    left_out: usize,
}

#[derive(Default)]
struct Head {
    tid: Option<u32>,
    name: String,
}

impl Reader {
    fn line(&mut self, line: &Line<'_>) {
        let text = line.trimmed();
        if let Some(at) = times::ts(text) {
            self.end_snapshot();
            self.snapshot.at = Some(at);
            return;
        }
        if is_thread_head(text) {
            self.end_thread();
            let head = head(text);
            self.start(head);
            return;
        }
        if let Some((thread, frame)) = listed_thread(text) {
            self.end_thread();
            self.start(head(thread));
            self.text = Some((0, String::new()));
            self.more(frame);
            return;
        }
        let is_noise = text.starts_with('[')
            || text.starts_with("(gdb)")
            || text.starts_with("warning:")
            || text.is_empty();
        if let Some((number, rest)) = frame_number(text) {
            self.end_frame();
            if number == 0 && !self.frames.is_empty() {
                self.end_thread();
            }
            if let Some(printed) = &mut self.printed
                && printed.thread.len() < FRAMES_MAX
            {
                printed.thread.push(text.to_owned());
            }
            // A line's end may be lost: `…at x.h:631#11 next (…)`.
            self.text = Some((number, String::new()));
            self.more(rest);
        } else if !is_noise && self.text.is_some() {
            self.more(text);
        }
    }

    /// More of the frame that is being read.
    fn more(&mut self, text: &str) {
        let mut rest = text;
        while let Some((number, so_far)) = &mut self.text {
            let next = *number + 1;
            let mark = format!("#{next} ");
            let glued = rest.find(&mark).filter(|at| {
                rest.get(..*at).is_some_and(|before| {
                    before.ends_with(|c: char| c.is_ascii_digit() || c == ')')
                })
            });
            let (this, behind) = match glued {
                Some(at) => rest.split_at(at),
                None => (rest, ""),
            };
            if so_far.len() < FRAME_BYTES_MAX {
                if !so_far.is_empty() {
                    so_far.push(' ');
                }
                let room = FRAME_BYTES_MAX.saturating_sub(so_far.len());
                so_far.push_str(this.get(..this.floor_char_boundary(room)).unwrap_or(this));
            }
            if behind.is_empty() {
                return;
            }
            self.end_frame();
            self.text = Some((next, String::new()));
            rest = behind.get(mark.len()..).unwrap_or_default().trim_start();
        }
    }

    fn end_frame(&mut self) {
        if let Some((number, text)) = self.text.take()
            && self.frames.len() < FRAMES_MAX
            && let Some(frame) = printed_frame(&text)
        {
            if number == 0 {
                self.place = Some(place_of(&text));
            }
            self.frames.push(frame);
        }
    }

    fn start(&mut self, head: Head) {
        // The same thread again: the capture was taken again.
        if let Some(tid) = head.tid
            && !self.seen.insert(tid)
        {
            self.end_snapshot();
            self.seen.insert(tid);
        }
        self.head = Some(head);
    }

    fn end_thread(&mut self) {
        self.end_frame();
        let head = self.head.take();
        let place = self.place.take();
        let frames = std::mem::take(&mut self.frames);
        let printed = self.printed.as_mut();
        let lines = printed.map(|printed| std::mem::take(&mut printed.thread));
        if frames.is_empty() {
            return;
        }
        self.threads += 1;
        if self.threads > THREADS_MAX {
            self.left_out += 1;
            return;
        }
        let is_lone = head.is_none() && frames.len() == 1;
        if let (Some(printed), Some(lines)) = (&mut self.printed, lines) {
            // Who counts lines takes the print of the selected frame for one more frame of the last thread.
            match printed.threads.last_mut() {
                Some(last) if is_lone && place.is_some() && place == self.before => {
                    last.extend(lines);
                }
                _ => printed.threads.push(lines),
            }
        }
        self.before = place.clone().filter(|_| head.is_some());
        match place {
            Some(place) if is_lone => self.lone.push((self.snapshot.threads.len(), place)),
            Some(place) if head.is_some() => {
                self.places.insert(place);
            }
            _ => {}
        }
        let head = head.unwrap_or_default();
        let end = stack_end(&frames, false);
        self.snapshot.threads.push(Thread {
            tid: head.tid,
            name: head.name,
            count: 1,
            frames,
            end,
        });
    }

    fn end_snapshot(&mut self) {
        self.end_thread();
        self.seen.clear();
        self.before = None;
        self.without_selected_frame();
        let done = std::mem::take(&mut self.snapshot);
        if !done.threads.is_empty() {
            self.read.snapshots.push(done);
        }
    }

    /// gdb prints the selected frame when it opens a core and when it ends: no thread, one of the threads once more.
    fn without_selected_frame(&mut self) {
        let places = std::mem::take(&mut self.places);
        for (index, place) in std::mem::take(&mut self.lone).into_iter().rev() {
            if places.contains(&place) && index < self.snapshot.threads.len() {
                self.snapshot.threads.remove(index);
            }
        }
    }

    fn finish(mut self) -> Read {
        self.end_snapshot();
        let read = &mut self.read;
        let threads: usize = read.snapshots.iter().map(|one| one.threads.len()).sum();
        read.brought = match read.snapshots.len() {
            0 | 1 => counted(threads, "thread", "threads"),
            several => format!("{threads} threads in {several} snapshots"),
        };
        if self.left_out > 0 {
            read.skipped.push((
                0,
                format!("{} threads over {THREADS_MAX}", self.left_out).into(),
            ));
        }
        self.read
    }
}

/// `Thread 42 (Thread 0x7f27 (LWP 40417) "connection"):`, `Thread 3 (LWP 9):`, `TID 9:`.
fn head(text: &str) -> Head {
    let digits = |text: &str| -> Option<u32> {
        let end = text.bytes().take_while(u8::is_ascii_digit).count();
        text.get(..end)?.parse().ok()
    };
    let numbered = ["LWP ", "Stack trace of thread "];
    let numbered = numbered.iter().find_map(|mark| text.split_once(mark));
    let tid = match numbered {
        Some((_, rest)) => digits(rest),
        None => text.split_once(' ').and_then(|(_, rest)| digits(rest)),
    };
    // quickstack: `Thread 3 (LWP 9), connection:`.
    let behind = text
        .rsplit_once("), ")
        .map(|(_, name)| name.trim_end_matches(':'));
    let name = text.split('"').nth(1).or(behind).unwrap_or_default();
    let name = name.to_owned();
    Head { tid, name }
}

/// Address and function at the start of a frame's text. What follows, arguments and a line of the source, is not the same
/// in each print.
fn place_of(text: &str) -> String {
    let text = text.split('(').next().unwrap_or_default().trim();
    let end = text.floor_char_boundary(PLACE_BYTES_MAX);
    text.get(..end).unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean;

    fn stacks(text: &str) -> Vec<(Option<u32>, Vec<String>)> {
        let read = read(&clean::lines(text));
        read.snapshots
            .into_iter()
            .flat_map(|one| one.threads)
            .map(|thread| {
                let names = thread.frames.into_iter().map(|frame| frame.name).collect();
                (thread.tid, names)
            })
            .collect()
    }

    #[test]
    fn coredumps_of_systemd() {
        let text = "                Stack trace of thread 8509:\n\
            #0  0x00007f3a1e2797e9 __futex_abstimed_wait_common (libc.so.6 + 0x6d7e9)\n\
            #1  0x00007f3a1e44b524 n/a (libstdc++.so.6 + 0x4b524)\n\n\
            Stack trace of thread 1755:\n\
            #00x0000556d255ec300 handle_manager (mariadbd + 0x227300)\n\
            #10x00007f3a1e27d148 start_thread (libc.so.6 + 0x71148)\n";
        let names = |names: [&str; 2]| names.map(str::to_owned).to_vec();
        assert_eq!(
            stacks(text),
            [
                (
                    Some(8509),
                    names(["__futex_abstimed_wait_common", "libstdc++.so.6+?"])
                ),
                (Some(1755), names(["handle_manager", "start_thread"])),
            ]
        );
        let read = read(&clean::lines(text));
        let frame = &read.snapshots[0].threads[0].frames[0];
        assert_eq!(frame.image, "libc.so.6");
    }

    #[test]
    fn names_are_read_from_every_form() {
        for (text, name, image) in [
            (
                "0x0000003d in pthread_cond_wait@@GLIBC_2.3.2 () from /lib64/libpthread.so.0",
                "pthread_cond_wait",
                "libpthread.so.0",
            ),
            (
                "os_event::wait_low (this=0x1, reset=2) at /src/os0event.cc:366",
                "os_event::wait_low",
                "",
            ),
            (
                "0x00 in Time_zone::to_TIME(st_mysql_time*, long) const ()",
                "Time_zone::to_TIME",
                "",
            ),
            (
                "TTASEventMutex<GenericPolicy>::wait (this=0x1)",
                "TTASEventMutex<>::wait",
                "",
            ),
            (
                "0x00007f - 1 poll - /usr/lib/libc.so.6",
                "poll",
                "libc.so.6",
            ),
            ("0x00 in operator new(unsigned long) ()", "operator new", ""),
            (
                "0x00 in (anonymous namespace)::f (x=1)",
                "(anonymous namespace)::f",
                "",
            ),
            (
                "0x00 in ?? () from /lib/libaio.so.1",
                "libaio.so.1+?",
                "libaio.so.1",
            ),
            ("0x00 in F::operator() (this=0x0)", "F::operator()", ""),
        ] {
            let frame = printed_frame(text).unwrap();
            assert_eq!(
                (frame.name.as_str(), frame.image.as_str()),
                (name, image),
                "{text}"
            );
        }
    }

    /// People write between frames, and a frame need not have brackets that end its name.
    #[test]
    fn prose_between_frames_is_no_part_of_their_names() {
        let text = "Thread 1 (LWP 5):\n#0  0x00007f2b poll - /usr/lib/libc.so.6\nher password is hunter2\n\
            #1  0x00007f2c os_event::wait\nhunter2 was told us by Alice - from Berlin\n\
            #2  0x00007f2d Field::operator unsigned long\n#3  0x00007f2e non-virtual thunk to ha_innobase::info\n\
            #4  0x00007f2f in void f<int> (query=0x7f \"SELECT 'hunter2'\") at x.cc:3\n\
            #5  0x00007f30 start_thread\n";
        let read = read(&clean::lines(text));
        let frames = &read.snapshots[0].threads[0].frames;
        let names: Vec<&str> = frames.iter().map(|frame| frame.name.as_str()).collect();
        assert_eq!(names[..2], ["poll", "os_event::wait"], "{names:?}");
        assert_eq!((names.len(), names[5]), (6, "start_thread"), "{names:?}");
        let told = format!("{frames:?}");
        for word in ["hunter2", "Alice", "Berlin", "password"] {
            assert!(!told.contains(word), "{word}: {told}");
        }
    }

    #[test]
    fn old_and_new_heads_wrapped_and_glued_frames() {
        let text = "Thread 2 (Thread 1098357056 (LWP 77)):\n\
            #0  0x01 in a (x=1,\n    y=2) at a.c:1\n\
            #1  0x02 in b ()\n   from /lib/x.so\n\
            warning: noise\n\
            #2 0x03 in c (p=<optimized out>) at c.h:63#3 d (q=1) at d.h:9\n\
            Thread 1 (LWP 5):\n#0  0x04 in e ()\n";
        assert_eq!(
            stacks(text),
            [
                (
                    Some(77),
                    vec!["a".into(), "b".into(), "c".into(), "d".into()]
                ),
                (Some(5), vec!["e".into()])
            ]
        );
    }

    #[test]
    fn quickstacks_form() {
        let text = "Thread 2 (LWP 12), connection:\n\
            #01  0x0000000000a1b2c3 in poll () from /lib64/libc-2.12.so\n\
            #02  0x0000000000a1b2c4 in vio_io_wait () from /src/vio/viosocket.c:771\n\
            #03  0x0000000000a1b2c5 in clone () from /lib64/libc-2.12.so\n\n\
            Thread 1 (LWP 11):\n#01  0x0000000000a1b2c3 in main () from /usr/sbin/mysqld\n";
        let read = read(&clean::lines(text));
        let threads = &read.snapshots[0].threads;
        assert_eq!(threads.len(), 2);
        assert_eq!(threads[0].name, "connection");
        let frames: Vec<(&str, &str)> = threads[0]
            .frames
            .iter()
            .map(|frame| (frame.name.as_str(), frame.image.as_str()))
            .collect();
        assert_eq!(
            frames,
            [
                ("poll", "libc-2.12.so"),
                ("vio_io_wait", ""),
                ("clone", "libc-2.12.so")
            ]
        );
        assert!(threads[0].end.is_complete());
    }

    #[test]
    fn printed_lines_are_those_of_the_threads() {
        let text = "Thread 2 (LWP 7):\n#0  0x01 in a (x=1,\n    y=2) at a.c:1\n#1  0x02 in b ()\n\
            Thread 1 (LWP 5):\n#0  0x04 in e ()\n";
        assert_eq!(
            printed(&clean::lines(text)),
            [
                vec![
                    "#0  0x01 in a (x=1,".to_owned(),
                    "#1  0x02 in b ()".to_owned()
                ],
                vec!["#0  0x04 in e ()".to_owned()]
            ]
        );
    }

    /// As gdb prints it when it opens a core, before the threads, and when it lets a server go, after them.
    #[test]
    fn the_selected_frame_is_no_thread() {
        let threads = "Thread 2 (LWP 7):\n#0  0x09 in wait () from /lib/x.so\n#1  0x02 in work ()\n\n\
            Thread 1 (LWP 5):\n#0  0x04 in poll (n=1) from /lib/x.so\n#1  0x03 in main ()\n";
        let selected = "#0  0x04 in poll (n=1) from /lib/x.so\n";
        let with_source = "#0  0x04 in poll (n=1) from /lib/x.so\n29\tin poll.c\n";
        let expected = stacks(threads);
        assert_eq!(expected.len(), 2);
        for (before, after) in [("", selected), ("", with_source), (selected, "")] {
            let text = [before, threads, after].concat();
            assert_eq!(stacks(&text), expected, "{text}");
        }
        // In another place than all threads: one whose head is lost.
        let other = [threads, "#0  0x05 in poll (n=1) from /lib/x.so\n"].concat();
        assert_eq!(stacks(&other).len(), 3);
        let printed = printed(&clean::lines(&[threads, selected].concat()));
        let last = printed.last().unwrap();
        assert_eq!((printed.len(), last.len()), (2, 3));
        assert_eq!(last.last().map(String::as_str), Some(selected.trim()));
    }

    #[test]
    fn a_second_capture_is_a_second_snapshot() {
        let one = "Thread 1 (LWP 5):\n#0  0x04 in e ()\n";
        let read = read(&clean::lines(&[one, one].concat()));
        assert_eq!(read.snapshots.len(), 2);
        // Stacks without heads are threads of one snapshot.
        assert_eq!(
            stacks("#0  0x1 in a ()\n#1  0x2 in b ()\n#0  0x1 in c ()\n").len(),
            2
        );
    }
}
