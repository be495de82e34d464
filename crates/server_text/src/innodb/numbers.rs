//! Numbers inside InnoDB's sentences.

/// The unsigned number that begins `text`, after blanks.
pub(super) fn leading_u64(text: &str) -> Option<u64> {
    let text = text.trim_start();
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    text.get(..end)?.parse().ok()
}

/// The decimal number that begins `text`, after blanks (`0.0000`, `13.000`, `241`).
pub(super) fn leading_f64(text: &str) -> Option<f64> {
    let text = text.trim_start();
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    text.get(..end)?.parse().ok()
}

/// The number after the first `key`: `u64_after("LRU len: 5, unzip", "LRU len:")` is 5.
pub(super) fn u64_after(text: &str, key: &str) -> Option<u64> {
    leading_u64(text.split_once(key)?.1)
}

/// The number directly before the first `key`: `u64_before("3 row lock(s)", " row lock")` is 3.
pub(super) fn u64_before(text: &str, key: &str) -> Option<u64> {
    let before = text.split_once(key)?.0;
    let digits = before.rsplit(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

/// Like [`u64_before`], with a fraction.
pub(super) fn f64_before(text: &str, key: &str) -> Option<f64> {
    let before = text.split_once(key)?.0;
    let digits = before
        .rsplit(|c: char| !c.is_ascii_digit() && c != '.')
        .next()?;
    digits.parse().ok()
}

/// A log sequence number: one decimal number, or up to MySQL 5.1 its two halves of 32 bits,
/// the higher first (`log0log.c`: `"%lu %lu"`).
pub(super) fn lsn(text: &str) -> Option<u64> {
    let mut words = text.split_whitespace();
    let first: u64 = words.next()?.parse().ok()?;
    match words.next() {
        None => Some(first),
        Some(low) => two_halves(first, low.parse().ok()?),
    }
}

/// A transaction number: decimal (5.6 and later), two decimal halves (5.0 and 5.1), or
/// hexadecimal (InnoDB plugin and 5.5; `trx0types.h`: `TRX_ID_FMT`).
///
/// Digits alone may be either; `hex` says which the rest of the text speaks for.
pub(super) fn trx_number(text: &str, hex: bool) -> Option<u64> {
    let mut words = text.split_whitespace();
    let first = words.next()?;
    if let Some(low) = words.next() {
        return two_halves(first.parse().ok()?, low.parse().ok()?);
    }
    let hex = hex || first.bytes().any(|b| b.is_ascii_alphabetic());
    u64::from_str_radix(first, if hex { 16 } else { 10 }).ok()
}

fn two_halves(high: u64, low: u64) -> Option<u64> {
    let high = u32::try_from(high).ok()?;
    let low = u32::try_from(low).ok()?;
    Some(u64::from(high) << 32 | u64::from(low))
}

/// The number of an operating system thread: decimal, or hexadecimal behind `0x`
/// (5.5 and 5.6 print `OS thread handle 0x…`, all others decimals).
pub(super) fn os_thread(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => text.parse().ok(),
    }
}

/// A number of pending operations: `48`, `0 [0, 0]` (the sum is in front), or from 5.7 on
/// `[5, 0]` (the sum is not printed). An empty place is no number.
pub(super) fn sum_of_slots(text: &str) -> Option<u64> {
    let text = text.trim_start();
    let Some(slots) = text.strip_prefix('[') else {
        return leading_u64(text);
    };
    let slots = slots.split_once(']').map_or(slots, |(slots, _)| slots);
    slots
        .split(',')
        .map(|slot| slot.trim().parse::<u64>().ok())
        .try_fold(0_u64, |sum, slot| sum.checked_add(slot?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_beside_words() {
        assert_eq!(
            u64_after("Pending flushes (fsync) log: 1; x", "log:"),
            Some(1)
        );
        assert_eq!(u64_before("9 lock struct(s)", " lock struct"), Some(9));
        assert_eq!(u64_before("é9 lock struct(s)", " lock struct"), Some(9));
        assert_eq!(u64_before("é lock struct(s)", " lock struct"), None);
        assert_eq!(
            f64_before("96814.19 hash searches/s", " hash"),
            Some(96814.19)
        );
        assert_eq!(u64_before("99999999999999999999 reads", " reads"), None);
    }

    #[test]
    fn log_sequence_numbers_of_both_generations() {
        assert_eq!(lsn(" 117 902114477"), Some(117 << 32 | 902_114_477));
        assert_eq!(lsn("          33120497"), Some(33_120_497));
        assert_eq!(lsn(""), None);
        assert_eq!(lsn("1 99999999999"), None);
    }

    #[test]
    fn transaction_numbers_of_all_generations() {
        assert_eq!(trx_number("0 61205520", false), Some(61_205_520));
        assert_eq!(trx_number("E7A20B94C", false), Some(0xE_7A20_B94C));
        assert_eq!(trx_number("500", true), Some(0x500));
        assert_eq!(trx_number("1907744", false), Some(1_907_744));
    }

    #[test]
    fn slots_are_summed_when_the_server_does_not() {
        assert_eq!(sum_of_slots(" 100 [5, 7]"), Some(100));
        assert_eq!(sum_of_slots(" [5, 7, 0]"), Some(12));
        assert_eq!(sum_of_slots(""), None);
        assert_eq!(sum_of_slots(", log i/o's:"), None);
    }
}
