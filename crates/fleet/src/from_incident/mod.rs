//! A recorded incident as rows for the fleet.
//!
//! **Redacted as `export --redact` does it**, with the fleet's salt: names of users, schemas, tables and other hosts are
//! pseudonyms, the same on every server of the fleet. The host's own name, its label and the incident's name stay, in
//! `hosts` and `incidents`, because whoever asks must find the server. All other texts are searched for the names that
//! were replaced, and nothing is made of an incident in which one is found.
//!
//! **The verdict is of the whole record**: it is judged before names go.

mod facts;
mod hash;
mod known_names;
mod minutes;
mod redacted;
mod shape;
mod signals;
mod stacks;
mod statements;

use diagnosis::{Finding, Level, Verdict, Witness};
use export::redact::{self, Leak, Unredactable};
use model::{Incident, Stall};

use hash::hash64;
pub use hash::{frame_id, hash_of_bytes, host_id, incident_id, stack_id};
pub use known_names::{KnownNames, UnknownNames};
pub use minutes::{MinuteRows, minutes, minutes_of};
pub use signals::row as minute_row;

use crate::batch::{Batch, Token};
use crate::row::{
    FindingRow, FrameRow, Hash64, HealthRow, HostRow, IncidentId, IncidentRow, Millis, QueryRow,
    QueryTextRow, Seconds, SignalRow, StackFramesRow, StackRow, VerdictKind, WitnessRow,
};
use crate::subject::Subject;

/// Witnesses of a finding that are sent.
const WITNESSES_MAX: usize = 64;

/// The file that an incident is in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FrameFile {
    /// Where it is found, in the fleet's store of files or on this machine.
    pub key: String,
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256, 64 hexadecimal digits.
    pub sha256: String,
}

/// Why no rows are made of an incident.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// Its times cannot be laid beside those of others.
    #[error("its time of day is unknown, so it cannot be stored")]
    NoTime,
    /// It cannot be redacted.
    #[error("it cannot be redacted: {0}")]
    Unredactable(Unredactable),
    /// A name would still stand in a row.
    #[error("{leak} would still be in {column} of {table}; please report it")]
    Leak {
        /// What is said of the name.
        leak: Leak,
        /// The table.
        table: &'static str,
        /// The column.
        column: &'static str,
    },
}

/// An incident as rows.
#[derive(Debug, Clone, PartialEq)]
pub struct IncidentRows {
    /// The server.
    pub host: HostRow,
    /// The incident and what came of it.
    pub incident: IncidentRow,
    /// All findings, those that a verdict folds away too.
    pub findings: Vec<FindingRow>,
    /// How often which stack was seen.
    pub stacks: Vec<StackRow>,
    /// What the stacks are made of.
    pub stack_frames: Vec<StackFramesRow>,
    /// What the frames are called.
    pub frames: Vec<FrameRow>,
    /// Statements by class.
    pub queries: Vec<QueryRow>,
    /// Their texts.
    pub query_texts: Vec<QueryTextRow>,
    /// Signals by the minute, with their seconds.
    pub signals: Vec<SignalRow>,
    /// That the recorder lived, and what it lacked.
    pub health: HealthRow,
}

