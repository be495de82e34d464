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

/// A table as MySQL Shell's `dump_query` writes it. Names of files, queries and columns are those of its
/// source (`python/plugins/debug/sql_collector.py`, 9.x; MariaDB Shell's is a fork of it that differs in
/// a few queries): neither shell could be had where this was written.
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
            "mysql-diagnostics-20261120-233005/0.SHOW_FULL_PROCESSLIST.tsv",
            table("SHOW FULL PROCESSLIST", 5, &processlist),
        ),
        (
            "mysql-diagnostics-20261120-233005/0.SHOW_FULL_PROCESSLIST.yaml",
            table(
                "SHOW FULL PROCESSLIST",
                5,
                "Command: Query\nId: 10\nState: Waiting for table metadata lock\n---\n",
            ),
        ),
        (
            "mysql-diagnostics-20261120-233005/0.SHOW_GLOBAL_STATUS.tsv",
            table("SHOW GLOBAL STATUS", 6, &status(100)),
        ),
        (
            "mysql-diagnostics-20261120-233005/0.global_variables.tsv",
            table(
                "SELECT g.variable_name name, g.variable_value value /*!80000, i.variable_source source*/\n#\t            FROM performance_schema.global_variables g",
                4,
                "# name\tvalue\tsource\nmax_connections\t151\tCOMPILED\nversion\t8.4.0\tCOMPILED\nsync_binlog\t1\tGLOBAL\n",
            ),
        ),
        (
            "mysql-diagnostics-20261120-233005/0.metrics.tsv",
            table(
                "SELECT Variable_name, REPLACE(Variable_value, '\n#\t', '\\n') AS Variable_value, Type, Enabled FROM sys.metrics",
                7,
                "# Variable_name\tVariable_value\tType\tEnabled\nquestions\t102\tGlobal Status\tYES\n\
                 threads_running\t15\tGlobal Status\tYES\nuptime\t9102\tGlobal Status\tYES\n\
                 lock_deadlocks\t0\tInnoDB Metrics - lock\tYES\nNOW()\t2026-11-20 23:30:07.000\tSystem Time\tYES\n",
            ),
        ),
        (
            "mysql-diagnostics-20261120-233005/0.SHOW_REPLICA_STATUS.tsv",
            table(
                "SHOW REPLICA STATUS",
                8,
                "# Replica_IO_State\tSource_Host\tSource_User\tSource_Port\tConnect_Retry\tSource_Log_File\tRead_Source_Log_Pos\tRelay_Log_File\tReplica_IO_Running\tReplica_SQL_Running\tSeconds_Behind_Source\n\
                 Waiting for source to send event\tdb0\trepl\t3306\t60\tb.1\t4\tr.1\tYes\tYes\t12\n",
            ),
        ),
        (
            "mysql-diagnostics-20261120-233005/0.SHOW_OPEN_TABLES.tsv",
            table(
                "SHOW OPEN TABLES",
                8,
                "# Database\tTable\tIn_use\tName_locked\nshop\torders\t13\t0\n",
            ),
        ),
        (
            "mysql-diagnostics-20261120-233005/shell_info.yaml",
            "version: 8.4.0\n".to_owned(),
        ),
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
    // sys.metrics is the status a moment later, and no setting.
    assert!(sources.contains("3 values at 1 moment"), "{sources}");
    assert!(sources.contains("3 settings"), "{sources}");
    assert!(sources.contains("1 channel, 12 s behind"), "{sources}");
    assert!(sources.contains("1 table, 1 of them in use"), "{sources}");
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

#[test]
fn a_real_replay_of_dolphie() {
    // What dolphie 6.18.0 (PyPI) recorded beside a private MySQL 9.7.4 with `dolphie --daemon --replay-dir DIR`, 25 seconds
    // of it: one session had read a table in an open transaction, an ALTER TABLE waited for it, and twelve inserts behind
    // that. Made small and without names by hand: the first seconds are left out; host name, paths, UUIDs and values are
    // replaced in the documents, which were packed again as dolphie packs them (zstd level 5; from the fourth on with the
    // first three documents as a dictionary of content only).
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/cli/fixtures/dolphie-6.18-mysql-9.7.db.gz");
    let verdict = explained(&path);
    let finding = &verdict["findings"][0];
    assert_eq!(finding["cause"], "mdl-pileup");
    // The processlist, and performance_schema's locks beside it.
    assert_eq!(finding["level"], "certain", "{finding}");
    assert_eq!(verdict["incident"]["server"]["version"], "9.7.4-2");
    let sources = verdict["sources"].to_string();
    for part in [
        "171 sessions in 14 lists",
        "at 25 moments",
        "559 settings",
        "metadata_locks",
    ] {
        assert!(sources.contains(part), "{part} in {sources}");
    }
    assert!(!sources.contains("damaged"), "{sources}");
    // The record begins ten seconds before the sessions pile up.
    let onset = verdict["incident"]["onset"].as_str().unwrap();
    assert!(onset.starts_with("2026-11-21T16:06:17"), "{onset}");
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

/// Versions until 6.14 or so trained their dictionary.
#[test]
fn replays_of_older_dolphie() {
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
