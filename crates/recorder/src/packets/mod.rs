//! What a server is asked, read from the packets on its ports: the kernel's capture, the protocol's decoder, and the
//! digest that logs have as well. Works while the server answers nobody; what it may be asked is who was connected before.

mod blind;
mod capture;
mod options;

pub use blind::blind_spots;
pub use capture::PacketCapture;
pub use kernel::packets::CaptureError;
pub use options::PacketOptions;
pub use server::wire::{Captured, Collector, complete};

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use server::wire::{PriorConnection, Statement};
use server::{Address, Deadlines, Login, OwnStatements, Session};

/// Hands over every statement of a stretch of time as its answer is complete; at the end those that have none yet.
/// `ask` is called once packets are kept, and brings what the server tells of the connections that are open, if it does.
/// Ends early when `stop` is set.
pub fn capture(
    options: &PacketOptions,
    duration: Duration,
    stop: &AtomicBool,
    ask: impl FnOnce() -> Option<Receiver<Vec<PriorConnection>>>,
    each: &mut dyn FnMut(&Statement<'_>),
) -> Result<Captured, CaptureError> {
    let mut capture = PacketCapture::open(options)?;
    if let Some(open) = ask() {
        capture.ask(open, ANSWER);
    }
    capture.run(duration, stop, each)?;
    capture.finish(each)
}

/// How long packets are only kept while the server is asked who is connected: it mostly answers in a few milliseconds,
/// and the ring holds what comes in this time.
pub(crate) const ANSWER: Duration = Duration::from_millis(100);

/// Keeps the questions out of the slow log and the general log.
const OUT_OF_LOGS: [&str; 2] = [
    "SET SESSION long_query_time = 31536000",
    "SET SESSION sql_log_off = 1",
];

/// Asks a server on a thread of its own who is connected and what is prepared: it may take long to answer, or never do.
/// `asking` is held while it does.
pub fn ask_open_connections(
    address: &Address,
    login: &Login,
    deadlines: Deadlines,
    asking: Arc<()>,
    own: &OwnStatements,
) -> Option<Receiver<Vec<PriorConnection>>> {
    let (sender, receiver) = channel();
    let (address, login, own) = (address.clone(), login.clone(), own.clone());
    let spawned = kernel::own_threads::start("ff-connections", move || {
        // What is not told is not known: the digest counts those connections as guessed.
        let told = Session::connect(&address, &login, deadlines).and_then(|mut session| {
            session.count_in(&own);
            for statement in OUT_OF_LOGS {
                match session.execute(statement) {
                    Err(error) if error.is_connection_lost() => return Err(error),
                    _ => {}
                }
            }
            server::open_connections(&mut session)
        });
        if let Ok(open) = told {
            drop(sender.send(open));
        }
        drop(asking);
    });
    spawned.ok().map(|_| receiver)
}
