//! Diagnostics of MySQL Shell (`util.debug.collectDiagnostics` and its sisters), which MariaDB Shell
//! has too: a zip of tables, each with the query that brought it.
//!
//! ```text
//! # Query:
//! #    SHOW GLOBAL STATUS
//! #
//! # Started: 2024-08-09T09:53:58.252547
//! # Execution Time: 0.0100 sec
//! #
//! # Variable_name    Value
//! Aborted_clients    0
//! ```
//!
//! Each is written again as `mysql` and the server print the same, with its moment in front, so
//! that the readers of those take it. A table comes twice, as TSV and as YAML; the latter is passed
//! over where the former is there.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::times;

/// What every such file begins with.
const BEGIN: &str = "# Query:\n#\t";

/// Lines of the head that are looked at: a query may be long.
const HEAD_LINES_MAX: usize = 2_000;

/// Whether a file is such a table, as YAML, of which `others` have the same as TSV.
pub(crate) fn is_twin<'a>(
    path: &str,
    text: &str,
    mut others: impl Iterator<Item = &'a str>,
) -> bool {
    is_table(text)
        && path.strip_suffix(".yaml").is_some_and(|stem| {
            others.any(|other| other.strip_suffix(".tsv").is_some_and(|its| its == stem))
        })
}

/// Whether a text is such a table.
pub(crate) fn is_table(text: &str) -> bool {
    text.starts_with(BEGIN)
}

