//! The last way to see statements when a stall begins, where the user permits it: the general log, for some seconds, as
//! a lease that is given back whatever becomes of us.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use model::{Absent, Reason, Window};
use remedy::general_log::{Plan, capture, digest_log};
use remedy::{LoginSource, ProcessId, ServerLogin};

use crate::clock::RecorderClock;
use crate::notice::{Notice, Notices};
use crate::queries::QueryWatch;
use crate::target::Shared;

/// How long the gentler ways have to show that they see statements.
const GENTLER_WAYS_MS: u64 = 3000;

/// How often it is looked whether the recording ends.
const NAP: Duration = Duration::from_millis(100);

/// Classes that are told one by one.
const CLASSES_MAX: usize = 200;

/// What is missing, in [`Absent::what`].
const WHAT: &str = "general log";

/// What the user permits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GeneralLogPermit {
    /// The directory in which leases are written down.
    pub journal: PathBuf,
    /// How to log in when everything of us is gone; the user's name is the recorder's.
    pub login: LoginSource,
    /// How long the log may be on.
    pub time_max: Duration,
    /// How many bytes it may have.
    pub bytes_max: u64,
    /// Bytes that stay free on its file system.
    pub free_bytes_min: u64,
    /// Our program, which is started as the lease's watchdog.
    pub program: PathBuf,
}

/// What a lease at a trigger needs.
#[derive(Debug, Clone)]
pub(crate) struct Listening {
    pub(crate) shared: Arc<Shared>,
    pub(crate) queries: Arc<QueryWatch>,
    pub(crate) clock: RecorderClock,
    pub(crate) notices: Notices,
    pub(crate) stop: Arc<AtomicBool>,
}

impl Listening {
    /// Begins on a thread of its own: the server may take long to answer. Without a thread there is none of this
    /// evidence.
    pub(crate) fn begin(self, permit: &GeneralLogPermit) {
        let permit = permit.clone();
        let spawned = kernel::own_threads::start("ff-general-log", move || {
            if let Err(absent) = self.run(&permit) {
                self.notices.send(Notice::Absent(absent));
            }
        });
        drop(spawned);
    }

    fn run(&self, permit: &GeneralLogPermit) -> Result<(), Absent> {
        let begin = self.clock.now();
        while self.clock.now() < begin + GENTLER_WAYS_MS {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            std::thread::sleep(NAP);
        }
        if self.queries.sees_statements(begin) {
            return Ok(());
        }
        let plan = self.plan(permit)?;
        let from = self.clock.now();
        let until = Instant::now() + permit.time_max;
        let notices = &self.notices;
        let captured = capture(
            &plan,
            &mut || self.stop.load(Ordering::Relaxed) || Instant::now() >= until,
            &mut |line| notices.send(Notice::Lease(line.to_owned())),
            |log| (self.clock.now(), digest_log(log, CLASSES_MAX, false)),
        )
        .map_err(|error| Absent::new(WHAT, Reason::Failed, error.to_string()))?;
        let (to, digest) = captured.read;
        let mut digest =
            digest.map_err(|error| Absent::new(WHAT, Reason::Failed, error.to_string()))?;
        if let Some(words) = captured.ended_by.to_text() {
            let cut = Absent::new("statements", Reason::Limit, words);
            digest.blind.push(cut);
        }
        self.queries.add(Window { from, to }, digest);
        Ok(())
    }

    fn plan(&self, permit: &GeneralLogPermit) -> Result<Plan, Absent> {
        let address = self.shared.addresses().into_iter().next().ok_or_else(|| {
            Absent::new(
                WHAT,
                Reason::NoConnection,
                "no address of the server is known",
            )
        })?;
        Ok(Plan {
            journal: permit.journal.clone(),
            server: ServerLogin {
                address: (&address).into(),
                process: self.shared.process().map(|process| ProcessId {
                    pid: process.pid,
                    start_time_ticks: process.start_time_ticks,
                }),
                login: LoginSource {
                    user: self.shared.login().user.clone(),
                    tls: self.shared.login().tls.options().into(),
                    ..permit.login.clone()
                },
            },
            login: self.shared.login().clone(),
            time_max: permit.time_max,
            bytes_max: permit.bytes_max,
            free_bytes_min: permit.free_bytes_min,
            program: permit.program.clone(),
            stop: self.stop.clone(),
        })
    }
}
