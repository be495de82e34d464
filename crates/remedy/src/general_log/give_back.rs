//! One attempt to give a lease of the general log back.

use std::time::{Duration, Instant};

use server::{ServerError, Session};

use super::{GeneralLogChange, SERVER_LOCK, Values, is_our_log};

/// How long a connection that is ended may take to be gone, and the server's lock to be free.
const END_PATIENCE: Duration = Duration::from_secs(10);
const END_POLL: Duration = Duration::from_millis(5);

/// What became of a lease of the general log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GaveBack {
    /// The previous values are set; the server was asked for them afterwards.
    Back,
    /// Nothing of ours was set: it was not taken yet, is back already, or the server was restarted.
    NothingToDo,
    /// Somebody set another file meanwhile; what is set now is theirs.
    TakenOver {
        /// The file that is set now.
        file: String,
    },
}

/// Gives the lease back over this session; an error is a text, and another attempt may follow at any time.
pub(crate) fn give_back_once(
    session: &mut Session,
    change: &GeneralLogChange,
) -> Result<GaveBack, String> {
    attempt(session, change).map_err(|error| error.to_string())?
}

fn attempt(
    session: &mut Session,
    change: &GeneralLogChange,
) -> Result<Result<GaveBack, String>, ServerError> {
    prepare(session)?;
    if let Err(why) = become_only(session, change)? {
        return Ok(Err(why));
    }
    let now = Values::read(session)?;
    if now.general_log_file != change.ours.general_log_file {
        // Of a later lease, that another freezeframe has taken since.
        let is_previous = now.general_log_file == change.previous.general_log_file
            || is_our_log(&now.general_log_file);
        return Ok(Ok(if is_previous {
            GaveBack::NothingToDo
        } else {
            GaveBack::TakenOver {
                file: now.general_log_file,
            }
        }));
    }
    for statement in change.previous.giving_back() {
        session.execute(&statement)?;
    }
    let now = Values::read(session)?;
    if now != change.previous {
        return Ok(Err(format!(
            "the server has {now:?} after {:?} was set",
            change.previous
        )));
    }
    release(session)?;
    Ok(Ok(GaveBack::Back))
}

/// What every session that changes the log sets for itself: strings are as [`super::values::quoted`] writes them, and
/// its own statements stay out of the logs.
pub(super) fn prepare(session: &mut Session) -> Result<(), ServerError> {
    for statement in [
        "SET SESSION sql_mode = ''",
        "SET SESSION sql_log_off = 1",
        "SET SESSION long_query_time = 31536000",
    ] {
        match session.execute(statement) {
            Err(error) if error.is_connection_lost() => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

/// Takes the server's lock; a connection of a killed process that still has it is ended first, and what it had under
/// way is over when it is gone.
fn become_only(
    session: &mut Session,
    change: &GeneralLogChange,
) -> Result<Result<(), String>, ServerError> {
    let begin = Instant::now();
    loop {
        match holder(session)? {
            Some(holder) if holder == session.id() => return Ok(Ok(())),
            None if take_lock(session)? => return Ok(Ok(())),
            None => {}
            Some(holder) => {
                if holder != change.connection
                    && Values::read(session)?.general_log_file != change.ours.general_log_file
                {
                    // Another lease is in force, so ours cannot be.
                    return Ok(Ok(()));
                }
                match session.execute(&format!("KILL {holder}")) {
                    Err(error) if error.is_connection_lost() => return Err(error),
                    _ => {}
                }
            }
        }
        if begin.elapsed() > END_PATIENCE {
            return Ok(Err(format!(
                "connection {} was killed, but does not end",
                holder(session)?.unwrap_or_default()
            )));
        }
        std::thread::sleep(END_POLL);
    }
}

/// The connection that holds the server's lock.
fn holder(session: &mut Session) -> Result<Option<u64>, ServerError> {
    let (rows, _) = session.rows(&format!("SELECT IS_USED_LOCK('{SERVER_LOCK}')"), 1)?;
    Ok(rows.first().and_then(|row| row.column(0).parse().ok()))
}

/// Takes the server's lock when nobody has it; it goes with the connection.
pub(super) fn take_lock(session: &mut Session) -> Result<bool, ServerError> {
    let (rows, _) = session.rows(&format!("SELECT GET_LOCK('{SERVER_LOCK}', 0)"), 1)?;
    Ok(rows.first().is_some_and(|row| row.column(0) == "1"))
}

fn release(session: &mut Session) -> Result<(), ServerError> {
    session
        .rows(&format!("SELECT RELEASE_LOCK('{SERVER_LOCK}')"), 1)
        .map(drop)
}
