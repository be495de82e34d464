//! What this program itself does to a server: the statements that it sends, and the TCP ports that it sends them from.
//! Who counts what a server was asked takes them out again, whichever way the statements were seen.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use model::QueryDigest;

/// Classes that are counted; our own statements have some thirty.
const CLASSES_MAX: usize = 300;

/// Statements whose fingerprint is kept, and how long each may be, bytes: others have a time or a number in them.
const REPEATED_MAX: usize = 64;
const STATEMENT_BYTES_MAX: usize = 200;

/// The commands that our own statements are. Each is told from the beginning: of a counter that appears later nobody
/// knows that it was nothing before.
const COMMANDS: [&str; 9] = [
    "select",
    "set_option",
    "show_engine_status",
    "show_grants",
    "show_processlist",
    "show_replica_status",
    "show_slave_status",
    "show_status",
    "show_variables",
];

/// Ends of our own connections that are remembered. A probe makes one a second, and packets are read within a second.
const CLIENTS_MAX: usize = 256;

/// Statements that were sent, by class. A clone is another hand on the same counts: all sessions with one server share
/// one.
#[derive(Debug, Clone, Default)]
pub struct OwnStatements(Arc<Mutex<Counts>>);

#[derive(Debug, Default)]
struct Counts {
    classes: Vec<Class>,
    /// Statements that are sent again and again, as the probes' are, with the place of their class: a few, and most have a
    /// length that no other one has.
    repeated: Vec<(String, usize)>,
    /// Connections that were ended in order.
    quits: u64,
}

/// Statements of one class.
#[derive(Debug)]
struct Class {
    fingerprint: String,
    /// The counter that they move.
    command: String,
    count: u64,
}

impl Counts {
    /// The place of the class, where there is room for it.
    fn add(&mut self, fingerprint: String, count: u64) -> Option<usize> {
        let mut classes = self.classes.iter();
        let known = classes.position(|class| class.fingerprint == fingerprint);
        if known.is_none() && self.classes.len() < CLASSES_MAX {
            self.classes.push(Class {
                command: command_of(&fingerprint),
                fingerprint,
                count,
            });
            return Some(self.classes.len() - 1);
        }
        let known = known?;
        self.classes.get_mut(known)?.count += count;
        Some(known)
    }
}

impl OwnStatements {
    /// Counts a statement, before it is sent: a server that counts it has got it.
    pub(crate) fn add(&self, statement: &str) {
        let mut counts = lock(&self.0);
        let counts = &mut *counts;
        let mut repeated = counts.repeated.iter();
        if let Some((_, class)) = repeated.find(|(known, _)| known == statement) {
            if let Some(class) = counts.classes.get_mut(*class) {
                class.count += 1;
            }
            return;
        }
        let class = counts.add(sql::fingerprint(statement), 1);
        let is_short = statement.len() <= STATEMENT_BYTES_MAX;
        if let Some(class) = class
            && is_short
            && counts.repeated.len() < REPEATED_MAX
        {
            counts.repeated.push((statement.to_owned(), class));
        }
    }

    /// Counts the end of a connection.
    pub(crate) fn add_quit(&self) {
        lock(&self.0).quits += 1;
    }

    /// By how much `Questions` has grown by them. The command with which a client takes its leave is counted there, too
    /// (sql/sql_parse.cc, `dispatch_command`: all commands but those with `CF_SKIP_QUESTIONS`).
    pub fn questions(&self) -> u64 {
        let counts = lock(&self.0);
        let statements = counts.classes.iter().map(|class| class.count);
        statements.fold(counts.quits, u64::saturating_add)
    }

    /// Takes over what was counted elsewhere.
    pub(crate) fn take(&self, other: &Self) {
        if Arc::ptr_eq(&self.0, &other.0) {
            return;
        }
        let taken = std::mem::take(&mut *lock(&other.0));
        let mut counts = lock(&self.0);
        counts.quits += taken.quits;
        for class in taken.classes {
            counts.add(class.fingerprint, class.count);
        }
    }

    /// How often each class was sent, by its fingerprint.
    pub fn by_fingerprint(&self) -> BTreeMap<String, u64> {
        let counts = lock(&self.0);
        let classes = counts.classes.iter();
        classes
            .map(|class| (class.fingerprint.clone(), class.count))
            .collect()
    }

