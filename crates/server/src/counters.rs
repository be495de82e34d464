//! The statement mix by the server's own counters: the difference of two readings of `Com_…`. Pure.
//!
//! Every server has them, they cost nothing but the status that is read anyway, and they are right where statements
//! last for long: a statement is counted when it starts. They tell kinds and nothing else.

use std::collections::HashMap;

use model::{Absent, OrderBy, QueryClass, QueryDigest, QueryMethod, Reason};

/// Counters of commands of the protocol, which bring statements or serve them and are none: what a `Com_stmt_execute`
/// executes is counted under its own kind as well (sql/sql_prepare.cc, `mysqld_stmt_execute` and
/// `Prepared_statement::execute`).
const COMMANDS: [(&str, &str); 9] = [
    ("admin_commands", "ADMIN COMMAND"),
    ("stmt_prepare", "STMT PREPARE"),
    ("stmt_execute", "STMT EXECUTE"),
    ("stmt_close", "STMT CLOSE"),
    ("stmt_reset", "STMT RESET"),
    ("stmt_fetch", "STMT FETCH"),
    ("stmt_reprepare", "STMT REPREPARE"),
    ("stmt_send_long_data", "STMT SEND LONG DATA"),
    ("multi", "MULTI COMMAND"),
];

/// Statements that the counters name otherwise than people write them.
const NAMES: [(&str, &str); 8] = [
    ("call_procedure", "CALL"),
    ("change_db", "USE"),
    ("dealloc_sql", "DEALLOCATE PREPARE"),
    ("execute_sql", "EXECUTE"),
    ("prepare_sql", "PREPARE"),
    ("set_option", "SET"),
    ("slave_start", "START SLAVE"),
    ("slave_stop", "STOP SLAVE"),
];

/// What was asked between two readings of `SHOW GLOBAL STATUS`, by kind: most first. The maps have status variables by
/// their names; what is no `Com_` counter is not looked at, but for `Uptime`, which tells a restart.
///
/// Commands of prepared statements (kinds that begin with `STMT`) and administrative commands are classes of their own
/// and not in the total: the statements that they execute are there under their own kinds.
pub fn statement_mix(
    before: &HashMap<String, f64>,
    after: &HashMap<String, f64>,
    from_us: Option<i64>,
    to_us: Option<i64>,
) -> QueryDigest {
    let uptime = |map: &HashMap<String, f64>| map.get("Uptime").copied();
    let restarted = uptime(after) < uptime(before);
    let mut emptied = false;
    let mut classes: Vec<QueryClass> = Vec::new();
    for (name, value) in after {
        let Some(counter) = name.strip_prefix("Com_") else {
            continue;
        };
        let old = before
            .get(name)
            .copied()
            .filter(|_| !restarted)
            .unwrap_or(0.0);
        // A counter that fell was set to zero in between (FLUSH STATUS): what it has now came after that.
        let is_emptied = *value < old;
        emptied |= is_emptied;
        let count = if is_emptied { *value } else { value - old };
        // Not a number, or none.
        if count.is_finite() && count >= 1.0 {
            classes.push(class(counter, count as u64));
        }
    }
    classes.order_by(|a, b| b.count.cmp(&a.count).then_with(|| a.kind.cmp(&b.kind)));
    let is_statement = |class: &&QueryClass| !COMMANDS.iter().any(|(_, kind)| *kind == class.kind);
    let mut blind = vec![Absent::new(
        "statements",
        Reason::Unsupported,
        "counters know kinds of statements only: no single statements, times, errors or users",
    )];
    if restarted || emptied {
        blind.push(Absent::new(
            "statement counters",
            Reason::Gone,
            "the server was restarted or its status was reset meanwhile: statements before that are missing",
        ));
    }
    QueryDigest {
        tried: Vec::new(),
        method: QueryMethod::StatementCounters,
        from_us,
        to_us,
        count: classes
            .iter()
            .filter(is_statement)
            .map(|class| class.count)
            .fold(0, u64::saturating_add),
        errors: None,
        classes,
        folded: None,
        lost: 0,
        blind,
        connections: None,
    }
}

