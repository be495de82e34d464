//! The helper itself.

use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use model::Fix;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::sockopt::socket_peercred;
use rustix::process::{WaitOptions, wait};

use super::{Answer, REQUEST_BYTES_MAX, Request, SECONDS_MAX, refusal};
use crate::fix::{
    ApplyRequest, Change, DoneStep, Entry, FixJournal, LockedJournal, PublicPlace, Root, State,
    Step, StepState, System, When, apply, plan, undo,
};
use crate::{JournalError, Say};

/// How long a peer may take for its line, and for taking ours.
const PEER_PATIENCE: Duration = Duration::from_secs(2);

/// How long another process may be at work on the journal.
const LOCK_PATIENCE: Duration = Duration::from_secs(10);

/// How often it is looked whether a lease has lost its watchdogs.
const LOOK_EVERY: Duration = Duration::from_secs(3);

/// Without a request and without a lease for so long it ends.
const IDLE_MAX: Duration = Duration::from_secs(10);

/// Leases in force at once: each has two watchdogs.
const IN_FORCE_MAX: usize = 8;

/// Leases that are over and still written down; those that could not be put back count as well.
const KEPT_MAX: usize = 100;

/// Leases that are listed.
const LISTED_MAX: usize = 32;

/// Bits of a socket's mode that let others in than its owner and its group.
const OTHERS: u32 = 0o007;

/// Who answers.
pub struct Helper<'a> {
    /// The tree of files whose settings are changed.
    pub root: Root,
    /// Where it is written down.
    pub journal: FixJournal,
    /// Who is told of it.
    pub public: Option<PublicPlace>,
    /// Our program, started again as the watchdog of a lease.
    pub program: &'a Path,
    /// The fixes of a built-in cause.
    pub fixes: fn(&str) -> Option<&'static [Fix]>,
    /// Where it is told who asked for what.
    pub say: Say,
}

