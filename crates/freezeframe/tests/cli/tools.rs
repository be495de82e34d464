//! Archives of other tools: the diagnostics of MySQL Shell, replays of dolphie.

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::harness::run;

fn explained(path: &Path) -> Value {
    let output = run(&["explain", path.to_str().unwrap(), "--json"]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A zip of files that are stored as they are (APPNOTE 4.3.7).
fn zip(files: &[(&str, String)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (name, content) in files {
        let size = u32::try_from(content.len()).unwrap().to_le_bytes();
        let length = u16::try_from(name.len()).unwrap().to_le_bytes();
        bytes.extend(b"PK\x03\x04\x14\0\0\0\0\0\0\0\0\0\0\0\0\0");
        bytes.extend(size);
        bytes.extend(size);
        bytes.extend(length);
        bytes.extend([0, 0]);
        bytes.extend(name.as_bytes());
        bytes.extend(content.as_bytes());
    }
    bytes
}

/// A table as MySQL Shell's `dump_query` writes it.
fn table(query: &str, second: u32, rows: &str) -> String {
    format!(
        "# Query:\n#\t{query}\n#\n# Started: 2026-11-20T23:30:{second:02}.252547\n# Execution Time: 0.0100 sec\n#\n{rows}"
    )
}

fn waiting(from: u32) -> String {
    (from..from + 12)
        .map(|id| {
            format!("{id}\tapp\tweb:{id}\tshop\tQuery\t90\tWaiting for table metadata lock\tINSERT INTO orders VALUES (5)\n")
        })
        .collect()
}

#[test]
fn diagnostics_of_mysql_shell() {
    let processlist = format!(
        "# Id\tUser\tHost\tdb\tCommand\tTime\tState\tInfo\n{}4\tdba\tlocalhost\tshop\tQuery\t99\tWaiting for table metadata lock\tALTER TABLE orders ADD b INT\n",
        waiting(10)
    );
    let status = |questions: u32| {
        format!(
            "# Variable_name\tValue\nQuestions\t{questions}\nThreads_running\t14\nUptime\t{}\n",
            9000 + questions
        )
    };
    let files = [
        (
            "d/0.SHOW_FULL_PROCESSLIST.tsv",
            table("SHOW FULL PROCESSLIST", 5, &processlist),
        ),
        (
            "d/0.SHOW_FULL_PROCESSLIST.yaml",
            table(
                "SHOW FULL PROCESSLIST",
                5,
                "Command: Query\nId: 10\nState: Waiting for table metadata lock\n---\n",
            ),
        ),
        (
            "d/0.SHOW_GLOBAL_STATUS.tsv",
            table("SHOW GLOBAL STATUS", 6, &status(100)),
        ),
        (
            "d/0.global_variables.tsv",
            table(
                "SELECT g.variable_name name, g.variable_value value",
                4,
                "# name\tvalue\tsource\nmax_connections\t151\tCOMPILED\nversion\t8.4.0\tCOMPILED\nsync_binlog\t1\tGLOBAL\n",
            ),
        ),
        ("d/shell_info.yaml", "version: 8.4.0\n".to_owned()),
    ];
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("mysql-diagnostics-20261120-233005.zip");
    std::fs::write(&path, zip(&files)).unwrap();
    let verdict = explained(&path);
    assert_eq!(verdict["findings"][0]["cause"], "mdl-pileup");
    assert_eq!(verdict["incident"]["server"]["version"], "8.4.0");
    // The shell's own times are the incident's.
    let trigger = verdict["incident"]["trigger"].as_str().unwrap();
    assert!(trigger.starts_with("2026-11-20T23:30:05.25"), "{trigger}");
    let sources = verdict["sources"].to_string();
    assert!(sources.contains("13 sessions"), "{sources}");
    assert!(
        sources.contains("the same table is there as .tsv"),
        "{sources}"
    );
}

/// zstd with a dictionary, as dolphie packs; absent where the tool is not installed.
fn zstd(dir: &Path, arguments: &[&str]) -> Option<()> {
    match Command::new("zstd")
        .current_dir(dir)
        .args(arguments)
        .output()
    {
        Ok(output) => {
            assert!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
            Some(())
        }
        Err(error) => {
            eprintln!("skipped: zstd: {error}");
            None
        }
    }
}

/// What dolphie records of a second, in part.
fn document(second: u64) -> String {
    let sessions: Vec<Value> = (10..30)
        .map(|id| {
            json!({"id": id, "mysql_thread_id": id + 40, "user": "app", "host": format!("10.0.0.{id}"), "db": "shop",
                "command": "Query", "time": 30 + second, "state": "Waiting for table metadata lock",
                "query": format!("INSERT INTO orders VALUES ({id})"), "trx_state": ""})
        })
        .chain([json!({"id": 5, "user": "dba", "host": "localhost", "db": "shop", "command": "Query", "time": 40 + second,
            "state": "Waiting for table metadata lock", "query": "ALTER TABLE orders\nADD b INT"})])
        .collect();
    json!({
        "global_status": {"Uptime": 900 + second, "Questions": 5000 + second, "Threads_running": 22, "Com_insert": 900},
        "global_variables": {"version": "8.0.36", "max_connections": 151, "read_only": false},
        "processlist": sessions,
        "metric_manager": {"datetimes": [], "_delta": true},
    })
    .to_string()
}

#[test]
fn replays_of_dolphie() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    for second in 0..20 {
        std::fs::write(at(&format!("{second}.json")), document(second)).unwrap();
    }
    let samples: Vec<String> = (0..20).map(|second| format!("{second}.json")).collect();
    let mut train = vec!["-q", "--train", "--maxdict=4096", "-o", "dict"];
    train.extend(samples.iter().map(String::as_str));
    if zstd(dir.path(), &train).is_none() {
        return;
    }
    let path = at("daemon.db");
    let replay = rusqlite::Connection::open(&path).unwrap();
    replay
        .execute_batch(
            "CREATE TABLE replay_data (id INTEGER PRIMARY KEY AUTOINCREMENT, timestamp DATETIME, data BLOB);
             CREATE TABLE metadata (schema_version INTEGER DEFAULT 1, host VARCHAR(255), port INTEGER, host_distro VARCHAR(255),
                connection_source VARCHAR(255), dolphie_version VARCHAR(255), compression_dict BLOB);",
        )
        .unwrap();
    let dictionary = std::fs::read(at("dict")).unwrap();
    replay
        .execute(
            "INSERT INTO metadata VALUES (2, 'db7', 3306, 'MySQL', 'MySQL', '6.0', ?1)",
            [&dictionary],
        )
        .unwrap();
    for second in 0..20 {
        let name = format!("{second}.json");
        // The first documents are packed before there is a dictionary.
        let packed = match second {
            0..10 => zstd(dir.path(), &["-q", "-5", &name]),
            _ => zstd(dir.path(), &["-q", "-5", "-D", "dict", &name]),
        };
        packed.unwrap();
        let data = std::fs::read(at(&format!("{name}.zst"))).unwrap();
        replay
            .execute(
                "INSERT INTO replay_data (timestamp, data) VALUES (?1, ?2)",
                (format!("2026-11-20 23:30:{second:02}"), data),
            )
            .unwrap();
    }
    drop(replay);
    let verdict = explained(&path);
    assert_eq!(verdict["findings"][0]["cause"], "mdl-pileup");
    let sources = verdict["sources"].to_string();
    assert!(sources.contains("420 sessions in 20 lists"), "{sources}");
    assert!(sources.contains("80 values at 20 moments"), "{sources}");
    assert_eq!(verdict["incident"]["server"]["version"], "8.0.36");
    assert_eq!(verdict["incident"]["trigger"], "2026-11-20T23:30:00.000Z");

    // Another SQLite file is said to be none.
    let other = at("other.db");
    rusqlite::Connection::open(&other)
        .unwrap()
        .execute_batch("CREATE TABLE t (a)")
        .unwrap();
    let output = run(&["explain", other.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&output.stderr).lines().count(), 1);
}
