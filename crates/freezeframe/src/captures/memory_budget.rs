//! Bytes of captures in memory, counted while they are read: what is read, unpacked and made counts
//! alike, and counts no longer when nobody has it any more.

use std::cell::Cell;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::ops::{Deref, Range};
use std::os::unix::fs::FileExt;
use std::rc::Rc;

/// Bytes of all captures together that are in memory at once. Reading a text takes as much again, and
/// both have to stay within 512 MiB.
pub(super) const HELD_BYTES_MAX: u64 = 256 << 20;

/// Bytes of one file that are read: with its lines it takes twice as much.
pub(super) const FILE_BYTES_MAX: u64 = 208 << 20;

/// Bytes that are unpacked in all, whether they are kept or not: about ten seconds of work. A file of
/// 40 kB can unpack to as much as one likes, again and again.
pub(super) const UNPACKED_BYTES_MAX: u64 = 2 << 30;

/// Bytes that are unpacked only to find where they end.
const MEASURED_BYTES_MAX: u64 = 1 << 30;

/// Bytes by which what is read grows.
const STEP_BYTES: usize = 4 << 20;

/// What may still be taken; all that is read of one command has the same.
#[derive(Debug, Clone)]
pub(super) struct MemoryBudget(Rc<Left>);

#[derive(Debug)]
struct Left {
    held: Cell<u64>,
    unpacked: Cell<u64>,
    measured: Cell<u64>,
}

impl Default for MemoryBudget {
    fn default() -> Self {
        Self(Rc::new(Left {
            held: Cell::new(HELD_BYTES_MAX),
            unpacked: Cell::new(UNPACKED_BYTES_MAX),
            measured: Cell::new(MEASURED_BYTES_MAX),
        }))
    }
}

/// Bytes that are counted, or a part of some; what has the last part gives them back.
#[derive(Debug, Clone)]
pub(super) struct Bytes {
    whole: Rc<Whole>,
    part: Range<usize>,
}

#[derive(Debug)]
struct Whole {
    bytes: Vec<u8>,
    account: MemoryBudget,
}

impl Drop for Whole {
    fn drop(&mut self) {
        let held = &self.account.0.held;
        held.set(held.get().saturating_add(self.bytes.len() as u64));
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        self.whole.bytes.get(self.part.clone()).unwrap_or_default()
    }
}

impl Bytes {
    /// A part of these, without a copy; what lies behind their end is not in it.
    pub(super) fn part(&self, from: usize, to: usize) -> Self {
        let clamp = |at: usize| self.part.start.saturating_add(at).min(self.part.end);
        Self {
            whole: Rc::clone(&self.whole),
            part: clamp(from)..clamp(to.max(from)),
        }
    }
}

/// An archive or a part of one: in memory, or in a file that is read where it is wanted.
#[derive(Debug, Clone)]
pub(super) enum Span {
    /// In memory.
    Held(Bytes),
    /// In a file, from one place to another.
    Filed(Rc<File>, Range<u64>),
}

impl Span {
    /// A whole file.
    pub(super) fn of_file(file: File) -> std::io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(Self::Filed(Rc::new(file), 0..length))
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Held(bytes) => bytes.len(),
            Self::Filed(_, part) => {
                usize::try_from(part.end.saturating_sub(part.start)).unwrap_or(usize::MAX)
            }
        }
    }

    /// A part of it; what lies behind its end is not in it.
    pub(super) fn part(&self, from: usize, to: usize) -> Self {
        match self {
            Self::Held(bytes) => Self::Held(bytes.part(from, to)),
            Self::Filed(file, part) => {
                let clamp = |at: usize| part.start.saturating_add(at as u64).min(part.end);
                Self::Filed(Rc::clone(file), clamp(from)..clamp(to.max(from)))
            }
        }
    }

    /// A few bytes of it; less where it ends or cannot be read.
    pub(super) fn peek(&self, from: usize, length: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        let part = self.part(from, from.saturating_add(length));
        // What cannot be read is as good as cut there.
        let _ = part.reader().read_to_end(&mut bytes);
        bytes
    }

    pub(super) fn reader(&self) -> Box<dyn Read + '_> {
        match self {
            Self::Held(bytes) => Box::new(&**bytes),
            Self::Filed(file, part) => Box::new(std::io::BufReader::with_capacity(
                self.len().min(FILED_AT_ONCE),
                Filed {
                    file,
                    part: part.clone(),
                },
            )),
        }
    }
}

