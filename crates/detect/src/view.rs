//! What is known of the server at this moment, put together from its sources.

use std::collections::VecDeque;

use model::{Millis, ProbeOutcome, Sample};

use crate::places::Places;

/// A reading older than this says nothing of now, milliseconds: its source comes each second.
const FRESH_MS: Millis = 2500;

/// Samples closer than this are not both regular, milliseconds: a beat may come early.
const SECOND_LOOK_MS: Millis = 800;

/// Probes that tell how fast the server answers now: a second of them.
const PROBES_KEPT: usize = 5;

/// Connections that tell the same: one of them may come late by chance.
const CONNECTS_KEPT: usize = 3;

/// Row lock waits are looked back at for so long, milliseconds. The limit of a wait, and a beat that
/// comes early.
const ROW_WAIT_MS: Millis = 1900;

/// Ticks a second of /proc/PID/stat (USER_HZ).
const TICKS_A_SECOND: f64 = 100.0;

/// Asking for the status reads rows as well, about as many as there are variables: the least that any of so many
/// readings in a row brought is taken for it,
const OWN_ROWS_LOOKS: usize = 30;

/// and no more than this, which is what clients read.
const OWN_ROWS_MAX: f64 = 2000.0;

/// A server whose threads use less of a processor than this does nothing, processors.
const ON_CPU_MIN: f64 = 0.01;

/// A reading of the run queue that covers so much tells of more than a moment, milliseconds: two regular ones, and a beat
/// that comes early.
const QUEUE_COVERS_MS: Millis = 1800;

/// Counters of rows that the storage engines were asked for.
const ROW_COUNTERS: [&str; 7] = [
    "status.Handler_read_key",
    "status.Handler_read_next",
    "status.Handler_read_rnd",
    "status.Handler_read_rnd_next",
    "status.Handler_update",
    "status.Handler_write",
    "status.Handler_delete",
];

/// Counters of statements that change data.
const WRITE_COUNTERS: [&str; 4] = [
    "status.Com_insert",
    "status.Com_update",
    "status.Com_delete",
    "status.Com_replace",
];

/// What the status told last.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Work {
    pub(crate) at: Millis,
    /// The reading before: its numbers are of the time since then.
    pub(crate) since: Millis,
    /// Statements of clients that completed, a second.
    pub(crate) completions: f64,
    /// Rows that clients read and wrote, a second, where the server counts them.
    pub(crate) rows: Option<f64>,
    /// Statements that change data, a second.
    pub(crate) writes: Option<f64>,
}

/// What the sessions told last; see [`crate::Sessions`].
#[derive(Debug, Clone, Copy)]
pub(crate) struct Crowd {
    pub(crate) at: Millis,
    pub(crate) clients: f64,
    pub(crate) in_flight: f64,
    /// Those of them that usually are in none.
    pub(crate) in_flight_unusual: f64,
    pub(crate) hung: f64,
    pub(crate) oldest_ms: f64,
    pub(crate) hung_workers: f64,
    pub(crate) going: f64,
    pub(crate) finished: f64,
    pub(crate) hung_writes: f64,
    pub(crate) waiting: f64,
    pub(crate) waiting_long: f64,
    pub(crate) waiting_oldest_ms: f64,
    pub(crate) short_hung: f64,
    pub(crate) logging_in: f64,
    pub(crate) logging_in_oldest_ms: f64,
    pub(crate) since_finish_ms: Option<f64>,
}

impl Crowd {
    /// Whether half or more of those in statements are clients that usually finish some all the time, and hang since
    /// before a moment.
    pub(crate) fn hangs_since(&self, moment: Millis) -> bool {
        let began = self.at.saturating_sub(self.oldest_ms.max(0.0) as Millis);
        self.hung_workers >= (self.in_flight / 2.0).max(1.0) && began < moment
    }
}

/// Connections, as the status counts them.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Doors {
    pub(crate) at: Millis,
    pub(crate) since: Millis,
    pub(crate) connected: Option<f64>,
    /// Connections refused since the reading before because there were too many; those that
    /// failed for any reason, where the server has no such counter.
    pub(crate) refused: Option<f64>,
    /// The counter is that of refusals alone.
    pub(crate) is_exact: bool,
}

/// How the server's threads got their processors in a stretch of time, the mean of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Queue {
    pub(crate) at: Millis,
    since: Millis,
    on_cpu: f64,
    /// Threads that were ready, and waited for a processor.
    pub(crate) waiting: f64,
}