/// The rows of an incident with its verdict. `salt`: the fleet's; `rev`: the moment of the judgement, seconds since 1970.
///
/// # Errors
///
/// When it has no place in the fleet, or a name could not be taken out of it.
pub fn rows(
    incident: &Incident,
    verdict: &Verdict,
    salt: &[u8],
    file: &FrameFile,
    rev: u32,
) -> Result<IncidentRows, Refused> {
    if !incident.clock.is_known() {
        return Err(Refused::NoTime);
    }
    let redacted = redact::redact(incident, salt, "").map_err(Refused::Unredactable)?;
    let names = redacted.names;
    let redacted = redacted.incident;
    let host_id = host_id(salt, &incident.host, &incident.server.label);
    let incident_id = incident_id(host_id, &incident.id);
    let wall = |at| incident.clock.wall_ms(at);
    let onset = Millis(wall(incident.stall.onset));
    let seen = Seconds::of_ms(wall(incident.window.to));
    let stacks = stacks::stacks(
        &redacted,
        host_id,
        incident_id,
        Seconds::of_ms(onset.0),
        seen.day(),
    );
    let heaviest = shape::heaviest(&redacted);
    // A stall that was noticed while somebody's request was captured is one.
    let mut triggers = incident.stall.triggers.iter();
    let noticed = triggers.find(|trigger| trigger.rule != Stall::REQUESTED);
    let trigger = noticed.or(incident.stall.triggers.first());
    let trigger = trigger.map_or("", |trigger| trigger.rule.as_str());
    let stall = incident.stall_window();
    let first = verdict.findings.first();
    let statements = statements::statements(incident, &redacted, salt, host_id);
    let rows = IncidentRows {
        host: facts::host(incident, &redacted, host_id, seen),
        incident: IncidentRow {
            incident_id,
            host_id,
            onset,
            detected: Millis(wall(incident.stall.trigger)),
            duration_ms: u32::try_from(stall.to - stall.from).unwrap_or(u32::MAX),
            trigger: trigger.to_owned(),
            verdict: kind(first),
            cause: first.map_or_else(String::new, |found| found.cause.clone()),
            confidence: first.map_or(0.0, |found| found.confidence),
            shape: shape::shape(&heaviest, trigger),
            absent: facts::absent(&redacted),
            facts: facts::settings(&redacted),
            frame_key: file.key.clone(),
            frame_bytes: file.bytes,
            frame_sha256: match file.sha256.is_empty() {
                true => "0".repeat(64),
                false => file.sha256.clone(),
            },
            rev,
            name: incident.id.clone(),
            heaviest,
        },
        findings: findings(verdict, host_id, incident_id, onset, rev),
        stacks: stacks.seen,
        stack_frames: stacks.stacks,
        frames: stacks.frames,
        signals: signals::minutes(&redacted, host_id),
        health: facts::health(incident, &redacted, host_id, redacted.window),
        queries: statements.queries,
        query_texts: statements.texts,
    };
    redacted::check(&rows.evidence(), &names)?;
    redacted::check(&rows.judgement(), &names)?;
    Ok(rows)
}

fn kind(first: Option<&Finding>) -> VerdictKind {
    match first {
        Some(found) if found.level >= Level::Likely => VerdictKind::Named,
        Some(_) => VerdictKind::Unsure,
        None => VerdictKind::NotEnough,
    }
}

fn findings(
    verdict: &Verdict,
    host_id: Hash64,
    incident_id: IncidentId,
    onset: Millis,
    rev: u32,
) -> Vec<FindingRow> {
    let all = verdict.findings.iter().chain(&verdict.folded);
    let all = (0..=u8::MAX).zip(all);
    all.map(|(rank, found)| {
        let witness = |one: &Witness, is_for| WitnessRow {
            kind: one.source.clone(),
            is_for,
            reference: one.id.clone(),
            value: one.value.unwrap_or(f64::NAN),
        };
        let for_it = found.witnesses.iter().map(|one| witness(one, true));
        let against = found.against.iter().map(|one| witness(one, false));
        FindingRow {
            incident_id,
            host_id,
            onset,
            cause: found.cause.clone(),
            rank,
            score: found.confidence,
            witnesses: for_it.chain(against).take(WITNESSES_MAX).collect(),
            rev,
        }
    })
    .collect()
}

impl IncidentRows {
    /// What was recorded, with a token of the file's content: whoever sends the same file again sends nothing new.
    pub fn evidence(&self) -> Batch {
        let mut batch = Batch::new(self.token(0));
        batch.push(&self.host);
        batch.extend(&self.stacks);
        batch.extend(&self.stack_frames);
        batch.extend(&self.frames);
        batch.extend(&self.queries);
        batch.extend(&self.query_texts);
        batch.extend(&self.signals);
        batch.push(&self.health);
        batch
    }

    /// What came of it: replaced by a later judgement, of a catalogue that knows more. The server is in it, so that it can
    /// be seen whose it is.
    pub fn judgement(&self) -> Batch {
        let mut batch = Batch::new(self.token(self.incident.rev.into()));
        batch.push(&self.host);
        batch.push(&self.incident);
        batch.extend(&self.findings);
        batch
    }

    fn token(&self, seq: u64) -> Token {
        let file = &self.incident.frame_sha256;
        let parts: [&[u8]; 3] = [b"file", file.as_bytes(), self.incident.name.as_bytes()];
        Token {
            host_id: self.incident.host_id.0,
            boot: hash64(&parts).0,
            seq,
        }
    }

    /// What others are compared with.
    pub fn subject(&self) -> Subject {
        Subject::of(&self.incident, &self.stacks)
    }
}
