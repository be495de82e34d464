//! What sessions do.

use super::super::pseudonyms::Pseudonyms;
use super::super::{series, sessions, states};
use super::{blank, shown};

/// A table in a statement that was taken for a list of sessions.
#[test]
fn commands_and_states_are_the_servers_or_other_names() {
    let session = |command: &str, state: &str| {
        serde_json::json!({
            "id": 1, "user": "root", "host": "localhost", "db": "", "command": command, "seconds": 1.0, "state": state,
            "statement": "",
        })
    };
    let list = serde_json::json!({
        "sessions": 3,
        "by_command": {"Berlin": 1, "Query": 2},
        "by_state": {"030123": 1, "Waiting for Alice Miller": 1, "Opening tables": 1},
        "by_user": {}, "by_class": {"select": 2, "vip": 1},
        "longest": [
            session("Berlin", "030123"),
            session("Binlog Dump GTID", "Waiting for Alice Miller"),
            session("Group Replicatio", "wsrep: write set replicated (1234)"),
        ],
    });
    let blank = blank();
    let mut pseudonyms = Pseudonyms::new(&blank, b"salt", "");
    let renamed = sessions::rename(&mut pseudonyms, &list.to_string());
    let list: serde_json::Value = serde_json::from_str(&renamed).unwrap();
    let told = |place: usize, key: &str| shown(list["longest"][place][key].as_str().unwrap());
    assert_eq!(
        (told(0, "command"), told(0, "state")),
        ("<name>".to_owned(), "<name>".to_owned())
    );
    assert_eq!(told(1, "command"), "Binlog Dump GTID");
    assert_eq!(told(1, "state"), "Waiting for <name> <name>");
    assert_eq!(told(2, "command"), "Group Replicatio");
    assert_eq!(told(2, "state"), "wsrep: write set replicated (1234)");
    for gone in ["Berlin", "030123", "Alice", "Miller", "vip"] {
        assert!(!renamed.contains(gone), "{gone}: {renamed}");
    }
    assert!(renamed.contains("\"Opening tables\":1") && renamed.contains("\"select\":2"));
}

#[test]
fn states_of_the_servers_stay() {
    let long = "Slave has read all relay log; waiting for the slave I/O thread t";
    for state in [
        "Waiting for table metadata lock",
        "Waiting for global read lock",
        "converting HEAP to ondisk",
        "Write_rows_log_event::write_row(-1)",
        "Has read all relay log; waiting for the slave I/O thread to upda",
        "Repair by sorting",
        "wsrep applier committed",
        "altering table",
        "login",
        "",
        long,
    ] {
        let blank = blank();
        let mut pseudonyms = Pseudonyms::new(&blank, b"salt", "");
        assert_eq!(states::state(&mut pseudonyms, state), state);
        let name = model::ProcessList::signal("state", state);
        assert_eq!(
            states::signal(&mut pseudonyms, &name).as_deref(),
            Some(name.as_str())
        );
    }
    for (given, expected) in [
        (
            "processlist.command.Binlog_Dump",
            "processlist.command.Binlog_Dump",
        ),
        ("processlist.command.none", "processlist.command.none"),
        ("processlist.command.Berlin", "processlist.command.<name>"),
        ("processlist.state.030123", "processlist.state.<name>"),
        (
            "processlist.class.show_warnings",
            "processlist.class.show_warnings",
        ),
        ("processlist.class.vip", "processlist.class.<name>"),
        // Redacted before.
        (
            "processlist.state.name_4qp9dj54zb",
            "processlist.state.<name>",
        ),
        ("processlist.sessions", "processlist.sessions"),
    ] {
        let blank = blank();
        let mut pseudonyms = Pseudonyms::new(&blank, b"salt", "");
        assert_eq!(shown(&series::rename(&mut pseudonyms, given)), expected);
    }
}
