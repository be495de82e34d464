//! What a recorder tells people: a line when something is worth one, everything when that was asked for.

use anyhow::Result;
use cli::{one_line, output};
use diagnosis::Verdict;
use model::{Absent, Incident, Reason};
use recorder::{DeletionReason, Notice};

use super::reporter::{Explained, Reporter};
use crate::refused;

/// What is told.
#[derive(Debug, PartialEq)]
enum Told {
    /// A line, with the time of day before it.
    Line(String),
    /// A report.
    Page(String),
}

impl Reporter {
    /// Tells it, if it is worth it.
    pub(super) fn report_text(
        &self,
        label: &str,
        notice: Notice,
        explained: Option<Explained>,
    ) -> Result<()> {
        let journal = self.journal.as_ref();
        let verdict = explained.as_ref().map(|explained| &explained.verdict);
        let entry = journal.map(|journal| journal.entry(label, &notice, verdict));
        let notice = match notice {
            // Nobody looks for a process of it.
            Notice::Started(server) if self.is_elsewhere(label) => {
                return self.line(label, &format!("recording {}", server.address));
            }
            Notice::Absent(absent) if self.is_of_its_host(label, &absent) => {
                // Once, not for each of twenty sources.
                return match absent.what == model::SOURCES.first().map_or("", |row| row.name) {
                    true => self.line(
                        label,
                        "on another host: recording what SQL can tell, without stacks and profile",
                    ),
                    false => Ok(()),
                };
            }
            Notice::Absent(absent) => match self.refused(label, &absent) {
                Some(Some(line)) => return self.lines(label, &[&line], entry.as_ref()),
                Some(None) => return Ok(()),
                None => {
                    self.absences.add(label, absent, entry);
                    return Ok(());
                }
            },
            other => other,
        };
        let mut lines = Vec::new();
        for told in self.lines_of(notice, explained) {
            match told {
                // For journald the lines on a notice are one entry.
                Told::Line(line) if entry.is_some() => lines.push(line),
                Told::Line(line) => self.line(label, &line)?,
                Told::Page(text) => output::print(&format!("\n{text}\n"))?,
            }
        }
        if !lines.is_empty() {
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            self.lines(label, &lines, entry.as_ref())?;
        }
        Ok(())
    }

    fn is_elsewhere(&self, label: &str) -> bool {
        let known = self.servers.get(label);
        known.is_some_and(|known| known.is_elsewhere)
    }

    /// Of a server on another host, what only that host could tell.
    fn is_of_its_host(&self, label: &str, absent: &Absent) -> bool {
        let mut rows = model::SOURCES.iter();
        self.is_elsewhere(label) && rows.any(|row| row.name == absent.what && row.is_missed(true))
    }

    /// The line on a server that does not let us in; `Some(None)` where that is told of another source; `None` of any other
    /// absence. The status needs a login and nothing else; a probe that is refused over TCP is let in by the socket.
    fn refused(&self, label: &str, absent: &Absent) -> Option<Option<String>> {
        let known = self.servers.get(label)?;
        if absent.reason != Reason::NoLogin {
            return None;
        }
        if absent.what != "status" {
            return Some(None);
        }
        let line = refused::line(&known.who, absent);
        Some(Some(format!(
            "missing: everything that needs a login: {line}"
        )))
    }

