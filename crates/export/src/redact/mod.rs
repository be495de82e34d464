//! An incident that can be shown to strangers: without literals, and with other names for users, hosts,
//! addresses, schemas, tables and all else that a statement names.
//!
//! The same name is the same everywhere in the result, so what belongs together still does and the
//! diagnosis says what it said. What stands for a name is a hash of it with a salt: who does not have
//! the salt cannot try names.
//!
//! It is done in passes. The first meets the names where they stand as names: in sessions, statements,
//! transactions, settings, in quotes and paths of logs. The next ones replace all of them wherever they
//! stand, until no new one is met. [`Names`] is what to search the result for: whoever writes it does,
//! and keeps nothing in which one is found.

mod foreign;
mod forms;
mod innodb;
mod keywords;
mod leak;
mod line;
mod locks;
mod named;
mod names;
mod paths;
mod pieces;
mod pseudonyms;
mod random;
mod secrets;
mod series;
mod sessions;
mod setting_words;
mod settings;
mod statement;
mod states;
mod suspect;
mod text;
mod values;
mod variables;
pub(crate) mod well_known;
mod word_set;
mod wordwise;

#[cfg(test)]
mod tests;

use std::net::IpAddr;

use model::{
    Absent, Callers, Clock, Counted, Fact, Incident, Profile, ProfileCount, QueryDigest,
    SemaphoreWait, Series, StackEvidence, StackFrame, StackTable, Text, TextKind, ThreadRun,
    TimedText, Timeline, Trigger,
};

pub(crate) use foreign::Foreign;
pub use forms::forget_forms;
pub(crate) use keywords::is_keyword as is_sql_word;
pub use leak::Leak;
pub use paths::{builders_suffix, is_known_path};
use pseudonyms::{NameKind, Pseudonyms};
pub use pseudonyms::{Names, pseudonym};
pub(crate) use variables::is_somebodys as is_somebodys_variable;
pub(crate) use well_known::{STRUCTURE as STRUCTURE_WORDS, server as server_words};

/// A user, host or schema that every server has, or what stands for a name already.
pub(crate) fn is_everybodys(lower: &str) -> bool {
    let is_every_hosts = |ip: IpAddr| ip.is_loopback() || ip.is_unspecified();
    lower.parse().is_ok_and(is_every_hosts)
        || well_known::USERS.contains(&lower)
        || well_known::HOSTS.contains(&lower)
        || well_known::SCHEMAS.contains(&lower)
        || pseudonyms::is_pseudonym(lower)
}

/// Passes at the most: the second usually meets no new name.
const PASSES_MAX: usize = 5;

/// An incident with other names.
pub struct Redacted {
    /// The incident.
    pub incident: Incident,
    /// The names that it had.
    pub names: Names,
}

/// Why there is no result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unredactable {
    /// More different names than are kept apart, or no end of new ones.
    TooManyNames,
}

impl std::fmt::Display for Unredactable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooManyNames => f.write_str("it holds more different names than can be followed"),
        }
    }
}

impl std::error::Error for Unredactable {}

/// The incident without literals and names. `also` is text that every file of the result has: a name
/// that is a word of it cannot be searched for.
///
/// # Errors
///
/// When names were met that could not all be followed.
pub fn redact(incident: &Incident, salt: &[u8], also: &str) -> Result<Redacted, Unredactable> {
    let mut pseudonyms = Pseudonyms::new(incident, salt, also);
    let mut known = usize::MAX;
    for _ in 0..PASSES_MAX {
        let redacted = pass(&mut pseudonyms, incident);
        if pseudonyms.overflow {
            return Err(Unredactable::TooManyNames);
        }
        if pseudonyms.len() == known {
            return Ok(Redacted {
                incident: redacted,
                names: pseudonyms.into_names(),
            });
        }
        known = pseudonyms.len();
        pseudonyms.learn();
    }
    Err(Unredactable::TooManyNames)
}

/// What came to an incident of which all else is known.
#[derive(Debug, Clone, Default)]
pub struct Newcomers<'a> {
    /// Signals by their names.
    pub signals: Vec<&'a str>,
    /// Facts with their values.
    pub facts: Vec<&'a Fact>,
    /// Evidence that could not be taken.
    pub absent: Vec<&'a Absent>,
}