/// The text as `mysql` would have printed it; the same text where it is no such table.
pub(crate) fn as_printed(text: Cow<'_, str>) -> Cow<'_, str> {
    if !is_table(&text) {
        return text;
    }
    match rewritten(&text) {
        Some(rewritten) => Cow::Owned(rewritten),
        None => text,
    }
}

fn rewritten(text: &str) -> Option<String> {
    let mut started = None;
    let mut rest = text;
    let mut columns = None;
    for _ in 0..HEAD_LINES_MAX {
        let Some((line, behind)) = rest.split_once('\n') else {
            break;
        };
        let Some(comment) = line.strip_prefix('#') else {
            break;
        };
        rest = behind;
        if let Some(timestamp) = comment.strip_prefix(" Started: ") {
            started = times::date_ms(timestamp.trim());
        } else if comment.starts_with(' ') && comment.contains('\t') {
            columns = Some(comment.trim_start());
            break;
        }
    }
    let columns: Vec<&str> = columns?.split('\t').map(str::trim).collect();
    let mut out = String::with_capacity(text.len() + 64);
    if let Some(ms) = started {
        let _ = writeln!(
            out,
            "TS {}.{:03} (told by the shell)",
            ms.div_euclid(1000),
            ms.rem_euclid(1000)
        );
    }
    let is = |names: &[&str]| {
        names
            .iter()
            .zip(&columns)
            .all(|(name, column)| name.eq_ignore_ascii_case(column))
            && columns.len() >= names.len()
    };
    // The lines of a log have a form of their own; all others keep their columns.
    if is(&[
        "LOGGED",
        "THREAD_ID",
        "PRIO",
        "ERROR_CODE",
        "SUBSYSTEM",
        "DATA",
    ]) {
        for line in rest.lines() {
            let mut cells = line.splitn(6, '\t');
            let mut cell = || cells.next().unwrap_or_default();
            let (at, thread, level, code, part, data) =
                (cell(), cell(), cell(), cell(), cell(), cell());
            let at = at.replacen(' ', "T", 1);
            let _ = writeln!(out, "{at}Z {thread} [{level}] [{code}] [{part}] {data}");
        }
        return Some(out);
    }
    // `sys.metrics`: the status with small letters, among counters of InnoDB and of memory.
    if is(&["Variable_name", "Variable_value", "Type", "Enabled"]) {
        out.push_str("Variable_name\tValue\n");
        for line in rest.lines() {
            if let [name, value, "Global Status", ..] =
                line.split('\t').collect::<Vec<_>>().as_slice()
            {
                let _ = writeln!(out, "{}\t{value}", capitalised(name));
            }
        }
        return Some(out);
    }
    if is(&["name", "value"]) || is(&["Variable_name", "Variable_value"]) {
        out.push_str("Variable_name\tValue\n");
        for line in rest.lines() {
            let mut cells = line.splitn(3, '\t');
            let (name, value) = (
                cells.next().unwrap_or_default(),
                cells.next().unwrap_or_default(),
            );
            // MariaDB's information_schema has settings in capital letters.
            let name = match is(&["name", "value"]) {
                true => name.to_ascii_lowercase(),
                false => name.to_owned(),
            };
            let _ = writeln!(out, "{name}\t{value}");
        }
        return Some(out);
    }
    out.push_str(&columns.join("\t"));
    out.push('\n');
    out.push_str(rest);
    Some(out)
}

/// `threads_running` as `SHOW STATUS` has it: `Threads_running`. Galera's names are small there, too.
pub(crate) fn capitalised(name: &str) -> String {
    let mut letters = name.chars();
    match letters.next() {
        Some(first) if !name.starts_with("wsrep_") => {
            first.to_ascii_uppercase().to_string() + letters.as_str()
        }
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_printed_as_mysql_prints_them() {
        let head = "# Query:\n#\tSHOW GLOBAL STATUS\n#\n# Started: 2024-08-09T09:53:58.252547\n\
            # Execution Time: 0.0100 sec\n#\n";
        let text = format!("{head}# Variable_name\tValue\nUptime\t5\n");
        assert_eq!(
            as_printed(text.into()),
            "TS 1723197238.252 (told by the shell)\nVariable_name\tValue\nUptime\t5\n"
        );
        let text = format!("{head}# name\tvalue\tsource\nport\t3306\tCOMPILED\n");
        assert!(as_printed(text.into()).ends_with("\nVariable_name\tValue\nport\t3306\n"));
        let text = format!("{head}# name\tvalue\nINNODB_PAGE_SIZE\t16384\n");
        assert!(
            as_printed(text.into()).ends_with("\nVariable_name\tValue\ninnodb_page_size\t16384\n")
        );
        let text = format!(
            "{head}# Variable_name\tVariable_value\tType\tEnabled\nthreads_running\t9\tGlobal Status\tYES\n\
             wsrep_local_recv_queue\t2\tGlobal Status\tYES\nlock_timeouts\t0\tInnoDB Metrics - lock\tYES\n"
        );
        assert!(
            as_printed(text.into()).ends_with(
                "\nVariable_name\tValue\nThreads_running\t9\nwsrep_local_recv_queue\t2\n"
            )
        );
        let text = format!(
            "{head}# LOGGED\tTHREAD_ID\tPRIO\tERROR_CODE\tSUBSYSTEM\tDATA\n\
             2024-08-09 09:50:37.123456\t0\tWarning\tMY-010055\tServer\tA\tB\n"
        );
        assert!(
            as_printed(text.into())
                .ends_with("\n2024-08-09T09:50:37.123456Z 0 [Warning] [MY-010055] [Server] A\tB\n")
        );
    }

    #[test]
    fn other_texts_stay() {
        for text in [
            "",
            "# Query:\n",
            "# Query:\n#\tSELECT 1\nname: x\n",
            "Uptime\t5\n",
        ] {
            assert_eq!(as_printed(text.into()), text);
        }
        assert!(is_twin(
            "a/x.yaml",
            "# Query:\n#\tx",
            ["a/y.tsv", "a/x.tsv"].into_iter()
        ));
        assert!(!is_twin(
            "a/x.yaml",
            "# Query:\n#\tx",
            ["b/x.tsv"].into_iter()
        ));
        assert!(!is_twin("a/x.yaml", "name: x", ["a/x.tsv"].into_iter()));
    }
}
