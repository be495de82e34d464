//! The history's encoding of values.
//!
//! Of the real signals of a server one in eight changes from second to second, and most are whole
//! numbers that grow. So a tick holds only what changed, as differences in variable-length
//! integers. Every minute begins anew with all values, so that any minute can be read, or
//! deleted, by itself.
//!
//! # Chunks, byte by byte
//!
//! ```text
//! payload = tick*                                  until the bytes end
//! tick    = varint source                          source.id
//!           varint at_ms                           when, milliseconds of the session's clock
//!           varint n                               how many changes follow
//!           change × n
//! change  = varint step                            signal.id minus that of the change before; for the first, signal.id itself
//!           varint word                            tag = word & 3, rest = word >> 2
//!           8 bytes                                only with tag 1
//! ```
//!
//! A *varint* is an unsigned number of up to 64 bits, seven bits a byte, the lowest first; the highest bit of a byte
//! is set when another byte follows. A reader keeps, for each source, the values of its signals; a `fresh` chunk
//! empties all of them first. After the changes of a tick all values of its source are those of the tick: what did
//! not change is not written.
//!
//! | tag | | new value |
//! |---|---|---|
//! | 0 | integer | base + difference |
//! | 3 | decimal | (base + difference) / 10,000 |
//! | 1 | raw | the 8 bytes after `word`, a little-endian IEEE 754 double; `rest` is 0 |
//! | 2 | absent | none: the signal has no value from here on; `rest` is 0 |
//!
//! The *difference* is `rest` by zigzag: `(rest >> 1) ^ -(rest & 1)`. The *base* is the signal's value before, times
//! the scale (1 for tag 0, 10,000 for tag 3), rounded to the nearest integer, halves away from zero. It is 0 instead
//! when there is no value before, when that integer divided by the scale is not exactly the value, when it is 2^50 or
//! more in absolute value, and when the value is −0.
//!
//! The first two ticks of the query probe (source 12; signals 188 `probe.query_us`, 189 `probe.query_outcome`):
//!
//! ```text
//! 0c           source 12
//! 0b           at 11 ms
//! 02           2 changes
//! bc 01        signal 188
//! c0 ce 02     word 42816: tag 0, rest 10704, difference 5352  → 5352 µs
//! 01           signal 189
//! 00           word 0: tag 0, difference 0                      → 0, answered
//!
//! 0c c9 01 01  source 12, at 201 ms, 1 change
//! bc 01        signal 188
//! a4 c7 02     word 41892: tag 0, rest 10473, difference −5237 → 115 µs; signal 189 is still 0
//! ```

/// Numbers up to this are exact in an `f64`, and differences of two fit the encoding.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

/// Shares and seconds with up to four decimals are stored as integers of this scale.
const DECIMAL_SCALE: f64 = 10_000.0;

/// Signals of one source at the most; a timeline keeps a quarter of it of all.
const SIGNALS_MAX: usize = 65_536;

const TAG_INTEGER: u64 = 0;
const TAG_RAW: u64 = 1;
const TAG_ABSENT: u64 = 2;
const TAG_DECIMAL: u64 = 3;

/// The last values of one source's signals, rising by signal id; what encoder and decoder agree on.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct LastValues(Vec<(u32, f64)>);

/// Appends one tick of a source: the signals that are new, changed or gone since the last one. `values` rise by their ids,
/// which are different.
pub(crate) fn encode_tick(last: &mut LastValues, values: &[(u32, f64)], out: &mut Vec<u8>) {
    // A status has some sixty changes of two to four bytes.
    let mut changes = Vec::with_capacity(values.len());
    let mut count = 0_u64;
    let mut previous_id = 0;
    let mut put = |id: u32, before: Option<f64>, value: Option<f64>| {
        count += 1;
        put_varint(u64::from(id - previous_id), &mut changes);
        previous_id = id;
        match value {
            Some(value) => put_value(before, value, &mut changes),
            None => put_varint(TAG_ABSENT, &mut changes),
        }
    };
    let mut before = last.0.iter().copied().peekable();
    for (id, value) in values.iter().copied() {
        while let Some((gone, _)) = before.next_if(|(other, _)| *other < id) {
            put(gone, None, None);
        }
        let was = before.next_if(|(other, _)| *other == id);
        let was = was.map(|(_, value)| value);
        if was != Some(value) {
            put(id, was, Some(value));
        }
    }
    for (gone, _) in before {
        put(gone, None, None);
    }
    put_varint(count, out);
    out.append(&mut changes);
    last.0.clear();
    last.0.extend_from_slice(values);
}

