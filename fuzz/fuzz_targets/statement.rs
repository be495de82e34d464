//! A statement of any bytes: the quick way tells the class that the slow way tells, and a fingerprint is its own.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sql::{ClassKey, Fingerprinter, SqlMode};

fuzz_target!(|statement: &[u8]| {
    let text = String::from_utf8_lossy(statement);
    let fingerprint = sql::fingerprint(&text);
    let mut quick = Fingerprinter::new(SqlMode::default());
    for _ in 0..2 {
        assert_eq!(
            quick.class_of(statement),
            ClassKey::of_fingerprint(&fingerprint)
        );
    }
    let _ = sql::redact_in_any_mode(&text);
    let _ = sql::statement_class(&text);
    let _ = sql::compat::compat_checksum(statement);
});
