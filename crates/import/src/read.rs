//! What is read of sections, of whatever format, and what several readers share.

pub(crate) mod call_graph;
pub(crate) mod cells;
pub(crate) mod listing;
pub(crate) mod plockstat;
pub(crate) mod rows;

use std::borrow::Cow;

use model::{
    Fact, FrameSide, Mention, QueryDigest, Reading, RunState, SourceData, StackEnd, StackFrame,
    Syscall, Text, UnnamedReason,
};

use crate::line::Line;
use crate::read::rows::Rows;
use crate::symbol;
use crate::times;

/// Frames of one stack that are kept.
pub(crate) const FRAMES_MAX: usize = 512;

/// Threads of one capture that are kept.
pub(crate) const THREADS_MAX: usize = 100_000;

/// Moments of one section that are kept: five hours and a half of seconds.
pub(crate) const TIMESTAMPS_MAX: usize = 20_000;

/// A thread, or several with the same stack.
#[derive(Debug, Clone)]
pub(crate) struct Thread {
    pub(crate) tid: Option<u32>,
    pub(crate) name: String,
    pub(crate) count: u32,
    /// Innermost first.
    pub(crate) frames: Vec<StackFrame>,
    pub(crate) end: StackEnd,
}

/// Threads of one moment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Snapshot {
    pub(crate) at: Option<i64>,
    pub(crate) threads: Vec<Thread>,
}

/// Samples of one stack.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) frames: Vec<StackFrame>,
    pub(crate) thread: String,
    /// It is the server's, as far as the listing tells.
    pub(crate) server: bool,
    pub(crate) count: u64,
}

/// What processors did, as a listing tells.
#[derive(Debug, Clone, Default)]
pub(crate) struct Listing {
    pub(crate) rows: Vec<Row>,
    /// Functions with all that they called, each a stack of one frame: they may include each other
    /// and the rows.
    pub(crate) callers: Vec<Row>,
    /// How long the samples were taken, seconds.
    pub(crate) seconds: Option<f64>,
}

impl Listing {
    /// No sample has a function of its own.
    pub(crate) fn has_callers_only(&self) -> bool {
        let is_named = |row: &Row| row.frames.iter().any(|frame| frame.name != NOT_LISTED);
        !self.callers.is_empty() && !self.rows.iter().any(is_named)
    }
}

/// Samples whose function is not listed.
pub(crate) const NOT_LISTED: &str = "(not listed)";

/// A moment of a capture: a time that is told, or milliseconds from the begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Timestamp {
    pub(crate) at: Option<i64>,
    pub(crate) after: u64,
}

/// Signals of one moment.
#[derive(Debug, Clone)]
pub(crate) struct Tick {
    pub(crate) source: &'static str,
    /// When, where the capture tells.
    pub(crate) at: Option<i64>,
    /// Milliseconds since the first tick of the section, where it does not.
    pub(crate) after: u64,
    pub(crate) readings: Vec<Reading>,
}

/// What was asked in a stretch of time, milliseconds since 1970 UTC.
#[derive(Debug, Clone)]
pub(crate) struct Workload {
    pub(crate) from: Option<i64>,
    pub(crate) to: Option<i64>,
    /// How many milliseconds that was, where only this is told.
    pub(crate) length: Option<u64>,
    pub(crate) digest: QueryDigest,
}

/// What a section tells.
#[derive(Debug, Clone, Default)]
pub(crate) struct Read {
    /// What it is, where that is more than the name of its format.
    pub(crate) what: Option<String>,
    /// What came of it, in words.
    pub(crate) brought: String,
    pub(crate) snapshots: Vec<Snapshot>,
    pub(crate) listings: Vec<Listing>,
    pub(crate) ticks: Vec<Tick>,
    pub(crate) texts: Vec<(Timestamp, Text)>,
    pub(crate) facts: Vec<Fact>,
    /// What was asked.
    pub(crate) workload: Vec<Workload>,
    /// Rows that tell something together with those of other captures.
    pub(crate) rows: Vec<Rows>,
    /// Rows of plockstat.
    pub(crate) plockstat: Vec<plockstat::Row>,
    /// Dates that it has itself, by a clock of which it does not tell how far it is ahead of UTC, in milliseconds since
    /// 1970 of that clock; beside which milliseconds from its begin.
    pub(crate) dates: Vec<(u64, i64)>,
    /// Words in sentences.
    pub(crate) mentions: Vec<Mention>,
    /// Statements by which it was taken, by their names in the lexicon: they are none of the workload.
    pub(crate) own: Vec<&'static str>,
    /// Why somebody's tool captured all this.
    pub(crate) trigger: Option<String>,
    /// Its counters are sums of what it told of intervals: they have no common zero with those of
    /// another capture.
    pub(crate) relative: bool,
    /// Lines that could not be read, with the reason.
    pub(crate) skipped: Vec<(usize, Cow<'static, str>)>,
}

#[cfg(test)]
impl Read {
    /// The values of a signal.
    pub(crate) fn values(&self, name: &str) -> Vec<f64> {
        self.points(name)
            .into_iter()
            .map(|(_, value)| value)
            .collect()
    }

