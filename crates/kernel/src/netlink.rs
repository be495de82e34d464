//! One question to the kernel over netlink and all of its answers, within a deadline (netlink(7),
//! include/uapi/linux/netlink.h). Headers are in the machine's own byte order.

use rustix::io::{Errno, retry_on_intr};
use rustix::net::netlink::{SOCK_DIAG, SocketAddrNetlink};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, sendto, socket_with,
};
use std::time::{Duration, Instant};

const HEADER_BYTES: usize = 16;
/// The kernel fills datagrams of a dump up to the reader's buffer, at most 32 KiB (net/netlink/af_netlink.c,
/// `netlink_dump`).
const DATAGRAM_BYTES_MAX: usize = 32 << 10;
/// 128 MiB of answers: far more than any question of this crate has.
const DATAGRAMS_MAX: usize = 4096;

const NLM_F_REQUEST: u16 = 0x1;
const NLM_F_ACK: u16 = 0x4;
const NLM_F_DUMP: u16 = 0x300;
const NLMSG_NOOP: u16 = 1;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const NLMSG_OVERRUN: u16 = 4;

/// Why a question stayed without an answer.
#[derive(Debug, thiserror::Error)]
pub enum NetlinkError {
    /// A system call failed.
    #[error("netlink {call}: {source}")]
    Call {
        /// Which.
        call: &'static str,
        /// What it answered.
        source: Errno,
    },
    /// The kernel refused; `ENOENT` when it has no handler for the question.
    #[error("netlink answer: {0}")]
    Refused(Errno),
    /// No end of the answers in time.
    #[error("netlink: no answer within {} ms", .0.as_millis())]
    Late(Duration),
    /// An answer that is not in netlink's format, or does not fit the buffer.
    #[error("netlink: malformed answer")]
    Malformed,
    /// More answers than the reader takes.
    #[error("netlink: too many answers")]
    TooMany,
}

/// One message of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Message<'a> {
    /// An answer.
    Answer {
        /// The question's sequence number.
        sequence: u32,
        /// What follows the header.
        payload: &'a [u8],
    },
    /// The end of the answers, with an error number when they are not complete; 0 is success.
    End {
        /// The question's sequence number.
        sequence: u32,
        /// A positive `errno`, or 0.
        errno: i32,
    },
}

/// Every message of a datagram, up to the first malformed one.
pub fn messages(datagram: &[u8]) -> impl Iterator<Item = Result<Message<'_>, NetlinkError>> {
    let mut rest = datagram;
    std::iter::from_fn(move || {
        loop {
            if rest.is_empty() {
                return None;
            }
            match take_message(&mut rest) {
                Some(Some(message)) => return Some(Ok(message)),
                Some(None) => {}
                None => {
                    rest = &[];
                    return Some(Err(NetlinkError::Malformed));
                }
            }
        }
    })
}

/// `None` when malformed, `Some(None)` when there is nothing in the message.
fn take_message<'a>(rest: &mut &'a [u8]) -> Option<Option<Message<'a>>> {
    let length = usize::try_from(u32_at(rest, 0)?).ok()?;
    let kind = u16_at(rest, 4)?;
    let sequence = u32_at(rest, 8)?;
    let payload = rest.get(HEADER_BYTES..length)?;
    *rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    Some(match kind {
        NLMSG_NOOP => None,
        NLMSG_OVERRUN => return None,
        NLMSG_ERROR => Some(Message::End {
            sequence,
            errno: errno(u32_at(payload, 0)?)?,
        }),
        // The error number at the end of a dump came with kernel 4.12; before, it is 0.
        NLMSG_DONE => Some(Message::End {
            sequence,
            errno: errno(u32_at(payload, 0).unwrap_or(0))?,
        }),
        _ => Some(Message::Answer { sequence, payload }),
    })
}

/// Error numbers are sent negative and end at 4095 (include/linux/err.h, `MAX_ERRNO`).
fn errno(field: u32) -> Option<i32> {
    let errno = field.cast_signed().checked_neg()?;
    (0..=4095).contains(&errno).then_some(errno)
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let field = bytes.get(at..at.checked_add(2)?)?;
    Some(u16::from_ne_bytes(field.try_into().ok()?))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let field = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_ne_bytes(field.try_into().ok()?))
}

