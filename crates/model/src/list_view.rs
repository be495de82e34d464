//! The processlists of a record as the signs look at them: their texts stay where they are. A record of minutes has
//! hundreds of them, and to copy their texts takes as long as much of the rest of a verdict.

use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;

use memchr::{memchr2, memmem};
use serde::{Deserialize, Deserializer};

/// A [`crate::ProcessList`] of which only what is counted is read, and of its longest sessions what they do.
#[derive(Deserialize)]
pub struct ListView<'a> {
    /// Sessions seen.
    pub sessions: u64,
    /// Sessions by `Command`.
    #[serde(borrow)]
    pub by_command: Counts<'a>,
    /// Sessions that do something, by `State`.
    #[serde(borrow)]
    pub by_state: Counts<'a>,
    /// Sessions that do something, by user.
    #[serde(borrow)]
    pub by_user: Counts<'a>,
    /// Sessions that do something, by class of their statement.
    #[serde(borrow)]
    pub by_class: Counts<'a>,
    #[serde(borrow)]
    longest: Vec<Longest<'a>>,
    #[serde(skip)]
    active: OnceCell<u64>,
}

impl<'a> ListView<'a> {
    /// What a text of this kind holds; nothing where it is none. As the recorder writes it, it is read without a look at
    /// what is not asked for: it took a fifth of a verdict else.
    pub fn from_text(body: &'a str) -> Option<Self> {
        let written = Written(body).list();
        written.or_else(|| serde_json::from_str(body).ok())
    }

    /// Sessions that do something.
    pub fn active(&self) -> u64 {
        // The counts of a file that somebody wrote by hand need not add up.
        let counts = self.by_class.iter().map(|(_, count)| count);
        let sum = || counts.fold(0, u64::saturating_add);
        *self.active.get_or_init(sum)
    }

    /// The statements of the sessions that have been longest in their state.
    pub fn statements(&self) -> impl Iterator<Item = &str> {
        let statements = self.longest.iter().map(|one| one.statement.as_ref());
        statements.filter(|text| !text.is_empty())
    }

    /// The states of these sessions, with the seconds since they began.
    pub fn longest_states(&self) -> impl Iterator<Item = (&str, f64)> {
        let longest = self.longest.iter();
        longest.map(|one| (one.state.as_ref(), one.seconds))
    }
}

/// What is looked at of one session.
#[derive(Deserialize)]
struct Longest<'a> {
    #[serde(borrow)]
    statement: Cow<'a, str>,
    #[serde(borrow)]
    state: Cow<'a, str>,
    seconds: f64,
}

/// So many states, users and sessions a list has room for at once; more take what they need.
const COUNTS: usize = 8;
const SESSIONS: usize = 32;

/// A text as `serde_json` writes it without blanks, read from its begin.
struct Written<'a>(&'a str);

