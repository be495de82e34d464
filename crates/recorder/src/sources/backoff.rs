//! When the next attempt to connect may be made.

use std::time::{Duration, Instant};

use server::ServerError;

/// First and longest pause between attempts to connect.
const BACKOFF_FIRST: Duration = Duration::from_millis(500);
const BACKOFF_MAX: Duration = Duration::from_secs(8);

/// The longest pause where the server does not answer: each attempt leaves a connection in the accept queue of a frozen
/// server, where clients need the room.
const BACKOFF_SILENT_MAX: Duration = Duration::from_secs(30);

/// Pause after a refused login: each attempt is a line in the server's error log.
const BACKOFF_DENIED: Duration = Duration::from_secs(60);

/// When the next attempt to connect may be made.
pub(crate) struct Backoff {
    pause: Duration,
    next: Option<Instant>,
    last_error: Option<ServerError>,
}

impl Backoff {
    pub(crate) fn new() -> Self {
        Self {
            pause: BACKOFF_FIRST,
            next: None,
            last_error: None,
        }
    }

    /// The error that is waited out, while it is.
    pub(crate) fn waiting(&self) -> Option<&ServerError> {
        let next = self.next?;
        (Instant::now() < next)
            .then_some(self.last_error.as_ref())
            .flatten()
    }

    pub(crate) fn failed(&mut self, error: &ServerError) {
        let pause = match error.outcome {
            model::ProbeOutcome::AccessDenied => BACKOFF_DENIED,
            _ => self.pause,
        };
        self.next = Some(Instant::now() + pause);
        let longest = match error.outcome {
            model::ProbeOutcome::TimedOut => BACKOFF_SILENT_MAX,
            _ => BACKOFF_MAX,
        };
        self.pause = (self.pause * 2).min(longest);
        self.last_error = Some(error.clone());
    }

    pub(crate) fn succeeded(&mut self) {
        *self = Self::new();
    }
}