impl Queue {
    /// So many times as long as on a processor of its own takes whatever the server does, with the waits for one.
    pub(crate) fn stretch(&self) -> f64 {
        ((self.on_cpu + self.waiting) / self.on_cpu.max(ON_CPU_MIN)).max(1.0)
    }
}

#[derive(Debug, Default)]
pub(crate) struct View {
    before: Option<Counters>,
    /// Statements of our own since the last status.
    own: f64,
    /// Rows that were read from one status to the next.
    rows_grown: VecDeque<f64>,
    pub(crate) work: Option<Work>,
    pub(crate) crowd: Option<Crowd>,
    /// What the kernel says of connections, also where the server shows its sessions.
    wire: Option<Crowd>,
    /// The server shows us its sessions: what the kernel says of connections is less.
    has_sessions: bool,
    /// Processors that the server used in the last second.
    pub(crate) own_cpus: Option<f64>,
    pub(crate) doors: Doors,
    /// Moment, transactions that wait for a row lock, waits that began so far.
    row_waits: VecDeque<(Millis, f64, f64)>,
    /// Transactions known to have waited for two seconds.
    pub(crate) rows_waiting: Option<f64>,
    probes_us: VecDeque<f64>,
    connects_us: VecDeque<f64>,
    pub(crate) max_connections: Option<f64>,
    process_ticks: Option<(Millis, f64, f64)>,
    cpus: f64,
    /// Processors that the server's control group may use; none where it is not limited.
    quota_cpus: Option<f64>,
    /// The last reading of the run queue, and the one before.
    queues: [Option<Queue>; 2],
    /// Share of all processors that the server spent in the kernel.
    pub(crate) own_system_share: Option<f64>,
    /// Share of all processors in use, without what runs at a low priority.
    pub(crate) busy_share: Option<f64>,
    /// The server was started anew since the sample before.
    pub(crate) restarted: bool,
    places: Places,
}

#[derive(Debug, Clone, Copy)]
struct Counters {
    at: Millis,
    questions: f64,
    running: f64,
    uptime: Option<f64>,
    refused: Option<f64>,
    rows: Option<f64>,
    writes: Option<f64>,
    /// Of the questions, those of the recorder.
    own: Option<f64>,
}

/// Clients that the server has not greeted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ungreeted {
    pub(crate) clients: f64,
    pub(crate) oldest_ms: f64,
    /// All clients that are connected by TCP are among them.
    pub(crate) are_all: bool,
}

/// Whether a sample at this moment is a look between the regular ones, which are a second apart.
pub(crate) fn is_second_look(last: Millis, at: Millis) -> bool {
    at >= last && at < last.saturating_add(SECOND_LOOK_MS)
}

/// A number that can be calculated with.
pub(crate) fn number(sample: &Sample, name: &str) -> Option<f64> {
    sample.value(name).filter(|value| value.is_finite())
}

/// Processors that a `cpu.max` allows: `QUOTA PERIOD` in microseconds, or `max` (Linux, Documentation/admin-guide/
/// cgroup-v2.rst).
fn quota_cpus(cpu_max: &str) -> Option<f64> {
    let (quota, period) = cpu_max.split_once(' ')?;
    let us = |text: &str| text.trim().parse::<u64>().ok().filter(|us| *us > 0);
    Some(us(quota)? as f64 / us(period)? as f64)
}

/// The sum of those that are there.
fn sum<const N: usize>(values: [Option<f64>; N]) -> Option<f64> {
    let mut known = values.into_iter().flatten().peekable();
    known.peek().is_some().then(|| known.sum())
}

fn median(values: &VecDeque<f64>) -> Option<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().collect();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() / 2).copied()
}

impl View {
    /// Takes a sample; what it brings is new, all else stays as it was.
    pub(crate) fn take(&mut self, sample: &Sample) {
        self.restarted = false;
        let Ok(taken) = &sample.outcome else {
            return;
        };
        for fact in &taken.facts {
            match fact.name.as_str() {
                "variables.max_connections" => {
                    self.max_connections = fact.value.parse().ok().filter(|max: &f64| *max > 0.0);
                }
                "cgroup.cpu_max" => self.quota_cpus = quota_cpus(&fact.value),
                _ => {}
            }
        }
        match sample.source {
            "status" => self.take_status(sample),
            "processlist" => self.take_processlist(sample),
            "connections" => self.take_connections(sample),
            "query-probe" => self.take_probe(sample),
            "stat" => {
                self.cpus = number(sample, "cpu.count").unwrap_or(self.cpus);
                // What runs at a low priority gives way to whoever wants the processor.
                let nice = number(sample, "cpu.nice_share").unwrap_or(0.0);
                self.busy_share = number(sample, "cpu.busy_share").map(|busy| busy - nice);
            }
            "process" => self.take_process(sample),
            "threads" => self.take_threads(sample),
            "connect-probe" => self.take_connect(sample),
            "innodb" | "variables" | "digests" | "compression" | "replica" => {
                self.own += 1.0;
            }
            _ => {}
        }
    }

