//! Words with a meaning in text that is no listing: people quote a state, a function, a line of a log in a sentence.
//!
//! A word is less than a measurement, and is kept as one: see [`model::Mention`]. A message of the server or the kernel is
//! a line of its log wherever it stands.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use lexicon::{Entry, Kind, Lexicon, Role};
use model::{Fact, Mention, TextKind, TimedFact, TimedText};

use crate::columns::is_server_program;
use crate::format::{Format, Group};
use crate::formats::unread::stage;
use crate::line::Line;
use crate::listed_waits::ListedWaits;
use crate::prose::goes_on;
use crate::read::Timestamp;
use crate::read::{Read, counted};
use crate::vocabulary::is_at_rest;

pub(crate) static FORMAT: Format = Format {
    id: "sentences",
    group: Group::People,
    name: "words in sentences",
    printed_by: "people: tickets, mails, posts",
    content: "states, functions, log messages and amounts that somebody quotes",
    // No line is recognised as its own: `read`, below, gets the lines that are in no section.
    ..Format::NONE
};

/// Bytes that are looked through of one input: sentences are short.
const BYTES_MAX: usize = 4 << 20;

/// The same of what was read as what it is.
const WITHIN_BYTES_MAX: usize = 256 << 10;

/// Words that are kept of one input, each once.
const WORDS_MAX: usize = 200;

/// Words that are told by name.
const NAMED_MAX: usize = 3;

/// The fact that lines of a log were quoted, not taken: what is not among them may have been there.
const QUOTED: &str = "quoted";

/// The same of a few lines that somebody shows beside what they tell.
const CHOSEN: &str = "chosen";

/// The logs that may be shown in part, and what the fact of each is named after.
const LOGS: [(&str, TextKind); 2] = [
    ("error_log", TextKind::ErrorLog),
    ("kernel_log", TextKind::KernelLog),
];

/// A listing of so many lines, or fewer, is what somebody chose to show: the amounts in it are told.
const CHOSEN_LINES_MAX: usize = 40;

/// Names of functions, states and places that are kept of what was read, at the most: they are counted where they stand,
/// and looked for here only where they were not.
const COUNTED_MAX: usize = 60;

/// A shorter stage of a statement tells nothing, in seconds.
const STAGE_SECONDS_MIN: f64 = 0.1;

/// A stage with less of the statement's time than the longest one, by so much, tells nothing beside it.
const STAGE_SHARE_MIN: f64 = 0.25;

/// Longest that stands between a kill and the name of whom it hit: the number of the process and its owner's.
const NUMBER_BYTES_MAX: usize = 24;

/// So many lines of one shape without a word, and the next ones have none. What an error is may be its number: among a few
/// lines each is looked at.
const SILENT_LINES: usize = 32;

/// Shapes that are remembered, at the most.
const SHAPES_MAX: usize = 4_096;

/// The layer of the lexicon whose statements look at the server.
const MONITORING: &str = "monitoring";

/// What clients print in front of a statement, and of its further lines.
const PROMPTS: [&str; 3] = ["mysql>", "MariaDB [", "->"];

/// Whether so many lines are a whole print of what always has the same names. Of a few lines somebody chose these.
pub(crate) fn is_whole(format: &Format, lines: usize) -> bool {
    format.is_inventory && lines > CHOSEN_LINES_MAX
}

/// Looks through lines of sections that were read for what is told besides: messages, words of InnoDB's, latches, statements,
/// and the amounts of a few lines. `own`: statements by which the sections were taken.
pub(crate) fn within<'l>(
    path: &str,
    sections: impl Iterator<Item = &'l [Line<'l>]>,
    own: &[&str],
) -> Read {
    let mut read = Read::default();
    let (mut bytes, mut counted) = (0_usize, 0_usize);
    let mut waits = ListedWaits::default();
    for lines in sections {
        let is_chosen = lines.len() <= CHOSEN_LINES_MAX;
        for line in lines {
            bytes += line.text.len();
            if bytes > WITHIN_BYTES_MAX || read.mentions.len() >= WORDS_MAX {
                return read;
            }
            if waits.take_mutex(line) || is_at_rest(&line.text) {
                continue;
            }
            for found in lexicon::mentions(&line.text) {
                let is_counted = match found.entry.kind {
                    Kind::Function | Kind::Place => true,
                    Kind::State => found.entry.role != Role::Told,
                    _ => false,
                };
                // Terms of the field are for sentences: a listing or a configuration has its own.
                if found.entry.kind == Kind::Term || own.contains(&found.entry.pattern) {
                    continue;
                }
                let is_told = match is_counted {
                    true => counted < COUNTED_MAX,
                    // A whole status has each of its amounts, large or not.
                    false => is_chosen || !is_amount(found.entry),
                };
                if is_told && push_mention(&mut read, path, line.number, &found, true) {
                    counted += usize::from(is_counted);
                }
            }
        }
    }
    push_waits(&mut read, path, waits, true);
    read
}

