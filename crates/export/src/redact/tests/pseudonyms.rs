//! What stands for a name, and names that look like it.

use super::super::{pseudonym, redact};
use super::blank;

#[test]
fn an_account_with_a_number_is_no_pseudonym() {
    let mut incident = blank();
    incident.stall.triggers.push(model::Trigger {
        rule: "user".to_owned(),
        says: "user=user_4916123456 of `schema_2026112900`.`table_0123456789`".to_owned(),
    });
    let redacted = redact(&incident, b"0123456789abcdef", "").unwrap().incident;
    let says = &redacted.stall.triggers[0].says;
    for name in ["4916123456", "2026112900", "0123456789"] {
        assert!(!says.contains(name), "{name}: {says}");
    }
}

#[test]
fn each_pseudonym_has_a_letter() {
    for number in 0..200_000 {
        let made = pseudonym(b"salt", "user", &number.to_string());
        let (_, letters) = made.split_once('_').unwrap();
        assert!(letters.contains(|c: char| c.is_ascii_lowercase()), "{made}");
    }
}
