//! The one thread that answers: it waits for all clients at once, so that none of them can make
//! another one wait.

use std::io::{ErrorKind, Read};
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::connection::{ASKING_MAX, Connection, ConnectionState};
use super::request::{Refusal, Request};
use super::site::{Limits, Reply, Site};
use super::{Answer, Names};

/// Of the places for connections so many are given away before those that are there have their turn. A quarter:
/// whoever is accepted is looked at again, three times at least, before a flood can take its place.
const ACCEPTS_SHARE: usize = 4;

/// Without a file descriptor for the next connection, and with nobody whose place could be taken.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Answers requests until the process ends.
pub(super) struct Responder {
    listener: TcpListener,
    names: Names,
    site: Box<dyn Site>,
    limits: Limits,
    /// It can be read when an answer may be there that took longer.
    woken: Option<UnixStream>,
    /// In the order in which they were accepted.
    connections: Vec<Connection>,
    /// Nobody is accepted before this.
    accept_from: Option<Instant>,
}

impl Responder {
    /// The listener must not block.
    pub(super) fn new(
        listener: TcpListener,
        names: Names,
        site: Box<dyn Site>,
        woken: Option<UnixStream>,
    ) -> Self {
        let limits = site.limits();
        Self {
            listener,
            names,
            site,
            limits,
            woken,
            connections: Vec::with_capacity(limits.connections),
            accept_from: None,
        }
    }

    pub(super) fn run(mut self) {
        loop {
            self.turn();
        }
    }

    fn turn(&mut self) {
        let (has_new, ready) = self.wait();
        let now = Instant::now();
        let is_woken = self.drain();
        self.site.turn();
        let (names, site) = (&self.names, &mut *self.site);
        for (connection, is_ready) in self.connections.iter_mut().zip(ready) {
            if is_woken {
                connection.check_deadline(now);
            }
            if is_ready {
                connection.go_on(now, names, &mut |request| answer(site, request));
            }
            if !connection.is_over() && connection.deadline() <= now {
                let why = format!("the request took longer than {} s", ASKING_MAX.as_secs());
                connection.late(now, &why);
            }
        }
        self.connections.retain(|connection| !connection.is_over());
        if has_new {
            self.accept(now);
        }
        self.bound_unsent();
    }

    /// Whether somebody said that an answer may be there.
    fn drain(&mut self) -> bool {
        let mut bytes = [0; 256];
        let mut is_woken = false;
        while let Some(woken) = &mut self.woken {
            match woken.read(&mut bytes) {
                Ok(count) if count > 0 => is_woken = true,
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Nobody is left who could say so.
                _ => self.woken = None,
            }
        }
        is_woken
    }

    /// Until somebody comes, or says something, or is late: whether somebody comes, and of each
    /// connection whether there is something to do.
    fn wait(&mut self) -> (bool, Vec<bool>) {
        let now = Instant::now();
        self.accept_from = self.accept_from.filter(|from| *from > now);
        let deadlines = self.connections.iter().map(Connection::deadline);
        let first = deadlines.chain(self.accept_from).min();
        // The kernel rounds up, so that nobody is found a moment too early and asked again.
        let timeout = first
            .map(|first| first.saturating_duration_since(now))
            .and_then(|left| Timespec::try_from(left).ok());
        let accepts = match self.accept_from {
            None => PollFlags::IN,
            Some(_) => PollFlags::empty(),
        };
        let mut polled = vec![PollFd::new(&self.listener, accepts)];
        polled.extend(
            self.connections
                .iter()
                .map(|connection| PollFd::new(connection.stream(), connection.interest())),
        );
        // Behind them, so that each has its place.
        polled.extend(
            self.woken
                .iter()
                .map(|woken| PollFd::new(woken, PollFlags::IN)),
        );
        if poll(&mut polled, timeout.as_ref()).is_err() {
            // Interrupted, or the kernel is out of memory: not a reason to spin.
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut ready = polled.iter().map(|one| !one.revents().is_empty());
        let has_new = ready.next().unwrap_or(false) && self.accept_from.is_none();
        (has_new, ready.collect())
    }

    fn accept(&mut self, now: Instant) {
        for _ in 0..(self.limits.connections / ACCEPTS_SHARE).max(1) {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return,
                    ErrorKind::Interrupted | ErrorKind::ConnectionAborted => continue,
                    _ => {
                        // Out of file descriptors, for example: one that is given up lets the next one in.
                        if !self.make_room(now) {
                            self.accept_from = Some(now + ACCEPT_PAUSE);
                        }
                        return;
                    }
                },
            };
            if self.connections.len() >= self.limits.connections {
                self.make_room(now);
            }
            let Ok(mut connection) = Connection::new(stream, now, self.limits) else {
                continue;
            };
            // Most have sent their request by now, and have their answer at once.
            let site = &mut *self.site;
            connection.go_on(now, &self.names, &mut |request| answer(site, request));
            if !connection.is_over() {
                self.connections.push(connection);
            }
        }
    }

    /// Ends one connection: who has its answer, else who reads it slowly, else who has been asking for the
    /// longest time. Whoever sends its request at once is answered before its turn comes.
    fn make_room(&mut self, now: Instant) -> bool {
        let order = self.connections.iter().enumerate();
        let Some((first, _)) = order.min_by_key(|(at, connection)| (connection.state(), *at))
        else {
            return false;
        };
        let mut connection = self.connections.remove(first);
        // What has come since the last look still counts.
        let site = &mut *self.site;
        if connection.state() != ConnectionState::Waiting {
            connection.go_on(now, &self.names, &mut |request| answer(site, request));
        }
        connection.late(now, "too many connections");
        true
    }

    fn bound_unsent(&mut self) {
        let mut unsent: usize = self.connections.iter().map(Connection::unsent_bytes).sum();
        self.connections.retain(|connection| {
            let bytes = connection.unsent_bytes();
            let is_too_much = unsent > self.limits.unsent_bytes && bytes > 0;
            if is_too_much {
                unsent = unsent.saturating_sub(bytes);
            }
            !is_too_much
        });
    }
}

/// A panic costs the one answer, and not the thread.
fn answer(site: &mut dyn Site, request: Result<Request, Refusal>) -> Reply {
    let request = match request {
        Ok(request) => request,
        Err(refusal) => return Reply::Now(refusal.answer.bytes(refusal.head_only).into()),
    };
    let made = catch_unwind(AssertUnwindSafe(|| site.answer(&request)));
    made.unwrap_or_else(|_| {
        let answer = Answer::text(500, "internal error; please report it");
        Reply::Now(answer.bytes(request.head_only).into())
    })
}
