//! Profiles by function and by thread.

use std::collections::{BTreeMap, HashMap, HashSet};

use model::{FrameSide, OrderBy, Profile, StackFrame, StackTable, UnnamedReason};
use serde::Serialize;

use super::groups::share;

/// A function, the same in all profiles.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Symbol {
    /// Its name, or image and address where it has none.
    pub name: String,
    /// File name of its image; empty when unknown.
    pub image: String,
    /// Kernel or user.
    pub side: FrameSide,
}

impl Symbol {
    fn of(frame: &StackFrame, images: Images) -> Self {
        Self {
            name: frame.name.clone(),
            image: match images {
                Images::Kept => frame.image.clone(),
                Images::Unknown => String::new(),
            },
            side: frame.side,
        }
    }
}

/// Whether functions of the same name in two images are two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Images {
    /// They are.
    Kept,
    /// They are one: images are not known.
    Unknown,
}

impl Images {
    /// Folded files do not tell images: a book without any is compared by name alone.
    pub(crate) fn in_both(a: &StackTable, b: &StackTable) -> Self {
        let told = |book: &StackTable| {
            let mut user = book
                .frames()
                .iter()
                .filter(|frame| frame.side == FrameSide::User);
            let mut known = user.clone().filter(|frame| !frame.image.is_empty());
            known.next().is_some() || user.next().is_none()
        };
        match told(a) && told(b) {
            true => Self::Kept,
            false => Self::Unknown,
        }
    }
}

/// The samples of a function.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SymbolRow {
    /// The function.
    #[serde(flatten)]
    pub symbol: Symbol,
    /// Why it has no name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nameless: Option<UnnamedReason>,
    /// Samples in the function itself.
    pub self_samples: u64,
    /// Samples in it and in what it called; a stack that holds it twice counts once.
    pub total_samples: u64,
}

/// The samples of all threads of a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProfileThread {
    /// Their name.
    pub name: String,
    /// They belong to the server.
    pub server: bool,
    /// Samples.
    pub samples: u64,
    /// Samples in the kernel, out of `samples`.
    pub kernel: u64,
}

/// A profile by function and by thread.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProfileTable {
    /// Samples.
    pub samples: u64,
    /// Samples in the kernel, out of `samples`.
    pub kernel: u64,
    /// Samples in programs, out of `samples`. What neither counts has no frame.
    pub user: u64,
    /// Samples of the server, out of `samples`.
    pub server: u64,
    /// Samples whose stack is not complete, out of `samples`.
    pub cut: u64,
    /// Samples the kernel could not hand over.
    pub lost: u64,
    /// How long it took, seconds; absent when that is not known.
    pub seconds: Option<f64>,
    /// Processors' time that the samples stand for, seconds within each second; absent when the
    /// rate of sampling or the time is not known.
    pub cores: Option<f64>,
    /// Processors that were sampled; absent when not known, and when only one program was.
    pub processors: Option<u32>,
    /// The functions, most samples of their own first.
    pub symbols: Vec<SymbolRow>,
    /// The threads, most samples first.
    pub threads: Vec<ProfileThread>,
}

impl ProfileTable {
    /// A part of the samples, 0 to 1.
    pub fn share(&self, part: u64) -> f64 {
        share(part, self.samples)
    }

    /// Samples a second.
    pub fn rate(&self) -> Option<f64> {
        self.seconds.map(|seconds| self.samples as f64 / seconds)
    }

    /// Share of the processors' time that gave no sample, 0 to 1. Only where whole processors were
    /// sampled and everything on them is in the table.
    pub fn idle(&self) -> Option<f64> {
        let processors = self.processors?;
        Some((1.0 - self.cores? / f64::from(processors)).clamp(0.0, 1.0))
    }
}

/// Counts a profile's samples; `server_only` leaves out what is not the server's.
pub fn profile_table(profile: &Profile, book: &StackTable, server_only: bool) -> ProfileTable {
    table(profile, book, server_only, Images::Kept)
}