impl<'a> Written<'a> {
    /// With its fields in the order of [`crate::ProcessList`].
    fn list(mut self) -> Option<ListView<'a>> {
        let whole = self.0.strip_suffix('}')?;
        self.0 = whole.strip_prefix("{\"sessions\":")?;
        let sessions = self.number()?;
        let by_command = self.counts(",\"by_command\":{")?;
        let by_state = self.counts(",\"by_state\":{")?;
        let by_user = self.counts(",\"by_user\":{")?;
        let by_class = self.counts(",\"by_class\":{")?;
        self.go(",\"longest\":[")?;
        Some(ListView {
            sessions,
            by_command,
            by_state,
            by_user,
            by_class,
            longest: self.longest()?,
            active: OnceCell::new(),
        })
    }

    fn counts(&mut self, begin: &str) -> Option<Counts<'a>> {
        self.go(begin)?;
        let mut counts: Vec<(Text, u64)> = Vec::with_capacity(COUNTS);
        while self.go("}").is_none() {
            let name = Text(self.text()?);
            // In order and each once, as they are written.
            if counts.last().is_some_and(|(last, _)| *last >= name) {
                return None;
            }
            self.go(":")?;
            counts.push((name, self.number()?));
            self.go(",");
        }
        Some(Counts(counts))
    }

    /// Up to the end of the array. The fields of each session are those of [`crate::Session`]; a name of a field with its
    /// quotation marks stands in no text, where these have a backslash before them.
    fn longest(&mut self) -> Option<Vec<Longest<'a>>> {
        const SECONDS: &str = "\"seconds\":";
        let finder = memmem::Finder::new(SECONDS);
        let mut sessions = Vec::with_capacity(SESSIONS);
        while self.go("]").is_none() {
            let at = finder.find(self.0.as_bytes())?;
            self.0 = self.0.get(at + SECONDS.len()..)?;
            let seconds = decimal(self.digits()?)?;
            self.go(",\"state\":")?;
            let state = self.text()?;
            self.go(",\"statement\":")?;
            let statement = self.text()?;
            self.go("}")?;
            self.go(",");
            sessions.push(Longest {
                statement,
                state,
                seconds,
            });
        }
        Some(sessions)
    }

    /// Goes on behind what is expected; stays where something else stands.
    fn go(&mut self, expected: &str) -> Option<()> {
        self.0 = self.0.strip_prefix(expected)?;
        Some(())
    }

    fn number(&mut self) -> Option<u64> {
        self.digits()?.parse().ok()
    }

    /// What stands up to the next field or the end.
    fn digits(&mut self) -> Option<&'a str> {
        let (digits, rest) = self.0.split_at(memchr2(b',', b'}', self.0.as_bytes())?);
        self.0 = rest;
        Some(digits)
    }

    /// Nothing where something in it is escaped.
    fn text(&mut self) -> Option<Cow<'a, str>> {
        let begun = self.0.strip_prefix('"')?;
        let (text, rest) = begun.split_at(memchr2(b'"', b'\\', begun.as_bytes())?);
        self.0 = rest.strip_prefix('"')?;
        Some(Cow::Borrowed(text))
    }
}

/// As [`str::parse`]. A short number has digits and a power of ten that a float holds exactly, so that their quotient is
/// the nearest float to it: it is read in a third of the time.
fn decimal(text: &str) -> Option<f64> {
    const BYTES_MAX: usize = 15;
    let bytes = text.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    let is_short = bytes.len() <= BYTES_MAX;
    if !is_short || !ends.iter().all(|end| end.is_some_and(u8::is_ascii_digit)) {
        return text.parse().ok();
    }
    let (mut digits, mut unit, mut is_behind_point) = (0_u64, 1.0, false);
    for byte in bytes {
        match byte {
            b'0'..=b'9' => {
                digits = digits * 10 + u64::from(byte - b'0');
                unit *= if is_behind_point { 10.0 } else { 1.0 };
            }
            b'.' if !is_behind_point => is_behind_point = true,
            _ => return text.parse().ok(),
        }
    }
    Some(digits as f64 / unit)
}

/// Texts with their numbers, in order.
pub struct Counts<'a>(Vec<(Text<'a>, u64)>);

impl<'de: 'a, 'a> Deserialize<'de> for Counts<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let counts = BTreeMap::<Text<'a>, u64>::deserialize(from)?;
        Ok(Self(counts.into_iter().collect()))
    }
}

impl Counts<'_> {
    /// Each text with its number.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(text, count)| (text.0.as_ref(), *count))
    }

    /// The number of this text, or 0.
    pub fn count(&self, wanted: &str) -> u64 {
        let mut found = self.iter().filter(|(text, _)| *text == wanted);
        found.next().map_or(0, |(_, count)| count)
    }
}

