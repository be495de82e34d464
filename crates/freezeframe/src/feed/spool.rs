//! Batches that wait for the fleet, each a file: whole or not there, and gone when the fleet has it.
//!
//! **A file is a batch** (`fleet::batch_bytes`: its CRC, its token), so that what must go first for want of room can be
//! chosen among all, and what the fleet has taken is deleted without a log of what was. A file that was cut or damaged
//! costs its own batch only. Segments to which batches are appended would need such a log, and copying of what stays
//! behind what went: incidents are sent before older minutes, minutes go before older incidents, and what is refused
//! stays. They would save a file a minute and no sync, since each batch is on the disk before the cursor says so.
//!
//! **Not the queue of hooks**: that one keeps its few events in memory as well and gives them up after a day; here are
//! hundreds of MiB that wait as long as they have room.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use fleet::{Batch, Token, batch_bytes};
use store::{StoreError, make_private_dir, write_private};

const SUFFIX: &str = ".batch";

/// What a batch is about, in the order in which they are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// What was recorded of an incident.
    Evidence,
    /// What came of it: who sees one finds all that belongs to it.
    Judgement,
    /// What was changed against a cause.
    Remedies,
    /// Signals by the minute: the first to go for want of room.
    Minutes,
}

impl Kind {
    const ALL: [(Self, &str); 4] = [
        (Self::Evidence, "evidence"),
        (Self::Judgement, "judgement"),
        (Self::Remedies, "remedies"),
        (Self::Minutes, "minutes"),
    ];

    fn word(self) -> &'static str {
        let known = Self::ALL.iter().find(|(kind, _)| *kind == self);
        known.map_or("", |(_, word)| word)
    }
}

/// A batch by the name of its file, `KIND-SECONDS-TOKEN.batch`: in the order in which they are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Waiting {
    pub(super) kind: Kind,
    /// What it is of, seconds since 1970.
    pub(super) at: i64,
    pub(super) token: Token,
}

impl Waiting {
    fn name(&self) -> String {
        let kind = self.kind.word();
        format!("{kind}-{:010}-{}{SUFFIX}", self.at.max(0), self.token)
    }

    fn parse(name: &str) -> Option<Self> {
        let mut parts = name.strip_suffix(SUFFIX)?.splitn(3, '-');
        let (kind, at, token) = (parts.next()?, parts.next()?, parts.next()?);
        let (kind, _) = Kind::ALL.into_iter().find(|(_, word)| *word == kind)?;
        Some(Self {
            kind,
            at: at.parse().ok()?,
            token: token.parse().ok()?,
        })
    }
}

/// The batches of a directory.
#[derive(Debug)]
pub(super) struct Spool {
    dir: PathBuf,
    bytes_max: u64,
    waiting: BTreeMap<Waiting, u64>,
    bytes: u64,
}