    fn lines_of(&self, notice: Notice, explained: Option<Explained>) -> Vec<Told> {
        let line = match notice {
            Notice::Started(server) => started(server.pid, &server.address),
            Notice::NotStarted(why) => format!("not recorded: {why}"),
            Notice::Version(version) => format!("server {version}"),
            // They are told together.
            Notice::Absent(_) => return Vec::new(),
            Notice::Triggered {
                onset_wall_ms,
                trigger_wall_ms,
                trigger,
                ..
            } => format!(
                "STALL  {}; it began {} ago [{}]",
                trigger.says,
                length(onset_wall_ms, trigger_wall_ms),
                trigger.rule
            ),
            Notice::Again {
                onset_wall_ms,
                trigger_wall_ms,
                trigger,
                ..
            } => format!(
                "AGAIN  {}; it began {} ago [{}]",
                trigger.says,
                length(onset_wall_ms, trigger_wall_ms),
                trigger.rule
            ),
            Notice::Lasts {
                onset_wall_ms,
                says,
            } => format!(
                "stalled since {}, noticed because {says}",
                output::clock(onset_wall_ms)
            ),
            Notice::Asked { for_ms, .. } => format!(
                "requested: an incident of the next {:.0} s",
                for_ms as f64 / 1000.0
            ),
            Notice::Joined(trigger) if self.verbose => {
                format!("       {} [{}]", trigger.says, trigger.rule)
            }
            Notice::Joined(_) => return Vec::new(),
            Notice::Preliminary(_) => match explained.and_then(|it| self.so_far(&it.verdict)) {
                // A verdict that is as it was is no news.
                Some(says) if self.is_news(&says) => format!("so far: {says}"),
                _ => return Vec::new(),
            },
            Notice::Ended {
                onset_wall_ms,
                end_wall_ms,
                ..
            } => {
                let told_last = self.so_far.take();
                // Of a stall that is not captured nothing more is told.
                let finding = explained.and_then(|it| report::first_finding(&it.verdict));
                let finding = match self.verbose {
                    true => finding.unwrap_or_default(),
                    false => finding.unwrap_or(told_last),
                };
                let cause = match finding.is_empty() {
                    true => String::new(),
                    false => format!("; cause so far: {finding}"),
                };
                format!(
                    "OVER   ended at {}, after {}{cause}",
                    output::clock(end_wall_ms),
                    length(onset_wall_ms, end_wall_ms)
                )
            }
            Notice::Written {
                path,
                incident,
                recovered,
            } => {
                let mut told = Vec::new();
                if recovered {
                    let line = "recovered from a recorder that was killed in a stall";
                    told.push(Told::Line(line.to_owned()));
                }
                let Some(Explained { verdict, page }) = explained else {
                    return told;
                };
                told.push(match self.verbose {
                    true => Told::Page(report::text(&incident, &verdict, &output::text_options())),
                    false => Told::Line(caused(&incident, &verdict)),
                });
                told.push(Told::Line(format!("incident {}", path.display())));
                match page {
                    Some(Err(error)) => {
                        told.push(Told::Line(format!("no report: {}", one_line(&error))))
                    }
                    Some(Ok(page)) if self.verbose => {
                        told.push(Told::Line(format!("report   {}", page.display())));
                    }
                    // It lies beside the incident, and has its name.
                    Some(Ok(_)) | None => {}
                }
                return told;
            }
            Notice::NotWritten(error) => format!("INCIDENT NOT WRITTEN: {error}"),
            Notice::IncidentLost { id, error } => format!("INCIDENT LOST: {id}: {error}"),
            Notice::Suppressed { trigger, .. } => format!(
                "another stall, not captured (limit of incidents an hour): {} [{}]",
                trigger.says, trigger.rule
            ),
            Notice::HistoryTrouble(error) => format!("HISTORY: {error}"),
            Notice::HistoryWorks { missing } => {
                format!("the history is written again; {missing} samples are missing")
            }
            Notice::Deleted { path, bytes, why } => {
                let name = path.file_name().unwrap_or_default().display();
                let mib = bytes as f64 / f64::from(1 << 20);
                match why {
                    DeletionReason::Age => {
                        format!("deleted {name}, {mib:.1} MiB: older than incident_days")
                    }
                    DeletionReason::Size => format!(
                        "deleted {name}, {mib:.1} MiB: all incidents took more than incident_mebibytes"
                    ),
                    DeletionReason::Space => {
                        let what = match path.extension().is_some_and(|end| end == "db") {
                            true => "made smaller",
                            false => "deleted",
                        };
                        format!("DISK: {what} {name}, {mib:.1} MiB: too little free space")
                    }
                }
            }
            Notice::Room(says) => format!("DISK: {says}"),
            Notice::UnknownSignal { trigger, signal } => {
                format!("trigger '{trigger}': no signal '{signal}' here (freezeframe sources)")
            }
            Notice::Lease(says) => format!("LEASE: {says}"),
            Notice::Lost(count) => format!("{count} samples were lost: this host is too busy"),
            Notice::Stopped => "stopped".to_owned(),
        };
        vec![Told::Line(line)]
    }

    /// What is known while a stall lasts: the finding, or with all words the whole sentence.
    fn so_far(&self, verdict: &Verdict) -> Option<String> {
        match self.verbose {
            true => Some(verdict.sentence.clone()),
            false => report::first_finding(verdict),
        }
    }

    fn is_news(&self, sentence: &str) -> bool {
        self.so_far.replace(sentence.to_owned()) != sentence
    }
}

/// What is recorded, and how it is reached.
fn started(pid: Option<u32>, address: &str) -> String {
    match (pid, address) {
        (Some(pid), "") => format!("recording pid {pid}; how to log in to it is not known"),
        (Some(pid), address) => format!("recording pid {pid}, {address}"),
        (None, address) => format!("recording {address}; its process was not found yet"),
    }
}

/// How long it is from one moment to another.
fn length(from_ms: i64, to_ms: i64) -> String {
    report::duration(u64::try_from(to_ms.saturating_sub(from_ms)).unwrap_or(0))
}

