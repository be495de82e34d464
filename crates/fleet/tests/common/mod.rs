//! A small fleet by hand, and an incident with a name of the caller's wherever an incident may hold one.

use fleet::row::{
    FindingRow, FrameRow, Hash64, HealthRow, HostRow, IncidentId, IncidentRow, Millis, Phase,
    QueryRow, QueryTextRow, Row, Seconds, SignalRow, StackFramesRow, StackKind, StackRow,
    VerdictKind,
};
use fleet::sqlite::{Answer, Given, Store};
use fleet::{Batch, Token, Value};

/// The moment of the questions, seconds since 1970.
pub const NOW: i64 = 1_795_900_000;

/// A day, seconds.
pub const DAY: i64 = 86_400;

/// A fleet under construction.
pub struct Fleet {
    batch: Batch,
    incidents: u8,
}

impl Fleet {
    pub fn new() -> Self {
        Self {
            batch: Batch::new(Token {
                host_id: 0,
                boot: 0,
                seq: 0,
            }),
            incidents: 0,
        }
    }

    pub fn push(&mut self, row: &impl Row) -> &mut Self {
        self.batch.push(row);
        self
    }

    /// A server `dbN:3306`.
    pub fn host(&mut self, id: u64, thp: &str, settings: &[(&str, &str)]) -> &mut Self {
        let settings = settings.iter();
        self.push(&HostRow {
            host_id: Hash64(id),
            host: format!("db{id}"),
            label: "3306".to_owned(),
            vendor: "MariaDB".to_owned(),
            version: "10.11.6-MariaDB".to_owned(),
            kernel: "6.1".to_owned(),
            thp: thp.to_owned(),
            settings: settings
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect(),
            seen: Seconds(NOW - 10),
            ..HostRow::default()
        })
    }

    /// An incident so many seconds before now; a cause without a name is none.
    pub fn incident(&mut self, host: u64, ago: i64, seconds: u32, cause: &str) -> IncidentId {
        self.incident_of_shape(host, ago, seconds, cause, 7)
    }

    pub fn incident_of_shape(
        &mut self,
        host: u64,
        ago: i64,
        seconds: u32,
        cause: &str,
        shape: u64,
    ) -> IncidentId {
        self.incident_by("query-probe", host, (ago, seconds), cause, shape)
    }

    /// A time that somebody asked for.
    pub fn requested(&mut self, host: u64, ago: i64, seconds: u32, cause: &str) -> IncidentId {
        self.incident_by("asked", host, (ago, seconds), cause, 7)
    }

    fn incident_by(
        &mut self,
        trigger: &str,
        host: u64,
        (ago, seconds): (i64, u32),
        cause: &str,
        shape: u64,
    ) -> IncidentId {
        self.incidents += 1;
        let id = IncidentId([self.incidents; 16]);
        let onset = Millis((NOW - ago) * 1000);
        self.push(&IncidentRow {
            incident_id: id,
            host_id: Hash64(host),
            onset,
            detected: Millis(onset.0 + 1000),
            duration_ms: seconds * 1000,
            trigger: trigger.to_owned(),
            verdict: match cause {
                "" => VerdictKind::NotEnough,
                _ => VerdictKind::Named,
            },
            cause: cause.to_owned(),
            confidence: 0.9,
            shape: Hash64(shape),
            absent: Vec::new(),
            facts: Vec::new(),
            frame_key: format!("/frames/{}.frame", self.incidents),
            frame_bytes: 1,
            frame_sha256: "0".repeat(64),
            rev: 1,
            name: format!("3306-{}", self.incidents),
            heaviest: vec!["buf_read".to_owned()],
        });
        id
    }