    /// Names and values of the facts.
    pub(crate) fn fact_list(&self) -> Vec<(&str, &str)> {
        let facts = self.facts.iter();
        facts
            .map(|fact| (fact.name.as_str(), fact.value.as_str()))
            .collect()
    }

    /// The same with their times.
    pub(crate) fn points(&self, name: &str) -> Vec<(u64, f64)> {
        let all = self.ticks.iter().flat_map(|tick| {
            let readings = tick.readings.iter();
            readings.map(|reading| (tick.after, reading))
        });
        all.filter(|(_, reading)| reading.name == name)
            .map(|(at, reading)| (at, reading.value))
            .collect()
    }
}

impl Read {
    /// Nothing came of it.
    pub(crate) fn is_empty(&self) -> bool {
        self.snapshots.is_empty()
            && self.listings.is_empty()
            && self.ticks.is_empty()
            && self.texts.is_empty()
            && self.facts.is_empty()
            && self.workload.is_empty()
            && self.rows.is_empty()
            && self.plockstat.is_empty()
            && self.trigger.is_none()
            && self.mentions.is_empty()
    }

    /// Leaves so many moments at the most, the newest, and says how many were older.
    pub(crate) fn keep_newest<T>(&mut self, timestamps: &mut Vec<T>, max: usize) {
        let older = timestamps.len().saturating_sub(max);
        timestamps.drain(..older);
        if older > 0 {
            let why = format!("{older} older moments");
            self.skipped.push((0, why.into()));
        }
    }

    /// Adds the readings of a moment: milliseconds since 1970 where the capture tells it, and since its first moment.
    pub(crate) fn push(
        &mut self,
        source: &'static str,
        at: Option<i64>,
        after: u64,
        readings: Vec<Reading>,
    ) {
        if !readings.is_empty() {
            self.ticks.push(Tick {
                source,
                at,
                after,
                readings,
            });
        }
    }

    /// Adds the readings of moments, a second apart where their times are not told, and says how many they are.
    pub(crate) fn push_each(
        &mut self,
        source: &'static str,
        timestamps: impl IntoIterator<Item = (Option<i64>, Vec<Reading>)>,
    ) {
        let mut count = 0;
        for (at, readings) in timestamps {
            self.push(source, at, count as u64 * 1000, readings);
            count += 1;
        }
        self.brought = counted(count, "moment", "moments");
    }

    /// Adds what a reader of the server brought at a moment.
    pub(crate) fn take(
        &mut self,
        source: &'static str,
        at: Option<i64>,
        after: u64,
        taken: SourceData,
    ) {
        self.push(source, at, after, taken.readings);
        let timestamp = Timestamp { at, after };
        self.texts
            .extend(taken.texts.into_iter().map(|text| (timestamp, text)));
        self.facts.extend(taken.facts);
    }
}

/// The prints of a file that is written again and again: pt-stalk puts the moment in front of each.
pub(crate) fn prints<'a, 'l>(lines: &'a [Line<'l>]) -> Vec<(Option<i64>, &'a [Line<'l>])> {
    let mut starts: Vec<(usize, Option<i64>)> = lines
        .iter()
        .enumerate()
        .filter_map(|(index, line)| Some((index, Some(times::ts(&line.text)?))))
        .collect();
    if starts.first().is_none_or(|(index, _)| *index > 0) {
        starts.insert(0, (0, None));
    }
    let ends: Vec<usize> = starts
        .iter()
        .skip(1)
        .map(|(index, _)| *index)
        .chain([lines.len()])
        .collect();
    starts
        .into_iter()
        .zip(ends)
        .map(|((from, at), to)| (at, lines.get(from..to).unwrap_or_default()))
        .collect()
}

/// `1 thread`, `2 threads`.
pub(crate) fn counted(count: usize, one: &str, several: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { several })
}

