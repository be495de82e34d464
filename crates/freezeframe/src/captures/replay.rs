//! Replay files of dolphie: a document a second, written again as `mysql` prints status, settings
//! and processlist, so that the readers of those take it.

use std::fmt::Write as _;
use std::io::{Read, Write as _};

use anyhow::{Context, Result};
use jiff::civil::DateTime;
use ruzstd::decoding::{Dictionary, FrameDecoder, StreamingDecoder};
use serde_json::Value;
use store::Replay;

/// Seconds of a replay that are read, the latest.
const ROWS_MAX: usize = 900;

/// Bytes of one document, unpacked.
const DOCUMENT_BYTES_MAX: u64 = 32 << 20;

/// Bytes of each of the texts that are made.
const TEXT_BYTES_MAX: usize = 64 << 20;

/// What was made of a replay.
pub(super) struct Made {
    /// The server, as dolphie had it.
    pub(super) host: String,
    /// Name of each text, and the text.
    pub(super) texts: Vec<(&'static str, String)>,
    /// What was left out.
    pub(super) left_out: Vec<String>,
}

/// The texts of a replay; absent when the SQLite file is none.
///
/// # Errors
///
/// It cannot be written down or read.
pub(super) fn texts(bytes: &[u8]) -> Result<Option<Made>> {
    let mut file = tempfile::NamedTempFile::new().context("a temporary file for SQLite")?;
    file.write_all(bytes)
        .context("a temporary file for SQLite")?;
    if !store::is_replay(file.path()) {
        return Ok(None);
    }
    let replay = store::read_replay(file.path(), ROWS_MAX)?;
    Ok(Some(made(&replay)))
}

fn made(replay: &Replay) -> Made {
    let mut made = Made {
        host: replay.host.clone(),
        texts: Vec::new(),
        left_out: Vec::new(),
    };
    let (mut status, mut sessions, mut settings) = (String::new(), String::new(), String::new());
    let mut damaged = 0_usize;
    let mut read = 0_usize;
    for (moment, data) in &replay.rows {
        let document = unpacked(data, &replay.dictionary)
            .ok()
            .and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
        let Some(document) = document else {
            damaged += 1;
            continue;
        };
        if status.len().max(sessions.len()) > TEXT_BYTES_MAX {
            break;
        }
        read += 1;
        let at = stamp(moment);
        if let Some(values) = document.get("global_status").and_then(Value::as_object) {
            status.push_str(&at);
            table(&mut status, values);
        }
        processlist(&mut sessions, &at, document.get("processlist"));
        // Settings stand in every document: the latest are kept.
        if let Some(values) = document.get("global_variables").and_then(Value::as_object) {
            settings.clear();
            table(&mut settings, values);
        }
    }
    for (name, text) in [
        ("status", status),
        ("processlist", sessions),
        ("variables", settings),
    ] {
        if !text.is_empty() {
            made.texts.push((name, text));
        }
    }
    let older = usize::try_from(replay.count)
        .unwrap_or(usize::MAX)
        .saturating_sub(read + damaged);
    if older > 0 {
        made.left_out.push(format!(
            "{older} of {} moments: the latest {ROWS_MAX} are read; cut the file around an older stall with: \
             sqlite3 FILE \"DELETE FROM replay_data WHERE timestamp > 'YYYY-MM-DD hh:mm:ss'\" (on a copy)",
            replay.count
        ));
    }
    if damaged > 0 {
        made.left_out.push(format!("{damaged} moments are damaged"));
    }
    made
}

fn unpacked(data: &[u8], dictionary: &[u8]) -> Result<Vec<u8>> {
    let mut decoder = FrameDecoder::new();
    // The first documents of a file were packed before there was a dictionary.
    if !dictionary.is_empty()
        && let Ok(dictionary) = Dictionary::decode_dict(dictionary)
    {
        decoder.add_dict(dictionary)?;
    }
    let mut bytes = Vec::new();
    StreamingDecoder::new_with_decoder(data, decoder)?
        .take(DOCUMENT_BYTES_MAX)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// `TS 1700000000 2023-11-14 22:13:20`, as pt-stalk writes moments. dolphie writes the local time
/// of its host; it is taken as UTC, for what counts is how far moments are apart.
fn stamp(moment: &str) -> String {
    let seconds = moment
        .parse::<DateTime>()
        .ok()
        .and_then(|moment| moment.to_zoned(jiff::tz::TimeZone::UTC).ok())
        .map(|moment| moment.timestamp().as_second());
    match seconds {
        Some(seconds) => format!("TS {seconds}.0 {}\n", plain(moment)),
        None => String::new(),
    }
}

fn table(out: &mut String, values: &serde_json::Map<String, Value>) {
    out.push_str("Variable_name\tValue\n");
    for (name, value) in values {
        let _ = writeln!(out, "{}\t{}", plain(name), cell(value));
    }
}

/// Columns of the list, and dolphie's names of them.
const COLUMNS: [(&str, &str); 8] = [
    ("Id", "id"),
    ("User", "user"),
    ("Host", "host"),
    ("db", "db"),
    ("Command", "command"),
    ("Time", "time"),
    ("State", "state"),
    ("Info", "query"),
];

fn processlist(out: &mut String, at: &str, list: Option<&Value>) {
    // A list since schema version 2, before that an object by id.
    let rows: Vec<&Value> = match list {
        Some(Value::Array(rows)) => rows.iter().collect(),
        Some(Value::Object(rows)) => rows.values().collect(),
        _ => return,
    };
    out.push_str(at);
    let head: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
    let _ = writeln!(out, "{}", head.join("\t"));
    for row in rows {
        let field = |key: &str| match row.get(key).map(cell).unwrap_or_default() {
            text if text.is_empty() => "NULL".to_owned(),
            text => text,
        };
        let cells: Vec<String> = COLUMNS.iter().map(|(_, key)| field(key)).collect();
        let _ = writeln!(out, "{}", cells.join("\t"));
    }
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => plain(text),
        Value::Bool(yes) => if *yes { "ON" } else { "OFF" }.to_owned(),
        other => plain(&other.to_string()),
    }
}

/// Without what would end a cell or a row.
fn plain(text: &str) -> String {
    text.replace(['\t', '\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_become_what_mysql_prints() {
        let document = serde_json::json!({
            "global_status": {"Threads_running": 9, "Uptime": 100},
            "global_variables": {"max_connections": 151, "version": "8.4.0"},
            "processlist": [{"id": 7, "user": "app", "host": "h", "db": null, "command": "Query",
                "time": 12, "state": "update", "query": "UPDATE t\nSET a = 1"}],
        });
        let packed = ruzstd::encoding::compress_to_vec(
            document.to_string().as_bytes(),
            ruzstd::encoding::CompressionLevel::Fastest,
        );
        let rows = vec![
            ("2023-11-14 22:13:20".to_owned(), packed),
            ("2023-11-14 22:13:21".to_owned(), b"no zstd".to_vec()),
        ];
        let made = made(&Replay {
            host: "db:3306".to_owned(),
            dictionary: Vec::new(),
            count: 5,
            rows,
        });
        let text = |wanted: &str| {
            let found = made.texts.iter().find(|(name, _)| *name == wanted);
            found.unwrap().1.as_str()
        };
        assert_eq!(
            text("status"),
            "TS 1700000000.0 2023-11-14 22:13:20\nVariable_name\tValue\nThreads_running\t9\nUptime\t100\n"
        );
        assert!(text("variables").contains("max_connections\t151\n"));
        assert!(
            text("processlist")
                .ends_with("\n7\tapp\th\tNULL\tQuery\t12\tupdate\tUPDATE t SET a = 1\n")
        );
        assert_eq!(made.left_out.len(), 2);
        assert!(made.left_out[1].contains("1 moments are damaged"));
    }
}
