//! Tells what the recorders notice: on standard output, to the status address, to hooks.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use anyhow::Result;
use cli::{is_broken_pipe, one_line, output};
use diagnosis::{Level, Verdict, diagnose};
use model::Incident;
use recorder::{Notice, Pulse, host_name};
use serde_json::{Value, json};

use super::absences::Absences;
use super::journal::{self, Entry, Journal};
use crate::causes;
use crate::episodes::Episodes;
use crate::explain::{verdict, write_html};
use crate::hooks::{Event, Hooks};
use crate::listen::Board;
use crate::refused::RefusedLogin;

/// How soon a deletion is told.
const KEPT_EVERY: Duration = Duration::from_secs(1);

/// A verdict is early for so long after the trigger, milliseconds.
const EARLY_MS: u64 = 4_000;

/// A verdict, and the page that was written of it.
pub(super) struct Explained {
    pub(super) verdict: Verdict,
    pub(super) page: Option<Result<PathBuf>>,
}

/// Tells what the recorders notice.
pub(super) struct Reporter {
    pub(super) json: bool,
    /// All that there is, not what is worth a line.
    pub(super) verbose: bool,
    pub(super) html: bool,
    pub(super) several: bool,
    /// journald, when it reads our lines.
    pub(super) journal: Option<Journal>,
    pub(super) board: Arc<Board>,
    pub(super) hooks: Hooks,
    /// An incident was lost.
    pub(super) lost: Cell<bool>,
    /// A line could not be written.
    pub(super) unwritten: Cell<bool>,
    /// The finding that was told last while a stall lasts.
    pub(super) so_far: RefCell<String>,
    /// Absent evidence that is not told yet.
    pub(super) absences: Absences,
    /// All stalls, captured or not.
    pub(super) episodes: Episodes,
    /// What is known of each server from the start, by its label.
    pub(super) servers: Servers,
}

/// What to try first for this server, as `explain` says it.
fn do_now(incident: &Incident, verdict: Option<&Verdict>) -> Option<String> {
    let first = verdict?.findings.first();
    // Nobody is woken up to try what is only a guess.
    let first = first.filter(|finding| finding.level > Level::Suspicion)?;
    let step = report::plain_words::first_step(&incident.server, first);
    (!step.is_empty()).then_some(step)
}

/// The servers, by their labels: some come and go while others are recorded.
#[derive(Clone, Default)]
pub(super) struct Servers(Arc<Mutex<HashMap<String, Arc<Known>>>>);

impl Servers {
    pub(super) fn get(&self, label: &str) -> Option<Arc<Known>> {
        self.lock().get(label).cloned()
    }

    pub(super) fn insert(&self, label: &str, known: Known) {
        self.lock().insert(label.to_owned(), Arc::new(known));
    }

