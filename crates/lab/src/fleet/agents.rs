//! Thousands of recorders that send through a gateway, each once a minute: what the gateway takes, how long a recorder
//! waits, and whether each row is in the store in the end.
//!
//! **Recorders are threads here**: what is measured is the gateway. Each batch is made anew and goes over a connection of
//! its own with the token of its host, as real ones do.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use cli::output;
use fleet::any_store::Access;
use fleet::clickhouse::{Address, Layout, Store, Then};
use fleet::from_incident::host_id;
use fleet::gateway::Gateway as Client;
use fleet::{Batch, Token};
use rusqlite::{Connection, OpenFlags};
use serde_json::json;

use super::plan::{Plan, Server, Size};
use super::templates::Template;
use super::{DevelopmentServer, Gateway, ask, longest_mebibytes_of, plan, rows, templates};
use crate::args::FleetAgents;
use crate::chance::Chance;

/// How long the store may take for what the gateway has when all is sent.
const PATIENCE: Duration = Duration::from_secs(900);

/// How long a recorder tries to send one batch.
const TRIES: Duration = Duration::from_secs(120);
const PAUSE: Duration = Duration::from_millis(500);

/// What the senders found.
#[derive(Default)]
struct Sent {
    next: AtomicUsize,
    rows: AtomicU64,
    again: AtomicU64,
    /// How long each batch waited to be acknowledged, and how late it was begun, milliseconds.
    waits: Mutex<Vec<(f64, f64)>>,
    failed: Mutex<Option<String>>,
}

/// Who sends.
struct Senders<'a> {
    plan: &'a Plan,
    templates: &'a [Template],
    salt: &'a [u8],
    seed: u64,
    /// The first minute that is sent, seconds since 1970.
    minute: i64,
    minutes: usize,
    every: Duration,
    url: String,
    begin: Instant,
    sent: Sent,
}

pub(crate) fn run(args: &FleetAgents) -> Result<ExitCode> {
    let dir = tempfile::tempdir()?;
    let salt = [7; 32];
    std::fs::write(dir.path().join("salt"), salt)?;
    let server = match args.server {
        true => {
            Some(DevelopmentServer::start()?.context("scripts/fleet-server fetch was not done")?)
        }
        false => None,
    };
    let file = dir.path().join("fleet.db");
    let url = match &server {
        Some(server) => server.url(),
        None => format!("sqlite://{}", file.display()),
    };
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let now = i64::try_from(now.as_secs())?;
    if server.is_some() {
        let store = Store::at(Address::parse(&url)?);
        store.init(&Layout::Single, now, env!("CARGO_PKG_VERSION"))?;
    }
    let templates = templates::read(&args.frames, args.signals, &salt, args.seed)?;
    let truths: Vec<&str> = templates.iter().map(|one| one.truth.as_str()).collect();
    let size = Size {
        hosts: args.agents as usize,
        incidents: 0,
        from_ms: (now - 86_400) * 1000,
        to_ms: now * 1000,
    };
    let plan = plan::plan(args.seed, size, &truths);
    let names = plan.servers.iter().map(|server| server.name.as_str());
    Gateway::let_send(dir.path(), names.map(|name| (name, token(name))))?;
    let gateway = Gateway::start(dir.path(), &url)?;
    let process = gateway.process().context("the gateway has no process")?;
    let minutes = args.minutes as usize;
    let senders = Senders {
        plan: &plan,
        templates: &templates,
        salt: &salt,
        seed: args.seed,
        minute: now - now.rem_euclid(60) - i64::from(args.minutes) * 60,
        minutes,
        every: args.every,
        url: gateway.url(),
        begin: Instant::now(),
        sent: Sent::default(),
    };
    std::thread::scope(|scope| {
        for _ in 0..args.at_once {
            scope.spawn(|| senders.send());
        }
    });
    let took = senders.begin.elapsed();
    if let Some(why) = senders.sent.failed.lock().ok().and_then(|why| why.clone()) {
        bail!("{why}");
    }
    let cpu_ms = ask::cpu_ms(process).unwrap_or_default();
    let mebibytes = longest_mebibytes_of(process);
    gateway.wait_until_stored(PATIENCE)?;
    let stored_after = senders.begin.elapsed();
    let wanted = senders.sent.rows.load(Ordering::Relaxed);
    let found = match &server {
        Some(_) => of_server(&url)?,
        None => of_file(&file)?,
    };
    let mut waits = senders.sent.waits.into_inner().unwrap_or_default();
    waits.sort_by(|a, b| a.0.total_cmp(&b.0));
    let wait = |share: f64| {
        let place = ((waits.len() as f64 * share) as usize).min(waits.len().saturating_sub(1));
        waits.get(place).map_or(0.0, |wait| wait.0)
    };
    let late = waits.iter().map(|wait| wait.1).fold(0.0, f64::max);
    let core = cpu_ms / 10.0 / took.as_secs_f64();
    let batches = waits.len();
    if args.json {
        output::print_json(&json!({
            "agents": args.agents, "minutes": args.minutes, "batches": batches, "rows": wanted,
            "rows_in_store": found, "seconds": took.as_secs_f64(), "stored_after_seconds": stored_after.as_secs_f64(),
            "wait_ms": {"median": wait(0.5), "p99": wait(0.99), "longest": wait(1.0)}, "late_ms": late,
            "sent_again": senders.sent.again.load(Ordering::Relaxed),
            "gateway": {"cpu_percent_of_a_core": core, "mebibytes": mebibytes},
        }))?;
    } else {
        for (what, value) in [
            (
                "recorders",
                format!(
                    "{}, {batches} batches in {:.0} s",
                    args.agents,
                    took.as_secs_f64()
                ),
            ),
            (
                "rows in the store",
                format!(
                    "{found} of {wanted}, {:.0} s after the begin",
                    stored_after.as_secs_f64()
                ),
            ),
            (
                "acknowledged after",
                format!(
                    "{:.1} ms in the median, 99 % {:.1} ms, longest {:.0} ms",
                    wait(0.5),
                    wait(0.99),
                    wait(1.0)
                ),
            ),
            (
                "begun too late by",
                format!("{late:.0} ms at the most (this process has the processors, too)"),
            ),
            (
                "sent again",
                senders.sent.again.load(Ordering::Relaxed).to_string(),
            ),
            (
                "the gateway",
                format!("{core:.0} % of a core, {mebibytes:.0} MiB at the most"),
            ),
        ] {
            output::print(&format!("{what:<20} {value}"))?;
        }
    }
    Ok(match found == wanted {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(3),
    })
}

