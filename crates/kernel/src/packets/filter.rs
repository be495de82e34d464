//! The kernel's filter of a capture: classic BPF (bpf(4), Documentation/networking/filter.rst), made here, so that nothing
//! has to be compiled on the user's machine. Nothing else than the wanted ports' packets is copied.

use super::options::PORTS_MAX;

/// One instruction, `struct sock_filter`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilterLine {
    /// What.
    pub code: u16,
    /// Instructions to pass over when a comparison holds.
    pub if_true: u8,
    /// When it does not.
    pub if_false: u8,
    /// Operand.
    pub k: u32,
}

// include/uapi/linux/bpf_common.h and filter.h
const LD_W_ABS: u16 = 0x20;
const LD_H_ABS: u16 = 0x28;
const LD_B_ABS: u16 = 0x30;
const LD_H_IND: u16 = 0x48;
const LD_B_IND: u16 = 0x50;
const LDX_MSH: u16 = 0xb1;
const LDX_IMM: u16 = 0x01;
const LD_MEM: u16 = 0x60;
const ST: u16 = 0x02;
const SUB_X: u16 = 0x1c;
const AND_K: u16 = 0x54;
const RSH_K: u16 = 0x74;
const JEQ_K: u16 = 0x15;
const JSET_K: u16 = 0x45;
const TAX: u16 = 0x07;
const RET_K: u16 = 0x06;

/// `SKF_AD_OFF`: what the kernel knows beside the packet's bytes.
const BESIDE: u32 = 0xffff_f000;
const PROTOCOL: u32 = BESIDE;
const PACKET_TYPE: u32 = BESIDE + 4;
const DEVICE: u32 = BESIDE + 8;

/// `PACKET_OUTGOING` (include/uapi/linux/if_packet.h)
const OUTGOING: u32 = 4;
const ETH_P_IP: u32 = 0x0800;
const ETH_P_IPV6: u32 = 0x86dd;
const TCP: u32 = 6;
const SYN_FIN_RST: u32 = 0x07;

/// What the filter keeps of the packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Kept {
    request: u32,
    response: u32,
    loopback: Option<u32>,
}

/// The filter for packets that begin with their IP header: of the ports, both directions, no fragments but the first,
/// no bare acknowledgements. `loopback` is the loopback device's number: it shows every packet twice, as sent and as
/// received, and the received one is kept. Elsewhere packets to a port must be received and those from it sent: a client
/// of ours that asks another host's server, and a packet that is only passed on, are none of this server's. A packet to a
/// port is cut to `request_bytes`, one from it to `response_bytes`.
pub fn filter(
    ports: &[u16],
    loopback: Option<u32>,
    request_bytes: u32,
    response_bytes: u32,
) -> Vec<FilterLine> {
    let ports = ports.get(..PORTS_MAX).unwrap_or(ports);
    let kept = Kept {
        request: request_bytes,
        response: response_bytes,
        loopback,
    };
    let mut program = Program::default();
    if let Some(loopback) = loopback {
        program.line(LD_W_ABS, PACKET_TYPE);
        program.jump(JEQ_K, OUTGOING, 0, 3);
        program.line(LD_W_ABS, DEVICE);
        program.jump(JEQ_K, loopback, 0, 1);
        program.line(RET_K, 0);
    }
    let v4 = of_version(4, ports, kept);
    program.line(LD_W_ABS, PROTOCOL);
    // Over the other version's part: too far for a comparison's own offset when there are many ports.
    program.jump(JEQ_K, ETH_P_IP, 0, v4.len() as u8);
    program.append(v4);
    program.jump(JEQ_K, ETH_P_IPV6, 1, 0);
    program.line(RET_K, 0);
    program.append(of_version(6, ports, kept));
    program.0
}

/// What follows when the version is known.
fn of_version(version: u8, ports: &[u16], kept: Kept) -> Vec<FilterLine> {
    let mut program = Program::default();
    // X: where the TCP header begins. A, and the first word of memory: bytes from there to the packet's end.
    if version == 4 {
        program.line(LD_B_ABS, 9);
        program.jump(JEQ_K, TCP, 1, 0);
        program.line(RET_K, 0);
        program.line(LD_H_ABS, 6);
        program.jump(JSET_K, 0x1fff, 0, 1);
        program.line(RET_K, 0);
        program.line(LDX_MSH, 0);
        program.line(LD_H_ABS, 2);
        program.line(SUB_X, 0);
    } else {
        program.line(LD_B_ABS, 6);
        program.jump(JEQ_K, TCP, 1, 0);
        program.line(RET_K, 0);
        program.line(LDX_IMM, 40);
        program.line(LD_H_ABS, 4);
    }
    program.line(ST, 0);
    // The destination's port, then the source's; the second word of memory is what is kept.
    program.line(LD_H_IND, 2);
    compare(&mut program, ports, ending(received(), kept.request));
    program.line(LD_H_IND, 0);
    compare(
        &mut program,
        ports,
        ending(sent(kept.loopback), kept.response),
    );
    program.line(RET_K, 0);
    program.0
}

