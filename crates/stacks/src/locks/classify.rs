//! What a thread does, told by its state, its system call and its frames.

use std::collections::HashMap;

use model::{FrameSide, RunState, SnapshotThread, StackFrame, StackId, StackTable, Syscall};

use super::PATH_FRAMES;
use super::known::{InnodbGeneration, KnownWait, WaitMeaning, era_of, find};
use super::matching::matches_any;
use super::own::{Kind, is_allocator, is_root, own_kind, reserves_event};
use super::plain::plain;
use crate::syscalls;

/// What a thread does.
#[derive(Debug, Clone, Copy)]
pub(super) enum Activity {
    /// It runs, waits for the disk, sleeps, or talks to somebody: it is at work.
    Works,
    /// It waits for work, in these words.
    Idle(&'static str),
    /// It waits for a lock, or for what makes a crowd like one.
    Lock(Option<&'static KnownWait>),
    /// It waits on something that is no lock as far as is known.
    Condition(Option<&'static KnownWait>),
}

/// The part of an InnoDB event that a thread waits on: both mean the same lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventPart {
    /// The mutex, at its begin.
    Mutex,
    /// The condition variable.
    Condition,
}

/// What a stack tells of a wait.
#[derive(Debug, Clone, Copy)]
pub(super) struct Class {
    pub(super) doing: Activity,
    pub(super) kind: Kind,
    /// It waits on a condition variable, whatever is made of it.
    pub(super) on_condition: bool,
    /// Frames of the lock's own at the inner end of the user stack.
    own: usize,
    /// glibc's allocator asked for the lock.
    pub(super) allocator: bool,
    /// No frame but nameless ones says what this waits for.
    pub(super) nameless: bool,
    /// It was woken and has no processor yet.
    pub(super) woken: bool,
    /// It waits on an event of InnoDB up to MySQL 5.5.
    pub(super) event: Option<EventPart>,
    /// It waits on a condition variable as a background thread at rest does.
    pub(super) at_rest: bool,
}

impl Class {
    const WORKS: Self = Self {
        doing: Activity::Works,
        kind: Kind::Unknown,
        on_condition: false,
        own: 0,
        allocator: false,
        nameless: false,
        woken: false,
        event: None,
        at_rest: false,
    };

    /// The same wait, known by its owner field to be one for a pthread mutex.
    pub(super) fn as_mutex(self) -> Self {
        Self {
            doing: Activity::Lock(None),
            kind: Kind::Mutex,
            ..self
        }
    }
}

/// Where the kernel switches a thread out that waits for a futex. The kernel leaves the scheduler's
/// own functions out of the stack of a thread that does not run (arch/x86/kernel/stacktrace.c,
/// kernel/sched: `__sched`).
const WAITS_FOR_FUTEX: &str = "futex_do_wait|futex_wait_queue|futex_wait_queue_me";

/// Where it switches out one that could go on running.
const SWITCHES_OUT: &str = "irqentry_exit*|exit_to_user_mode_*|syscall_exit_to_user_mode*|prepare_exit_to_usermode|\
    preempt_schedule*|cond_resched*|do_sched_yield|do_sys_sched_yield|x64_sys_sched_yield|retint_user";

/// Frames without a name that may lie between two of a lock's own.
const BRIDGE_MAX: usize = 3;

/// A thread of the server's own that waits for work has so few functions of its own around the
/// wait; one that serves a client has more than ten.
const SHALLOW_MAX: usize = 2;

/// What the system call lets a thread wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Entry {
    Futex,
    Sleep,
    Input,
    /// It works in the kernel.
    Work,
    /// The system call could not be read: frames alone must tell.
    Unread,
}

impl Entry {
    fn from_syscall(syscall: Option<&Syscall>) -> Self {
        let Some(syscall) = syscall else {
            return Self::Unread;
        };
        if syscall.futex.is_some() {
            return Self::Futex;
        }
        match syscall_name(syscall) {
            "futex" | "futex_wait" | "futex_waitv" => Self::Futex,
            "nanosleep" | "clock_nanosleep" | "restart_syscall" | "pause" => Self::Sleep,
            "read" | "recvfrom" | "recvmsg" | "recvmmsg" | "accept" | "accept4" | "poll"
            | "ppoll" | "select" | "pselect6" | "epoll_wait" | "epoll_pwait" | "epoll_pwait2"
            | "io_getevents" | "io_pgetevents" | "io_uring_enter" | "rt_sigtimedwait"
            | "rt_sigsuspend" => Self::Input,
            _ => Self::Work,
        }
    }
}

/// The name of a system call, from its number when it was not resolved.
pub(super) fn syscall_name(syscall: &Syscall) -> &str {
    if syscall.name.is_empty() {
        syscalls::name(syscall.number).unwrap_or_default()
    } else {
        &syscall.name
    }
}

/// Classes of the stacks of one book, each found once.
pub(super) struct Classifier<'a> {
    book: &'a StackTable,
    /// Plain names of the book's frames, by number.
    plain: Vec<String>,
    era: Option<InnodbGeneration>,
    classes: HashMap<(StackId, Entry), Class>,
}

