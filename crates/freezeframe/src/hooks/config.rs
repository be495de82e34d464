//! Hooks as they are configured, and what is wrong with them.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use serde::Deserialize;
use transport::program::shown;

use super::address::Address;
use super::curl;
use super::event_kind::EventKind;
use super::format::Format;

/// How long a program or an address may take, unless the configuration says otherwise.
const DEADLINE_SECONDS: u64 = 30;

/// Where PagerDuty takes events (Events API v2).
const PAGERDUTY: &str = "https://events.pagerduty.com/v2/enqueue";

/// The longest that may be said.
const DEADLINE_SECONDS_MAX: u64 = 3600;

/// A hook, as the configuration has it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct HookConfig {
    /// What it is called in messages and metrics; else its program or host.
    name: Option<String>,
    /// Which events; else start, end and verdict.
    on: Option<Vec<EventKind>>,
    /// Program and arguments; no shell.
    program: Option<Vec<String>>,
    /// A line for `/bin/sh -c`.
    shell: Option<String>,
    /// Where to post to.
    url: Option<String>,
    /// What the receiver understands; else our own JSON.
    format: Option<Format>,
    /// A file whose first line signs our own JSON, or is PagerDuty's routing key.
    secret_file: Option<PathBuf>,
    /// Certificates that are trusted there, by https, instead of the system's.
    ca_file: Option<PathBuf>,
    /// Further header lines of a post, `Name: value`.
    headers: Vec<String>,
    /// How long it may take.
    deadline_seconds: Option<u64>,
}

impl HookConfig {
    /// What its files of secrets hold, where they can be read.
    pub(crate) fn secrets(&self) -> Option<String> {
        secret(self.secret_file.as_deref()?).ok()
    }

    /// A hook that posts there, with defaults else.
    pub(crate) fn posting_to(url: String) -> Self {
        Self {
            url: Some(url),
            ..Self::default()
        }
    }
}

/// What a hook does.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Action {
    /// Runs a program.
    Run(Vec<String>),
    /// Posts by ourselves.
    Post(Address),
    /// Posts by curl(1).
    Curl(curl::Target),
}

/// A hook that is well formed.
#[derive(Debug, Clone)]
pub(super) struct Hook {
    pub(super) name: String,
    pub(super) on: Vec<EventKind>,
    pub(super) action: Action,
    pub(super) headers: Vec<String>,
    pub(super) format: Format,
    pub(super) secret: Option<String>,
    pub(super) deadline: Duration,
}

impl Hook {
    pub(super) fn new(config: &HookConfig) -> Result<Self> {
        let format = config.format.unwrap_or_default();
        let usual = (format == Format::Pagerduty).then(|| PAGERDUTY.to_owned());
        let url = config.url.clone().or(usual);
        let action = match (&config.program, &config.shell, &url) {
            (Some(program), None, None) if program.first().is_some_and(|name| !name.is_empty()) => {
                Action::Run(program.clone())
            }
            (None, Some(line), None) => {
                Action::Run(vec!["/bin/sh".to_owned(), "-c".to_owned(), line.clone()])
            }
            (None, None, Some(url)) => post(url, config.ca_file.as_deref())?,
            _ => bail!("hooks: each hook needs one of program = [\"/path\", …], shell, url"),
        };
        if matches!(action, Action::Run(_)) && (config.format, &config.secret_file) != (None, &None)
        {
            bail!("hooks: format and secret_file work only with url = \"…\"");
        }
        let secret = config.secret_file.as_deref().map(secret).transpose()?;
        match (format, secret.is_some()) {
            (Format::Pagerduty, false) => {
                bail!(
                    "hooks: format = \"pagerduty\" needs secret_file: its first line is the routing key"
                )
            }
            (Format::Slack | Format::Alertmanager | Format::Otlp, true) => {
                bail!(
                    "hooks: secret_file works only with format = \"json\" (it signs) and \"pagerduty\""
                )
            }
            _ => {}
        }
        let on = config.on.clone().unwrap_or_else(|| format.usual());
        if format.has_alerts() && !(on.contains(&EventKind::Start) && on.contains(&EventKind::End))
        {
            bail!("hooks: on: this format needs both start and end, to open and close an alert");
        }
        if let Some(path) = &config.ca_file {
            if !matches!(action, Action::Curl(_)) {
                bail!("hooks: ca_file works only with url = \"https://…\"");
            }
            std::fs::metadata(path)
                .with_context(|| format!("hooks: ca_file: {}", path.display()))?;
        }
        let bad = |line: &String| !line.contains(':') || line.contains(['\r', '\n', '"', '\\']);
        if let Some(at) = config.headers.iter().position(bad) {
            bail!(
                "hooks: headers: number {}: 'Name: value' expected, without quotes and backslashes",
                at + 1
            );
        }
        let seconds = config.deadline_seconds.unwrap_or(DEADLINE_SECONDS);
        if seconds == 0 || seconds > DEADLINE_SECONDS_MAX {
            bail!("hooks: deadline_seconds must be 1 to {DEADLINE_SECONDS_MAX}");
        }
        let name = match (&config.name, &action) {
            (Some(name), _) => name.clone(),
            (None, Action::Run(program)) => match (&config.shell, program.first()) {
                (Some(_), _) => "shell".to_owned(),
                (None, path) => {
                    let path = path.map_or_else(String::new, |path| shown(path));
                    let name = Path::new(&path).file_name().unwrap_or_default();
                    name.to_string_lossy().into_owned()
                }
            },
            (None, Action::Post(address)) => address.host.clone(),
            (None, Action::Curl(target)) => target.address.authority.clone(),
        };
        Ok(Self {
            name,
            on,
            action,
            headers: config.headers.clone(),
            format,
            secret,
            deadline: Duration::from_secs(seconds),
        })
    }

