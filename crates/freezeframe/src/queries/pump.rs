//! From a log's bytes to its digest: on all processors where the bytes are in a file.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;

use anyhow::{Context, Result, anyhow};
use sql::digest::{Digester, Options};
use sql::log::{EVENT_BYTES_MAX, LogKind, Reader, Rest, Step, slow_border};

use super::input::{Bytes, Input};
use super::progress::Progress;

/// Bytes read at once: few, so that they and what is counted stay together in a processor's own cache. An event that is
/// larger makes the buffer grow, up to [`EVENT_BYTES_MAX`].
const READ_BYTES: usize = 128 << 10;

/// A part of a file is not smaller: what it knows of its start costs a little.
const PART_BYTES_MIN: u64 = 8 << 20;

/// Parts of a file at the most. Each has a buffer, a digest and a memory of statements of its own, which together keep
/// within 128 MiB on any log; and two read as fast as most disks.
const PARTS_MAX: usize = 2;

/// What was read beside the events.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ReadCounts {
    pub(super) bytes: u64,
    /// Bytes that belong to no event.
    pub(super) stray: u64,
}

/// A log on its way into a digest.
pub(super) struct Pump {
    reader: Reader,
    buffer: Vec<u8>,
    /// The bytes in the buffer that are not used yet.
    from: usize,
    to: usize,
    /// The first event is not whole in them.
    wants_more: bool,
    bytes: u64,
}

impl Pump {
    pub(super) fn new(kind: LogKind) -> Self {
        Self {
            reader: Reader::new(kind),
            buffer: Vec::new(),
            from: 0,
            to: 0,
            wants_more: true,
            bytes: 0,
        }
    }

    /// Where the next bytes go.
    pub(super) fn room(&mut self) -> &mut [u8] {
        if self.from > 0 {
            self.buffer.copy_within(self.from..self.to, 0);
            self.to -= self.from;
            self.from = 0;
        }
        if self.buffer.len() - self.to < READ_BYTES / 2 {
            let length = (self.buffer.len() * 2).clamp(READ_BYTES, EVENT_BYTES_MAX + READ_BYTES);
            self.buffer.resize(length.max(self.buffer.len()), 0);
        }
        self.buffer.get_mut(self.to..).unwrap_or_default()
    }

    /// So many bytes went there.
    pub(super) fn filled(&mut self, bytes: usize) {
        self.to = (self.to + bytes).min(self.buffer.len());
        self.bytes += bytes as u64;
        self.wants_more = false;
    }

    /// Takes all events that are whole; all that are left, when nothing follows.
    pub(super) fn digest(&mut self, digester: &mut Digester, is_end: bool) {
        while self.from < self.to && !self.wants_more {
            let bytes = self.buffer.get(self.from..self.to).unwrap_or_default();
            let rest = if is_end {
                Rest::Nothing
            } else if bytes.len() >= EVENT_BYTES_MAX {
                Rest::NoRoom
            } else {
                Rest::Follows
            };
            match self.reader.next(bytes, rest) {
                Step::Event(event, used) => {
                    digester.add(&event);
                    self.from += used.max(1);
                }
                Step::Skipped(used) => self.from += used.max(1),
                Step::More => self.wants_more = true,
            }
        }
    }

    /// The end: the rest of the log's bytes is an event, or none.
    pub(super) fn finish(&mut self, digester: &mut Digester) -> ReadCounts {
        self.wants_more = false;
        self.digest(digester, true);
        ReadCounts {
            bytes: self.bytes,
            stray: self.reader.stray_bytes(),
        }
    }

    pub(super) fn database(&self) -> Option<&[u8]> {
        self.reader.database()
    }
}

/// Digests a log into what was digested before.
pub(super) fn digest(
    input: Input,
    digester: &mut Digester,
    options: &Options,
    progress: &Progress,
) -> Result<ReadCounts> {
    let Some(kind) = input.kind else {
        return Ok(ReadCounts::default());
    };
    let read = match input.bytes {
        Bytes::File(file, length) if kind == LogKind::Slow && options.can_be_parted() => {
            let borders = borders(&file, length)?;
            in_parts(&file, &borders, (digester, options), progress)
        }
        Bytes::File(file, length) => {
            let mut part = Part {
                file: &file,
                at: 0,
                end: length,
            };
            in_order(&mut part, kind, digester, progress)
        }
        Bytes::Stream(mut stream) => in_order(&mut stream, kind, digester, progress),
    };
    read.with_context(|| input.name)
}

