//! Where the names and secrets are that a bundle must not have: in the configuration, in every file that the running
//! service was told of, and in what is bundled itself.

use std::io::Read;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use ::fleet::s3;
use model::names_a_secret;
use serde_json::Value;
use server::{find_login, option_values};
use transport::program::OWN_SECRETS;

use super::collect::{self, SERVICE};
use super::met;
use super::scrub::Scrub;
use super::settings::{self, Text};
use crate::args::SupportBundle;
use crate::causes;
use crate::config::Config;
use crate::targets::login_options;
use crate::triggers;

/// More of a file of settings is not read.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// How long systemd may take.
const UNIT_TIME_MAX: Duration = Duration::from_secs(10);

/// Labels of metrics whose values are words of ours.
const OWN_LABELS: [&str; 4] = ["format", "version", "what", "why"];

/// Labels of metrics whose values are names, and whose own names are words of ours.
const NAMING_LABELS: [&str; 3] = ["cause", "hook", "server"];

/// What is known before anything is collected.
pub(super) fn of_login(scrub: &mut Scrub, args: &SupportBundle, config: &Config) {
    scrub.add_host(&recorder::host_name());
    let options = login_options(&args.server, config);
    scrub.add_name("user", &options.system_user);
    for name in OWN_SECRETS.into_iter().chain([s3::SECRET, s3::TOKEN]) {
        scrub.add_secret("password", &std::env::var(name).unwrap_or_default());
    }
    if let Some(path) = &options.password_file {
        secret_file(scrub, "password", path);
    }
    // Each password of the option file, whichever is the one that is used.
    let usual = || options.home.as_ref().map(|home| home.join(".my.cnf"));
    if let Some(path) = options.defaults_file.clone().or_else(usual) {
        option_file(scrub, &path);
    }
    if let Ok(found) = find_login(&options) {
        scrub.add_name("user", &found.login.user);
        if let Some(password) = &found.login.password {
            scrub.add_secret("password", password);
        }
        if let Some(host) = &found.host {
            scrub.add_host(host);
        }
    }
    if let Some(host) = &args.server.host {
        scrub.add_host(host);
    }
    if let Some(login_path) = &args.server.login_path {
        scrub.add_name("name", login_path);
    }
    for secret in crate::hooks::secrets(&config.hooks) {
        scrub.add_secret("secret of a hook", &secret);
    }
}

/// The paths that were said to the bundle itself.
pub(super) fn of_paths<'p>(scrub: &mut Scrub, paths: impl IntoIterator<Item = &'p Path>) {
    for path in paths {
        met::path(&path.to_string_lossy(), scrub);
    }
}

/// An owner's causes: names and titles that are in no catalogue but his.
pub(super) fn of_causes(scrub: &mut Scrub) {
    for word in causes::own_words() {
        scrub.add_name("name", word);
    }
}

/// A cause that a list of stalls or a metric names. Its file may be gone by now.
pub(super) fn of_cause(scrub: &mut Scrub, id: &str) {
    if !causes::is_built_in(id) {
        scrub.add_name("name", id);
    }
}

/// The texts of a configuration or of a file of targets, and of the files that it names.
pub(super) fn of_settings(scrub: &mut Scrub, texts: &[Text]) {
    for text in texts {
        let (section, name) = text.key.rsplit_once('.').unwrap_or(("", text.key.as_str()));
        match name {
            _ if section.ends_with(".labels") => scrub.add_name("name", &text.value),
            "host" => scrub.add_host(&text.value),
            "user" => scrub.add_name("user", &text.value),
            "name" if section == "targets" => scrub.add_label(&text.value),
            "socket" => scrub.add_path(&text.value),
            // A mistake in one is told with its words.
            "triggers" => {
                for word in triggers::unknown_words(&text.value) {
                    scrub.add_name("name", word);
                }
            }
            "url" => {
                for host in hosts_of(&text.value) {
                    scrub.add_host(host);
                }
            }
            "password_file" => secret_file(scrub, "password", Path::new(&text.value)),
            "secret_file" => secret_file(scrub, "secret of a hook", Path::new(&text.value)),
            "defaults_file" => option_file(scrub, Path::new(&text.value)),
            _ => {}
        }
        scrub.add_setting(text);
    }
}

