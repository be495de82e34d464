#![allow(
    unsafe_code,
    reason = "system calls that no crate here covers, and memory shared with the kernel"
)]

use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

use super::block::STATUS_AT;
use super::error::{CaptureError, system};
use super::filter::FilterLine;

// include/uapi/linux/if_packet.h
const PACKET_RX_RING: i32 = 5;
const PACKET_STATISTICS: i32 = 6;
const PACKET_VERSION: i32 = 10;
const PACKET_IGNORE_OUTGOING: i32 = 23;
const TPACKET_V3: i32 = 2;
const TP_STATUS_KERNEL: u32 = 0;
const TP_STATUS_USER: u32 = 1;
const ETH_P_ALL: u16 = 3;

/// `struct tpacket_req3`.
#[repr(C)]
struct RingRequest {
    block_bytes: u32,
    blocks: u32,
    frame_bytes: u32,
    frames: u32,
    block_timeout_ms: u32,
    private_bytes: u32,
    features: u32,
}

/// `struct tpacket_stats_v3`.
#[repr(C)]
#[derive(Default)]
struct Statistics {
    packets: u32,
    drops: u32,
    freezes: u32,
}

/// The smallest frame that the kernel divides a block into; blocks of this version hold frames of any size.
const FRAME_BYTES: u32 = 2048;

/// A packet socket and its ring.
pub(super) struct Ring {
    socket: OwnedFd,
    memory: NonNull<u8>,
    block_bytes: usize,
    blocks: usize,
    /// The block to read next.
    next: usize,
}

// SAFETY: the mapping belongs to this value alone and is not bound to a thread; the kernel's side of it is the same for
// every thread of the process.
unsafe impl Send for Ring {}

/// Room of a ring.
#[derive(Debug, Clone, Copy)]
pub(super) struct Room {
    pub(super) block_bytes: usize,
    pub(super) blocks: usize,
    /// A block that is not full is handed over after this time.
    pub(super) block_timeout: Duration,
}

/// `device`: the number of the only one to listen to, 0 for all.
pub(super) fn open(
    filter: &[FilterLine],
    room: Room,
    device: u32,
    ignore_outgoing: bool,
) -> Result<Ring, CaptureError> {
    let socket = socket()?;
    // Without a protocol the socket hears nothing until it is bound, so that nothing comes past the filter.
    attach(&socket, filter)?;
    set(
        &socket,
        PACKET_VERSION,
        &TPACKET_V3,
        "choosing the ring's version",
    )?;
    if ignore_outgoing {
        // Since Linux 4.20; before, the filter does it alone.
        let _ = set(
            &socket,
            PACKET_IGNORE_OUTGOING,
            &1_i32,
            "leaving out sent packets",
        );
    }
    let request = RingRequest {
        block_bytes: room.block_bytes as u32,
        blocks: room.blocks as u32,
        frame_bytes: FRAME_BYTES,
        frames: (room.block_bytes * room.blocks) as u32 / FRAME_BYTES,
        block_timeout_ms: room.block_timeout.as_millis() as u32,
        private_bytes: 0,
        features: 0,
    };
    set(
        &socket,
        PACKET_RX_RING,
        &request,
        "making the ring of packets",
    )?;
    let memory = map(&socket, room.block_bytes * room.blocks)?;
    let ring = Ring {
        socket,
        memory,
        block_bytes: room.block_bytes,
        blocks: room.blocks,
        next: 0,
    };
    bind(&ring.socket, device)?;
    Ok(ring)
}

fn socket() -> Result<OwnedFd, CaptureError> {
    // SAFETY: the call takes no pointers; its result is checked.
    let fd = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(system("opening a packet socket")(io::Error::last_os_error()));
    }
    // SAFETY: the descriptor was just made and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn attach(socket: &OwnedFd, filter: &[FilterLine]) -> Result<(), CaptureError> {
    let mut lines: Vec<libc::sock_filter> = filter
        .iter()
        .map(|line| libc::sock_filter {
            code: line.code,
            jt: line.if_true,
            jf: line.if_false,
            k: line.k,
        })
        .collect();
    let program = libc::sock_fprog {
        len: lines.len() as u16,
        filter: lines.as_mut_ptr(),
    };
    set_at(
        socket,
        (libc::SOL_SOCKET, libc::SO_ATTACH_FILTER),
        &program,
        "attaching the filter of packets",
    )
}

fn set<T>(socket: &OwnedFd, name: i32, value: &T, what: &'static str) -> Result<(), CaptureError> {
    set_at(socket, (libc::SOL_PACKET, name), value, what)
}

