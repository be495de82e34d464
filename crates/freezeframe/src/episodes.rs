//! Every stall that was noticed, captured or not: a line in a file beside the incidents when it
//! begins, another one when it is over. The limit an hour bounds incidents, not memory.

use std::collections::BTreeMap;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use diagnosis::{Level, Verdict};
use model::Trigger;
use recorder::Notice;
use serde::{Deserialize, Serialize};

/// The file's name.
const NAME: &str = "stalls.jsonl";

/// The one before it, when it became too large.
const NAME_BEFORE: &str = "stalls-before.jsonl";

/// Some thousand stalls. Two such files are kept at the most.
const BYTES_MAX: u64 = 2 << 20;

/// A stall, or what is known of it so far: both lines together are all of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Episode {
    /// Label of the server.
    pub(crate) server: String,
    /// When it began, milliseconds since 1970.
    pub(crate) onset_ms: i64,
    /// When it was noticed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) trigger_ms: Option<i64>,
    /// When work flowed again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) end_ms: Option<i64>,
    /// The rule that noticed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) rule: Option<String>,
    /// What users felt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) says: Option<String>,
    /// The incident that it is in; none where it was not captured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) incident: Option<String>,
    /// The cause that its verdict names first, of a stall that was not captured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) cause: Option<String>,
}

/// The list while it is written. A disk that refuses it costs its lines: stalls are told
/// otherwise as well.
pub(crate) struct Episodes {
    dir: PathBuf,
}

impl Episodes {
    pub(crate) fn in_dir(dir: &Path) -> Self {
        Self {
            dir: dir.to_owned(),
        }
    }

    /// Writes down what a notice tells of a stall.
    pub(crate) fn note(&self, label: &str, notice: &Notice, verdict: Option<&Verdict>) {
        let begun = |onset: i64, trigger_ms: i64, trigger: &Trigger, id: Option<&String>| Episode {
            server: label.to_owned(),
            onset_ms: onset,
            trigger_ms: Some(trigger_ms),
            rule: Some(trigger.rule.clone()),
            says: Some(trigger.says.clone()),
            incident: id.cloned(),
            ..Episode::default()
        };
        let episode = match notice {
            Notice::Triggered {
                id,
                onset_wall_ms,
                trigger_wall_ms,
                trigger,
            }
            | Notice::Again {
                id,
                onset_wall_ms,
                trigger_wall_ms,
                trigger,
            } => begun(*onset_wall_ms, *trigger_wall_ms, trigger, Some(id)),
            Notice::Suppressed {
                onset_wall_ms,
                trigger_wall_ms,
                trigger,
            } => begun(*onset_wall_ms, *trigger_wall_ms, trigger, None),
            Notice::Ended {
                onset_wall_ms,
                end_wall_ms,
                suppressed,
            } => Episode {
                server: label.to_owned(),
                onset_ms: *onset_wall_ms,
                end_ms: Some(*end_wall_ms),
                cause: suppressed.as_ref().and(verdict).and_then(first_cause),
                ..Episode::default()
            },
            _ => return,
        };
        // What cannot be written down is told on standard output all the same.
        let _ = self.append(&episode);
    }

    fn append(&self, episode: &Episode) -> std::io::Result<()> {
        let path = self.dir.join(NAME);
        if std::fs::metadata(&path).is_ok_and(|file| file.len() >= BYTES_MAX) {
            std::fs::rename(&path, self.dir.join(NAME_BEFORE))?;
        }
        store::make_private_dir(&self.dir).map_err(std::io::Error::other)?;
        let mut file = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&path)?;
        let length = file.metadata()?.len();
        let mut line = serde_json::to_string(episode)?;
        line.push('\n');
        let written = file.write_all(line.as_bytes());
        if written.is_err() {
            // Half a line would spoil the next one.
            let _ = file.set_len(length);
            if length == 0 {
                let _ = std::fs::remove_file(&path);
            }
        }
        written
    }
}

fn first_cause(verdict: &Verdict) -> Option<String> {
    let first = verdict.findings.first()?;
    (first.level >= Level::Likely).then(|| first.cause.clone())
}

/// Length and last change of the list's files: while they are the same, so is the list.
pub(crate) fn stamp(dir: &Path) -> [Option<(u64, SystemTime)>; 2] {
    [NAME_BEFORE, NAME].map(|name| {
        let file = std::fs::metadata(dir.join(name)).ok()?;
        Some((file.len(), file.modified().ok()?))
    })
}

/// The stalls of a directory, newest first. A line that cannot be read is left out.
pub(crate) fn read(dir: &Path) -> Vec<Episode> {
    let mut by: BTreeMap<(i64, String), Episode> = BTreeMap::new();
    for name in [NAME_BEFORE, NAME] {
        let Ok(bytes) = std::fs::read(dir.join(name)) else {
            continue;
        };
        for line in String::from_utf8_lossy(&bytes).lines() {
            let Ok(part) = serde_json::from_str::<Episode>(line) else {
                continue;
            };
            let whole = by.entry((part.onset_ms, part.server.clone())).or_default();
            let before = std::mem::take(whole);
            *whole = Episode {
                trigger_ms: part.trigger_ms.or(before.trigger_ms),
                end_ms: part.end_ms.or(before.end_ms),
                rule: part.rule.or(before.rule),
                says: part.says.or(before.says),
                incident: part.incident.or(before.incident),
                cause: part.cause.or(before.cause),
                ..part
            };
        }
    }
    by.into_values().rev().collect()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn both_lines_of_a_stall_are_one_and_the_list_stays_small() {
        let above = tempfile::tempdir().unwrap();
        let dir = above.path().join("new");
        let episodes = Episodes::in_dir(&dir);
        let begin = Notice::Suppressed {
            onset_wall_ms: 1000,
            trigger_wall_ms: 2500,
            trigger: Trigger {
                rule: "work-stops".to_owned(),
                says: "0 of 810 statements a second completed".to_owned(),
            },
        };
        let end = Notice::Ended {
            onset_wall_ms: 1000,
            end_wall_ms: 9000,
            suppressed: None,
        };
        episodes.note("3306", &begin, None);
        assert_eq!(read(&dir)[0].end_ms, None);
        let mode = dir.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        episodes.note("3306", &end, None);
        std::fs::OpenOptions::new()
            .append(true)
            .open(dir.join(NAME))
            .unwrap()
            .write_all(b"no json\n")
            .unwrap();
        let told = read(&dir);
        assert_eq!(told.len(), 1, "{told:?}");
        assert_eq!(
            (told[0].trigger_ms, told[0].end_ms),
            (Some(2500), Some(9000))
        );
        assert_eq!(told[0].rule.as_deref(), Some("work-stops"));
        std::fs::write(dir.join(NAME), vec![b'\n'; BYTES_MAX as usize]).unwrap();
        episodes.note("3306", &begin, None);
        assert!(dir.join(NAME_BEFORE).exists());
        assert_eq!(read(&dir).len(), 1);
    }
}
