//! Every statement on the wire, for some seconds from the trigger on. The server is asked once who is
//! connected, beside it: nothing here waits for its answer.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use model::{Absent, Fact, Millis, Reading, Reason, SignalKind, SourceData, Unit, Window};
use server::Deadlines;
use server::wire::{Connections, Statement, is_show_warnings, senders};

use super::{Outcome, Reader, State, signals};
use crate::clock::RecorderClock;
use crate::context::Context;
use crate::packets::{
    ANSWER, CaptureError, Captured, Collector, PacketCapture, PacketOptions, ask_open_connections,
};
use crate::queries::QueryWatch;
use crate::target::Shared;

/// How long one reading reads: nearly the time until the next.
const READ: Duration = Duration::from_millis(900);

/// How long what could not be captured is not tried again.
const REST_MS: Millis = 15_000;

/// How long the server may take to tell who is connected.
const DEADLINES: Deadlines = Deadlines {
    connect: Duration::from_secs(2),
    answer: Duration::from_secs(3),
};

/// What is missing, in [`Absent::what`].
const WHAT: &str = "packets";

/// The capture under way, and what was counted since the recording began.
pub(crate) struct PacketState {
    shared: Arc<Shared>,
    clock: RecorderClock,
    watch: Arc<QueryWatch>,
    stop: Arc<AtomicBool>,
    look: Option<Look>,
    /// What was refused is not tried again at once.
    rest_until: Millis,
    sums: Sums,
    /// Held by the thread that asks the server who is connected: one that hangs in a stall is not joined by others.
    asking: Arc<()>,
}

struct Look {
    capture: PacketCapture,
    collector: Collector,
    from: Millis,
    options: PacketOptions,
    /// Statements that were counted when it began.
    statements_before: u64,
    /// Bytes of this look that are in the sums already.
    counted: Connections,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    statements: u64,
    show_warnings: u64,
    errors: u64,
    bytes: u64,
    compressed_bytes: u64,
    lost: u64,
}

impl State for PacketState {
    const THREAD: &'static str = "ff-packets";

    fn new(context: &Context) -> Self {
        Self {
            shared: context.shared.clone(),
            clock: context.clock.clone(),
            watch: context.queries.clone(),
            stop: context.stop.clone(),
            look: None,
            rest_until: 0,
            sums: Sums::default(),
            asking: Arc::default(),
        }
    }

    /// Whether a look at the wire begins or goes on: between two readings the kernel's ring fills.
    fn wants_now(&self, _: &str) -> bool {
        let now = self.clock.now();
        self.look.is_some() || (self.watch.in_burst(now) && now >= self.rest_until)
    }
}

impl PacketState {
    fn begin(&self) -> Result<Look, Absent> {
        let process = self
            .shared
            .process()
            .ok_or_else(|| self.shared.no_process(WHAT))?;
        let options = PacketOptions::of_process(&process).ok_or_else(|| {
            let detail = "the server listens on no TCP port that is seen: clients of its unix socket have no packets";
            Absent::new(WHAT, Reason::Unsupported, detail)
        })?;
        let mut capture = PacketCapture::open(&options).map_err(|error| absent(&error))?;
        let address = self.shared.addresses().into_iter().next();
        if let Some(address) = address.filter(|_| Arc::strong_count(&self.asking) == 1) {
            let (login, asking) = (self.shared.login(), self.asking.clone());
            let open = ask_open_connections(&address, login, DEADLINES, asking, &self.shared.own);
            if let Some(open) = open {
                capture.ask(open, ANSWER);
            }
        }
        Ok(Look {
            capture,
            collector: Collector::default(),
            from: self.clock.now(),
            statements_before: self.sums.statements,
            options,
            counted: Connections::default(),
        })
    }

    fn end(&mut self, mut look: Look) -> Outcome {
        let (collector, sums) = (&mut look.collector, &mut self.sums);
        let captured = look
            .capture
            .finish(&mut |statement| count(sums, collector, statement))
            .map_err(|error| absent(&error))?;
        let before = look.counted;
        let readings = self.readings(before, captured.connections, Some(&captured));
        let blind = crate::packets::blind_spots(&look.options, &captured);
        let digest = look.collector.finish(&captured, blind);
        let senders = senders(&digest.classes);
        let to = self.clock.now();
        let from = look.from;
        self.watch.add(Window { from, to }, digest);
        Ok(SourceData {
            readings,
            facts: vec![Fact::new("packets.show_warnings.senders", senders)],
            ..SourceData::default()
        })
    }