    /// What keeps it from telling anybody: a program that is not there, or may not be run.
    pub(super) fn problem(&self) -> Option<String> {
        let Action::Run(program) = &self.action else {
            return None;
        };
        let name = program.first()?;
        // A bare name is looked up in $PATH when it is run.
        if !name.contains('/') {
            return None;
        }
        let tried = rustix::fs::access(name.as_str(), rustix::fs::Access::EXEC_OK);
        let error = tried.err()?;
        Some(format!("{}: {}: {error}", self.name, shown(name)))
    }

    /// The name of its queue: the same after a restart, whatever else the configuration says.
    pub(super) fn key(&self) -> String {
        let mut target = match &self.action {
            Action::Run(program) => program.join("\0"),
            Action::Post(address) => {
                format!("http://{}{}", address.authority, address.path)
            }
            // Not its login: a short password could be guessed from the name.
            Action::Curl(target) => {
                let address = &target.address;
                format!("https://{}{}", address.authority, address.path)
            }
        };
        // Several services of PagerDuty have one address.
        match (self.format, &self.secret) {
            (Format::Json, _) => {}
            (Format::Pagerduty, Some(routing_key)) => target += &format!("\0{routing_key}"),
            (other, _) => target += &format!("\0{other:?}"),
        }
        format!("{:016x}", fnv(target.as_bytes()))
    }
}

/// The first line of a file of a secret. One that everybody can read is none.
fn secret(path: &Path) -> Result<String> {
    let whom = || {
        let path = server::file_of_secret(path);
        format!("hooks: secret_file: {}", path.display())
    };
    let mode = std::fs::metadata(path).with_context(whom)?;
    let mode = mode.permissions().mode() & 0o777;
    if mode & 0o007 != 0 {
        bail!(
            "{}: everybody can read it (mode {mode:04o}): chmod 640, group freezeframe",
            whom()
        );
    }
    let text = std::fs::read_to_string(path).with_context(whom)?;
    match text.lines().next().map(str::trim) {
        Some(line) if !line.is_empty() => Ok(line.to_owned()),
        _ => bail!("{}: its first line is empty", whom()),
    }
}

/// FNV-1a, 64 bits: a name for a file, no more.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

