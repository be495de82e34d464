//! What is known of a class of statements while packets come.

use std::collections::HashMap;
use std::sync::Arc;

use model::{Counted, QueryClass, QueryMeasure};
use server::wire::Statement;

use super::histogram::Histogram;

/// Different names of each kind that a class counts; further ones are counted together.
const NAMES_MAX: usize = 50;

/// The name of further ones.
const OTHERS: &str = "(others)";

/// Bytes of a sample that are kept.
const SAMPLE_BYTES_MAX: usize = 4096;

const MICROSECOND: f64 = 1e-6;

/// How often names occurred.
#[derive(Debug, Default)]
pub(super) struct Names(HashMap<Arc<str>, u64>);

impl Names {
    pub(super) fn count(&mut self, name: &str) {
        if let Some(count) = self.0.get_mut(name) {
            *count += 1;
        } else if self.0.len() < NAMES_MAX {
            self.0.insert(name.into(), 1);
        } else {
            *self.0.entry(OTHERS.into()).or_default() += 1;
        }
    }

    /// Most first.
    pub(super) fn told(&self) -> Vec<Counted> {
        let mut all: Vec<Counted> = self
            .0
            .iter()
            .map(|(name, count)| Counted {
                name: name.to_string(),
                count: *count,
            })
            .collect();
        all.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
        all
    }
}

/// A class.
#[derive(Debug, Default)]
pub(super) struct Class {
    fingerprint: Arc<str>,
    kind: String,
    count: u64,
    errors: u64,
    whole: Histogram,
    response: Histogram,
    rows: Histogram,
    sent: Histogram,
    users: Names,
    hosts: Names,
    databases: Names,
    programs: Names,
    first_us: Option<i64>,
    last_us: Option<i64>,
    slowest_us: Option<u64>,
    sample: Vec<u8>,
}

impl Class {
    pub(super) fn new(fingerprint: Arc<str>, kind: String) -> Self {
        Self {
            fingerprint,
            kind,
            ..Self::default()
        }
    }

    pub(super) fn take(&mut self, statement: &Statement<'_>) {
        self.count += 1;
        self.errors += u64::from(statement.error.is_some());
        if let Some(whole) = statement.whole_us {
            self.whole.record(whole);
        }
        if let Some(response) = statement.response_us {
            self.response.record(response);
        }
        if let Some(rows) = statement.rows {
            self.rows.record(rows);
        }
        if statement.bytes_out > 0 {
            self.sent.record(statement.bytes_out);
        }
        if let Some(user) = statement.user {
            self.users.count(user);
        }
        if let Some(database) = statement.database {
            self.databases.count(database);
        }
        if let Some(program) = statement.program {
            self.programs.count(program);
        }
        self.hosts.count_address(statement.client.ip());
        let at = statement.at_us;
        self.first_us = Some(self.first_us.map_or(at, |first| first.min(at)));
        self.last_us = Some(self.last_us.map_or(at, |last| last.max(at)));
        if !statement.text.is_empty()
            && (self.slowest_us.is_none() || statement.whole_us > self.slowest_us)
        {
            self.slowest_us = Some(statement.whole_us.unwrap_or(0));
            self.sample.clear();
            let text = statement.text;
            self.sample
                .extend_from_slice(text.get(..SAMPLE_BYTES_MAX).unwrap_or(text));
        }
    }

    /// Seconds of all statements, those to the answers' last bytes.
    pub(super) fn seconds(&self) -> f64 {
        self.whole.sum() * MICROSECOND
    }

    /// What was learned; `per_connection` counts how often each connection asked.
    pub(super) fn told(
        &self,
        with_literals: bool,
        per_connection: Option<QueryMeasure>,
    ) -> QueryClass {
        let query_time = self.whole.measure("Query_time", MICROSECOND);
        let query_time = query_time.map(|measure| QueryMeasure {
            decades: self.whole.decades(),
            ..measure
        });
        let measures = [
            query_time,
            self.response.measure("Response_time", MICROSECOND),
            self.rows.measure("Rows_sent", 1.0),
            self.sent.measure("Bytes_sent", 1.0),
            per_connection,
        ];
        let sample = String::from_utf8_lossy(&self.sample);
        QueryClass {
            fingerprint: self.fingerprint.to_string(),
            id: super::digest::class_id(&self.fingerprint),
            kind: self.kind.clone(),
            count: self.count,
            errors: Some(self.errors),
            measures: measures.into_iter().flatten().collect(),
            users: self.users.told(),
            hosts: self.hosts.told(),
            databases: self.databases.told(),
            programs: self.programs.told(),
            first_us: self.first_us,
            last_us: self.last_us,
            sample: (!sample.is_empty()).then(|| {
                if with_literals {
                    sample.into_owned()
                } else {
                    sql::redact_in_any_mode(&sample)
                }
            }),
            ..QueryClass::default()
        }
    }
}

impl Names {
    /// Writes the address where nothing is allocated for a known one.
    fn count_address(&mut self, address: std::net::IpAddr) {
        use std::io::Write;
        // The longest IPv6 address has 45 characters.
        let mut text = [0_u8; 48];
        let mut rest = text.as_mut_slice();
        let written = write!(rest, "{address}").map(|()| 48 - rest.len());
        let name = text.get(..written.unwrap_or(0)).unwrap_or_default();
        self.count(std::str::from_utf8(name).unwrap_or_default());
    }
}
