//! Notices stalls. Pure: fed with samples in the order they came, it answers with events; no clock,
//! no I/O, so a recorded incident replays exactly.
//!
//! The first question is about work, relative to what is usual for this server: do statements come
//! back that usually do, and are clients let in? How many clients there are does not matter. What
//! the host does is a sign, never a stall by itself.
//!
//! **What the host does is no stall.** It counts when the server's clients are affected.
//!
//! **The recorder's own luck is no witness.** In the session of the clients it queues for a processor as they do, and its
//! trivial statement takes long. As a service it has a share of its own, and its statement passes by a queue that holds
//! everybody else's: while thirty clients flooded a server on two processors, 17 of its threads waited for one, and most
//! probes took 0.1 to 0.5 ms. So the kernel's count of what the server's own threads wait says what users feel, too
//! (`threads.queued`, `recorder/src/run_queue.rs`): whatever one asks takes so many times as long as without waiting, usually
//! 1.1 to 1.3 times on a machine of its own. A thread that waits has not read what it was asked, so neither sessions nor the
//! status know of it. Two readings in a row count, or one that is of two seconds.
//!
//! **An incident on demand is no stall** (`recorder/src/capture_requests.rs`): the detector does not know of it.
//!
//! # Counting work
//!
//! **Completions are counted by starts**: the growth of `Questions`, less our own, less the growth of
//! `Threads_running`. Servers count a statement when it starts; statements that hang would look completed.
//!
//! **The recorder's own work is no work of the server.** SHOW STATUS reads about 600 rows, which can hide writes that
//! hang on a quiet server: the least that any of the last thirty readings brought is taken out. Questions are counted
//! exactly, with the command that ends a session (`server/src/own.rs`).
//!
//! **One or two statements that read many rows** and wait for nobody are at work: the handler counters tell.
//!
//! **Without a login** the kernel's times of each TCP connection replace the sessions (`detect/src/requests.rs`,
//! `kernel/src/connections.rs`). Most clients send the next request within the tick of the answer, so the times are
//! equal; then the bare acknowledgements decide: the client acknowledges an answer later, our kernel a request by a
//! segment of its own. This needs no privilege and works with TLS.
//!
//! # Looks
//!
//! **A second look.** Ages are whole seconds, so of a stall of two seconds one look may find all statements young and
//! the next none. Status and sessions are read again after 0.45 s when more sessions are in statements than finish
//! any, when half of the usual completes, or when three times as many statements are under way
//! (`detect/src/pace.rs`). A rule on one look does not work: a load that comes back at full speed looks the same.
//!
//! **No look keeps step.** Sessions are read 10 to 80 ms after the beat, each second at another moment
//! (`recorder/src/worker.rs`): an application with a beat of its own would be seen in every look or in none.
//!
//! **Few looks are chance.** Of 20 statements of 5 ms a second every tenth look finds one. Where as much completes as
//! ever, the rule needs eight; three where the work fell and all active sessions are in one. A session that is in a
//! statement in every look says nothing about the others (`processlist.in_flight_unusual`).
//!
//! **A doubt is not learnt**: `Usual` learns nothing while the last look was slow, for ten seconds at the most.
//!
//! **A lock that is free now and then** lets each third look find few sessions. Where a trivial statement takes long
//! though processors have room (work of low priority leaves room), three quick looks in a row end the stall; else
//! one.
//!
//! # Logins
//!
//! **Connections that are not let in** are in no statement. Three at once are a stall; one or two when the work
//! stopped as the first came, since a port scanner stops nobody. **Below five statements a second** the kernel tells:
//! the server speaks first, so a TCP connection on which nothing was sent is not greeted (`connections.ungreeted`).
//! With nothing completed since, that is a stall. Connections are read at once when a client waits for its login,
//! else the more seldom the larger their table is.
//!
//! # Learning
//!
//! **Nothing is learnt in a stall**, and what was learnt since its onset is taken out. Classes learn 15 s late. What
//! is usual survives a restart (`learnt-LABEL.json`).
//!
//! **A second in which everybody was slow describes the server.** A class becomes a long one only on three occasions
//! a minute apart, where old statements were seen together with more sessions than came back, or as one of many quick
//! ones. Else one silent disk would make the pool's statements long for ever and hide stalls of two to five seconds.
//!
//! # The end of a stall
//!
//! When every rule that fired has seen work flow for a second, and none of the clients that usually finish something
//! all the time hangs since before. A trivial statement needs one page of memory: of a server that comes back from a
//! swap it was answered two seconds before the first of the clients' own. Sessions tell of clients; while nobody is
//! told of those, the kernel's view of connections does. The connect probe pauses while nothing is answered, up to a
//! minute; a query that is answered again, or an accept queue that gets shorter, ends the pause. There is no dead
//! time. The limit an hour bounds announcements: all stalls are in `stalls.jsonl`.
//!
//! # Replays and tests
//!
//! `recorder/src/replay.rs` feeds the detector with a history or an incident (`explain --at`). All readings of a
//! short stretch are kept: which of two probes came last decides when a stall was over.
//!
//! `freezeframe-lab sweep --recordings DIR` writes what the detector saw, with what clients saw.
//! `detect/tests/recorded` has seven, `slow_names` one; the test replays them under a simulated clock, and the
//! simulated month takes its hosts from the healthy ones. `detect::SIGNALS` is the table of what a recording holds; a
//! test compares it with the sources. `detect/tests/sim` is a server in numbers; `freezeframe/tests/noticed` does the
//! same to a real one with four clients.

mod baseline;
mod burn;
mod config;
mod detector;
mod pace;
mod places;
mod requests;
mod rules;
mod sessions;
mod signals;
mod trigger;
mod usual;
mod view;

pub use config::{Config, Hysteresis, Room};
pub use detector::{Announce, Detector, Event};
pub use pace::Pace;
pub use requests::{RequestRow, Requests};
pub use sessions::{LearntClasses, SessionRow, Sessions};
pub use signals::SIGNALS;
pub use trigger::{TriggerError, UserTrigger};
pub use usual::Learnt;