fn post(url: &str, ca_file: Option<&Path>) -> Result<Action> {
    let address: Address = url.parse().map_err(|told| anyhow!("hooks: url: {told}"))?;
    if !address.is_tls {
        return Ok(Action::Post(address));
    }
    transport::curl::installed().with_context(|| {
        format!("hooks: url: {address}: https needs curl, which is not installed")
    })?;
    Ok(Action::Curl(curl::Target {
        address,
        ca_file: ca_file.map(Path::to_owned),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hook(text: &str) -> Result<Hook> {
        Hook::new(&toml::from_str(text).unwrap())
    }

    #[test]
    fn a_mistake_is_told_by_its_key_and_never_by_its_value() {
        for text in [
            "url = 'ftp://T0K3N/'",
            "url = 'http://u:T0K3N@h/'",
            "url = 'https://h/T0K3N x'",
            "url = 'http://h/'\nheaders = ['Authorization Bearer T0K3N']",
            "url = 'http://h/'\nheaders = ['a: b', 'Authorization: \"T0K3N\"']",
            "url = 'http://h/T0K3N'\nprogram = ['T0K3N']",
            "shell = 'T0K3N'\nformat = 'slack'",
            "url = 'http://h/'\nformat = 'pagerduty'\nsecret_file = 'T0K3N'",
        ] {
            let told = format!("{:#}", hook(text).unwrap_err());
            assert!(
                told.starts_with("hooks: ") && !told.contains("T0K3N"),
                "{told}"
            );
        }
    }

    #[test]
    fn a_hook_is_not_called_by_a_password() {
        if transport::curl::installed().is_some() {
            for url in [
                "https://bot:T0K3N@alerts.example/x",
                "https://T0K3N@alerts.example",
            ] {
                let one = hook(&format!("url = '{url}'")).unwrap();
                assert_eq!(one.name, "alerts.example");
                assert!(!format!("{:?}", one.action).contains("T0K3N"));
            }
        }
    }

    #[test]
    fn a_format_has_what_it_needs() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("key");
        let with = |format: &str, more: &str| {
            hook(&format!("url = 'http://h/'\nformat = '{format}'\n{more}"))
        };
        let key = format!("secret_file = '{}'\n", file.display());
        assert!(with("json", &key).is_err(), "it is not there");
        std::fs::write(&file, "s3cret\nmore\n").unwrap();
        let mode = |mode| {
            let mode = std::fs::Permissions::from_mode(mode);
            std::fs::set_permissions(&file, mode).unwrap();
        };
        mode(0o644);
        let error = format!("{:#}", with("json", &key).unwrap_err());
        assert!(
            error.contains("mode 0644") && !error.contains("s3cret"),
            "{error}"
        );
        mode(0o640);
        assert_eq!(
            with("json", &key).unwrap().secret.as_deref(),
            Some("s3cret")
        );
        assert!(with("slack", &key).is_err() && with("alertmanager", &key).is_err());
        assert_eq!(
            with("slack", "").unwrap().on,
            [EventKind::Start, EventKind::Verdict]
        );
        assert!(with("pagerduty", "").is_err(), "no routing key");
        assert!(with("pagerduty", &format!("{key}on = ['start']")).is_err());
        assert_eq!(with("alertmanager", "").unwrap().on.len(), 4);
        assert!(hook("program = ['/bin/true']\nformat = 'slack'").is_err());
        // Each has a queue of its own.
        let one = with("pagerduty", &key).unwrap().key();
        std::fs::write(&file, "0ther").unwrap();
        let keys = [
            one,
            with("pagerduty", &key).unwrap().key(),
            with("slack", "").unwrap().key(),
            with("json", "").unwrap().key(),
        ];
        assert!((1..4).all(|at| !keys[..at].contains(&keys[at])), "{keys:?}");
        if transport::curl::installed().is_some() {
            let usual = hook(&format!("format = 'pagerduty'\n{key}")).unwrap();
            assert_eq!(usual.name, "events.pagerduty.com");
        }
    }

    #[test]
    fn a_hook_is_one_thing_and_keeps_its_queue() {
        assert!(hook("").is_err());
        assert!(hook("program = []").is_err());
        assert!(hook("program = ['/bin/true']\nurl = 'http://h/'").is_err());
        assert!(hook("url = 'http://h/'\nheaders = [\"a: b\\r\\nc: d\"]").is_err());
        assert!(hook("url = 'http://h/'\ndeadline_seconds = 0").is_err());
        assert!(hook("url = 'http://h/'\nca_file = '/dev/null'").is_err());
        assert!(hook("url = 'https://h/'\nca_file = '/nonexistent/ca.pem'").is_err());
        let one = hook("program = ['/bin/page', 'x']\non = ['verdict']").unwrap();
        let again = hook("name = 'n'\nprogram = ['/bin/page', 'x']").unwrap();
        let other = hook("program = ['/bin/page', 'y']").unwrap();
        assert_eq!(one.key(), again.key());
        assert_ne!(one.key(), other.key());
        assert_eq!((one.name.as_str(), again.name.as_str()), ("page", "n"));
        assert_eq!((one.on.len(), again.on.len()), (1, 3));
        // A whole command line in the place of its program shows no more than that.
        let line = hook("program = ['/nonexistent/page -k T0K3N https://h/T0K3N']").unwrap();
        assert_eq!(line.name, "page…");
        let problem = line.problem().unwrap();
        assert!(
            problem.starts_with("page…: /nonexistent/page…: "),
            "{problem}"
        );
        assert!(!problem.contains("T0K3N"), "{problem}");
        let shell = hook("shell = 'logger stalled'").unwrap();
        assert_eq!(
            shell.action,
            Action::Run(
                ["/bin/sh", "-c", "logger stalled"]
                    .map(str::to_owned)
                    .into()
            )
        );
    }
}
