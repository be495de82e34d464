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
        // Where it is the only one, it is the server's own: a second server of a host may have any.
        let has_usual = (process.tcp_ports.iter()).any(|(_, port)| !OTHER_PROTOCOLS.contains(port));
        for (address, port) in &process.tcp_ports {
            if has_usual && OTHER_PROTOCOLS.contains(port) {
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

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;
    use crate::target_process::tests::process;

    #[test]
    fn a_port_of_another_protocol_is_left_out_beside_the_server_s_own() {
        let ports = |ports: &[u16]| {
            let mut server = process(1, "/s", "/s", 0);
            server.tcp_ports = ports
                .iter()
                .map(|port| (IpAddr::V4(Ipv4Addr::LOCALHOST), *port))
                .collect();
            PacketOptions::of_process(&server).map(|options| options.ports)
        };
        assert_eq!(ports(&[3306, 33060]), Some(vec![3306]));
        // A second server of a host may have any port.
        assert_eq!(ports(&[33061]), Some(vec![33061]));
        assert_eq!(ports(&[]), None);
    }
}
