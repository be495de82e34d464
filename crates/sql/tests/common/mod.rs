//! What the property tests share.

use proptest::test_runner::Config;

/// This many cases, or as many as `PROPTEST_CASES` says, for a longer search. Failures are told, not kept in files.
pub fn cases(usual: u32) -> Config {
    let cases = std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|cases| cases.parse().ok());
    Config {
        cases: cases.unwrap_or(usual),
        failure_persistence: None,
        ..Config::default()
    }
}