    /// How often each status counter `Com_…` was moved by them, by its name without that prefix.
    pub fn by_command(&self) -> BTreeMap<Cow<'static, str>, u64> {
        let known = COMMANDS.iter().map(|name| (Cow::Borrowed(*name), 0));
        let mut commands: BTreeMap<Cow<'static, str>, u64> = known.collect();
        for class in &lock(&self.0).classes {
            match commands.get_mut(class.command.as_str()) {
                Some(count) => *count += class.count,
                None => drop(commands.insert(class.command.clone().into(), class.count)),
            }
        }
        commands
    }
}

/// The counter `Com_…` of one of our own statements, without the prefix (MySQL 8.4 manual, 7.1.10, `Com_xxx`). `SHOW`
/// has one for each thing that is shown, whatever stands between.
fn command_of(fingerprint: &str) -> String {
    let mut words = fingerprint.split(|letter: char| !letter.is_ascii_alphanumeric());
    match words.next().unwrap_or_default() {
        "set" => "set_option".to_owned(),
        "show" => {
            let shown = words
                .filter(|word| !word.is_empty())
                .take_while(|word| !matches!(*word, "where" | "like" | "for"))
                .filter(|word| !matches!(*word, "global" | "session" | "full" | "innodb" | "all"))
                .map(|word| if word == "slaves" { "slave" } else { word });
            let shown: Vec<&str> = shown.collect();
            format!("show_{}", shown.join("_"))
        }
        word => word.to_owned(),
    }
}

/// Takes our own statements out of digests of one server that follow each other.
#[derive(Debug, Default)]
pub struct OwnStatementFilter {
    before: BTreeMap<String, u64>,
    by_class: BTreeMap<String, Owed>,
}

/// Statements of one class.
#[derive(Debug, Default)]
struct Owed {
    /// Sent and not met in a digest so far: a statement is counted when it ends.
    left: u64,
    /// Sent before the last digest and after the one before it.
    sent: u64,
}

impl OwnStatementFilter {
    /// What was sent up to now is in no digest to come.
    pub fn begin(&mut self, own: &OwnStatements) {
        self.before = own.by_fingerprint();
        self.by_class.clear();
    }

    /// Takes out what was sent since the last digest. A class that others ask as well keeps their part: its sums are
    /// divided by number.
    pub fn take_out(&mut self, digest: &mut QueryDigest, own: &OwnStatements) {
        let now = own.by_fingerprint();
        for (fingerprint, count) in &now {
            let sent = count.saturating_sub(self.before.get(fingerprint).copied().unwrap_or(0));
            let owed = self.by_class.entry(fingerprint.clone()).or_default();
            // What is not in the digest after the next was never counted, and must not be taken from what others ask.
            owed.left = sent.saturating_add(owed.left.min(owed.sent));
            owed.sent = sent;
        }
        self.before = now;
        let mut taken = 0;
        for class in &mut digest.classes {
            let Some(owed) = self.by_class.get_mut(&class.fingerprint) else {
                continue;
            };
            let ours = owed.left.min(class.count);
            owed.left -= ours;
            taken += ours;
            leave(class, class.count - ours);
        }
        digest.classes.retain(|class| class.count > 0);
        digest.count = digest.count.saturating_sub(taken);
    }
}

/// Leaves so many statements of a class, with their part of its sums.
fn leave(class: &mut model::QueryClass, count: u64) {
    if class.count == 0 || count == class.count {
        return;
    }
    let part = count as f64 / class.count as f64;
    let scaled = |value: u64| (value as f64 * part).round() as u64;
    for measure in &mut class.measures {
        measure.count = scaled(measure.count);
        measure.sum *= part;
    }
    for named in [
        &mut class.users,
        &mut class.hosts,
        &mut class.databases,
        &mut class.programs,
    ] {
        for one in named {
            one.count = scaled(one.count);
        }
    }
    class.count = count;
}

/// The ends of this program's own TCP connections, the latest last.
static CLIENTS: Mutex<VecDeque<SocketAddr>> = Mutex::new(VecDeque::new());

/// Remembers the own end of a connection.
pub(crate) fn is_ours(client: SocketAddr) {
    let mut clients = lock(&CLIENTS);
    if clients.len() >= CLIENTS_MAX {
        clients.pop_front();
    }
    clients.push_back(client);
}