/// The host in an address; a hook is called by it. Where a password has a `/` that is not escaped, what stands before that
/// and what follows the last `@` may be meant.
fn hosts_of(url: &str) -> [&str; 2] {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    [authority, rest].map(|place| {
        let (_, host) = place.rsplit_once('@').unwrap_or(("", place));
        let host = host.split(['/', '?', '#']).next().unwrap_or_default();
        match host.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
            _ => host,
        }
    })
}

/// What the service was told of on its command line, and what the recorder was that writes into this directory: in a
/// container, under another keeper of services or by hand there is no unit. Whether one of them tells all it knows: then
/// whole reports are in its log, with names of sessions and tables that stand nowhere else.
pub(super) fn of_service(scrub: &mut Scrub, dir: &Path) -> bool {
    let mut systemctl = Command::new("systemctl");
    systemctl.args(["show", SERVICE, "--no-pager", "--property=ExecStart"]);
    // Where no systemd is, there is no such service.
    let shown = collect::program(&mut systemctl, UNIT_TIME_MAX).unwrap_or_default();
    let mut is_told_all = shown.split_whitespace().any(tells_all);
    of_arguments(scrub, arguments(&shown));
    for words in recorders_of(dir) {
        is_told_all |= words.iter().any(|word| tells_all(word));
        of_arguments(scrub, options(words.iter().map(String::as_str)));
    }
    is_told_all
}

fn tells_all(word: &str) -> bool {
    ["-v", "--verbose", "--json"].contains(&word)
}

fn of_arguments(scrub: &mut Scrub, arguments: Vec<(String, String)>) {
    for (name, value) in arguments {
        let path = Path::new(&value);
        match name.as_str() {
            "targets" | "config" => of_settings(scrub, &settings::shown(path).1),
            "defaults-file" => option_file(scrub, path),
            "password-file" => secret_file(scrub, "password", path),
            "host" => scrub.add_host(&value),
            "user" => scrub.add_name("user", &value),
            "socket" => scrub.add_path(&value),
            _ => {}
        }
        if value.starts_with('/') || value.contains("://") {
            let key = format!("--{name}");
            scrub.add_setting(&Text { key, value });
        }
    }
}

/// The command lines of processes with our name that have files of this directory open. Which user may see another's is
/// the kernel's to say.
fn recorders_of(dir: &Path) -> Vec<Vec<String>> {
    let Ok(dir) = dir.canonicalize() else {
        return Vec::new();
    };
    let has_open = |process: &Path| {
        let files = std::fs::read_dir(process.join("fd")).into_iter().flatten();
        let mut files = files.flatten().map(|file| std::fs::read_link(file.path()));
        files.any(|file| file.is_ok_and(|file| file.starts_with(&dir)))
    };
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let lines = processes.filter_map(|process| {
        let words = command_line(&std::fs::read(process.path().join("cmdline")).ok()?);
        let program = words.first()?.rsplit('/').next()?;
        (program == SERVICE && has_open(&process.path())).then_some(words)
    });
    lines.collect()
}

/// The words of `/proc/PID/cmdline`, each of which ends with a zero.
fn command_line(bytes: &[u8]) -> Vec<String> {
    let words = bytes.split(|byte| *byte == 0);
    words
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .filter(|word| !word.is_empty())
        .collect()
}

/// The options of a service's command lines, as `systemctl show` prints them: `argv[]=/usr/bin/x --name value ; …`.
fn arguments(shown: &str) -> Vec<(String, String)> {
    let lines = shown.split("argv[]=").skip(1);
    let words = lines.map(|line| line.split(" ; ").next().unwrap_or_default());
    words
        .flat_map(|line| options(line.split_whitespace()))
        .collect()
}

/// The options among the words of a command line, with their values.
fn options<'w>(words: impl Iterator<Item = &'w str>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut words = words.peekable();
    while let Some(word) = words.next() {
        let Some(option) = word.strip_prefix("--") else {
            continue;
        };
        match option.split_once('=') {
            Some((name, value)) => found.push((name.to_owned(), value.to_owned())),
            None => {
                if let Some(value) = words.next_if(|word| !word.starts_with("--")) {
                    found.push((option.to_owned(), value.to_owned()));
                }
            }
        }
    }
    found
}

