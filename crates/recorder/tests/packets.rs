//! Packets that tcpdump recorded of real servers, through the same decoder and digest as live ones.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use kernel::packets::parse_ip;
use recorder::packets::{Captured, Collector};
use server::wire::{Connections, Decoder, Segment, Statement, StatementKind};

/// Files of tcpdump -w (pcap-savefile(5)), little-endian, of Ethernet frames.
fn packets(file: &[u8]) -> Vec<(i64, &[u8], u32)> {
    let number = |at: usize| u32::from_le_bytes(file[at..at + 4].try_into().unwrap());
    assert_eq!((number(0), number(20)), (0xa1b2_c3d4, 1));
    let mut all = Vec::new();
    let mut at = 24;
    while at < file.len() {
        let time = i64::from(number(at)) * 1_000_000 + i64::from(number(at + 4));
        let (copied, length) = (number(at + 8) as usize, number(at + 12));
        all.push((time, &file[at + 16 + 14..at + 16 + copied], length - 14));
        at += 16 + copied;
    }
    all
}

/// Hands over the statements of a file; `cut` is how much of an answer's packet is kept.
fn statements(name: &str, port: u16, cut: usize, each: &mut dyn FnMut(&Statement<'_>)) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name);
    let file = std::fs::read(path).unwrap();
    let mut decoder = Decoder::new();
    for (at_us, bytes, length) in packets(&file) {
        let tcp = parse_ip(bytes, length).unwrap();
        let to_server = tcp.to.port() == port;
        let (client, server) = if to_server {
            (tcp.from, tcp.to)
        } else {
            (tcp.to, tcp.from)
        };
        let keep = if to_server { usize::MAX } else { cut };
        decoder.segment(
            &Segment {
                at_us,
                client,
                server,
                to_server,
                sequence: tcp.sequence,
                acknowledged: tcp.flags.ack.then_some(tcp.acknowledged),
                syn: tcp.flags.syn,
                fin: tcp.flags.fin,
                rst: tcp.flags.rst,
                payload: tcp.payload.get(..keep).unwrap_or(tcp.payload),
                length: tcp.payload_length,
            },
            each,
        );
    }
    decoder.finish(each);
}

/// Kind and text of each statement, how often.
fn counts(name: &str, port: u16, cut: usize) -> BTreeMap<(&'static str, String), u32> {
    let mut counts = BTreeMap::new();
    statements(name, port, cut, &mut |one| {
        let text = String::from_utf8_lossy(one.text).into_owned();
        *counts.entry((one.kind.name(), text)).or_default() += 1;
    });
    counts
}

/// Counts without the texts' order.
fn expected(all: &[(&'static str, &str, u32)]) -> BTreeMap<(&'static str, String), u32> {
    let pairs = all.iter();
    pairs
        .map(|(kind, text, count)| ((*kind, (*text).to_owned()), *count))
        .collect()
}

const LONG: &str =
    "SELECT 'a value of more than fifty bytes, so that it is compressed', REPEAT('x', 300)";

#[test]
fn a_session_of_mariadb_plain_and_one_by_zlib() {
    let expected = expected(&[
        ("Connect", "", 2),
        ("Query", "SELECT DATABASE()", 2),
        ("Init DB", "mysql", 2),
        ("Query", "SELECT 1", 2),
        ("Query", LONG, 2),
        ("Query", "SHOW WARNINGS", 2),
        ("Query", "SELEC 1", 2),
        ("Quit", "", 2),
    ]);
    // The answers whole, and as a capture cuts them.
    for cut in [usize::MAX, 600, 100] {
        assert_eq!(counts("mariadb-10.11.pcap", 38507, cut), expected);
    }
    let mut compressed = 0;
    statements("mariadb-10.11.pcap", 38507, 600, &mut |one| {
        compressed += u32::from(one.compressed);
        assert_eq!(one.program, Some("mysql (libmariadb 3.3.20)"));
        let error = (one.text == b"SELEC 1").then_some(1064);
        assert_eq!(one.error, error);
        if one.text == LONG.as_bytes() {
            assert_eq!((one.rows, one.database), (Some(1), Some("mysql")));
            let bytes = if one.compressed { (97, 158) } else { (90, 518) };
            assert_eq!((one.bytes_in, one.bytes_out), bytes);
        }
    });
    assert_eq!(compressed, 7);
}

#[test]
fn prepared_statements_by_zlib_and_a_session_by_zstd_of_mysql_9() {
    let prepared = "SELECT ? + 1, 'a value of more than fifty bytes, so that it is compressed'";
    for cut in [usize::MAX, 600] {
        let counts = counts("mysql-9.7.pcap", 38541, cut);
        let of = |kind, text: &str| counts.get(&(kind, text.to_owned())).copied();
        assert_eq!(of("Prepare", prepared), Some(1));
        assert_eq!(of("Execute", prepared), Some(5));
        assert_eq!(of("Query", "SHOW WARNINGS"), Some(5));
        assert_eq!(of("Close stmt", ""), Some(1));
        assert_eq!(counts.values().sum::<u32>(), 10 + 13);
    }
    let (mut rows, mut errors) = (0, Vec::new());
    statements("mysql-9.7.pcap", 38541, 600, &mut |one| {
        assert_eq!(one.compressed, one.kind != StatementKind::Connect);
        rows += one.rows.unwrap_or(0);
        errors.extend(one.error);
    });
    assert_eq!((rows, errors), (5 + 5, vec![1054, 1046]));
}

#[test]
fn a_digest_of_recorded_packets() {
    let mut collector = Collector::default();
    statements("mysql-9.7.pcap", 38541, 600, &mut |one| collector.take(one));
    let captured = Captured {
        from_us: 0,
        to_us: 1,
        packets: 66,
        lost: 0,
        connections: Connections {
            seen: 2,
            compressed: 2,
            ..Connections::default()
        },
        cpu: Duration::ZERO,
    };
    let digest = collector.finish(&captured, Vec::new());
    assert_eq!((digest.count, digest.errors), (23, Some(2)));
    let class = |fingerprint: &str| {
        let found = digest
            .classes
            .iter()
            .find(|one| one.fingerprint == fingerprint);
        found.unwrap_or_else(|| {
            let all: Vec<&str> = digest
                .classes
                .iter()
                .map(|one| one.fingerprint.as_str())
                .collect();
            panic!("no {fingerprint} in {all:?}")
        })
    };
    let repeated = class("select ?, repeat(?, ?)");
    assert_eq!((repeated.count, repeated.kind.as_str()), (5, "SELECT"));
    assert_eq!(repeated.users[0].name, "zs");
    assert_eq!(repeated.programs[0].name, "zstd-example");
    assert_eq!(repeated.hosts[0].name, "127.0.0.1");
    let sample = repeated.sample.as_deref();
    assert_eq!(sample, Some("SELECT ?, REPEAT(?, ?)"));
    let times = &repeated.measures[0];
    assert_eq!((times.name.as_str(), times.count), ("Query_time", 5));
    assert_eq!(times.decades.iter().sum::<u64>(), 5);
    assert_eq!(times.max, Some(963e-6));
    assert_eq!(class("show warnings").kind, "SHOW WARNINGS");
    assert_eq!(class("administrator command: Prepare").count, 1);
    assert_eq!(class("select ? + ?, ?").count, 5);
    assert!(digest.folded.is_none() && digest.connections.unwrap().compressed == 2);
}
