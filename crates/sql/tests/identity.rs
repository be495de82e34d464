//! Identities are kept in people's tables: these never change.

use sql::{ClassKey, fingerprint_id};

#[test]
fn identities_never_change() {
    let long = "a, ".repeat(100);
    for (fingerprint, id) in [
        // From the original library, 0.8.1; one for each of its ways by length.
        ("", "2d06800538d394c2"),
        ("select ?", "61a0463a1c92eb55"),
        ("select c from sbtest1 where id = ?", "ac097a728ea7a9ea"),
        (
            "select a, b from t where c in (?+) and d between ? and ? order by e limit ?, ? for update skip locked -- 128 bytes and a few more than that",
            "8ae66a88a6a01fdd",
        ),
        (long.as_str(), "2e44d6be5c9971a5"),
    ] {
        assert_eq!(fingerprint_id(fingerprint), id, "{fingerprint}");
        assert_eq!(ClassKey::of_fingerprint(fingerprint).to_string(), id);
    }
}
