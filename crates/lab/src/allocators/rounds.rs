//! The same work under one allocator after the other, several rounds in turn.

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use cli::output;
use serde::Serialize;
use testbed::{Allocator, Churn, Load, PrivateServer, ServerKind, at_once};

/// How many analytic queries at a time.
pub(super) const AT_A_TIME: [usize; 3] = [1, 2, 4];

/// 80,000 rows, for each of which 32 blocks are allocated and freed.
pub(super) const QUERY: &str = "SELECT SUM(freezeframe_churn(a.id * 8 + b.id, 32)) \
     FROM freezeframe_lab.t a JOIN freezeframe_lab.t b ON b.id <= 8";

/// How often each session says it.
pub(super) const TIMES: usize = 6;

/// Clients of small transactions, and for how long.
pub(super) const CLIENTS: usize = 32;
pub(super) const TRANSACTIONS: Duration = Duration::from_secs(3);

/// Its first second is not counted: tables, caches and arenas are made then.
const WARM_UP: Duration = Duration::from_secs(1);

/// More than any statement takes, under any allocator.
const TIMEOUT: Duration = Duration::from_secs(60);

/// What one allocator did in one round.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Reading {
    pub(super) round: u32,
    /// Until all were done, in seconds, for each of [`AT_A_TIME`].
    pub(super) query_seconds: [f64; 3],
    /// Small transactions a second.
    pub(super) transactions_per_second: f64,
    /// Resident memory when it began, after the analytic queries, after the transactions, and its peak.
    pub(super) start_bytes: u64,
    pub(super) after_queries_bytes: u64,
    pub(super) after_transactions_bytes: u64,
    pub(super) peak_bytes: u64,
}

/// What all rounds of an allocator came to.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Trial {
    #[serde(serialize_with = "name")]
    pub(super) allocator: Allocator,
    /// The environment of the server, as `NAME=value`.
    pub(super) environment: Vec<String>,
    pub(super) readings: Vec<Reading>,
}

fn name<S: serde::Serializer>(allocator: &Allocator, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(allocator.name())
}

/// Runs the rounds; the sentences say what was left out and why.
pub(super) fn run(
    kind: ServerKind,
    allocators: &[Allocator],
    rounds: u32,
    quiet: bool,
) -> Result<(Vec<Trial>, Vec<String>)> {
    let mut trials = Vec::new();
    let mut left_out = Vec::new();
    for allocator in allocators {
        match allocator.environment() {
            Ok(environment) => trials.push((*allocator, environment, Vec::new())),
            Err(error) => left_out.push(format!("{}: {error}", allocator.name())),
        }
    }
    if trials.is_empty() {
        bail!("no allocator to measure: {}", left_out.join("; "));
    }
    let scratch = tempfile::tempdir()?;
    let churn = Churn::build(scratch.path())?;
    let arguments = vec![churn.argument()];
    let mut server = PrivateServer::start(&testbed::Options {
        kind,
        arguments: arguments.clone(),
        ..testbed::Options::default()
    })?;
    for mix in testbed::MIXES {
        mix.prepare(&server.login())?;
    }
    churn.install(&server.login())?;
    let count = trials.len();
    let begin = Instant::now();
    for round in 0..rounds {
        for turn in 0..count {
            // Whoever is first in one round is not in the next.
            let Some((allocator, environment, readings)) =
                trials.get_mut((turn + round as usize) % count)
            else {
                continue;
            };
            server.change(arguments.clone(), environment.clone());
            server.restart()?;
            let reading = measure(&server, *allocator, round + 1)
                .with_context(|| format!("{} in round {}", allocator.name(), round + 1))?;
            if !quiet {
                output::note(&format!(
                    "{:4.0} s  round {} of {rounds}: {:<9}  queries {:.2} / {:.2} / {:.2} s, {:.0} transactions a second",
                    begin.elapsed().as_secs_f64(),
                    round + 1,
                    allocator.name(),
                    reading.query_seconds[0],
                    reading.query_seconds[1],
                    reading.query_seconds[2],
                    reading.transactions_per_second,
                ));
            }
            readings.push(reading);
        }
    }
    let trials = trials
        .into_iter()
        .map(|(allocator, environment, readings)| Trial {
            allocator,
            environment: environment
                .into_iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect(),
            readings,
        })
        .collect();
    Ok((trials, left_out))
}

fn measure(server: &PrivateServer, allocator: Allocator, round: u32) -> Result<Reading> {
    let pid = server.pid().context("the server has ended")?;
    let maps = std::fs::read_to_string(format!("/proc/{pid}/maps"))?;
    if !allocator.is_in(&maps) {
        bail!(
            "{} does not run with {}: it brings its own allocator",
            server.installed().kind.name(),
            allocator.name()
        );
    }
    let login = server.tcp_login();
    at_once(&login, 2, QUERY, 1, TIMEOUT)?;
    let start_bytes = memory(pid, "VmRSS")?;
    let mut query_seconds = [0.0; 3];
    for (sessions, seconds) in AT_A_TIME.into_iter().zip(&mut query_seconds) {
        *seconds = at_once(&login, sessions, QUERY, TIMES, TIMEOUT)?.as_secs_f64();
    }
    let after_queries_bytes = memory(pid, "VmRSS")?;
    let mix = testbed::mix("transactions").context("there is no mix 'transactions'")?;
    let load = |duration| Load {
        login: login.clone(),
        clients: CLIENTS,
        rate_per_second: None,
        compression: false,
        reconnect: false,
        statements: mix.statements(),
        duration,
        timeout: TIMEOUT,
    };
    testbed::run(&load(WARM_UP), &AtomicBool::new(false))?;
    let result = testbed::run(&load(TRANSACTIONS), &AtomicBool::new(false))?;
    if result.transactions == 0 {
        bail!("no transaction was answered: {:?}", result.errors);
    }
    Ok(Reading {
        round,
        query_seconds,
        transactions_per_second: result.transactions as f64 / result.seconds,
        start_bytes,
        after_queries_bytes,
        after_transactions_bytes: memory(pid, "VmRSS")?,
        peak_bytes: memory(pid, "VmHWM")?,
    })
}

/// A line of `/proc/PID/status` in bytes.
pub(crate) fn memory(pid: u32, field: &str) -> Result<u64> {
    let path = format!("/proc/{pid}/status");
    let text = std::fs::read_to_string(&path).with_context(|| path.clone())?;
    text.lines()
        .find_map(|line| line.strip_prefix(field)?.strip_prefix(':'))
        .and_then(|value| value.split_whitespace().next()?.parse::<u64>().ok())
        .map(|kib| kib * 1024)
        .with_context(|| format!("{path} has no {field}"))
}
