//! `performance_schema.threads` as a processlist.

use model::Taken;
use server::Row;

use crate::read::Rows;

/// The sessions of clients, as a processlist has them.
pub(super) fn processlist(rows: &Rows) -> Taken {
    let names: std::rc::Rc<[String]> = [
        "id", "user", "host", "db", "command", "time", "state", "info",
    ]
    .map(str::to_owned)
    .into();
    let columns = [
        "processlist_id",
        "processlist_user",
        "processlist_host",
        "processlist_db",
        "processlist_command",
        "processlist_time",
        "processlist_state",
        "processlist_info",
    ];
    let list: Vec<Row> = rows
        .each(columns)
        // The server's own threads have no number there.
        .filter(|[id, ..]| !id.is_empty())
        .map(|values| Row::new(names.clone(), values.map(str::to_owned).to_vec()))
        .collect();
    match list.is_empty() {
        true => Taken::default(),
        false => server::processlist_taken(&list, &[]),
    }
}
