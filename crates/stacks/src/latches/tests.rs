//! Reading InnoDB's latches, against memory that is laid out as the servers lay it out.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::*;

/// Memory by the begin of each piece.
#[derive(Default)]
struct Fake(RefCell<BTreeMap<u64, Vec<u8>>>);

impl Fake {
    fn piece(&self, at: u64, bytes: usize) {
        self.0.borrow_mut().insert(at, vec![0; bytes]);
    }

    fn put(&self, at: u64, number: u64, bytes: usize) {
        let mut pieces = self.0.borrow_mut();
        let (start, piece) = pieces.range_mut(..=at).next_back().unwrap();
        let from = (at - start) as usize;
        piece[from..from + bytes].copy_from_slice(&number.to_le_bytes()[..bytes]);
    }
}

impl Peek for Fake {
    fn peek(&self, address: u64, bytes: &mut [u8]) -> bool {
        let pieces = self.0.borrow();
        let Some((start, piece)) = pieces.range(..=address).next_back() else {
            return false;
        };
        let from = (address - start) as usize;
        let Some(part) = piece.get(from..from.saturating_add(bytes.len())) else {
            return false;
        };
        bytes.copy_from_slice(part);
        true
    }
}

const ARRAY_AT: u64 = 0x1000;
const CELLS_AT: u64 = 0x2000;
const LOCK_AT: u64 = 0x9000;
const EVENT: u64 = 0xa000;
const NEXT_EVENT: u64 = 0xb000;
const WAITER: u64 = 0x7000_0100;
const WRITER: u64 = 0x7000_0200;

/// A server of MySQL 5.5 in which a thread asks to read `dict_operation_lock` and a writer has it.
fn mysql_5_5() -> (Fake, Latches) {
    let fake = Fake::default();
    fake.piece(0x100, 8);
    fake.put(0x100, ARRAY_AT, 8);
    fake.piece(ARRAY_AT, 32);
    fake.put(ARRAY_AT, 1, 8);
    fake.put(ARRAY_AT + 8, 1000, 8);
    fake.put(ARRAY_AT + 16, CELLS_AT, 8);
    fake.piece(CELLS_AT, 80 * 64);
    let cell = CELLS_AT + 3 * 80;
    for (at, number) in [(0, LOCK_AT), (24, 352), (48, WAITER), (56, 1)] {
        fake.put(cell + at, number, 8);
    }
    fake.piece(LOCK_AT, 120);
    for (at, number) in [(8, 1), (16, 1), (24, WRITER), (32, EVENT), (40, NEXT_EVENT)] {
        fake.put(LOCK_AT + at, number, 8);
    }
    let latches = Latches::find(|name| match name {
        "sync_primary_wait_array" => Some(0x100),
        "dict_operation_lock" => Some(LOCK_AT),
        _ => None,
    });
    (fake, latches.unwrap())
}

fn look(fake: &Fake, latches: &mut Latches) -> Vec<LatchWait> {
    latches.read_before(fake);
    latches.read_after(fake);
    latches.take_waits()
}

fn wait(owner: u64) -> Vec<LatchWait> {
    vec![LatchWait {
        waiter: WAITER,
        event: EVENT,
        owner,
    }]
}

#[test]
fn a_writer_of_5_5_is_known_and_its_lock_has_its_name() {
    let (fake, mut latches) = mysql_5_5();
    assert_eq!(look(&fake, &mut latches), wait(WRITER));
    assert!(latches.take_waits().is_empty(), "once for each look");
    let latch = Latch {
        address: LOCK_AT,
        name: Some("dict_operation_lock"),
    };
    // The mutex; the condition's words of glibc since 2.41 and before, on x86-64.
    let of_condition = EVENT_FUTEXES.map(|at| NEXT_EVENT + at);
    for place in [EVENT, EVENT + EVENT_FUTEXES[1] + 4]
        .into_iter()
        .chain(of_condition)
    {
        assert_eq!(latches.at(place), Some(latch), "{place:#x}");
    }
    assert_eq!(latches.at(EVENT + 40), None);
    let wait = wait(WRITER)[0];
    for (at, expected) in [
        (88, true),
        (92, true),
        (96, true),
        (100, true),
        (80, false),
        (104, false),
    ] {
        if cfg!(target_arch = "x86_64") {
            assert_eq!(wait.is_at(EVENT + at), expected, "{at}");
        }
    }
}

#[test]
fn nobody_is_named_where_the_words_do_not_fit_together() {
    for (what, at, number) in [
        ("readers have it, no writer", LOCK_AT, 0xf_fffe),
        ("nobody has it", LOCK_AT, 0x10_0000),
        (
            "the flag of waiters is down: it was given up",
            LOCK_AT + 8,
            0,
        ),
        (
            "the writer's id is not valid (asynchronous read)",
            LOCK_AT + 16,
            0,
        ),
        ("a value that a flag never has", LOCK_AT + 16, 7),
        ("no writer", LOCK_AT + 24, 0),
        ("not a lock word", LOCK_AT, 0x7f00_0000_0000),
    ] {
        let (fake, mut latches) = mysql_5_5();
        fake.put(at, number, 8);
        let waits = look(&fake, &mut latches);
        assert!(
            waits.iter().all(|wait| wait.owner == 0),
            "{what}: {waits:?}"
        );
    }
    for (what, at, number) in [
        ("a mutex", 24, 354),
        ("it does not wait yet", 56, 0),
        ("unaligned", 0, LOCK_AT + 1),
    ] {
        let (fake, mut latches) = mysql_5_5();
        fake.put(CELLS_AT + 3 * 80 + at, number, 8);
        assert!(look(&fake, &mut latches).is_empty(), "{what}");
    }
}