/// If A is one of the ports, goes on with `ending`; else behind it.
fn compare(program: &mut Program, ports: &[u16], ending: Vec<FilterLine>) {
    let count = ports.len();
    for (index, port) in ports.iter().enumerate() {
        let to_ending = (count - 1 - index) as u8;
        let is_last = index + 1 == count;
        let to_next = if is_last { ending.len() as u8 } else { 0 };
        program.jump(JEQ_K, u32::from(*port), to_ending, to_next);
    }
    program.append(ending);
}

/// Drops what this host sends.
fn received() -> Program {
    let mut program = Program::default();
    program.line(LD_W_ABS, PACKET_TYPE);
    program.jump(JEQ_K, OUTGOING, 0, 1);
    program.line(RET_K, 0);
    program
}

/// Drops what this host receives, but from itself.
fn sent(loopback: Option<u32>) -> Program {
    let mut program = Program::default();
    program.line(LD_W_ABS, PACKET_TYPE);
    program.jump(JEQ_K, OUTGOING, 3, 0);
    program.line(LD_W_ABS, DEVICE);
    program.jump(JEQ_K, loopback.unwrap_or(0), 1, 0);
    program.line(RET_K, 0);
    program
}

/// What returns `bytes`, or 0 when nothing follows the TCP header and none of SYN, FIN, RST is set; behind another check.
fn ending(mut program: Program, bytes: u32) -> Vec<FilterLine> {
    program.line(LD_B_IND, 13);
    program.jump(JSET_K, SYN_FIN_RST, 7, 0);
    // The TCP header's length, in words in the upper half of a byte.
    program.line(LD_B_IND, 12);
    program.line(RSH_K, 2);
    program.line(AND_K, 0x3c);
    program.line(TAX, 0);
    program.line(LD_MEM, 0);
    program.line(SUB_X, 0);
    program.jump(JEQ_K, 0, 1, 0);
    program.line(RET_K, bytes);
    program.line(RET_K, 0);
    program.0
}

#[derive(Default)]
struct Program(Vec<FilterLine>);

impl Program {
    fn line(&mut self, code: u16, k: u32) {
        self.jump(code, k, 0, 0);
    }

    fn jump(&mut self, code: u16, k: u32, if_true: u8, if_false: u8) {
        self.0.push(FilterLine {
            code,
            if_true,
            if_false,
            k,
        });
    }

    fn append(&mut self, lines: Vec<FilterLine>) {
        self.0.extend(lines);
    }
}

/// What the kernel would do: the bytes of a packet that pass, 0 for none. Loads beyond the packet's end drop it, as in
/// the kernel (net/core/filter.c). `beside` is what the kernel knows: protocol, packet type, device. For tests.
pub fn accept(program: &[FilterLine], packet: &[u8], beside: [u32; 3]) -> u32 {
    run(program, packet, beside).unwrap_or(0)
}

