//! What others do on the server's machine, by threads of ours.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use anyhow::{Context, Result};

/// Written or read at a time; between two of them it looks whether it is to end.
const BLOCK: usize = 1 << 20;

/// Goes on until this is dropped.
pub(crate) struct Work {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<io::Result<()>>>,
    path: PathBuf,
    /// The file goes away at the end.
    is_ours: bool,
}

impl Work {
    /// Writes so many MiB to a new file, through the page cache, and over it again and again, as copies and dumps do.
    pub(super) fn copy(path: &Path, mib: u64) -> Result<Self> {
        let file = File::create(path).with_context(|| path.display().to_string())?;
        let mut work = Self::new(path);
        work.is_ours = true;
        work.begin(move |stop| write(file, mib, stop))?;
        Ok(work)
    }

    /// So many at a time read the sizes of a process's mappings, as monitoring agents do.
    pub(super) fn read_maps(pid: u32, readers: usize) -> Result<Self> {
        let path = PathBuf::from(format!("/proc/{pid}/smaps"));
        let mut work = Self::new(&path);
        for _ in 0..readers {
            let path = path.clone();
            work.begin(move |stop| read(&path, stop))?;
        }
        Ok(work)
    }

    fn new(path: &Path) -> Self {
        Self {
            stop: Arc::default(),
            threads: Vec::new(),
            path: path.to_owned(),
            is_ours: false,
        }
    }

    fn begin(
        &mut self,
        work: impl FnOnce(&AtomicBool) -> io::Result<()> + Send + 'static,
    ) -> Result<()> {
        let stop = self.stop.clone();
        let thread = std::thread::Builder::new()
            .name("lab-work".to_owned())
            .spawn(move || work(&stop))?;
        self.threads.push(thread);
        Ok(())
    }

    /// Ends it, and says what went wrong meanwhile.
    pub(super) fn end(mut self) -> Result<()> {
        let path = self.path.display().to_string();
        self.stop().context(path)
    }

    fn stop(&mut self) -> io::Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        let done: Vec<_> = self.threads.drain(..).map(JoinHandle::join).collect();
        // What is not on the disk yet never gets there.
        if std::mem::take(&mut self.is_ours) {
            std::fs::remove_file(&self.path)?;
        }
        done.into_iter().flatten().collect()
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        // Whoever wants to know whether it could be done calls `end`.
        let _ = self.stop();
    }
}

fn write(mut file: File, mib: u64, stop: &AtomicBool) -> io::Result<()> {
    let block = vec![b'x'; BLOCK];
    loop {
        for _ in 0..mib {
            if stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            file.write_all(&block)?;
        }
        file.rewind()?;
    }
}

fn read(path: &Path, stop: &AtomicBool) -> io::Result<()> {
    let mut block = vec![0; BLOCK];
    let mut file = File::open(path)?;
    while !stop.load(Ordering::Relaxed) {
        if file.read(&mut block)? == 0 {
            file.rewind()?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_copy_goes_on_until_it_is_ended_and_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("copy");
        let copy = Work::copy(&path, 2).unwrap();
        let from = Instant::now();
        while path.metadata().unwrap().len() < 2 * BLOCK as u64 {
            assert!(from.elapsed() < Duration::from_secs(30));
            std::thread::sleep(Duration::from_millis(1));
        }
        copy.end().unwrap();
        assert!(!path.exists());
    }

    #[test]
    fn what_goes_wrong_is_said_at_the_end() {
        Work::read_maps(std::process::id(), 2)
            .unwrap()
            .end()
            .unwrap();
        let said = |work: Work| {
            let from = Instant::now();
            while !work.threads.iter().all(JoinHandle::is_finished) {
                assert!(from.elapsed() < Duration::from_secs(30));
                std::thread::sleep(Duration::from_millis(1));
            }
            format!("{:#}", work.end().unwrap_err())
        };
        let error = said(Work::read_maps(u32::MAX, 1).unwrap());
        assert!(error.contains("/proc/4294967295/smaps"), "{error}");
    }
}
