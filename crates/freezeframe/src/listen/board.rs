//! What the status address knows of each recorder.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use recorder::{DeletionReason, Pulse, PulseNow, RetentionNow, RetentionState};
use serde_json::{Value, json};

use super::Answer;
use crate::feed::{FeedNow, FeedState};
use crate::hooks::HookState;

/// A recorder beats four times a second; after this long without, it stands still.
const BEAT_AGE_MAX_MS: u64 = 5000;

/// A probe without answer for so long is trouble, whether it is called a stall yet or not.
const UNANSWERED_MAX_MS: u64 = 2000;

/// Different causes that are counted.
const CAUSES_MAX: usize = 200;

/// What the status address tells of.
#[derive(Default)]
pub(crate) struct Board {
    servers: Mutex<BTreeMap<String, Server>>,
    hooks: Mutex<Vec<Arc<HookState>>>,
    feed: OnceLock<Arc<FeedState>>,
    kept: Mutex<Kept>,
}

/// What is kept of what was recorded.
#[derive(Default)]
struct Kept {
    state: Option<Arc<RetentionState>>,
    deleted: Deleted,
}

/// What was deleted since the start, by what it was and why: how many times, and bytes.
pub(super) type Deleted = BTreeMap<(&'static str, &'static str), (u64, u64)>;

/// One recorder.
#[derive(Clone, Default)]
pub(super) struct Server {
    pulse: Option<Arc<Pulse>>,
    /// Host and label: what it is called where servers of many hosts are told.
    pub(super) name: String,
    pub(super) ended: bool,
    /// What a person says of it, for metrics.
    pub(super) labels: BTreeMap<String, String>,
    /// Incidents by the cause that their verdict names first; empty when none is named.
    pub(super) incidents: BTreeMap<String, u64>,
    /// When the last one was noticed, milliseconds since 1970.
    pub(super) last_incident_ms: Option<i64>,
    pub(super) suppressed: u64,
    /// The name of the incident that is under way.
    incident: Option<String>,
}

impl Server {
    pub(super) fn now(&self) -> PulseNow {
        self.pulse
            .as_ref()
            .map(|pulse| pulse.now())
            .unwrap_or_default()
    }

    /// What is wrong with the recorder itself, if anything.
    fn own_trouble(&self, now: &PulseNow) -> Option<String> {
        if self.ended {
            return Some("the recorder has ended".to_owned());
        }
        let age = now.beat_age_ms.filter(|age| *age > BEAT_AGE_MAX_MS)?;
        Some(format!(
            "the recorder itself has hung for {:.1} s",
            age as f64 / 1000.0
        ))
    }

    /// What is wrong, if anything.
    fn trouble(&self, now: &PulseNow) -> Option<String> {
        let own = self.own_trouble(now);
        if own.is_some() {
            return own;
        }
        let unanswered = now.unanswered_ms.map(|ms| {
            let seconds = ms as f64 / 1000.0;
            format!("the query probe has no answer for {seconds:.1} s")
        });
        if now.stalled {
            // The rule's words are of the moment when it noticed the stall.
            let lasts = now.stalled_ms.unwrap_or_default() as f64 / 1000.0;
            let stalled = format!("stalled for {lasts:.1} s: {}", now.reason);
            return Some(match unanswered {
                Some(unanswered) => format!("{unanswered}; {stalled}"),
                None => stalled,
            });
        }
        unanswered.filter(|_| now.unanswered_ms > Some(UNANSWERED_MAX_MS))
    }
}