impl<'a> Classifier<'a> {
    pub(super) fn new(book: &'a StackTable) -> Self {
        let plain: Vec<String> = book
            .frames()
            .iter()
            .map(|frame| {
                if frame.nameless.is_some() {
                    frame.name.clone()
                } else {
                    plain(&frame.name)
                }
            })
            .collect();
        let era = era_of(plain.iter().map(String::as_str));
        Self {
            book,
            plain,
            era,
            classes: HashMap::new(),
        }
    }

    /// What a thread of a snapshot does.
    ///
    /// One that was woken from its wait for a lock and has no processor yet still waits: it must try
    /// again when it runs, and counting every wait counts it so. One that was woken otherwise got
    /// what it waited for.
    pub(super) fn thread(&mut self, thread: &SnapshotThread) -> Class {
        match thread.state {
            RunState::Sleeping | RunState::Other => {
                self.class(thread.stack, Entry::from_syscall(thread.syscall.as_ref()))
            }
            RunState::Running if self.is_in(thread.stack, WAITS_FOR_FUTEX) => {
                let class = self.class(thread.stack, Entry::Futex);
                if class.kind.is_lock() || class.allocator {
                    Class {
                        woken: true,
                        ..class
                    }
                } else {
                    Class::WORKS
                }
            }
            _ => Class::WORKS,
        }
    }

    /// What a thread that does not sleep is about to wait for: InnoDB spins and yields in its own
    /// functions before it does.
    pub(super) fn spinning(&self, stack: StackId) -> Option<Class> {
        let class = self.classify(stack, Entry::Unread);
        matches!(class.kind, Kind::InnodbMutex | Kind::InnodbRwLock).then_some(class)
    }

    /// A thread that is ready to run and was switched out: it has no processor.
    pub(super) fn has_no_processor(&self, thread: &SnapshotThread) -> bool {
        thread.state == RunState::Running
            && (self.is_in(thread.stack, WAITS_FOR_FUTEX) || self.is_in(thread.stack, SWITCHES_OUT))
    }

    /// Whether the innermost function of the kernel's part is one of these.
    fn is_in(&self, stack: StackId, functions: &str) -> bool {
        self.book
            .stack(stack)
            .frames
            .first()
            .filter(|id| {
                self.book
                    .frame(**id)
                    .is_some_and(|frame| frame.side == FrameSide::Kernel)
            })
            .and_then(|id| self.plain.get(id.0 as usize))
            .is_some_and(|name| matches_any(functions, name))
    }

    /// What a thread does that waits on a futex with this stack.
    pub(super) fn futex_wait(&mut self, stack: StackId) -> Class {
        self.class(stack, Entry::Futex)
    }

    fn class(&mut self, stack: StackId, entry: Entry) -> Class {
        if let Some(class) = self.classes.get(&(stack, entry)) {
            return *class;
        }
        let class = self.classify(stack, entry);
        self.classes.insert((stack, entry), class);
        class
    }

    /// The user's part of a stack with plain names, innermost first.
    fn user_frames(&self, stack: StackId) -> Vec<(&str, &StackFrame)> {
        self.book
            .stack(stack)
            .frames
            .iter()
            .filter_map(|id| {
                Some((
                    self.plain.get(id.0 as usize)?.as_str(),
                    self.book.frame(*id)?,
                ))
            })
            .filter(|(_, frame)| frame.side == FrameSide::User)
            .collect()
    }

