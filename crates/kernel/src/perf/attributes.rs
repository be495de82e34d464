use perf_event_open_sys::bindings::{self, perf_event_attr};

use super::record::SampleLayout;
use super::registers;

const NANOSECONDS_A_SECOND: u64 = 1_000_000_000;

/// What makes the samples come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clock {
    /// The processor's cycle counter, held at a frequency by the kernel.
    Cycles,
    /// A timer of the kernel.
    CpuClock,
}

impl Clock {
    /// In the words of perf-list(1).
    pub fn name(self) -> &'static str {
        match self {
            Self::Cycles => "cycles",
            Self::CpuClock => "cpu-clock",
        }
    }

    /// What `PERF_EVENT_IOC_PERIOD` takes for a rate: a frequency for an event opened by frequency, else a period.
    /// `cpu-clock` is opened by period, for the kernel makes one of a frequency in any case and forgets that it was one
    /// (`perf_swevent_init_hrtimer`).
    pub(super) fn period(self, hz: u32) -> u64 {
        match self {
            Self::Cycles => u64::from(hz),
            Self::CpuClock => NANOSECONDS_A_SECOND / u64::from(hz.max(1)),
        }
    }
}

/// What the events of a sampler have in common.
#[derive(Debug, Clone, Copy)]
pub(super) struct Recipe {
    pub(super) clock: Clock,
    pub(super) hz: u32,
    /// The kernel's side too.
    pub(super) kernel: bool,
    /// Bytes of user stack; 0 for none.
    pub(super) stack_bytes: u32,
    /// New threads of a thread are sampled too.
    pub(super) inherit: bool,
}

impl Recipe {
    pub(super) fn layout(&self) -> SampleLayout {
        SampleLayout {
            callchain: self.kernel,
            user_stack: self.stack_bytes > 0,
        }
    }

    /// A sampling event, disabled.
    pub(super) fn sampling(&self) -> perf_event_attr {
        let mut attr = self.common();
        match self.clock {
            Clock::Cycles => {
                attr.type_ = bindings::PERF_TYPE_HARDWARE;
                attr.config = u64::from(bindings::PERF_COUNT_HW_CPU_CYCLES);
                attr.set_freq(1);
                attr.__bindgen_anon_1.sample_freq = self.clock.period(self.hz);
            }
            Clock::CpuClock => {
                attr.type_ = bindings::PERF_TYPE_SOFTWARE;
                attr.config = u64::from(bindings::PERF_COUNT_SW_CPU_CLOCK);
                attr.__bindgen_anon_1.sample_period = self.clock.period(self.hz);
            }
        }
        let mut sample_type = bindings::PERF_SAMPLE_TID
            | bindings::PERF_SAMPLE_TIME
            | bindings::PERF_SAMPLE_CPU
            | bindings::PERF_SAMPLE_REGS_USER;
        attr.sample_regs_user = registers::mask();
        if self.stack_bytes > 0 {
            sample_type |= bindings::PERF_SAMPLE_STACK_USER;
            attr.sample_stack_user = self.stack_bytes;
        }
        if self.kernel {
            sample_type |= bindings::PERF_SAMPLE_CALLCHAIN;
            attr.set_exclude_callchain_user(1);
        }
        attr.sample_type = u64::from(sample_type);
        attr.read_format = u64::from(bindings::PERF_FORMAT_TOTAL_TIME_ENABLED);
        attr.set_disabled(1);
        attr.set_exclude_idle(1);
        attr.set_exclude_kernel(u64::from(!self.kernel));
        attr.set_exclude_hv(u64::from(!self.kernel));
        attr.set_inherit(u64::from(self.inherit));
        attr
    }

    /// An event that counts nothing and owns a ring into which others write. The kernel wants the same clock of all of
    /// them (`perf_event_set_output`).
    pub(super) fn ring_owner(&self) -> perf_event_attr {
        let mut attr = self.common();
        attr.type_ = bindings::PERF_TYPE_SOFTWARE;
        attr.config = u64::from(bindings::PERF_COUNT_SW_DUMMY);
        attr.set_exclude_kernel(1);
        attr.set_exclude_hv(1);
        attr
    }

    fn common(&self) -> perf_event_attr {
        let mut attr = perf_event_attr {
            size: size_of::<perf_event_attr>() as u32,
            clockid: libc::CLOCK_MONOTONIC,
            ..Default::default()
        };
        attr.set_use_clockid(1);
        // Readers wake at a number of bytes; 0 stands for half of the ring, whatever its size is at last
        // (`ring_buffer_init`, kernel/events/ring_buffer.c).
        attr.set_watermark(1);
        attr.__bindgen_anon_2.wakeup_watermark = 0;
        attr
    }
}
