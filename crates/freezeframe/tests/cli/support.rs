//! `freezeframe support-bundle`: what is in it, and what must not be.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

use flate2::read::GzDecoder;
use serde_json::Value;
use testbed::{IncidentSize, made_incident};

use crate::harness::{freezeframe, is_too_busy, server};

/// The files of an archive.
fn unpacked(path: &Path) -> (Vec<u8>, BTreeMap<String, Vec<u8>>) {
    let mut tar = Vec::new();
    let packed = std::fs::File::open(path).unwrap();
    GzDecoder::new(packed).read_to_end(&mut tar).unwrap();
    let mut files = BTreeMap::new();
    let mut at = 0;
    while tar[at] != 0 {
        let head = &tar[at..at + 512];
        let text = |from: usize, to: usize| {
            let field = head[from..to].split(|byte| *byte == 0).next().unwrap();
            String::from_utf8(field.to_vec()).unwrap()
        };
        assert_eq!(
            (text(100, 108), text(257, 263)),
            ("0000600".into(), "ustar".into())
        );
        let size = usize::from_str_radix(&text(124, 136), 8).unwrap();
        let name = text(0, 100)
            .strip_prefix("freezeframe-support/")
            .unwrap()
            .to_owned();
        files.insert(name, tar[at + 512..at + 512 + size].to_vec());
        at += 512 + size.next_multiple_of(512);
    }
    (tar, files)
}

/// Planted in every setting that is a text, in files of secrets, in the environment and in the log.
const SECRETS: [&str; 20] = [
    "s3cret-dir",
    "s3cret-causes",
    "s3cret-user",
    "s3cret-pwfile",
    "s3cret-password\"1",
    "s3cret-option-pw",
    "s3cret-env-pw",
    "s3cret-fleet-pw",
    "s3cret-frames-key",
    "s3cret-hook-name",
    "s3cret-program",
    "s3cret-argument",
    "s3cret-shell",
    "s3cret-url-token",
    "s3cret-query",
    "s3cret-bearer",
    "s3cret-hmac-key",
    "s3cret-listen-host",
    "s3cret-socket",
    "s3cret-cause",
];

struct Stage(tempfile::TempDir);

impl Stage {
    fn new(unreadable: bool) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let stage = Self(dir);
        let write = |name: &str, text: &str, mode: u32| {
            let path = stage.path(name);
            std::fs::write(&path, text).unwrap();
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&path, mode).unwrap();
        };
        write("s3cret-pwfile", "s3cret-password\"1\n", 0o600);
        write("s3cret-hmac", "s3cret-hmac-key\n", 0o600);
        write("my.cnf", "[client]\npassword=s3cret-option-pw\n", 0o600);
        write("s3cret-program", "#!/bin/sh\n", 0o700);
        let state = stage.path("s3cret-dir");
        std::fs::create_dir(&state).unwrap();
        std::fs::set_permissions(&state, std::fs::Permissions::from_mode(0o700)).unwrap();
        std::fs::create_dir(stage.path("s3cret-causes")).unwrap();
        // The journal says it all once more.
        let journal = format!(
            "#!/bin/sh\ncat <<'END'\nfreezeframe started\n/srv/s3cret-path/x.toml:3: no such sign\n{}\nEND\n",
            SECRETS.join(" x ")
        );
        std::fs::create_dir(stage.path("bin")).unwrap();
        write("bin/journalctl", &journal, 0o755);
        let root = stage.0.path().display();
        let broken = if unreadable { "broken = [\n" } else { "" };
        let config = format!(
            "dir = '{root}/s3cret-dir'\ncauses_dir = '{root}/s3cret-causes'\nlisten = '127.0.0.1:1'\n\
             listen_hosts = ['s3cret-listen-host']\n{broken}\
             [server]\nuser = 's3cret-user'\npassword_file = '{root}/s3cret-pwfile'\nsocket = '/tmp/s3cret-socket'\n\
             [history]\nhours = 7\n[detect]\ntriggers = ['Threads_running > 77']\n\
             [[hooks]]\nname = 's3cret-hook-name'\nprogram = ['{root}/s3cret-program', '--key=s3cret-argument']\n\
             [[hooks]]\nshell = 'logger s3cret-shell'\n\
             [[hooks]]\nurl = 'http://127.0.0.1:1/x/s3cret-url-token?k=s3cret-query'\nformat = 'json'\n\
             headers = ['Authorization: Bearer s3cret-bearer']\nsecret_file = '{root}/s3cret-hmac'\n"
        );
        write("f.toml", &config, 0o600);
        let mut incident = made_incident(&IncidentSize::small());
        incident.host = "s3cret-listen-host".to_owned();
        store::write_incident(&incident, &state).unwrap();
        let stalls = "{\"server\":\"3306\",\"onset_ms\":1,\"rule\":\"work-stops\",\"says\":\"s3cret-user hangs\",\
                      \"cause\":\"s3cret-cause\"}\n";
        std::fs::write(state.join("stalls.jsonl"), stalls).unwrap();
        stage
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    fn run(&self, more: &[&str]) -> Output {
        let path = format!("{}:/usr/bin:/bin", self.path("bin").display());
        freezeframe()
            .args(["support-bundle", "--json", "--config"])
            .arg(self.path("f.toml"))
            .arg("-o")
            .arg(self.path("b.tar.gz"))
            .args(more)
            .env("PATH", path)
            .env("MYSQL_PWD", "s3cret-env-pw")
            .env("FREEZEFRAME_FLEET_PASSWORD", "s3cret-fleet-pw")
            .env("AWS_SECRET_ACCESS_KEY", "s3cret-frames-key")
            .current_dir(self.0.path())
            .output()
            .unwrap()
    }
}

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes
        .windows(text.len())
        .any(|window| window == text.as_bytes())
}

