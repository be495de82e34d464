//! Records of a perf ring: made ones are read as they were made, any other bytes never panic.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::time::Duration;

use kernel::perf::{
    Next, Record, Sample, SampleLayout, kernel_addresses, next_record, parse_list, parse_record,
    parse_sample,
};
use proptest::collection::vec;
use proptest::prelude::*;

const SAMPLE: u32 = 9;
const LOST: u32 = 2;
const THROTTLE: u32 = 5;
const KERNEL_MARK: u64 = -128_i64 as u64;
const USER_MARK: u64 = -512_i64 as u64;
const REGISTERS: usize = if cfg!(target_arch = "aarch64") { 4 } else { 3 };

fn record(kind: u32, misc: u16, body: &[u8]) -> Vec<u8> {
    let mut bytes = kind.to_ne_bytes().to_vec();
    bytes.extend(misc.to_ne_bytes());
    bytes.extend(u16::try_from(8 + body.len()).unwrap().to_ne_bytes());
    bytes.extend(body);
    bytes
}

struct Made {
    layout: SampleLayout,
    chain: Vec<u64>,
    abi: u64,
    stack: Vec<u8>,
    reserved: usize,
}

fn sample(made: &Made) -> Vec<u8> {
    let mut body = Vec::new();
    body.extend(11_u32.to_ne_bytes());
    body.extend(12_u32.to_ne_bytes());
    body.extend(13_000_000_014_u64.to_ne_bytes());
    body.extend(15_u32.to_ne_bytes());
    body.extend(0_u32.to_ne_bytes());
    if made.layout.callchain {
        body.extend((made.chain.len() as u64).to_ne_bytes());
        for entry in &made.chain {
            body.extend(entry.to_ne_bytes());
        }
    }
    body.extend(made.abi.to_ne_bytes());
    if made.abi != 0 {
        for value in 0..REGISTERS as u64 {
            body.extend((100 + value).to_ne_bytes());
        }
    }
    if made.layout.user_stack {
        body.extend((made.reserved as u64).to_ne_bytes());
        if made.reserved > 0 {
            let mut area = made.stack.clone();
            area.resize(made.reserved, 0xee);
            body.extend(area);
            body.extend((made.stack.len() as u64).to_ne_bytes());
        }
    }
    record(SAMPLE, 1, &body)
}

fn layouts() -> impl Strategy<Value = SampleLayout> {
    (any::<bool>(), any::<bool>()).prop_map(|(callchain, user_stack)| SampleLayout {
        callchain,
        user_stack,
    })
}

/// Bytes of a ring with `size` bytes that begin at `start`, in the two pieces a reader gets.
fn pieces(ring: &[u8], start: usize, count: usize) -> (&[u8], &[u8]) {
    let first = count.min(ring.len() - start);
    (&ring[start..start + first], &ring[..count - first])
}

