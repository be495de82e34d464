//! Replay files of dolphie: a document a second, written again as `mysql` prints status, settings,
//! processlist, metadata locks and replication, so that the readers of those take it.

use std::fmt::Write as _;
use std::io::Read;
use std::path::Path;

use anyhow::Result;
use jiff::civil::DateTime;
use model::OrderBy;
use ruzstd::decoding::{Dictionary, FrameDecoder, StreamingDecoder};
use serde_json::Value;
use store::Replay;

/// Seconds of a replay that are read, the latest.
const ROWS_MAX: usize = 900;

/// Bytes of one document, unpacked: five thousand sessions have three million. As JSON it takes up to
/// sixteen times as much.
const DOCUMENT_BYTES_MAX: u64 = 8 << 20;

/// Bytes of all the texts that are made.
const TEXTS_BYTES_MAX: usize = 128 << 20;

/// What was made of a replay.
pub(super) struct ReplayTexts {
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
/// It cannot be read.
pub(super) fn texts(file: &Path) -> Result<Option<ReplayTexts>> {
    if !store::is_replay(file) {
        return Ok(None);
    }
    let replay = store::read_replay(file, ROWS_MAX)?;
    Ok(Some(made(&replay)))
}

fn made(replay: &Replay) -> ReplayTexts {
    let mut made = ReplayTexts {
        host: replay.host.clone(),
        texts: Vec::new(),
        left_out: Vec::new(),
    };
    let (mut status, mut sessions, mut settings) = (String::new(), String::new(), String::new());
    let (mut locks, mut replica) = (String::new(), String::new());
    let mut unpacker = Unpacker::new(&replay.dictionary);
    let mut damaged = 0_usize;
    let mut read = 0_usize;
    for (moment, data) in &replay.rows {
        let document = unpacker
            .unpack(data)
            .ok()
            .and_then(|bytes| serde_json::from_slice::<Value>(&bytes).ok());
        let Some(document) = document else {
            damaged += 1;
            continue;
        };
        let made = [&status, &sessions, &locks, &replica].map(String::len);
        if made.iter().sum::<usize>() > TEXTS_BYTES_MAX {
            break;
        }
        read += 1;
        let at = stamp(moment);
        if let Some(values) = document.get("global_status").and_then(Value::as_object) {
            status.push_str(&at);
            table(&mut status, values);
            for (metric, name) in METRICS {
                let metrics = document.get("innodb_metrics");
                let value = metrics.and_then(|metrics| metrics.get(metric));
                if let Some(value) = value.filter(|_| !values.contains_key(name)) {
                    let _ = writeln!(status, "{name}\t{}", cell(value));
                }
            }
        }
        processlist(&mut sessions, &at, document.get("processlist"));
        metadata_locks(&mut locks, &at, document.get("metadata_locks"));
        replication(&mut replica, &at, document.get("replication_status"));
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
        ("metadata_locks", locks),
        ("replication_status", replica),
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

/// What a trained dictionary begins with (RFC 8878, 5).
const TRAINED: [u8; 4] = [0x37, 0xa4, 0x30, 0xec];

/// The number by which the decoder knows a dictionary that has none.
const NUMBERLESS: u32 = 1;

/// In front of a dictionary's content: its number, a table of two symbols for literals, three of one
/// symbol for offsets and lengths, and the offsets that every frame begins with. A frame whose
/// dictionary is content only refers to none of these tables.
const HEAD: [u8; 28] = [
    0x37, 0xa4, 0x30, 0xec, 1, 0, 0, 0, // magic number, our number
    0x80, 0x10, // Huffman: one weight of 1, the other follows
    0xf0, 0x03, 0xf0, 0x03, 0xf0, 0x03, // FSE: 32 states of one symbol
    1, 0, 0, 0, 4, 0, 0, 0, 8, 0, 0, 0,
];

/// Unpacks the documents of one file.
struct Unpacker {
    decoder: FrameDecoder,
    /// The dictionary is content only: frames do not name it.
    is_content: bool,
}

impl Unpacker {
    /// dolphie trained its dictionary until version 6.14 or later, and takes the first documents as
    /// they are since then (seen in 6.18).
    fn new(dictionary: &[u8]) -> Self {
        let mut decoder = FrameDecoder::new();
        let is_content = !dictionary.is_empty() && !dictionary.starts_with(&TRAINED);
        let whole;
        let formatted = match is_content {
            true => {
                whole = [HEAD.as_slice(), dictionary].concat();
                whole.as_slice()
            }
            false => dictionary,
        };
        let is_added = Dictionary::decode_dict(formatted)
            .is_ok_and(|dictionary| decoder.add_dict(dictionary).is_ok());
        Self {
            decoder,
            is_content: is_content && is_added,
        }
    }

    /// The first documents of a file were packed before there was a dictionary: nothing in them refers
    /// to it.
    fn unpack(&mut self, data: &[u8]) -> Result<Vec<u8>> {
        let stream = StreamingDecoder::new_with_decoder(data, &mut self.decoder)?;
        if self.is_content {
            stream.decoder.force_dict(NUMBERLESS)?;
        }
        let mut bytes = Vec::new();
        stream.take(DOCUMENT_BYTES_MAX).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

/// `TS 1700000000 2023-11-14 22:13:20`, as pt-stalk writes moments. dolphie writes UTC (6.18); until
/// 6.14 or later it wrote the local time of its host, which is taken as UTC: what counts is how far
/// moments are apart.
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

/// Counters of `INNODB_METRICS` that dolphie keeps, and what the status of servers that have them there
/// calls the same.
const METRICS: [(&str, &str); 2] = [
    ("trx_rseg_history_len", "Innodb_history_list_length"),
    ("lock_deadlocks", "Innodb_deadlocks"),
];

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
        let cells: Vec<String> = COLUMNS.iter().map(|(_, key)| field(row, key)).collect();
        let _ = writeln!(out, "{}", cells.join("\t"));
    }
}

/// Columns of `performance_schema.metadata_locks` by which the table is known, and how dolphie calls
/// them; it leaves the duration out.
const LOCK_COLUMNS: [(&str, &str); 7] = [
    ("processlist_id", "PROCESSLIST_ID"),
    ("OBJECT_TYPE", "OBJECT_TYPE"),
    ("OBJECT_SCHEMA", "OBJECT_SCHEMA"),
    ("OBJECT_NAME", "OBJECT_NAME"),
    ("LOCK_TYPE", "LOCK_TYPE"),
    ("LOCK_DURATION", "LOCK_DURATION"),
    ("LOCK_STATUS", "LOCK_STATUS"),
];

fn metadata_locks(out: &mut String, at: &str, locks: Option<&Value>) {
    let Some(rows) = locks
        .and_then(Value::as_array)
        .filter(|rows| !rows.is_empty())
    else {
        return;
    };
    out.push_str(at);
    let head: Vec<&str> = LOCK_COLUMNS.iter().map(|(name, _)| *name).collect();
    let _ = writeln!(out, "{}", head.join("\t"));
    for row in rows {
        let cells: Vec<String> = LOCK_COLUMNS
            .iter()
            .map(|(_, key)| field(row, key))
            .collect();
        let _ = writeln!(out, "{}", cells.join("\t"));
    }
}

/// A row a channel; a single object until version 6.14 or so. The lag has a name of dolphie's own.
fn replication(out: &mut String, at: &str, status: Option<&Value>) {
    let channels: Vec<&Value> = match status {
        Some(Value::Array(channels)) => channels.iter().collect(),
        Some(one @ Value::Object(_)) => vec![one],
        _ => return,
    };
    for (number, channel) in channels.iter().enumerate() {
        let Some(fields) = channel.as_object().filter(|fields| !fields.is_empty()) else {
            continue;
        };
        if number == 0 {
            out.push_str(at);
        }
        let stars = "*".repeat(27);
        let _ = writeln!(out, "{stars} {}. row {stars}", number + 1);
        // The field by which the status is known stands near the begin.
        let lead = ["Replica_IO_State", "Slave_IO_State"];
        let mut fields: Vec<(&String, &Value)> = fields.iter().collect();
        fields.order_by_key(|(name, _)| !lead.contains(&name.as_str()));
        for (name, value) in fields {
            let name = match name.as_str() {
                "Seconds_Behind" => "Seconds_Behind_Source",
                name => name,
            };
            let _ = writeln!(out, "{}: {}", plain(name), cell(value));
        }
    }
}

/// A field of a row, as `mysql` prints it.
fn field(row: &Value, key: &str) -> String {
    match row.get(key).map(cell).unwrap_or_default() {
        text if text.is_empty() => "NULL".to_owned(),
        text => text,
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
            "innodb_metrics": {"trx_rseg_history_len": 12, "ibuf_size": 1},
            "global_variables": {"max_connections": 151, "version": "8.4.0"},
            "metadata_locks": [{"id": 1, "OBJECT_TYPE": "TABLE", "OBJECT_SCHEMA": "shop", "OBJECT_NAME": "t",
                "LOCK_TYPE": "EXCLUSIVE", "LOCK_STATUS": "PENDING", "PROCESSLIST_ID": 7}],
            "replication_status": [{"Seconds_Behind": 5, "Replica_IO_State": "x"}],
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
            "TS 1700000000.0 2023-11-14 22:13:20\nVariable_name\tValue\nThreads_running\t9\nUptime\t100\n\
             Innodb_history_list_length\t12\n"
        );
        assert!(text("variables").contains("max_connections\t151\n"));
        assert!(
            text("metadata_locks").ends_with("\n7\tTABLE\tshop\tt\tEXCLUSIVE\tNULL\tPENDING\n")
        );
        assert!(text("replication_status").ends_with(
            " 1. row ***************************\nReplica_IO_State: x\nSeconds_Behind_Source: 5\n"
        ));
        assert!(
            text("processlist")
                .ends_with("\n7\tapp\th\tNULL\tQuery\t12\tupdate\tUPDATE t SET a = 1\n")
        );
        assert_eq!(made.left_out.len(), 2);
        assert!(made.left_out[1].contains("1 moments are damaged"));
    }

    /// The frame was made by zstd with the dictionary as content: four letters, all others are copied.
    #[test]
    fn a_dictionary_of_content_is_content() {
        let dictionary = b"{\"global_status\":{\"Threads_running\":1,\"Uptime\":5}}";
        let packed =
            b"\x28\xb5\x2f\xfd\x20\x32\x65\x00\x00\x20\x37\x39\x7d\x7d\x02\x00\x60\x93\x95\x54\x40";
        let bytes = Unpacker::new(dictionary).unpack(packed).unwrap();
        assert_eq!(
            String::from_utf8(bytes).unwrap(),
            "{\"global_status\":{\"Threads_running\":7,\"Uptime\":9}}"
        );
        assert!(Unpacker::new(b"").unpack(packed).is_err());
    }
}