fn class(counter: &str, count: u64) -> QueryClass {
    let named = COMMANDS
        .iter()
        .chain(&NAMES)
        .find(|(name, _)| *name == counter);
    let kind = named.map_or_else(
        || counter.replace('_', " ").to_ascii_uppercase(),
        |(_, kind)| (*kind).to_owned(),
    );
    let fingerprint = kind.to_ascii_lowercase();
    QueryClass {
        id: sql::fingerprint_id(&fingerprint),
        fingerprint,
        kind,
        count,
        ..QueryClass::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(values: &[(&str, f64)]) -> HashMap<String, f64> {
        values
            .iter()
            .map(|(name, value)| ((*name).to_owned(), *value))
            .collect()
    }

    fn counts(digest: &QueryDigest) -> Vec<(&str, u64)> {
        digest
            .classes
            .iter()
            .map(|class| (class.kind.as_str(), class.count))
            .collect()
    }

    #[test]
    fn kinds_are_ranked_and_named_as_people_write_them() {
        let before = status(&[
            ("Uptime", 100.0),
            ("Com_select", 5.0),
            ("Com_show_warnings", 7.0),
            ("Com_set_option", 1.0),
        ]);
        let after = status(&[
            ("Uptime", 101.0),
            ("Com_select", 15.0),
            ("Com_show_warnings", 76_007.0),
            ("Com_set_option", 1.0),
            ("Com_insert_select", 2.0),
            ("Com_call_procedure", 1.0),
            ("Questions", 1e6),
        ]);
        let mix = statement_mix(&before, &after, Some(1), Some(2));
        assert_eq!(
            counts(&mix),
            [
                ("SHOW WARNINGS", 76_000),
                ("SELECT", 10),
                ("INSERT SELECT", 2),
                ("CALL", 1)
            ]
        );
        assert_eq!(mix.count, 76_013);
        assert_eq!(mix.classes[0].fingerprint, "show warnings");
        assert_eq!(mix.classes[0].id, sql::fingerprint_id("show warnings"));
        assert_eq!(
            (mix.method, mix.from_us, mix.to_us),
            (QueryMethod::StatementCounters, Some(1), Some(2))
        );
        assert_eq!(mix.blind.len(), 1);
    }

    #[test]
    fn an_executed_statement_is_counted_once() {
        let before = status(&[]);
        let after = status(&[
            ("Com_stmt_prepare", 1.0),
            ("Com_stmt_execute", 9.0),
            ("Com_select", 9.0),
            ("Com_admin_commands", 4.0),
        ]);
        let mix = statement_mix(&before, &after, None, None);
        assert_eq!(mix.count, 9);
        assert_eq!(
            counts(&mix),
            [
                ("SELECT", 9),
                ("STMT EXECUTE", 9),
                ("ADMIN COMMAND", 4),
                ("STMT PREPARE", 1)
            ]
        );
    }

    #[test]
    fn a_restart_and_an_emptied_counter_are_seen() {
        let before = status(&[("Uptime", 100.0), ("Com_select", 50.0)]);
        let restarted = status(&[("Uptime", 3.0), ("Com_select", 60.0)]);
        let mix = statement_mix(&before, &restarted, None, None);
        assert_eq!((mix.count, mix.blind.len()), (60, 2));
        let emptied = status(&[("Uptime", 101.0), ("Com_select", 4.0)]);
        let mix = statement_mix(&before, &emptied, None, None);
        assert_eq!((mix.count, mix.blind.len()), (4, 2));
    }

    #[test]
    fn what_is_no_number_counts_nothing() {
        let before = status(&[("Com_update", 1.0)]);
        let after = status(&[
            ("Com_select", f64::NAN),
            ("Com_update", f64::NAN),
            ("Com_delete", f64::INFINITY),
        ]);
        let mix = statement_mix(&before, &after, None, None);
        assert_eq!(counts(&mix), []);
        let after = status(&[("Com_select", 1e300), ("Com_update", 1e300)]);
        assert_eq!(statement_mix(&before, &after, None, None).count, u64::MAX);
    }
}