/// Whether none of these has a name of anybody's in it: a redaction leaves each as it is, and meets no name that it would
/// look for elsewhere. Much less work than to redact the incident again.
pub fn are_nobodys(new: &Newcomers<'_>) -> bool {
    let nothing = Incident::default();
    // With fewer words of the server than an incident has: what is in doubt is somebody's.
    let mut pseudonyms = Pseudonyms::new(&nothing, &[], "");
    let are_kept = new.signals.iter().all(|signal| {
        states::is_servers(&pseudonyms, signal)
            || series::rename(&mut pseudonyms, signal) == **signal
    }) && new.facts.iter().all(|fact| {
        values::rename(&mut pseudonyms, &fact.name, &fact.value) == fact.value
            && names::variable(&mut pseudonyms, &fact.name) == fact.name
    }) && new.absent.iter().all(|one| {
        let mut renamed = (*one).clone();
        absent(&mut pseudonyms, &mut renamed);
        renamed == **one
    });
    are_kept && pseudonyms.len() == 0 && !pseudonyms.overflow
}

fn pass(pseudonyms: &mut Pseudonyms<'_>, incident: &Incident) -> Incident {
    // What is made anew below is not copied before: timeline, texts and stacks are most of an incident.
    let mut out = Incident {
        id: String::new(),
        host: String::new(),
        tool_version: incident.tool_version.clone(),
        server: incident.server.clone(),
        clock: incident.clock.clone(),
        stall: incident.stall.clone(),
        window: incident.window,
        timeline: Timeline::default(),
        texts: Vec::new(),
        facts: incident.facts.clone(),
        stacks: StackEvidence::default(),
        queries: incident.queries.clone(),
        mentions: incident.mentions.clone(),
        known_words: incident.known_words.clone(),
        absent: incident.absent.clone(),
    };
    out.host = names::host_(pseudonyms, &incident.host);
    out.id = id(pseudonyms, &incident.id);
    out.server.label = label(pseudonyms, &incident.server.label);
    out.server.version = values::version(pseudonyms, &incident.server.version);
    out.server.address = text::rename(pseudonyms, &incident.server.address);
    out.clock = Clock {
        // It is the same in everything that is recorded between two starts of a host.
        boot_id: String::new(),
        ..incident.clock.clone()
    };
    out.stall.triggers = incident
        .stall
        .triggers
        .iter()
        .map(|trigger| Trigger {
            rule: trigger.rule.clone(),
            says: values::trigger(pseudonyms, &trigger.says),
        })
        .collect();
    out.timeline = timeline(pseudonyms, &incident.timeline);
    let texts = incident.texts.iter().map(|timed| TimedText {
        at: timed.at,
        text: text_(pseudonyms, &timed.text),
    });
    out.texts = texts.collect();
    for timed in &mut out.facts {
        timed.fact.value = values::rename(pseudonyms, &timed.fact.name, &timed.fact.value);
        timed.fact.name = names::variable(pseudonyms, &timed.fact.name);
    }
    out.stacks = stacks(pseudonyms, &incident.stacks, &Foreign::of(incident));
    for timed in &mut out.queries {
        digest(pseudonyms, &mut timed.digest);
    }
    for timed in &mut out.absent {
        absent(pseudonyms, &mut timed.absent);
    }
    out
}

/// `3306-20261120T233015.123Z`: the label and the time.
fn id(pseudonyms: &mut Pseudonyms<'_>, id: &str) -> String {
    let stamp = id.rsplit_once('-').filter(|(_, stamp)| {
        stamp.len() >= 16
            && stamp
                .bytes()
                .all(|byte| byte.is_ascii_digit() || b"TZ.".contains(&byte))
    });
    match stamp {
        Some((head, stamp)) => format!("{}-{stamp}", label(pseudonyms, head)),
        None => label(pseudonyms, id),
    }
}

/// A port, `pid123`, or a word made of a path.
fn label(pseudonyms: &mut Pseudonyms<'_>, label: &str) -> String {
    let digits = label.strip_prefix("pid").unwrap_or(label);
    // A capture is called by its file: `lock-waits`.
    let is_own = label
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .all(|word| pseudonyms.is_own(word));
    match digits.bytes().all(|byte| byte.is_ascii_digit()) || label == "stdin" || is_own {
        true => label.to_owned(),
        false => pseudonyms.name(NameKind::Path, label),
    }
}

fn timeline(pseudonyms: &mut Pseudonyms<'_>, timeline: &Timeline) -> Timeline {
    let mut out = Timeline::default();
    for source in &timeline.sources {
        out.add_source(&source.name, source.ticks.clone());
    }
    for series in &timeline.series {
        out.add_series(Series {
            name: series::rename(pseudonyms, &series.name),
            ..series.clone()
        });
    }
    out.dropped_readings = timeline.dropped_readings;
    out
}

