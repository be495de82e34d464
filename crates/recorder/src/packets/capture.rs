//! One capture of packets, from its socket to the decoder.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use kernel::clock;
use kernel::packets::{Capture, CaptureError, RawPacket};
use server::wire::{Captured, Connections, Decoder, PriorConnection, Segment, Statement};

use super::options::PacketOptions;

/// How often the stop flag is looked at when there are no packets.
const STOP_POLL: Duration = Duration::from_millis(100);

/// The kernel hands a group of packets over after 50 ms, later on a machine that is busy.
const LAST_GROUP: Duration = Duration::from_millis(250);

/// A capture under way, on the thread that runs it.
pub struct PacketCapture {
    capture: Capture,
    decoder: Decoder,
    ports: Vec<u16>,
    /// Brings what the server tells of the connections that were open before.
    open: Option<Receiver<Vec<PriorConnection>>>,
    from_us: i64,
    /// When the latest packet was seen.
    latest_us: i64,
    cpu: Duration,
}

impl PacketCapture {
    /// Begins: the kernel keeps packets from now on, as many as its ring holds.
    pub fn open(options: &PacketOptions) -> Result<Self, CaptureError> {
        Ok(Self {
            capture: Capture::open(&options.capture_options())?,
            decoder: Decoder::new(),
            ports: options.ports.clone(),
            open: None,
            from_us: clock::wall_ms().saturating_mul(1000),
            latest_us: 0,
            cpu: Duration::ZERO,
        })
    }

    /// Waits a little for what the server tells of the connections that are open, and takes it later where it takes longer:
    /// meanwhile the kernel's ring fills.
    pub fn ask(&mut self, open: Receiver<Vec<PriorConnection>>, wait: Duration) {
        match open.recv_timeout(wait) {
            Ok(open) => self.decoder.know(open),
            Err(_) => self.open = Some(open),
        }
    }

    fn take_answer(&mut self) {
        if let Some(open) = self.open.as_ref().and_then(|open| open.try_recv().ok()) {
            self.decoder.know(open);
            self.open = None;
        }
    }

    /// The connections met so far.
    pub fn connections(&self) -> Connections {
        self.decoder.connections()
    }

    /// Reads for a while, or until `stop` is set.
    pub fn run(
        &mut self,
        duration: Duration,
        stop: &AtomicBool,
        each: &mut dyn FnMut(&Statement<'_>),
    ) -> Result<(), CaptureError> {
        let (begin, cpu) = (Instant::now(), clock::thread_cpu());
        loop {
            let left = duration.saturating_sub(begin.elapsed());
            if left.is_zero() || stop.load(Ordering::Relaxed) {
                break;
            }
            self.take_answer();
            if self.capture.wait(left.min(STOP_POLL))? {
                self.drain(each);
            }
        }
        self.cpu += clock::thread_cpu().saturating_sub(cpu);
        Ok(())
    }

    fn drain(&mut self, each: &mut dyn FnMut(&Statement<'_>)) -> bool {
        let (decoder, ports, latest) = (&mut self.decoder, &self.ports, &mut self.latest_us);
        let own = server::own_clients();
        self.capture.drain(&mut |packet| {
            let segment = segment(packet, ports);
            *latest = segment.at_us;
            decoder.segment(&segment, &mut |statement| of_others(&own, statement, each));
        })
    }

    /// Ends it, and hands over what is still in the ring and what waits for its answer.
    pub fn finish(
        mut self,
        each: &mut dyn FnMut(&Statement<'_>),
    ) -> Result<Captured, CaptureError> {
        let cpu = clock::thread_cpu();
        let to_us = clock::wall_ms().saturating_mul(1000);
        let begin = Instant::now();
        while self.latest_us < to_us {
            let left = LAST_GROUP.saturating_sub(begin.elapsed());
            if left.is_zero() || !self.capture.wait(left)? {
                break;
            }
            self.drain(each);
        }
        let counted = self.capture.counted()?;
        let own = server::own_clients();
        self.decoder
            .finish(&mut |statement| of_others(&own, statement, each));
        self.cpu += clock::thread_cpu().saturating_sub(cpu);
        Ok(Captured {
            from_us: self.from_us,
            to_us,
            packets: counted.packets,
            lost: counted.lost + counted.malformed,
            connections: self.decoder.connections(),
            cpu: self.cpu,
        })
    }
}

/// Hands over what this program did not ask itself.
fn of_others(
    own: &HashSet<SocketAddr>,
    statement: &Statement<'_>,
    each: &mut dyn FnMut(&Statement<'_>),
) {
    if !own.contains(&statement.client) {
        each(statement);
    }
}

fn segment<'a>(packet: &RawPacket<'a>, ports: &[u16]) -> Segment<'a> {
    let tcp = packet.tcp;
    let to_server = ports.contains(&tcp.to.port());
    let (client, server) = if to_server {
        (tcp.from, tcp.to)
    } else {
        (tcp.to, tcp.from)
    };
    Segment {
        at_us: i64::try_from(packet.at.as_micros()).unwrap_or(i64::MAX),
        client,
        server,
        to_server,
        sequence: tcp.sequence,
        acknowledged: tcp.flags.ack.then_some(tcp.acknowledged),
        syn: tcp.flags.syn,
        fin: tcp.flags.fin,
        rst: tcp.flags.rst,
        payload: tcp.payload,
        length: tcp.payload_length,
    }
}
