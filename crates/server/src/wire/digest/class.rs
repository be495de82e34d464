//! What is known of a class of statements while packets come.

use std::net::IpAddr;
use std::sync::Arc;

use crate::wire::Statement;
use model::{Counted, QueryClass, QueryMeasure};

use super::histogram::Histogram;

/// Different names of each kind that a class counts; further ones are counted together.
const NAMES_MAX: usize = 50;

/// The name of further ones.
const OTHERS: &str = "(others)";

/// Bytes of a sample that are kept.
const SAMPLE_BYTES_MAX: usize = 4096;

const MICROSECOND: f64 = 1e-6;

/// How often names occurred. There are few, and the same one mostly comes again and again.
#[derive(Debug)]
pub(super) struct Names<K> {
    counts: Vec<(K, u64)>,
    /// Where the last one is.
    last: usize,
    others: u64,
}

impl<K> Default for Names<K> {
    fn default() -> Self {
        Self {
            counts: Vec::new(),
            last: 0,
            others: 0,
        }
    }
}

impl<K> Names<K> {
    fn count(&mut self, is: impl Fn(&K) -> bool, make: impl FnOnce() -> K) {
        let is_last = self.counts.get(self.last).is_some_and(|(name, _)| is(name));
        let found = if is_last {
            Some(self.last)
        } else {
            self.counts.iter().position(|(name, _)| is(name))
        };
        if let Some(index) = found {
            self.last = index;
            if let Some((_, count)) = self.counts.get_mut(index) {
                *count += 1;
            }
        } else if self.counts.len() < NAMES_MAX {
            self.last = self.counts.len();
            self.counts.push((make(), 1));
        } else {
            self.others += 1;
        }
    }

    /// Most first.
    fn told(&self, text: impl Fn(&K) -> String) -> Vec<Counted> {
        let mut all: Vec<Counted> = self
            .counts
            .iter()
            .map(|(name, count)| Counted {
                name: text(name),
                count: *count,
            })
            .collect();
        all.sort_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
        if self.others > 0 {
            all.push(Counted {
                name: OTHERS.to_owned(),
                count: self.others,
            });
        }
        all
    }
}

impl Names<Box<str>> {
    fn count_text(&mut self, text: Option<&str>) {
        if let Some(text) = text {
            self.count(|name| **name == *text, || text.into());
        }
    }

    fn texts(&self) -> Vec<Counted> {
        self.told(|name| name.to_string())
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
    users: Names<Box<str>>,
    hosts: Names<IpAddr>,
    databases: Names<Box<str>>,
    programs: Names<Box<str>>,
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
        self.users.count_text(statement.user);
        self.databases.count_text(statement.database);
        self.programs.count_text(statement.program);
        let host = statement.client.ip();
        self.hosts.count(|one| *one == host, || host);
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
            id: sql::fingerprint_id(&self.fingerprint),
            kind: self.kind.clone(),
            count: self.count,
            errors: Some(self.errors),
            measures: measures.into_iter().flatten().collect(),
            users: self.users.texts(),
            hosts: self.hosts.told(IpAddr::to_string),
            databases: self.databases.texts(),
            programs: self.programs.texts(),
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
