//! A question to a server by the first way that lets us in.

use std::time::Duration;

use model::{Absent, Reason};
use recorder::Target;
use server::{Deadlines, ServerError, Session};

/// How long a server has to let us in, and to answer each question.
const PATIENCE: Duration = Duration::from_secs(4);

/// The answer, or why there is none.
pub(crate) fn ask<T>(
    target: &Target,
    question: impl FnOnce(&mut Session) -> Result<T, ServerError>,
) -> Result<T, Absent> {
    const WHAT: &str = "the server";
    let mut last = Absent::new(
        WHAT,
        Reason::NoConnection,
        "the server's socket and port are unknown",
    );
    let deadlines = Deadlines {
        connect: PATIENCE,
        answer: PATIENCE,
    };
    for address in target.candidate_addresses() {
        match Session::connect(&address, &target.login, deadlines) {
            Ok(mut session) => {
                return question(&mut session).map_err(|error| error.absent(WHAT));
            }
            Err(error) => {
                let absent = error.absent(WHAT);
                last = Absent::new(WHAT, absent.reason, format!("{address}: {}", absent.detail));
            }
        }
    }
    Err(last)
}