fn text_(pseudonyms: &mut Pseudonyms<'_>, text: &Text) -> Text {
    let body = match text.kind() {
        TextKind::Processlist => sessions::rename(pseudonyms, text.body()),
        TextKind::InnodbStatus => innodb::rename(pseudonyms, text.body()),
        TextKind::Semaphores => semaphores(pseudonyms, text.body()),
        TextKind::Threads => threads(pseudonyms, text.body()),
        // `innodb_print_all_deadlocks`: statements over several lines, and values of rows.
        TextKind::ErrorLog if text.body().contains(" thread id ") => {
            innodb::rename(pseudonyms, text.body())
        }
        TextKind::ErrorLog => text::rename(pseudonyms, text.body()),
        TextKind::KernelLog => {
            let renamed = text::rename(pseudonyms, text.body());
            pieces::known_only(pseudonyms, &renamed, |_| false)
        }
    };
    // Names were replaced in it and nothing came to it; what a server wrote is redacted once more, since
    // there is no other way to make such a text.
    server_text::stored(text.kind(), &body)
}

fn schema(pseudonyms: &mut Pseudonyms<'_>, schema: &str) -> String {
    match well_known::SCHEMAS.contains(&schema.to_ascii_lowercase().as_str()) {
        true => schema.to_owned(),
        false => pseudonyms.name(NameKind::Schema, schema),
    }
}

fn statement_(pseudonyms: &mut Pseudonyms<'_>, statement: &str) -> String {
    let renamed = statement::rename(pseudonyms, statement);
    pseudonyms.sweep(&renamed).into_owned()
}

fn semaphores(pseudonyms: &mut Pseudonyms<'_>, body: &str) -> String {
    let Ok(mut waits) = serde_json::from_str::<Vec<SemaphoreWait>>(body) else {
        return "[]".to_owned();
    };
    for wait in &mut waits {
        wait.holder_query = wait
            .holder_query
            .take()
            .map(|query| statement_(pseudonyms, &query));
        // The folders are those where it was built; of an import a file is whatever stood in its place.
        waits_files(wait, |file| {
            let renamed = line::value(pseudonyms, file);
            pieces::known_only(pseudonyms, &renamed, |_| false)
        });
        // A file that was made before each part of a wait had a form of its own has whatever stood in the line.
        for text in [&mut wait.thread, &mut wait.lock_kind]
            .into_iter()
            .chain(
                [&mut wait.lock_name, &mut wait.lock_address]
                    .into_iter()
                    .flatten(),
            )
            .chain(
                [&mut wait.holder_thread, &mut wait.holder_mode]
                    .into_iter()
                    .flatten(),
            )
            .filter(|text| text.contains(char::is_whitespace))
        {
            *text = pieces::known_only(pseudonyms, text, |_| false);
        }
    }
    let json = serde_json::to_string(&waits).unwrap_or_else(|_| "[]".to_owned());
    pseudonyms.sweep(&json).into_owned()
}

fn waits_files(wait: &mut SemaphoreWait, mut rename: impl FnMut(&str) -> String) {
    wait.file = rename(&wait.file);
    for file in [
        &mut wait.created_file,
        &mut wait.last_reserved,
        &mut wait.last_read_locked,
        &mut wait.last_write_locked,
    ]
    .into_iter()
    .flatten()
    {
        *file = rename(file);
    }
}

/// Names of threads are the server's own; a plugin's may tell more.
fn threads(pseudonyms: &Pseudonyms<'_>, body: &str) -> String {
    match serde_json::from_str::<serde_json::Value>(body) {
        Ok(value) => pseudonyms.sweep(&value.to_string()).into_owned(),
        Err(_) => "[]".to_owned(),
    }
}

/// `(name)`: the one frame that stands for another program.
pub(crate) fn is_program_frame(name: &str) -> bool {
    name.starts_with('(') && name.ends_with(')') && !name.starts_with("(anonymous")
}

