//! A simulated fleet into a store, in the batches that recorders make and through the code that sends them.
//!
//! The store gets those of several recorders at once, as a gateway in front of it has them: one for each would measure
//! the requests.

use std::time::{Duration, Instant};

use anyhow::Result;
use cli::output;
use fleet::any_store::{AnyError, AnyStore};
use fleet::clickhouse::Then;
use fleet::row::SignalRow;
use fleet::value::id_text;
use fleet::{Batch, Token};

use super::plan::Plan;
use super::rows;
use super::templates::Template;
use crate::chance::Chance;

/// Rows that go to the store at once, at the least: as a gateway sends them that has some to catch up with.
const ROWS: usize = 50_000;

/// How long a store is waited for that is away or has too much to do.
const PATIENCE: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_secs(1);

/// How often somebody who watches is told.
const TOLD_EVERY: Duration = Duration::from_millis(500);

/// What was written.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Written {
    pub(super) batches: u64,
    pub(super) rows: u64,
    /// Values of signals by the second: those that are stored, and those of minutes in which all are alike.
    pub(super) points: u64,
    /// How long the store took.
    pub(super) took: Duration,
}

impl Written {
    pub(super) fn rows_per_second(&self) -> f64 {
        self.rows as f64 / self.took.as_secs_f64().max(1e-9)
    }
}

/// An incident that was written.
pub(super) struct Stalled {
    /// Its UUID.
    pub(super) id: String,
    pub(super) server: usize,
    pub(super) template: usize,
    /// The evidence that it was told by.
    pub(super) view: &'static str,
}

/// A fleet that is written.
pub(super) struct Writer<'a> {
    pub(super) plan: &'a Plan,
    pub(super) templates: &'a [Template],
    pub(super) salt: &'a [u8],
    pub(super) seed: u64,
    /// The moment of the writing, seconds since 1970.
    pub(super) now: i64,
}

impl Writer<'_> {
    /// Writes the incidents and remedies. `stalled` gets the incidents, by time.
    pub(super) fn incidents(
        &self,
        store: &mut AnyStore,
        stalled: &mut Vec<Stalled>,
    ) -> Result<Written> {
        let mut written = Written::default();
        let mut progress = Progress::new("incidents", self.plan.stalls.len());
        let mut batches = Vec::new();
        for (number, stall) in (0..).zip(&self.plan.stalls) {
            let mut chance = Chance::of(&[self.seed, 2, number]);
            let server = self.plan.servers.get(stall.server);
            let template = self.templates.get(stall.template);
            let Some((server, template)) = server.zip(template) else {
                continue;
            };
            let made = rows::incident(stall, server, template, self.salt, &mut chance);
            let Some(made) = made else { continue };
            stalled.push(Stalled {
                id: id_text(&made.incident.incident_id.0),
                server: stall.server,
                template: stall.template,
                view: template.view(stall.view).map_or("", |view| view.evidence),
            });
            written.points += made.signals.iter().map(points).sum::<u64>();
            batches.push(made.evidence());
            batches.push(made.judgement());
            self.insert(store, &mut batches, ROWS, &mut written)?;
            progress.more(1, &written);
        }
        let mut batch = Batch::new(self.token(self.seed, 1, 0));
        for applied in &self.plan.remedies {
            if let Some(server) = self.plan.servers.get(applied.server) {
                batch.extend(&rows::remedies(applied, server, self.salt));
            }
        }
        batches.push(batch);
        self.insert(store, &mut batches, 1, &mut written)?;
        progress.end();
        Ok(written)
    }

    /// Writes what recorders send each minute, of the minutes in this time, seconds since 1970.
    pub(super) fn minutes(
        &self,
        store: &mut AnyStore,
        time: std::ops::Range<i64>,
    ) -> Result<Written> {
        let mut written = Written::default();
        let minutes: Vec<i64> = time.step_by(60).collect();
        let mut progress = Progress::new("minutes", minutes.len());
        let mut batches = Vec::new();
        for minute in minutes {
            for (place, server) in (0..).zip(&self.plan.servers) {
                let mut chance = Chance::of(&[self.seed, 3, minute.unsigned_abs(), place]);
                let Some(template) = self.templates.get(server.calm) else {
                    continue;
                };
                if minute * 1000 >= server.silent_from {
                    continue;
                }
                let (host, health, signals) =
                    rows::minute(server, template, self.salt, minute, &mut chance);
                written.points += signals.iter().map(points).sum::<u64>();
                let token = self.token(host.host_id.0, 2, minute.unsigned_abs());
                let mut batch = Batch::new(token);
                batch.push(&host);
                batch.push(&health);
                batch.extend(&signals);
                batches.push(batch);
            }
            self.insert(store, &mut batches, ROWS, &mut written)?;
            progress.more(1, &written);
        }
        self.insert(store, &mut batches, 1, &mut written)?;
        progress.end();
        Ok(written)
    }

    fn token(&self, host_id: u64, kind: u64, seq: u64) -> Token {
        Token {
            host_id,
            boot: self.now.unsigned_abs() << 3 | kind,
            seq,
        }
    }

    /// Inserts what is there, when it has so many rows. What passes by itself is tried again, the same batches.
    fn insert(
        &self,
        store: &mut AnyStore,
        pending: &mut Vec<Batch>,
        rows_min: usize,
        written: &mut Written,
    ) -> Result<()> {
        let rows: usize = pending.iter().map(Batch::len).sum();
        if rows < rows_min {
            return Ok(());
        }
        let batches = std::mem::take(pending);
        let end = Instant::now() + PATIENCE;
        loop {
            let again = batches.clone();
            let begin = Instant::now();
            let error: AnyError = match store.insert_all(again, self.now) {
                Ok(()) => {
                    written.took += begin.elapsed();
                    written.batches += batches.len() as u64;
                    written.rows += rows as u64;
                    return Ok(());
                }
                Err(error) => error,
            };
            if matches!(error.then(), Then::Stop | Then::Leave) || Instant::now() > end {
                return Err(error.into());
            }
            output::note(&format!("{error}; trying again"));
            std::thread::sleep(PAUSE);
        }
    }
}

/// Seconds that a row tells.
fn points(row: &SignalRow) -> u64 {
    match row.seconds.is_empty() && row.min != row.max {
        true => 0,
        false => row.n.into(),
    }
}

/// Tells who watches.
struct Progress {
    what: &'static str,
    all: usize,
    done: usize,
    told: Instant,
}

impl Progress {
    fn new(what: &'static str, all: usize) -> Self {
        Self {
            what,
            all,
            done: 0,
            told: Instant::now(),
        }
    }

    fn more(&mut self, done: usize, written: &Written) {
        self.done += done;
        if self.told.elapsed() < TOLD_EVERY || !output::is_terminal() {
            return;
        }
        self.told = Instant::now();
        output::progress(&format!(
            "{} {} of {}: {} rows, {:.0} rows/s",
            self.what,
            self.done,
            self.all,
            written.rows,
            written.rows_per_second()
        ));
    }

    fn end(self) {
        if output::is_terminal() {
            output::clear_progress();
        }
    }
}
