//! What stands for a name, and names that look like it.

use super::super::pseudonyms::{NameKind, Pseudonyms};
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

/// A name is looked for within words, and the rule of an import is one.
#[test]
fn a_name_that_is_a_part_of_our_own_word_is_looked_for_beside_it() {
    let incident = blank();
    let mut pseudonyms = Pseudonyms::new(&incident, b"salt", "");
    pseudonyms.name(NameKind::Name, "importe");
    pseudonyms.learn();
    let names = pseudonyms.into_names();
    assert!(names.find(model::Stall::IMPORTED.as_bytes()).is_none());
    assert!(names.find(b"sum(importe)").is_some());
}
