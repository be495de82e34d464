//! A log of any bytes: every event lies within what was read, the digest counts each, and blocks make no difference.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sql::digest::{Digester, Options};
use sql::log::{EVENT_BYTES_MAX, LogKind, Reader, Rest, Step};

fn read(kind: LogKind, log: &[u8], step: usize) -> (u64, u64) {
    let mut reader = Reader::new(kind);
    let mut digester = Digester::new(Options::default());
    let (mut from, mut to, mut events) = (0, 0, 0);
    loop {
        let rest = match to < log.len() {
            true if to - from >= EVENT_BYTES_MAX => Rest::NoRoom,
            true => Rest::Follows,
            false => Rest::Nothing,
        };
        match reader.next(&log[from..to], rest) {
            Step::Event(event, used) => {
                assert!(from + used <= to);
                digester.add(&event);
                events += 1;
                from += used.max(1);
            }
            Step::Skipped(used) => from += used.max(1),
            Step::More if to < log.len() => to = (to + step).min(log.len()),
            Step::More => break,
        }
        if from >= to {
            if to >= log.len() {
                break;
            }
            to = (to + step).min(log.len());
        }
    }
    assert_eq!(digester.count(), events);
    (events, reader.stray_bytes())
}

fuzz_target!(|input: &[u8]| {
    let Some((step, log)) = input.split_first() else {
        return;
    };
    for kind in [LogKind::Slow, LogKind::General] {
        assert_eq!(
            read(kind, log, usize::from(*step) + 1),
            read(kind, log, log.len().max(1))
        );
    }
});