impl Helper<'_> {
    /// Puts back what an earlier one left, and answers until nobody asks and nothing is in force, or until `stop` is set;
    /// then all leases are put back.
    pub fn serve(&self, listener: &UnixListener, stop: &AtomicBool) -> Result<(), JournalError> {
        self.put_back(|entry| !self.journal.is_watched(&entry.id))?;
        let _ = listener.set_nonblocking(true);
        let (mut busy, mut looked) = (Instant::now(), Instant::now());
        while !stop.load(Ordering::Relaxed) {
            if looked.elapsed() >= LOOK_EVERY {
                looked = Instant::now();
                if self.look()? {
                    busy = looked;
                }
            }
            if busy.elapsed() >= IDLE_MAX {
                return Ok(());
            }
            let second = Timespec {
                tv_sec: 1,
                tv_nsec: 0,
            };
            // A signal ends the wait; an error of it comes again with the next one.
            let _ = poll(
                &mut [PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN)],
                Some(&second),
            );
            match listener.accept() {
                Ok((stream, _)) => {
                    self.meet(listener, &stream);
                    busy = Instant::now();
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(_) => std::thread::sleep(Duration::from_millis(100)),
            }
        }
        self.restore()
    }

    /// Puts every lease of the helper's back, whoever watches it.
    pub fn restore(&self) -> Result<(), JournalError> {
        self.put_back(|_| true)
    }

    /// Takes leases back that nobody watches any more; whether any is in force.
    fn look(&self) -> Result<bool, JournalError> {
        // Watchdogs that are done.
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        let is_lost = |entry: &Entry| in_force(entry) && !self.journal.is_watched(&entry.id);
        if self.own()?.iter().any(is_lost) {
            self.put_back(is_lost)?;
        }
        Ok(self.own()?.iter().any(in_force))
    }

    /// The helper's entries, the oldest first. Root's own are none of its business.
    fn own(&self) -> Result<Vec<Entry>, JournalError> {
        let all = self.journal.list()?.into_iter().filter_map(Result::ok);
        Ok(all.filter(|entry| entry.asked_by.is_some()).collect())
    }

    fn put_back(&self, which: impl Fn(&Entry) -> bool) -> Result<(), JournalError> {
        let locked = self.journal.lock(Some(LOCK_PATIENCE))?;
        // The last one first: it may sit on top of an earlier one.
        for mut entry in self.own()?.into_iter().rev() {
            if entry.is_open() && which(&entry) {
                let left = undo(&locked, &mut entry, None, false)?.left();
                self.tell(&entry, &left);
            }
        }
        Ok(())
    }

    fn tell(&self, entry: &Entry, left: &[String]) {
        let outcome = match left {
            [] => "undone".to_owned(),
            left => format!("NOT UNDONE: {}", left.join("; ")),
        };
        (self.say)(&format!("lease {} of {}: {outcome}", entry.id, entry.cause));
    }

    /// One connection: who it is, its line, our line.
    fn meet(&self, listener: &UnixListener, stream: &UnixStream) {
        let answer = match self.request(listener, stream) {
            Ok((asker, request)) => self.carry_out(asker, request),
            Err(why) => Err(why),
        };
        let answer = answer.unwrap_or_else(Answer::Refused);
        if let Ok(mut line) = serde_json::to_vec(&answer) {
            line.push(b'\n');
            // Who does not wait for the answer finds it by asking for the list.
            let _ = { stream }.write_all(&line);
        }
    }

    fn request(
        &self,
        listener: &UnixListener,
        stream: &UnixStream,
    ) -> Result<(u32, Request), String> {
        let text = |error: std::io::Error| error.to_string();
        let asker = socket_peercred(stream)
            .map_err(|error| error.to_string())?
            .uid;
        let is_closed = admits_its_group_only(listener);
        stream
            .set_write_timeout(Some(PEER_PATIENCE))
            .map_err(text)?;
        if !is_closed && !asker.is_root() {
            return Err("everybody can open the socket, so no request is answered".to_owned());
        }
        let line = read_line(stream)?;
        if is_gone(stream) {
            return Err("nobody waits for the answer".to_owned());
        }
        let request =
            serde_json::from_slice(&line).map_err(|_| "the request cannot be read".to_owned())?;
        Ok((asker.as_raw(), request))
    }

    fn carry_out(&self, asker: u32, request: Request) -> Result<Answer, String> {
        let text = |error: JournalError| error.to_string();
        match request {
            Request::List => {
                let mut leases = self.own().map_err(text)?;
                leases.retain(Entry::is_open);
                // The newest: an answer that no peer has to be waited for.
                leases.drain(..leases.len().saturating_sub(LISTED_MAX));
                Ok(Answer::Leases(leases))
            }
            Request::Revert { id } => {
                let locked = self.journal.lock(Some(LOCK_PATIENCE)).map_err(text)?;
                let mut leases = self.own().map_err(text)?.into_iter();
                let mut entry = leases
                    .find(|entry| entry.id == id && entry.is_open())
                    .ok_or("no lease with this id is in force")?;
                let left = undo(&locked, &mut entry, None, false).map_err(text)?.left();
                (self.say)(&format!("user {asker} asked to undo lease {}", entry.id));
                self.tell(&entry, &left);
                Ok(Answer::Reverted { left })
            }
            Request::Apply { cause, seconds } => {
                let entry = self.apply(asker, &cause, seconds)?;
                (self.say)(&format!(
                    "lease {} of {cause} for {seconds} s: requested by user {asker}",
                    entry.id
                ));
                Ok(Answer::Made(Box::new(entry)))
            }
        }
    }

    fn apply(&self, asker: u32, cause: &str, seconds: u64) -> Result<Entry, String> {
        if !(1..=SECONDS_MAX).contains(&seconds) {
            return Err(format!("a lease may last 1 to {SECONDS_MAX} s"));
        }
        let fixes = (self.fixes)(cause).ok_or("no built-in cause has this id")?;
        let locked = self
            .journal
            .lock(Some(LOCK_PATIENCE))
            .map_err(|error| error.to_string())?;
        self.make_room(&locked)?;
        let system = System::observe(&self.root, None, None);
        let steps: Vec<Step> = plan(fixes, &system).steps;
        let now: Vec<&Step> = steps
            .iter()
            .filter(|step| step.when == When::Now && step.consent.is_none())
            .collect();
        let made: Vec<DoneStep> = now
            .iter()
            .filter_map(|step| match step.change()? {
                change @ Change::KernelSetting(_) => Some(DoneStep {
                    says: step.says.clone(),
                    change: change.clone(),
                    remedy: step.remedy.clone(),
                }),
                _ => None,
            })
            .collect();
        if let Some(why) = made.iter().find_map(|step| refusal(&step.change)) {
            return Err(why);
        }
        if made.is_empty() {
            let whys = now.iter().filter_map(|step| match &step.state {
                StepState::Already(why)
                | StepState::NotHere(why)
                | StepState::ByHand { why, .. } => Some(format!("{}: {why}", step.place)),
                StepState::ToDo(_) => None,
            });
            let whys: Vec<String> = whys.collect();
            return Err(match whys.as_slice() {
                [] => "no part of its remedy is a kernel setting".to_owned(),
                whys => format!("nothing to set: {}", whys.join("; ")),
            });
        }
        let order = ApplyRequest {
            cause: cause.to_owned(),
            incident: None,
            root: self.root.clone(),
            steps: made,
            lease: Some(Duration::from_secs(seconds)),
            asked_by: Some(asker),
            public: self.public.clone(),
        };
        apply(&locked, order, None, self.program)
            .map(|applied| applied.entry)
            .map_err(|error| error.to_string())
    }

    /// Forgets the oldest leases that are over: whoever may ask may not fill a disk.
    fn make_room(&self, locked: &LockedJournal) -> Result<(), String> {
        let text = |error: JournalError| error.to_string();
        let own = self.own().map_err(text)?;
        let running = own.iter().filter(|entry| in_force(entry)).count();
        if running >= IN_FORCE_MAX {
            return Err(format!("{running} leases are in force, which is the limit"));
        }
        let surplus = own.len().saturating_sub(KEPT_MAX);
        let over = own.iter().filter(|entry| !entry.is_open());
        let over: Vec<&Entry> = over.take(surplus).collect();
        if over.len() < surplus {
            return Err("too many leases could not be undone: freezeframe leases".to_owned());
        }
        for entry in over {
            locked.journal().forget(&entry.id).map_err(text)?;
        }
        Ok(())
    }
}

