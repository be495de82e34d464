//! `performance_schema.threads`, and the views of the sys schema on it, as a processlist.

use model::SourceData;
use server::Row;

use crate::read::rows::Rows;
use crate::session_values::{field_value, known_state};

/// The columns of the table, in the order of a processlist.
const TABLE: [&str; 8] = [
    "processlist_id",
    "processlist_user",
    "processlist_host",
    "processlist_db",
    "processlist_command",
    "processlist_time",
    "processlist_state",
    "processlist_info",
];

/// The same of `sys.processlist` and `sys.session`, which have the host in the user's.
const VIEW: [&str; 8] = [
    "conn_id",
    "user",
    "host",
    "db",
    "command",
    "time",
    "state",
    "current_statement",
];

/// The sessions of clients, as a processlist has them.
pub(super) fn processlist(rows: &Rows) -> SourceData {
    let names: std::rc::Rc<[String]> = [
        "id", "user", "host", "db", "command", "time", "state", "info",
    ]
    .map(str::to_owned)
    .into();
    let is_view = rows.columns.iter().any(|name| name == "conn_id");
    let columns = match is_view {
        true => VIEW,
        false => TABLE,
    };
    let list: Vec<Row> = rows
        .each(columns)
        // The server's own threads have no number there.
        .filter(|[id, ..]| !id.is_empty())
        .map(|[id, user, host, db, command, time, state, info]| {
            // Only the views cut statements.
            let info = match is_view {
                true => super::before_cut(info),
                false => info,
            };
            let (user, host) = (field_value("user", user), field_value("host", host));
            let db = field_value("db", db);
            let values = [id, user, host, db, command, time, state, info];
            Row::new(names.clone(), &values)
        })
        .collect();
    match list.is_empty() {
        true => SourceData::default(),
        false => server::pasted_processlist_taken(&list, &[], known_state),
    }
}

#[cfg(test)]
mod tests {
    use crate::{Input, import};

    #[test]
    fn what_is_noted_behind_a_field_is_none_of_it() {
        let row = "*************************** 1. row ***************************\n\
            THREAD_ID: 40\nNAME: thread/sql/one_connection\nTYPE: FOREGROUND\nPROCESSLIST_ID: 5\n\
            PROCESSLIST_USER: app  <-- Alice, hunter2\nPROCESSLIST_HOST: web1  // hunter2\nPROCESSLIST_DB: shop  # hunter2\n\
            PROCESSLIST_COMMAND: Query\nPROCESSLIST_TIME: 40\nPROCESSLIST_STATE: updating  <-- hunter2\n\
            PROCESSLIST_INFO: update orders set a = 1\n";
        let bytes = row.as_bytes();
        let incident = import(&[Input { path: "x", bytes }]).incident;
        let kept = format!("{incident:?}");
        for word in ["hunter2", "Alice"] {
            assert!(!kept.contains(word), "{word}: {kept}");
        }
        assert!(
            kept.contains("web1") && kept.contains("update orders set a = ?"),
            "{kept}"
        );
    }
}
