//! `freezeframe web`: the incidents and the history in a browser, by a link with a token.
//!
//! **The responder never waits.** What reads a file is made by two threads (`workers.rs`); its connection waits for a
//! slot, and a pipe wakes the responder. One incident at a time is read, since each may take half of the memory.
//!
//! **An index** (`index.rs`) looks at the directories every two seconds and judges what is new, the newest first. A
//! name that is asked for is looked up in it, so there is no way from an address to a path.
//!
//! **The token is in the path** (`guard.rs`), so that links work without a script; all links are relative.
//!
//! **The fleet's store** (`fleet`) is asked by threads of its own, with a time limit: no other page waits for it.
//!
//! **Charts** are the strips of the report, drawn as SVG; the script fetches the same curves, reduced to the least
//! and the most of each stretch, and draws them by uPlot (`report/assets/uplot`, with its licence).

mod fleet;
mod for_script;
mod guard;
mod history;
mod index;
mod list;
mod query;
mod site;
mod terms;
mod token;
mod workers;

use std::net::SocketAddr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use cli::{output, usage};
use recorder::host_name;

use self::fleet::FleetPages;
use self::index::Index;
use self::site::Web;
use self::token::Token;
use self::workers::Workers;
use crate::config::Config;
use crate::listen::{self, Names};
use crate::{args, causes, of_service, record};

/// The content type of pages.
const HTML: &str = "text/html; charset=utf-8";

/// How soon a signal ends it.
const STOP_POLL: Duration = Duration::from_millis(100);

pub(crate) fn run(args: &args::Web) -> Result<ExitCode> {
    let config = Config::load(args.config.as_deref())?;
    causes::use_directory(args.causes.as_deref(), &config);
    permit(args.listen, args.exposed)?;
    let dirs = directories(args, &config)?;
    let token = match &args.token_file {
        Some(path) => Token::of_file(path)?,
        None => Token::random()?,
    };
    let stop = record::stop_flag()?;
    let (wake, woken) = UnixStream::pair().context("a pair of sockets")?;
    wake.set_nonblocking(true)?;
    woken.set_nonblocking(true)?;
    let index = Arc::new(Index::new(dirs));
    let path = shown_path(args.token_file.as_deref(), &token);
    let site = Web {
        token,
        index: index.clone(),
        workers: Workers::start(&wake, "ff-page")?,
        for_script: Arc::default(),
        fleet: FleetPages::new(args, &config, &wake)?,
    };
    let names = Names::new("web", &host_name(), &args.listen_hosts);
    let address = listen::start(args.listen, names, Box::new(site), Some(woken))
        .map_err(|error| in_use(args.listen, error))?;
    index.keep()?;
    output::print_line(&format!("open http://{address}{path}"))?;
    if let Some(says) = journaled(args.token_file.as_deref(), record::is_journaled()) {
        output::note(says);
    }
    if !address.ip().is_loopback() {
        output::note(&format!(
            "other hosts can reach {address}; pages and token are sent without encryption"
        ));
    }
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(STOP_POLL);
    }
    Ok(ExitCode::SUCCESS)
}

/// What is opened, behind the address. A token that is kept was given to those who may look already, and what is printed
/// may end in a journal: that one is not shown.
fn shown_path(token_file: Option<&Path>, token: &Token) -> String {
    match token_file {
        Some(file) => format!("/ with the token in {}", file.display()),
        None => format!("/t/{}/", token.text()),
    }
}

/// What is to be said where a journal keeps what we printed: others may read that.
fn journaled(token_file: Option<&Path>, is_journaled: bool) -> Option<&'static str> {
    let says = "the token is in the journal now, for all who may read that; --token-file FILE keeps it out";
    (is_journaled && token_file.is_none()).then_some(says)
}

/// An address that other hosts reach must be meant.
fn permit(address: SocketAddr, is_exposed: bool) -> Result<()> {
    if !address.ip().is_loopback() && !is_exposed {
        return Err(usage(anyhow!(
            "--listen {address}: other hosts can reach this address, and pages and token are sent without encryption. \
             Use `ssh -L 8420:127.0.0.1:8420 HOST freezeframe web` instead, or add --exposed if you want this"
        )));
    }
    Ok(())
}

fn in_use(address: SocketAddr, error: anyhow::Error) -> anyhow::Error {
    let is_taken = error
        .downcast_ref::<std::io::Error>()
        .is_some_and(|error| error.kind() == std::io::ErrorKind::AddrInUse);
    match is_taken {
        true => anyhow!(
            "{address} is in use, perhaps by another freezeframe web; --listen {}:0 takes a free port",
            address.ip()
        ),
        false => error,
    }
}

/// Where to look, each once.
fn directories(args: &args::Web, config: &Config) -> Result<Vec<PathBuf>> {
    let mut dirs = args.dirs.clone();
    if dirs.is_empty() {
        dirs.push(of_service::directory(config, None));
    }
    let mut found: Vec<PathBuf> = Vec::new();
    for dir in dirs {
        if !dir.is_dir() {
            bail!("{}: no such directory", dir.display());
        }
        let real = dir
            .canonicalize()
            .with_context(|| dir.display().to_string())?;
        if !found.contains(&real) {
            found.push(real);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_others_reach_must_be_meant() {
        for (address, is_exposed, is_permitted) in [
            ("127.0.0.1:8420", false, true),
            ("127.8.8.8:0", false, true),
            ("[::1]:8420", false, true),
            ("0.0.0.0:8420", false, false),
            ("[::]:8420", false, false),
            ("10.0.0.7:8420", false, false),
            ("[::ffff:10.0.0.7]:8420", false, false),
            ("0.0.0.0:8420", true, true),
        ] {
            let permitted = permit(address.parse().unwrap(), is_exposed);
            assert_eq!(permitted.is_ok(), is_permitted, "{address}");
        }
    }

    #[test]
    fn a_token_that_is_kept_is_not_printed() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("token");
        std::fs::write(&file, "quillfeather0123456789\n").unwrap();
        let token = Token::of_file(&file).unwrap();
        let shown = shown_path(Some(&file), &token);
        assert!(!shown.contains("quillfeather"), "{shown}");
        assert!(shown.contains(&file.display().to_string()), "{shown}");
        assert_eq!(journaled(Some(&file), true), None);
        // One of this start alone is all there is to open it with.
        assert_eq!(journaled(None, false), None);
        assert!(journaled(None, true).unwrap().contains("--token-file FILE"));
        let token = Token::random().unwrap();
        assert_eq!(shown_path(None, &token), format!("/t/{}/", token.text()));
    }
}
