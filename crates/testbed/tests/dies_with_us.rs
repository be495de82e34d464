//! A private server must not outlive its owner, even when the owner is killed with SIGKILL and
//! the server is paused. This program is the test and, run by itself again, the owner.

#![allow(clippy::print_stdout, reason = "tests tell what they skip or measure")]

use std::error::Error;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use testbed::{Options, PrivateServer};

const OWNER: &str = "FREEZEFRAME_LAB_TEST_OWNER_OF";
const DEADLINE: Duration = Duration::from_secs(10);

fn main() -> Result<(), Box<dyn Error>> {
    match std::env::var_os(OWNER) {
        Some(base) => own_a_server(base.into()),
        None => kill_the_owner(),
    }
}

fn own_a_server(base: PathBuf) -> Result<(), Box<dyn Error>> {
    let server = PrivateServer::start(&Options {
        base: Some(base),
        ..Options::default()
    })?;
    server.pause()?;
    println!("{}", server.pid().ok_or("the server has ended")?);
    loop {
        std::thread::park();
    }
}

fn kill_the_owner() -> Result<(), Box<dyn Error>> {
    let base = tempfile::tempdir()?;
    let mut owner = Command::new(std::env::current_exe()?)
        .env(OWNER, base.path())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut line = String::new();
    let output = owner.stdout.take().ok_or("no pipe to the owner")?;
    BufReader::new(output).read_line(&mut line)?;
    let server = Path::new("/proc").join(line.trim());
    let name = std::fs::read_to_string(server.join("comm"))?;
    assert_eq!(name.trim(), "mariadbd");

    owner.kill()?;
    owner.wait()?;
    let killed = Instant::now();
    // A process that has ended and is not yet waited for has an empty command line.
    while std::fs::read(server.join("cmdline")).is_ok_and(|line| !line.is_empty()) {
        assert!(
            killed.elapsed() < DEADLINE,
            "{} outlived its owner",
            server.display()
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    println!("test a_private_server_dies_with_its_owner ... ok");
    Ok(())
}