    fn readings(
        &mut self,
        before: Connections,
        now: Connections,
        ended: Option<&Captured>,
    ) -> Vec<Reading> {
        let sums = &mut self.sums;
        sums.bytes += now.bytes.saturating_sub(before.bytes);
        sums.compressed_bytes += now.bytes_compressed.saturating_sub(before.bytes_compressed);
        sums.lost += ended.map_or(0, |captured| captured.lost);
        let counter = |name, unit, value: u64| Reading {
            name: std::borrow::Cow::Borrowed(name),
            unit,
            kind: SignalKind::Counter,
            value: value as f64,
        };
        let level = |name, value: u64| Reading::gauge(name, Unit::Count, value as f64);
        vec![
            counter("packets.statements", Unit::Count, sums.statements),
            counter("packets.show_warnings", Unit::Count, sums.show_warnings),
            counter("packets.errors", Unit::Count, sums.errors),
            counter("packets.bytes", Unit::Bytes, sums.bytes),
            counter(
                "packets.compressed_bytes",
                Unit::Bytes,
                sums.compressed_bytes,
            ),
            counter("packets.lost", Unit::Count, sums.lost),
            level("packets.connections", now.seen),
            level("packets.compressed_connections", now.compressed),
            level("packets.tls_connections", now.tls),
        ]
    }
}

#[rustfmt::skip]
pub(crate) static PACKETS: Reader<PacketState> = Reader {
    source: "packets",
    signals: &[
        signals(&["packets.statements", "packets.show_warnings", "packets.errors"], "c", "on the wire; answered with an error"),
        signals(&["packets.bytes", "packets.compressed_bytes", "packets.lost"], "c", "requests and answers; of compressed connections; packets without room"),
        signals(&["packets.connections", "packets.compressed_connections", "packets.tls_connections"], "g", "seen since this look began; TLS cannot be read"),
    ],
    read: packets,
};

/// A second of the wire while a burst is on; its end brings the digest.
fn packets(state: &mut PacketState) -> Outcome {
    if !state.watch.in_burst(state.clock.now()) {
        return match state.look.take() {
            Some(look) => state.end(look),
            None => Ok(SourceData::default()),
        };
    }
    let begins = state.look.is_none();
    let mut look = match state.look.take() {
        Some(look) => look,
        None => {
            state.rest_until = state.clock.now() + REST_MS;
            state.begin()?
        }
    };
    // The base that rates of the first second are reckoned from.
    let mut readings = Vec::new();
    if begins {
        let nothing = Connections::default();
        readings = state.readings(nothing, nothing, None);
        state.look = Some(look);
        return Ok(super::readings(readings));
    }
    let (collector, sums) = (&mut look.collector, &mut state.sums);
    look.capture
        .run(READ, &state.stop, &mut |statement| {
            count(sums, collector, statement)
        })
        .map_err(|error| absent(&error))?;
    let now = look.capture.connections();
    readings.extend(state.readings(look.counted, now, None));
    look.counted = now;
    if state.sums.statements > look.statements_before {
        state.watch.looking(state.clock.now());
    }
    state.look = Some(look);
    Ok(super::readings(readings))
}

fn count(sums: &mut Sums, collector: &mut Collector, statement: &Statement<'_>) {
    sums.statements += 1;
    sums.errors += u64::from(statement.error.is_some());
    sums.show_warnings += u64::from(is_show_warnings(statement.text));
    collector.take(statement);
}

fn absent(error: &CaptureError) -> Absent {
    let reason = match error {
        CaptureError::Refused(_) => Reason::Permission,
        CaptureError::NotInKernel(_) => Reason::Unsupported,
        CaptureError::Options(_) | CaptureError::System { .. } => Reason::Failed,
    };
    Absent::new(WHAT, reason, error.to_string())
}