/// Asks the `NETLINK_SOCK_DIAG` family (sock_diag(7)) for a dump and hands every answer to `on_answer` until the
/// kernel ends it. Waits for answers for at most `timeout`. On a host's first question the kernel may load a module
/// (`tcp_diag`, `unix_diag`); where it may not, the answer is `ENOENT`.
pub fn dump_sockets(
    kind: u16,
    question: &[u8],
    timeout: Duration,
    mut on_answer: impl FnMut(&[u8]),
) -> Result<(), NetlinkError> {
    const SEQUENCE: u32 = 1;
    let start = Instant::now();
    let call = |call| move |source| NetlinkError::Call { call, source };

    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        Some(SOCK_DIAG),
    )
    .map_err(call("socket"))?;
    let request = request(kind, SEQUENCE, question).ok_or(NetlinkError::Malformed)?;
    let kernel = SocketAddrNetlink::new(0, 0);
    retry_on_intr(|| sendto(&socket, &request, SendFlags::empty(), &kernel))
        .map_err(call("send"))?;

    let mut buffer = vec![0; DATAGRAM_BYTES_MAX];
    for _ in 0..DATAGRAMS_MAX {
        let left = timeout.saturating_sub(start.elapsed());
        // A timeout of zero would mean "for ever".
        if left < Duration::from_micros(1) {
            return Err(NetlinkError::Late(timeout));
        }
        set_socket_timeout(&socket, Timeout::Recv, Some(left)).map_err(call("setsockopt"))?;
        let received = match recv(&socket, buffer.as_mut_slice(), RecvFlags::TRUNC) {
            Ok((_, received)) => received,
            Err(Errno::INTR) => continue,
            Err(Errno::AGAIN) => return Err(NetlinkError::Late(timeout)),
            Err(source) => return Err(call("recv")(source)),
        };
        // With MSG_TRUNC the length is the datagram's own, which may exceed the buffer.
        let datagram = buffer.get(..received).ok_or(NetlinkError::Malformed)?;
        for message in messages(datagram) {
            match message? {
                Message::Answer {
                    sequence: SEQUENCE,
                    payload,
                } => on_answer(payload),
                Message::End {
                    sequence: SEQUENCE,
                    errno: 0,
                } => return Ok(()),
                Message::End {
                    sequence: SEQUENCE,
                    errno,
                } => {
                    return Err(NetlinkError::Refused(Errno::from_raw_os_error(errno)));
                }
                Message::Answer { .. } | Message::End { .. } => {}
            }
        }
    }
    Err(NetlinkError::TooMany)
}

fn request(kind: u16, sequence: u32, question: &[u8]) -> Option<Vec<u8>> {
    let length = u32::try_from(HEADER_BYTES + question.len()).ok()?;
    let mut bytes = Vec::with_capacity(HEADER_BYTES + question.len());
    bytes.extend_from_slice(&length.to_ne_bytes());
    bytes.extend_from_slice(&kind.to_ne_bytes());
    bytes.extend_from_slice(&(NLM_F_REQUEST | NLM_F_ACK | NLM_F_DUMP).to_ne_bytes());
    bytes.extend_from_slice(&sequence.to_ne_bytes());
    bytes.extend_from_slice(&0_u32.to_ne_bytes()); // port id: the kernel's choice
    bytes.extend_from_slice(question);
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: u16, sequence: u32, payload: &[u8]) -> Vec<u8> {
        let mut bytes = request(kind, sequence, payload).unwrap();
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    #[test]
    fn answers_then_the_end() {
        let mut datagram = message(20, 7, b"abc");
        datagram.extend(message(NLMSG_NOOP, 7, b""));
        datagram.extend(message(20, 7, b"defg"));
        datagram.extend(message(NLMSG_DONE, 7, &0_i32.to_ne_bytes()));
        let all: Vec<_> = messages(&datagram).map(Result::unwrap).collect();
        assert_eq!(
            all,
            [
                Message::Answer {
                    sequence: 7,
                    payload: b"abc"
                },
                Message::Answer {
                    sequence: 7,
                    payload: b"defg"
                },
                Message::End {
                    sequence: 7,
                    errno: 0
                },
            ]
        );
    }

    #[test]
    fn errors() {
        let refused = message(NLMSG_ERROR, 1, &(-2_i32).to_ne_bytes());
        let first = messages(&refused).next().unwrap().unwrap();
        assert_eq!(
            first,
            Message::End {
                sequence: 1,
                errno: 2
            }
        );
        for bytes in [
            &message(20, 1, b"abcd")[..18],         // cut
            &message(NLMSG_OVERRUN, 1, b""),        // data lost
            &[8, 0, 0, 0, 20, 0, 0, 0, 0, 0, 0, 0], // shorter than its header
            &message(NLMSG_ERROR, 1, &i32::MIN.to_ne_bytes()),
        ] {
            let all: Vec<_> = messages(bytes).collect();
            assert!(matches!(all[..], [Err(NetlinkError::Malformed)]), "{all:?}");
        }
    }
}
