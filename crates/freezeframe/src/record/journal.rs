//! Lines with fields for journald, by its native protocol (systemd's JOURNAL_NATIVE_PROTOCOL page): a datagram for each
//! entry. So `journalctl FREEZEFRAME_CAUSE=…` and `journalctl MESSAGE_ID=…` find what a search in lines only guesses.
//!
//! Where standard output is no journal, or journald does not take an entry, lines go to standard output as ever.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixDatagram;
use std::path::{Path, PathBuf};
use std::time::Duration;

use cli::output;
use diagnosis::Verdict;
use recorder::Notice;

/// Where journald listens.
const SOCKET: &str = "/run/systemd/journal/socket";

/// An entry that is not taken in this time goes to standard output.
const SEND_MAX: Duration = Duration::from_millis(500);

/// A message that is longer is cut: more than any line has, and less than a datagram may have
/// (`net.core.wmem_default`, 208 KiB as a rule).
const MESSAGE_BYTES_MAX: usize = 48 << 10;

/// Levels of syslog(3).
const ERROR: u8 = 3;
const WARNING: u8 = 4;
const NOTICE: u8 = 5;
const INFORMATION: u8 = 6;

/// A stall was noticed. Programs go by these ids: they never change.
const STALL: &str = "f077ce70c703426d8b77f7d39d8a86c9";
/// What is known of its cause while it lasts.
const SO_FAR: &str = "7c1e48554c134b71b0893d893df33b33";
/// It is over.
const OVER: &str = "663010d2aee0415683efb2ea3d9463bd";
/// Its incident is written, with the verdict.
const VERDICT: &str = "4a63d10bd7394d38a92be66a7398735b";

/// What is told of a notice besides its text.
#[derive(Debug, PartialEq)]
pub(super) struct Entry {
    priority: u8,
    message_id: Option<&'static str>,
    incident: Option<String>,
    /// Cause and level of the first finding.
    finding: Option<(String, &'static str)>,
}

/// A line without anything besides.
pub(super) const PLAIN: Entry = Entry {
    priority: INFORMATION,
    message_id: None,
    incident: None,
    finding: None,
};

/// journald.
#[derive(Debug)]
pub(super) struct Journal {
    socket: UnixDatagram,
    path: PathBuf,
    /// Incidents that are under way, by server.
    open: RefCell<HashMap<String, String>>,
}

impl Journal {
    /// journald, when it reads our standard output: systemd names that stream's file in `JOURNAL_STREAM`
    /// (systemd.exec(5)). Only a name that fits counts, since the variable is inherited by whatever we are started from.
    pub(super) fn of_environment() -> Option<Self> {
        let stream = std::env::var("JOURNAL_STREAM").ok()?;
        let (device, inode) = stream.split_once(':')?;
        let file = std::fs::metadata("/proc/self/fd/1").ok()?;
        let is_ours = device.parse() == Ok(file.dev()) && inode.parse() == Ok(file.ino());
        is_ours.then(|| Self::at(SOCKET.as_ref()).ok()).flatten()
    }

    fn at(path: &Path) -> io::Result<Self> {
        let socket = UnixDatagram::unbound()?;
        socket.set_write_timeout(Some(SEND_MAX))?;
        Ok(Self {
            socket,
            path: path.to_owned(),
            open: RefCell::default(),
        })
    }

