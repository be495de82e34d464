//! `freezeframe-lab load`.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use cli::output;
use signal_hook::consts::{SIGINT, SIGTERM};
use testbed::{Address, Login, MIXES};

use crate::args::Load;

/// How long a client waits for an answer before it connects again.
const CLIENT_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) fn run(args: &Load) -> Result<ExitCode> {
    let password = match &args.password_file {
        Some(path) => {
            let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
            text.lines().next().map(str::to_owned)
        }
        None => None,
    };
    let address = match (&args.socket, args.port) {
        (Some(path), _) => Address::Socket(path.clone()),
        (None, port) => Address::Tcp("127.0.0.1".to_owned(), port.unwrap_or(3306)),
    };
    let login = Login {
        address,
        user: args.user.clone(),
        password,
    };
    let statements = if args.statement.is_empty() {
        let Some(mix) = testbed::mix(&args.mix) else {
            let names: Vec<&str> = MIXES.iter().map(|mix| mix.name).collect();
            bail!("unknown mix '{}'; there is: {}", args.mix, names.join(", "));
        };
        mix.prepare(&login)?;
        mix.statements()
    } else {
        args.statement
            .iter()
            .map(|text| (1, text.clone()))
            .collect()
    };
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, stop.clone())?;
    }
    let result = testbed::run(
        &testbed::Load {
            login,
            clients: args.clients,
            rate_per_second: args.rate,
            compression: args.compress,
            reconnect: false,
            statements,
            duration: args.for_time,
            timeout: CLIENT_TIMEOUT,
        },
        &stop,
    )?;
    if args.json {
        output::print_json(&result)?;
    } else {
        let latency = &result.latency;
        output::print(&format!(
            "{} statements in {:.1} s: {:.0}/s; latency p50 {} µs, p95 {} µs, p99 {} µs, max {} µs",
            result.statements,
            result.seconds,
            result.per_second,
            latency.p50_us,
            latency.p95_us,
            latency.p99_us,
            latency.max_us
        ))?;
        for (kind, count) in &result.errors {
            output::print(&format!("{count} × {kind}"))?;
        }
    }
    Ok(if result.statements == 0 {
        ExitCode::from(1)
    } else {
        ExitCode::SUCCESS
    })
}
