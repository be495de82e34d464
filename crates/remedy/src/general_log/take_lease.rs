//! Taking a lease of the general log: written down and watched before anything is set.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use server::{Address, Login, ServerError, Session};
use thiserror::Error;

use super::change::{is_our_log, log_name, remove_log};
use super::give_back::{prepare, take_lock};
use super::log_directory::{LogDirectory, free_bytes, log_directories};
use super::plan::{EndedBy, Plan};
use super::watch;
use super::{GeneralLogChange, Values};
use crate::give_back::{DEADLINES, Patience, give_back_until_done};
use crate::journal::{Record, now_us, random_id};
use crate::watchdog::Watchdog;
use crate::{Change, GiveBackEnd, Journal, JournalError, Lease, ProcessId};

/// How long the server may take to make its log file once the log is on.
const FILE_PATIENCE: Duration = Duration::from_secs(2);

/// How often the log's size and our own end are looked at.
const POLL: Duration = Duration::from_millis(20);

/// Errors of the server that mean that a privilege is missing.
const NO_PRIVILEGE: u16 = 1227;

/// How long a server may take to give the log back when its owner is told to end.
const STOPPED_PATIENCE: Duration = Duration::from_millis(700);

/// Why there is no lease. Nothing is changed then.
#[derive(Debug, Error)]
pub enum LeaseError {
    /// The user has the general log on, in a file: nothing needs to be changed to read it.
    #[error("the general log is already on, in {}", .0.display())]
    AlreadyOn(PathBuf),
    /// The account may not.
    #[error("the server refuses to switch on its general log ({error}); needed: {grant}")]
    NoPrivilege {
        /// What the server says.
        error: String,
        /// The statement that permits it.
        grant: String,
    },
    /// Another lease.
    #[error("{0}")]
    Other(String),
    /// Too little room for the log.
    #[error(
        "{place}: {free_mib} MiB are free, but {needed_mib} MiB are needed: the log's limit and the reserve"
    )]
    NoSpace {
        /// Where.
        place: PathBuf,
        /// Free there, MiB.
        free_mib: u64,
        /// Needed, MiB.
        needed_mib: u64,
    },
    /// The log file would not be reached from here.
    #[error("the server's files cannot be reached from here ({0}); run this where the server runs")]
    Unreached(String),
    /// The server fails.
    #[error("{0}")]
    Server(#[from] ServerError),
    /// The journal fails: nothing is changed that is not written down.
    #[error("cannot write the lease to the journal: {0}")]
    Journal(#[from] JournalError),
    /// The second process fails: nothing is changed that nobody watches.
    #[error("cannot start the lease's watchdog: {0}")]
    Watchdog(String),
}

/// The general log is on, in a file of ours. Whatever becomes of this value and of us, it is given back.
pub struct GeneralLogLease {
    lease: Lease,
    login: Login,
    journal: Journal<Lease>,
    control: Option<Session>,
    watchdog: Option<Watchdog>,
    begin: Instant,
    time_max: Duration,
    stop: Arc<AtomicBool>,
    diverts_slow_log: bool,
}

/// The file of a general log that the user has on already, as it is reached from here: nothing needs to be changed to
/// read it.
pub fn open_log(plan: &Plan) -> Result<Option<PathBuf>, LeaseError> {
    let server = &plan.server;
    let address = Address::from(&server.address);
    let mut session = Session::connect(&address, &plan.login, plan.waits())?;
    let values = Values::read(&mut session)?;
    // A file of ours is somebody's lease, and goes when that is over.
    if !values.writes_file() || is_our_log(&values.general_log_file) {
        return Ok(None);
    }
    Ok(Some(path_here(
        &values,
        &log_directories(&mut session, server.process)?,
    )))
}

impl GeneralLogLease {
    /// Takes the lease: looks at what is set, writes it down, starts the watchdog, and only then switches the log on.
    pub fn take(plan: &Plan) -> Result<Self, LeaseError> {
        let journal = Journal::open(&plan.journal)?;
        let address = Address::from(&plan.server.address);
        let mut control = Session::connect(&address, &plan.login, plan.waits())?;
        prepare(&mut control)?;
        if !take_lock(&mut control)? {
            return Err(LeaseError::Other(
                "another freezeframe uses the general log of this server now".to_owned(),
            ));
        }
        let previous = Values::read(&mut control)?;
        if is_our_log(&previous.general_log_file) {
            return Err(LeaseError::Other(format!(
                "an earlier lease was not undone: the server's general_log_file is {}; see: freezeframe leases",
                previous.general_log_file
            )));
        }
        let id = random_id().map_err(LeaseError::Other)?;
        let place = place(&mut control, plan, &previous, &id)?;
        let name = log_name(&id);
        let change = GeneralLogChange {
            ours: previous.for_lease(place.there.join(&name).to_string_lossy().into_owned()),
            previous,
            file_here: place.here.join(&name),
            bytes_max: plan.bytes_max,
            free_bytes_min: plan.free_bytes_min,
            connection: control.id(),
        };
        let diverts_table = change.previous.writes_table() && !change.ours.writes_table();
        let diverts_slow_log = diverts_table && slow_log_is_on(&mut control)?;
        // Before the lease is written down: whoever finds one written may be sure that somebody watches it.
        let watchdog = watch::start(plan, &journal, &id).map_err(LeaseError::Watchdog)?;
        let taken_us = now_us();
        let time_us = i64::try_from(plan.time_max.as_micros()).unwrap_or(i64::MAX);
        let lease = Lease {
            version: Lease::FORM.version,
            id,
            server: plan.server.clone(),
            change: Change::GeneralLog(change),
            taken_us,
            deadline_us: taken_us.saturating_add(time_us),
            owner: ProcessId::own(),
        };
        if plan.stop.load(Ordering::Relaxed) {
            return Err(LeaseError::Other("it was stopped".to_owned()));
        }
        control.set_waits(DEADLINES);
        journal.write(&lease)?;
        let mut taken = Self {
            diverts_slow_log,
            lease,
            login: plan.login.clone(),
            journal,
            control: Some(control),
            watchdog: Some(watchdog),
            begin: Instant::now(),
            time_max: plan.time_max,
            stop: plan.stop.clone(),
        };
        if let Err(error) = taken.switch_on() {
            // What is half set is given back; when the server does not answer, that is the watchdog's work from now on.
            taken.give_back_silently();
            return Err(error);
        }
        taken.begin = Instant::now();
        Ok(taken)
    }

    fn change(&self) -> &GeneralLogChange {
        let Change::GeneralLog(change) = &self.lease.change;
        change
    }

    fn switch_on(&mut self) -> Result<(), LeaseError> {
        let statements = self.change().ours.taking();
        let file = self.change().file_here.clone();
        let Some(control) = &mut self.control else {
            return Ok(());
        };
        for statement in statements {
            if let Err(error) = control.execute(&statement) {
                return Err(if error.code == Some(NO_PRIVILEGE) {
                    no_privilege(control, &error)
                } else {
                    error.into()
                });
            }
        }
        let until = Instant::now() + FILE_PATIENCE;
        while !file.exists() {
            if Instant::now() >= until {
                return Err(LeaseError::Unreached(format!(
                    "{} does not appear",
                    file.display()
                )));
            }
            std::thread::sleep(POLL);
        }
        std::fs::File::open(&file)
            .map(drop)
            .map_err(|error| LeaseError::Unreached(format!("{}: {error}", file.display())))
    }

    /// Waits until the time is over, a limit is reached, or `stop` says so.
    pub fn wait(&mut self, stop: &mut dyn FnMut() -> bool) -> EndedBy {
        loop {
            if stop() {
                return EndedBy::Stopped;
            }
            let change = self.change();
            let size = change
                .file_here
                .metadata()
                .map_or(0, |metadata| metadata.len());
            if size >= change.bytes_max {
                return EndedBy::Size;
            }
            if free_bytes(&change.file_here).is_ok_and(|free| free < change.free_bytes_min) {
                return EndedBy::Space;
            }
            if self.watchdog.as_mut().is_none_or(Watchdog::has_ended) {
                return EndedBy::WatchdogDied;
            }
            let Some(left) = self
                .time_max
                .checked_sub(self.begin.elapsed())
                .filter(|left| !left.is_zero())
            else {
                return EndedBy::Time;
            };
            std::thread::sleep(left.min(POLL));
        }
    }

    /// When the log went on.
    pub fn begin_us(&self) -> i64 {
        self.lease.taken_us
    }

    /// Whether slow statements, which the server writes into a table, go to its file for the time of the lease.
    pub fn diverts_slow_log(&self) -> bool {
        self.diverts_slow_log
    }

    /// Gives the lease back, reads the log, removes it. Tries until the server has its previous values again; `tell`
    /// is given a line every ten seconds of that.
    pub fn give_back<T>(
        mut self,
        tell: &mut dyn FnMut(&str),
        read: impl FnOnce(&Path) -> T,
    ) -> Result<(GiveBackEnd, T), String> {
        let text = |error: JournalError| error.to_string();
        let Some(locked) = self
            .journal
            .lock_record(&self.lease.id, None)
            .map_err(text)?
        else {
            return Err("the watchdog has already undone the lease: its log is gone".to_owned());
        };
        // Whoever was told to end does so within a second; who was not waits, since it is our change.
        let patience = match self.stop.load(Ordering::Relaxed) {
            true => Patience::within(STOPPED_PATIENCE),
            false => Patience::endless().or_until(&self.stop),
        };
        let control = self.control.take();
        let back = give_back_until_done(&self.lease, &self.login, control, &patience, tell);
        let file = self.change().file_here.clone();
        let back = match back {
            Err(why) if self.stop.load(Ordering::Relaxed) => {
                // The watchdog takes the lease over when our pipe to it ends.
                return Ok((GiveBackEnd::Left(why), read(&file)));
            }
            back => back?,
        };
        let answer = read(&file);
        if let Err(error) = remove_log(&file, &self.lease.id, self.lease.taken_us) {
            tell(&format!("cannot remove the log: {error}"));
        }
        locked.forget().map_err(text)?;
        if let Some(watchdog) = self.watchdog.take() {
            watchdog.dismiss();
        }
        Ok((back, answer))
    }

    /// After a failure to take it: the error that is told is that one.
    fn give_back_silently(mut self) {
        const PATIENCE: Duration = Duration::from_secs(10);
        let Ok(Some(locked)) = self.journal.lock_record(&self.lease.id, Some(PATIENCE)) else {
            return;
        };
        let back = give_back_until_done(
            &self.lease,
            &self.login,
            self.control.take(),
            &Patience::within(PATIENCE),
            &mut |_| {},
        );
        if back.is_ok()
            && remove_log(
                &self.change().file_here,
                &self.lease.id,
                self.lease.taken_us,
            )
            .is_ok()
        {
            let forgotten = locked.forget();
            if let Some(watchdog) = self.watchdog.take().filter(|_| forgotten.is_ok()) {
                watchdog.dismiss();
            }
        }
    }
}

/// Where the log goes; the reasons for which it can go nowhere.
fn place(
    session: &mut Session,
    plan: &Plan,
    previous: &Values,
    id: &str,
) -> Result<LogDirectory, LeaseError> {
    let places = log_directories(session, plan.server.process)?;
    if previous.writes_file() {
        return Err(LeaseError::AlreadyOn(path_here(previous, &places)));
    }
    if previous.general_log_file.contains('\u{fffd}') {
        return Err(LeaseError::Other(
            "general_log_file is not UTF-8, so it could not be restored".to_owned(),
        ));
    }
    let mut why = "it names no directory".to_owned();
    let needed = plan.bytes_max.saturating_add(plan.free_bytes_min);
    let mut no_space = None;
    for place in places {
        match free_bytes(&place.here) {
            Err(error) => why = format!("{}: {error}", place.here.display()),
            Ok(free) if free < needed => {
                no_space.get_or_insert(LeaseError::NoSpace {
                    place: place.here,
                    free_mib: free >> 20,
                    needed_mib: needed.div_ceil(1 << 20),
                });
            }
            Ok(_) if place.here.join(log_name(id)).exists() => {
                why = "the file already exists".to_owned()
            }
            Ok(_) => return Ok(place),
        }
    }
    Err(no_space.unwrap_or(LeaseError::Unreached(why)))
}

fn slow_log_is_on(session: &mut Session) -> Result<bool, ServerError> {
    let (rows, _) = session.rows("SELECT @@GLOBAL.slow_query_log", 1)?;
    Ok(rows.first().is_some_and(|row| row.column(0) == "1"))
}

/// The general log's file as it is reached from here.
fn path_here(values: &Values, places: &[LogDirectory]) -> PathBuf {
    let file = Path::new(&values.general_log_file);
    let Some(datadir) = places.first() else {
        return file.to_owned();
    };
    if file.is_relative() {
        // A name without a directory is in the data directory.
        return datadir.here.join(file);
    }
    let depth = datadir.there.components().count().saturating_sub(1);
    let root = datadir
        .here
        .ancestors()
        .nth(depth)
        .unwrap_or(Path::new("/"));
    root.join(file.strip_prefix("/").unwrap_or(file))
}

fn no_privilege(session: &mut Session, error: &ServerError) -> LeaseError {
    let first = |session: &mut Session, question: &str| {
        let rows = session.rows(question, 1);
        rows.ok()
            .and_then(|(rows, _)| rows.first().map(|row| row.column(0).to_owned()))
    };
    let version = first(session, "SELECT @@version").unwrap_or_default();
    let account = first(session, "SELECT CURRENT_USER()").unwrap_or_default();
    let (user, host) = account.rsplit_once('@').unwrap_or((&account, "%"));
    let major = version
        .split('.')
        .next()
        .and_then(|major| major.parse::<u32>().ok());
    let is_dynamic = !version.contains("MariaDB") && major.is_some_and(|major| major >= 8);
    let privilege = if is_dynamic {
        "SYSTEM_VARIABLES_ADMIN"
    } else {
        "SUPER"
    };
    LeaseError::NoPrivilege {
        error: error.to_string(),
        grant: format!("GRANT {privilege} ON *.* TO '{user}'@'{host}'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_open_log_is_found_in_containers_too() {
        let place = |there: &str, here: &str| LogDirectory {
            there: there.into(),
            here: here.into(),
        };
        let on = |file: &str| Values {
            general_log: true,
            log_output: "FILE".to_owned(),
            general_log_file: file.to_owned(),
        };
        let same = [place("/var/lib/mysql/", "/var/lib/mysql/")];
        assert_eq!(
            path_here(&on("h.log"), &same),
            Path::new("/var/lib/mysql/h.log")
        );
        assert_eq!(path_here(&on("/log/h.log"), &same), Path::new("/log/h.log"));
        let other = [place("/var/lib/mysql", "/proc/7/root/var/lib/mysql")];
        assert_eq!(
            path_here(&on("h.log"), &other),
            Path::new("/proc/7/root/var/lib/mysql/h.log")
        );
        assert_eq!(
            path_here(&on("/log/h.log"), &other),
            Path::new("/proc/7/root/log/h.log")
        );
        assert_eq!(path_here(&on("/log/h.log"), &[]), Path::new("/log/h.log"));
    }
}