    /// The user's part of a stack, plain names only.
    pub(super) fn names(&self, stack: StackId) -> Vec<&str> {
        self.user_frames(stack)
            .into_iter()
            .map(|(name, _)| name)
            .collect()
    }

    fn classify(&self, stack: StackId, entry: Entry) -> Class {
        if entry == Entry::Work {
            return Class::WORKS;
        }
        let frames = self.user_frames(stack);
        let (own, mut kind, on_condition) = own_part(&frames);
        let by_itself = calls_itself(&frames[..own]);
        if kind == Kind::Unknown && (own == 0 || by_itself) {
            let outside_libc = frames
                .first()
                .is_some_and(|(_, frame)| !is_libc(&frame.image));
            kind = match entry {
                Entry::Futex if by_itself || outside_libc => Kind::OwnFutex,
                Entry::Futex => Kind::Unknown,
                Entry::Sleep => Kind::Sleep,
                Entry::Input => Kind::Input,
                // Not a function that waits: it was about to, or is done.
                Entry::Unread | Entry::Work => return Class::WORKS,
            };
        }
        let names: Vec<&str> = frames.iter().map(|(name, _)| *name).collect();
        let (own_names, above) = names.split_at(own);
        // `libc.so.6+0x9a3f0 < malloc`: nameless frames of libc belong to the allocator's.
        let allocator = matches!(
            kind,
            Kind::LowLevel | Kind::Mutex | Kind::Unknown | Kind::OwnFutex
        ) && above.first().is_some_and(|name| is_allocator(name));
        let known = find(own_names, above, kind, self.era);
        let doing = match known.map(|known| known.what) {
            Some(WaitMeaning::Idle(words)) => Activity::Idle(words),
            Some(WaitMeaning::Condition(_)) => Activity::Condition(known),
            Some(WaitMeaning::Lock(_) | WaitMeaning::LockEach(_) | WaitMeaning::Wait(_)) => {
                Activity::Lock(known)
            }
            None if kind.is_lock() || allocator => Activity::Lock(None),
            None => match kind {
                Kind::Input => Activity::Idle("waits for input"),
                Kind::Sleep => Activity::Works,
                _ => Activity::Condition(None),
            },
        };
        Class {
            doing,
            kind,
            on_condition,
            own,
            allocator,
            nameless: known.is_none()
                && above
                    .iter()
                    .zip(frames.iter().skip(own))
                    .all(|(name, (_, frame))| frame.nameless.is_some() || is_root(name)),
            woken: false,
            event: (self.era == Some(InnodbGeneration::KernelMutex))
                .then(|| event_part(own_names))
                .flatten(),
            at_rest: on_condition && known.is_none() && self.is_shallow(stack, &frames[own..]),
        }
    }

    /// A thread's own first function, without a name, waits on a condition variable, or what it
    /// calls does: a background thread at rest.
    fn is_shallow(&self, stack: StackId, above: &[(&str, &StackFrame)]) -> bool {
        let inside = without_start(above);
        !inside.is_empty()
            && inside.len() <= SHALLOW_MAX
            && inside.iter().all(|(_, frame)| frame.nameless.is_some())
            && self.book.stack(stack).end.is_complete()
    }

    /// The functions that asked, innermost first: from the allocator's entry, or else from the first
    /// that is none of the lock's own, to the thread's first function, which is left out.
    pub(super) fn path(&self, stack: StackId, class: &Class) -> Vec<String> {
        let frames = self.user_frames(stack);
        let mut from = class.own.min(frames.len());
        if class.allocator {
            let inside = frames[from..]
                .iter()
                .take_while(|(name, _)| is_allocator(name))
                .count();
            from += inside.saturating_sub(1);
        }
        let mut path = Vec::new();
        let mut frames = without_start(&frames[from..]);
        while let Some(((name, frame), rest)) = frames.split_first() {
            if path.len() == PATH_FRAMES {
                break;
            }
            let nameless = frames
                .iter()
                .take_while(|(_, frame)| frame.nameless.is_some())
                .count();
            // Who asked stands there in any case; of others without a name in a row only how many.
            if !path.is_empty() && nameless > 1 && nameless < frames.len() {
                path.push(format!("({nameless} nameless)"));
                frames = &frames[nameless..];
                continue;
            }
            debug_assert!(nameless == 0 || frame.nameless.is_some());
            path.push((*name).to_owned());
            frames = rest;
        }
        path
    }
}