#[test]
fn a_writer_that_was_not_there_before_the_threads_were_looked_at_is_not_named() {
    let (fake, mut latches) = mysql_5_5();
    fake.put(LOCK_AT + 24, WRITER + 8, 8);
    latches.read_before(&fake);
    fake.put(LOCK_AT + 24, WRITER, 8);
    latches.read_after(&fake);
    assert_eq!(latches.take_waits(), wait(0));
    // Nor one whose lock nobody waited for then, as far as it is not remembered.
    let (fake, mut latches) = mysql_5_5();
    fake.put(ARRAY_AT, 0, 8);
    latches.read_before(&fake);
    fake.put(ARRAY_AT, 1, 8);
    latches.read_after(&fake);
    assert_eq!(latches.take_waits(), wait(0));
    // At the next look it is.
    fake.put(ARRAY_AT, 0, 8);
    latches.read_before(&fake);
    fake.put(ARRAY_AT, 1, 8);
    latches.read_after(&fake);
    assert_eq!(latches.take_waits(), wait(WRITER));
}

#[test]
fn the_next_writer_waits_on_another_event_and_for_readers() {
    let (fake, mut latches) = mysql_5_5();
    fake.put(CELLS_AT + 3 * 80 + 24, 353, 8);
    fake.put(LOCK_AT, (-1_i64) as u64, 8);
    fake.put(LOCK_AT + 24, WAITER, 8);
    let expected = LatchWait {
        waiter: WAITER,
        event: NEXT_EVENT,
        owner: 0,
    };
    assert_eq!(look(&fake, &mut latches), [expected]);
}

/// A server of MySQL 9 with two tables of waits, in the second of which a thread makes `request`
/// at a lock of this word.
fn mysql_9(request: u64, word: i32) -> (Fake, Latches) {
    let fake = Fake::default();
    fake.piece(0x100, 16);
    fake.put(0x100, 0x200, 8);
    fake.put(0x108, 2, 8);
    fake.piece(0x200, 16);
    fake.put(0x200, 0x800, 8);
    fake.put(0x208, ARRAY_AT, 8);
    fake.piece(0x800, 24);
    fake.piece(ARRAY_AT, 24);
    fake.put(ARRAY_AT, 1, 8);
    fake.put(ARRAY_AT + 8, 200, 8);
    fake.put(ARRAY_AT + 16, CELLS_AT, 8);
    fake.piece(CELLS_AT, 72 * 200);
    // Behind the cells that are read first.
    let cell = CELLS_AT + 70 * 72;
    for (at, number, bytes) in [
        (0, LOCK_AT, 8),
        (8, request, 8),
        (32, WAITER, 8),
        (40, 1, 1),
    ] {
        fake.put(cell + at, number, bytes);
    }
    // What the padding holds does not count.
    fake.put(cell + 41, 0xdead, 2);
    fake.piece(LOCK_AT, 120);
    for (at, number, bytes) in [
        (0, u64::from(word as u32), 4),
        (4, 1, 1),
        (5, 1, 1),
        (6, 0xffff, 2),
        (16, WRITER, 8),
        (24, WRITER + 64, 8),
        (32, EVENT, 8),
        (40, NEXT_EVENT, 8),
    ] {
        fake.put(LOCK_AT + at, number, bytes);
    }
    let latches = Latches::find(|name| match name {
        "sync_wait_array" => Some(0x100),
        "sync_array_size" => Some(0x108),
        _ => None,
    });
    (fake, latches.unwrap())
}

#[test]
fn owners_of_mysql_9_are_those_that_are_in_the_way() {
    const UPDATE: i32 = 0x1000_0000;
    for (request, word, owner) in [
        // Written: in the way of all.
        (4, 0, WRITER),
        (5, 0, WRITER),
        (2, 0, WRITER),
        // Written again by the same thread, and with readers that a writer waits for.
        (5, -0x2000_0000, WRITER),
        (4, -2, WRITER),
        // Held for an update: readers may, writers may not.
        (5, UPDATE, WRITER),
        (2, UPDATE - 3, WRITER),
        (4, UPDATE, 0),
        // Readers only.
        (5, 0x2000_0000 - 1, 0),
        // The next writer waits for one reader, whose id is there, or for several.
        (3, -1, WRITER + 64),
        (3, -2, 0),
    ] {
        let (fake, mut latches) = mysql_9(request, word);
        let waits = look(&fake, &mut latches);
        let event = if request == 3 { NEXT_EVENT } else { EVENT };
        let expected = LatchWait {
            waiter: WAITER,
            event,
            owner,
        };
        assert_eq!(waits, [expected], "request {request}, word {word:#x}");
    }
}

#[test]
fn a_table_that_is_nonsense_costs_little_and_tells_nothing() {
    let (fake, mut latches) = mysql_5_5();
    fake.put(ARRAY_AT, u64::MAX, 8);
    fake.put(ARRAY_AT + 8, u64::MAX, 8);
    // It ends where memory does.
    assert_eq!(look(&fake, &mut latches), wait(WRITER));
    fake.put(ARRAY_AT + 16, u64::MAX - 7, 8);
    assert!(look(&fake, &mut latches).is_empty());
    fake.put(0x100, 0, 8);
    assert!(look(&fake, &mut latches).is_empty());
    assert!(Latches::find(|_| None).is_none());
}