fn run(program: &[FilterLine], packet: &[u8], beside: [u32; 3]) -> Option<u32> {
    let load = |at: u32, bytes: usize| -> Option<u32> {
        if at >= BESIDE {
            return beside.get(((at - BESIDE) / 4) as usize).copied();
        }
        let at = at as usize;
        let field = packet.get(at..at.checked_add(bytes)?)?;
        Some(
            field
                .iter()
                .fold(0, |sum, byte| sum << 8 | u32::from(*byte)),
        )
    };
    let (mut a, mut x, mut memory) = (0_u32, 0_u32, 0_u32);
    let mut at = 0_usize;
    loop {
        let line = program.get(at)?;
        at += 1;
        let k = line.k;
        match line.code {
            LD_W_ABS => a = load(k, 4)?,
            LD_H_ABS => a = load(k, 2)?,
            LD_B_ABS => a = load(k, 1)?,
            LD_H_IND => a = load(x.checked_add(k)?, 2)?,
            LD_B_IND => a = load(x.checked_add(k)?, 1)?,
            LDX_MSH => x = (load(k, 1)? & 0xf) * 4,
            LDX_IMM => x = k,
            LD_MEM => a = memory,
            ST => memory = a,
            SUB_X => a = a.wrapping_sub(x),
            AND_K => a &= k,
            RSH_K => a >>= k,
            TAX => x = a,
            RET_K => return Some(k),
            JEQ_K | JSET_K => {
                let holds = if line.code == JEQ_K {
                    a == k
                } else {
                    a & k != 0
                };
                at += usize::from(if holds { line.if_true } else { line.if_false });
            }
            _ => return None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOOPBACK: u32 = 1;
    const HOST: u32 = 0;

    /// A packet of this version between two ports with so many bytes after its TCP header.
    fn packet(version: u8, ports: (u16, u16), flags: u8, payload: usize) -> Vec<u8> {
        let tcp_bytes = 32; // with options
        let mut bytes = vec![0; if version == 4 { 24 } else { 40 }];
        let header = bytes.len();
        if version == 4 {
            bytes[0] = 0x46; // with options
            bytes[2..4].copy_from_slice(&((header + tcp_bytes + payload) as u16).to_be_bytes());
            bytes[9] = 6;
        } else {
            bytes[0] = 0x60;
            bytes[4..6].copy_from_slice(&((tcp_bytes + payload) as u16).to_be_bytes());
            bytes[6] = 6;
        }
        bytes.extend(ports.0.to_be_bytes());
        bytes.extend(ports.1.to_be_bytes());
        bytes.extend([0; 8]);
        bytes.extend([(tcp_bytes as u8 / 4) << 4, flags]);
        bytes.resize(header + tcp_bytes + payload, 0);
        bytes
    }

    fn protocol(version: u8) -> u32 {
        if version == 4 { ETH_P_IP } else { ETH_P_IPV6 }
    }

    #[test]
    fn both_directions_of_each_port_in_both_versions() {
        for ports in [
            &[3306][..],
            &[3306, 3307, 33062],
            &[1, 2, 3, 4, 5, 6, 7, 3306],
        ] {
            let program = filter(ports, Some(LOOPBACK), 1000, 100);
            assert!(program.len() < 256);
            for version in [4, 6] {
                let one = |ports, kind, device, flags, payload| {
                    let bytes = packet(version, ports, flags, payload);
                    // Padded by Ethernet.
                    let padded = [bytes, vec![0; 6]].concat();
                    accept(&program, &padded, [protocol(version), kind, device])
                };
                let ack = 0x10;
                assert_eq!(one((40_000, 3306), HOST, 2, ack, 5), 1000);
                assert_eq!(one((3306, 40_000), OUTGOING, 2, ack, 5), 100);
                assert_eq!(one((40_000, 3305), HOST, 2, ack, 5), 0);
                // Bare acknowledgements, and what opens and ends connections.
                assert_eq!(one((40_000, 3306), HOST, 2, ack, 0), 0);
                assert_eq!(one((3306, 40_000), OUTGOING, 2, ack, 0), 0);
                for flag in [1, 2, 4] {
                    assert_eq!(one((40_000, 3306), HOST, 2, ack | flag, 0), 1000);
                    assert_eq!(one((3306, 40_000), OUTGOING, 2, ack | flag, 0), 100);
                }
                // We are the client of another host.
                assert_eq!(one((40_000, 3306), OUTGOING, 2, ack, 5), 0);
                assert_eq!(one((3306, 40_000), HOST, 2, ack, 5), 0);
                // The loopback device shows each packet twice.
                assert_eq!(one((40_000, 3306), HOST, LOOPBACK, ack, 5), 1000);
                assert_eq!(one((3306, 40_000), HOST, LOOPBACK, ack, 5), 100);
                assert_eq!(one((40_000, 3306), OUTGOING, LOOPBACK, ack, 5), 0);
                assert_eq!(one((3306, 40_000), OUTGOING, LOOPBACK, ack, 5), 0);
            }
        }
    }

    #[test]
    fn other_packets_are_dropped() {
        let program = filter(&[3306], Some(LOOPBACK), 1000, 100);
        let good = packet(4, (40_000, 3306), 0x10, 5);
        let beside = [ETH_P_IP, HOST, 2];
        assert_eq!(accept(&program, &good, beside), 1000);
        assert_eq!(accept(&program, &good, [0x0806, HOST, 2]), 0);
        let mut udp = good.clone();
        udp[9] = 17;
        assert_eq!(accept(&program, &udp, beside), 0);
        let mut fragment = good.clone();
        fragment[7] = 1;
        assert_eq!(accept(&program, &fragment, beside), 0);
        for end in 0..38 {
            assert_eq!(accept(&program, &good[..end], beside), 0);
        }
        // Longer than its header can say.
        let mut long = good.clone();
        long[2..4].copy_from_slice(&[0, 0]);
        assert_eq!(accept(&program, &long, beside), 1000);
    }
}
