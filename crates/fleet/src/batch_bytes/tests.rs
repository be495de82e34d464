#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use proptest::prelude::*;

use super::*;
use crate::row::{
    Day, FrameRow, Hash64, IncidentId, Phase, QueryRow, Row, Seconds, SignalRow, StackKind,
    StackRow,
};
use crate::tables;

fn signal(ts: i64, seconds: Vec<f64>) -> SignalRow {
    SignalRow {
        host_id: Hash64(u64::MAX - 7),
        signal: "vmstat.compact_stall".to_owned(),
        ts: Seconds(ts),
        n: 60,
        min: 0.5,
        max: 1e9,
        mean: 3.25,
        seconds,
    }
}

fn token() -> Token {
    Token {
        host_id: 1,
        boot: u64::MAX,
        seq: 300,
    }
}

/// Rows of several tables with every type that a column has.
fn sample() -> Batch {
    let mut batch = Batch::new(token());
    batch.push(&signal(1_795_843_380, vec![1.0, 2.5, -0.0]));
    batch.push(&signal(1_795_843_320, Vec::new()));
    batch.push(&StackRow {
        host_id: Hash64(3),
        incident_id: IncidentId([9; 16]),
        ts: Seconds(0),
        phase: Phase::Stall,
        kind: StackKind::LockWait,
        stack_id: Hash64(1 << 63),
        samples: u32::MAX,
        ns: u64::MAX,
    });
    batch.push(&QueryRow {
        hist: vec![(0, 5), (7, 1)],
        ..QueryRow::default()
    });
    batch.push(&FrameRow {
        frame_id: Hash64(5),
        build_id: String::new(),
        offset: 0,
        module: "mariadbd".to_owned(),
        function: "naïve::read".to_owned(),
        seen: Day(20_000),
    });
    batch
}

#[test]
fn a_batch_reads_back() {
    let bytes = to_bytes(&sample()).unwrap();
    assert_eq!(length(&bytes).unwrap(), bytes.len());
    let back = from_bytes(&bytes).unwrap();
    assert_eq!(back, sample());
    assert_eq!(to_bytes(&back).unwrap(), bytes, "the same bytes each time");
}

#[test]
fn every_cut_and_every_changed_byte_is_refused() {
    let bytes = to_bytes(&sample()).unwrap();
    for end in 0..bytes.len() {
        assert!(from_bytes(&bytes[..end]).is_err(), "cut at {end}");
    }
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 0x10;
        assert!(from_bytes(&changed).is_err(), "byte {at}");
    }
    let longer = [bytes.as_slice(), b"x"].concat();
    assert!(matches!(from_bytes(&longer), Err(BatchError::Damaged(_))));
    assert_eq!(from_bytes(b"{}"), Err(BatchError::NotABatch));
}

/// A content with a head that fits it.
fn packed(content: &[u8]) -> Vec<u8> {
    let mut body = DeflateEncoder::new(Vec::new(), Compression::fast());
    body.write_all(content).unwrap();
    let body = body.finish().unwrap();
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&(body.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&(content.len() as u32).to_le_bytes());
    let crc = checksum(&bytes[4..12], &body);
    bytes.extend_from_slice(&crc.to_le_bytes());
    bytes.extend_from_slice(&body);
    bytes
}

fn head(tables: u64) -> Vec<u8> {
    let mut content = Vec::new();
    put_varint(VERSION, &mut content);
    content.extend_from_slice(&[0; 16]);
    put_varint(0, &mut content);
    put_varint(tables, &mut content);
    content
}

#[test]
fn what_a_newer_program_wrote_is_told_as_that() {
    let mut newer = Vec::new();
    put_varint(2, &mut newer);
    let told = from_bytes(&packed(&newer)).unwrap_err().to_string();
    assert!(told.contains("newer freezeframe"), "{told}");

    let mut table = head(1);
    put_text("moods", &mut table);
    let told = from_bytes(&packed(&table)).unwrap_err().to_string();
    assert!(told.contains("table 'moods'"), "{told}");

    let mut columns = head(1);
    put_text("hosts", &mut columns);
    put_varint(99, &mut columns);
    put_varint(0, &mut columns);
    let told = from_bytes(&packed(&columns)).unwrap_err().to_string();
    assert!(told.contains("further columns of table 'hosts'"), "{told}");
}

#[test]
fn columns_that_an_older_program_did_not_know_are_empty() {
    let mut content = head(1);
    put_text("query_texts", &mut content);
    put_varint(2, &mut content);
    put_varint(1, &mut content);
    content.extend_from_slice(&7u64.to_le_bytes());
    put_text("SELECT ?", &mut content);
    let batch = from_bytes(&packed(&content)).unwrap();
    assert_eq!(
        batch.rows_of(&tables::QUERY_TEXTS),
        [vec![
            Value::Unsigned(7),
            Value::Text("SELECT ?".to_owned()),
            Value::Signed(0)
        ]]
    );
}

#[test]
fn a_few_bytes_never_ask_for_much_memory() {
    let mut rows = head(1);
    put_text("hosts", &mut rows);
    put_varint(1, &mut rows);
    put_varint(u64::MAX >> 1, &mut rows);
    assert!(matches!(
        from_bytes(&packed(&rows)),
        Err(BatchError::TooLarge(_))
    ));
    let mut list = head(1);
    put_text("stack_frames", &mut list);
    put_varint(3, &mut list);
    put_varint(1, &mut list);
    list.extend_from_slice(&[0; 8]);
    put_varint(1_000_000, &mut list);
    assert!(matches!(
        from_bytes(&packed(&list)),
        Err(BatchError::Damaged(_))
    ));
}

#[test]
fn a_row_that_does_not_fit_is_not_written() {
    let mut batch = Batch::new(token());
    let mut values = signal(5, Vec::new()).values();
    values[3] = Value::Unsigned(256);
    batch.push_values(&tables::SIGNALS, values);
    assert_eq!(to_bytes(&batch), Err(BatchError::WrongRow("signals")));
}

#[test]
fn signals_take_less_than_a_byte_a_second() {
    let mut batch = Batch::new(token());
    for minute in 0..60 {
        batch.push(&signal(1_795_843_320 + minute * 60, vec![17.0; 60]));
    }
    let bytes = to_bytes(&batch).unwrap();
    assert!(bytes.len() < 60 * 60, "{} bytes", bytes.len());
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = from_bytes(&bytes);
        let _ = from_bytes(&packed(&bytes));
        let _ = from_bytes(&packed(&[head(2), bytes].concat()));
    }

    #[test]
    fn signals_read_back(rows in prop::collection::vec(
        (0i64..4_294_967_295, prop::collection::vec(-1e300f64..1e300, 0..61)), 0..20)
    ) {
        let mut batch = Batch::new(token());
        for (ts, seconds) in rows {
            batch.push(&signal(ts, seconds));
        }
        prop_assert_eq!(from_bytes(&to_bytes(&batch).unwrap()).unwrap(), batch);
    }
}
