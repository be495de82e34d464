/// Most ports of one capture: a server listens on two or three.
pub const PORTS_MAX: usize = 8;

/// Which network devices are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Devices {
    /// All of them.
    #[default]
    All,
    /// The loopback device: enough for a server that listens on 127.0.0.1 or ::1 only, and cheaper, because the packets
    /// of other devices are not even filtered.
    Loopback,
}

/// What is captured, and into how much room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaptureOptions {
    /// The server's TCP ports, 1 to [`PORTS_MAX`].
    pub ports: Vec<u16>,
    /// Where.
    pub devices: Devices,
    /// Bytes of the ring, rounded down to whole blocks, at least two.
    pub ring_bytes: usize,
    /// Bytes of a packet to the server that are copied, its IP and TCP headers included.
    pub request_bytes: u32,
    /// Likewise of a packet from the server.
    pub response_bytes: u32,
}

impl CaptureOptions {
    /// The usual room for these ports: a ring of 8 MiB, requests whole (a packet may have 64 KiB by segmentation
    /// offload), and of each packet from the server enough for small answers.
    pub fn of_ports(ports: &[u16]) -> Self {
        Self {
            ports: ports.to_vec(),
            devices: Devices::All,
            ring_bytes: 8 << 20,
            request_bytes: 64 << 10,
            response_bytes: 640,
        }
    }
}