#[test]
fn all_that_helps_is_in_it_and_no_secret() {
    let stage = Stage::new(false);
    let my_cnf = stage.path("my.cnf");
    let output = stage.run(&["--defaults-file", my_cnf.to_str().unwrap()]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let path = stage.path("b.tar.gz");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    let (tar, files) = unpacked(&path);
    for secret in SECRETS.iter().chain(&["s3cret", "T0K3N"]) {
        let at = files.iter().find(|(_, bytes)| holds(bytes, secret));
        assert!(
            at.is_none() && !holds(&tar, secret),
            "{secret} in {:?}",
            at.map(|(name, bytes)| (name, String::from_utf8_lossy(bytes).into_owned()))
        );
    }
    let text = |name: &str| String::from_utf8(files[name].clone()).unwrap();
    let json = |name: &str| -> Value { serde_json::from_str(&text(name)).unwrap() };
    let shown = text("configuration.toml");
    for kept in [
        "hours = 7",
        "Threads_running > 77",
        "format = \"json\"",
        "characters, taken out)",
    ] {
        assert!(shown.contains(kept), "{kept}: {shown}");
    }
    assert_eq!(json("version.json")["version"], env!("CARGO_PKG_VERSION"));
    let tested = json("self-test.json");
    assert!(tested["ok"] == true || is_too_busy(), "{tested:#}");
    // Nobody listens on that socket: the part is there all the same.
    assert_eq!(json("check.json")[0]["login"]["ok"], false);
    assert!(
        text("log.txt").starts_with("freezeframe started\n"),
        "{}",
        text("log.txt")
    );
    assert!(text("metrics.txt").starts_with("missing: the status address: "));
    assert!(text("directory.txt").contains(".frame\n"));
    assert_eq!(json("incidents.json").as_array().unwrap().len(), 1);
    assert_eq!(json("stalls.json")[0]["rule"], "work-stops");
    // The incident opens, and has no names.
    let frame = stage.path("out.frame");
    std::fs::write(&frame, &files["incidents/1.frame"]).unwrap();
    let loaded = store::read_incident(&frame).unwrap();
    assert_eq!(loaded.damage, []);
    assert_ne!(loaded.incident.host, "s3cret-listen-host");
    let told: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["parts"].as_array().unwrap().len(), files.len());
    // It is not replaced unasked.
    assert_eq!(stage.run(&["--no-check"]).status.code(), Some(1));
    assert!(
        stage
            .run(&["--no-check", "--force", "--incidents", "0"])
            .status
            .success()
    );
    let (_, files) = unpacked(&path);
    assert!(!files.contains_key("incidents/1.frame"));
    assert_eq!(files["check.json"], b"missing: left out (--no-check)\n");
}

