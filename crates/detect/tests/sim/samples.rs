//! What the recorder would have sampled.

use crate::common::sample;
use detect::{RequestRow, SessionRow};
use model::{Absent, Fact, Millis, ProbeOutcome, Reading, Reason, Sample, Unit};

use super::mechanism::{LOGIN, UNGREETED};
use super::{CAPACITY, Load, READS, SERVICE_SECONDS, Server, TICK_MS, WRITES};

const MAX_CONNECTIONS: f64 = 300.0;

/// A probe is waited for this long before it is called unanswered, milliseconds.
const PROBE_DEADLINE_MS: Millis = 3000;

fn gauge(name: &'static str, value: f64) -> Reading {
    Reading::gauge(name, Unit::Count, value)
}

fn absent(source: &'static str, at: Millis) -> Sample {
    Sample {
        source,
        at,
        took_us: 1,
        outcome: Err(Absent::new(source, Reason::Deadline, "no answer")),
    }
}

impl Server {
    fn observe(&mut self, sample: &Sample) {
        let events = self.detector.observe(sample);
        self.events.extend(events);
    }

    pub(super) fn sample(&mut self, frozen: bool) {
        let now = self.now;
        let turn = |every: Millis| now % every < TICK_MS;
        if turn(200) && self.login {
            self.probe(frozen);
        }
        let again = self.look_at.is_some_and(|at| now >= at);
        if again {
            self.look_at = None;
        }
        if again && self.login && !self.down && !frozen && !turn(1000) {
            self.status();
            self.processlist();
            return;
        }
        if !turn(1000) {
            return;
        }
        self.host_samples();
        if !self.down {
            self.connections();
        }
        if !self.login {
            return;
        }
        if self.down || frozen {
            if frozen && now % 3000 < 1000 {
                self.observe(&absent("status", now));
                self.observe(&absent("processlist", now));
            }
            return;
        }
        self.status();
        self.processlist();
        let looks_held =
            self.sessions.looks_held(self.pace.is_worse()) && !self.detector.in_stall();
        self.look_at = looks_held.then_some(now + 450);
    }

    fn probe(&mut self, frozen: bool) {
        let now = self.now;
        let probe = |outcome: ProbeOutcome, us: f64| {
            sample(
                "query-probe",
                now,
                vec![
                    gauge("probe.query_us", us),
                    gauge("probe.query_outcome", outcome.code()),
                ],
            )
        };
        if self.down {
            self.observe(&probe(ProbeOutcome::Refused, 50.0));
            return;
        }
        if frozen {
            let since = *self.frozen_probe_from.get_or_insert(now);
            let waited = now - since;
            if waited >= 500 {
                let us = waited as f64 * 1000.0;
                self.observe(&sample(
                    "recorder",
                    now,
                    vec![gauge("probe.query_waiting_us", us)],
                ));
            }
            if waited == PROBE_DEADLINE_MS {
                self.observe(&probe(ProbeOutcome::TimedOut, waited as f64 * 1000.0));
            }
            return;
        }
        if let Some(since) = self.frozen_probe_from.take() {
            let us = (now - since) as f64 * 1000.0;
            self.questions += 1.0;
            self.observe(&probe(ProbeOutcome::Ok, us));
            return;
        }
        // A slow one takes the time of several.
        let us = self.host.probe_us * (0.7 + 0.6 * self.random.share());
        self.probe_turn += 1;
        let beats = 1 + (us / 200_000.0) as u64;
        if self.probe_turn.is_multiple_of(beats) {
            self.questions += 1.0;
            self.observe(&probe(ProbeOutcome::Ok, us));
        }
    }

    fn host_samples(&mut self) {
        let now = self.now;
        let stat = vec![
            gauge("cpu.count", 2.0),
            gauge("cpu.busy_share", self.host.busy),
        ];
        self.observe(&sample("stat", now, stat));
        if !self.down {
            let ticks = vec![Reading::counter(
                "process.system_ticks",
                Unit::Ticks,
                self.system_ticks,
            )];
            self.observe(&sample("process", now, ticks));
            let queue = vec![
                gauge("threads.on_cpu", self.host.on_cpu),
                gauge("threads.queued", self.host.queued),
            ];
            self.observe(&sample("threads", now, queue));
        }
    }