/// Bytes of a file that are read at once.
const FILED_AT_ONCE: usize = 64 << 10;

/// A part of a file, from its begin.
struct Filed<'a> {
    file: &'a File,
    part: Range<u64>,
}

impl Read for Filed<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let left = self.part.end.saturating_sub(self.part.start);
        let length = out.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let out = out.get_mut(..length).unwrap_or_default();
        let read = self.file.read_at(out, self.part.start)?;
        self.part.start = self.part.start.saturating_add(read as u64);
        Ok(read)
    }
}

/// Why not more was read.
#[derive(Debug)]
pub(super) enum ReadEnd {
    /// It is whole.
    Whole,
    /// It is cut there, for the reason that is told.
    Cut(String),
    /// What it comes out of said so.
    Failed(std::io::Error),
}

impl MemoryBudget {
    /// Bytes that are there already.
    pub(super) fn hold(&self, bytes: Vec<u8>) -> Option<Bytes> {
        self.take(bytes.len() as u64)?;
        Some(self.held(bytes))
    }

    /// Reads to the end, or as far as it goes, behind what was read before.
    pub(super) fn read(&self, head: Vec<u8>, mut reader: impl Read) -> (Bytes, ReadEnd) {
        let mut bytes = head;
        let length = bytes.len() as u64;
        if self.take(length).is_none() {
            return (self.held(Vec::new()), ReadEnd::Cut(self.why_cut(0)));
        }
        let ended = loop {
            let length = bytes.len() as u64;
            let room = FILE_BYTES_MAX
                .saturating_sub(length)
                .min(self.0.held.get())
                .min(STEP_BYTES as u64);
            if room == 0 {
                break match is_at_end(&mut reader) {
                    Ok(true) => ReadEnd::Whole,
                    Ok(false) => ReadEnd::Cut(self.why_cut(length)),
                    Err(error) => ReadEnd::Failed(error),
                };
            }
            // Not more than there is room for: a list that doubles would take twice what it holds.
            let step = usize::try_from(room).unwrap_or(STEP_BYTES);
            if bytes.capacity() - bytes.len() < step && bytes.len() >= STEP_BYTES {
                bytes.reserve_exact(step);
            }
            let read = reader.by_ref().take(room).read_to_end(&mut bytes);
            let grown = (bytes.len() as u64).saturating_sub(length);
            self.0.held.set(self.0.held.get().saturating_sub(grown));
            match read {
                Ok(0) => break ReadEnd::Whole,
                Ok(_) => {}
                Err(error) => break ReadEnd::Failed(error),
            }
        };
        (self.held(bytes), ended)
    }

    /// What is unpacked through it is counted, kept or not.
    pub(super) fn unpacking<R: Read>(&self, reader: R) -> Unpacking<R> {
        Unpacking {
            reader,
            account: self.clone(),
        }
    }

    /// Unpacks without keeping anything, to the end or as far as that goes.
    pub(super) fn measure(&self, mut reader: impl Read) {
        let left = &self.0.measured;
        let mut block = vec![0; 64 << 10];
        // What is wrong with it is told when it is read.
        while left.get() > 0
            && let Ok(read @ 1..) = reader.read(&mut block)
        {
            left.set(left.get().saturating_sub(read as u64));
        }
    }

