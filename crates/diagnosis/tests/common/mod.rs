//! Builds incidents from what a server did before and during a stall.
#![allow(dead_code, reason = "an example uses a part of it")]
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy does not see that all of this is test code"
)]

pub mod deep;
pub mod deep_stalls;
pub mod stalls;

use std::collections::BTreeMap;

use deep::{Asked, Deep, Lock, Samples, Threads};
use diagnosis::{Catalogue, Finding, Level, Verdict, diagnose};
use model::{
    Absent, Fact, Incident, ProcessList, Reading, Reason, SemaphoreWait, SignalKind, Stall,
    TextKind, TimedAbsent, TimedFact, TimedText, Timeline, Trigger, Unit, Window,
};

/// Sources that are read every ten seconds; all others every second.
const SLOW: [&str; 2] = ["innodb", "sessions"];

#[derive(Clone, Copy)]
struct Signal {
    kind: SignalKind,
    before: f64,
    during: f64,
}

/// Busy sessions at a time: statement class, state, user, how many.
pub type Busy = (&'static str, &'static str, &'static str, u64);

/// What happened.
#[derive(Clone)]
pub struct Story {
    pub onset_s: u64,
    pub end_s: Option<u64>,
    pub to_s: u64,
    /// Another stall before, with the same signals and sessions.
    pub earlier_s: Option<(u64, u64)>,
    /// The record knows of it.
    pub knows_earlier: bool,
    signals: BTreeMap<String, Signal>,
    odd: Vec<(&'static str, u64, f64)>,
    facts: BTreeMap<String, String>,
    busy_before: Vec<Busy>,
    busy_during: Vec<Busy>,
    absent: Vec<Absent>,
    processlists: bool,
    silent: Vec<&'static str>,
    texts: Vec<TimedText>,
    innodb_status: bool,
    deep: Deep,
}

impl Story {
    /// A server with ordinary traffic; what happens from second 60 to 75 is ordinary, too.
    pub fn healthy() -> Self {
        let mut story = Self {
            onset_s: 60,
            end_s: Some(75),
            to_s: 90,
            earlier_s: None,
            knows_earlier: true,
            signals: BTreeMap::new(),
            odd: Vec::new(),
            facts: BTreeMap::new(),
            busy_before: vec![
                ("select", "Sending data", "app", 3),
                ("commit", "Commit", "app", 1),
            ],
            busy_during: vec![
                ("select", "Sending data", "app", 3),
                ("commit", "Commit", "app", 1),
            ],
            absent: Vec::new(),
            processlists: true,
            silent: Vec::new(),
            texts: Vec::new(),
            innodb_status: true,
            deep: Deep::healthy(),
        };
        for (name, rate) in [
            ("status.Questions", 4_000.0),
            ("status.Com_commit", 800.0),
            ("status.Com_insert", 400.0),
            ("status.Com_update", 400.0),
            ("status.Com_flush", 0.0),
            ("status.Opened_tables", 0.1),
            ("status.Table_open_cache_overflows", 0.0),
            ("status.Created_tmp_disk_tables", 2.0),
            ("status.Sort_merge_passes", 0.0),
            ("status.Binlog_cache_disk_use", 0.0),
            ("status.Ssl_finished_accepts", 1.0),
            ("status.Innodb_buffer_pool_pages_flushed", 50.0),
            ("cpu.context_switches", 9_000.0),
            ("vmstat.allocstall_normal", 0.0),
            ("error_log.lines", 0.0),
            ("kernel_log.lines", 0.0),
            ("status.Handler_read_rnd_next", 40_000.0),
            ("status.Innodb_rows_read", 60_000.0),
            ("status.Innodb_rows_inserted", 400.0),
            ("status.Innodb_rows_updated", 400.0),
            ("status.Innodb_rows_deleted", 10.0),
            ("disk.sda.discards", 0.0),
            ("disk.sda.read_ms", 20.0),
            ("psi.memory.full_us", 0.0),
            ("vmstat.pgscan_direct", 0.0),
            ("psi.cpu.some_us", 60_000.0),
            ("process.major_faults", 0.0),
            ("disk.sda.write_bytes", 4e6),
            ("threads.by_name.mysqld.wait_ns", 1e7),
            ("status.Com_show_warnings", 10.0),
            ("status.Bytes_sent", 4_000_000.0),
            ("status.Sort_scan", 20.0),
            ("status.Sort_range", 20.0),
            ("status.Select_full_join", 1.0),
            ("status.Connections", 20.0),
            ("status.Threads_created", 0.1),
            ("status.Connection_errors_max_connections", 0.0),
            ("status.Innodb_buffer_pool_reads", 20.0),
            ("status.Innodb_buffer_pool_read_requests", 400_000.0),
            ("status.Innodb_buffer_pool_wait_free", 0.0),
            ("status.Innodb_data_fsyncs", 300.0),
            ("process.user_ticks", 60.0),
            ("process.system_ticks", 20.0),
            ("process.minor_faults", 200.0),
            ("vmstat.compact_stall", 0.0),
            ("vmstat.compact_migrate_scanned", 100.0),
            ("vmstat.compact_free_scanned", 100.0),
            ("vmstat.thp_fault_fallback", 0.0),
            ("vmstat.pswpin", 0.0),
            ("vmstat.pswpout", 0.0),
            ("psi.memory.some_us", 0.0),
            ("psi.io.some_us", 20_000.0),
            ("psi.io.full_us", 5_000.0),
            ("disk.sda.reads", 30.0),
            ("disk.sda.writes", 300.0),
            ("disk.sda.write_ms", 300.0),
            ("disk.sda.busy_ms", 150.0),
            ("disk.sda.flushes", 100.0),
            ("disk.sda.flush_ms", 200.0),
            ("net.listen_overflows", 0.0),
            ("packets.statements", 0.0),
            ("packets.show_warnings", 0.0),
            ("packets.bytes", 0.0),
            ("packets.compressed_bytes", 0.0),
        ] {
            story = story.rate(name, rate, rate);
        }
        for (name, level) in [
            ("status.Threads_running", 4.0),
            ("status.Open_tables", 200.0),
            ("cpu.steal_share", 0.0),
            ("process.resident_bytes", 3e8),
            ("meminfo.AnonHugePages", 1e8),
            ("status.Uptime", 90_000.0),
            ("status.Open_files", 100.0),
            ("status.Innodb_buffer_pool_pages_dirty", 300.0),
            ("meminfo.Dirty", 2e7),
            ("meminfo.Writeback", 0.0),
            ("threads.running", 1.0),
            ("process.swap_bytes", 0.0),
            ("recorder.late_ms", 1.0),
            ("innodb.semaphore_waits", 0.0),
            ("innodb.queries_in_queue", 0.0),
            ("innodb.history_list_length", 30.0),
            ("innodb.prepared_transactions", 1.0),
            ("innodb.lock_structs", 4.0),
            ("innodb.checkpoint_age_bytes", 30e6),
            ("innodb.checkpoint_age_max_bytes", 80e6),
            ("status.Threads_connected", 60.0),
            ("status.Innodb_data_pending_fsyncs", 0.3),
            ("status.Innodb_row_lock_current_waits", 0.0),
            ("status.Innodb_buffer_pool_pages_free", 100.0),
            ("status.Innodb_buffer_pool_pages_total", 8_192.0),
            ("status.Innodb_checkpoint_age", 30_000_000.0),
            ("status.Innodb_checkpoint_max_age", 80_000_000.0),
            ("cpu.system_share", 0.1),
            ("cpu.busy_share", 0.35),
            ("cpu.nice_share", 0.0),
            ("cpu.iowait_share", 0.02),
            ("buddyinfo.order_9_free_blocks", 400.0),
            ("buddyinfo.order_10_free_blocks", 200.0),
            ("disk.sda.in_flight", 1.0),
            ("accept_queue.tcp.length", 0.0),
            ("accept_queue.tcp.limit", 128.0),
            ("accept_queue.unix.length", 0.0),
            ("accept_queue.unix.limit", 128.0),
            ("threads.uninterruptible", 0.2),
            ("processlist.sessions", 60.0),
            ("probe.connect_us", 900.0),
            ("probe.connect_outcome", 0.0),
            ("probe.query_us", 300.0),
            ("probe.query_outcome", 0.0),
            ("innodb.lock_wait_transactions", 0.0),
            ("innodb.lock_wait_seconds_max", 0.0),
            ("innodb.active_seconds_max", 0.0),
            ("innodb.pending_log_flushes", 0.0),
            ("sessions.compressed", 0.0),
            ("sessions.counted", 60.0),
            ("clock.wall_offset_ms", 0.0),
            ("packets.connections", 0.0),
            ("packets.compressed_connections", 0.0),
        ] {
            story = story.level(name, level, level);
        }
        for (name, value) in [
            ("variables.max_connections", "151"),
            ("variables.open_files_limit", "32000"),
            ("variables.innodb_io_capacity", "2000"),
            ("variables.version", "10.11.6-MariaDB"),
            ("variables.innodb_adaptive_hash_index", "ON"),
            ("variables.innodb_autoinc_lock_mode", "1"),
            ("variables.innodb_thread_concurrency", "0"),
            ("variables.innodb_deadlock_detect", "ON"),
            ("variables.query_cache_size", "1048576"),
            ("variables.query_cache_type", "ON"),
            ("variables.table_open_cache", "2000"),
            ("variables.time_zone", "SYSTEM"),
            ("variables.skip_name_resolve", "OFF"),
            ("variables.general_log", "OFF"),
            ("variables.innodb_spin_wait_delay", "4"),
            ("server.allocator", "glibc"),
            ("host.cpus", "4"),
            ("sysctl.vm.swappiness", "60"),
            ("sysctl.vm.min_free_kbytes", "67584"),
            ("sysctl.net.core.somaxconn", "4096"),
            ("variables.have_compress", "YES"),
            (
                "variables.protocol_compression_algorithms",
                "zlib,zstd,uncompressed",
            ),
            ("variables.innodb_buffer_pool_size", "134217728"),
            ("host.memory_bytes", "8589934592"),
            ("thp.enabled", "always"),
            ("thp.server", "1"),
            ("packets.show_warnings.senders", ""),
        ] {
            story = story.fact(name, value);
        }
        story
    }

    /// A counter, by its growth a second before and during the stall.
    pub fn rate(self, name: &str, before: f64, during: f64) -> Self {
        self.signal(name, SignalKind::Counter, before, during)
    }

    /// A level before and during the stall.
    pub fn level(self, name: &str, before: f64, during: f64) -> Self {
        self.signal(name, SignalKind::Gauge, before, during)
    }

    /// One reading of a level that differs from those around it.
    pub fn once(mut self, name: &'static str, second: u64, value: f64) -> Self {
        self.odd.push((name, second, value));
        self
    }

    fn signal(mut self, name: &str, kind: SignalKind, before: f64, during: f64) -> Self {
        let signal = Signal {
            kind,
            before,
            during,
        };
        self.signals.insert(name.to_owned(), signal);
        self
    }

    /// A setting.
    pub fn fact(mut self, name: &str, value: &str) -> Self {
        self.facts.insert(name.to_owned(), value.to_owned());
        self
    }

    /// The busy sessions of the stall.
    pub fn busy(mut self, during: &[Busy]) -> Self {
        self.busy_during = during.to_vec();
        self
    }

    /// The busy sessions before the stall.
    pub fn busy_before(mut self, before: &[Busy]) -> Self {
        self.busy_before = before.to_vec();
        self
    }

    /// Where the threads stood in the stall, beside those that wait for their clients.
    pub fn threads(mut self, during: &[Threads]) -> Self {
        self.deep.threads_during = Deep::healthy().threads_before;
        self.deep.threads_during.extend_from_slice(during);
        self
    }

    /// What the processors ran for the server in the stall, beside the usual.
    pub fn samples(mut self, during: &[Samples]) -> Self {
        self.deep.samples_during = Deep::healthy().samples_before;
        self.deep.samples_during.extend_from_slice(during);
        self
    }

    /// The locks that threads waited for in the stall, and the chains between them.
    pub fn locks(mut self, locks: &[Lock], chains: &[&[usize]]) -> Self {
        self.deep.locks = locks.to_vec();
        self.deep.chains = chains.iter().map(|chain| chain.to_vec()).collect();
        self
    }

    /// What the server was asked.
    pub fn asked(mut self, asked: &[Asked]) -> Self {
        self.deep.asked = asked.to_vec();
        self
    }

    /// No snapshots of the threads were taken, and no samples.
    pub fn without_stacks(mut self) -> Self {
        self.deep = Deep {
            no_stacks: true,
            no_profile: true,
            ..Deep::default()
        };
        self
    }

    /// Nothing whose name begins so was recorded.
    pub fn without(mut self, prefix: &str, reason: Reason) -> Self {
        let keep = |name: &String| !name.starts_with(prefix);
        self.signals.retain(|name, _| keep(name));
        self.facts.retain(|name, _| keep(name));
        if prefix.starts_with("processlist") {
            self.processlists = false;
        }
        if prefix.starts_with("innodb") {
            self.innodb_status = false;
        }
        let what = prefix.trim_end_matches('.');
        self.absent
            .push(Absent::new(what, reason, format!("{what} was asked for")));
        self
    }

    /// This source brought nothing from the third second of the stall until its end: its reading
    /// hung with the server.
    pub fn silent(mut self, source: &'static str) -> Self {
        self.silent.push(source);
        self
    }

    fn is_silent(&self, source: &str, second: u64) -> bool {
        self.silent.contains(&source)
            && second > self.onset_s + 2
            && self.end_s.is_none_or(|end| second < end)
    }

    /// A text that was taken at a second, such as new lines of a log.
    pub fn text(mut self, second: u64, kind: TextKind, body: &str) -> Self {
        self.texts.push(TimedText {
            at: second * 1000,
            text: server_text::stored(kind, body),
        });
        self
    }

    /// Waits for InnoDB's latches that one status lists.
    pub fn semaphores(self, second: u64, waits: &[SemaphoreWait]) -> Self {
        let body = serde_json::to_string(waits).unwrap();
        self.text(second, TextKind::Semaphores, &body)
    }

    /// Lines that the server logged in the stall, of a log that is followed.
    pub fn error_log(self, during: &[&str]) -> Self {
        self.log("error_log.lines", TextKind::ErrorLog, during)
    }

    /// The same of the kernel.
    pub fn kernel_log(self, during: &[&str]) -> Self {
        self.log("kernel_log.lines", TextKind::KernelLog, during)
    }

    fn log(self, signal: &str, kind: TextKind, during: &[&str]) -> Self {
        let story = self.rate(signal, 0.0, during.len() as f64);
        match during {
            [] => story,
            lines => {
                let second = story.onset_s + 2;
                story.text(second, kind, &lines.join("\n"))
            }
        }
    }

    /// The same everywhere: what was the stall's is the time before's, too.
    pub fn unchanged(mut self) -> Self {
        for signal in self.signals.values_mut() {
            signal.before = signal.during;
        }
        self.busy_before = self.busy_during.clone();
        self.deep.threads_before = self.deep.threads_during.clone();
        self.deep.samples_before = self.deep.samples_during.clone();
        for asked in &mut self.deep.asked {
            asked.before = asked.during;
        }
        self
    }

    fn stalls_at(&self, second: u64) -> bool {
        let earlier = self
            .earlier_s
            .is_some_and(|(from, to)| second > from && second <= to);
        earlier || second > self.onset_s && self.end_s.is_none_or(|end| second <= end)
    }

    /// The incident.
    pub fn build(&self) -> Incident {
        Incident {
            id: "3306-20260102T030405".to_owned(),
            host: "db1".to_owned(),
            tool_version: "0.1.0".to_owned(),
            stall: Stall {
                earlier: self
                    .earlier_s
                    .filter(|_| self.knows_earlier)
                    .map(|(from, to)| Window {
                        from: from * 1000,
                        to: to * 1000,
                    })
                    .into_iter()
                    .collect(),
                onset: self.onset_s * 1000,
                trigger: (self.onset_s + 3) * 1000,
                end: self.end_s.map(|end| end * 1000),
                triggers: vec![Trigger {
                    rule: "query-probe".to_owned(),
                    says: "SELECT 1 took 3.2 s, the limit is 1 s".to_owned(),
                }],
            },
            window: Window {
                from: 0,
                to: self.to_s * 1000,
            },
            timeline: self.timeline(),
            texts: self.texts(),
            stacks: self
                .deep
                .evidence(self.onset_s, self.end_s.unwrap_or(self.to_s), self.to_s),
            queries: self
                .deep
                .queries(self.onset_s, self.end_s.unwrap_or(self.to_s)),
            facts: self
                .facts
                .iter()
                .map(|(name, value)| TimedFact {
                    at: 0,
                    fact: Fact::new(name.clone(), value.clone()),
                })
                .collect(),
            absent: self
                .absent
                .iter()
                .map(|absent| TimedAbsent {
                    first: 0,
                    last: self.to_s * 1000,
                    count: self.to_s,
                    absent: absent.clone(),
                })
                .collect(),
            ..Incident::default()
        }
    }

    fn timeline(&self) -> Timeline {
        let mut timeline = Timeline::default();
        let mut counters: BTreeMap<&str, f64> = BTreeMap::new();
        for second in 0..=self.to_s {
            let mut by_source: BTreeMap<&str, Vec<Reading>> = BTreeMap::new();
            for (name, signal) in &self.signals {
                let source = name.split('.').next().unwrap();
                let now = if self.stalls_at(second) {
                    signal.during
                } else {
                    signal.before
                };
                let mut odd = self.odd.iter();
                let odd = odd.find(|(one, at, _)| one == name && *at == second);
                let value = match signal.kind {
                    SignalKind::Gauge => odd.map_or(now, |(_, _, value)| *value),
                    SignalKind::Counter => {
                        let counter = counters.entry(name).or_insert(1e6);
                        *counter += now;
                        *counter
                    }
                };
                let trigger = second == self.onset_s + 3;
                let skipped = SLOW.contains(&source) && !second.is_multiple_of(10) && !trigger;
                if skipped || self.is_silent(source, second) {
                    continue;
                }
                let reading = match signal.kind {
                    SignalKind::Gauge => Reading::gauge(name.clone(), Unit::Count, value),
                    SignalKind::Counter => Reading::counter(name.clone(), Unit::Count, value),
                };
                by_source.entry(source).or_default().push(reading);
            }
            for (source, readings) in by_source {
                timeline.push_readings(source, second * 1000, &readings);
            }
        }
        timeline
    }

    fn texts(&self) -> Vec<TimedText> {
        let mut texts = self.texts.clone();
        if self.processlists {
            texts.extend(self.processlists());
        }
        if self.innodb_status {
            for (kind, body) in [
                (TextKind::Semaphores, "[]"),
                (TextKind::InnodbStatus, "END OF INNODB MONITOR OUTPUT"),
            ] {
                let body = body.to_owned();
                let at = (self.onset_s + 3) * 1000;
                let is_there = texts.iter().any(|timed| timed.text.kind() == kind);
                let text = server_text::stored(kind, &body);
                texts.extend((!is_there).then_some(TimedText { at, text }));
            }
        }
        texts.sort_by_key(|timed| timed.at);
        texts
    }

    fn processlists(&self) -> Vec<TimedText> {
        (0..=self.to_s)
            .map(|second| {
                let busy = if self.stalls_at(second) {
                    &self.busy_during
                } else {
                    &self.busy_before
                };
                let mut list = ProcessList {
                    sessions: 60,
                    ..ProcessList::default()
                };
                for (class, state, user, count) in busy {
                    *list.by_class.entry((*class).to_owned()).or_default() += count;
                    *list.by_state.entry((*state).to_owned()).or_default() += count;
                    *list.by_user.entry((*user).to_owned()).or_default() += count;
                    *list.by_command.entry("Query".to_owned()).or_default() += count;
                }
                TimedText {
                    at: second * 1000,
                    text: server_text::stored(
                        TextKind::Processlist,
                        &serde_json::to_string(&list).unwrap(),
                    ),
                }
            })
            .collect()
    }

    /// The verdict of the built-in catalogue.
    pub fn verdict(&self) -> Verdict {
        diagnose(&self.build(), Catalogue::builtin())
    }
}

/// The ids and levels of all findings, in order.
pub fn named(verdict: &Verdict) -> Vec<(&str, Level)> {
    verdict
        .findings
        .iter()
        .chain(&verdict.folded)
        .map(|finding| (finding.cause.as_str(), finding.level))
        .collect()
}

/// The finding of a cause.
pub fn finding<'v>(verdict: &'v Verdict, cause: &str) -> &'v Finding {
    verdict
        .findings
        .iter()
        .chain(&verdict.folded)
        .find(|finding| finding.cause == cause)
        .unwrap_or_else(|| panic!("{cause} is not among the findings: {}", verdict.sentence))
}