impl Board {
    fn with<R>(&self, change: impl FnOnce(&mut BTreeMap<String, Server>) -> R) -> R {
        change(&mut self.servers.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn server(&self, label: &str, change: impl FnOnce(&mut Server)) {
        self.with(|servers| {
            if let Some(server) = servers.get_mut(label) {
                change(server);
            }
        });
    }

    /// A recorder begins. `name`: what its server is called on other hosts.
    pub(crate) fn add(&self, label: &str, name: &str, pulse: Arc<Pulse>) {
        self.with(|servers| {
            servers.insert(
                label.to_owned(),
                Server {
                    pulse: Some(pulse),
                    name: name.to_owned(),
                    ..Server::default()
                },
            );
        });
    }

    pub(crate) fn hooks(&self, states: Vec<Arc<HookState>>) {
        *self.hooks.lock().unwrap_or_else(PoisonError::into_inner) = states;
    }

    /// A stall was noticed.
    pub(crate) fn triggered(&self, label: &str, id: &str, wall_ms: i64) {
        self.server(label, |server| {
            server.last_incident_ms = Some(wall_ms);
            server.incident = Some(id.to_owned());
        });
    }

    /// A stall is there again, in the same incident.
    pub(crate) fn again(&self, label: &str, id: &str) {
        self.server(label, |server| server.incident = Some(id.to_owned()));
    }

    /// A stall is over; the name of its incident.
    pub(crate) fn over(&self, label: &str) -> Option<String> {
        self.with(|servers| servers.get_mut(label)?.incident.take())
    }

    /// An incident was written, with the cause that its verdict names first.
    pub(crate) fn written(&self, label: &str, cause: Option<&str>) {
        self.server(label, |server| {
            let cause = cause.unwrap_or("");
            if server.incidents.len() < CAUSES_MAX || server.incidents.contains_key(cause) {
                *server.incidents.entry(cause.to_owned()).or_default() += 1;
            }
        });
    }

    /// A stall was not captured.
    pub(crate) fn suppressed(&self, label: &str) {
        self.server(label, |server| server.suppressed += 1);
    }

    /// A server is recorded no longer, because nobody wants it to be.
    pub(crate) fn remove(&self, label: &str) {
        self.with(|servers| servers.remove(label));
    }

    /// Who sends to the fleet. Only the first counts: there is one.
    pub(crate) fn feed(&self, state: Arc<FeedState>) {
        let _ = self.feed.set(state);
    }

    /// How the sending to the fleet does, where there is one.
    pub(super) fn feed_now(&self) -> Option<FeedNow> {
        self.feed.get().map(|state| state.now())
    }

    /// A recorder goes on, or another one of its name.
    pub(crate) fn started(&self, label: &str) {
        self.server(label, |server| server.ended = false);
    }

    /// What is said of a server in metrics, beside its name.
    pub(crate) fn labels(&self, label: &str, labels: &BTreeMap<String, String>) {
        self.server(label, |server| server.labels = labels.clone());
    }

    /// A recorder has ended.
    pub(crate) fn ended(&self, label: &str) {
        self.server(label, |server| server.ended = true);
    }

    /// Who looks after what is kept.
    pub(crate) fn retention(&self, state: Arc<RetentionState>) {
        self.kept().state = Some(state);
    }

    /// Something was deleted, by what is kept at the most.
    pub(crate) fn deleted(&self, path: &Path, bytes: u64, why: DeletionReason) {
        let what = match path.extension().and_then(|end| end.to_str()) {
            Some("frame") => "incident",
            _ => "history",
        };
        let mut kept = self.kept();
        let (count, sum) = kept.deleted.entry((what, why.name())).or_default();
        *count += 1;
        *sum += bytes;
    }

    fn kept(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is kept now, where somebody looks after it, and what was deleted.
    pub(super) fn kept_now(&self) -> Option<(RetentionNow, Deleted)> {
        let kept = self.kept();
        Some((kept.state.as_ref()?.now(), kept.deleted.clone()))
    }

    pub(super) fn servers(&self) -> BTreeMap<String, Server> {
        self.with(|servers| servers.clone())
    }

    pub(super) fn hook_states(&self) -> Vec<Arc<HookState>> {
        self.hooks
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// 200 while every recorder moves, whatever its server does: who starts us anew when we hang must not do so in a
    /// stall, of which we are the only witness.
    pub(super) fn lives(&self) -> Answer {
        let servers = self.servers();
        let troubles = servers.iter().filter_map(|(label, server)| {
            let trouble = server.own_trouble(&server.now())?;
            Some(format!("{label}: {trouble}"))
        });
        let troubles: Vec<String> = troubles.collect();
        match troubles.is_empty() {
            true => Answer::text(200, "the recorders run"),
            false => Answer::text(503, &troubles.join("\n")),
        }
    }

    /// 200 while all is well with the server, or with all of them; 503 with the reason otherwise.
    pub(super) fn health(&self, wanted: Option<&str>) -> Answer {
        let servers = self.servers();
        let mut told = Vec::new();
        let mut fine = true;
        for (label, server) in &servers {
            if wanted.is_some_and(|wanted| wanted != label && wanted != server.name) {
                continue;
            }
            let now = server.now();
            let trouble = server.trouble(&now);
            fine &= trouble.is_none();
            told.push(json!({
                "server": label,
                "name": server.name,
                "ok": trouble.is_none(),
                "stalled": now.stalled,
                "stalled_seconds": now.stalled_ms.map(|ms| ms as f64 / 1000.0),
                "reason": trouble,
                "incident": server.incident,
                "recorder_beat_age_ms": now.beat_age_ms,
            }));
        }
        let code = match (told.is_empty(), fine) {
            (true, _) if wanted.is_some() => 404,
            (_, true) => 200,
            _ => 503,
        };
        let body = match wanted {
            Some(wanted) => told.pop().unwrap_or_else(|| {
                let known: Vec<&String> = servers.keys().collect();
                json!({"error": "no such server", "server": wanted, "servers": known})
            }),
            None => {
                let mut all = json!({"ok": fine, "servers": Value::from(told)});
                if let Some((state, now)) = self.feed.get().zip(self.feed_now()) {
                    // A store that is away is no trouble of a server.
                    all["fleet"] = json!({
                        "store": state.name,
                        "ok": now.trouble.is_none(),
                        "reason": now.trouble,
                        "sent": now.sent,
                        "last_sent": now.sent_at.and_then(|at| Some(jiff::Timestamp::from_second(at).ok()?.to_string())),
                        "waiting": now.waiting,
                        "waiting_bytes": now.waiting_bytes,
                        "lost_minutes": now.lost[0],
                        "lost_incidents": now.lost[1],
                        "lost_remedies": now.lost[2],
                        "lost_frames": now.lost[3],
                    });
                }
                all
            }
        };
        Answer::new(code, "application/json", format!("{body}\n"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn now(beat_age_ms: u64) -> PulseNow {
        PulseNow {
            beat_age_ms: Some(beat_age_ms),
            ..PulseNow::default()
        }
    }

    #[test]
    fn a_server_is_in_trouble_when_it_stalls_or_nobody_looks() {
        let server = Server::default();
        assert_eq!(server.trouble(&now(250)), None);
        let stands = server.trouble(&now(9000)).unwrap();
        assert!(stands.contains("has hung for 9.0 s"), "{stands}");
        assert_eq!(server.own_trouble(&now(9000)), Some(stands));
        let stalled = PulseNow {
            stalled: true,
            stalled_ms: Some(5800),
            reason: "no answer for 1.2 s".to_owned(),
            ..now(100)
        };
        assert_eq!(server.own_trouble(&stalled), None, "it is at work");
        assert_eq!(
            server.trouble(&stalled).unwrap(),
            "stalled for 5.8 s: no answer for 1.2 s"
        );
        let silent_still = PulseNow {
            unanswered_ms: Some(7000),
            ..stalled
        };
        assert_eq!(
            server.trouble(&silent_still).unwrap(),
            "the query probe has no answer for 7.0 s; stalled for 5.8 s: no answer for 1.2 s"
        );
        let silent = PulseNow {
            unanswered_ms: Some(3000),
            ..now(100)
        };
        assert!(server.trouble(&silent).unwrap().contains("3.0 s"));
        let short = PulseNow {
            unanswered_ms: Some(300),
            ..now(100)
        };
        assert_eq!(server.trouble(&short), None);
        let ended = Server {
            ended: true,
            ..Server::default()
        };
        assert!(ended.trouble(&now(1)).is_some());
    }

    #[test]
    fn one_server_of_several_can_be_asked_for() {
        let board = Board::default();
        board.add("3306", "db1:3306", Arc::new(Pulse::default()));
        board.add("3307", "db1:3307", Arc::new(Pulse::default()));
        board.ended("3307");
        assert_eq!(board.health(None).code, 503);
        assert_eq!(board.health(Some("3306")).code, 200);
        assert_eq!(board.health(Some("db1:3306")).code, 200);
        let bad = board.health(Some("3307"));
        assert_eq!(bad.code, 503);
        let body: Value = serde_json::from_str(&bad.body).unwrap();
        assert_eq!(body["reason"], "the recorder has ended");
        assert_eq!(board.health(Some("x")).code, 404);
    }
}