fn set_at<T>(
    socket: &OwnedFd,
    (level, name): (i32, i32),
    value: &T,
    what: &'static str,
) -> Result<(), CaptureError> {
    // SAFETY: the kernel reads as many bytes as the value has, and what it points to (the filter's lines) lives longer
    // than the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            std::ptr::from_ref(value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(system(what)(io::Error::last_os_error()))
    }
}

fn map(socket: &OwnedFd, bytes: usize) -> Result<NonNull<u8>, CaptureError> {
    // SAFETY: a new mapping at an address of the kernel's choice replaces nothing; the result is checked below.
    let address = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_SHARED,
            socket.as_raw_fd(),
            0,
        )
    };
    let failed = || system("mapping the ring of packets")(io::Error::last_os_error());
    if address == libc::MAP_FAILED {
        return Err(failed());
    }
    NonNull::new(address.cast()).ok_or_else(failed)
}

fn bind(socket: &OwnedFd, device: u32) -> Result<(), CaptureError> {
    // SAFETY: all fields of the structure are numbers, for which zero is a value.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = ETH_P_ALL.to_be();
    address.sll_ifindex = device as i32;
    // SAFETY: address and length are those of the structure above.
    let result = unsafe {
        libc::bind(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            size_of::<libc::sockaddr_ll>() as libc::socklen_t,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(system("listening to the network devices")(
            io::Error::last_os_error(),
        ))
    }
}

/// The loopback device's number.
pub(super) fn loopback() -> Option<u32> {
    // SAFETY: the name is a string with its zero.
    let number = unsafe { libc::if_nametoindex(c"lo".as_ptr()) };
    (number != 0).then_some(number)
}

impl Ring {
    /// Waits until a block is there: true; or for `timeout`: false.
    pub(super) fn wait(&self, timeout: Duration) -> Result<bool, CaptureError> {
        if self.status().load(Ordering::Acquire) & TP_STATUS_USER != 0 {
            return Ok(true);
        }
        let timeout = rustix::time::Timespec {
            tv_sec: timeout.as_secs().min(3600) as i64,
            tv_nsec: i64::from(timeout.subsec_nanos()),
        };
        let mut wanted = [PollFd::from_borrowed_fd(self.socket.as_fd(), PollFlags::IN)];
        match poll(&mut wanted, Some(&timeout)) {
            Ok(ready) => {
                if wanted
                    .iter()
                    .any(|one| one.revents().contains(PollFlags::ERR))
                {
                    // A device went away; the error is told once and packets of the others go on.
                    let _ = rustix::net::sockopt::socket_error(&self.socket);
                }
                Ok(ready > 0)
            }
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(system("waiting for packets")(error.into())),
        }
    }

    /// Gives the next block to `each` and its room back to the kernel; false when none is there.
    pub(super) fn take(&mut self, each: &mut dyn FnMut(&[u8])) -> bool {
        // Acquire: the block is filled before its status is (net/packet/af_packet.c, `prb_flush_block`).
        if self.status().load(Ordering::Acquire) & TP_STATUS_USER == 0 {
            return false;
        }
        // SAFETY: the block lies within the mapping, and until its status is given back the kernel does not write it.
        let block = unsafe {
            std::slice::from_raw_parts(
                self.memory.as_ptr().add(self.next * self.block_bytes),
                self.block_bytes,
            )
        };
        each(block);
        // Release: the block is read before its room is free.
        self.status().store(TP_STATUS_KERNEL, Ordering::Release);
        self.next = (self.next + 1) % self.blocks;
        true
    }

    fn status(&self) -> &AtomicU32 {
        // SAFETY: the field is inside the mapping, aligned to 4 (blocks are pages), and written by the kernel and by us
        // as a whole.
        unsafe {
            AtomicU32::from_ptr(
                self.memory
                    .as_ptr()
                    .add(self.next * self.block_bytes + STATUS_AT)
                    .cast(),
            )
        }
    }

    /// Packets that passed the filter and those of them that found no room, since the last time.
    pub(super) fn statistics(&self) -> Result<(u64, u64), CaptureError> {
        let mut statistics = Statistics::default();
        let mut length = size_of::<Statistics>() as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes, which the structure has.
        let result = unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                PACKET_STATISTICS,
                (&raw mut statistics).cast(),
                &raw mut length,
            )
        };
        if result == 0 {
            Ok((statistics.packets.into(), statistics.drops.into()))
        } else {
            Err(system("counting packets")(io::Error::last_os_error()))
        }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: address and length are those of the mapping made in `map`, and no slice of it outlives `self`.
        unsafe {
            libc::munmap(self.memory.as_ptr().cast(), self.block_bytes * self.blocks);
        }
    }
}
