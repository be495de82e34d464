//! The name of a class: a number made of its fingerprint.

use std::fmt;

use twox_hash::XxHash3_64;

/// A class of statements: the XXH3 (64 bits, seed 0) of its fingerprint's bytes. The same on every machine, in every
/// thread and in every release.
///
/// Its text is our identity of the class: 16 hexadecimal digits in lower case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassKey(u64);

impl ClassKey {
    /// The class that has this fingerprint.
    pub fn of_fingerprint(fingerprint: &str) -> Self {
        Self(XxHash3_64::oneshot(fingerprint.as_bytes()))
    }
}

impl fmt::Display for ClassKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Our identity of the class that has this fingerprint: 16 hexadecimal digits in lower case, the XXH3 (64 bits, seed 0)
/// of its bytes. People keep it in tables and dashboards, so it never changes between releases unless the fingerprint
/// does.
///
/// ```
/// assert_eq!(sql::fingerprint_id(""), "2d06800538d394c2");
/// ```
pub fn fingerprint_id(fingerprint: &str) -> String {
    ClassKey::of_fingerprint(fingerprint).to_string()
}
