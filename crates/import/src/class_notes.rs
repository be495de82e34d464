//! Classes of statements that somebody showed to others, without what he wrote behind a statement in its line.

use model::QueryDigest;

/// Longest part of a name that says nothing, as `r` and `ops` of `InnoDB_IO_r_ops`, in bytes.
const PART_BYTES_MAX: usize = 3;

/// Leaves it out, and numbers whose names no server has: a line of a head may have a note behind it. Of a class nothing else
/// is known where its statement was none as it stood.
pub(crate) fn leave_out(digest: &mut QueryDigest) {
    let is_part = |part: &str| part.len() <= PART_BYTES_MAX || server_text::is_message_word(part);
    for class in &mut digest.classes {
        class
            .measures
            .retain(|measure| measure.name.split('_').all(is_part));
        let kept = sql::without_remark(&class.fingerprint).len();
        if kept < class.fingerprint.len() {
            class.fingerprint.truncate(kept);
            class.id = sql::fingerprint_id(&class.fingerprint);
            class.compat_id = None;
            class.sample = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use model::{QueryClass, QueryMeasure, QueryMethod};

    use super::*;

    #[test]
    fn numbers_with_names_that_no_server_has_are_none() {
        let measures = ["Query_time", "InnoDB_IO_r_ops", "hunter2", "Alice_said"];
        let class = QueryClass {
            measures: measures
                .map(|name| QueryMeasure {
                    name: name.to_owned(),
                    ..QueryMeasure::default()
                })
                .into(),
            ..QueryClass::default()
        };
        let mut digest = QueryDigest {
            method: QueryMethod::SlowLog,
            from_us: None,
            to_us: None,
            count: 1,
            errors: None,
            classes: vec![class],
            folded: None,
            lost: 0,
            blind: Vec::new(),
            tried: Vec::new(),
            connections: None,
        };
        leave_out(&mut digest);
        let measures = digest.classes[0].measures.iter();
        let left: Vec<&str> = measures.map(|measure| measure.name.as_str()).collect();
        assert_eq!(left, ["Query_time", "InnoDB_IO_r_ops"]);
    }
}
