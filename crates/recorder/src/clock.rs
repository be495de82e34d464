//! The recorder's clock, which no change of the wall clock moves.

use model::{Clock, Millis};

/// The recorder's clock: milliseconds since it was made, by CLOCK_BOOTTIME. Changes of the wall
/// clock do not move it.
#[derive(Debug, Clone)]
pub(crate) struct RecorderClock {
    zero_ms: u64,
    clock: Clock,
}

impl RecorderClock {
    pub(crate) fn start() -> Self {
        let proc = kernel::roots::ProcRoot::default();
        Self {
            zero_ms: kernel::clock::boottime_ms(),
            clock: Clock {
                wall_at_zero_ms: kernel::clock::wall_ms(),
                boot_id: kernel::clock::boot_id(&proc).unwrap_or_default(),
            },
        }
    }

    pub(crate) fn now(&self) -> Millis {
        kernel::clock::boottime_ms().saturating_sub(self.zero_ms)
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.clock
    }

    /// How far the wall clock has moved against this one, milliseconds. Not zero: somebody set it.
    pub(crate) fn wall_offset_ms(&self) -> i64 {
        kernel::clock::wall_ms() - self.clock.wall_ms(self.now())
    }
}
