//! The search for names in rows, after they were made: the one that an export is searched with, too.

use std::collections::HashSet;

use export::redact::{Leak, Names};

use super::Refused;
use crate::batch::Batch;
use crate::table::Table;
use crate::tables::{HOSTS, INCIDENTS};
use crate::value::Value;

/// Columns that hold what the owner finds a server and its file by, and the digest of the file.
const KEPT: [(&Table, &[&str]); 2] = [
    (&HOSTS, &["host", "label", "cluster", "labels"]),
    (&INCIDENTS, &["frame_key", "frame_sha256", "name"]),
];

/// Texts that are remembered. With more, those of now are: a minute has some hundred, nearly always the same.
const CLEAN_MAX: usize = 4_096;

/// Refuses rows in which a name stands that was replaced, or what by its form can only be somebody's.
pub(super) fn check(batch: &Batch, names: &Names) -> Result<(), Refused> {
    check_by(batch, &mut |text| names.find_in_text(text.as_bytes()))
}

/// The same, but for texts in which these names were searched for before and nothing was found. `clean` has those.
pub(super) fn check_new(
    batch: &Batch,
    names: &Names,
    clean: &mut HashSet<String>,
) -> Result<(), Refused> {
    if clean.len() > CLEAN_MAX {
        clean.clear();
    }
    check_by(batch, &mut |text| {
        if clean.contains(text) {
            return None;
        }
        let leak = names.find_in_text(text.as_bytes());
        if leak.is_none() {
            clean.insert(text.to_owned());
        }
        leak
    })
}

/// `look` finds a name in a text.
fn check_by(batch: &Batch, look: &mut dyn FnMut(&str) -> Option<Leak>) -> Result<(), Refused> {
    for of_table in batch.tables() {
        let table = of_table.table;
        for (place, column) in table.columns.iter().enumerate() {
            let is_kept = |(kept, columns): &(&Table, &[&str])| {
                kept.name == table.name && columns.contains(&column.name)
            };
            if KEPT.iter().any(is_kept) {
                continue;
            }
            let values = of_table.rows.iter().filter_map(|row| row.get(place));
            if let Some(leak) = values.into_iter().find_map(|value| find(value, look)) {
                return Err(Refused::Leak {
                    leak,
                    table: table.name,
                    column: column.name,
                });
            }
        }
    }
    Ok(())
}

fn find(value: &Value, look: &mut dyn FnMut(&str) -> Option<Leak>) -> Option<Leak> {
    match value {
        Value::Text(text) => look(text),
        Value::List(values) => values.iter().find_map(|value| find(value, look)),
        Value::Map(pairs) => pairs
            .iter()
            .find_map(|(key, value)| find(key, look).or_else(|| find(value, look))),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use model::Incident;

    use super::*;
    use crate::batch::Token;
    use crate::row::HealthRow;

    fn batch(absent: &[&str]) -> Batch {
        let mut batch = Batch::new(Token::default());
        batch.push(&HealthRow {
            absent: absent.iter().map(|text| (*text).to_owned()).collect(),
            ..HealthRow::default()
        });
        batch
    }

    fn names() -> Names {
        let incident = Incident {
            id: "3306-20261130T150000.000Z".to_owned(),
            host: "carolyn-db".to_owned(),
            ..Incident::default()
        };
        export::redact::redact(&incident, b"salt", "")
            .unwrap()
            .names
    }

    #[test]
    fn what_is_clean_is_remembered_and_a_name_is_refused_each_time() {
        let (names, mut clean) = (names(), HashSet::new());
        for _ in 0..2 {
            assert_eq!(check_new(&batch(&["stacks"]), &names, &mut clean), Ok(()));
            for leak in ["on carolyn-db", "db-7.acme.corp"] {
                let with = batch(&["stacks", leak]);
                assert!(check(&with, &names).is_err(), "{leak}");
                assert_eq!(
                    check_new(&with, &names, &mut clean),
                    check(&with, &names),
                    "{leak}"
                );
                assert!(!clean.contains(leak));
            }
        }
        assert!(clean.contains("stacks"));
    }

    #[test]
    fn not_more_is_remembered_than_has_a_bound() {
        let (names, mut clean) = (names(), HashSet::new());
        for number in 0..CLEAN_MAX + 10 {
            let text = format!("source {number}");
            check_new(&batch(&[&text]), &names, &mut clean).unwrap();
        }
        assert!(!clean.is_empty() && clean.len() < CLEAN_MAX);
    }
}
