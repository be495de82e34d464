//! Snapshots written as text, one thread a line:
//!
//! ```text
//! tid 12 S futex 0x10 owner 13 | __lll_lock_wait < pthread_mutex_lock < f < start_thread
//! ```
//!
//! Words before the bar, in any order: `tid N`, a state's letter, `futex ADDRESS`, `op N`, `owner N`,
//! `pointer N`, `latch N`, `in SYSCALL`, `moved N` (switches; 0 without), `named NAME`. A frame may be written
//! `name[image]`; `image+0x12` is nameless; `k:name` is of the kernel. A line that begins with `#` is a
//! remark.

use model::{
    FrameSide, FutexWait, LockRow, LockTable, Millis, RunState, SnapshotMethod, SnapshotThread,
    StackEnd, StackFrame, StackId, StackTable, Syscall, ThreadSnapshot, UnnamedReason,
};
use stacks::locks::{LockSymbols, Observed, sampled_table};

#[derive(Debug, Default)]
pub struct Story {
    pub book: StackTable,
    pub snapshots: Vec<ThreadSnapshot>,
}

impl Story {
    /// Snapshots 100 ms apart, the first at 1000 ms.
    pub fn of(moments: &[&str]) -> Self {
        let mut story = Self::default();
        for (index, moment) in moments.iter().enumerate() {
            story.at(1000 + 100 * index as Millis, moment);
        }
        story
    }

    pub fn at(&mut self, at: Millis, moment: &str) {
        let threads = moment
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .map(|line| self.thread(line))
            .collect();
        self.push(at, threads);
    }

    pub fn push(&mut self, at: Millis, threads: Vec<SnapshotThread>) {
        self.snapshots.push(ThreadSnapshot {
            at,
            method: SnapshotMethod::Proc,
            wall_us: 5000,
            stopped_us: 0,
            threads,
            left_out: 0,
        });
    }

    pub fn stack(&mut self, frames: &str) -> StackId {
        let frames: Vec<StackFrame> = frames
            .split(" < ")
            .map(str::trim)
            .filter(|name| !name.is_empty())
            .map(frame)
            .collect();
        self.book.intern(frames, StackEnd::Complete)
    }

    fn thread(&mut self, line: &str) -> SnapshotThread {
        let (words, frames) = line.split_once('|').unwrap_or((line, ""));
        let mut thread = SnapshotThread {
            tid: 0,
            name: "mysqld".to_owned(),
            state: RunState::Sleeping,
            syscall: None,
            stack: self.stack(frames),
            switches: 0,
            sampled: false,
        };
        let mut futex: Option<FutexWait> = None;
        let mut name = None;
        let mut words = words.split_whitespace();
        while let Some(word) = words.next() {
            let mut number = || {
                let word = words.next().unwrap();
                word.strip_prefix("0x").map_or_else(
                    || word.parse().unwrap(),
                    |hex| u64::from_str_radix(hex, 16).unwrap(),
                )
            };
            match word {
                "tid" => thread.tid = number() as u32,
                "moved" => thread.switches = number(),
                "futex" => {
                    futex = Some(FutexWait {
                        address: number(),
                        operation: 0x80,
                        owner_word: 0,
                        pointer_owner: 0,
                        latch_owner: 0,
                    });
                }
                "op" => futex.as_mut().unwrap().operation = number() as u32,
                "owner" => futex.as_mut().unwrap().owner_word = number() as u32,
                "pointer" => futex.as_mut().unwrap().pointer_owner = number() as u32,
                "latch" => futex.as_mut().unwrap().latch_owner = number() as u32,
                "in" => name = Some(words.next().unwrap().to_owned()),
                "named" => thread.name = words.next().unwrap().to_owned(),
                letter if letter.len() == 1 => {
                    thread.state = RunState::from_letter(letter.chars().next().unwrap())
                }
                other => panic!("{other} in {line}"),
            }
        }
        thread.syscall = match (futex, name) {
            (Some(futex), _) => Some(Syscall {
                number: 202,
                name: "futex".to_owned(),
                futex: Some(futex),
            }),
            (None, Some(name)) => Some(Syscall {
                number: -1,
                name,
                futex: None,
            }),
            (None, None) => None,
        };
        thread
    }

    pub fn observed(&self) -> Observed<'_> {
        Observed {
            book: &self.book,
            snapshots: &self.snapshots,
        }
    }

    pub fn table(&self) -> LockTable {
        self.table_with(&LockSymbols::default())
    }

    pub fn table_with(&self, symbols: &LockSymbols) -> LockTable {
        let table = sampled_table(&self.observed(), symbols);
        assert_consistent(&table);
        table
    }
}

fn frame(text: &str) -> StackFrame {
    let (text, side) = match text.strip_prefix("k:") {
        Some(rest) => (rest, FrameSide::Kernel),
        None => (text, FrameSide::User),
    };
    let (name, image) = match text
        .strip_suffix(']')
        .and_then(|text| text.rsplit_once('['))
    {
        Some((name, image)) => (name, image),
        None => (text, "mysqld"),
    };
    let nameless = name.contains("+0x").then_some(UnnamedReason::NoSymbol);
    let image = name.split_once("+0x").map_or(image, |(image, _)| image);
    StackFrame {
        name: name.to_owned(),
        image: if side == FrameSide::Kernel {
            "[kernel]"
        } else {
            image
        }
        .to_owned(),
        side,
        nameless,
    }
}

/// The row with this name or for the lock at this address, and the only one.
pub fn row<'a>(rows: &'a [LockRow], name: &str) -> &'a LockRow {
    let mut found = rows.iter().filter(|row| {
        row.name
            .strip_suffix(name)
            .is_some_and(|rest| rest.is_empty() || rest.ends_with(" at "))
    });
    let row = found.next().unwrap_or_else(|| {
        panic!(
            "no {name} among {:?}",
            rows.iter().map(|row| &row.name).collect::<Vec<_>>()
        )
    });
    assert!(found.next().is_none(), "{name} twice");
    row
}

/// What holds for every table.
pub fn assert_consistent(table: &LockTable) {
    for row in table.locks.iter().chain(&table.conditions) {
        let waits: u64 = row.callers.iter().map(|caller| caller.waits).sum();
        let total: f64 = row.callers.iter().map(|caller| caller.total_us).sum();
        assert_eq!(waits, row.waits, "{row:?}");
        assert!(
            (total - row.total_us).abs() <= 1e-6 * total.abs().max(1.0),
            "{row:?}"
        );
        assert!(row.total_us.is_finite() && row.total_us >= 0.0, "{row:?}");
        assert!(
            row.callers.iter().all(|caller| caller.max_us <= row.max_us),
            "{row:?}"
        );
        assert!(row.callers.len() <= stacks::locks::CALLERS_MAX, "{row:?}");
        assert!((0.0..=1.0 + 1e-9).contains(&row.share), "{row:?}");
    }
    assert!(table.locks.len() <= stacks::locks::ROWS_MAX);
    assert!(table.conditions.len() <= stacks::locks::ROWS_MAX);
    assert!(
        table
            .locks
            .windows(2)
            .all(|pair| pair[0].total_us >= pair[1].total_us || pair[1].name.starts_with('('))
    );
    for chain in &table.chains {
        assert!(!chain.links.is_empty());
        assert!(
            chain
                .links
                .iter()
                .rev()
                .skip(1)
                .all(|link| link.holder.is_some()),
            "{chain:?}"
        );
    }
}