fn push_waits(read: &mut Read, path: &str, waits: ListedWaits, is_read: bool) {
    for wait in waits.telling() {
        let found = lexicon::Mention {
            entry: wait.entry,
            text: &wait.name,
        };
        push_mention(read, path, wait.line, &found, is_read);
    }
}

/// A statement by which somebody looked at the server, behind the prompt of a client: `mysql> SHOW GLOBAL STATUS`.
fn is_look(found: &lexicon::Mention<'_>, line: &str) -> bool {
    let is_monitoring = found.entry.kind == Kind::Statement && found.entry.layer == MONITORING;
    is_monitoring
        && PROMPTS
            .iter()
            .any(|prompt| line.trim_start().starts_with(prompt))
}

fn is_amount(entry: &Entry) -> bool {
    entry.kind.is_amount() || entry.role == Role::Amount
}

fn push_mention(
    read: &mut Read,
    path: &str,
    line: usize,
    found: &lexicon::Mention<'_>,
    is_read: bool,
) -> bool {
    let word = word_of(found);
    let is_known = |one: &Mention| one.kind == found.entry.kind && one.word == word;
    if read.mentions.iter().any(is_known) {
        return false;
    }
    read.mentions.push(Mention {
        kind: found.entry.kind,
        word,
        path: path.to_owned(),
        line,
        is_read,
    });
    true
}

/// As one is written by everybody: `Innodb_log_waits | 12` is `innodb_log_waits = 12`; of a message it is the lexicon's words.
fn word_of(found: &lexicon::Mention<'_>) -> String {
    match found.entry.kind {
        Kind::Message | Kind::KernelLine | Kind::ClientError => found.entry.pattern.to_owned(),
        kind if kind.is_amount() => amount(found.text),
        // Found though its underscores were lost: by its whole name it is known again.
        Kind::Function if Lexicon::get().lookup(Kind::Function, found.text).is_none() => {
            found.entry.pattern.replace('*', "")
        }
        _ => found.text.to_owned(),
    }
}

/// Looks through lines that are a part of nothing known.
pub(crate) fn read<'l>(path: &str, lines: impl Iterator<Item = &'l Line<'l>>) -> Read {
    let mut read = Read::default();
    let (mut error_log, mut kernel_log) = (String::new(), String::new());
    let mut bytes = 0_usize;
    let mut stages = Stages::default();
    let mut shapes = Shapes::default();
    let mut waits = ListedWaits::default();
    let mut last = None;
    for line in lines {
        let before: Option<&Line<'_>> = last.replace(line);
        bytes += line.text.len();
        if bytes > BYTES_MAX || read.mentions.len() >= WORDS_MAX {
            break;
        }
        let shape = shape(&line.text);
        if shapes.is_silent(shape) || is_at_rest(&line.text) {
            continue;
        }
        if stages.take(line) || waits.take(line) {
            continue;
        }
        // A denial may stand in front of a hard break.
        let begun = before.filter(|one| one.number + 1 == line.number);
        let begun = begun.filter(|one| goes_on(&one.text, &line.text));
        let words = lexicon::mentions_after(begun.map_or("", Line::trimmed), &line.text);
        shapes.count(shape, words.is_empty());
        for found in words {
            if is_look(&found, &line.text)
                || !push_mention(&mut read, path, line.number, &found, false)
            {
                continue;
            }
            match found.entry.kind {
                Kind::Message => push(&mut error_log, found.text),
                Kind::KernelLine => push(&mut kernel_log, &with_victim(&line.text, found.text)),
                _ => {}
            }
        }
    }
    for (log, text) in [
        (
            "error_log",
            (!error_log.is_empty()).then(|| server_text::error_log(&error_log)),
        ),
        (
            "kernel_log",
            (!kernel_log.is_empty()).then(|| server_text::kernel_log(&kernel_log)),
        ),
    ] {
        if let Some(text) = text {
            read.texts.push((Timestamp::default(), text));
            read.facts.push(Fact::new(format!("capture.{log}"), QUOTED));
        }
    }
    stages.push_to(&mut read, path);
    push_waits(&mut read, path, waits, false);
    read.brought = brought(&read.mentions);
    read
}

