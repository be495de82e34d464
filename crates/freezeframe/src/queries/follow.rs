//! `queries --follow`: a log that grows, until Ctrl-C.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use cli::{output, usage};
use sql::digest::{Digester, LogDigest};
use sql::log::{LogKind, log_kind};

use super::pump::Pump;
use super::{file, input, options};
use crate::args::Queries;
use crate::live::stop_on_signals;

/// How often a log that did not grow is looked at again.
const POLL: Duration = Duration::from_millis(200);

/// How often a terminal is told how many statements there are.
const TELL: Duration = Duration::from_secs(1);

/// First bytes of a log in which its kind shows.
const HEAD_BYTES: usize = 64 << 10;

pub(super) fn run(args: &Queries) -> Result<LogDigest> {
    let [path] = args.files.as_slice() else {
        return Err(usage(anyhow!("--follow needs exactly one log")));
    };
    if input::is_standard_input(path) {
        return Err(usage(anyhow!(
            "--follow needs a file; standard input is read to its end anyway"
        )));
    }
    let options = options::options(args)?;
    // Before the first byte, so that a wrong one costs no waiting.
    options::order(args)?;
    let stop = stop_on_signals()?;
    let end = args.for_time.map(|time| Instant::now() + time);
    let mut digester = Digester::new(options);
    let mut log = Growing::open(path)?;
    let mut told = Instant::now();
    let is_terminal = output::is_terminal();
    while !stop.is_set() && end.is_none_or(|end| Instant::now() < end) {
        let grown = log
            .read(&mut digester)
            .with_context(|| path.display().to_string())?;
        if is_terminal && told.elapsed() >= TELL {
            told = Instant::now();
            output::progress(&format!("{} statements; Ctrl-C ends ", digester.count()));
        }
        if !grown {
            log.reopen(path, &mut digester)?;
            std::thread::sleep(POLL);
        }
    }
    if is_terminal {
        output::clear_progress();
    }
    let amount = log.finish(&mut digester);
    file::print_remarks(&digester, amount);
    file::finish(args, digester, log.kind)
}

/// A log that a server writes.
struct Growing {
    file: File,
    /// Which file it is: another one may come under its name.
    identity: (u64, u64),
    read: u64,
    kind: Option<LogKind>,
    pump: Option<Pump>,
    /// What was read before the kind showed.
    head: Vec<u8>,
    amount: super::pump::ReadCounts,
}

impl Growing {
    fn open(path: &Path) -> Result<Self> {
        let open = || -> std::io::Result<(File, (u64, u64))> {
            let file = File::open(path)?;
            let data = file.metadata()?;
            Ok((file, (data.dev(), data.ino())))
        };
        let (file, identity) = open().with_context(|| path.display().to_string())?;
        Ok(Self {
            file,
            identity,
            read: 0,
            kind: None,
            pump: None,
            head: Vec::new(),
            amount: super::pump::ReadCounts::default(),
        })
    }

    /// Takes what is there; whether there was something.
    fn read(&mut self, digester: &mut Digester) -> Result<bool> {
        let Some(pump) = &mut self.pump else {
            let mut block = vec![0; HEAD_BYTES];
            let read = self.file.read(&mut block)?;
            self.read += read as u64;
            self.head
                .extend_from_slice(block.get(..read).unwrap_or_default());
            // A line that is not whole may look like another log's.
            let whole = self.head.iter().rposition(|byte| *byte == b'\n');
            let kind = log_kind(
                self.head
                    .get(..whole.unwrap_or_default())
                    .unwrap_or_default(),
            );
            if let Some(kind) = kind {
                self.start(kind, digester);
            } else if self.head.len() >= 16 * HEAD_BYTES {
                bail!("neither a slow log nor a general log");
            }
            return Ok(read > 0);
        };
        let read = self.file.read(pump.room())?;
        pump.filled(read);
        self.read += read as u64;
        if read > 0 {
            pump.digest(digester, false);
        }
        Ok(read > 0)
    }

    fn start(&mut self, kind: LogKind, digester: &mut Digester) {
        let mut pump = Pump::new(kind);
        let head = std::mem::take(&mut self.head);
        let mut rest = head.as_slice();
        while !rest.is_empty() {
            let taken = rest.read(pump.room()).unwrap_or_default();
            pump.filled(taken);
            pump.digest(digester, false);
        }
        self.kind = Some(kind);
        self.pump = Some(pump);
    }

    /// A log that was rotated away is followed under its old name; one that was emptied from its start.
    fn reopen(&mut self, path: &Path, digester: &mut Digester) -> Result<()> {
        let Ok(data) = std::fs::metadata(path) else {
            // Between two files.
            return Ok(());
        };
        let is_same = (data.dev(), data.ino()) == self.identity;
        if is_same && data.len() >= self.read {
            return Ok(());
        }
        // What the server wrote to the old one last.
        while self.read(digester)? {}
        let amount = self.finish(digester);
        let kind = self.kind;
        *self = Self::open(path)?;
        self.amount = amount;
        self.kind = kind;
        Ok(())
    }

    fn finish(&mut self, digester: &mut Digester) -> super::pump::ReadCounts {
        if let Some(mut pump) = self.pump.take() {
            let read = pump.finish(digester);
            self.amount.bytes += read.bytes;
            self.amount.stray += read.stray;
        }
        self.amount
    }
}