fn in_order(
    source: &mut impl Read,
    kind: LogKind,
    digester: &mut Digester,
    progress: &Progress,
) -> Result<ReadCounts> {
    let mut pump = Pump::new(kind);
    pump_all(&mut pump, source, digester, progress)?;
    Ok(pump.finish(digester))
}

fn pump_all(
    pump: &mut Pump,
    source: &mut impl Read,
    digester: &mut Digester,
    progress: &Progress,
) -> Result<()> {
    loop {
        let read = match source.read(pump.room()) {
            Ok(0) => return Ok(()),
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(anyhow!("after {} bytes: {error}", pump.bytes)),
        };
        pump.filled(read);
        pump.digest(digester, false);
        progress.read(read as u64);
    }
}

/// The parts of a file that are digested beside each other: the first one here, the others in threads of their own.
fn in_parts(
    file: &File,
    borders: &[u64],
    (digester, options): (&mut Digester, &Options),
    progress: &Progress,
) -> Result<ReadCounts> {
    let mut parts = borders
        .iter()
        .copied()
        .zip(borders.iter().copied().skip(1))
        .map(|(at, end)| Part { file, at, end });
    let Some(mut first) = parts.next() else {
        return Ok(ReadCounts::default());
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = parts
            .map(|mut part| {
                let mut digester = Digester::new(options.clone());
                scope.spawn(move || {
                    let mut pump = Pump::new(LogKind::Slow);
                    pump_all(&mut pump, &mut part, &mut digester, progress)?;
                    let read = pump.finish(&mut digester);
                    anyhow::Ok((digester, pump, read))
                })
            })
            .collect();
        let mut pump = Pump::new(LogKind::Slow);
        pump_all(&mut pump, &mut first, digester, progress)?;
        let mut read = pump.finish(digester);
        let mut database = pump.database().map(<[u8]>::to_vec);
        drop(pump);
        for thread in threads {
            let (part, pump, of_part) = thread
                .join()
                .map_err(|_| anyhow!("reading a part of it failed"))??;
            digester.merge(part, database.as_deref());
            if let Some(name) = pump.database() {
                database = Some(name.to_owned());
            }
            read.bytes += of_part.bytes;
            read.stray += of_part.stray;
        }
        Ok(read)
    })
}

/// Places at which a file can be cut, with its start and end.
fn borders(file: &File, length: u64) -> Result<Vec<u64>> {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let most = usize::try_from(length / PART_BYTES_MIN).unwrap_or(usize::MAX);
    let parts = processors.min(PARTS_MAX).min(most).max(1) as u64;
    let mut borders = vec![0];
    for part in 1..parts {
        let near = length / parts * part;
        if let Some(border) = border_from(file, near)?
            && borders.last().is_some_and(|last| border > *last)
        {
            borders.push(border);
        }
    }
    borders.push(length);
    Ok(borders)
}

/// The first border from a place on; none when an event is very long.
fn border_from(file: &File, near: u64) -> Result<Option<u64>> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        let read = read_at(file, &mut buffer, near)?;
        let bytes = buffer.get(..read).unwrap_or_default();
        if let Some(border) = slow_border(bytes) {
            return Ok(Some(near + border as u64));
        }
        if read < buffer.len() || buffer.len() >= EVENT_BYTES_MAX {
            return Ok(None);
        }
        buffer.resize(buffer.len() * 4, 0);
    }
}

fn read_at(file: &File, buffer: &mut [u8], at: u64) -> std::io::Result<usize> {
    let mut filled = 0;
    loop {
        let rest = buffer.get_mut(filled..).unwrap_or_default();
        match file.read_at(rest, at + filled as u64) {
            Ok(0) => return Ok(filled),
            Ok(read) => filled += read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// A stretch of a file.
struct Part<'a> {
    file: &'a File,
    at: u64,
    end: u64,
}

impl Read for Part<'_> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let left = usize::try_from(self.end - self.at).unwrap_or(usize::MAX);
        let length = out.len().min(left).min(READ_BYTES);
        let read = self
            .file
            .read_at(out.get_mut(..length).unwrap_or_default(), self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}