/// A frame from a name as tools print it; `image` is empty when it is not known.
pub(crate) fn frame(name: &str, image: &str, side: FrameSide) -> StackFrame {
    let name = name.trim();
    let name = name
        .strip_prefix("void ")
        .or_else(|| name.strip_prefix("const "))
        .unwrap_or(name);
    let name = symbol::alone(name);
    let bare = name.rsplit("::").next().unwrap_or(name);
    let is_nameless = name.is_empty() || bare == "??" || name.starts_with("0x");
    let image = image.rsplit('/').next().unwrap_or(image).trim();
    if is_nameless {
        return StackFrame {
            name: if image.is_empty() {
                "??".to_owned()
            } else {
                format!("{image}+?")
            },
            image: image.to_owned(),
            side,
            nameless: Some(UnnamedReason::NoSymbol),
        };
    }
    StackFrame {
        name: stacks::shorten::shorten_printed(name),
        image: image.to_owned(),
        side,
        nameless: None,
    }
}

/// Functions that a thread begins with.
const FIRST: [&str; 12] = [
    "clone",
    "clone3",
    "__clone",
    "__clone3",
    "start_thread",
    "main",
    "_start",
    "__libc_start_main",
    "start_task",
    "thread_start",
    "_lwp_start",
    "__libc_start_main_impl",
];

/// How a printed stack ends.
pub(crate) fn stack_end(frames: &[StackFrame], cut: bool) -> StackEnd {
    let complete = frames
        .last()
        .is_some_and(|frame| FIRST.contains(&frame.name.as_str()));
    if complete && !cut {
        StackEnd::Complete
    } else {
        StackEnd::FrameLimit
    }
}

/// What a thread does, as its innermost functions tell: a debugger prints no state.
pub(crate) fn doing(frames: &[StackFrame]) -> (RunState, Option<Syscall>) {
    let inner: Vec<&str> = frames
        .iter()
        .take(3)
        .map(|frame| {
            frame
                .name
                .trim_start_matches("__GI_")
                .trim_start_matches('_')
        })
        .collect();
    let call = |name: &str| {
        Some(Syscall {
            number: -1,
            name: name.to_owned(),
            futex: None,
        })
    };
    let Some(first) = inner.first().copied() else {
        return (RunState::Other, None);
    };
    let first = first.strip_prefix("libc_").unwrap_or(first);
    let nameless = frames.first().is_some_and(|frame| frame.nameless.is_some());
    let sleeps = |name: &'static str| (RunState::Sleeping, call(name));
    let disk = |name: &'static str| (RunState::Uninterruptible, call(name));
    match first {
        "poll" | "ppoll" => sleeps("poll"),
        "read" => sleeps("read"),
        "recv" | "recvfrom" | "recvmsg" => sleeps("recvfrom"),
        "select" | "pselect" | "pselect64" | "select_nocancel" | "new_select" => sleeps("select"),
        "poll_nocancel" => sleeps("poll"),
        "read_nocancel" => sleeps("read"),
        "accept" | "accept4" => sleeps("accept"),
        "epoll_wait" | "epoll_pwait" => sleeps("epoll_wait"),
        "nanosleep" | "nanosleep_nocancel" | "clock_nanosleep" | "usleep" | "sleep" => {
            sleeps("clock_nanosleep")
        }
        "sigtimedwait" | "sigwaitinfo" | "do_sigwait" | "sigwait" => sleeps("rt_sigtimedwait"),
        "io_getevents" | "io_getevents_0_4" => sleeps("io_getevents"),
        "syscall" if inner.iter().any(|name| name.starts_with("io_getevents")) => {
            sleeps("io_getevents")
        }
        "fsync" | "fdatasync" | "sync_file_range" => disk("fsync"),
        "pread" | "pread64" | "pread64_nocancel" | "preadv" => disk("pread64"),
        "pwrite" | "pwrite64" | "pwrite64_nocancel" | "pwritev" => disk("pwrite64"),
        "ftruncate" | "ftruncate64" | "unlink" | "rename" | "fallocate" | "fallocate64" => {
            disk("unlink")
        }
        name if [
            "pthread_", "lll_", "futex_", "L_lock", "L_mutex", "L_cond", "syscall",
        ]
        .iter()
        .any(|start| name.starts_with(start)) =>
        {
            (RunState::Sleeping, None)
        }
        _ if nameless
            && frames
                .first()
                .is_some_and(|frame| frame.image.contains("libaio")) =>
        {
            sleeps("io_getevents")
        }
        _ => (RunState::Running, None),
    }
}
