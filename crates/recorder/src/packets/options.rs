//! Which packets are captured: the ports of a server, and how much of each packet.

use std::net::IpAddr;

use kernel::packets::{CaptureOptions, Devices, PORTS_MAX};
use kernel::servers::ServerProcess;

/// Ports of other protocols that a server opens by default: the X protocol, and the group communication of replication.
const OTHER_PROTOCOLS: [u16; 2] = [33060, 33061];

/// Bytes of the ring: what the recorder may take.
const RING_BYTES: usize = 8 << 20;

/// What is captured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PacketOptions {
    /// The server's ports.
    pub ports: Vec<u16>,
    /// The server listens on loopback addresses only.
    pub loopback_only: bool,
    /// Bytes of the ring shared with the kernel.
    pub ring_bytes: usize,
    /// The server itself, to count who is connected past its ports.
    pub process: Option<ServerProcess>,
}

impl PacketOptions {
    /// Of these ports, on all devices.
    pub fn of_ports(ports: &[u16]) -> Self {
        Self {
            ports: ports.to_vec(),
            loopback_only: false,
            ring_bytes: RING_BYTES,
            process: None,
        }
    }

    /// Of the ports that a server listens on; `None` when it listens on none.
    pub fn of_process(process: &ServerProcess) -> Option<Self> {
        let mut ports = Vec::new();
        let mut loopback_only = true;
        for (address, port) in &process.tcp_ports {
            if OTHER_PROTOCOLS.contains(port) {
                continue;
            }
            loopback_only &= is_loopback(*address);
            if !ports.contains(port) && ports.len() < PORTS_MAX {
                ports.push(*port);
            }
        }
        (!ports.is_empty()).then(|| Self {
            loopback_only,
            process: Some(process.clone()),
            ..Self::of_ports(&ports)
        })
    }

    pub(super) fn capture_options(&self) -> CaptureOptions {
        CaptureOptions {
            devices: if self.loopback_only {
                Devices::Loopback
            } else {
                Devices::All
            },
            ring_bytes: self.ring_bytes,
            ..CaptureOptions::of_ports(&self.ports)
        }
    }
}

fn is_loopback(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}
