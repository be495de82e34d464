//! What the tests here share: victims, the program's documents, and what this machine permits.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use testbed::{Error, Options, PrivateServer, Victim, build_victim};

use crate::harness::run;

/// As in the harness: what must be fast is measured elsewhere.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A private server; `None` when it was not fetched, which is said.
pub(crate) fn started(options: &Options) -> Option<PrivateServer> {
    match PrivateServer::start(options) {
        Err(error @ Error::NotFetched { .. }) => {
            eprintln!("skipped: {error}");
            None
        }
        other => Some(other.unwrap()),
    }
}

/// Standard output of a tool of others, with the password that it may need; `None` where it is not installed, which
/// is said.
pub(crate) fn output_of(tool: &str, arguments: &[&str], password: Option<&str>) -> Option<String> {
    let output = Command::new(tool)
        .args(arguments)
        .env("LC_ALL", "C")
        .env("HOME", "/dev/null")
        .env("MYSQL_PWD", password.unwrap_or_default())
        // Symbols are not fetched from the network.
        .env("DEBUGINFOD_URLS", "")
        .stdin(Stdio::null())
        .output();
    match output {
        Ok(output) => {
            if !output.status.success() {
                eprintln!("{tool}: {}", String::from_utf8_lossy(&output.stderr));
            }
            Some(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Err(error) => {
            eprintln!("skipped: {tool}: {error}");
            None
        }
    }
}

/// A running victim and what it says of itself.
pub(crate) struct Known {
    pub(crate) victim: Victim,
    pub(crate) facts: Value,
    /// Holds its program, which is read while it runs.
    _dir: tempfile::TempDir,
}

impl Known {
    pub(crate) fn start(name: &str, arguments: &[&str]) -> Self {
        Self::with(name, arguments, &[], build_victim)
    }

    /// `build` makes the program in a directory.
    pub(crate) fn with(
        name: &str,
        arguments: &[&str],
        environment: &[(&str, &str)],
        build: impl FnOnce(&str, &Path) -> Result<PathBuf, testbed::Error>,
    ) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let program = build(name, dir.path()).unwrap();
        let victim = Victim::start(&program, arguments, environment).unwrap();
        let facts = serde_json::from_str(victim.line()).unwrap();
        Self {
            victim,
            facts,
            _dir: dir,
        }
    }

    pub(crate) fn pid(&self) -> String {
        self.victim.pid().to_string()
    }

    pub(crate) fn tids(&self, role: &str) -> Vec<u64> {
        let list = self.facts[role].as_array().unwrap();
        list.iter().map(|tid| tid.as_u64().unwrap()).collect()
    }

    pub(crate) fn names(&self, key: &str) -> Vec<String> {
        strings(&self.facts[key])
    }

    pub(crate) fn number(&self, key: &str) -> u64 {
        self.facts[key].as_u64().unwrap()
    }
}

/// Compiles a source that is beside `victim.h` in `dir`.
pub(crate) fn compile(source: &Path, program: &Path, options: &[&str]) {
    let output = Command::new("cc")
        .args(["-O2", "-g", "-pthread", "-fno-optimize-sibling-calls"])
        .args(options)
        .arg("-o")
        .args([program, source])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

/// Standard output of a run that went well.
pub(crate) fn text(arguments: &[&str]) -> String {
    let Output {
        status,
        stdout,
        stderr,
    } = run(arguments);
    let stderr = String::from_utf8_lossy(&stderr);
    assert_eq!(status.code(), Some(0), "{arguments:?}: {stderr}");
    String::from_utf8(stdout).unwrap()
}

/// The document of a run that went well.
pub(crate) fn json(arguments: &[&str]) -> Value {
    let text = text(arguments);
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{arguments:?}: {error}: {text}"))
}

/// The error of a run that went wrong: one line.
pub(crate) fn error_line(output: &Output) -> String {
    let stderr = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert_eq!(stderr.trim_end().lines().count(), 1, "{stderr}");
    assert!(stderr.starts_with("freezeframe: "), "{stderr}");
    assert!(output.stdout.is_empty(), "{:?}", output.stdout);
    stderr
}

/// The strings of a list.
pub(crate) fn strings(list: &Value) -> Vec<String> {
    let list = list.as_array().unwrap_or_else(|| panic!("{list}"));
    list.iter()
        .map(|name| name.as_str().unwrap().to_owned())
        .collect()
}

/// Names of the user side's frames, innermost first.
pub(crate) fn user_frames(frames: &Value) -> Vec<&str> {
    of_frames(frames, |frame| frame["side"] == "user")
}

/// Names of the frames that are in a file of this name, innermost first.
pub(crate) fn frames_in<'a>(frames: &'a Value, image: &str) -> Vec<&'a str> {
    of_frames(frames, |frame| frame["image"] == image)
}

fn of_frames(frames: &Value, wanted: impl Fn(&Value) -> bool) -> Vec<&str> {
    let frames = frames.as_array().unwrap();
    frames
        .iter()
        .filter(|frame| wanted(frame))
        .map(|frame| frame["name"].as_str().unwrap())
        .collect()
}

/// BPF is permitted here; where it is not that is said.
pub(crate) fn bpf_permitted() -> bool {
    let access = kernel::access::access();
    let permitted = access.uid == 0 && access.has_btf && access.load_bpf.is_ok();
    if !permitted {
        eprintln!("skipped: BPF is not permitted here: {:?}", access.load_bpf);
    }
    permitted
}

/// The ways to stacks that are open here: our own processes' memory is.
pub(crate) fn methods() -> &'static [&'static str] {
    if bpf_permitted() {
        &["bpf", "proc"]
    } else {
        &["proc"]
    }
}

/// The processors can be sampled; where they cannot that is said.
pub(crate) fn may_sample() -> bool {
    let access = kernel::access::access();
    if let Err(refusal) = &access.sample_processors {
        eprintln!(
            "skipped: sampling the processors is refused: {}",
            refusal.text
        );
    }
    access.sample_processors.is_ok()
}

/// Runs as somebody who may do nothing; absent where we cannot become that.
pub(crate) fn as_nobody(arguments: &[&str]) -> Option<Output> {
    if !rustix::process::geteuid().is_root() {
        eprintln!("skipped: only root can become nobody");
        return None;
    }
    // Where everybody may enter: the build's own directory may be ours alone.
    let dir = tempfile::tempdir().unwrap();
    set_mode(dir.path(), 0o755);
    let program = dir.path().join("freezeframe");
    // By a process of its own: a child that another test starts meanwhile would inherit a descriptor of ours that writes, and
    // until that child is another program, execve(2) of the copy fails with ETXTBSY.
    let copied = Command::new("install")
        .args(["-m", "755", env!("CARGO_BIN_EXE_freezeframe")])
        .arg(&program)
        .status();
    assert!(copied.unwrap().success());
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&program)
        .args(arguments)
        .env("HOME", "/dev/null")
        .env_remove("MYSQL_PWD")
        .output()
        .unwrap();
    Some(output)
}

fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Waits for something that comes.
pub(crate) fn wait_until(what: &str, mut there: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !there() {
        assert!(begin.elapsed() < PATIENCE, "waited for {what} in vain");
        std::thread::sleep(Duration::from_millis(10));
    }
}