/// Reads one tick back into `last`. `None` when the bytes end early or make no sense.
pub(crate) fn decode_tick(last: &mut LastValues, input: &mut &[u8]) -> Option<()> {
    let count = take_varint(input)?;
    let mut id = 0u32;
    for _ in 0..count {
        id = id.checked_add(u32::try_from(take_varint(input)?).ok()?)?;
        let place = last.place(id);
        let before = place.ok().and_then(|at| last.0.get(at));
        let value = take_value(before.map(|(_, value)| *value), input)?;
        match (place, value) {
            (Ok(at), Some(value)) => {
                if let Some(known) = last.0.get_mut(at) {
                    known.1 = value;
                }
            }
            (Ok(at), None) => {
                last.0.remove(at);
            }
            (Err(at), Some(value)) => last.0.insert(at, (id, value)),
            (Err(_), None) => {}
        }
        if last.0.len() > SIGNALS_MAX {
            return None;
        }
    }
    Some(())
}

impl LastValues {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn get(&self, id: u32) -> Option<f64> {
        let at = self.place(id).ok()?;
        self.0.get(at).map(|(_, value)| *value)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, f64)> + '_ {
        self.0.iter().copied()
    }

    /// Where a signal is, or would be. The first chunk of a minute brings them one behind the other.
    fn place(&self, id: u32) -> Result<usize, usize> {
        match self.0.last() {
            Some((last, _)) if *last >= id => self.0.binary_search_by_key(&id, |(id, _)| *id),
            _ => Err(self.0.len()),
        }
    }
}

fn put_value(last: Option<f64>, value: f64, out: &mut Vec<u8>) {
    let last = last.unwrap_or(0.0);
    for (tag, scale) in [(TAG_INTEGER, 1.0), (TAG_DECIMAL, DECIMAL_SCALE)] {
        if let Some(now) = scaled(value, scale) {
            put_varint(zigzag(now - base(last, scale)) << 2 | tag, out);
            return;
        }
    }
    put_varint(TAG_RAW, out);
    out.extend_from_slice(&value.to_le_bytes());
}

fn take_value(last: Option<f64>, input: &mut &[u8]) -> Option<Option<f64>> {
    let word = take_varint(input)?;
    let last = last.unwrap_or(0.0);
    let scale = match word & 3 {
        TAG_INTEGER => 1.0,
        TAG_DECIMAL => DECIMAL_SCALE,
        TAG_RAW => {
            let (bytes, rest) = input.split_first_chunk::<8>()?;
            *input = rest;
            return Some(Some(f64::from_le_bytes(*bytes)));
        }
        _ => return Some(None),
    };
    let now = base(last, scale).checked_add(unzigzag(word >> 2))?;
    Some(Some(now as f64 / scale))
}

/// The value as an integer of the given scale, when nothing is lost by that.
fn scaled(value: f64, scale: f64) -> Option<i64> {
    let integer = (value * scale).round();
    let same = integer / scale == value && (value != 0.0 || value.is_sign_positive());
    (same && integer.abs() < EXACT_MAX / 8.0).then_some(integer as i64)
}

/// What both sides take as the base of a difference: the last value, or 0 when it does not fit.
fn base(last: f64, scale: f64) -> i64 {
    scaled(last, scale).unwrap_or(0)
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn unzigzag(value: u64) -> i64 {
    (value >> 1) as i64 ^ -((value & 1) as i64)
}

pub(crate) fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(crate) fn take_varint(input: &mut &[u8]) -> Option<u64> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = input.split_first()?;
        *input = rest;
        value |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_value() -> impl Strategy<Value = f64> {
        prop_oneof![
            (0u64..1 << 53).prop_map(|value| value as f64),
            (-100_000i64..100_000).prop_map(|value| value as f64 / DECIMAL_SCALE),
            any::<f64>().prop_filter("absence is not a value", |value| !value.is_nan()),
        ]
    }

    proptest! {
        #[test]
        fn ticks_read_back(ticks in prop::collection::vec(
            prop::collection::btree_map(0u32..40, any_value(), 0..30), 1..8)
        ) {
            let (mut last, mut bytes) = (LastValues::default(), Vec::new());
            let ticks: Vec<Vec<(u32, f64)>> =
                ticks.into_iter().map(|tick| tick.into_iter().collect()).collect();
            for tick in &ticks {
                encode_tick(&mut last, tick, &mut bytes);
            }
            let (mut last, mut input) = (LastValues::default(), &bytes[..]);
            for tick in &ticks {
                decode_tick(&mut last, &mut input).unwrap();
                prop_assert_eq!(&last.0, tick);
            }
            prop_assert!(input.is_empty());
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let mut input = &bytes[..];
            let mut last = LastValues::default();
            while decode_tick(&mut last, &mut input).is_some() && !input.is_empty() {}
        }
    }

    #[test]
    fn an_unchanged_tick_is_one_byte() {
        let values = [(3, 5.0), (70_000, 1e15)];
        let (mut last, mut bytes) = (LastValues::default(), Vec::new());
        encode_tick(&mut last, &values, &mut bytes);
        let first = bytes.len();
        encode_tick(&mut last, &values, &mut bytes);
        assert_eq!(bytes.len(), first + 1);
    }
}
