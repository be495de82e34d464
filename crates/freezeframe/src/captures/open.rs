//! What is given is opened and read, as far as it can be a capture: files, named pipes, devices,
//! standard input. Nothing is read twice: of a pipe every byte comes once.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::fs::OFlags;

use super::SQLITE;
use super::memory_budget::{Bytes, MemoryBudget, ReadEnd};

/// So many bytes tell whether anything in it can be read; the import looks at as many.
const HEAD_BYTES: u64 = 8 << 10;

/// How long a named pipe may have no writer: who starts both at once needs less.
const WRITER_PATIENCE: Duration = Duration::from_secs(3);

/// How often it is looked for a writer.
const WRITER_INTERVAL: Duration = Duration::from_millis(20);

/// What begins with one of these is read although it is no text: packed files, SQLite, texts of two
/// bytes a character, packets (pcap and pcapng).
const KNOWN_BEGINS: [&[u8]; 11] = [
    &[0x1f, 0x8b],
    &[0x28, 0xb5, 0x2f, 0xfd],
    b"PK\x03\x04",
    SQLITE,
    UTF16_LITTLE,
    UTF16_BIG,
    &[0xa1, 0xb2, 0xc3, 0xd4],
    &[0xd4, 0xc3, 0xb2, 0xa1],
    &[0xa1, 0xb2, 0x3c, 0x4d],
    &[0x4d, 0x3c, 0xb2, 0xa1],
    &[0x0a, 0x0d, 0x0d, 0x0a],
];

/// Byte order marks.
const UTF16_LITTLE: &[u8] = &[0xff, 0xfe];
const UTF16_BIG: &[u8] = &[0xfe, 0xff];
const UTF8: &[u8] = &[0xef, 0xbb, 0xbf];

/// Reads what lies at a path, or comes out of it, and why not all of it.
pub(super) fn read(path: &Path, account: &MemoryBudget) -> Result<(Bytes, Option<String>)> {
    let name = || path.display().to_string();
    let (bytes, ended) = match path.metadata() {
        // What a shell makes of <(…) has no name, and its writer is there from the begin.
        Ok(there) if there.file_type().is_fifo() && path.canonicalize().is_ok() => {
            let (head, file) = written_pipe(path)?;
            bounded(head.as_slice().chain(file), account)
        }
        _ => bounded(File::open(path).with_context(name)?, account),
    };
    match ended {
        ReadEnd::Failed(error) => Err(error).with_context(name),
        ReadEnd::Cut(why) => Ok((bytes, Some(why))),
        ReadEnd::Whole => Ok((bytes, None)),
    }
}

/// Whether a file begins as SQLite's do.
pub(super) fn is_sqlite(path: &Path) -> bool {
    let mut head = [0; SQLITE.len()];
    File::open(path)
        .and_then(|mut file| file.read_exact(&mut head))
        .is_ok_and(|()| head == SQLITE)
}

/// Whether what comes out of it comes once.
pub(super) fn is_pipe(path: &Path) -> bool {
    path.metadata()
        .is_ok_and(|there| there.file_type().is_fifo())
}

/// Opens a named pipe that somebody writes to, without waiting for ever for one who does not. Answers
/// what was read of it already.
fn written_pipe(path: &Path) -> Result<(Vec<u8>, File)> {
    let name = || path.display().to_string();
    let mut file = OpenOptions::new()
        .read(true)
        .custom_flags(OFlags::NONBLOCK.bits().cast_signed())
        .open(path)
        .with_context(name)?;
    let end = Instant::now() + WRITER_PATIENCE;
    let mut head = vec![0; 4096];
    loop {
        let length = match file.read(&mut head) {
            // The end, or not yet the begin.
            Ok(0) if Instant::now() < end => {
                std::thread::sleep(WRITER_INTERVAL);
                continue;
            }
            Ok(0) => bail!(
                "{}: nobody wrote to this pipe for {} s: start the writer first",
                path.display(),
                WRITER_PATIENCE.as_secs()
            ),
            Ok(length) => length,
            // Somebody holds it open and will write.
            Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return Err(error).with_context(name),
        };
        head.truncate(length);
        rustix::fs::fcntl_setfl(&file, OFlags::empty())
            .map_err(std::io::Error::from)
            .with_context(name)?;
        return Ok((head, file));
    }
}

/// What could be read, and why not more. Of what no reader knows only the begin is read: a device, or
/// a packed file of a few bytes, may have no end.
pub(super) fn bounded(mut reader: impl Read, account: &MemoryBudget) -> (Bytes, ReadEnd) {
    let mut head = Vec::new();
    let read = reader.by_ref().take(HEAD_BYTES).read_to_end(&mut head);
    match read {
        Ok(_) if may_be_read(&head) => account.read(head, reader),
        Ok(_) => account.read(head, std::io::empty()),
        Err(error) => {
            let (bytes, _) = account.read(head, std::io::empty());
            (bytes, ReadEnd::Failed(error))
        }
    }
}

/// Text has no zeros; what else is read begins with a mark.
fn may_be_read(head: &[u8]) -> bool {
    !head.contains(&0)
        || KNOWN_BEGINS.iter().any(|begin| head.starts_with(begin))
        || is_tar(head)
        || is_profile(head)
        || unmarked_utf16(head).is_some()
}