    /// What the kernel says of the clients' connections.
    fn connections(&mut self) {
        let now = self.now;
        let mut rows = Vec::new();
        for client in &self.clients {
            let is_ungreeted = client
                .statement
                .as_ref()
                .is_some_and(|running| running.state == LOGIN);
            let mut sent_ms = now.saturating_sub(client.answered);
            let received_ms = match client.statement {
                // Neither side has said a word.
                Some(_) if is_ungreeted => {
                    sent_ms = now.saturating_sub(client.since);
                    sent_ms
                }
                // Asked in the tick of the answer: the order is known by other signs.
                Some(_) => {
                    let received_ms = now.saturating_sub(client.since);
                    sent_ms = sent_ms.max(received_ms + 1);
                    received_ms
                }
                None => sent_ms + 1,
            };
            rows.push(RequestRow {
                id: client.id,
                sent_ms,
                received_ms,
                acknowledged_ms: received_ms,
                is_unread: false,
                is_ungreeted,
                segments: None,
            });
        }
        for beside in &self.beside {
            if beside.from <= now && now < beside.to {
                rows.push(RequestRow {
                    id: beside.id,
                    sent_ms: now - beside.from + 1,
                    received_ms: now - beside.from,
                    acknowledged_ms: now - beside.from,
                    is_unread: false,
                    is_ungreeted: beside.state == UNGREETED,
                    segments: None,
                });
            }
        }
        let readings = self.requests.observe(now, &rows);
        self.observe(&sample("connections", now, readings));
    }

    fn status(&mut self) {
        let now = self.now;
        // Of its own: this one, the processlist.
        self.questions += 2.0;
        let rows_waiting = self
            .clients
            .iter()
            .filter(|client| {
                client
                    .statement
                    .as_ref()
                    .is_some_and(|running| running.state == "Updating")
            })
            .count();
        let in_statement = self.clients.iter().filter(|client| {
            let running = client.statement.as_ref();
            running.is_some_and(|running| running.state != LOGIN)
        });
        let at_work = self
            .beside
            .iter()
            .filter(|beside| beside.from <= now && now < beside.to);
        let running = in_statement.count() + at_work.count();
        let connected = self.clients.len() as f64 + 4.0 + self.leaked;
        let mut status = sample(
            "status",
            now,
            vec![
                Reading::counter("status.Questions", Unit::Count, self.questions.floor()),
                gauge("status.Uptime", ((now - self.uptime_from) / 1000) as f64),
                gauge("status.Threads_running", 1.0 + running as f64),
                gauge("status.Threads_connected", connected.min(MAX_CONNECTIONS)),
                Reading::counter(
                    "status.Connection_errors_max_connections",
                    Unit::Count,
                    self.refused.floor(),
                ),
                gauge("status.Innodb_row_lock_current_waits", rows_waiting as f64),
                Reading::counter("status.Innodb_row_lock_waits", Unit::Count, self.row_waits),
                Reading::counter("status.Handler_read_key", Unit::Count, self.rows),
                Reading::counter("status.Com_update", Unit::Count, self.written.floor()),
            ],
        );
        if let Ok(taken) = &mut status.outcome {
            taken.facts = vec![Fact::new(
                "variables.max_connections",
                format!("{MAX_CONNECTIONS}"),
            )];
        }
        if let Ok(taken) = &status.outcome {
            self.pace.observe(now, &taken.readings);
        }
        self.observe(&status);
    }

    fn processlist(&mut self) {
        let now = self.now + 5;
        let seconds = |since: Millis| (now.saturating_sub(since) / 1000) as f64;
        // Short statements that happen to be seen.
        let rate = match self.load {
            Load::Rate(rate) => rate,
            Load::Saturated => CAPACITY,
        };
        let young = match self.load {
            Load::Saturated => self.clients.len(),
            Load::Rate(_) => {
                let mean = rate * SERVICE_SECONDS * self.slowness;
                (mean + self.random.share()) as usize
            }
        };
        let mut rows = Vec::new();
        let mut shown = 0;
        for client in &self.clients {
            let (command, since, state, statement) = match &client.statement {
                Some(running) if running.state == LOGIN => {
                    rows.push(SessionRow {
                        id: 9000 + client.id,
                        user: "unauthenticated user",
                        command: "Connect",
                        seconds: 0.0,
                        state: LOGIN,
                        statement: "",
                    });
                    continue;
                }
                Some(running) => ("Query", client.since, running.state, running.text),
                None if shown < young => {
                    shown += 1;
                    let index = (client.id as usize + (now / 1000) as usize) % 5;
                    let text = READS
                        .iter()
                        .chain(&WRITES)
                        .nth(index)
                        .copied()
                        .unwrap_or("");
                    ("Query", now, "", text)
                }
                None => ("Sleep", client.since, "", ""),
            };
            rows.push(SessionRow {
                id: client.id,
                user: "app",
                command,
                seconds: seconds(since),
                state,
                statement,
            });
        }
        for beside in &self.beside {
            if beside.from <= now && now < beside.to {
                let (user, command) = match beside.state {
                    LOGIN | UNGREETED => ("unauthenticated user", "Connect"),
                    _ => ("batch", "Query"),
                };
                rows.push(SessionRow {
                    id: beside.id,
                    user,
                    command,
                    seconds: seconds(beside.from),
                    state: beside.state,
                    statement: beside.text,
                });
            }
        }
        let stuck = rows
            .iter()
            .filter(|row| row.command == "Query" && row.seconds >= 2.0)
            .count();
        let calm = !self.detector.in_stall();
        let mut readings = self.sessions.observe(now, &rows, calm);
        readings.push(gauge("processlist.active_2s", stuck as f64));
        self.observe(&sample("processlist", now, readings));
    }
}
