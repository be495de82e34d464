//! One client, from its first byte to the last one of its answer. Nothing here waits.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::PollFlags;

use super::request::{Head, Refusal, Request};
use super::site::{Limits, Reply, Slot};
use super::{Answer, Names};

/// How long a client may take for the head of its request, from when it was accepted. A byte a second
/// buys no time.
pub(super) const ASKING_MAX: Duration = Duration::from_secs(2);

/// How long what a client still sends is read and thrown away, after its answer. Closing on bytes that
/// were not read resets the connection, and the client may lose an answer that it has not read.
const PARTING_MAX: Duration = Duration::from_secs(1);

/// Bytes of this kind; who sends more is reset.
const PARTING_BYTES_MAX: usize = 256 * 1024;

/// Bytes that are read from one client before the others have their turn.
const TURN_BYTES_MAX: usize = 32 * 1024;

/// Makes the answer to a request.
pub(super) type Respond<'a> = dyn FnMut(Result<Request, Refusal>) -> Reply + 'a;

enum State {
    /// Its head is not whole yet.
    Asking(Head),
    /// Its answer is made by somebody else.
    Waiting(Slot),
    /// Its answer is not written yet, as far as this.
    Answering(Arc<[u8]>, usize),
    /// All is written; so much was thrown away since.
    Parting(usize),
    Over,
}

/// What a client is at, in the order in which places are taken away: who has been answered can lose
/// least by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ConnectionState {
    /// It has its answer.
    Parting,
    /// It reads its answer slowly.
    Answering,
    /// Its request is not whole yet.
    Asking,
    /// Its answer is being made.
    Waiting,
}

/// A client.
pub(super) struct Connection {
    stream: TcpStream,
    state: State,
    deadline: Instant,
    limits: Limits,
}

impl Connection {
    pub(super) fn new(stream: TcpStream, now: Instant, limits: Limits) -> std::io::Result<Self> {
        stream.set_nonblocking(true)?;
        Ok(Self {
            stream,
            state: State::Asking(Head::default()),
            deadline: now + ASKING_MAX,
            limits,
        })
    }

    pub(super) fn stream(&self) -> &TcpStream {
        &self.stream
    }

    pub(super) fn deadline(&self) -> Instant {
        self.deadline
    }

    pub(super) fn state(&self) -> ConnectionState {
        match self.state {
            State::Asking(_) => ConnectionState::Asking,
            State::Waiting(_) => ConnectionState::Waiting,
            State::Answering(..) => ConnectionState::Answering,
            State::Parting(_) | State::Over => ConnectionState::Parting,
        }
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    /// What of its answer is not written yet, bytes.
    pub(super) fn unsent_bytes(&self) -> usize {
        match &self.state {
            State::Answering(bytes, sent) => bytes.len().saturating_sub(*sent),
            _ => 0,
        }
    }

    /// What there is to wait for.
    pub(super) fn interest(&self) -> PollFlags {
        match self.state {
            State::Answering(..) => PollFlags::OUT,
            // That it went away is told in any case.
            State::Waiting(_) => PollFlags::empty(),
            _ => PollFlags::IN,
        }
    }

    /// Its answer may be there by now.
    pub(super) fn check_deadline(&mut self, now: Instant) {
        if let State::Waiting(slot) = &self.state
            && let Some(bytes) = slot.get()
        {
            let bytes = bytes.clone();
            self.begin_answer(bytes, now);
            self.answer(now);
        }
    }

    /// Goes as far as it goes without waiting.
    pub(super) fn go_on(&mut self, now: Instant, names: &Names, respond: &mut Respond<'_>) {
        match self.state {
            State::Asking(_) => self.ask(now, names, respond),
            // It waits for nothing but its end.
            State::Waiting(_) => self.state = State::Over,
            _ => {}
        }
        if matches!(self.state, State::Answering(..)) {
            self.answer(now);
        }
        if matches!(self.state, State::Parting(_)) {
            self.part();
        }
    }

    /// Its time is over, or its place is needed: who has not asked yet is told so, and the rest ends.
    pub(super) fn late(&mut self, now: Instant, why: &str) {
        let answer = match &self.state {
            State::Asking(head) if !head.is_empty() => Answer::text(408, why),
            State::Waiting(_) => {
                Answer::text(503, "the answer takes too long; the disk may be slow")
            }
            _ => {
                self.state = State::Over;
                return;
            }
        };
        self.begin_answer(answer.bytes(false).into(), now);
        self.answer(now);
        if matches!(self.state, State::Answering(..)) {
            self.state = State::Over;
        }
    }

    fn begin_answer(&mut self, bytes: Arc<[u8]>, now: Instant) {
        self.state = State::Answering(bytes, 0);
        self.deadline = now + self.limits.answering;
    }

    fn ask(&mut self, now: Instant, names: &Names, respond: &mut Respond<'_>) {
        let mut buffer = [0; 4096];
        loop {
            let State::Asking(head) = &mut self.state else {
                return;
            };
            let request = match self.stream.read(&mut buffer) {
                // It says no more: the head stays as it is.
                Ok(0) if head.is_empty() => {
                    self.state = State::Over;
                    return;
                }
                Ok(0) => Some(Err(Answer::text(400, "the request is not whole").into())),
                Ok(count) => head.take(buffer.get(..count).unwrap_or_default(), names),
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                Err(_) => {
                    self.state = State::Over;
                    return;
                }
            };
            if let Some(request) = request {
                return match respond(request) {
                    Reply::Now(bytes) => self.begin_answer(bytes, now),
                    Reply::Later(slot) => {
                        self.state = State::Waiting(slot);
                        self.deadline = now + self.limits.making;
                    }
                };
            }
        }
    }

    fn answer(&mut self, now: Instant) {
        while let State::Answering(bytes, sent) = &mut self.state {
            let rest = bytes.get(*sent..).unwrap_or_default();
            if rest.is_empty() {
                let shut = self.stream.shutdown(Shutdown::Write);
                self.state = match shut {
                    Ok(()) => State::Parting(0),
                    Err(_) => State::Over,
                };
                self.deadline = now + PARTING_MAX;
                return;
            }
            match self.stream.write(rest) {
                Ok(count) if count > 0 => *sent += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                _ => self.state = State::Over,
            }
        }
    }

    fn part(&mut self) {
        let mut buffer = [0; 4096];
        let mut turn = 0;
        while let State::Parting(thrown_away) = &mut self.state {
            if turn >= TURN_BYTES_MAX {
                return;
            }
            match self.stream.read(&mut buffer) {
                Ok(count) if count > 0 && *thrown_away < PARTING_BYTES_MAX => {
                    *thrown_away += count;
                    turn += count;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                _ => self.state = State::Over,
            }
        }
    }
}