/// Servers as metrics, `check` and the list of stalls call them: by label, or by host and port.
pub(super) fn of_server(scrub: &mut Scrub, name: &str) {
    match name.rsplit_once(':') {
        Some((host, label)) => {
            scrub.add_host(host);
            scrub.add_label(label);
        }
        None => scrub.add_label(name),
    }
}

/// An incident's name: its server's label and a time.
pub(super) fn of_incident(scrub: &mut Scrub, id: &str) {
    let is_stamp = |text: &str| {
        text.len() >= 16
            && text
                .bytes()
                .all(|byte| byte.is_ascii_digit() || b"TZ.".contains(&byte))
    };
    match id.rsplit_once('-').filter(|(_, stamp)| is_stamp(stamp)) {
        Some((label, _)) => scrub.add_label(label),
        None => scrub.add_label(id),
    }
}

/// Servers, hooks, causes and an owner's labels in metrics.
pub(super) fn of_metrics(scrub: &mut Scrub, text: &str) {
    for (name, value) in text.lines().flat_map(labels) {
        match name {
            "server" => of_server(scrub, value),
            "cause" => of_cause(scrub, value),
            name if OWN_LABELS.contains(&name) => {}
            _ => scrub.add_name("name", value),
        }
    }
}

/// Metrics with other names for an owner's labels. They are renamed where they stand: he may call one `version`, which is
/// a word of every part.
pub(super) fn without_label_names(scrub: &Scrub, text: &str) -> String {
    let lines = text.lines();
    lines
        .map(|line| without_label_names_of(scrub, line) + "\n")
        .collect()
}

fn without_label_names_of(scrub: &Scrub, line: &str) -> String {
    let mut renamed = String::new();
    let mut rest = line;
    for (name, value) in labels(line) {
        let Some((head, behind)) = rest.split_once(&format!("{name}=\"")) else {
            break;
        };
        renamed += head;
        renamed += &match OWN_LABELS.contains(&name) || NAMING_LABELS.contains(&name) {
            true => name.to_owned(),
            false => scrub.pseudonym("name", name),
        };
        renamed += "=\"";
        renamed += value;
        rest = behind.get(value.len()..).unwrap_or_default();
    }
    renamed + rest
}

/// The labels of a line of metrics, as they stand there: `name{a="b",c="d\"e"} 1`.
fn labels(line: &str) -> Vec<(&str, &str)> {
    let mut found = Vec::new();
    let mut rest = match line.split_once('{') {
        Some((_, rest)) if !line.starts_with('#') => rest,
        _ => return found,
    };
    while let Some((name, behind)) = rest.split_once("=\"") {
        let mut is_escaped = false;
        let end = behind.find(|c: char| {
            let is_end = c == '"' && !is_escaped;
            is_escaped = c == '\\' && !is_escaped;
            is_end
        });
        let Some((value, after)) = end.and_then(|end| behind.split_at_checked(end)) else {
            break;
        };
        found.push((name.trim_start_matches(['"', ',', ' ']), value));
        rest = after;
    }
    found
}

/// Servers of a check's answer.
pub(super) fn of_check(scrub: &mut Scrub, answer: &str) {
    let servers: Value = serde_json::from_str(answer).unwrap_or_default();
    for server in servers.as_array().into_iter().flatten() {
        for name in ["server", "name"] {
            of_server(scrub, server[name].as_str().unwrap_or_default());
        }
    }
}

fn read(path: &Path) -> String {
    let mut text = Vec::new();
    // One that cannot be read told the service nothing.
    if let Ok(file) = kernel::read::open_file(path) {
        let _ = file.take(FILE_BYTES_MAX).read_to_end(&mut text);
    }
    String::from_utf8_lossy(&text).into_owned()
}

fn secret_file(scrub: &mut Scrub, what: &str, path: &Path) {
    if let Some(line) = read(path).lines().next() {
        scrub.add_secret(what, line.trim());
    }
}