    pub(super) fn remove(&self, label: &str) {
        self.lock().remove(label);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Arc<Known>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is known of a server from the start.
pub(super) struct Known {
    /// Host and label.
    pub(super) name: String,
    /// Its host.
    pub(super) host: String,
    /// That is another one than ours.
    pub(super) is_elsewhere: bool,
    pub(super) who: RefusedLogin,
    /// How its recorder does, once there is one: there are notices before.
    pub(super) pulse: OnceLock<Arc<Pulse>>,
    /// What a person says of it.
    pub(super) labels: BTreeMap<String, String>,
}

impl Reporter {
    /// Tells until the recorders are gone. Who looks after what is `kept` may hang with its disk, and is not waited for.
    pub(super) fn run(
        &self,
        told: &Receiver<(String, Notice)>,
        kept: &Receiver<(String, Notice)>,
    ) -> Result<()> {
        loop {
            match told.recv_timeout(KEPT_EVERY) {
                Ok((label, notice)) => self.report(&label, notice)?,
                Err(RecvTimeoutError::Timeout) => self.told(self.tell_absences())?,
                Err(RecvTimeoutError::Disconnected) => return self.told(self.tell_absences()),
            }
            for (label, notice) in kept.try_iter() {
                self.report(&label, notice)?;
            }
        }
    }

    fn report(&self, label: &str, notice: Notice) -> Result<()> {
        let explained = self.explain(&notice);
        let is_heavy = explained.is_some();
        self.show(label, &notice, explained.as_ref());
        if !is_too_early(&notice, explained.as_ref()) {
            self.spread(label, &notice, explained.as_ref());
            self.told(self.print(label, notice, explained))?;
        }
        if is_heavy {
            kernel::heap::give_back();
        }
        Ok(())
    }

    /// What became of a line. A reader that has gone ends the recording; a disk that is full, which stalls servers, does not.
    pub(super) fn told(&self, printed: Result<()>) -> Result<()> {
        let Err(error) = printed else { return Ok(()) };
        if is_broken_pipe(&error) {
            return Err(error);
        }
        // Said once: that a later turn went well need not mean that it had a line.
        if !self.unwritten.replace(true) {
            let why = one_line(&error);
            output::note(&format!(
                "standard output cannot be written ({why}); recording continues"
            ));
        }
        Ok(())
    }

    fn print(&self, label: &str, notice: Notice, explained: Option<Explained>) -> Result<()> {
        if self.json {
            return self.report_json(label, notice, explained);
        }
        if !matches!(notice, Notice::Absent(_)) {
            self.tell_absences()?;
        }
        self.report_text(label, notice, explained)
    }

    /// Prints the absences that came together.
    fn tell_absences(&self) -> Result<()> {
        let groups = self.absences.take();
        let mut groups = groups.iter();
        groups
            .try_for_each(|group| self.lines(&group.label, &[&group.line()], group.entry.as_ref()))
    }

    /// The verdict on what a notice brings, once for all who are told.
    fn explain(&self, notice: &Notice) -> Option<Explained> {
        match notice {
            Notice::Preliminary(incident) => Some(without_page(incident)),
            Notice::Ended {
                suppressed: Some(incident),
                ..
            } => Some(without_page(incident)),
            Notice::Written { path, incident, .. } => {
                let verdict = verdict(incident, path);
                let page = self.page(path, incident, &verdict);
                Some(Explained { verdict, page })
            }
            _ => None,
        }
    }

    /// The host of a server.
    fn host(&self, label: &str) -> String {
        let known = self.servers.get(label);
        known.map_or_else(host_name, |known| known.host.clone())
    }

    /// Gives the verdict so far to who asks this process: the live view.
    fn show(&self, label: &str, notice: &Notice, explained: Option<&Explained>) {
        let known = self.servers.get(label);
        if let Notice::Preliminary(_) = notice
            && let Some(pulse) = known.as_ref().and_then(|known| known.pulse.get())
            && let Some(said) = explained.and_then(|it| serde_json::to_value(&it.verdict).ok())
        {
            pulse.judged(said);
        }
    }

    /// Tells the status address and the hooks.
    fn spread(&self, label: &str, notice: &Notice, explained: Option<&Explained>) {
        let verdict = explained.map(|explained| &explained.verdict);
        self.episodes.note(label, notice, verdict);
        let event = match notice {
            Notice::Triggered {
                id,
                onset_wall_ms,
                trigger_wall_ms,
                trigger,
            } => {
                self.board.triggered(label, id, *trigger_wall_ms);
                Event::start(json!({"id": id, "onset": rfc3339(*onset_wall_ms),
                    "trigger": rfc3339(*trigger_wall_ms), "rule": trigger.rule,
                    "says": trigger.says, "server": label, "host": self.host(label)}))
            }
            Notice::Preliminary(incident) => {
                let onset = incident.clock.wall_ms(incident.stall.onset);
                Event::preliminary(json!({"id": incident.id, "onset": rfc3339(onset),
                    "felt": report::client_impact(incident), "do_now": do_now(incident, verdict),
                    "verdict": verdict, "server": label, "host": self.host(label)}))
            }
            Notice::Again {
                id,
                onset_wall_ms,
                trigger_wall_ms,
                trigger,
            } => {
                self.board.again(label, id);
                Event::start(json!({"id": id, "onset": rfc3339(*onset_wall_ms),
                    "trigger": rfc3339(*trigger_wall_ms), "rule": trigger.rule, "again": true,
                    "says": trigger.says, "server": label, "host": self.host(label)}))
            }
            // The limit an hour is one of announcements.
            Notice::Ended {
                suppressed: Some(_),
                ..
            } => return,
            Notice::Ended {
                onset_wall_ms,
                end_wall_ms,
                ..
            } => {
                let id = self.board.over(label);
                Event::end(
                    json!({"id": id, "onset": rfc3339(*onset_wall_ms), "end": rfc3339(*end_wall_ms), "server": label,
                    "host": self.host(label)}),
                )
            }
            Notice::Written {
                path,
                incident,
                recovered,
            } => {
                let first = verdict.and_then(|verdict| verdict.findings.first());
                let named = first.filter(|finding| finding.level >= Level::Likely);
                self.board
                    .written(label, named.map(|finding| finding.cause.as_str()));
                // Whoever is told works elsewhere than we do.
                let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                let page = explained.and_then(|explained| explained.page.as_ref()?.as_ref().ok());
                let page = page.and_then(|page| std::path::absolute(page).ok());
                let onset = incident.clock.wall_ms(incident.stall.onset);
                // The end of one that a killed recorder left is not known, and long ago.
                let lasts = incident.stall.end.is_none() && !recovered;
                Event::verdict(
                    json!({"id": incident.id, "onset": rfc3339(onset), "lasts": lasts, "path": path, "html": page,
                    "recovered": recovered, "felt": report::client_impact(incident),
                    "do_now": do_now(incident, verdict), "verdict": verdict, "server": label,
                    "host": self.host(label)}),
                )
            }
            Notice::Suppressed { .. } => return self.board.suppressed(label),
            Notice::Deleted { path, bytes, why } => return self.board.deleted(path, *bytes, *why),
            Notice::Started(_) => return self.board.started(label),
            Notice::Stopped => return self.board.ended(label),
            Notice::IncidentLost { .. } => return self.lost.set(true),
            _ => return,
        };
        self.hooks.send(&event);
    }

    /// What is still told when nobody reads our output any more.
    pub(super) fn rest(&self, told: &Receiver<(String, Notice)>) {
        for (label, notice) in told.try_iter() {
            let explained = self.explain(&notice);
            if is_too_early(&notice, explained.as_ref()) {
                continue;
            }
            self.spread(&label, &notice, explained.as_ref());
        }
    }

    pub(super) fn listening(&self, address: std::net::SocketAddr) -> Result<()> {
        if self.json {
            let time = rfc3339(kernel::clock::wall_ms());
            let object = json!({"event": "listening", "address": address, "time": time});
            return output::print_json_line(&object);
        }
        self.line(
            "",
            &format!("status at http://{address}/healthz and /metrics"),
        )
    }

    pub(super) fn line(&self, label: &str, text: &str) -> Result<()> {
        self.lines(label, &[text], None)
    }

    /// Lines on one notice. journald gets them as one entry; what it does not take is printed.
    pub(super) fn lines(&self, label: &str, texts: &[&str], entry: Option<&Entry>) -> Result<()> {
        let several = self.several || self.servers.lock().len() > 1;
        let shown = match several && !label.is_empty() {
            true => format!("{label}: "),
            false => String::new(),
        };
        if let Some(journal) = &self.journal {
            let text = format!("{shown}{}", texts.join("\n"));
            let entry = entry.unwrap_or(&journal::PLAIN);
            if journal.send(label, &text, entry).is_ok() {
                return Ok(());
            }
        }
        let now = output::clock(kernel::clock::wall_ms());
        texts
            .iter()
            .try_for_each(|text| output::print(&format!("{now}  {shown}{}", output::plain(text))))
    }

    fn page(
        &self,
        frame: &std::path::Path,
        incident: &model::Incident,
        verdict: &Verdict,
    ) -> Option<Result<PathBuf>> {
        let page = frame.with_extension("html");
        self.html
            .then(|| write_html(&page, incident, verdict).map(|()| page))
    }

    fn report_json(&self, label: &str, notice: Notice, explained: Option<Explained>) -> Result<()> {
        let (verdict, page) = explained.map_or((None, None), |explained| {
            (Some(explained.verdict), explained.page.and_then(Result::ok))
        });
        let mut object = match notice {
            Notice::Started(server) => {
                let known = self.servers.get(label);
                let name = known.as_ref().map(|known| &known.name);
                let mut started = json!({"event": "started", "to": server, "name": name});
                if let Some(known) = known.as_ref().filter(|known| !known.labels.is_empty()) {
                    started["labels"] = json!(known.labels);
                }
                started
            }
            Notice::NotStarted(why) => json!({"event": "not-started", "error": why}),
            Notice::Version(version) => json!({"event": "version", "version": version}),
            Notice::Absent(absent) => json!({"event": "absent", "absent": absent}),
            Notice::Triggered {
                id,
                onset_wall_ms,
                trigger_wall_ms,
                trigger,
            } => json!({"event": "triggered", "id": id, "onset": rfc3339(onset_wall_ms),
                "trigger": rfc3339(trigger_wall_ms), "rule": trigger.rule, "says": trigger.says}),
            Notice::Again {
                id,
                onset_wall_ms,
                trigger_wall_ms,
                trigger,
            } => json!({"event": "again", "id": id, "onset": rfc3339(onset_wall_ms),
                "trigger": rfc3339(trigger_wall_ms), "rule": trigger.rule, "says": trigger.says}),
            Notice::Lasts {
                onset_wall_ms,
                says,
            } => json!({"event": "lasts", "since": rfc3339(onset_wall_ms), "says": says}),
            Notice::Asked { id, for_ms } => {
                json!({"event": "asked", "id": id, "for_ms": for_ms})
            }
            Notice::Joined(trigger) => {
                json!({"event": "joined", "rule": trigger.rule, "says": trigger.says})
            }
            Notice::Preliminary(incident) => {
                json!({"event": "preliminary", "id": incident.id, "verdict": verdict})
            }
            Notice::Ended {
                onset_wall_ms,
                end_wall_ms,
                ..
            } => {
                json!({"event": "ended", "onset": rfc3339(onset_wall_ms), "end": rfc3339(end_wall_ms)})
            }
            Notice::Written {
                path,
                incident,
                recovered,
            } => {
                json!({"event": "written", "id": incident.id, "path": path, "html": page,
                    "recovered": recovered, "verdict": verdict})
            }
            Notice::NotWritten(error) => json!({"event": "not-written", "error": error}),
            Notice::IncidentLost { id, error } => {
                json!({"event": "incident-lost", "id": id, "error": error})
            }
            Notice::Suppressed {
                onset_wall_ms,
                trigger_wall_ms,
                trigger,
            } => json!({"event": "suppressed", "onset": rfc3339(onset_wall_ms),
                "trigger": rfc3339(trigger_wall_ms), "rule": trigger.rule, "says": trigger.says}),
            Notice::HistoryTrouble(error) => json!({"event": "history-trouble", "error": error}),
            Notice::HistoryWorks { missing } => {
                json!({"event": "history-works", "missing_samples": missing})
            }
            Notice::Deleted { path, bytes, why } => {
                json!({"event": "deleted", "path": path, "bytes": bytes, "why": why.name()})
            }
            Notice::Room(says) => json!({"event": "room", "says": says}),
            Notice::UnknownSignal { trigger, signal } => {
                json!({"event": "unknown-signal", "trigger": trigger, "signal": signal})
            }
            Notice::Lease(says) => json!({"event": "lease", "says": says}),
            Notice::Lost(count) => json!({"event": "lost", "samples": count}),
            Notice::Stopped => json!({"event": "stopped"}),
        };
        object["time"] = rfc3339(kernel::clock::wall_ms());
        object["server"] = Value::from(label);
        output::print_json_line(&object)
    }
}

/// The verdict on a stall that lasts, or was not captured.
fn without_page(incident: &model::Incident) -> Explained {
    Explained {
        verdict: diagnose(incident, causes::catalogue()),
        page: None,
    }
}

/// A verdict right after the trigger is for who looks at the live view. The rest hears of it when it is sure: for them
/// the next one, some seconds later, is soon enough.
fn is_too_early(notice: &Notice, explained: Option<&Explained>) -> bool {
    let Notice::Preliminary(incident) = notice else {
        return false;
    };
    let after = incident.window.to.saturating_sub(incident.stall.trigger);
    let first = explained.and_then(|it| it.verdict.findings.first());
    after < EARLY_MS && first.is_none_or(|first| first.level < Level::Likely)
}

fn rfc3339(wall_ms: i64) -> Value {
    jiff::Timestamp::from_millisecond(wall_ms)
        .map_or(Value::Null, |moment| Value::from(moment.to_string()))
}
