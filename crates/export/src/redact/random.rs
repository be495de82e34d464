//! Runs of letters and digits that are no words: keys, tokens, digests, command lines in hexadecimal digits. Who made
//! them cannot be seen, so all are somebody's, but for addresses of memory and what a program is built of.

use super::forms::Form;
use super::pseudonyms::is_pseudonym;

/// Digits of the largest number that a server counts to.
const NUMBER_DIGITS_MAX: usize = 20;

/// Digits of an address of memory, without `0x` in front.
const ADDRESS_DIGITS: usize = 16;

/// Letters and digits of a part that may be a key.
const PART_CHARS_MIN: usize = 10;

/// Changes between small letters, capitals and digits that no word has.
const CHANGES_MIN: usize = 5;

/// Letters of a word between two changes, on average.
const WORD_CHARS: usize = 3;

/// Bytes of what stands before a run that tell what it is.
const BEFORE_BYTES_MAX: usize = 24;

/// Whether hexadecimal digits are known by their form: a number, an address, a build. `before` stands in front.
pub(super) fn is_known_hex(hex: &str, before: &str) -> bool {
    let digits = hex.bytes().all(|byte| byte.is_ascii_digit());
    if digits && hex.len() <= NUMBER_DIGITS_MAX {
        return true;
    }
    // The kernel's half of the addresses, the programs' half, and what is in a register.
    let lower = hex.to_ascii_lowercase();
    if hex.len() == ADDRESS_DIGITS
        && (lower.starts_with("ffff") || lower.starts_with("0000") || ends_as(before, &REGISTER))
    {
        return true;
    }
    is_none(hex) || ends_as(before, &BUILD)
}

/// All zeros stand for nothing.
pub(super) fn is_none(hex: &str) -> bool {
    hex.bytes().all(|byte| byte == b'0')
}

/// Whether a run is rather a key than words. Names of functions that a compiler made begin with `_Z`.
pub(super) fn is_random(run: &str) -> bool {
    if run.starts_with("_Z") {
        return false;
    }
    let lower = run.to_ascii_lowercase();
    let mut parts = run.split(|c: char| !c.is_ascii_alphanumeric());
    let mut place = 0;
    parts.any(|part| {
        let from = place;
        place += part.len() + 1;
        // What stands for a name was made by chance, too.
        let stands_for_a_name = lower
            .get(..from.saturating_sub(1))
            .and_then(|head| head.rsplit(|c: char| !c.is_ascii_alphabetic()).next())
            .zip(lower.get(from..from + part.len()))
            .is_some_and(|(kind, rest)| is_pseudonym(&format!("{kind}_{rest}")));
        let words = words(part);
        !stands_for_a_name
            && !is_address(part)
            && part.len() >= PART_CHARS_MIN
            && words >= CHANGES_MIN
            && part.len() <= words * WORD_CHARS
    })
}

/// `0x00007f5c3a1b2c4d`
fn is_address(part: &str) -> bool {
    part.strip_prefix("0x").is_some_and(|hex| {
        hex.len() <= ADDRESS_DIGITS && hex.bytes().all(|byte| byte.is_ascii_hexdigit())
    })
}

/// Words of a part: `log0recv` has three, `RecLock` two.
fn words(part: &str) -> usize {
    let class = |byte: u8| match byte {
        b'a'..=b'z' => 1,
        b'A'..=b'Z' => 2,
        _ => 3,
    };
    let bytes = part.bytes();
    let changes = bytes.clone().zip(bytes.skip(1)).filter(|(one, next)| {
        // A capital begins the word of the small letters behind it.
        class(*one) != class(*next) && !(class(*one) == 2 && class(*next) == 1)
    });
    changes.count() + 1
}

// Letters and digits of all languages would take hundreds of KiB in each.
static REGISTER: (Form, &str) = (
    Form::new(),
    r"\b(?:(?:ORIG_)?R(?:[A-D]X|[SD]I|[BSI]P|[0-9][0-9])|[CD]R[0-9]|[FG]S|knlGS|x[0-9]{1,2}|pc|lr|sp|pstate) ?: *$",
);

static BUILD: (Form, &str) = (
    Form::new(),
    r"(?i)\bbuild[ _-]?id(?:\[[0-9A-Za-z_]+\])?[:= ]*$",
);

fn ends_as(before: &str, (compiled, form): &'static (Form, &str)) -> bool {
    let from = before.ceil_char_boundary(before.len().saturating_sub(BEFORE_BYTES_MAX));
    let near = before.get(from..).unwrap_or_default();
    let form = compiled.on(form, near);
    form.is_some_and(|form| form.is_match())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_told_from_words() {
        for key in [
            "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
            "wJ4lrXUtnF9MI7mDeNGbPxRfiC2zE",
            "dXNlcjpwYXNzd29yZDEyMzQ1Ng==",
            "sk-live-51H8xKqLmN0pQrStUvWxYz",
            "x-k4zb9tq71m2wv8",
        ] {
            assert!(is_random(key), "{key}");
        }
        for word in [
            "native_queued_spin_lock_slowpath",
            "entry_SYSCALL_64_after_hwframe",
            "_ZN3THD12enter_condEP13pthread_cond_tP",
            "PolicyMutexTTASEventMutex",
            "buf_flush_page_cleaner_coordinator",
            "one-thread-per-connection",
            "x86_64-linux-gnu",
            "ECDHE-RSA-AES128-GCM-SHA256",
            "utf8mb4_0900_ai_ci",
            "schema_4qp9dj54zb-bin",
            "0x00007f5c3a1b2c4d-0x00007f5c3a1b2c4e",
            "native_queued_spin_lock_slowpath+0x1a2b3c4d5e",
            "10-11-6-MariaDB-0",
            "3306-20261120T234021",
        ] {
            assert!(!is_random(word), "{word}");
        }
    }

    #[test]
    fn addresses_numbers_and_builds_are_known() {
        for (before, hex) in [
            ("at ", "18446744073709551615"),
            ("Call Trace: ", "ffffffff8109ab20"),
            ("RBX: ", "6b6b6b6b6b6b6b6b"),
            ("x19: ", "6b6b6b6b6b6b6b6b"),
            ("BuildID[sha1]=", "d15f5a2e9c1b4a7e8f90d15f5a2e9c1b4a7e8f90"),
            ("build-id: ", "d15f5a2e9c1b4a7e8f90d15f5a2e9c1b4a7e8f90"),
        ] {
            assert!(is_known_hex(hex, before), "{before}{hex}");
        }
        for (before, hex) in [
            ("proctitle=", "6D7973716C002D75726F6F74002D7068756E74657232"),
            ("key ", "6b6b6b6b6b6b6b6b"),
            ("card ", "411111111111111141111111"),
        ] {
            assert!(!is_known_hex(hex, before), "{before}{hex}");
        }
    }
}