    /// What is told of a notice of a server.
    pub(super) fn entry(&self, label: &str, notice: &Notice, verdict: Option<&Verdict>) -> Entry {
        let of = |priority, message_id, incident: Option<&String>| Entry {
            priority,
            message_id,
            incident: incident.cloned(),
            finding: verdict.and_then(first),
        };
        let mut open = self.open.borrow_mut();
        match notice {
            Notice::Triggered { id, .. } | Notice::Again { id, .. } => {
                open.insert(label.to_owned(), id.clone());
                of(WARNING, Some(STALL), Some(id))
            }
            Notice::Joined(_) | Notice::Lasts { .. } => of(WARNING, None, open.get(label)),
            Notice::Suppressed { .. } => of(WARNING, Some(STALL), None),
            Notice::Preliminary(incident) => of(NOTICE, Some(SO_FAR), Some(&incident.id)),
            Notice::Ended { .. } => of(NOTICE, Some(OVER), open.remove(label).as_ref()),
            Notice::Written { incident, .. } => of(NOTICE, Some(VERDICT), Some(&incident.id)),
            Notice::Asked { id, .. } => of(INFORMATION, None, Some(id)),
            Notice::IncidentLost { id, .. } => of(ERROR, None, Some(id)),
            Notice::NotStarted(_)
            | Notice::NotWritten(_)
            | Notice::HistoryTrouble(_)
            | Notice::Room(_) => of(ERROR, None, None),
            Notice::Absent(_) => of(NOTICE, None, None),
            Notice::UnknownSignal { .. } | Notice::Lease(_) | Notice::Lost(_) => {
                of(WARNING, None, None)
            }
            Notice::Started(_)
            | Notice::Version(_)
            | Notice::HistoryWorks { .. }
            | Notice::Deleted { .. }
            | Notice::Stopped => of(INFORMATION, None, None),
        }
    }

