//! The one thread that answers: it waits for all clients at once, so that none of them can make
//! another one wait.

use std::io::ErrorKind;
use std::net::TcpListener;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::connection::{ASKING_MAX, Connection, Respond};
use super::request::{Refusal, Request};
use super::{Answer, Board, Names, metrics};

/// Connections at a time; for one more, the first in [`Responder::make_room`]'s order is ended. Each may
/// hold a head of 8 KiB, and a file descriptor, of which the recorder needs hundreds itself.
pub(super) const CONNECTIONS_MAX: usize = 256;

/// Connections that are accepted before those that are there have their turn. A quarter of the places:
/// whoever is accepted is looked at again, three times at least, before a flood can take its place.
const ACCEPTS_A_TURN: usize = CONNECTIONS_MAX / 4;

/// Bytes of answers that wait for their readers, all together.
const UNSENT_BYTES_MAX: usize = 4 << 20;

/// Without a file descriptor for the next connection, and with nobody whose place could be taken.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// Answers requests until the process ends.
pub(super) struct Responder {
    listener: TcpListener,
    names: Names,
    board: Arc<Board>,
    /// In the order in which they were accepted.
    connections: Vec<Connection>,
    /// Nobody is accepted before this.
    accept_from: Option<Instant>,
}

impl Responder {
    /// The listener must not block.
    pub(super) fn new(listener: TcpListener, names: Names, board: Arc<Board>) -> Self {
        Self {
            listener,
            names,
            board,
            connections: Vec::with_capacity(CONNECTIONS_MAX),
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
        let board = self.board.clone();
        let mut pages = Pages::new(&board);
        let names = &self.names;
        for (connection, is_ready) in self.connections.iter_mut().zip(ready) {
            if is_ready {
                connection.go_on(now, names, &mut |request| pages.answer(request));
            }
            if !connection.is_over() && connection.deadline() <= now {
                let why = format!("the request took longer than {} s", ASKING_MAX.as_secs());
                connection.late(now, &why);
            }
        }
        self.connections.retain(|connection| !connection.is_over());
        if has_new {
            self.accept(now, &mut |request| pages.answer(request));
        }
        self.bound_unsent();
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
        if poll(&mut polled, timeout.as_ref()).is_err() {
            // Interrupted, or the kernel is out of memory: not a reason to spin.
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut ready = polled.iter().map(|one| !one.revents().is_empty());
        let has_new = ready.next().unwrap_or(false) && self.accept_from.is_none();
        (has_new, ready.collect())
    }

    fn accept(&mut self, now: Instant, respond: &mut Respond<'_>) {
        for _ in 0..ACCEPTS_A_TURN {
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) => match error.kind() {
                    ErrorKind::WouldBlock => return,
                    ErrorKind::Interrupted | ErrorKind::ConnectionAborted => continue,
                    _ => {
                        // Out of file descriptors, for example: one that is given up lets the next one in.
                        if !self.make_room(now, respond) {
                            self.accept_from = Some(now + ACCEPT_PAUSE);
                        }
                        return;
                    }
                },
            };
            if self.connections.len() >= CONNECTIONS_MAX {
                self.make_room(now, respond);
            }
            let Ok(mut connection) = Connection::new(stream, now) else {
                continue;
            };
            // Most have sent their request by now, and have their answer at once.
            connection.go_on(now, &self.names, respond);
            if !connection.is_over() {
                self.connections.push(connection);
            }
        }
    }

    /// Ends one connection: who has its answer, else who reads it slowly, else who has been asking for the
    /// longest time. Whoever sends its request at once is answered before its turn comes.
    fn make_room(&mut self, now: Instant, respond: &mut Respond<'_>) -> bool {
        let order = self.connections.iter().enumerate();
        let Some((first, _)) = order.min_by_key(|(at, connection)| (connection.at(), *at)) else {
            return false;
        };
        let mut connection = self.connections.remove(first);
        // What has come since the last look still counts.
        connection.go_on(now, &self.names, respond);
        connection.late(
            now,
            "there are too many connections, and others were faster",
        );
        true
    }

    fn bound_unsent(&mut self) {
        let mut unsent: usize = self.connections.iter().map(Connection::unsent_bytes).sum();
        self.connections.retain(|connection| {
            let bytes = connection.unsent_bytes();
            let is_too_much = unsent > UNSENT_BYTES_MAX && bytes > 0;
            if is_too_much {
                unsent = unsent.saturating_sub(bytes);
            }
            !is_too_much
        });
    }
}

/// What is answered in one turn. The metrics are made once for all who ask in it.
struct Pages<'a> {
    board: &'a Board,
    metrics: Option<Arc<[u8]>>,
}

impl<'a> Pages<'a> {
    fn new(board: &'a Board) -> Self {
        Self {
            board,
            metrics: None,
        }
    }

    fn answer(&mut self, request: Result<Request, Refusal>) -> Arc<[u8]> {
        let request = match request {
            Ok(request) => request,
            Err(refusal) => return refusal.answer.bytes(refusal.head_only).into(),
        };
        if request.path == "/metrics" && !request.head_only {
            let page = self
                .metrics
                .get_or_insert_with(|| page(self.board, &request));
            return page.clone();
        }
        page(self.board, &request)
    }
}

/// A panic costs the one answer, and not the thread.
fn page(board: &Board, request: &Request) -> Arc<[u8]> {
    let made = catch_unwind(AssertUnwindSafe(|| answer(board, &request.path)));
    let answer = made.unwrap_or_else(|_| Answer::text(500, "internal error; please report it"));
    answer.bytes(request.head_only).into()
}

fn answer(board: &Board, path: &str) -> Answer {
    match path {
        "/healthz" => board.health(None),
        "/metrics" => Answer {
            code: 200,
            kind: "text/plain; version=0.0.4; charset=utf-8",
            body: metrics::text(board),
        },
        "/" => Answer::text(200, "freezeframe: /healthz, /healthz/SERVER, /metrics"),
        _ => match path.strip_prefix("/healthz/") {
            Some(label) => board.health(Some(label)),
            None => Answer::text(404, "there are /healthz, /healthz/SERVER and /metrics"),
        },
    }
}
