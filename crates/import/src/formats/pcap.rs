//! Packets as tcpdump writes them to a file: the statements in them, by the same decoder that reads
//! them from the wire.
//!
//! Two forms of file: pcap (`draft-ietf-opsawg-pcap`) and pcapng (`draft-ietf-opsawg-pcapng`), in
//! either byte order. A file that is cut, or whose end was not written yet, is read as far as it
//! goes.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use kernel::packets::{TcpPacket, parse_ip};
use model::{Absent, Fact, Reading, Reason, Unit};
use server::wire::{
    Captured, Collector, Decoder, Segment, Statement, connection_mix, is_show_warnings, senders,
};

use crate::format::{Format, Group};
use crate::read::{Read, Tick, Workload, counted};

pub(crate) static FORMAT: Format = Format {
    id: "pcap",
    group: Group::Network,
    name: "packets of tcpdump",
    printed_by: "tcpdump (pcap, pcapng)",
    content: "statements by class",
    read_bytes: |bytes| is_pcap(bytes).then(|| read(bytes)),
    ..Format::NONE
};

/// The port of a server.
const PORT: u16 = 3306;

/// Packets that are looked at to find the server's port.
const LOOKED_AT: usize = 200_000;

/// Seconds in which there are readings, at the most.
const SECONDS_MAX: i64 = 6 * 3600;

/// Interfaces of one section that are known.
const INTERFACES_MAX: usize = 1000;

/// Whether a file is one, by its first bytes.
fn is_pcap(bytes: &[u8]) -> bool {
    bytes.starts_with(&SECTION.to_le_bytes())
        || bytes
            .first_chunk::<4>()
            .is_some_and(|magic| Form::of(*magic).is_some())
}

/// Type of the block with which each section of pcapng begins; the same in both byte orders.
const SECTION: u32 = 0x0a0d_0d0a;

/// A packet as it was captured.
#[derive(Debug, Clone, Copy)]
struct Packet<'a> {
    at_us: i64,
    link: u32,
    bytes: &'a [u8],
    /// Bytes that it had.
    length: u32,
}

/// How the numbers of a pcap file are written.
#[derive(Debug, Clone, Copy)]
struct Form {
    big: bool,
    nanoseconds: bool,
}

impl Form {
    fn of(magic: [u8; 4]) -> Option<Self> {
        [
            (false, u32::from_le_bytes(magic)),
            (true, u32::from_be_bytes(magic)),
        ]
        .into_iter()
        .find_map(|(big, magic)| match magic {
            0xa1b2_c3d4 => Some(Self {
                big,
                nanoseconds: false,
            }),
            0xa1b2_3c4d => Some(Self {
                big,
                nanoseconds: true,
            }),
            _ => None,
        })
    }
}

fn u32_at(bytes: &[u8], at: usize, big: bool) -> Option<u32> {
    let four: [u8; 4] = *bytes.get(at..)?.first_chunk()?;
    Some(match big {
        true => u32::from_be_bytes(four),
        false => u32::from_le_bytes(four),
    })
}

fn u16_at(bytes: &[u8], at: usize, big: bool) -> Option<u16> {
    let two: [u8; 2] = *bytes.get(at..)?.first_chunk()?;
    Some(match big {
        true => u16::from_be_bytes(two),
        false => u16::from_le_bytes(two),
    })
}

/// Hands over each packet; says what the end of the file lacks.
fn each<'a>(bytes: &'a [u8], take: &mut dyn FnMut(Packet<'a>) -> bool) -> Option<String> {
    match bytes.starts_with(&SECTION.to_le_bytes()) {
        true => each_ng(bytes, take),
        false => each_old(bytes, take),
    }
}

const CUT: &str = "the file ends in the middle of a packet";

fn each_old<'a>(bytes: &'a [u8], take: &mut dyn FnMut(Packet<'a>) -> bool) -> Option<String> {
    const HEAD: usize = 24;
    let form = Form::of(*bytes.first_chunk()?)?;
    // The upper bits may hold the length of a frame check sequence.
    let Some(link) = u32_at(bytes, 20, form.big).map(|link| link & 0xffff) else {
        return Some("the file ends in its headerer".to_owned());
    };
    let mut at = HEAD;
    while at < bytes.len() {
        let number = |offset: usize| u32_at(bytes, at + offset, form.big);
        let (Some(seconds), Some(fraction), Some(captured), Some(length)) =
            (number(0), number(4), number(8), number(12))
        else {
            return Some(CUT.to_owned());
        };
        let from = at + 16;
        let Some(packet) = from
            .checked_add(captured as usize)
            .and_then(|to| bytes.get(from..to))
        else {
            return Some(CUT.to_owned());
        };
        let fraction = i64::from(fraction) / if form.nanoseconds { 1000 } else { 1 };
        let go_on = take(Packet {
            at_us: i64::from(seconds) * 1_000_000 + fraction,
            link,
            bytes: packet,
            length,
        });
        if !go_on {
            return None;
        }
        at = from + packet.len();
    }
    None
}

