//! What the recorder itself costs.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use kernel::procfs::{task_stat, task_status};
use kernel::roots::ProcRoot;
use model::{Absent, Millis, Reading, Reason, Sample, Unit};

use super::host::HostState;
use super::{Outcome, Reader, State, absent, readings, signals};
use crate::context::Context;
use crate::worker::read_guarded;

const STAT_BYTES_MAX: usize = 4096;

/// What one recorder has read of the process is good for the others for so long. The kernel sums the processor time over
/// all threads, and with many servers there are many threads as well as many readers.
const FRESH: Duration = Duration::from_millis(500);

/// The process's own figures.
#[derive(Debug, Clone, Copy)]
struct Figures {
    ticks: f64,
    resident_kib: Option<u64>,
}

static FIGURES: Mutex<Option<(Instant, Figures)>> = Mutex::new(None);

/// The cadence of this source, as the table has it.
const CADENCE_MS: Millis = 1000;

#[rustfmt::skip]
pub(crate) static OWN: Reader<HostState> = Reader {
    source: "own",
    signals: &[
        signals(&["recorder.cpu_ticks"], "c", "the CPU time of the recorder"),
        signals(&["recorder.resident_bytes", "recorder.heap_bytes", "recorder.late_ms"], "g", "its memory, heap in use (to half a MiB a thread), delay of the reading"),
        signals(&["clock.wall_offset_ms"], "g, ms", "how far the wall clock moved"),
    ],
    read: own,
};

/// Reads it on the recorder's own thread: of a server on another host it is all that is read of this one. It waits for
/// nothing, and needs no thread to do so.
pub(crate) struct OwnReader {
    state: HostState,
    due: Millis,
}

impl OwnReader {
    /// Where the recorder reads it.
    pub(crate) fn start(context: &Context) -> Option<Self> {
        context.shared.is_elsewhere().then(|| Self {
            state: HostState::new(context),
            due: 0,
        })
    }

    /// What is read when it is due.
    pub(crate) fn next(&mut self, now: Millis) -> Option<Sample> {
        if now < self.due {
            return None;
        }
        self.due = (now / CADENCE_MS + 1) * CADENCE_MS;
        let begin = Instant::now();
        let outcome = read_guarded(OWN.source, || own(&mut self.state));
        Some(Sample {
            source: OWN.source,
            at: now,
            took_us: begin.elapsed().as_micros() as u64,
            outcome,
        })
    }
}

/// What the recorder itself costs, so that nobody has to take its word.
fn own(state: &mut HostState) -> Outcome {
    let figures = figures(&state.proc)?;
    let mut out = vec![
        Reading::counter("recorder.cpu_ticks", Unit::Ticks, figures.ticks),
        Reading::gauge(
            "recorder.heap_bytes",
            Unit::Bytes,
            kernel::heap::live_bytes() as f64,
        ),
        Reading::gauge(
            "clock.wall_offset_ms",
            Unit::Milliseconds,
            state.clock.wall_offset_ms() as f64,
        ),
    ];
    // How much later than its second this reading is: a pause of the whole machine shows here,
    // when everything else only shows a hole.
    let now = state.clock.now();
    if let Some(before) = state.own_before.replace(now) {
        let late = now.saturating_sub(before).saturating_sub(CADENCE_MS);
        out.push(Reading::gauge(
            "recorder.late_ms",
            Unit::Milliseconds,
            late as f64,
        ));
    }
    out.extend(
        figures
            .resident_kib
            .map(|kib| Reading::gauge("recorder.resident_bytes", Unit::Bytes, (kib * 1024) as f64)),
    );
    Ok(readings(out))
}

fn figures(proc: &ProcRoot) -> Result<Figures, Absent> {
    let mut last = FIGURES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((at, figures)) = *last
        && at.elapsed() < FRESH
    {
        return Ok(figures);
    }
    let bytes = kernel::read::whole(&proc.file("self/stat"), STAT_BYTES_MAX)
        .map_err(|error| absent("own", &error))?;
    let stat = task_stat::parse(&bytes)
        .ok_or_else(|| Absent::new("own", Reason::Failed, "/proc/self/stat cannot be read"))?;
    let status =
        task_status::read(&proc.file("self/status")).map_err(|error| absent("own", &error))?;
    let figures = Figures {
        ticks: (stat.utime_ticks + stat.stime_ticks) as f64,
        resident_kib: status.vm_rss_kib,
    };
    *last = Some((Instant::now(), figures));
    Ok(figures)
}