    /// Nothing more can be read.
    pub(super) fn is_used_up(&self) -> bool {
        self.0.held.get() == 0 || self.0.unpacked.get() == 0
    }

    fn held(&self, bytes: Vec<u8>) -> Bytes {
        Bytes {
            part: 0..bytes.len(),
            whole: Rc::new(Whole {
                bytes,
                account: self.clone(),
            }),
        }
    }

    fn take(&self, bytes: u64) -> Option<()> {
        let left = self.0.held.get().checked_sub(bytes)?;
        self.0.held.set(left);
        Some(())
    }

    fn why_cut(&self, length: u64) -> String {
        let limit = match length >= FILE_BYTES_MAX {
            true => format!("{} MiB of one file", FILE_BYTES_MAX >> 20),
            false => format!("{} MiB of all together", HELD_BYTES_MAX >> 20),
        };
        match length {
            0 => format!("not read: the limit is {limit}"),
            length => format!(
                "only the first {} MiB were read: the limit is {limit}",
                length >> 20
            ),
        }
    }
}

fn is_at_end(reader: &mut impl Read) -> std::io::Result<bool> {
    loop {
        match reader.read(&mut [0; 1]) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            read => return read.map(|read| read == 0),
        }
    }
}

/// Something that unpacks, counted.
pub(super) struct Unpacking<R> {
    reader: R,
    account: MemoryBudget,
}

impl<R: Read> Read for Unpacking<R> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let left = &self.account.0.unpacked;
        if left.get() == 0 {
            return Err(std::io::Error::other(format!(
                "unpacked, it has more than {} MiB, which is the limit",
                UNPACKED_BYTES_MAX >> 20
            )));
        }
        let read = self.reader.read(out)?;
        left.set(left.get().saturating_sub(read as u64));
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_counted_until_its_last_part_is_gone() {
        let account = MemoryBudget::default();
        let (bytes, ended) = account.read(b"head ".to_vec(), b"and more".as_slice());
        assert!(matches!(ended, ReadEnd::Whole));
        assert_eq!(&*bytes, b"head and more");
        assert_eq!(account.0.held.get(), HELD_BYTES_MAX - 13);
        let part = bytes.part(5, 8);
        assert_eq!(
            (&*part, &*part.part(1, 99), &*part.part(7, 9)),
            (&b"and"[..], &b"nd"[..], &b""[..])
        );
        drop(bytes);
        assert_eq!(account.0.held.get(), HELD_BYTES_MAX - 13);
        drop(part);
        assert_eq!(account.0.held.get(), HELD_BYTES_MAX);
    }

    #[test]
    fn a_part_of_a_file_is_as_one_in_memory() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), b"0123456789").unwrap();
        let filed = Span::of_file(File::open(file.path()).unwrap()).unwrap();
        let held = Span::Held(
            MemoryBudget::default()
                .hold(b"0123456789".to_vec())
                .unwrap(),
        );
        for span in [filed, held] {
            assert_eq!((span.len(), span.peek(8, 9)), (10, b"89".to_vec()));
            let part = span.part(2, 6);
            assert_eq!(part.peek(1, usize::MAX), b"345");
            assert_eq!(part.part(3, 9).peek(0, 9), b"5");
            assert_eq!(part.part(7, 9).len(), 0);
        }
    }

    #[test]
    fn what_is_over_is_left_out_and_told() {
        let account = MemoryBudget::default();
        account.0.held.set(10);
        let (bytes, ended) = account.read(Vec::new(), b"0123456789".as_slice());
        assert!(bytes.len() == 10 && matches!(ended, ReadEnd::Whole));
        assert!(account.is_used_up() && account.hold(vec![0]).is_none());
        drop(bytes);
        let (bytes, ended) = account.read(b"01".to_vec(), b"23456789x".as_slice());
        assert!(bytes.len() == 10 && matches!(ended, ReadEnd::Cut(_)));
    }
}
