//! `performance_schema.threads`, and the views of the sys schema on it, as a processlist.

use model::SourceData;
use server::Row;

use crate::read::rows::Rows;
use crate::session_values::known_state;

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
            let values = [id, user, host, db, command, time, state, info];
            Row::new(names.clone(), &values)
        })
        .collect();
    match list.is_empty() {
        true => SourceData::default(),
        false => server::pasted_processlist_taken(&list, &[], known_state),
    }
}