/// What a stall that is over came from, and what users felt.
fn caused(incident: &Incident, verdict: &Verdict) -> String {
    let felt = report::client_impact(incident);
    match report::first_finding(verdict) {
        Some(finding) => format!("CAUSE  {finding}. {felt}"),
        None => format!("CAUSE  no known cause fits what was recorded. {felt}"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::path::{Path, PathBuf};
    use std::sync::Arc;

    use model::Trigger;
    use testbed::{IncidentSize, made_incident};

    use super::super::reporter::Servers;
    use super::*;
    use crate::episodes::Episodes;
    use crate::explain::verdict;
    use crate::hooks::Hooks;
    use crate::listen::Board;

    /// A full disk is what stalls servers: the recorder whose lines go there must see it.
    #[test]
    fn a_line_that_cannot_be_written_ends_a_recording_only_where_nobody_reads() {
        let dir = tempfile::tempdir().unwrap();
        let teller = teller(dir.path(), false);
        let failed =
            |kind: std::io::ErrorKind| -> Result<()> { Err(std::io::Error::from(kind).into()) };
        assert!(teller.told(failed(std::io::ErrorKind::StorageFull)).is_ok());
        assert!(teller.unwritten.get());
        assert!(teller.told(Ok(())).is_ok());
        assert!(teller.told(failed(std::io::ErrorKind::BrokenPipe)).is_err());
    }

    /// Another user's process hides its sockets.
    #[test]
    fn a_server_whose_address_is_hidden_has_none_in_its_line() {
        assert_eq!(
            started(Some(7), ""),
            "recording pid 7; how to log in to it is not known"
        );
        assert_eq!(started(Some(7), "socket /s"), "recording pid 7, socket /s");
        assert_eq!(
            started(None, "127.0.0.1:3306"),
            "recording 127.0.0.1:3306; its process was not found yet"
        );
    }

    fn teller(dir: &Path, verbose: bool) -> Reporter {
        Reporter {
            json: false,
            verbose,
            html: true,
            several: false,
            journal: None,
            board: Arc::new(Board::default()),
            hooks: Hooks::start(&[], dir).unwrap(),
            lost: Cell::new(false),
            unwritten: Cell::new(false),
            so_far: RefCell::default(),
            absences: crate::record::absences::Absences::default(),
            episodes: Episodes::in_dir(dir),
            servers: Servers::default(),
        }
    }

    /// A stall from its begin to its file, as it is told.
    fn told_of_a_stall(verbose: bool) -> Vec<Told> {
        let dir = tempfile::tempdir().unwrap();
        let teller = teller(dir.path(), verbose);
        let path = PathBuf::from("x.frame");
        let incident = made_incident(&IncidentSize::small());
        let explained = || {
            Some(Explained {
                verdict: verdict(&incident, &path),
                page: Some(Ok(path.with_extension("html"))),
            })
        };
        let trigger = |rule: &str| Trigger {
            rule: rule.to_owned(),
            says: "40 sessions hang".to_owned(),
        };
        let begun = Notice::Triggered {
            id: "x".to_owned(),
            onset_wall_ms: 1_000,
            trigger_wall_ms: 2_500,
            trigger: trigger("work-stops"),
        };
        let ended = Notice::Ended {
            onset_wall_ms: 1_000,
            end_wall_ms: 24_500,
            suppressed: None,
        };
        let written = Notice::Written {
            path: path.clone(),
            incident: Box::new(incident.clone().into()),
            recovered: false,
        };
        let joined = Notice::Joined(trigger("work-waits"));
        let so_far = || {
            (
                Notice::Preliminary(Box::new(incident.clone().into())),
                explained(),
            )
        };
        let notices = [
            (begun, None),
            (joined, None),
            so_far(),
            // The same again is no news.
            so_far(),
            (ended, None),
            (written, explained()),
        ];
        let told = notices.into_iter();
        told.flat_map(|(notice, explained)| teller.lines_of(notice, explained))
            .collect()
    }

    fn begins(told: &[Told]) -> Vec<&str> {
        told.iter()
            .map(|told| match told {
                Told::Line(line) => line.get(..7).unwrap_or(line),
                Told::Page(_) => "(page)",
            })
            .collect()
    }

    #[test]
    fn a_stall_is_told_in_a_line_for_each_thing_that_is_new() {
        let told = told_of_a_stall(false);
        let expected = ["STALL  ", "so far:", "OVER   ", "CAUSE  ", "inciden"];
        assert_eq!(begins(&told), expected, "{told:#?}");
        let line = |at: usize| match &told[at] {
            Told::Line(line) => line.as_str(),
            Told::Page(_) => "",
        };
        assert_eq!(
            line(0),
            "STALL  40 sessions hang; it began 1.5 s ago [work-stops]"
        );
        // Who reads one line only reads what it was.
        assert!(
            line(2).contains(", after 24 s; cause so far: "),
            "{}",
            line(2)
        );
        assert!(line(3).contains("). "), "what users felt: {}", line(3));
        assert_eq!(line(4), "incident x.frame");
    }

    #[test]
    fn everything_is_told_when_it_was_asked_for() {
        let told = told_of_a_stall(true);
        let expected = [
            "STALL  ", "       ", "so far:", "OVER   ", "(page)", "inciden", "report ",
        ];
        assert_eq!(begins(&told), expected, "{told:#?}");
    }
}
