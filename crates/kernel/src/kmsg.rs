//! The kernel's log, from now on: `/dev/kmsg` (Documentation/ABI/testing/dev-kmsg).

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::read::{ReadError, io_error};

/// Where it is.
const PATH: &str = "/dev/kmsg";

/// Longest record; the kernel's own limit is 8 KiB (`CONSOLE_EXT_LOG_MAX`, later `PRINTK_MESSAGE_MAX`).
const RECORD_BYTES_MAX: usize = 8192;

/// Records read at a time, at the most: a kernel that floods its log is read on the next turn.
const RECORDS_MAX: usize = 4000;

/// One message of the kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelMessage {
    /// 0 (emergency) to 7 (debug), as in syslog(3).
    pub level: u8,
    /// 0 for the kernel itself; what programs wrote to the log has their own (syslog(3)).
    pub facility: u32,
    /// The message without its number and time.
    pub text: String,
}

/// Reads one record: `level and facility,number,microseconds,flags;text`, further lines are its properties.
pub fn parse(record: &[u8]) -> Option<KernelMessage> {
    let record = String::from_utf8_lossy(record);
    let (head, text) = record.split_once(';')?;
    let priority: u32 = head.split(',').next()?.parse().ok()?;
    Some(KernelMessage {
        level: (priority & 7) as u8,
        facility: priority >> 3,
        text: text.lines().next().unwrap_or_default().to_owned(),
    })
}

/// The log, read from the moment it was opened.
#[derive(Debug)]
pub struct KernelLog {
    file: File,
}

/// What one turn of reading brought.
#[derive(Debug, Default)]
pub struct Turn {
    /// The messages, oldest first.
    pub messages: Vec<KernelMessage>,
    /// Messages were overwritten before they could be read.
    pub lost: bool,
}

impl KernelLog {
    /// Opens the log behind its last message.
    ///
    /// # Errors
    /// `EPERM` without CAP_SYSLOG where `kernel.dmesg_restrict` is 1, `EACCES` without the right to the file.
    pub fn open() -> Result<Self, ReadError> {
        let path = Path::new(PATH);
        let flags = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        let mut file = OpenOptions::new()
            .read(true)
            .custom_flags(flags)
            .open(path)
            .map_err(|error| io_error(path, error))?;
        file.seek(SeekFrom::End(0))
            .map_err(|error| io_error(path, error))?;
        Ok(Self { file })
    }

    /// The messages since the last turn.
    pub fn turn(&mut self) -> Result<Turn, ReadError> {
        let mut turn = Turn::default();
        let mut record = [0; RECORD_BYTES_MAX];
        for _ in 0..RECORDS_MAX {
            match self.file.read(&mut record) {
                Ok(0) => break,
                Ok(length) => turn.messages.extend(record.get(..length).and_then(parse)),
                Err(error) => match rustix::io::Errno::from_io_error(&error) {
                    Some(rustix::io::Errno::AGAIN) => break,
                    // The next read begins at the oldest message that is still there.
                    Some(rustix::io::Errno::PIPE) => turn.lost = true,
                    Some(rustix::io::Errno::INTR) => {}
                    _ => return Err(io_error(Path::new(PATH), error)),
                },
            }
        }
        Ok(turn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_parsed() {
        let record = b"4,339,5140900,-;nf_conntrack: table full, dropping packet\n SUBSYSTEM=net\n";
        let message = parse(record).unwrap();
        assert_eq!((message.level, message.facility), (4, 0));
        assert_eq!(message.text, "nf_conntrack: table full, dropping packet");
        let of_a_program = parse(b"30,340,1,-;systemd[1]: Started; really\n").unwrap();
        assert_eq!((of_a_program.level, of_a_program.facility), (6, 3));
        assert_eq!(of_a_program.text, "systemd[1]: Started; really");
        for broken in [&b""[..], b";", b"x,1;y", b"4,1,1,- no end", b"\xff;\xff"] {
            assert_eq!(parse(broken), None, "{broken:?}");
        }
    }

    #[test]
    fn nothing_old_is_read() {
        match KernelLog::open() {
            Ok(mut log) => assert!(log.turn().unwrap().messages.len() < RECORDS_MAX),
            Err(error) => eprintln!("skipped: {error}"),
        }
    }
}
