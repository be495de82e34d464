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

mod book;
mod innodb;
mod keywords;
mod line;
mod locks;
mod named;
mod names;
mod paths;
mod series;
mod settings;
mod statement;
mod suspect;
mod text;
mod values;
pub(crate) mod words;

#[cfg(test)]
mod tests;

use model::{
    Callers, Clock, Counted, Frame, Incident, ProcessList, Profile, ProfileCount, QueryDigest,
    SemaphoreWait, Series, StackBook, StackEvidence, Text, TextKind, ThreadRun, Timeline, Trigger,
};

use book::{Book, What};
pub use book::{Leak, Names};
pub(crate) use keywords::is_keyword as is_sql_word;
pub(crate) use words::{STRUCTURE as STRUCTURE_WORDS, server as server_words};

/// A user, host or schema that every server has, or what stands for a name already.
pub(crate) fn is_everybodys(lower: &str) -> bool {
    words::USERS.contains(&lower)
        || words::HOSTS.contains(&lower)
        || words::SCHEMAS.contains(&lower)
        || book::is_pseudonym(lower)
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
    let mut book = Book::new(incident, salt, also);
    let mut known = usize::MAX;
    for _ in 0..PASSES_MAX {
        let redacted = pass(&mut book, incident);
        if book.overflow {
            return Err(Unredactable::TooManyNames);
        }
        if book.len() == known {
            return Ok(Redacted {
                incident: redacted,
                names: book.into_names(),
            });
        }
        known = book.len();
        book.learn();
    }
    Err(Unredactable::TooManyNames)
}

fn pass(book: &mut Book<'_>, incident: &Incident) -> Incident {
    let mut out = incident.clone();
    out.host = names::host_(book, &incident.host);
    out.id = id(book, &incident.id);
    out.server.label = label(book, &incident.server.label);
    out.server.version = text::rename(book, &incident.server.version);
    out.server.address = text::rename(book, &incident.server.address);
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
            says: text::rename(book, &trigger.says),
        })
        .collect();
    out.timeline = timeline(book, &incident.timeline);
    for timed in &mut out.texts {
        timed.text = text_(book, &timed.text);
    }
    for timed in &mut out.facts {
        timed.fact.value = values::rename(book, &timed.fact.name, &timed.fact.value);
    }
    out.stacks = stacks(book, &incident.stacks);
    for timed in &mut out.queries {
        digest(book, &mut timed.digest);
    }
    for timed in &mut out.absent {
        absent(book, &mut timed.absent);
    }
    out
}

/// `3306-20261120T233015.123Z`: the label and the time.
fn id(book: &mut Book<'_>, id: &str) -> String {
    let stamp = id.rsplit_once('-').filter(|(_, stamp)| {
        stamp.len() >= 16
            && stamp
                .bytes()
                .all(|byte| byte.is_ascii_digit() || b"TZ.".contains(&byte))
    });
    match stamp {
        Some((head, stamp)) => format!("{}-{stamp}", label(book, head)),
        None => label(book, id),
    }
}

/// A port, `pid123`, or a word made of a path.
fn label(book: &mut Book<'_>, label: &str) -> String {
    let digits = label.strip_prefix("pid").unwrap_or(label);
    // A capture is called by its file: `lock-waits`.
    let is_own = label
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .all(|word| book.is_own(word));
    match digits.bytes().all(|byte| byte.is_ascii_digit()) || label == "stdin" || is_own {
        true => label.to_owned(),
        false => book.name(What::Path, label),
    }
}

fn timeline(book: &mut Book<'_>, timeline: &Timeline) -> Timeline {
    let mut out = Timeline::default();
    for source in &timeline.sources {
        out.add_source(&source.name, source.ticks.clone());
    }
    for series in &timeline.series {
        out.add_series(Series {
            name: series::rename(book, &series.name),
            ..series.clone()
        });
    }
    out.dropped_readings = timeline.dropped_readings;
    out
}

fn text_(book: &mut Book<'_>, text: &Text) -> Text {
    let body = match text.kind() {
        TextKind::Processlist => processlist(book, text.body()),
        TextKind::InnodbStatus => innodb::rename(book, text.body()),
        TextKind::Semaphores => semaphores(book, text.body()),
        TextKind::Threads => threads(book, text.body()),
        // `innodb_print_all_deadlocks`: statements over several lines, and values of rows.
        TextKind::ErrorLog if text.body().contains(" thread id ") => {
            innodb::rename(book, text.body())
        }
        TextKind::ErrorLog | TextKind::KernelLog => text::rename(book, text.body()),
    };
    // Names were replaced in it and nothing came to it; what a server wrote is redacted once more, since
    // there is no other way to make such a text.
    server_text::stored(text.kind(), &body)
}

fn processlist(book: &mut Book<'_>, body: &str) -> String {
    let Ok(mut list) = serde_json::from_str::<ProcessList>(body) else {
        // Nobody can say what is in it.
        return "{}".to_owned();
    };
    list.by_user = std::mem::take(&mut list.by_user)
        .into_iter()
        .map(|(user, count)| (names::user_(book, &user), count))
        .collect();
    list.by_state = keys(book, std::mem::take(&mut list.by_state));
    list.by_class = keys(book, std::mem::take(&mut list.by_class));
    list.by_command = keys(book, std::mem::take(&mut list.by_command));
    for session in list.longest.iter_mut().chain(&mut list.idle) {
        session.user = names::user_(book, &session.user);
        session.host = names::host_(book, &session.host);
        session.db = schema(book, &session.db);
        session.state = text::rename(book, &session.state);
        session.statement = statement_(book, &session.statement);
    }
    serde_json::to_string(&list).unwrap_or_else(|_| "{}".to_owned())
}