fn token(name: &str) -> String {
    format!("ffg_simulated-{name}")
}

impl Senders<'_> {
    /// One of those that send at once: takes the next batch, waits for its moment, sends it until it is acknowledged.
    fn send(&self) {
        let hosts = self.plan.servers.len();
        loop {
            let number = self.sent.next.fetch_add(1, Ordering::Relaxed);
            let (round, place) = (number / hosts, number % hosts);
            let Some(server) = self
                .plan
                .servers
                .get(place)
                .filter(|_| round < self.minutes)
            else {
                return;
            };
            let due = self
                .every
                .mul_f64(round as f64 + place as f64 / hosts as f64);
            std::thread::sleep(due.saturating_sub(self.begin.elapsed()));
            let late = self.begin.elapsed().saturating_sub(due);
            match self.send_one(server, place, round) {
                Ok(wait) => {
                    if let Ok(mut waits) = self.sent.waits.lock() {
                        waits.push((wait.as_secs_f64() * 1e3, late.as_secs_f64() * 1e3));
                    }
                }
                Err(error) => {
                    if let Ok(mut failed) = self.sent.failed.lock() {
                        *failed = Some(format!("{}: {error:#}", server.name));
                    }
                    return;
                }
            }
        }
    }

    fn send_one(&self, server: &Server, place: usize, round: usize) -> Result<Duration> {
        let minute = self.minute + i64::try_from(round)? * 60;
        let template = self.templates.get(server.calm).context("no template")?;
        let mut chance = Chance::of(&[self.seed, 6, place as u64, round as u64]);
        let (host, health, signals) =
            rows::minute(server, template, self.salt, minute, &mut chance);
        let mut batch = Batch::new(Token {
            host_id: host_id(self.salt, &host.host, "").0,
            boot: 1,
            seq: minute.unsigned_abs(),
        });
        batch.push(&host);
        batch.push(&health);
        batch.extend(&signals);
        let client = Client::parse(&self.url)?.with_access(Access {
            password: Some(token(&host.host)),
            ca_file: None,
        });
        let begin = Instant::now();
        while let Err(failure) = client.insert(&batch) {
            if matches!(failure.then, Then::Stop | Then::Leave) || begin.elapsed() > TRIES {
                return Err(failure.into());
            }
            self.sent.again.fetch_add(1, Ordering::Relaxed);
            std::thread::sleep(PAUSE);
        }
        self.sent
            .rows
            .fetch_add(1 + signals.len() as u64, Ordering::Relaxed);
        Ok(begin.elapsed())
    }
}

/// Minutes of signals and signs of life: each has a key of its own.
const TABLES: [&str; 2] = ["signals", "recorder_health"];

fn of_file(path: &Path) -> Result<u64> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let mut all = 0;
    for table in TABLES {
        let sql = format!("SELECT count(*) FROM {table}");
        all += connection
            .query_row(&sql, [], |row| row.get::<_, i64>(0))?
            .unsigned_abs();
    }
    Ok(all)
}

fn of_server(url: &str) -> Result<u64> {
    let store = Store::at(Address::parse(url)?);
    let mut all = 0;
    for table in TABLES {
        let sql = format!("SELECT count() FROM {table} FINAL");
        let answer = store.answer(&sql, PATIENCE)?;
        all += answer
            .trim()
            .parse::<u64>()
            .with_context(|| answer.clone())?;
    }
    Ok(all)
}