/// serde borrows a text from its source where it stands in a field, not where it is a key.
#[derive(PartialEq, Eq, PartialOrd, Ord, Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ProcessList, Session};

    #[test]
    fn a_short_number_is_what_the_library_reads() {
        let odd = [
            "", ".", "5.", ".5", "-1", "1.2.3", "1e3", "inf", "0", "00.10", "1,5",
        ];
        let long = ["123456789012345", "1234567890123456789", "0.00000000000001"];
        let many = (0..4000_u32).map(|one| {
            let places = one as usize % 10;
            format!("{:.places$}", f64::from(one) * 1_234.567_891_23)
        });
        let all = odd.into_iter().chain(long).map(str::to_owned).chain(many);
        for text in all {
            let read = decimal(&text).map(f64::to_bits);
            assert_eq!(read, text.parse().ok().map(f64::to_bits), "{text}");
        }
    }

    #[test]
    fn it_reads_what_the_recorder_writes() {
        let counts = |pairs: &[(&str, u64)]| {
            let pairs = pairs.iter();
            pairs
                .map(|(text, count)| ((*text).to_owned(), *count))
                .collect()
        };
        let session = |statement: &str| Session {
            id: 1,
            user: "app".to_owned(),
            host: "web".to_owned(),
            db: String::new(),
            command: "Query".to_owned(),
            seconds: 1.5,
            state: "Sending data".to_owned(),
            statement: statement.to_owned(),
        };
        let list = ProcessList {
            sessions: 9,
            by_command: counts(&[("Query", 3), ("Sleep", 6)]),
            by_state: counts(&[("Waiting for \"x\"\n", 3)]),
            by_user: counts(&[("app", 3)]),
            by_class: counts(&[("select", 2), ("update", 1)]),
            longest: vec![session("SELECT ?"), session("")],
            idle: Vec::new(),
            idle_count: 0,
            replicas: Vec::new(),
        };
        let json = serde_json::to_string(&list).unwrap();
        let read = ListView::from_text(&json).unwrap();
        assert_eq!((read.sessions, read.active()), (9, list.active()));
        assert_eq!(read.by_command.count("Sleep"), 6);
        assert_eq!(read.by_command.count("Daemon"), 0);
        let states: Vec<_> = read.by_state.iter().collect();
        assert_eq!(states, [("Waiting for \"x\"\n", 3)]);
        assert_eq!(read.by_user.count("app"), 3);
        assert_eq!(read.statements().collect::<Vec<_>>(), ["SELECT ?"]);
        let longest = read.longest_states().next();
        assert_eq!(longest, Some(("Sending data", 1.5)));
        let json = json.replace("\\\"x\\\"\\n", "y");
        let same = |list: &ListView| {
            let counts = [
                &list.by_command,
                &list.by_state,
                &list.by_user,
                &list.by_class,
            ];
            let counts = counts.map(|counts| format!("{:?}", counts.iter().collect::<Vec<_>>()));
            let states: Vec<_> = list.longest_states().collect();
            let statements: Vec<_> = list.statements().collect();
            format!("{} {counts:?} {states:?} {statements:?}", list.sessions)
        };
        let written = Written(&json).list().unwrap();
        let by_name: ListView = serde_json::from_str(&json).unwrap();
        assert_eq!(same(&written), same(&by_name));
        let none = serde_json::to_string(&ProcessList::default()).unwrap();
        assert_eq!(Written(&none).list().unwrap().statements().count(), 0);
        // What is escaped, or stands in another order, is read by its names.
        let longest = vec![session("a \"seconds\":1,\"state\":\"\n")];
        let idle = vec![session("b")];
        let escaped = ProcessList {
            longest,
            idle,
            ..list
        };
        let json = serde_json::to_string(&escaped).unwrap();
        assert!(Written(&json).list().is_none());
        let pretty = serde_json::to_string_pretty(&escaped).unwrap();
        for text in [json, pretty] {
            let read = ListView::from_text(&text).unwrap();
            let statements: Vec<&str> = read.statements().collect();
            assert_eq!(statements, [escaped.longest[0].statement.as_str()]);
            assert_eq!(read.longest_states().next(), Some(("Sending data", 1.5)));
        }
        let twice = none.replace("by_user\":{", "by_user\":{\"b\":1,\"a\":2,\"b\":3");
        assert!(Written(&twice).list().is_none());
        let users = ListView::from_text(&twice).unwrap().by_user;
        let users: Vec<_> = users.iter().collect();
        assert_eq!(users, [("a", 2), ("b", 3)]);
        assert!(ListView::from_text("{}").is_none());
        // What was not escaped is not copied.
        assert!(matches!(
            read.by_user.0.first(),
            Some((Text(Cow::Borrowed("app")), 3))
        ));
    }
}