    /// A stack of these functions, innermost first, seen for so many milliseconds.
    pub fn stack(
        &mut self,
        incident: (u64, IncidentId),
        phase: Phase,
        kind: StackKind,
        functions: &[&str],
        ms: u64,
    ) -> &mut Self {
        let stack_id = stack_id(functions);
        let frames = functions.iter().map(|name| frame_id(name)).collect();
        for function in functions {
            self.push(&FrameRow {
                frame_id: frame_id(function),
                build_id: String::new(),
                offset: 0,
                module: "mariadbd".to_owned(),
                function: (*function).to_owned(),
                seen: Seconds(NOW).day(),
            });
        }
        self.push(&StackFramesRow {
            stack_id,
            frames,
            seen: Seconds(NOW).day(),
        });
        self.push(&StackRow {
            host_id: Hash64(incident.0),
            incident_id: incident.1,
            ts: Seconds(NOW - DAY),
            phase,
            kind,
            stack_id,
            samples: 1,
            ns: ms * 1_000_000,
        })
    }

    pub fn signal(&mut self, host: u64, name: &str, ago: i64, max: f64) -> &mut Self {
        self.push(&SignalRow {
            host_id: Hash64(host),
            signal: name.to_owned(),
            ts: Seconds(NOW - ago),
            n: 60,
            max,
            mean: max / 2.0,
            ..SignalRow::default()
        })
    }

    pub fn query(&mut self, host: u64, digest: u64, ago: i64, us: u64) -> &mut Self {
        self.push(&QueryTextRow {
            digest: Hash64(digest),
            text: format!("select {digest} from table_a"),
            first_seen: Seconds(NOW - ago),
        });
        self.push(&QueryRow {
            host_id: Hash64(host),
            ts: Seconds(NOW - ago),
            digest: Hash64(digest),
            n: 1,
            sum_us: us,
            ..QueryRow::default()
        })
    }

    pub fn health(&mut self, host: u64, ago: i64, absent: &[&str]) -> &mut Self {
        self.push(&HealthRow {
            host_id: Hash64(host),
            ts: Seconds(NOW - ago),
            absent: absent.iter().map(|name| (*name).to_owned()).collect(),
            lost: 3,
            ..HealthRow::default()
        })
    }

    pub fn finding(&mut self, id: IncidentId, host: u64, ago: i64, cause: &str, rank: u8) {
        self.push(&FindingRow {
            incident_id: id,
            host_id: Hash64(host),
            onset: Millis((NOW - ago) * 1000),
            cause: cause.to_owned(),
            rank,
            score: 0.5,
            witnesses: Vec::new(),
            rev: 1,
        });
    }

    pub fn batch(&self) -> &Batch {
        &self.batch
    }

    pub fn store(&self) -> Store {
        let mut store = Store::temporary().unwrap();
        store.insert(&self.batch, NOW).unwrap();
        store
    }
}

fn name_hash(name: &str) -> u64 {
    name.bytes()
        .fold(11, |hash: u64, byte| hash.wrapping_mul(131) ^ u64::from(byte))
        // Hashes with the highest bit set are negative in SQLite.
        | 1 << 63
}

pub fn frame_id(name: &str) -> Hash64 {
    Hash64(name_hash(name))
}

pub fn stack_id(functions: &[&str]) -> Hash64 {
    Hash64(name_hash(&functions.join(";")))
}

/// Asks with the usual time of the question.
pub fn ask(store: &Store, name: &str) -> Answer {
    ask_like(store, name, None)
}

pub fn ask_like(store: &Store, name: &str, incident: Option<&str>) -> Answer {
    let question = fleet::questions::question(name).unwrap();
    let subject = store.subject(incident).unwrap();
    let given = Given {
        since: (NOW - i64::from(question.days) * DAY) * 1000,
        now: NOW * 1000,
        rows: 10,
        subject,
        ..Given::default()
    };
    store.ask(question, &given).unwrap()
}

/// A column of an answer by its name, as texts.
pub fn column(answer: &Answer, question: &str, name: &str) -> Vec<String> {
    let question = fleet::questions::question(question).unwrap();
    let place = question
        .columns
        .iter()
        .position(|column| column.name == name);
    let place = place.unwrap();
    answer.rows.iter().map(|row| text(&row[place])).collect()
}

pub fn text(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::Unsigned(value) => value.to_string(),
        Value::Signed(value) => value.to_string(),
        Value::Float(value) => format!("{value:.3}"),
        Value::Text(text) => text.clone(),
        Value::List(values) => values.iter().map(text).collect::<Vec<_>>().join(","),
        other => format!("{other:?}"),
    }
}
