use kernel::procfs::{task_stat, task_status};
use model::{Absent, Millis, Reading, Reason, Unit};

use super::host::HostState;
use super::{Outcome, Reader, absent, readings, signals};

const STAT_BYTES_MAX: usize = 4096;

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

/// What the recorder itself costs, so that nobody has to take its word.
fn own(state: &mut HostState) -> Outcome {
    let bytes = kernel::read::whole(&state.proc.file("self/stat"), STAT_BYTES_MAX)
        .map_err(|error| absent("own", &error))?;
    let stat = task_stat::parse(&bytes)
        .ok_or_else(|| Absent::new("own", Reason::Failed, "/proc/self/stat cannot be read"))?;
    let status = task_status::read(&state.proc.file("self/status"))
        .map_err(|error| absent("own", &error))?;
    let ticks = (stat.utime_ticks + stat.stime_ticks) as f64;
    let mut out = vec![
        Reading::counter("recorder.cpu_ticks", Unit::Ticks, ticks),
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
        status
            .vm_rss_kib
            .map(|kib| Reading::gauge("recorder.resident_bytes", Unit::Bytes, (kib * 1024) as f64)),
    );
    Ok(readings(out))
}
