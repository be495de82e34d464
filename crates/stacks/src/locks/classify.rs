//! What a thread does, told by its state, its system call and its frames.

use std::collections::HashMap;

use model::{Frame, RunState, Side, StackBook, StackId, Syscall, ThreadAt};

use super::PATH_FRAMES;
use super::known::{Era, Known, What, era_of, find};
use super::own::{Kind, is_allocator, is_root, own_kind};
use super::plain::plain;
use crate::syscalls;

/// What a thread does.
#[derive(Debug, Clone, Copy)]
pub(super) enum Doing {
    /// It runs, waits for the disk, sleeps, or talks to somebody: it is at work.
    Works,
    /// It waits for work, in these words.
    Idle(&'static str),
    /// It waits for a lock, or for what makes a crowd like one.
    Lock(Option<&'static Known>),
    /// It waits on something that is no lock as far as is known.
    Condition(Option<&'static Known>),
}

/// What a stack tells of a wait.
#[derive(Debug, Clone, Copy)]
pub(super) struct Class {
    pub(super) doing: Doing,
    pub(super) kind: Kind,
    /// It waits on a condition variable, whatever is made of it.
    pub(super) on_condition: bool,
    /// Frames of the lock's own at the inner end of the user stack.
    own: usize,
    /// glibc's allocator asked for the lock.
    pub(super) allocator: bool,
    /// No frame but nameless ones says what this waits for.
    pub(super) nameless: bool,
}

impl Class {
    const WORKS: Self = Self {
        doing: Doing::Works,
        kind: Kind::Unknown,
        on_condition: false,
        own: 0,
        allocator: false,
        nameless: false,
    };

    /// The same wait, known by its owner field to be one for a pthread mutex.
    pub(super) fn as_mutex(self) -> Self {
        Self {
            doing: Doing::Lock(None),
            kind: Kind::Mutex,
            ..self
        }
    }
}

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
    fn of(syscall: Option<&Syscall>) -> Self {
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
    book: &'a StackBook,
    /// Plain names of the book's frames, by number.
    plain: Vec<String>,
    era: Option<Era>,
    classes: HashMap<(StackId, Entry), Class>,
}

impl<'a> Classifier<'a> {
    pub(super) fn new(book: &'a StackBook) -> Self {
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
    pub(super) fn thread(&mut self, thread: &ThreadAt) -> Class {
        if thread.state != RunState::Sleeping && thread.state != RunState::Other {
            return Class::WORKS;
        }
        self.class(thread.stack, Entry::of(thread.syscall.as_ref()))
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
    fn user_frames(&self, stack: StackId) -> Vec<(&str, &Frame)> {
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
            .filter(|(_, frame)| frame.side == Side::User)
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
            Some(What::Idle(words)) => Doing::Idle(words),
            Some(What::Condition(_)) => Doing::Condition(known),
            Some(What::Lock(_) | What::LockEach(_) | What::Wait(_)) => Doing::Lock(known),
            None if kind.is_lock() || allocator => Doing::Lock(None),
            None => match kind {
                Kind::Input => Doing::Idle("waits for input"),
                Kind::Sleep => Doing::Works,
                _ => Doing::Condition(None),
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
        }
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
        frames[from..]
            .iter()
            .take_while(|(name, _)| !is_root(name))
            .take(PATH_FRAMES)
            .map(|(name, _)| (*name).to_owned())
            .collect()
    }
}

/// The program makes the system call through libc's bare `syscall`, and no function of a lock's own
/// is around it.
fn calls_itself(own: &[(&str, &Frame)]) -> bool {
    own.iter().any(|(name, _)| *name == "syscall")
}

/// How many frames at the inner end are the lock's own, what they wait with, and whether there is a
/// condition variable among them.
fn own_part(frames: &[(&str, &Frame)]) -> (usize, Kind, bool) {
    let mut own = 0;
    let mut kind = Kind::Unknown;
    let mut on_condition = false;
    for (at, (name, frame)) in frames.iter().enumerate() {
        if frame.nameless.is_some() {
            // Inner functions of libc, whose names only its debug symbols have.
            if is_libc(&frame.image) && at == own {
                own = at + 1;
                continue;
            }
            break;
        }
        match own_kind(name) {
            Some(this) => {
                kind = kind.max(this);
                on_condition |= this == Kind::Condition;
                own = at + 1;
            }
            None => break,
        }
    }
    (own, kind, on_condition)
}

fn is_libc(image: &str) -> bool {
    ["libc.so", "libc-2", "libpthread", "ld-linux"]
        .iter()
        .any(|name| image.starts_with(name))
}