fn stacks(
    pseudonyms: &mut Pseudonyms<'_>,
    stacks: &StackEvidence,
    foreign: &Foreign,
) -> StackEvidence {
    let frames: Vec<StackFrame> = stacks
        .table
        .frames()
        .iter()
        .enumerate()
        .map(|(number, frame)| match is_program_frame(&frame.name) {
            _ if foreign.has_frame(number) => StackFrame {
                name: pseudonyms.name(NameKind::Name, &frame.name),
                image: pseudonyms.name(NameKind::Name, &frame.image),
                ..frame.clone()
            },
            true => {
                // One pair of brackets: a program's name may have its own, as `(ended)`.
                let program = frame.name.strip_prefix('(').unwrap_or(&frame.name);
                let program =
                    names::program(pseudonyms, program.strip_suffix(')').unwrap_or(program));
                StackFrame {
                    // It has the program's name for an image, too.
                    image: match frame.image.is_empty() {
                        true => String::new(),
                        false => names::program(pseudonyms, &frame.image),
                    },
                    name: format!("({program})"),
                    ..frame.clone()
                }
            }
            false => StackFrame {
                name: pseudonyms.sweep(&frame.name).into_owned(),
                image: image(pseudonyms, &frame.image),
                ..frame.clone()
            },
        })
        .collect();
    StackEvidence {
        table: StackTable::from_parts(frames, stacks.table.stacks().to_vec()),
        snapshots: stacks.snapshots.clone(),
        runs: stacks
            .runs
            .iter()
            .map(|run| ThreadRun {
                name: thread(
                    pseudonyms,
                    &run.name,
                    !foreign.has_stack(run.stack),
                    foreign,
                ),
                ..run.clone()
            })
            .collect(),
        profiles: stacks
            .profiles
            .iter()
            .map(|profile| Profile {
                counts: counts(pseudonyms, &profile.counts, foreign),
                ..profile.clone()
            })
            .collect(),
        callers: stacks
            .callers
            .iter()
            .map(|callers| Callers {
                profile: callers.profile,
                counts: counts(pseudonyms, &callers.counts, foreign),
            })
            .collect(),
        locks: stacks
            .locks
            .iter()
            .map(|table| locks::rename(pseudonyms, table))
            .collect(),
    }
}

/// The name of a thread; of one of the server's a recorder has it from the server itself.
fn thread(
    pseudonyms: &mut Pseudonyms<'_>,
    name: &str,
    is_servers: bool,
    foreign: &Foreign,
) -> String {
    match (is_servers, foreign.is_import()) {
        (false, _) => names::program(pseudonyms, name),
        (true, true) => names::thread(pseudonyms, name),
        (true, false) => pseudonyms.sweep(name).into_owned(),
    }
}

/// Rows of a profile with other names of threads.
fn counts(
    pseudonyms: &mut Pseudonyms<'_>,
    rows: &[ProfileCount],
    foreign: &Foreign,
) -> Vec<ProfileCount> {
    let rows = rows.iter();
    rows.map(|row| ProfileCount {
        thread: {
            let is_servers = row.server && !foreign.has_stack(row.stack);
            thread(pseudonyms, &row.thread, is_servers, foreign)
        },
        ..row.clone()
    })
    .collect()
}

/// A library, with the folders it was found in where they are known.
fn image(pseudonyms: &mut Pseudonyms<'_>, image: &str) -> String {
    let renamed = match image.rsplit_once('/') {
        Some((folders, file)) if !image.starts_with('[') => {
            format!("{}/{file}", paths::path(pseudonyms, folders))
        }
        _ => image.to_owned(),
    };
    pseudonyms.sweep(&renamed).into_owned()
}

fn digest(pseudonyms: &mut Pseudonyms<'_>, digest: &mut QueryDigest) {
    for class in &mut digest.classes {
        class.fingerprint = statement_(pseudonyms, &class.fingerprint);
        // Whoever guesses the statement can make them again, unless they are of the new one.
        class.id = sql::fingerprint_id(&class.fingerprint);
        class.compat_id = None;
        class.kind = states::class(pseudonyms, &class.kind);
        for measure in &mut class.measures {
            measure.name = names::part_of_variable(pseudonyms, &measure.name);
        }
        class.sample = None;
        class.notes.clear();
        counted(&mut class.users, |name| names::user_(pseudonyms, name));
        counted(&mut class.hosts, |name| names::host_(pseudonyms, name));
        counted(&mut class.databases, |name| schema(pseudonyms, name));
        counted(&mut class.programs, |name| {
            values::connector(pseudonyms, name)
        });
    }
    for one in digest.blind.iter_mut().chain(&mut digest.tried) {
        absent(pseudonyms, one);
    }
}

fn counted(names: &mut [Counted], mut rename: impl FnMut(&str) -> String) {
    for one in names {
        one.name = rename(&one.name);
    }
}

fn absent(pseudonyms: &mut Pseudonyms<'_>, absent: &mut model::Absent) {
    absent.what = text::rename(pseudonyms, &absent.what);
    absent.detail = text::rename(pseudonyms, &absent.detail);
}