#[derive(Debug, Clone, Copy)]
struct Interface {
    link: u32,
    /// Units of its times in a second.
    per_second: u64,
}

fn each_ng<'a>(bytes: &'a [u8], take: &mut dyn FnMut(Packet<'a>) -> bool) -> Option<String> {
    const BYTE_ORDER: u32 = 0x1a2b_3c4d;
    let mut big = false;
    let mut interfaces: Vec<Interface> = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if u32_at(bytes, at, false) == Some(SECTION) {
            big = match u32_at(bytes, at + 8, false) {
                Some(BYTE_ORDER) => false,
                Some(_) => true,
                None => return Some(CUT.to_owned()),
            };
            interfaces.clear();
        }
        let (Some(kind), Some(length)) = (u32_at(bytes, at, big), u32_at(bytes, at + 4, big))
        else {
            return Some(CUT.to_owned());
        };
        let length = length as usize;
        if length < 12 || !length.is_multiple_of(4) {
            return Some("a block of the file has no valid length".to_owned());
        }
        let Some(block) = at.checked_add(length).and_then(|to| bytes.get(at + 8..to)) else {
            return Some(CUT.to_owned());
        };
        at += length;
        let number = |offset: usize| u32_at(block, offset, big);
        match kind {
            1 if interfaces.len() < INTERFACES_MAX => interfaces.push(Interface {
                link: u32::from(u16_at(block, 0, big).unwrap_or(0)),
                per_second: per_second(block.get(8..).unwrap_or_default(), big),
            }),
            // A packet with its interface and its time.
            6 => {
                let packet = || {
                    let interface = *interfaces.get(number(0)? as usize)?;
                    let units = u64::from(number(4)?) << 32 | u64::from(number(8)?);
                    let captured = number(12)? as usize;
                    let at_us = u128::from(units) * 1_000_000 / u128::from(interface.per_second);
                    Some(Packet {
                        at_us: i64::try_from(at_us).unwrap_or(i64::MAX),
                        link: interface.link,
                        bytes: block.get(20..20_usize.checked_add(captured)?)?,
                        length: number(16)?,
                    })
                };
                if let Some(packet) = packet()
                    && !take(packet)
                {
                    return None;
                }
            }
            // Others hold statistics and names; the simple packet block has no time.
            _ => {}
        }
    }
    None
}

/// The option `if_tsresol`: a power of ten, or of two with the highest bit; microseconds else.
fn per_second(mut options: &[u8], big: bool) -> u64 {
    while let (Some(code), Some(length)) = (u16_at(options, 0, big), u16_at(options, 2, big)) {
        if code == 0 {
            break;
        }
        if code == 9 && length >= 1 {
            return match options.get(4).copied() {
                Some(power) if power & 0x80 != 0 => 1 << (power & 0x7f).min(63),
                Some(power) => 10_u64.pow(u32::from(power.min(18))),
                None => break,
            };
        }
        let padded = 4 + usize::from(length).next_multiple_of(4);
        options = options.get(padded..).unwrap_or_default();
    }
    1_000_000
}