/// The own ends of the TCP connections that this program made lately.
pub fn own_clients() -> HashSet<SocketAddr> {
    lock(&CLIENTS).iter().copied().collect()
}

/// Plain values: a panic elsewhere cannot have left them half-written.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use model::{QueryClass, QueryMeasure, QueryMethod};

    use super::*;

    fn digest(classes: &[(&str, u64)]) -> QueryDigest {
        QueryDigest {
            method: QueryMethod::PerformanceSchema,
            from_us: None,
            to_us: None,
            count: classes.iter().map(|(_, count)| count).sum(),
            errors: None,
            classes: classes
                .iter()
                .map(|(text, count)| QueryClass {
                    fingerprint: (*text).to_owned(),
                    count: *count,
                    measures: vec![QueryMeasure {
                        name: "Query_time".to_owned(),
                        count: *count,
                        sum: *count as f64,
                        ..QueryMeasure::default()
                    }],
                    ..QueryClass::default()
                })
                .collect(),
            folded: None,
            lost: 0,
            blind: Vec::new(),
            tried: Vec::new(),
            connections: None,
        }
    }

    fn left(digest: &QueryDigest) -> Vec<(&str, u64)> {
        let classes = digest.classes.iter();
        classes
            .map(|class| (class.fingerprint.as_str(), class.count))
            .collect()
    }

    #[test]
    fn ours_are_taken_out_and_others_keep_theirs() {
        let (own, mut part) = (OwnStatements::default(), OwnStatementFilter::default());
        for _ in 0..5 {
            own.add("SELECT 1");
        }
        own.add("SHOW GLOBAL STATUS");
        let mut first = digest(&[
            ("select ?", 8),
            ("show global status", 1),
            ("select c from t", 7),
        ]);
        part.take_out(&mut first, &own);
        assert_eq!(left(&first), [("select ?", 3), ("select c from t", 7)]);
        assert_eq!(first.count, 10);
        assert_eq!(first.classes[0].sum("Query_time"), Some(3.0));
        // The same class, asked by others alone.
        let mut second = digest(&[("select ?", 4)]);
        part.take_out(&mut second, &own);
        assert_eq!(left(&second), [("select ?", 4)]);
    }

    #[test]
    fn what_was_under_way_is_taken_from_the_next_digest() {
        let (own, mut part) = (OwnStatements::default(), OwnStatementFilter::default());
        own.add("SELECT 1");
        own.add("SELECT 1");
        // One has not ended when the table is read.
        let mut first = digest(&[("select ?", 1)]);
        part.take_out(&mut first, &own);
        assert_eq!(left(&first), []);
        own.add("SELECT 1");
        let mut second = digest(&[("select ?", 2)]);
        part.take_out(&mut second, &own);
        assert_eq!(left(&second), []);
    }

    #[test]
    fn what_a_server_never_counts_is_not_owed_for_long() {
        let (own, mut part) = (OwnStatements::default(), OwnStatementFilter::default());
        for _ in 0..100 {
            own.add("SET SESSION slow_query_log = 0");
        }
        for _ in 0..3 {
            part.take_out(&mut digest(&[]), &own);
        }
        let mut later = digest(&[("set session slow_query_log = ?", 3)]);
        part.take_out(&mut later, &own);
        assert_eq!(left(&later), [("set session slow_query_log = ?", 3)]);
    }

    #[test]
    fn commands_are_those_of_the_servers_counters() {
        let own = OwnStatements::default();
        for statement in [
            "SELECT @@version",
            "SET SESSION long_query_time = 1",
            "SHOW GLOBAL STATUS",
            "SHOW GLOBAL STATUS WHERE 'freezeframe' <> '' AND Variable_name IN ('Questions')",
            "SHOW PROCESSLIST",
            "SHOW ENGINE INNODB STATUS",
            "SHOW GLOBAL VARIABLES",
            "SHOW GRANTS",
            "SHOW ALL SLAVES STATUS",
            "SHOW REPLICA STATUS",
        ] {
            own.add(statement);
        }
        let commands = own.by_command();
        assert_eq!(commands.len(), COMMANDS.len(), "{commands:?}");
        for name in COMMANDS {
            let expected = if name == "show_status" { 2 } else { 1 };
            assert_eq!(commands[name], expected, "{name}");
        }
    }
}
