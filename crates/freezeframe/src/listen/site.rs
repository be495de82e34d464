//! What is served at an address: requests in, answers out.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::Request;

/// Where an answer that takes longer will be.
pub(crate) type Slot = Arc<OnceLock<Arc<[u8]>>>;

/// The bytes of an answer, or where they will be.
pub(crate) enum Reply {
    Now(Arc<[u8]>),
    Later(Slot),
}

/// What clients may take.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Connections at a time.
    pub(crate) connections: usize,
    /// How long an answer may be in the making.
    pub(crate) making: Duration,
    /// How long a client may take to read its answer.
    pub(crate) answering: Duration,
    /// Stack of the thread that answers, bytes.
    pub(crate) stack_bytes: usize,
    /// Bytes of answers that wait for their readers, all together.
    pub(crate) unsent_bytes: usize,
}

/// What is served. All of it is called on the one thread that answers, and may not wait.
pub(crate) trait Site: Send {
    /// What its clients may take.
    fn limits(&self) -> Limits;

    /// Whatever is ready is looked at from here on.
    fn turn(&mut self) {}

    /// The answer to a request that is whole and meant for us.
    fn answer(&mut self, request: &Request) -> Reply;
}