/// The IP packet in a frame of a link layer (`tcpdump.org/linktypes.html`).
fn ip<'a>(packet: &Packet<'a>) -> Option<TcpPacket<'a>> {
    const IPV4: u16 = 0x0800;
    const IPV6: u16 = 0x86dd;
    const TAGS: [u16; 2] = [0x8100, 0x88a8];
    let bytes = packet.bytes;
    let head = match packet.link {
        // BSD's loopback: a family in the order of who wrote it.
        0 | 108 => 4,
        1 => {
            let mut at = 12;
            let mut kind = u16_at(bytes, at, true)?;
            // A VLAN's tag, or two.
            for _ in 0..2 {
                if TAGS.contains(&kind) {
                    at += 4;
                    kind = u16_at(bytes, at, true)?;
                }
            }
            if ![IPV4, IPV6].contains(&kind) {
                return None;
            }
            at + 2
        }
        // Raw IP, by several numbers.
        12 | 14 | 101 | 228 | 229 => 0,
        // `tcpdump -i any`, which writes all devices alike.
        113 => {
            if ![IPV4, IPV6].contains(&u16_at(bytes, 14, true)?) {
                return None;
            }
            16
        }
        276 => {
            if ![IPV4, IPV6].contains(&u16_at(bytes, 0, true)?) {
                return None;
            }
            20
        }
        _ => return None,
    };
    let length = packet.length.checked_sub(u32::try_from(head).ok()?)?;
    parse_ip(bytes.get(head..)?, length)
}

/// The server's ports: that of MySQL where it is seen, else the one that greets like a server, else
/// the one with most packets.
fn ports(bytes: &[u8]) -> Vec<u16> {
    let mut counts: HashMap<u16, u64> = HashMap::new();
    let mut greets: HashSet<u16> = HashSet::new();
    let mut looked = 0;
    each(bytes, &mut |packet| {
        if let Some(tcp) = ip(&packet) {
            for port in [tcp.from.port(), tcp.to.port()] {
                *counts.entry(port).or_default() += 1;
            }
            if is_greeting(tcp.payload) {
                greets.insert(tcp.from.port());
            }
        }
        looked += 1;
        looked < LOOKED_AT
    });
    if counts.contains_key(&PORT) {
        return vec![PORT];
    }
    if !greets.is_empty() {
        let mut greets: Vec<u16> = greets.into_iter().collect();
        greets.sort_unstable();
        return greets;
    }
    counts
        .into_iter()
        .max_by_key(|(port, count)| (*count, std::cmp::Reverse(*port)))
        .map(|(port, _)| vec![port])
        .unwrap_or_default()
}

/// A packet with number 0 that holds protocol version 10 and a version that begins with a digit.
fn is_greeting(payload: &[u8]) -> bool {
    matches!(payload, [_, 0, 0, 0, 10, digit, ..] if digit.is_ascii_digit())
}

/// What was counted up to a second.
#[derive(Debug, Default, Clone, Copy)]
struct Sums {
    statements: u64,
    show_warnings: u64,
    errors: u64,
}