impl Spool {
    /// Takes up what an earlier recorder left.
    pub(super) fn open(dir: &Path, bytes_max: u64) -> Result<Self, StoreError> {
        make_private_dir(dir)?;
        let mut spool = Self {
            dir: dir.to_owned(),
            bytes_max,
            waiting: BTreeMap::new(),
            bytes: 0,
        };
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if let Some(one) = name.to_str().and_then(Waiting::parse) {
                let bytes = entry.metadata().map_or(0, |there| there.len());
                spool.waiting.insert(one, bytes);
                spool.bytes += bytes;
            } else if name.to_string_lossy().ends_with(".partial") {
                // Of a recorder that was killed while it wrote.
                let _ = std::fs::remove_file(entry.path());
            }
        }
        Ok(spool)
    }

    /// Keeps a batch, and gives what had to go for it: the oldest minutes, and where there are none, the oldest of
    /// incidents. The batch itself is among them when all that waits is worth more.
    ///
    /// # Errors
    ///
    /// When the disk does not take it, though the minutes were given up for it.
    pub(super) fn push(
        &mut self,
        kind: Kind,
        at: i64,
        batch: &Batch,
    ) -> Result<Vec<Waiting>, StoreError> {
        let one = Waiting {
            kind,
            at,
            token: batch.token,
        };
        // A batch that fits no bytes fits no store.
        let Ok(bytes) = batch_bytes::to_bytes(batch) else {
            return Ok(vec![one]);
        };
        let size = bytes.len() as u64;
        let mut lost = Vec::new();
        while self.bytes + size > self.bytes_max {
            match self.least() {
                Some(least) if kind != Kind::Minutes || least.kind == kind => {
                    self.give_up(least, &mut lost);
                }
                _ => {
                    lost.push(one);
                    return Ok(lost);
                }
            }
        }
        let path = self.dir.join(one.name());
        loop {
            match write_private(&path, &bytes) {
                Ok(()) => break,
                // The disk is full: what is of less worth gives its place, as much as the batch takes.
                Err(error) => match self.least() {
                    Some(least) if least.kind == Kind::Minutes && error.is_disk_full() => {
                        self.give_up(least, &mut lost);
                    }
                    _ => return Err(error),
                },
            }
        }
        let before = self.waiting.insert(one, size).unwrap_or(0);
        self.bytes = self.bytes + size - before;
        Ok(lost)
    }

    /// What is worth least: the oldest minutes, and where there are none, the oldest of all.
    fn least(&self) -> Option<Waiting> {
        let minutes = Waiting {
            kind: Kind::Minutes,
            at: i64::MIN,
            token: Token::default(),
        };
        let oldest = || self.waiting.keys().min_by_key(|one| (one.at, one.kind));
        let least = self.waiting.range(minutes..).next().map(|(one, _)| one);
        least.or_else(oldest).copied()
    }

    fn give_up(&mut self, one: Waiting, lost: &mut Vec<Waiting>) {
        self.remove(&one);
        lost.push(one);
    }

    /// What is sent next, of those that are wanted.
    pub(super) fn first_of(&self, wanted: impl Fn(&Waiting) -> bool) -> Option<Waiting> {
        self.waiting.keys().find(|one| wanted(one)).copied()
    }

    /// What is sent next.
    #[cfg(test)]
    pub(super) fn first(&self) -> Option<Waiting> {
        self.first_of(|_| true)
    }

    /// A batch that waits; none when its file was cut off, damaged, or taken away.
    ///
    /// # Errors
    ///
    /// When the disk cannot be read now.
    pub(super) fn read(&self, one: &Waiting) -> io::Result<Option<Batch>> {
        match std::fs::read(self.dir.join(one.name())) {
            Ok(bytes) => {
                let batch = batch_bytes::from_bytes(&bytes).ok();
                Ok(batch.filter(|batch| batch.token == one.token))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// It waits no longer.
    pub(super) fn remove(&mut self, one: &Waiting) {
        // What cannot be deleted is sent once more by the next recorder, and changes nothing there.
        let _ = std::fs::remove_file(self.dir.join(one.name()));
        self.bytes -= self.waiting.remove(one).unwrap_or(0);
    }

    /// Batches that wait, and their bytes.
    pub(super) fn size(&self) -> (u64, u64) {
        (self.waiting.len() as u64, self.bytes)
    }

    /// Whether so much waits that what comes now is to be small: there may be no room for it for long.
    pub(super) fn is_pressed(&self) -> bool {
        self.bytes > self.bytes_max / 2
    }

    /// The last minutes that wait with tokens of this life.
    pub(super) fn last_minutes(&self, life: u64) -> Option<i64> {
        let own = self.waiting.keys();
        let own = own.filter(|one| one.kind == Kind::Minutes && one.token.boot == life);
        own.map(|one| one.at).max()
    }
}

#[cfg(test)]
mod tests {
    use fleet::row::{HealthRow, Seconds};
    use proptest::prelude::*;

    use super::*;

    fn batch(seq: u64) -> Batch {
        let mut batch = Batch::new(Token {
            host_id: 1,
            boot: 7,
            seq,
        });
        batch.push(&HealthRow {
            ts: Seconds(1_795_000_000),
            absent: vec![format!("{seq:0100}")],
            ..HealthRow::default()
        });
        batch
    }

    fn push(spool: &mut Spool, kind: Kind, at: i64) -> Vec<(Kind, i64)> {
        let lost = spool.push(kind, at, &batch(at.unsigned_abs())).unwrap();
        lost.iter().map(|one| (one.kind, one.at)).collect()
    }

    #[test]
    fn what_waits_survives_and_is_sent_in_order() {
        let dir = tempfile::tempdir().unwrap();
        let mut spool = Spool::open(dir.path(), 1 << 20).unwrap();
        for (kind, at) in [
            (Kind::Minutes, 60),
            (Kind::Judgement, 50),
            (Kind::Evidence, 50),
            (Kind::Minutes, 0),
        ] {
            assert_eq!(push(&mut spool, kind, at), []);
        }
        assert!(!spool.is_pressed());
        std::fs::write(dir.path().join("x.batch.partial"), "half").unwrap();
        let mut again = Spool::open(dir.path(), 1 << 20).unwrap();
        assert_eq!(again.size(), spool.size());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 4);
        assert_eq!(
            (again.last_minutes(7), again.last_minutes(8)),
            (Some(60), None)
        );
        let mut order = Vec::new();
        while let Some(one) = again.first() {
            let read = again.read(&one).unwrap().unwrap();
            assert_eq!(read, batch(one.at.unsigned_abs()));
            order.push((one.kind, one.at));
            again.remove(&one);
        }
        let wanted = [
            (Kind::Evidence, 50),
            (Kind::Judgement, 50),
            (Kind::Minutes, 0),
            (Kind::Minutes, 60),
        ];
        assert_eq!((order, again.size()), (wanted.into(), (0, 0)));
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }

    #[test]
    fn the_oldest_minutes_go_first_and_incidents_last() {
        let dir = tempfile::tempdir().unwrap();
        let size = batch_bytes::to_bytes(&batch(60)).unwrap().len() as u64;
        let mut spool = Spool::open(dir.path(), 3 * size + size / 2).unwrap();
        for (kind, at) in [
            (Kind::Minutes, 60),
            (Kind::Evidence, 70),
            (Kind::Minutes, 80),
        ] {
            assert_eq!(push(&mut spool, kind, at), []);
        }
        assert!(spool.is_pressed());
        assert_eq!(push(&mut spool, Kind::Minutes, 90), [(Kind::Minutes, 60)]);
        assert_eq!(push(&mut spool, Kind::Evidence, 91), [(Kind::Minutes, 80)]);
        assert_eq!(push(&mut spool, Kind::Evidence, 92), [(Kind::Minutes, 90)]);
        // A minute is worth less than all that is there.
        assert_eq!(push(&mut spool, Kind::Minutes, 99), [(Kind::Minutes, 99)]);
        assert_eq!(push(&mut spool, Kind::Evidence, 93), [(Kind::Evidence, 70)]);
        assert_eq!(spool.size().0, 3);
        assert_eq!(Spool::open(dir.path(), 1).unwrap().size(), spool.size());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// Cut at every byte, and with any byte changed: the batch is missed, and nothing else is.
        #[test]
        fn a_damaged_file_costs_its_own_batch(seq in 0..u64::MAX, flip in any::<(prop::sample::Index, u8)>()) {
            let dir = tempfile::tempdir().unwrap();
            let mut spool = Spool::open(dir.path(), 1 << 20).unwrap();
            spool.push(Kind::Minutes, 60, &batch(seq)).unwrap();
            let one = spool.first().unwrap();
            spool.push(Kind::Minutes, 120, &batch(seq ^ 1)).unwrap();
            let path = dir.path().join(one.name());
            let whole = std::fs::read(&path).unwrap();
            let damaged = |bytes: &[u8]| {
                std::fs::write(&path, bytes).unwrap();
                let spool = Spool::open(dir.path(), 1 << 20).unwrap();
                let read = |one: &Waiting| spool.read(one).unwrap();
                let all: Vec<_> = spool.waiting.keys().map(read).collect();
                assert_eq!(all, [None, Some(batch(seq ^ 1))]);
            };
            for end in 0..whole.len() {
                damaged(&whole[..end]);
            }
            let mut changed = whole.clone();
            let place = flip.0.index(whole.len());
            changed[place] ^= flip.1.max(1);
            damaged(&changed);
        }
    }
}