    fn take_status(&mut self, sample: &Sample) {
        // SHOW GLOBAL STATUS counts itself.
        let own = std::mem::take(&mut self.own) + 1.0;
        let at = sample.at;
        let mut value = |name| self.places.number(sample, name);
        let exact = value("status.Connection_errors_max_connections");
        let Some(questions) = value("status.Questions") else {
            return;
        };
        let now = Counters {
            at,
            questions,
            running: value("status.Threads_running").unwrap_or(0.0),
            uptime: value("status.Uptime"),
            refused: exact.or_else(|| value("status.Aborted_connects")),
            rows: sum(ROW_COUNTERS.map(&mut value)),
            writes: sum(WRITE_COUNTERS.map(&mut value)),
            own: value("recorder.statements"),
        };
        let connected = value("status.Threads_connected");
        self.take_row_waits(sample);
        let before = self.before.replace(now);
        self.work = None;
        self.doors = Doors {
            at,
            since: at,
            connected,
            refused: None,
            is_exact: exact.is_some(),
        };
        let Some(before) = before else {
            return;
        };
        if now.uptime < before.uptime || now.questions < before.questions {
            self.restarted = true;
            self.row_waits.clear();
            self.rows_grown.clear();
            return;
        }
        if at <= before.at {
            return;
        }
        let seconds = (at - before.at) as f64 / 1000.0;
        let grown = |now: Option<f64>, before: Option<f64>| Some((now? - before?).max(0.0));
        // The server counts a statement when it begins: who came and hangs has completed nothing.
        let own = grown(now.own, before.own).unwrap_or(own);
        let begun = now.questions - before.questions - own;
        let completed = begun - (now.running - before.running);
        self.doors.since = before.at;
        self.doors.refused = grown(now.refused, before.refused);
        self.work = Some(Work {
            at,
            since: before.at,
            completions: (completed / seconds).max(0.0),
            rows: grown(now.rows, before.rows).map(|rows| self.of_clients(rows) / seconds),
            writes: grown(now.writes, before.writes).map(|writes| writes / seconds),
        });
    }

    /// The rows between two readings of the status, without those that one such reading takes. A look between two
    /// regular ones would else make a server with nothing to do read rows twice as fast as usual.
    fn of_clients(&mut self, rows: f64) -> f64 {
        self.rows_grown.push_back(rows);
        if self.rows_grown.len() > OWN_ROWS_LOOKS {
            self.rows_grown.pop_front();
        }
        let least = self.rows_grown.iter().copied().fold(OWN_ROWS_MAX, f64::min);
        rows - least
    }

    /// How many transactions have waited for at least two seconds: those that wait now, less all
    /// waits that began since.
    fn take_row_waits(&mut self, sample: &Sample) {
        self.rows_waiting = None;
        let mut value = |name| self.places.number(sample, name);
        let (Some(waiting), Some(begun)) = (
            value("status.Innodb_row_lock_current_waits"),
            value("status.Innodb_row_lock_waits"),
        ) else {
            return;
        };
        let at = sample.at;
        if self
            .row_waits
            .back()
            .is_some_and(|last| last.0 >= at || last.2 > begun)
        {
            self.row_waits.clear();
        }
        self.row_waits.push_back((at, waiting, begun));
        while self
            .row_waits
            .get(1)
            .is_some_and(|next| next.0.saturating_add(ROW_WAIT_MS) <= at)
        {
            self.row_waits.pop_front();
        }
        if let Some((then, _, begun_then)) = self.row_waits.front().copied()
            && then.saturating_add(ROW_WAIT_MS) <= at
        {
            self.rows_waiting = Some((waiting - (begun - begun_then)).max(0.0));
        }
    }

