//! `freezeframe fleet gateway`: takes the batches of many recorders, and writes them to the fleet's store together.
//!
//! **Acknowledged is on the disk.** A connection's thread reads a batch and looks whose it is; one thread (`keeper.rs`) puts
//! all that came meanwhile into the journal with one sync, and then they are answered. Another one (`deliver.rs`) brings
//! the journal to the store. Nothing is held in memory that was acknowledged, so there is no order to end in.
//!
//! **Nobody can make others wait.** Connections, bytes of bodies, time, and connections of one host have limits; who has
//! shown no token is the first to lose its place (`serve.rs`).
//!
//! **No TLS of its own**: a proxy ends it. So the gateway listens on this machine alone unless it is told otherwise.

mod connection;
mod deliver;
mod host_commands;
mod hosts;
mod keeper;
mod serve;
mod shared;
mod state;
mod status;

use std::fs::File;
use std::net::TcpListener;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ::fleet::gateway::Journal;
use anyhow::{Context, Result, bail};
use cli::output;
use rustix::fs::FlockOperation;

use self::deliver::Delivery;
use self::hosts::Hosts;
use self::keeper::Keeper;
use self::shared::Shared;
use self::state::State;
use crate::args::{Gateway, GatewayCommand};
use crate::config::Config;
use crate::fleet::{salt, store_url};
use crate::gateway_config::GatewayConfig;
use crate::record;

/// How soon a signal ends it.
const STOP_POLL: Duration = Duration::from_millis(100);

pub(crate) fn run(args: &Gateway) -> Result<ExitCode> {
    let config = Config::load(args.config.as_deref())?;
    let dir = args.dir.as_deref();
    match &args.command {
        Some(GatewayCommand::AddHost(add)) => host_commands::add(&config.gateway.dir(dir), add),
        Some(GatewayCommand::RemoveHost(one)) => {
            host_commands::remove(&config.gateway.dir(dir), one)
        }
        Some(GatewayCommand::Hosts(list)) => {
            host_commands::list(&config.gateway.dir(dir), list.json)
        }
        None => run_gateway(args, &config.gateway),
    }
}

fn run_gateway(args: &Gateway, config: &GatewayConfig) -> Result<ExitCode> {
    let settings = config.settings(args)?;
    let salt = salt::read(&settings.salt_file)?;
    store::make_private_dir(&settings.dir)?;
    let _lock = lock(&settings.dir)?;
    let journal = Journal::open(&settings.dir.join("journal.db"), settings.journal_bytes)?;
    let journal = Arc::new(Mutex::new(journal));
    let state = Arc::new(State::default());
    state.look_at(&journal);
    let hosts = Hosts::read(&hosts::path_in(&settings.dir))?;
    let known = hosts.count();
    let stop = record::stop_flag()?;
    let context = || format!("--listen {}", settings.listen);
    let listener = TcpListener::bind(settings.listen).with_context(context)?;
    let address = listener.local_addr()?;
    let shown = store_url::shown(&settings.store);
    let keeper = Keeper::start(journal.clone(), state.clone())?;
    Delivery::new(&settings, journal, state.clone()).start()?;
    serve::start(Shared::new(salt, hosts, keeper, state), listener)?;
    output::print_line(&format!("listens on {address}, writes to {shown}"))?;
    if known == 0 {
        output::note("no host is known yet: freezeframe fleet gateway add-host NAME");
    }
    if !address.ip().is_loopback() {
        output::note(&format!(
            "other hosts can reach {address}; tokens and data come without encryption"
        ));
    }
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(STOP_POLL);
    }
    Ok(ExitCode::SUCCESS)
}

/// A journal has one gateway.
fn lock(dir: &Path) -> Result<File> {
    let lock = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(dir.join(".lock"))
        .with_context(|| dir.join(".lock").display().to_string())?;
    if rustix::fs::flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
        bail!("another gateway already runs with {}", dir.display());
    }
    Ok(lock)
}