fn keys(
    book: &Book<'_>,
    counts: std::collections::BTreeMap<String, u64>,
) -> std::collections::BTreeMap<String, u64> {
    counts
        .into_iter()
        .map(|(name, count)| (book.sweep(&name).into_owned(), count))
        .collect()
}

fn schema(book: &mut Book<'_>, schema: &str) -> String {
    match words::SCHEMAS.contains(&schema.to_ascii_lowercase().as_str()) {
        true => schema.to_owned(),
        false => book.name(What::Schema, schema),
    }
}

fn statement_(book: &mut Book<'_>, statement: &str) -> String {
    let renamed = statement::rename(book, statement);
    book.sweep(&renamed).into_owned()
}

fn semaphores(book: &mut Book<'_>, body: &str) -> String {
    let Ok(mut waits) = serde_json::from_str::<Vec<SemaphoreWait>>(body) else {
        return "[]".to_owned();
    };
    for wait in &mut waits {
        wait.holder_query = wait
            .holder_query
            .take()
            .map(|query| statement_(book, &query));
        // The folders are those where it was built.
        waits_files(wait, |file| line::value(book, file));
    }
    let json = serde_json::to_string(&waits).unwrap_or_else(|_| "[]".to_owned());
    book.sweep(&json).into_owned()
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
fn threads(book: &Book<'_>, body: &str) -> String {
    match serde_json::from_str::<serde_json::Value>(body) {
        Ok(value) => book.sweep(&value.to_string()).into_owned(),
        Err(_) => "[]".to_owned(),
    }
}

/// `(name)`: the one frame that stands for another program.
pub(crate) fn is_program_frame(name: &str) -> bool {
    name.starts_with('(') && name.ends_with(')') && !name.starts_with("(anonymous")
}

fn stacks(book: &mut Book<'_>, stacks: &StackEvidence) -> StackEvidence {
    let frames: Vec<Frame> = stacks
        .book
        .frames()
        .iter()
        .map(|frame| match is_program_frame(&frame.name) {
            true => {
                let program = frame.name.trim_start_matches('(');
                let program = names::program(book, program.strip_suffix(')').unwrap_or(program));
                Frame {
                    // It has the program's name for an image, too.
                    image: match frame.image.is_empty() {
                        true => String::new(),
                        false => names::program(book, &frame.image),
                    },
                    name: format!("({program})"),
                    ..frame.clone()
                }
            }
            false => Frame {
                name: book.sweep(&frame.name).into_owned(),
                image: image(book, &frame.image),
                ..frame.clone()
            },
        })
        .collect();
    StackEvidence {
        book: StackBook::from_parts(frames, stacks.book.stacks().to_vec()),
        snapshots: stacks.snapshots.clone(),
        runs: stacks
            .runs
            .iter()
            .map(|run| ThreadRun {
                name: book.sweep(&run.name).into_owned(),
                ..run.clone()
            })
            .collect(),
        profiles: stacks
            .profiles
            .iter()
            .map(|profile| Profile {
                counts: counts(book, &profile.counts),
                ..profile.clone()
            })
            .collect(),
        callers: stacks
            .callers
            .iter()
            .map(|callers| Callers {
                profile: callers.profile,
                counts: counts(book, &callers.counts),
            })
            .collect(),
        locks: stacks
            .locks
            .iter()
            .map(|table| locks::rename(book, table))
            .collect(),
    }
}

/// Rows of a profile with other names of threads.
fn counts(book: &mut Book<'_>, rows: &[ProfileCount]) -> Vec<ProfileCount> {
    let rows = rows.iter();
    rows.map(|row| ProfileCount {
        thread: match row.server {
            true => book.sweep(&row.thread).into_owned(),
            false => names::program(book, &row.thread),
        },
        ..row.clone()
    })
    .collect()
}

/// A library, with the folders it was found in where they are known.
fn image(book: &mut Book<'_>, image: &str) -> String {
    let renamed = match image.rsplit_once('/') {
        Some((folders, file)) if !image.starts_with('[') => {
            format!("{}/{file}", paths::path(book, folders))
        }
        _ => image.to_owned(),
    };
    book.sweep(&renamed).into_owned()
}

fn digest(book: &mut Book<'_>, digest: &mut QueryDigest) {
    for class in &mut digest.classes {
        class.fingerprint = statement_(book, &class.fingerprint);
        // Whoever guesses the statement can make them again, unless they are of the new one.
        class.id = sql::fingerprint_id(&class.fingerprint);
        class.compat_id = None;
        class.kind = book.sweep(&class.kind).into_owned();
        class.sample = None;
        class.notes.clear();
        counted(&mut class.users, |name| names::user_(book, name));
        counted(&mut class.hosts, |name| names::host_(book, name));
        counted(&mut class.databases, |name| schema(book, name));
        counted(&mut class.programs, |name| values::connector(book, name));
    }
    for one in digest.blind.iter_mut().chain(&mut digest.tried) {
        absent(book, one);
    }
}

fn counted(names: &mut [Counted], mut rename: impl FnMut(&str) -> String) {
    for one in names {
        one.name = rename(&one.name);
    }
}

fn absent(book: &mut Book<'_>, absent: &mut model::Absent) {
    absent.what = text::rename(book, &absent.what);
    absent.detail = text::rename(book, &absent.detail);
}