#[test]
fn a_configuration_that_is_broken_is_bundled_without_being_quoted() {
    let stage = Stage::new(true);
    let output = stage.run(&[
        "--no-check",
        "--dir",
        stage.path("s3cret-dir").to_str().unwrap(),
    ]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let (tar, files) = unpacked(&stage.path("b.tar.gz"));
    let tested: Value = serde_json::from_slice(&files["self-test.json"]).unwrap();
    assert_eq!(tested["ok"], false);
    for secret in SECRETS {
        // What no longer can be known to be one: the texts that only the log has.
        let log = &files["log.txt"];
        let known = !holds(log, secret);
        let elsewhere = files
            .iter()
            .any(|(name, bytes)| name != "log.txt" && holds(bytes, secret));
        assert!(!elsewhere, "{secret}");
        assert!(
            known
                || ["s3cret-password\"1", "s3cret-option-pw", "s3cret-hmac-key"].contains(&secret),
            "{secret}"
        );
    }
    assert!(!holds(&tar, "s3cret-shell"));
    let config = String::from_utf8(files["configuration.toml"].clone()).unwrap();
    assert!(config.starts_with("# it is no TOML from line "), "{config}");
}

/// A service that records servers of a file: their hosts, labels and logins stand in no text of the configuration.
#[test]
fn what_the_service_was_told_of_on_its_command_line_is_taken_out() {
    let stage = Stage::new(false);
    let root = stage.0.path().display().to_string();
    let write = |name: &str, text: &str, mode: u32| {
        std::fs::write(stage.path(name), text).unwrap();
        let mode = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(stage.path(name), mode).unwrap();
    };
    let unit = format!(
        "#!/bin/sh\ncase \"$*\" in\n*ExecStart*) echo 'ExecStart={{ path=/x ; argv[]=/x record --targets {root}/fleet.toml ; }}';;\n\
         *) echo ActiveState=active;;\nesac\n"
    );
    write("bin/systemctl", &unit, 0o755);
    let targets = format!(
        "[[targets]]\nname = 'orchard-shop-1'\nhost = 'db7.orchard.example'\ndefaults_file = '{root}/target.cnf'\n\
         labels = {{ team = 'gardeners' }}\n[[targets]]\nname = 'b'\nhost = 'dbq'\n"
    );
    write("fleet.toml", &targets, 0o600);
    let login = "[client]\nuser=plumlogin\npassword=plumword\n";
    write("target.cnf", login, 0o600);
    let journal = "#!/bin/sh\ncat <<'END'\nfreezeframe started\norchard-shop-1: recording db7.orchard.example:3306\n\
                   db7: gardeners, no login as plumlogin with plumword\ndbq: gone\n\
                   hook page: gave up: exit status: 1: 401 for https://api.example/v2?token=A1B2C3\nEND\n";
    write("bin/journalctl", journal, 0o755);
    let state = stage.path("s3cret-dir");
    let stalls = "{\"server\":\"orchard-shop-1\",\"onset_ms\":1,\"rule\":\"work-stops\"}\n\
                  {\"server\":\"srv-orchard-mysqld-sock\",\"onset_ms\":2,\"rule\":\"work-stops\"}\n";
    std::fs::write(state.join("stalls.jsonl"), stalls).unwrap();
    std::fs::write(state.join("history-db8-orchard-example-3307.db"), "").unwrap();
    let output = stage.run(&["--no-check"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let (_, files) = unpacked(&stage.path("b.tar.gz"));
    for name in [
        "orchard",
        "db7",
        "dbq",
        "gardeners",
        "plum",
        "A1B2C3",
        "s3cret",
    ] {
        // Three letters may stand in what is packed by chance.
        let is_short = |file: &str| name.len() < 4 && file.ends_with(".frame");
        let mut searched = files.iter().filter(|(file, _)| !is_short(file));
        let at = searched.find(|(_, bytes)| holds(bytes, name));
        assert!(
            at.is_none(),
            "{name} in {:?}",
            at.map(|(file, bytes)| (file, String::from_utf8_lossy(bytes).into_owned()))
        );
    }
    // The same by the same word in every part.
    let text = |name: &str| String::from_utf8(files[name].clone()).unwrap();
    let stalls: Value = serde_json::from_str(&text("stalls.json")).unwrap();
    let log = text("log.txt");
    let is_in_log = |stall: &Value| {
        let label = stall["server"].as_str().unwrap();
        assert!(label.starts_with("dir_"), "{label}");
        log.contains(&format!("{label}: recording host_"))
    };
    let stalls = stalls.as_array().unwrap();
    assert!(stalls.iter().any(is_in_log), "{stalls:?}: {log}");
    assert!(
        text("directory.txt").contains(" history-dir_"),
        "{}",
        text("directory.txt")
    );
    assert!(
        files.contains_key("incidents/1.frame"),
        "{:?}",
        files.keys()
    );
}

#[test]
fn a_server_that_answers_is_checked() {
    let server = server(&[]);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("b.tar.gz");
    let output = freezeframe()
        .args(["support-bundle", "-o"])
        .arg(&path)
        .arg("--dir")
        .arg(dir.path().join("state"))
        .arg("--socket")
        .arg(server.socket())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}");
    assert!(told.contains("nothing was sent"), "{told}");
    // A command that can be copied, and no traces of a progress that nobody saw.
    let unpack = format!("tar -xzf {}\n", path.display());
    assert!(told.ends_with(&unpack), "{told}");
    let beside = String::from_utf8_lossy(&output.stderr);
    assert!(!beside.contains(['\u{1b}', '\r']), "{beside:?}");
    let (_, files) = unpacked(&path);
    let check: Value = serde_json::from_slice(&files["check.json"]).unwrap();
    assert_eq!(check[0]["login"]["ok"], true, "{check:#}");
}

/// Reports have the names of sessions and tables, which nothing else of a bundle tells.
#[test]
fn the_log_of_a_recorder_that_prints_reports_is_left_out() {
    for option in ["--verbose", "-v", "--json"] {
        let stage = Stage::new(false);
        let unit = format!(
            "#!/bin/sh\ncase \"$*\" in\n*ExecStart*) echo 'ExecStart={{ path=/x ; argv[]=/x record {option} ; }}';;\n\
             *) echo ActiveState=active;;\nesac\n"
        );
        let systemctl = stage.path("bin/systemctl");
        std::fs::write(&systemctl, &unit).unwrap();
        std::fs::set_permissions(&systemctl, std::fs::Permissions::from_mode(0o755)).unwrap();
        let output = stage.run(&["--no-check", "--incidents", "0"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        let (_, files) = unpacked(&stage.path("b.tar.gz"));
        let log = String::from_utf8_lossy(&files["log.txt"]);
        assert!(log.starts_with("missing: left out"), "{log}");
    }
}