    fn take_processlist(&mut self, sample: &Sample) {
        self.own += 1.0;
        let value = |name| number(sample, name);
        self.has_sessions |= value("processlist.hung").is_some();
        self.crowd = value("processlist.hung").map(|hung| Crowd {
            at: sample.at,
            clients: value("processlist.clients").unwrap_or(0.0),
            in_flight: value("processlist.in_flight").unwrap_or(0.0),
            // A recording of an older version has the one number only.
            in_flight_unusual: value("processlist.in_flight_unusual")
                .or_else(|| value("processlist.in_flight"))
                .unwrap_or(0.0),
            hung,
            oldest_ms: value("processlist.hung_oldest_ms").unwrap_or(0.0),
            hung_workers: value("processlist.hung_workers").unwrap_or(0.0),
            going: value("processlist.going").unwrap_or(0.0),
            finished: value("processlist.finished").unwrap_or(0.0),
            hung_writes: value("processlist.hung_writes").unwrap_or(0.0),
            waiting: value("processlist.waiting").unwrap_or(0.0),
            waiting_long: value("processlist.waiting_2s").unwrap_or(0.0),
            waiting_oldest_ms: value("processlist.waiting_oldest_ms").unwrap_or(0.0),
            short_hung: value("processlist.short_hung_2s").unwrap_or(0.0),
            logging_in: value("processlist.logging_in").unwrap_or(0.0),
            logging_in_oldest_ms: value("processlist.logging_in_oldest_ms").unwrap_or(0.0),
            since_finish_ms: value("processlist.since_finish_ms"),
        });
    }

    /// Clients that wait for the server's first word, by a sample of the kernel's connections.
    pub(crate) fn ungreeted(sample: &Sample) -> Option<Ungreeted> {
        let clients = number(sample, "connections.ungreeted")?;
        Some(Ungreeted {
            clients,
            oldest_ms: number(sample, "connections.ungreeted_oldest_ms")?,
            are_all: number(sample, "connections.established") == Some(clients),
        })
    }

    /// What the kernel says of connections. Without a login it stands for the sessions.
    fn take_connections(&mut self, sample: &Sample) {
        let value = |name| number(sample, name);
        let established = value("connections.established").filter(|clients| *clients > 0.0);
        self.wire = established.map(|clients| Crowd {
            at: sample.at,
            clients,
            in_flight: value("connections.waiting").unwrap_or(0.0),
            in_flight_unusual: value("connections.waiting").unwrap_or(0.0),
            hung: value("connections.hung").unwrap_or(0.0),
            oldest_ms: value("connections.hung_oldest_ms").unwrap_or(0.0),
            hung_workers: value("connections.hung_workers").unwrap_or(0.0),
            going: value("connections.going").unwrap_or(0.0),
            finished: value("connections.answered").unwrap_or(0.0),
            since_finish_ms: value("connections.since_answer_ms"),
            hung_writes: 0.0,
            waiting: 0.0,
            waiting_long: 0.0,
            waiting_oldest_ms: 0.0,
            short_hung: 0.0,
            logging_in: 0.0,
            logging_in_oldest_ms: 0.0,
        });
        if !self.has_sessions {
            self.crowd = self.wire;
        }
    }

    /// Whether a sample is the one that told of the sessions of now.
    pub(crate) fn is_of_crowd(&self, sample: &Sample) -> bool {
        matches!(sample.source, "processlist" | "connections")
            && self.crowd.is_some_and(|crowd| crowd.at == sample.at)
    }

    fn take_probe(&mut self, sample: &Sample) {
        self.own += 1.0;
        let outcome = number(sample, "probe.query_outcome").and_then(ProbeOutcome::from_code);
        if let (Some(ProbeOutcome::Ok), Some(us)) = (outcome, number(sample, "probe.query_us")) {
            self.probes_us.push_back(us);
            if self.probes_us.len() > PROBES_KEPT {
                self.probes_us.pop_front();
            }
        }
    }

    fn take_connect(&mut self, sample: &Sample) {
        self.own += 1.0;
        let outcome = number(sample, "probe.connect_outcome").and_then(ProbeOutcome::from_code);
        if let (Some(ProbeOutcome::Ok), Some(us)) = (outcome, number(sample, "probe.connect_us")) {
            self.connects_us.push_back(us);
            if self.connects_us.len() > CONNECTS_KEPT {
                self.connects_us.pop_front();
            }
        }
    }

