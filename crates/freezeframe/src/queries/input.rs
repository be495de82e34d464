//! Logs as bytes: files, standard input, compressed by content.

use std::fs::File;
use std::io::{Cursor, Read};
use std::path::Path;
use std::sync::mpsc::{Receiver, sync_channel};

use anyhow::{Context, Result, bail};
use cli::output;
use flate2::read::MultiGzDecoder;
use sql::log::{LogKind, log_kind};

use super::zstd::Zstd;

/// First bytes of a log in which its kind shows.
const HEAD_BYTES: usize = 1 << 20;

/// Blocks that pass from the thread that unpacks to the one that reads, and how many may wait.
const BLOCK_BYTES: usize = 256 << 10;
const BLOCKS_WAITING: usize = 8;

const GZIP: &[u8] = &[0x1f, 0x8b];
const ZSTD: &[u8] = &[0x28, 0xb5, 0x2f, 0xfd];

/// A log to read.
pub(crate) struct Input {
    /// For people.
    pub(crate) name: String,
    /// What it is; `None` when it is empty.
    pub(crate) kind: Option<LogKind>,
    pub(crate) bytes: Bytes,
}

/// Where its bytes are.
pub(crate) enum Bytes {
    /// In a file that can be read at any place, of so many bytes.
    File(File, u64),
    /// They come one after the other.
    Stream(Box<dyn Read + Send>),
}

/// The path that stands for standard input.
pub(crate) fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Opens a log and looks at its first bytes.
pub(crate) fn open(path: &Path) -> Result<Input> {
    let name = if is_standard_input(path) {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    };
    kernel::heap::now_reading(&output::plain(&name));
    let opened = if is_standard_input(path) {
        of_stream(Box::new(std::io::stdin()))
    } else {
        of_file(path)
    };
    let (head, bytes) = opened.with_context(|| name.clone())?;
    let kind = match log_kind(&head) {
        None if head.trim_ascii().is_empty() => None,
        None => bail!("{name}: neither a slow log nor a general log"),
        kind => kind,
    };
    Ok(Input { name, kind, bytes })
}

/// Opens a log whose kind is known: one in which nothing was written yet does not show it.
pub(crate) fn open_known(path: &Path, kind: LogKind) -> Result<Input> {
    let name = path.display().to_string();
    let (_, bytes) = of_file(path).with_context(|| name.clone())?;
    Ok(Input {
        name,
        kind: Some(kind),
        bytes,
    })
}

fn of_file(path: &Path) -> Result<(Vec<u8>, Bytes)> {
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.is_dir() {
        bail!("is a directory");
    }
    if !metadata.is_file() {
        return of_stream(Box::new(file));
    }
    let mut start = [0; 4];
    let start = {
        use std::os::unix::fs::FileExt;
        let length = file.read_at(&mut start, 0)?;
        start.get(..length).unwrap_or_default()
    };
    if start.starts_with(GZIP) || start.starts_with(ZSTD) {
        return of_stream(Box::new(file));
    }
    let mut head = Vec::new();
    (&file).take(HEAD_BYTES as u64).read_to_end(&mut head)?;
    Ok((head, Bytes::File(file, metadata.len())))
}

/// The first bytes, unpacked, and a stream that has them too.
fn of_stream(stream: Box<dyn Read + Send>) -> Result<(Vec<u8>, Bytes)> {
    let mut stream = stream;
    let start = up_to(&mut stream, 4)?;
    let (is_gzip, is_zstd) = (start.starts_with(GZIP), start.starts_with(ZSTD));
    let whole = Cursor::new(start).chain(stream);
    let mut stream: Box<dyn Read + Send> = match (is_gzip, is_zstd) {
        (true, _) => on_thread(MultiGzDecoder::new(whole)),
        (_, true) => on_thread(Zstd::new(whole)),
        _ => Box::new(whole),
    };
    let head = up_to(&mut stream, HEAD_BYTES)?;
    let again = Cursor::new(head.clone());
    Ok((head, Bytes::Stream(Box::new(again.chain(stream)))))
}

fn up_to(stream: &mut impl Read, bytes: usize) -> Result<Vec<u8>> {
    let mut head = Vec::new();
    stream.take(bytes as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// Reads on a thread of its own, ahead of who reads this: unpacking is as much work as reading.
fn on_thread(stream: impl Read + Send + 'static) -> Box<dyn Read + Send> {
    let (sender, receiver) = sync_channel::<std::io::Result<Vec<u8>>>(BLOCKS_WAITING);
    let mut stream = stream;
    std::thread::spawn(move || {
        loop {
            let mut block = Vec::with_capacity(BLOCK_BYTES);
            let read = (&mut stream)
                .take(BLOCK_BYTES as u64)
                .read_to_end(&mut block);
            let is_end = read.is_err() || block.is_empty();
            let sent = match read {
                // What was unpacked before the damage counts.
                Err(error) if block.is_empty() => sender.send(Err(error)),
                Err(error) => sender
                    .send(Ok(block))
                    .and_then(|()| sender.send(Err(error))),
                Ok(_) => sender.send(Ok(block)),
            };
            if is_end || sent.is_err() {
                return;
            }
        }
    });
    Box::new(Blocks {
        receiver,
        block: Cursor::default(),
    })
}

struct Blocks {
    receiver: Receiver<std::io::Result<Vec<u8>>>,
    block: Cursor<Vec<u8>>,
}

impl Read for Blocks {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        loop {
            let read = self.block.read(out)?;
            if read > 0 || out.is_empty() {
                return Ok(read);
            }
            match self.receiver.recv() {
                Ok(block) => self.block = Cursor::new(block?),
                Err(_) => return Ok(0),
            }
        }
    }
}