/// As [`profile_table`], with or without images.
pub(crate) fn table(
    profile: &Profile,
    book: &StackTable,
    server_only: bool,
    images: Images,
) -> ProfileTable {
    let mut table = ProfileTable {
        lost: profile.lost,
        ..ProfileTable::default()
    };
    let mut symbols: HashMap<Symbol, SymbolRow> = HashMap::new();
    let mut threads: BTreeMap<(&str, bool), ProfileThread> = BTreeMap::new();
    for row in &profile.counts {
        if row.count == 0 || (server_only && !row.server) {
            continue;
        }
        add(&mut table.samples, row.count);
        if row.server {
            add(&mut table.server, row.count);
        }
        if !book.stack(row.stack).end.is_complete() {
            add(&mut table.cut, row.count);
        }
        let thread = threads
            .entry((&row.thread, row.server))
            .or_insert_with(|| ProfileThread {
                name: row.thread.clone(),
                server: row.server,
                samples: 0,
                kernel: 0,
            });
        add(&mut thread.samples, row.count);
        match book.frames_of(row.stack).next().map(|frame| frame.side) {
            Some(FrameSide::Kernel) => {
                add(&mut table.kernel, row.count);
                add(&mut thread.kernel, row.count);
            }
            Some(FrameSide::User) => add(&mut table.user, row.count),
            None => {}
        }
        let mut on_this_stack = HashSet::new();
        for (depth, frame) in book.frames_of(row.stack).enumerate() {
            let symbol = Symbol::of(frame, images);
            let entry = symbols.entry(symbol.clone()).or_insert_with(|| SymbolRow {
                symbol: symbol.clone(),
                nameless: frame.nameless,
                self_samples: 0,
                total_samples: 0,
            });
            if depth == 0 {
                add(&mut entry.self_samples, row.count);
            }
            if on_this_stack.insert(symbol) {
                add(&mut entry.total_samples, row.count);
            }
        }
    }
    table.symbols = symbols.into_values().collect();
    table.symbols.order_by(|a, b| {
        (b.self_samples, b.total_samples)
            .cmp(&(a.self_samples, a.total_samples))
            .then_with(|| a.symbol.cmp(&b.symbol))
    });
    table.threads = threads.into_values().collect();
    table
        .threads
        .order_by_key(|thread| std::cmp::Reverse(thread.samples));
    let seconds = profile.to.saturating_sub(profile.from) as f64 / 1000.0;
    table.seconds = Some(seconds).filter(|seconds| *seconds > 0.0);
    table.cores = table
        .rate()
        .filter(|_| profile.hz > 0)
        .map(|rate| rate / f64::from(profile.hz));
    // One processor may be a machine of one, or one program on a larger machine: the time left to
    // one of them says nothing about the other.
    table.processors = Some(profile.processors).filter(|count| *count > 1 && !server_only);
    table
}

/// Counts of a file from elsewhere may be anything; their sum stays a number.
fn add(sum: &mut u64, count: u64) {
    *sum = sum.saturating_add(count);
}

#[cfg(test)]
mod tests {
    use model::{ProfileCount, StackEnd, StackId};

    use super::*;
    use crate::evidence::profile_diff::{RankBy, profile_diff};
    use crate::evidence::testing::{kernel, user};

    fn count(stack: StackId, thread: &str, server: bool, count: u64) -> ProfileCount {
        ProfileCount {
            stack,
            thread: thread.to_owned(),
            server,
            count,
        }
    }

    fn profile(seconds: u64, counts: Vec<ProfileCount>) -> Profile {
        Profile {
            from: 1000,
            to: 1000 + seconds * 1000,
            hz: 100,
            processors: 2,
            counts,
            lost: 0,
        }
    }

    #[test]
    fn a_function_counts_once_a_stack() {
        let mut book = StackTable::default();
        let recursive = book.intern(
            [kernel("copy"), user("eval"), user("eval"), user("main")],
            StackEnd::Complete,
        );
        let flat = book.intern([user("eval"), user("main")], StackEnd::TooDeep);
        let counts = vec![
            count(recursive, "a", true, 30),
            count(flat, "a", true, 50),
            count(flat, "other", false, 20),
        ];
        let table = profile_table(&profile(10, counts.clone()), &book, false);
        let rows: Vec<_> = table
            .symbols
            .iter()
            .map(|row| {
                (
                    row.symbol.name.as_str(),
                    row.self_samples,
                    row.total_samples,
                )
            })
            .collect();
        assert_eq!(
            rows,
            [("eval", 70, 100), ("copy", 30, 30), ("main", 0, 100)]
        );
        assert_eq!(
            (
                table.samples,
                table.kernel,
                table.user,
                table.server,
                table.cut
            ),
            (100, 30, 70, 80, 70)
        );
        assert_eq!(table.rate(), Some(10.0));
        assert_eq!(table.cores, Some(0.1));
        assert_eq!(table.idle(), Some(0.95));
        assert_eq!(table.threads[0].samples, 80);
        assert_eq!(table.threads[0].kernel, 30);
        let server = profile_table(&profile(10, counts), &book, true);
        assert_eq!(server.samples, 80);
        assert_eq!(server.idle(), None, "others may have used the rest");
    }

    #[test]
    fn nothing_and_absurd_counts_are_numbers() {
        let mut book = StackTable::default();
        let stack = book.intern([user("f")], StackEnd::Complete);
        let empty = Profile {
            from: 5,
            to: 5,
            hz: 0,
            processors: 0,
            counts: Vec::new(),
            lost: 0,
        };
        let table = profile_table(&empty, &book, false);
        assert_eq!(
            (table.share(0), table.rate(), table.cores, table.idle()),
            (0.0, None, None, None)
        );
        let absurd = Profile {
            counts: vec![
                count(stack, "t", true, u64::MAX),
                count(stack, "u", true, u64::MAX),
                count(StackId(77), "foreign", true, 1),
            ],
            ..empty.clone()
        };
        let table = profile_table(&absurd, &book, false);
        assert_eq!(table.samples, u64::MAX);
        let diff = profile_diff((&empty, &book), (&absurd, &book), false, RankBy::Own);
        assert_eq!(diff.rows.len(), 1);
        assert_eq!(diff.rows[0].a.self_share, 0.0);
    }
}
