//! `freezeframe lease-helper`: root's side of leases that the group freezeframe asks for.

use std::os::fd::AsFd;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, bail};
use cli::output;
use diagnosis::Catalogue;
use remedy::fix::{FixJournal, PUBLIC, PublicPlace, Root};
use remedy::helper::Helper;
use rustix::net::sockopt::socket_acceptconn;
use signal_hook::consts::{SIGINT, SIGTERM};

use crate::args::LeaseHelper;
use crate::journals::fixes_in;

/// What whoever starts it by hand is told.
const BY_SYSTEMD: &str = "systemd starts it: systemctl enable --now freezeframe-lease.socket";

pub(crate) fn run(args: &LeaseHelper) -> Result<ExitCode> {
    let Some(state) = std::env::var_os("STATE_DIRECTORY") else {
        bail!("lease-helper: {BY_SYSTEMD}");
    };
    let root = args.root.as_deref().map(std::path::absolute).transpose()?;
    let root = root.map_or_else(Root::default, Root::at);
    let helper = Helper {
        public: Some(PublicPlace {
            dir: root.here(Path::new(PUBLIC)),
            server: None,
        }),
        root,
        journal: FixJournal::open(&fixes_in(&PathBuf::from(state)))?,
        program: Path::new("/proc/self/exe"),
        // Only those of the program: nobody can write other ones.
        fixes: |id| {
            Catalogue::builtin()
                .get(id)
                .map(|cause| cause.fixes.as_slice())
        },
        say: output::note,
    };
    if args.restore {
        helper.restore()?;
        return Ok(ExitCode::SUCCESS);
    }
    // The service manager gives the socket as standard input: it is the one descriptor that can be had safely.
    let socket = std::io::stdin().as_fd().try_clone_to_owned()?;
    if socket_acceptconn(&socket) != Ok(true) {
        bail!("lease-helper: {BY_SYSTEMD}");
    }
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, stop.clone()).context("signals")?;
    }
    helper.serve(&UnixListener::from(socket), &stop)?;
    Ok(ExitCode::SUCCESS)
}