proptest! {
    #[test]
    fn a_sample_is_read_as_it_was_made(
        layout in layouts(),
        chain in vec(any::<u64>(), 0..20),
        abi in 0_u64..3,
        stack in vec(any::<u8>(), 0..64),
        padding in 0_usize..64,
    ) {
        let made = Made { layout, chain, abi, reserved: stack.len() + padding, stack };
        let bytes = sample(&made);
        let Sample { time, pid, tid, cpu, in_kernel, chain, registers, stack } =
            parse_sample(&bytes, layout).unwrap();
        prop_assert_eq!((time, pid, tid, cpu), (Duration::new(13, 14), 11, 12, 15));
        prop_assert!(in_kernel);
        prop_assert_eq!(chain.len(), if layout.callchain { 8 * made.chain.len() } else { 0 });
        // Registers of 64 bit alone are of use, and without them a stack is not.
        prop_assert_eq!(registers.is_some(), made.abi == 2);
        let whole = layout.user_stack && made.abi == 2;
        prop_assert_eq!(stack, if whole { made.stack.as_slice() } else { &[] });
    }

    #[test]
    fn a_sample_that_is_cut_is_none(
        layout in layouts(),
        chain in vec(any::<u64>(), 0..5),
        abi in 0_u64..3,
        stack in vec(any::<u8>(), 1..30),
        cut in any::<prop::sample::Index>(),
    ) {
        let bytes = sample(&Made { layout, chain, abi, reserved: stack.len(), stack });
        let cut = &bytes[..cut.index(bytes.len())];
        prop_assert_eq!(parse_sample(cut, layout), None);
    }

    #[test]
    fn any_bytes_are_read_without_panic(
        mut bytes in vec(any::<u8>(), 0..400),
        layout in layouts(),
        kind in prop::option::of(0_u32..24),
        start in any::<prop::sample::Index>(),
        count in any::<prop::sample::Index>(),
    ) {
        if let (Some(kind), Some(head)) = (kind, bytes.first_chunk_mut::<4>()) {
            *head = kind.to_ne_bytes();
        }
        parse_record(&bytes, layout);
        parse_sample(&bytes, layout);
        kernel_addresses(&bytes, &mut Vec::new());
        parse_list(&bytes);
        if !bytes.is_empty() {
            let (start, count) = (start.index(bytes.len()), count.index(bytes.len()));
            let (first, second) = pieces(&bytes, start, count);
            let mut scratch = Vec::new();
            match next_record(first, second, &mut scratch) {
                Next::Record(record) => prop_assert!((8..=count).contains(&record.len())),
                Next::End => prop_assert_eq!(count, 0),
                Next::Damaged => prop_assert!(count > 0),
            }
        }
    }

    #[test]
    fn records_come_whole_out_of_a_ring_wherever_it_wraps(
        bodies in vec(vec(any::<u8>(), 0..50), 1..8),
        start in 0_usize..512,
    ) {
        let made: Vec<Vec<u8>> = bodies.iter().map(|body| record(77, 0, body)).collect();
        let mut ring = vec![0_u8; 512];
        for (at, byte) in made.iter().flatten().enumerate() {
            ring[(start + at) % 512] = *byte;
        }
        let end = start + made.iter().map(Vec::len).sum::<usize>();
        let (mut tail, mut scratch, mut read) = (start, Vec::new(), Vec::new());
        loop {
            let (first, second) = pieces(&ring, tail % 512, end - tail);
            match next_record(first, second, &mut scratch) {
                Next::Record(record) => {
                    read.push(record.to_vec());
                    tail += record.len();
                }
                Next::End => break,
                Next::Damaged => panic!("damaged at {tail}"),
            }
        }
        prop_assert_eq!(read, made);
    }
}

#[test]
fn marks_and_foreign_addresses_are_no_kernel_addresses() {
    let chain: Vec<u8> = [7, KERNEL_MARK, 1, 2, USER_MARK, 3, KERNEL_MARK, 4]
        .iter()
        .flat_map(|entry: &u64| entry.to_ne_bytes())
        .collect();
    let mut addresses = Vec::new();
    kernel_addresses(&chain, &mut addresses);
    assert_eq!(addresses, [1, 2, 4]);
}

#[test]
fn losses_and_other_kinds() {
    let layout = SampleLayout {
        callchain: true,
        user_stack: true,
    };
    let lost = [5_u64.to_ne_bytes(), 6_u64.to_ne_bytes()].concat();
    let of = |kind, body: &[u8]| {
        let bytes = record(kind, 0, body);
        format!("{:?}", parse_record(&bytes, layout))
    };
    assert_eq!(of(LOST, &lost), format!("{:?}", Record::Lost(6)));
    assert_eq!(of(LOST, &lost[..9]), format!("{:?}", Record::Damaged));
    assert_eq!(of(THROTTLE, &lost), format!("{:?}", Record::Throttled));
    assert_eq!(of(SAMPLE, &lost), format!("{:?}", Record::Damaged));
    assert_eq!(of(4711, &lost), format!("{:?}", Record::Other));
    assert_eq!(parse_record(&[], layout), Record::Damaged);
}

#[test]
fn a_header_that_cannot_be() {
    let mut scratch = Vec::new();
    let mut short = record(SAMPLE, 0, &[0; 8]);
    short[6] = 7;
    assert_eq!(next_record(&short, &[], &mut scratch), Next::Damaged);
    short[6] = 17;
    assert_eq!(next_record(&short, &[], &mut scratch), Next::Damaged);
    assert_eq!(next_record(&[0; 7], &[], &mut scratch), Next::Damaged);
    assert_eq!(next_record(&[], &[], &mut scratch), Next::End);
}

#[test]
fn lists_of_processors() {
    assert_eq!(
        parse_list(b"0-3,8,10-11\n"),
        Some(vec![0, 1, 2, 3, 8, 10, 11])
    );
    assert_eq!(parse_list(b"0\n"), Some(vec![0]));
    for bad in [&b""[..], b"\n", b"3-1", b"a", b"0-4294967295", b"1,"] {
        assert_eq!(parse_list(bad), None);
    }
}