fn in_force(entry: &Entry) -> bool {
    matches!(entry.state, State::Applying | State::Applied)
}

/// Whether the kernel lets nobody connect but root and the group of the socket's file.
fn admits_its_group_only(listener: &UnixListener) -> bool {
    let address = listener.local_addr().ok();
    let path = address.as_ref().and_then(|address| address.as_pathname());
    let metadata = path.and_then(|path| path.symlink_metadata().ok());
    metadata.is_some_and(|metadata| metadata.mode() & OTHERS == 0)
}

/// Whether the peer has closed its end, or died: what it asked for while others were answered is wanted no more.
fn is_gone(stream: &UnixStream) -> bool {
    let mut looked = [PollFd::from_borrowed_fd(stream.as_fd(), PollFlags::IN)];
    let _ = poll(&mut looked, Some(&Timespec::default()));
    let mut ends = looked.iter();
    ends.any(|end| end.revents().contains(PollFlags::HUP))
}

/// One line, whole, within the time and the bytes that one has, and nothing behind it.
fn read_line(stream: &UnixStream) -> Result<Vec<u8>, String> {
    let end = Instant::now() + PEER_PATIENCE;
    let mut line = [0; REQUEST_BYTES_MAX + 1];
    let mut length = 0;
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err("the request takes too long".to_owned());
        }
        stream
            .set_read_timeout(Some(left))
            .map_err(|error| error.to_string())?;
        let room = line.get_mut(length..).unwrap_or_default();
        match { stream }.read(room) {
            Ok(0) => return Err("the request is not a complete line, or too long".to_owned()),
            Ok(read) => length += read,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(_) => return Err("the request takes too long".to_owned()),
        }
        let read = line.get(..length).unwrap_or_default();
        if let Some(at) = read.iter().position(|byte| *byte == b'\n') {
            if at + 1 != length {
                return Err("only one request for each connection".to_owned());
            }
            return Ok(read.get(..at).unwrap_or_default().to_vec());
        }
    }
}