/// Users, hosts and passwords of an option file, of all its sections.
fn option_file(scrub: &mut Scrub, path: &Path) {
    for (name, value) in option_values(&read(path)) {
        match name.as_str() {
            "user" => scrub.add_name("user", &value),
            "host" => scrub.add_host(&value),
            "socket" => scrub.add_path(&value),
            name if names_a_secret(name) => scrub.add_secret("password", &value),
            _ => {}
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_trigger_that_is_wrong_are_taken_out() {
        let mut scrub = Scrub::new(b"0123456789abcdef");
        let trigger = Text {
            key: "detect.triggers".to_owned(),
            value: "quillf > 1".to_owned(),
        };
        of_settings(&mut scrub, &[trigger]);
        let clean =
            scrub.clean("f.toml:2: no variable 'quillf'; if it is a plugin's, write status.quillf");
        assert!(!clean.contains("quillf"), "{clean}");
        assert!(clean.contains("write status."), "{clean}");
    }

    #[test]
    fn options_of_a_service_are_read() {
        let shown = "ExecStart={ path=/usr/bin/freezeframe ; argv[]=/usr/bin/freezeframe record --targets \
                     /etc/freezeframe/fleet.toml --html --port=3307 ; ignore_errors=no ; pid=0 }\n";
        let found = arguments(shown);
        let pairs: Vec<(&str, &str)> = found
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        assert_eq!(
            pairs,
            [("targets", "/etc/freezeframe/fleet.toml"), ("port", "3307")]
        );
        assert_eq!(arguments("ExecStart=\n"), []);
    }

    #[test]
    fn the_command_line_of_a_recorder_without_a_unit_is_read() {
        let words = command_line(b"/usr/bin/freezeframe\0record\0--host\0db7 x\0--user=alice\0");
        let found = options(words.iter().map(String::as_str));
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(found, [pair("host", "db7 x"), pair("user", "alice")]);
    }

    #[test]
    fn an_option_file_is_read_as_clients_read_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("my.cnf");
        std::fs::write(
            &path,
            "[mysqldump]\nuser = quillfeather # dba\nloose-password=\"hunter\\\\2 #x\"\n",
        )
        .unwrap();
        let mut scrub = Scrub::new(b"0123456789abcdef");
        option_file(&mut scrub, &path);
        let clean = scrub.clean("no login as quillfeather with hunter\\2 #x");
        assert!(
            !clean.contains("quillfeather") && !clean.contains("hunter"),
            "{clean}"
        );
    }

    #[test]
    fn the_host_of_an_address_is_read() {
        for (url, hosts) in [
            ("https://bot:T0K3N@a.example:8443/x", ["a.example"; 2]),
            ("http://h?x", ["h"; 2]),
            ("http://[::1]:80/", ["[::1]"; 2]),
            (
                "https://bot:T0/K3N@a.example:8443/x",
                ["bot:T0", "a.example"],
            ),
            ("https://chat.example/@team", ["chat.example", "team"]),
            ("sqlite:///var/f.db", [""; 2]),
            ("/srv/frames", [""; 2]),
        ] {
            assert_eq!(hosts_of(url), hosts, "{url}");
        }
    }

    #[test]
    fn labels_of_metrics_are_read_with_their_escapes() {
        let line = "x{server=\"a\\\"b\\\\\",team=\"shop\"} 1";
        assert_eq!(labels(line), [("server", "a\\\"b\\\\"), ("team", "shop")]);
        assert_eq!(labels("# HELP x {y=\"z\"}"), []);
        assert_eq!(labels("x 1"), []);
        assert_eq!(labels("x{server=\"a"), []);
    }

    #[test]
    fn names_of_an_owners_labels_get_other_names() {
        let scrub = Scrub::new(b"0123456789abcdef");
        let text = "# HELP x y\nup{server=\"a\"} 1\ninfo{server=\"a\",plumteam=\"b\\\"\",version=\"x\"} 1\nz 1\n";
        let renamed = without_label_names(&scrub, text);
        let name = scrub.pseudonym("name", "plumteam");
        assert_eq!(renamed, text.replace("plumteam", &name));
    }

    #[test]
    fn a_cause_that_is_in_no_catalogue_of_ours_is_somebodys() {
        let mut scrub = Scrub::new(b"0123456789abcdef");
        let metrics = "incidents_total{server=\"3306\",cause=\"plumword-batch\"} 1\n\
                       incidents_total{server=\"3306\",cause=\"row-lock-pileup\"} 1\n\
                       incidents_total{server=\"3306\",cause=\"\"} 1\n";
        of_metrics(&mut scrub, metrics);
        let clean = scrub.clean(metrics);
        assert!(!clean.contains("plumword"), "{clean}");
        assert!(clean.contains("cause=\"row-lock-pileup\""), "{clean}");
    }
}
