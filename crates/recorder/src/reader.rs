//! How a source is read, and on which thread.

use model::{Absent, Millis, Sample, SourceData};

use crate::context::Context;

/// What a run of a source brings.
pub(crate) type Outcome = Result<SourceData, Absent>;

/// How a source is read. Those with the same state share a thread.
pub(crate) struct Reader<S> {
    /// Name of its row in [`model::SOURCES`].
    pub(crate) source: &'static str,
    pub(crate) signals: &'static [Signals],
    pub(crate) read: fn(&mut S) -> Outcome,
}

/// Signals that a source brings, as triggers and documents know them.
#[derive(Debug)]
pub struct Signals {
    /// Their names. `*` stands for what the kernel or the server names: a counter of theirs, a disk, a thread's name.
    pub names: &'static [&'static str],
    /// Counter (c) or gauge (g), with the unit where the name does not say it.
    pub form: &'static str,
    /// What they are.
    pub says: &'static str,
}

pub(crate) const fn signals(
    names: &'static [&'static str],
    form: &'static str,
    says: &'static str,
) -> Signals {
    Signals { names, form, says }
}

/// What the sources of one thread remember between readings. Sources that can block for the same reason share it, so that
/// none of them holds up another kind.
pub(crate) trait State: Send + 'static {
    /// The thread's name.
    const THREAD: &'static str;

    /// Its readings are a little after the beat, each time at another moment.
    const IS_SCATTERED: bool = false;

    fn new(context: &Context) -> Self;

    /// Whether a sample is as usual, so that the recorder need not wake up for it.
    fn can_wait(_sample: &Sample) -> bool {
        false
    }

    /// Before the sources are looked through.
    fn begin_turn(&mut self) {}

    /// When one is wanted next before its time, as far as that is known now.
    fn wanted_at(&self) -> Option<Millis> {
        None
    }

    /// Whether a source is wanted before its time.
    fn wants_now(&self, _source: &str) -> bool {
        false
    }
}