    /// Tells an entry. `text` has a line or several, without the time: journald has it.
    pub(super) fn send(&self, label: &str, text: &str, entry: &Entry) -> io::Result<()> {
        let priority = entry.priority.to_string();
        let lines: Vec<String> = text.lines().map(output::plain).collect();
        let lines = lines.join("\n");
        let end = lines.floor_char_boundary(MESSAGE_BYTES_MAX);
        let mut bytes = Vec::new();
        let finding = entry.finding.as_ref();
        for (name, value) in [
            ("MESSAGE", lines.get(..end)),
            ("PRIORITY", Some(priority.as_str())),
            ("SYSLOG_IDENTIFIER", Some("freezeframe")),
            ("MESSAGE_ID", entry.message_id),
            (
                "FREEZEFRAME_SERVER",
                Some(label).filter(|label| !label.is_empty()),
            ),
            ("FREEZEFRAME_INCIDENT", entry.incident.as_deref()),
            (
                "FREEZEFRAME_CAUSE",
                finding.map(|(cause, _)| cause.as_str()),
            ),
            ("FREEZEFRAME_LEVEL", finding.map(|(_, level)| *level)),
        ] {
            if let Some(value) = value {
                field(&mut bytes, name, value);
            }
        }
        self.socket.send_to(&bytes, &self.path).map(drop)
    }
}

/// The cause that a verdict names first, and how sure it is.
fn first(verdict: &Verdict) -> Option<(String, &'static str)> {
    let finding = verdict.findings.first()?;
    Some((finding.cause.clone(), finding.level.word()))
}

/// `NAME=value`, or with its length where the value has more than a line.
fn field(bytes: &mut Vec<u8>, name: &str, value: &str) {
    bytes.extend(name.as_bytes());
    if value.contains('\n') {
        bytes.push(b'\n');
        bytes.extend((value.len() as u64).to_le_bytes());
    } else {
        bytes.push(b'=');
    }
    bytes.extend(value.as_bytes());
    bytes.push(b'\n');
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use model::Trigger;
    use testbed::{IncidentSize, made_incident};

    use super::*;
    use crate::explain::verdict;

    /// An entry as journald reads it.
    fn read(mut bytes: &[u8]) -> BTreeMap<String, String> {
        let mut fields = BTreeMap::new();
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        while !bytes.is_empty() {
            let end = bytes.iter().position(|byte| *byte == b'\n').unwrap();
            let (line, rest) = bytes.split_at(end);
            let equals = line.iter().position(|byte| *byte == b'=');
            let (name, value, rest) = match equals {
                Some(at) => (&line[..at], &line[at + 1..], &rest[1..]),
                None => {
                    let (length, rest) = rest[1..].split_at(8);
                    let length = u64::from_le_bytes(length.try_into().unwrap());
                    let (value, rest) = rest.split_at(length.try_into().unwrap());
                    assert_eq!(rest[0], b'\n');
                    (line, value, &rest[1..])
                }
            };
            assert!(fields.insert(text(name), text(value)).is_none());
            bytes = rest;
        }
        fields
    }

    /// A journal, and a socket that stands in for journald.
    fn journal(dir: &Path) -> (Journal, UnixDatagram) {
        let path = dir.join("socket");
        let daemon = UnixDatagram::bind(&path).unwrap();
        daemon
            .set_read_timeout(Some(Duration::from_secs(5)))
            .unwrap();
        (Journal::at(&path).unwrap(), daemon)
    }

    fn heard(daemon: &UnixDatagram) -> BTreeMap<String, String> {
        let mut bytes = vec![0; 256 << 10];
        let length = daemon.recv(&mut bytes).unwrap();
        read(&bytes[..length])
    }

    fn pairs(fields: &BTreeMap<String, String>) -> Vec<(&str, &str)> {
        let pairs = fields.iter();
        pairs
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect()
    }

    #[test]
    fn a_stall_and_its_verdict_have_their_fields() {
        let dir = tempfile::tempdir().unwrap();
        let (journal, daemon) = journal(dir.path());
        let begun = Notice::Triggered {
            id: "x".to_owned(),
            onset_wall_ms: 1_000,
            trigger_wall_ms: 2_500,
            trigger: Trigger {
                rule: "work-stops".to_owned(),
                says: "40 sessions hang".to_owned(),
            },
        };
        let entry = journal.entry("3306", &begun, None);
        journal.send("3306", "STALL  40\u{1b}[2J", &entry).unwrap();
        let fields = heard(&daemon);
        assert!(!fields["MESSAGE"].contains('\u{1b}'), "{fields:?}");
        assert_eq!(
            pairs(&fields)[..4],
            [
                ("FREEZEFRAME_INCIDENT", "x"),
                ("FREEZEFRAME_SERVER", "3306"),
                ("MESSAGE", fields["MESSAGE"].as_str()),
                ("MESSAGE_ID", STALL),
            ]
        );
        assert_eq!(fields["PRIORITY"], "4");
        assert_eq!(fields["SYSLOG_IDENTIFIER"], "freezeframe");
        let ended = Notice::Ended {
            onset_wall_ms: 1_000,
            end_wall_ms: 24_500,
            suppressed: None,
        };
        let entry = journal.entry("3306", &ended, None);
        assert_eq!(
            (entry.message_id, entry.incident.as_deref()),
            (Some(OVER), Some("x"))
        );
        assert_eq!(journal.entry("3306", &ended, None).incident, None);
        let incident = made_incident(&IncidentSize::small());
        let verdict = verdict(&incident, Path::new("x.frame"));
        let first = verdict.findings.first().unwrap();
        let (cause, level) = (first.cause.clone(), first.level.word());
        let written = Notice::Written {
            path: "x.frame".into(),
            incident: Box::new(incident.clone().into()),
            recovered: false,
        };
        let entry = journal.entry("3306", &written, Some(&verdict));
        let text = "CAUSE  it\nincident x.frame";
        journal.send("3306", text, &entry).unwrap();
        let fields = heard(&daemon);
        assert_eq!(fields["MESSAGE"], text);
        assert_eq!(fields["MESSAGE_ID"], VERDICT);
        assert_eq!(fields["FREEZEFRAME_INCIDENT"], incident.id);
        assert_eq!(fields["FREEZEFRAME_CAUSE"], cause);
        assert_eq!(fields["FREEZEFRAME_LEVEL"], level);
    }

    #[test]
    fn what_is_too_long_is_cut_and_a_journal_that_is_gone_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let (journal, daemon) = journal(dir.path());
        let long = "ä".repeat(MESSAGE_BYTES_MAX);
        journal.send("", &long, &PLAIN).unwrap();
        let fields = heard(&daemon);
        assert!(fields["MESSAGE"].len() <= MESSAGE_BYTES_MAX);
        assert_eq!(fields.len(), 3, "{fields:?}");
        drop(daemon);
        assert!(journal.send("", "x", &PLAIN).is_err());
    }
}
