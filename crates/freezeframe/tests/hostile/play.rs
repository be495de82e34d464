//! The hostile servers, in a process that looks like a server's, and the program beside them.

use std::io::{BufRead, BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use testbed::hostile::variants;

/// Tells the process that plays the servers where their sockets are to be.
const SCENE: &str = "FREEZEFRAME_TEST_SCENE";

/// Those that it serves, a line each: stacks are taken of its threads, and some for each of a thousand variants would
/// take long.
const NAMES: &str = "FREEZEFRAME_TEST_VARIANTS";

/// What it says when all of them listen.
const READY: &str = "all listen";

/// A process named mysqld that serves variants, each on a socket and a port of its own.
pub(crate) struct Scene {
    child: Child,
    /// Held open: a test program that cannot print ends.
    _printed: BufReader<ChildStdout>,
    dir: TempDir,
}

impl Scene {
    /// This very test program, under a server's name: by that the program finds the process behind a socket.
    pub(crate) fn start(names: &[&str]) -> Self {
        let dir = tempfile::Builder::new()
            .prefix("h")
            .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
            .unwrap();
        let program = dir.path().join("mysqld");
        let own = std::env::current_exe().unwrap();
        // Its symbols would only be read a hundred times.
        let stripped = Command::new("strip")
            .arg("-o")
            .arg(&program)
            .arg(&own)
            .status();
        if !stripped.is_ok_and(|status| status.success()) {
            std::fs::hard_link(&own, &program).unwrap();
        }
        let mut child = Command::new(&program)
            .args([
                "--exact",
                "play::an_honest_variant_is_a_server",
                "--nocapture",
            ])
            .env(SCENE, dir.path())
            .env(NAMES, names.join("\n"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut printed = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        while !line.contains(READY) {
            line.clear();
            assert!(printed.read_line(&mut line).unwrap() > 0, "it ended");
        }
        Self {
            child,
            _printed: printed,
            dir,
        }
    }

    pub(crate) fn socket(&self, name: &str) -> PathBuf {
        let number = variants().iter().position(|variant| variant.name == name);
        let number = number.unwrap_or_else(|| panic!("there is no variant '{name}'"));
        self.dir.path().join(number.to_string())
    }

    pub(crate) fn port(&self, name: &str) -> u16 {
        let path = self.socket(name).with_extension("port");
        std::fs::read_to_string(path).unwrap().parse().unwrap()
    }

    /// A directory for what a command writes.
    pub(crate) fn scratch(&self) -> TempDir {
        tempfile::tempdir_in(self.dir.path()).unwrap()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// As the process of a scene it serves; as a test it looks whether what it serves is a server at all.
#[test]
fn an_honest_variant_is_a_server() {
    if let Some(dir) = std::env::var_os(SCENE) {
        return serve(Path::new(&dir));
    }
    let dir = tempfile::tempdir().unwrap();
    let honest = variants().into_iter().next().unwrap();
    let socket = dir.path().join("s");
    honest.serve_unix(&socket).unwrap();
    let login = server::Login {
        user: "root".to_owned(),
        password: None,
        from: "the test".to_owned(),
        tls: server::Tls::default(),
    };
    let deadlines = server::Deadlines {
        connect: Duration::from_secs(10),
        answer: Duration::from_secs(10),
    };
    let address = server::Address::Socket(socket);
    let mut session = server::Session::connect(&address, &login, deadlines).unwrap();
    let version = server::version(&mut session).unwrap();
    assert!(version.starts_with("10.11.6-MariaDB"), "{version}");
}

fn serve(dir: &Path) {
    let names = std::env::var(NAMES).unwrap();
    let mut wanted: Vec<&str> = names.lines().collect();
    for (number, variant) in variants().into_iter().enumerate() {
        let Some(at) = wanted.iter().position(|name| *name == variant.name) else {
            continue;
        };
        wanted.swap_remove(at);
        let socket = dir.join(number.to_string());
        let port = variant.clone().serve_tcp().unwrap();
        std::fs::write(socket.with_extension("port"), port.to_string()).unwrap();
        variant.serve_unix(&socket).unwrap();
    }
    assert!(wanted.is_empty(), "there are no variants {wanted:?}");
    println!("{READY}");
    // Until the test that started us is gone.
    let mut nothing = Vec::new();
    let _ = std::io::stdin().read_to_end(&mut nothing);
}

/// How often a run is looked at. With thirty at a time, looks each 20 ms took a quarter of a processor.
const LOOK: Duration = Duration::from_millis(60);

/// One test at a time: each keeps all processors busy, and looks at times.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What became of a run of the program.
pub(crate) struct Ran {
    pub(crate) status: ExitStatus,
    pub(crate) took: Duration,
    pub(crate) said: String,
    /// The most memory that it had, KiB, as far as it was looked at.
    pub(crate) high_water_kib: u64,
}

pub(crate) fn start(arguments: &[String]) -> (Child, std::fs::File) {
    let output = tempfile::tempfile().unwrap();
    let child = Command::new(env!("CARGO_BIN_EXE_freezeframe"))
        .args(arguments)
        .env("HOME", "/dev/null")
        .env("MYSQL_PWD", "a secret")
        .stdin(Stdio::null())
        .stdout(output.try_clone().unwrap())
        .stderr(output.try_clone().unwrap())
        .spawn()
        .unwrap();
    (child, output)
}

/// Waits for its end, and kills it after `most`.
pub(crate) fn finish(child: Child, output: std::fs::File, begin: Instant, most: Duration) -> Ran {
    let mut child = child;
    let status_file = PathBuf::from(format!("/proc/{}/status", child.id()));
    let mut high_water_kib = 0;
    let status = loop {
        let status = std::fs::read_to_string(&status_file).unwrap_or_default();
        let line = status.lines().find(|line| line.starts_with("VmHWM"));
        let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok());
        high_water_kib = high_water_kib.max(kib.unwrap_or(0));
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if begin.elapsed() > most {
            child.kill().unwrap();
            break child.wait().unwrap();
        }
        std::thread::sleep(LOOK);
    };
    let mut output = output;
    let mut said = Vec::new();
    output.rewind().unwrap();
    output.read_to_end(&mut said).unwrap();
    Ran {
        status,
        took: begin.elapsed(),
        said: String::from_utf8_lossy(&said).into_owned(),
        high_water_kib,
    }
}
