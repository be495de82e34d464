//! Somebody wants an incident now, stall or not: a signal, or `freezeframe capture`.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};

use model::Millis;

/// How long such an incident is when nobody says, milliseconds: what runs once in ten seconds comes
/// twice in it.
pub const REQUESTED_MS: Millis = 30_000;

/// Requests that may wait for the recorder's next beat: nobody needs more.
const WAITING_MAX: usize = 16;

/// What becomes of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapturePromise {
    /// Label of the server.
    pub label: String,
    /// Name of the incident: its file is `ID.frame` in the recorder's directory.
    pub id: String,
    /// How long from now it goes on, milliseconds: less than was asked for when an incident may not
    /// be so long.
    pub for_ms: Millis,
}

/// The requests that one recorder has not seen yet.
#[derive(Debug, Default)]
pub struct CaptureRequests(Mutex<Vec<CaptureRequest>>);

#[derive(Debug)]
pub(crate) struct CaptureRequest {
    pub(crate) for_ms: Millis,
    pub(crate) answer: Sender<CapturePromise>,
}

impl CaptureRequests {
    /// Asks for an incident of so long from now on. The answer comes at the recorder's next beat;
    /// never, where the recorder ends first or has too many requests already.
    pub fn ask(&self, for_ms: Millis) -> Receiver<CapturePromise> {
        let (answer, promised) = channel();
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() < WAITING_MAX {
            waiting.push(CaptureRequest { for_ms, answer });
        }
        promised
    }

    pub(crate) fn take(&self) -> Vec<CaptureRequest> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
