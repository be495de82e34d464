//! Segments of any bytes between two clients and a server: nothing breaks, and what is kept is bounded.
#![no_main]

use std::net::SocketAddr;

use libfuzzer_sys::fuzz_target;
use server::wire::{BUFFERED_BYTES_MAX, Decoder, OpenBefore, Segment};

fuzz_target!(|input: &[u8]| {
    let clients: [SocketAddr; 2] = [([10, 0, 0, 1], 5000).into(), ([10, 0, 0, 2], 5001).into()];
    let server: SocketAddr = ([10, 0, 0, 9], 3306).into();
    let mut decoder = Decoder::new();
    let mut rest = input;
    let mut sequences = [1_u32; 4];
    let mut at_us = 0;
    // A head of three bytes: what the segment is, how many bytes follow, how far its number jumps.
    while let [head, length, jump, more @ ..] = rest {
        let (payload, more) = more.split_at(usize::from(*length).min(more.len()));
        rest = more;
        let (to_server, which) = (head & 1 == 0, usize::from(head >> 1 & 1));
        if head & 0x80 != 0 && head & 0x40 != 0 {
            decoder.know(vec![OpenBefore {
                host: clients[which].ip().to_string(),
                port: clients[which].port(),
                id: 1,
                user: Some("u".into()),
                database: None,
                prepared: vec![(1, payload.to_vec())],
            }]);
            continue;
        }
        let own = which * 2 + usize::from(to_server);
        let other = which * 2 + usize::from(!to_server);
        let cut = u32::from(*jump & 7);
        at_us += 10;
        decoder.segment(
            &Segment {
                at_us,
                client: clients[which],
                server,
                to_server,
                sequence: sequences[own].wrapping_add(u32::from(*jump >> 5)),
                acknowledged: (head & 4 != 0).then_some(sequences[other]),
                syn: head & 8 != 0,
                fin: head & 16 != 0,
                rst: head & 32 != 0,
                payload,
                length: payload.len() as u32 + cut,
            },
            &mut |statement| assert!(statement.text.len() <= input.len()),
        );
        sequences[own] = sequences[own].wrapping_add(payload.len() as u32 + cut);
        assert!(decoder.held_bytes() <= BUFFERED_BYTES_MAX + (1 << 20));
    }
    decoder.finish(&mut |_| {});
    assert_eq!(decoder.held_bytes(), 0);
});
