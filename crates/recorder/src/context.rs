//! What the threads of all sources share.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::mpsc::SyncSender;

use model::Sample;
use server::{Deadlines, Waits};

use crate::clock::RecorderClock;
use crate::in_flight::InFlight;
use crate::queries::QueryWatch;
use crate::quiet::Quiet;
use crate::stacks::StackWatch;
use crate::target::Shared;
use crate::wake::Wake;

#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) clock: RecorderClock,
    pub(crate) shared: Arc<Shared>,
    /// How long the server may take.
    pub(crate) deadlines: Deadlines,
    pub(crate) stacks: Arc<StackWatch>,
    pub(crate) queries: Arc<QueryWatch>,
    pub(crate) in_flight: Arc<InFlight>,
    pub(crate) samples: SyncSender<Sample>,
    pub(crate) lost: Arc<AtomicU64>,
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) wake: Arc<Wake>,
    pub(crate) quiet: Arc<Quiet>,
}

impl Context {
    /// What ends a wait for the server: its deadline, and the end of the recording. A server that never answers would
    /// keep a thread for an hour otherwise, while others are recorded.
    pub(crate) fn waits(&self) -> Waits {
        self.deadlines.or_until(&self.stop)
    }
}
