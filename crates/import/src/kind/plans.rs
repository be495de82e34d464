//! What the server says of one statement: `EXPLAIN` and `SHOW PROFILE`.

use super::place::{Place, sign};
use super::{cells, is_variable, is_vertical_row, vertical_name};

/// `EXPLAIN` as a table, in the form of `\G`, as a tree or as JSON.
const PLAN: &str = "plan of a statement (EXPLAIN)";
/// `SHOW PROFILE`: the stages of a statement that somebody ran for it.
pub(crate) const STAGES: &str = "stages of one statement (SHOW PROFILE)";
/// `SHOW PROFILES`: the last statements of one session.
const STATEMENTS: &str = "durations of a session's statements (SHOW PROFILES)";

/// Stages that nearly every statement has; rows are known by one of them among the next.
const COMMON: [&str; 12] = [
    "starting",
    "checking permissions",
    "Opening tables",
    "System lock",
    "init",
    "optimizing",
    "statistics",
    "preparing",
    "executing",
    "query end",
    "freeing items",
    "cleaning up",
];

/// What a line begins, or belongs to.
pub(super) fn plan_of(at: &Place<'_>) -> Option<&'static str> {
    let (text, next) = (at.text, at.next);
    if is_vertical_row(text) {
        let mut fields = next.iter().filter_map(|line| vertical_name(line.trim()));
        let is_plan = fields.any(|(name, _)| name == "select_type" || name == "EXPLAIN");
        return is_plan.then_some(PLAN);
    }
    let is = |cell: &str, name: &str| cell.eq_ignore_ascii_case(name);
    match at.cells() {
        [id, kind, table, ..] if is(id, "id") && is(kind, "select_type") && is(table, "table") => {
            return Some(PLAN);
        }
        [status, duration, ..] if is(status, "Status") && is(duration, "Duration") => {
            return Some(STAGES);
        }
        [id, duration, query]
            if is(id, "Query_ID") && is(duration, "Duration") && is(query, "Query") =>
        {
            return Some(STATEMENTS);
        }
        _ => {}
    }
    if is_step(text) || text.starts_with("\"query_block\": {") {
        return Some(PLAN);
    }
    let is_common =
        |line: &&str| stage(line.trim()).is_some_and(|(name, _)| COMMON.contains(&name));
    let is_stage = at.has(sign::TABLE | sign::DOT)
        && stage(text).is_some()
        && std::iter::once(&text).chain(next).any(is_common);
    is_stage.then_some(STAGES)
}

/// `-> Table scan on t  (cost=10.2 rows=100) (actual time=0.1..2.3 rows=100 loops=1)`.
fn is_step(text: &str) -> bool {
    if !text.starts_with(['|', 'E', '-']) {
        return false;
    }
    let text = text.trim_start_matches(['|', ' ']);
    let text = text.strip_prefix("EXPLAIN: ").unwrap_or(text);
    text.starts_with("->")
        && ["(cost=", "(actual time="]
            .iter()
            .any(|word| text.contains(word))
}

/// `| Opening tables | 0.000029 |`: the stage and its seconds, always with six digits.
pub(crate) fn stage(text: &str) -> Option<(&str, f64)> {
    let (name, seconds) = match cells(text).as_slice() {
        [name, seconds, ..] => (*name, *seconds),
        _ => return None,
    };
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic()) && !is_variable(name);
    let (whole, part) = seconds.split_once('.')?;
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_duration = is_number(whole) && is_number(part) && part.len() == 6;
    (is_name && is_duration).then_some((name, seconds.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(text: &str, next: &[&str]) -> Option<&'static str> {
        plan_of(&Place::new(text, text, next))
    }

    #[test]
    fn forms_of_both() {
        for (text, what) in [
            ("| id | select_type | table | type |", PLAN),
            ("id\tselect_type\ttable\tpartitions", PLAN),
            ("-> Limit: 10 row(s)  (cost=1.2 rows=10)", PLAN),
            (
                "| -> Nested loop inner join  (actual time=0.1..2 rows=1 loops=1)",
                PLAN,
            ),
            ("EXPLAIN: -> Table scan on t  (cost=10.2 rows=100)", PLAN),
            ("\"query_block\": {", PLAN),
            ("| Status | Duration |", STAGES),
            ("Status\tDuration\tCPU_user", STAGES),
            ("| Opening tables | 0.000029 |", STAGES),
            ("| Query_ID | Duration | Query |", STATEMENTS),
        ] {
            assert_eq!(plan(text, &[]), Some(what), "{text}");
        }
        let rare = "| Repair by sorting | 0.020695 |";
        assert_eq!(plan(rare, &[]), None);
        assert_eq!(plan(rare, &["| query end | 0.000003 |"]), Some(STAGES));
        for text in [
            "| wsrep_flow_control_paused | 0.984000 |",
            "| init | 0.98 |",
            "-> then restart it (cost: none)",
            "| id | User | Host |",
        ] {
            assert_eq!(plan(text, &[]), None, "{text}");
        }
    }
}