/// Reads the packets of a file.
fn read(bytes: &[u8]) -> Read {
    let mut read = Read::default();
    let ports = ports(bytes);
    let mut decoder = Decoder::new();
    let mut collector = Collector::default();
    let mut sums = Sums::default();
    let (mut packets, mut others, mut doubled, mut snapped) = (0_u64, 0_u64, 0_u64, 0_u64);
    let mut times: Option<(i64, i64)> = None;
    let mut second: Option<i64> = None;
    let mut ticks: Vec<Tick> = Vec::new();
    let mut latest: HashMap<(std::net::SocketAddr, std::net::SocketAddr), (u32, u32, u32)> =
        HashMap::new();
    let end = each(bytes, &mut |packet| {
        packets += 1;
        let Some(tcp) = ip(&packet) else {
            others += 1;
            return true;
        };
        let to_server = ports.contains(&tcp.to.port());
        if !to_server && !ports.contains(&tcp.from.port()) {
            others += 1;
            return true;
        }
        // With `-i any` a packet is seen on each device that it passes.
        let print = (tcp.sequence, tcp.acknowledged, tcp.payload_length);
        let flags = tcp.flags;
        let ends = (tcp.from, tcp.to);
        if latest.len() > 100_000 {
            latest.clear();
        }
        if tcp.payload_length > 0 && latest.insert(ends, print) == Some(print) {
            doubled += 1;
            return true;
        }
        snapped += u64::from((tcp.payload.len() as u64) < u64::from(tcp.payload_length));
        let at = packet.at_us;
        times = Some(times.map_or((at, at), |(from, to)| (from.min(at), to.max(at))));
        let begin = times.map_or(at, |(from, _)| from);
        let this = (at - begin) / 1_000_000;
        if second != Some(this) && (0..SECONDS_MAX).contains(&this) {
            second = Some(this);
            ticks.push(tick(begin + this * 1_000_000, sums, &decoder));
        }
        let (client, server) = if to_server {
            (tcp.from, tcp.to)
        } else {
            (tcp.to, tcp.from)
        };
        let segment = Segment {
            at_us: at,
            client,
            server,
            to_server,
            sequence: tcp.sequence,
            acknowledged: flags.ack.then_some(tcp.acknowledged),
            syn: flags.syn,
            fin: flags.fin,
            rst: flags.rst,
            payload: tcp.payload,
            length: tcp.payload_length,
        };
        decoder.segment(&segment, &mut |statement| {
            count(&mut sums, &mut collector, statement);
        });
        true
    });
    decoder.finish(&mut |statement| count(&mut sums, &mut collector, statement));
    if let Some(end) = end {
        read.skipped.push((0, end.into()));
    }
    let Some((from_us, to_us)) = times else {
        read.skipped.push((
            0,
            match packets {
                0 => "no packets in it".to_owned(),
                _ => format!("none of {packets} packets is TCP"),
            }
            .into(),
        ));
        return read;
    };
    ticks.push(tick(to_us, sums, &decoder));
    let captured = Captured {
        from_us,
        to_us,
        packets,
        lost: 0,
        connections: decoder.connections(),
        cpu: Duration::ZERO,
    };
    let mix = connection_mix(&captured);
    let mut blind = Vec::new();
    if mix.tls > 0 {
        blind.push(Absent::new(
            "statements of encrypted connections",
            Reason::Unsupported,
            format!("{} of {} connections use TLS", mix.tls, mix.seen),
        ));
    }
    if mix.guessed > 0 {
        blind.push(Absent::new(
            "users of connections that were open before",
            Reason::NotRecorded,
            format!(
                "{} of {} connections began before the capture: their protocol was guessed",
                mix.guessed, mix.seen
            ),
        ));
    }
    if snapped > 0 {
        let why = format!(
            "the capture cut {snapped} of {packets} packets, so statements may be incomplete (tcpdump -s 0 captures whole packets)"
        );
        blind.push(Absent::new("ends of packets", Reason::Limit, why));
    }
    let digest = collector.finish(&captured, blind);
    let statements = usize::try_from(sums.statements).unwrap_or(usize::MAX);
    let connections = usize::try_from(mix.seen).unwrap_or(usize::MAX);
    let names: Vec<String> = ports.iter().map(u16::to_string).collect();
    read.brought = format!(
        "{} on {} to port {} in {:.1} s",
        counted(statements, "statement", "statements"),
        counted(connections, "connection", "connections"),
        names.join(", "),
        (to_us - from_us) as f64 / 1e6,
    );
    if doubled > 0 {
        read.skipped.push((
            0,
            format!("{doubled} packets appear twice, as captured by -i any").into(),
        ));
    }
    if others > 0 {
        read.skipped.push((
            0,
            format!("{others} packets belong to other connections").into(),
        ));
    }
    read.facts.push(Fact::new(
        "packets.show_warnings.senders",
        senders(&digest.classes),
    ));
    read.ticks = ticks;
    let ms = |us: i64| us / 1000;
    read.workload.push(Workload {
        from: Some(ms(from_us)),
        to: Some(ms(to_us)),
        length: None,
        digest,
    });
    read
}

fn count(sums: &mut Sums, collector: &mut Collector, statement: &Statement<'_>) {
    sums.statements += 1;
    sums.errors += u64::from(statement.error.is_some());
    sums.show_warnings += u64::from(is_show_warnings(statement.text));
    collector.take(statement);
}

/// The signals that the recorder takes of packets.
fn tick(at_us: i64, sums: Sums, decoder: &Decoder) -> Tick {
    let seen = decoder.connections();
    let counter = |name, unit, value: u64| Reading::counter(name, unit, value as f64);
    let level = |name, value: u64| Reading::gauge(name, Unit::Count, value as f64);
    Tick {
        source: "packets",
        at: Some(at_us / 1000),
        after: 0,
        readings: vec![
            counter("packets.statements", Unit::Count, sums.statements),
            counter("packets.show_warnings", Unit::Count, sums.show_warnings),
            counter("packets.errors", Unit::Count, sums.errors),
            counter("packets.bytes", Unit::Bytes, seen.bytes),
            counter(
                "packets.compressed_bytes",
                Unit::Bytes,
                seen.bytes_compressed,
            ),
            level("packets.connections", seen.seen),
            level("packets.compressed_connections", seen.compressed),
            level("packets.tls_connections", seen.tls),
        ],
    }
}