    fn take_process(&mut self, sample: &Sample) {
        let ticks = number(sample, "process.system_ticks");
        let all = number(sample, "process.user_ticks").unwrap_or(0.0) + ticks.unwrap_or(0.0);
        let before = self.process_ticks;
        self.process_ticks = ticks.map(|ticks| (sample.at, ticks, all));
        self.own_system_share = None;
        self.own_cpus = None;
        if let (Some(ticks), Some((since, old, all_old))) = (ticks, before)
            && sample.at > since
            && ticks >= old
            && self.cpus >= 1.0
        {
            let seconds = (sample.at - since) as f64 / 1000.0;
            self.own_system_share = Some((ticks - old) / TICKS_A_SECOND / seconds / self.cpus);
            self.own_cpus = Some((all - all_old).max(0.0) / TICKS_A_SECOND / seconds);
        }
    }

    fn take_threads(&mut self, sample: &Sample) {
        let [last, _] = self.queues;
        let queue = || {
            Some(Queue {
                at: sample.at,
                since: last.map_or(sample.at, |last| last.at),
                on_cpu: number(sample, "threads.on_cpu")?,
                waiting: number(sample, "threads.queued")?,
            })
        };
        self.queues = [queue(), last];
    }

    /// Share in use of the processors that the server may have: of the host's, or of its own quota where that is nearer to
    /// its end. A container with a part of a processor has used it up while the host idles.
    pub(crate) fn used_share(&self) -> Option<f64> {
        let own = self.own_cpus.zip(self.quota_cpus);
        let of_quota = own.map(|(own, quota)| own / quota);
        let host = self.busy_share?;
        Some(of_quota.map_or(host, |share| share.max(host)))
    }

    /// Share of all processors that the server used in the last second.
    pub(crate) fn own_share(&self) -> Option<f64> {
        self.own_cpus.map(|own| own / self.cpus)
    }

    /// The last reading of the run queue, of just now.
    pub(crate) fn last_queue_at(&self, now: Millis) -> Option<Queue> {
        self.queues[0].filter(|queue| queue.at.saturating_add(FRESH_MS) > now)
    }

    /// The run queue of just now: of two readings the one that waits less, for one second is a moment. A large server's
    /// threads are read more seldom, and each reading is of a longer time.
    pub(crate) fn queue_at(&self, now: Millis) -> Option<Queue> {
        let [_, before] = self.queues;
        let last = self.last_queue_at(now)?;
        if last.at >= last.since.saturating_add(QUEUE_COVERS_MS) {
            return Some(last);
        }
        let before = before.filter(|before| before.at == last.since)?;
        Some(match before.stretch() < last.stretch() {
            true => before,
            false => last,
        })
    }

    /// How long the last probes took, the median, microseconds.
    pub(crate) fn answer_us(&self) -> Option<f64> {
        median(&self.probes_us)
    }

    /// The same, the mean of them.
    pub(crate) fn mean_answer_us(&self) -> Option<f64> {
        let count = self.probes_us.len() as f64;
        (count > 0.0).then(|| self.probes_us.iter().sum::<f64>() / count)
    }

    /// The same of new connections.
    pub(crate) fn connect_us(&self) -> Option<f64> {
        median(&self.connects_us)
    }

    /// The work of just now.
    pub(crate) fn work_at(&self, now: Millis) -> Option<Work> {
        self.work
            .filter(|work| work.at.saturating_add(FRESH_MS) > now)
    }

    /// Somebody is known to wait for somebody else.
    pub(crate) fn waits(&self, now: Millis) -> bool {
        self.crowd_at(now).is_some_and(|crowd| crowd.waiting > 0.0)
            || self.rows_waiting.is_some_and(|rows| rows > 0.0)
    }

    /// The sessions of just now.
    pub(crate) fn crowd_at(&self, now: Millis) -> Option<Crowd> {
        self.crowd
            .filter(|crowd| crowd.at.saturating_add(FRESH_MS) > now)
    }

    /// The clients of just now: by the sessions, or, while nobody is told of them, by what the kernel says of connections.
    pub(crate) fn clients_at(&self, now: Millis) -> Option<Crowd> {
        let is_fresh = |crowd: &Crowd| crowd.at.saturating_add(FRESH_MS) > now;
        self.crowd_at(now).or(self.wire.filter(is_fresh))
    }

    /// Time that went back or far ahead: nothing that is known is of now.
    pub(crate) fn restart(&mut self) {
        *self = Self {
            max_connections: self.max_connections,
            cpus: self.cpus,
            quota_cpus: self.quota_cpus,
            ..Self::default()
        };
    }
}