/// Which part of an event the lock's own functions, innermost first, wait on.
fn event_part(own: &[&str]) -> Option<EventPart> {
    let in_event = own.iter().any(|name| name.starts_with("os_event_"));
    let in_mutex = own.iter().any(|name| own_kind(name) == Some(Kind::Mutex));
    let signals = own
        .iter()
        .any(|name| matches_any("pthread_cond_broadcast*|pthread_cond_signal*", name));
    match (in_event && !signals, in_mutex) {
        (false, _) => None,
        (true, true) => Some(EventPart::Mutex),
        (true, false) => Some(EventPart::Condition),
    }
}

/// Without the functions that only start a thread, and what is further out.
fn without_start<'s, 'f>(
    frames: &'s [(&'f str, &'f StackFrame)],
) -> &'s [(&'f str, &'f StackFrame)] {
    let end = frames
        .iter()
        .position(|(name, frame)| {
            is_root(name) || frame.nameless.is_some() && starts_threads(&frame.image)
        })
        .unwrap_or(frames.len());
    &frames[..end]
}

fn starts_threads(image: &str) -> bool {
    is_libc(image) || image.starts_with("libstdc++")
}

/// The program makes the system call through libc's bare `syscall`, and no function of a lock's own
/// is around it.
fn calls_itself(own: &[(&str, &StackFrame)]) -> bool {
    own.iter().any(|(name, _)| *name == "syscall")
}

/// How many frames at the inner end are the lock's own, what they wait with, and whether there is a
/// condition variable among them.
fn own_part(frames: &[(&str, &StackFrame)]) -> (usize, Kind, bool) {
    let mut own = 0;
    let mut kind = Kind::Unknown;
    let mut on_condition = false;
    let mut at = 0;
    while let Some((name, frame)) = frames.get(at) {
        if frame.nameless.is_some() {
            // Inner functions of libc, whose names only its debug symbols have.
            if is_libc(&frame.image) && at == own {
                at += 1;
                own = at;
                continue;
            }
            match bridge(&frames[at..]) {
                Some(further) if own > 0 => at += further,
                _ => break,
            }
            continue;
        }
        match own_kind(name) {
            Some(this) => {
                kind = kind.max(this);
                on_condition |= this == Kind::Condition;
            }
            // It has left the mutex of the sync array when it resets the event of the lock that it
            // is going to wait for (sync0arr.c, 5.5).
            None if reserves_event(name) && at > 0 && frames[at - 1].0 == "os_event_reset" => {}
            None => break,
        }
        at += 1;
        own = at;
    }
    // What calls futex by itself is a lock's own function, with a name or without.
    let calls_by_itself = own > 0 && frames[own - 1].0 == "syscall";
    let asked = frames.get(own + 1);
    if calls_by_itself
        && frames
            .get(own)
            .is_some_and(|(_, frame)| frame.nameless.is_some() && !is_libc(&frame.image))
        && asked.is_some_and(|(name, frame)| !is_root(name) && !starts_threads(&frame.image))
    {
        own += 1;
    }
    (own, kind, on_condition)
}

/// How many frames without a name there are before the next of a lock's own.
fn bridge(frames: &[(&str, &StackFrame)]) -> Option<usize> {
    let between = frames
        .iter()
        .take(BRIDGE_MAX + 1)
        .position(|(_, frame)| frame.nameless.is_none())?;
    let (name, _) = frames.get(between)?;
    own_kind(name).is_some_and(Kind::is_lock).then_some(between)
}

fn is_libc(image: &str) -> bool {
    ["libc.so", "libc-2", "libpthread", "ld-linux"]
        .iter()
        .any(|name| image.starts_with(name))
}