/// How two bytes are one number.
type Unit = fn([u8; 2]) -> u16;

/// The order of the bytes in a text of two bytes a character that has no mark: every other byte of most is zero, and no
/// byte beside these.
fn unmarked_utf16(bytes: &[u8]) -> Option<Unit> {
    let head = bytes.get(..bytes.len().min(HEAD_BYTES as usize))?;
    let pairs = || head.chunks_exact(2);
    let [first, second] = [0, 1].map(|at| pairs().filter(|pair| pair.get(at) == Some(&0)).count());
    let is_most = |zeros: usize| zeros > 4 && zeros * 2 > pairs().len();
    match (first, second) {
        (0, zeros) if is_most(zeros) => Some(u16::from_le_bytes),
        (zeros, 0) if is_most(zeros) => Some(u16::from_be_bytes),
        _ => None,
    }
}

/// The mark of POSIX and GNU in a head of 512 bytes.
pub(super) fn is_tar(bytes: &[u8]) -> bool {
    bytes.get(257..262) == Some(b"ustar")
}

/// A profile of pprof that is not packed: it begins with the type of its samples, a few bytes long.
fn is_profile(head: &[u8]) -> bool {
    matches!(head, [0x0a, 0..=32, 0x08, ..])
}

/// A text as UTF-8: what PowerShell's `>` writes has two bytes a character, and a mark in front.
pub(super) fn as_utf8(bytes: Bytes, account: &MemoryBudget) -> (Bytes, ReadEnd) {
    let (unit, mark): (Unit, usize) = if bytes.starts_with(UTF16_LITTLE) {
        (u16::from_le_bytes, UTF16_LITTLE.len())
    } else if bytes.starts_with(UTF16_BIG) {
        (u16::from_be_bytes, UTF16_BIG.len())
    } else if let Some(unit) = unmarked_utf16(&bytes) {
        (unit, 0)
    } else {
        let mark = if bytes.starts_with(UTF8) {
            UTF8.len()
        } else {
            0
        };
        return (bytes.part(mark, bytes.len()), ReadEnd::Whole);
    };
    let units = bytes
        .get(mark..)
        .unwrap_or_default()
        .chunks_exact(2)
        .filter_map(|pair| <[u8; 2]>::try_from(pair).ok())
        .map(unit);
    let chars = char::decode_utf16(units).map(|char| char.unwrap_or(char::REPLACEMENT_CHARACTER));
    let text = Encoding {
        chars,
        ready: Vec::with_capacity(2 * ENCODED_AT_ONCE),
        at: 0,
    };
    account.read(Vec::new(), text)
}

/// Bytes of UTF-8 that are made at once.
const ENCODED_AT_ONCE: usize = 64 << 10;

/// Characters as UTF-8, in order.
struct Encoding<I> {
    chars: I,
    ready: Vec<u8>,
    at: usize,
}

impl<I: Iterator<Item = char>> Read for Encoding<I> {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        if self.at >= self.ready.len() {
            self.ready.clear();
            self.at = 0;
            while self.ready.len() < ENCODED_AT_ONCE
                && let Some(char) = self.chars.next()
            {
                let mut bytes = [0; 4];
                self.ready
                    .extend_from_slice(char.encode_utf8(&mut bytes).as_bytes());
            }
        }
        let mut rest = self.ready.get(self.at..).unwrap_or_default();
        let read = rest.read(out)?;
        self.at += read;
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_what_has_no_end_and_no_reader_little_is_read() {
        let account = MemoryBudget::default();
        let (bytes, ended) = bounded(std::io::repeat(0), &account);
        assert!(bytes.len() as u64 == HEAD_BYTES && matches!(ended, ReadEnd::Whole));
        let text = "a line\n".repeat(5000);
        assert_eq!(&*bounded(text.as_bytes(), &account).0, text.as_bytes());
    }

    #[test]
    fn two_bytes_a_character_without_a_mark() {
        let text = "InnoDB: page_cleaner: 1000ms intended loop took 4000 ms \u{b5}\n";
        let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
        for bytes in [little, big] {
            let account = MemoryBudget::default();
            let (read, ended) = bounded(&bytes[..], &account);
            assert!(matches!(ended, ReadEnd::Whole));
            assert_eq!(&*as_utf8(read, &account).0, text.as_bytes());
        }
        assert!(unmarked_utf16(&[1, 0, 0, 0].repeat(50)).is_none());
        assert!(unmarked_utf16(&[7, 0, 9, 2].repeat(50)).is_none());
        assert!(unmarked_utf16(b"a\0").is_none());
    }

    #[test]
    fn two_bytes_a_character() {
        let units: Vec<u16> = "\u{feff}Zeit: 5 µs 😀\r\n".encode_utf16().collect();
        let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
        let mut big: Vec<u8> = units.iter().flat_map(|unit| unit.to_be_bytes()).collect();
        // Half a character at the end: the file was cut.
        big.push(0);
        for bytes in [little, big, "\u{feff}Zeit: 5 µs 😀\r\n".into()] {
            let account = MemoryBudget::default();
            let (text, _) = as_utf8(account.hold(bytes).unwrap(), &account);
            assert_eq!(&*text, "Zeit: 5 µs 😀\r\n".as_bytes());
        }
    }
}
