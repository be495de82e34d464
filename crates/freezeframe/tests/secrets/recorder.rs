//! `freezeframe record` with everything on, and all that it says kept in files.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use testbed::PrivateServer;

use crate::harness::freezeframe;

/// How long the recorder may take for something that a test waits for.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running recorder. All that it writes is below `dir`.
pub(crate) struct Recording {
    child: Child,
    dir: PathBuf,
    listen: u16,
}

impl Recording {
    /// Begins to record; `journal` is a directory that only we may write, for leases.
    pub(crate) fn start(server: &PrivateServer, dir: &Path, more: &[&str]) -> Self {
        std::fs::create_dir_all(dir.join("hooks")).unwrap();
        let hooks = dir.join("hooks").display().to_string();
        let fleet = fleet_store(dir.parent().unwrap());
        std::fs::create_dir_all(fleet.parent().unwrap()).unwrap();
        let fleet = fleet.display();
        // A hook is given the incident on its standard input and by variables.
        let config = format!(
            "[incident]\nafter_seconds = 2\n\
             [detect]\nsame_incident_seconds = 1\nincidents_per_hour = 100\nsystem_share_min = 2.0\n\
             triggers = [\"Threads_running >= 8 for 1s\", \"Threads_running >= 6 for 2s\"]\n\
             [fleet]\nurl = \"sqlite://{fleet}\"\n\
             [queries]\ngeneral_log = true\ngeneral_log_seconds = 3\n\
             [[hooks]]\nname = \"all\"\non = [\"start\", \"preliminary\", \"end\", \"verdict\"]\n\
             shell = \"cat > {hooks}/$FREEZEFRAME_EVENT-$$.json; env > {hooks}/$FREEZEFRAME_EVENT-$$.env\"\n\
             [[hooks]]\nname = \"fails\"\nshell = \"cat >&2; exit 3\"\n"
        );
        let file = dir.join("freezeframe.toml");
        std::fs::write(&file, config).unwrap();
        let listen = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .and_then(|listener| listener.local_addr())
            .unwrap()
            .port();
        let output = |name: &str| File::create(dir.join(name)).unwrap();
        let child = freezeframe()
            .args(["record", "--for", "300s", "--user", "root"])
            .arg("--socket")
            .arg(server.socket())
            .arg("--dir")
            .arg(dir.join("files"))
            .arg("--config")
            .arg(&file)
            .args(["--listen", &format!("127.0.0.1:{listen}")])
            .args(more)
            .stdout(output("record.stdout"))
            .stderr(output("record.stderr"))
            .spawn()
            .unwrap();
        Self {
            child,
            dir: dir.to_owned(),
            listen,
        }
    }

    /// The incidents that are there.
    pub(crate) fn frames(&self) -> Vec<PathBuf> {
        frames(&self.dir.join("files"))
    }

    /// Waits until there are so many incidents; fewer when it takes too long, which is for the caller to judge.
    pub(crate) fn wait_for_frames(&self, count: usize) -> usize {
        let end = Instant::now() + PATIENCE;
        while self.frames().len() < count && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(200));
        }
        self.frames().len()
    }

    /// Waits until the fleet has a server and an incident: where it got nothing, nothing is proved of it.
    pub(crate) fn wait_for_fleet(&self) {
        let store = fleet_store(self.dir.parent().unwrap());
        let end = Instant::now() + PATIENCE;
        for table in ["hosts", "incidents"] {
            while rows(&store, table) == 0 {
                assert!(
                    Instant::now() < end,
                    "the fleet has no {table}: {}",
                    std::fs::read_to_string(self.dir.join("record.stderr")).unwrap()
                );
                std::thread::sleep(Duration::from_millis(200));
            }
        }
    }

    /// What the status address tells, into files.
    pub(crate) fn ask_status(&self) {
        for path in ["metrics", "healthz", "healthz/none"] {
            let Ok(mut stream) = TcpStream::connect((Ipv4Addr::LOCALHOST, self.listen)) else {
                continue;
            };
            let request = format!(
                "GET /{path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: close\r\n\r\n",
                self.listen
            );
            stream.write_all(request.as_bytes()).unwrap();
            let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer);
            assert!(answer.starts_with(b"HTTP/1.1 "), "{path}: no answer");
            std::fs::write(self.dir.join(path.replace('/', "-")), answer).unwrap();
        }
    }

    /// SIGTERM, in order.
    pub(crate) fn stop(mut self) {
        let pid = Pid::from_raw(self.child.id().try_into().unwrap()).unwrap();
        kill_process(pid, Signal::TERM).unwrap();
        let status = self.child.wait().unwrap();
        let said = std::fs::read_to_string(self.dir.join("record.stderr")).unwrap();
        assert!(status.success(), "{status}: {said}");
        assert!(!said.contains("internal error"), "{said}");
    }

    /// SIGKILL, so that the next one has to make the incident of the history.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a recorder sends to its fleet, in a test's directory: beside what must have neither values nor names in it.
fn fleet_store(dir: &Path) -> PathBuf {
    dir.join("names/sent-to-the-fleet.db")
}

/// Rows of a table of the fleet's store; none where it is not made yet.
fn rows(store: &Path, table: &str) -> u32 {
    let count = format!("SELECT count(*) FROM {table}");
    // The recorder makes the store: an empty file would be none of a fleet.
    let database =
        rusqlite::Connection::open_with_flags(store, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY);
    database
        .and_then(|database| database.query_row(&count, [], |row| row.get(0)))
        .unwrap_or(0)
}

/// Incidents of a directory, the oldest first.
pub(crate) fn frames(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(dir) else {
        return Vec::new();
    };
    let mut all: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.ends_with(".frame") && !name.starts_with('.')
        })
        .collect();
    all.sort();
    all
}