/// Lines that differ by their numbers only, by how many of a shape had no word. A list of files or processes that nothing
/// reads has a hundred thousand of one shape: the first ones tell.
#[derive(Default)]
struct Shapes(HashMap<u64, usize>);

impl Shapes {
    fn is_silent(&self, shape: u64) -> bool {
        (self.0.get(&shape)).is_some_and(|lines| *lines >= SILENT_LINES)
    }

    fn count(&mut self, shape: u64, is_silent: bool) {
        if !is_silent {
            self.0.remove(&shape);
        } else if self.0.len() < SHAPES_MAX || self.0.contains_key(&shape) {
            *self.0.entry(shape).or_default() += 1;
        }
    }
}

/// A number of a line that another one with other numbers has, too.
fn shape(line: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    for part in line
        .split(|c: char| c.is_ascii_digit())
        .filter(|part| !part.is_empty())
    {
        part.hash(&mut hasher);
    }
    hasher.finish()
}

/// Stages of statements that somebody ran for it (`SHOW PROFILE`): what took seconds is told, the others are passed over.
#[derive(Default)]
struct Stages(Vec<(&'static lexicon::Entry, usize, f64)>);

impl Stages {
    /// Whether the line is one.
    fn take(&mut self, line: &Line<'_>) -> bool {
        let Some((name, seconds)) = stage(line.trimmed()) else {
            return false;
        };
        let entry = Lexicon::get().lookup(Kind::State, name);
        if let Some(entry) = entry.filter(|_| seconds >= STAGE_SECONDS_MIN) {
            self.0.push((entry, line.number, seconds));
        }
        true
    }

    fn push_to(self, read: &mut Read, path: &str) {
        let longest = self.0.iter().map(|(_, _, seconds)| *seconds);
        let longest = longest.fold(0.0, f64::max);
        for (entry, line, seconds) in self.0 {
            if seconds >= STAGE_SHARE_MIN * longest {
                let found = lexicon::Mention {
                    entry,
                    text: entry.pattern,
                };
                push_mention(read, path, line, &found, false);
            }
        }
    }
}

/// Marks the lines of a log that stand in a text with sentences around it: whoever tells a story shows a few lines of it.
pub(crate) fn mark_chosen(lines: usize, read: &mut Read) {
    if lines > CHOSEN_LINES_MAX {
        return;
    }
    for (log, kind) in LOGS {
        if read.texts.iter().any(|(_, text)| text.kind() == kind) {
            read.facts.push(Fact::new(format!("capture.{log}"), CHOSEN));
        }
    }
}

/// Where a log was taken as a whole it is known what was in it, though lines of it are shown elsewhere, too.
pub(crate) fn without_shown(texts: &[TimedText], facts: &mut Vec<TimedFact>) {
    for (log, kind) in LOGS {
        let name = format!("capture.{log}");
        let of_it = |timed: &&TimedText| timed.text.kind() == kind;
        let shown = facts.iter().filter(|timed| timed.fact.name == name);
        let is_whole = texts.iter().filter(of_it).count() > shown.clone().count();
        let first = shown
            .min_by_key(|timed| timed.fact.value != CHOSEN)
            .cloned();
        facts.retain(|timed| timed.fact.name != name);
        if !is_whole {
            facts.extend(first);
        }
    }
}

fn amount(words: &str) -> String {
    // Some are files: `/proc/pressure/io`.
    let is_file = words.starts_with('/');
    let is_of_name =
        |c: char| c.is_ascii_alphanumeric() || "_.".contains(c) || (is_file && c == '/');
    let end = words.find(|c| !is_of_name(c)).unwrap_or(words.len());
    let (name, value) = words.split_at(end);
    if value.is_empty() {
        return name.to_lowercase();
    }
    let is_of_value = |c: char| c.is_ascii_alphanumeric() || ".,-+%".contains(c);
    let from = value.rfind(|c| !is_of_value(c)).map_or(0, |at| at + 1);
    let value = value.get(from..).unwrap_or_default();
    format!("{name} = {value}").to_lowercase()
}

/// The message with whom the kernel killed, behind it: the server, or another program, whose name is not kept.
fn with_victim(line: &str, message: &str) -> String {
    let behind = line.split_once(message).map_or("", |(_, behind)| behind);
    // `Killed process 11726, UID 498, (mysqld)`.
    let is_number = |text: &str| {
        text.len() <= NUMBER_BYTES_MAX
            && text.trim_start().starts_with(|c: char| c.is_ascii_digit())
    };
    let name = behind
        .split_once('(')
        .filter(|(number, _)| message.trim_end().ends_with("process") && is_number(number))
        .and_then(|(_, rest)| rest.split_once(')'));
    match name {
        Some((name, _)) if is_server_program(name) => format!("{} ({name})", message.trim_end()),
        Some(_) => format!("{} (another)", message.trim_end()),
        None => message.to_owned(),
    }
}

fn push(log: &mut String, line: &str) {
    let line = line.trim_end_matches(['`', '"', '\'', '*', ' ']);
    log.push_str(line);
    log.push('\n');
}

fn brought(mentions: &[Mention]) -> String {
    let names: Vec<&str> = mentions
        .iter()
        .take(NAMED_MAX)
        .map(|one| one.word.as_str())
        .collect();
    let more = match mentions.len() > NAMED_MAX {
        true => ", ...",
        false => "",
    };
    let count = counted(mentions.len(), "word", "words");
    format!("{count} recognised: {}{more}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::{Input, clean, import};

    #[test]
    fn nothing_else_that_a_sentence_says_is_kept() {
        let text = "It said blocked for more than 120 seconds, and the password is geheim4711 for `geheimtab`.\n\
            And Got error 28 from storage engine for geheim4712 of geheimuser@geheimhost: write to geheim@example.net.\n\
            Nearly all say Waiting for table flush, table geheimtab, and stand in buf_LRU_get_free_block(geheim4713).\n\
            Innodb_log_waits is 77 for geheim4714, max_connections = geheim4715, init_connect = 'SET @geheim = 4716'.\n";
        let bytes = text.as_bytes();
        let imported = import(&[Input { path: "x", bytes }]);
        let incident = imported.incident.unwrap();
        let words: Vec<&str> = incident
            .mentions
            .iter()
            .map(|one| one.word.as_str())
            .collect();
        assert!(words.contains(&"Waiting for table flush"), "{words:?}");
        assert!(words.contains(&"buf_LRU_get_free_block"), "{words:?}");
        assert!(words.contains(&"innodb_log_waits = 77"), "{words:?}");
        assert!(incident.texts.len() == 2, "{:?}", incident.texts);
        let kept = format!("{incident:?} {:?}", imported.parts);
        assert!(!kept.contains("geheim"), "{kept}");
    }

    #[test]
    fn what_is_denied_in_front_of_a_hard_break_is_no_word() {
        let words = |text: &str| -> Vec<String> {
            let lines = clean::lines(text);
            let mentions = read("x", lines.iter()).mentions;
            mentions.into_iter().map(|one| one.word).collect()
        };
        for text in [
            "In the list we do not see any\nWaiting for table metadata lock, all are in query end.\n",
            "In the list we do not see \"Waiting for table\nmetadata lock\" anywhere.\n",
        ] {
            assert!(
                words(text)
                    .iter()
                    .all(|word| !word.contains("metadata lock")),
                "{text}"
            );
        }
        for text in [
            "The shop does not respond.\nWaiting for table metadata lock is what all say.\n",
            "The shop does not respond\n\nWaiting for table metadata lock is what all say.\n",
        ] {
            assert_eq!(words(text), ["Waiting for table metadata lock"], "{text}");
        }
    }

    #[test]
    fn among_thousands_of_lines_of_a_list_a_sentence_is_found() {
        let list: String = (0..9_000)
            .map(|id| format!("shopd {id} app {id}u REG 253,0 98304 /srv/shop/part_{id}.bin\n"))
            .collect();
        let said = "and then Got error 28 from storage engine came\n";
        let words = |text: &str| -> Vec<String> {
            let lines = clean::lines(text);
            let mentions = read("x", lines.iter()).mentions;
            mentions.into_iter().map(|one| one.word).collect()
        };
        assert_eq!(words(said).len(), 1);
        for text in [
            format!("{said}{list}"),
            format!("{list}{said}"),
            format!("{list}{said}{list}"),
        ] {
            assert_eq!(words(&text), words(said));
        }
        // A few lines of one shape are looked at one by one.
        let codes = (900..930).chain([28]);
        let codes =
            codes.map(|code| format!("and then Got error {code} from storage engine came\n"));
        assert!(words(&codes.collect::<String>()).contains(&words(said)[0]));
    }

    #[test]
    fn whom_the_kernel_killed_is_told_by_no_other_name() {
        let log = |text: &str| -> String {
            let bytes = text.as_bytes();
            let incident = import(&[Input { path: "x", bytes }]).incident.unwrap();
            let bodies = incident.texts.iter().map(|timed| timed.text.body());
            bodies.collect()
        };
        let other = log(
            "Then the provider showed us Out of memory: Killed process 4711 (geheimd) and went home.\n",
        );
        assert!(
            other.contains("(another)") && !other.contains("geheim"),
            "{other}"
        );
        for server in ["mysqld", "mariadbd"] {
            let line = format!(
                "Then I found Out of memory: Killed process 812, UID 27, ({server}) total-vm:9kB in it.\n"
            );
            assert!(
                log(&line).contains(&format!("({server})")),
                "{}",
                log(&line)
            );
        }
    }

    fn statements(text: &str) -> Vec<String> {
        let bytes = text.as_bytes();
        let imported = import(&[Input { path: "x", bytes }]);
        let mentions = imported.incident.map(|incident| incident.mentions);
        let mentions = mentions.into_iter().flatten();
        let statements = mentions.filter(|one| one.kind == lexicon::Kind::Statement);
        statements.map(|one| one.word.to_lowercase()).collect()
    }

    #[test]
    fn a_statement_by_which_somebody_looked_is_none_of_the_workload() {
        let head = "+----+------+---------+------+-----------+------+\n\
            | Id | User | Command | Time | State     | Info |\n\
            +----+------+---------+------+-----------+------+\n\
            | 18 | app  | Query   |   33 | Sending data | select * from orders |\n";
        let asks = |id: u32| {
            format!(
                "| {id} | root | Query | 0 | executing | select * from information_schema.processlist |\n"
            )
        };
        let looked = format!(
            "mysql> select * from information_schema.processlist;\n{head}{}",
            asks(6)
        );
        assert!(statements(&looked).is_empty(), "{:?}", statements(&looked));
        // Many of them are a load; so is one that somebody tells of.
        let many = format!("{head}{}{}", asks(6), asks(7));
        assert_eq!(statements(&many), ["information_schema.processlist"]);
        assert_eq!(
            statements("Our monitoring reads information_schema.processlist each second."),
            ["information_schema.processlist"]
        );
    }

    #[test]
    fn what_pt_stalk_asks_each_second_is_none_of_the_workload() {
        let text = "*************************** 1. row ***************************\n\
            Id: 9\nUser: root\nHost: localhost\ndb: NULL\nCommand: Query\nTime: 0\nState: Filling schema table\n\
            Info: SELECT SQL_NO_CACHE\n  CONCAT('thread ', b.trx_mysql_thread_id, ' from ', p.host) AS who_blocks,\n\
            FROM INFORMATION_SCHEMA.INNODB_LOCK_WAITS AS w\n LEFT JOIN INFORMATION_SCHEMA.PROCESSLIST AS p ON p.id = 1\n\
            *************************** 2. row ***************************\n\
            Id: 10\nUser: app\nHost: web\ndb: shop\nCommand: Query\nTime: 12\nState: Sending data\nInfo: SELECT 1\n";
        let bytes = text.as_bytes();
        let incident = import(&[Input { path: "x", bytes }]).incident.unwrap();
        assert!(incident.mentions.is_empty(), "{:?}", incident.mentions);
        let lists = incident.texts.iter().map(|timed| timed.text.body());
        let lists: Vec<&str> = lists.filter(|body| body.contains("by_state")).collect();
        assert_eq!(lists.len(), 1);
        assert!(!lists[0].contains("Filling schema table"), "{lists:?}");
        assert!(lists[0].contains("Sending data"), "{lists:?}");
    }

    #[test]
    fn a_message_within_a_listing_is_told_besides() {
        let text = "Id: 7\nUser: app\nHost: web1:4711\ndb: shop\nCommand: Query\nTime: 12\nState: Waiting for table flush\nInfo: SELECT 1\n";
        let text = format!(
            "*************************** 1. row ***************************\n{text}\
             ERROR 1040 (HY000): Too many connections\n"
        );
        let bytes = text.as_bytes();
        let incident = import(&[Input { path: "x", bytes }]).incident.unwrap();
        // The state is counted where it stands: here it is no word of somebody's.
        assert!(
            incident
                .mentions
                .iter()
                .all(|one| one.is_read || one.word != "Waiting for table flush"),
            "{:?}",
            incident.mentions
        );
        assert!(
            incident
                .mentions
                .iter()
                .any(|one| one.word.to_lowercase().contains("too many connections")),
            "{:?}",
            incident.mentions
        );
    }
}
