//! The configuration file: read, checked, and made into a recorder's configuration.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use recorder::{FreeMin, RecorderConfig};
use serde::Deserialize;
use server::TlsMode;
use store::HistoryLimits;

use crate::feed::{self, FleetConfig};
use crate::gateway_config::{self, GatewayConfig};
use crate::hooks::{self, HookConfig};
use crate::listen;
use crate::target_config::{self, TargetConfig, error_position, host, socket, ssl_mode};
use crate::triggers;

const DEFAULT_PATH: &str = "/etc/freezeframe/freezeframe.toml";

/// Where root and the service of the packages keep recordings.
pub(crate) const SERVICE_DIR: &str = "/var/lib/freezeframe";

/// The configuration file. Everything has a default; what is unknown is an error.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Config {
    /// Where incidents and the history go.
    pub(crate) dir: Option<PathBuf>,
    /// A user's own causes.
    pub(crate) causes_dir: Option<PathBuf>,
    pub(crate) server: ServerConfig,
    pub(crate) incident: IncidentConfig,
    pub(crate) history: HistoryConfig,
    pub(crate) retention: RetentionConfig,
    pub(crate) detect: DetectConfig,
    pub(crate) queries: QueriesConfig,
    /// Where what is recorded is sent to.
    pub(crate) fleet: FleetConfig,
    /// The gateway that runs on this host.
    pub(crate) gateway: GatewayConfig,
    /// Who is told of incidents.
    pub(crate) hooks: Vec<HookConfig>,
    /// Where /healthz and /metrics are answered.
    pub(crate) listen: Option<SocketAddr>,
    /// Further names by which they are asked.
    pub(crate) listen_hosts: Vec<String>,
    /// Servers that are recorded by name.
    pub(crate) targets: Vec<TargetConfig>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct QueriesConfig {
    pub(crate) general_log: bool,
    pub(crate) general_log_seconds: Option<u64>,
    pub(crate) general_log_mebibytes: Option<u64>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct ServerConfig {
    #[serde(deserialize_with = "socket")]
    pub(crate) socket: Option<PathBuf>,
    #[serde(deserialize_with = "host")]
    pub(crate) host: Option<String>,
    pub(crate) port: Option<u16>,
    pub(crate) user: Option<String>,
    pub(crate) password_file: Option<PathBuf>,
    pub(crate) defaults_file: Option<PathBuf>,
    pub(crate) login_path: Option<String>,
    #[serde(deserialize_with = "ssl_mode")]
    pub(crate) ssl_mode: Option<TlsMode>,
    pub(crate) ssl_ca: Option<PathBuf>,
    pub(crate) ssl_cert: Option<PathBuf>,
    pub(crate) ssl_key: Option<PathBuf>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct IncidentConfig {
    pub(crate) before_seconds: Option<u64>,
    pub(crate) after_seconds: Option<u64>,
    pub(crate) max_seconds: Option<u64>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct HistoryConfig {
    pub(crate) keep: Option<bool>,
    pub(crate) hours: Option<u64>,
    pub(crate) mebibytes: Option<u64>,
}

/// What is kept of incidents, and how much room is left to others; 0 is no limit.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct RetentionConfig {
    pub(crate) incident_days: Option<u64>,
    pub(crate) incident_mebibytes: Option<u64>,
    pub(crate) free_mebibytes: Option<u64>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct DetectConfig {
    pub(crate) probe_limit_ms: Option<u64>,
    pub(crate) restart_seconds: Option<u64>,
    pub(crate) completions_share: Option<f64>,
    pub(crate) hung_share: Option<f64>,
    pub(crate) statement_limit_ms: Option<u64>,
    pub(crate) statement_times_usual: Option<f64>,
    pub(crate) stuck_above_usual: Option<f64>,
    pub(crate) system_share_min: Option<f64>,
    pub(crate) system_times_usual: Option<f64>,
    pub(crate) answer_limit_ms: Option<u64>,
    pub(crate) answer_times_usual: Option<f64>,
    pub(crate) slow_burn_limit_ms: Option<u64>,
    pub(crate) slow_burn_times: Option<f64>,
    pub(crate) new_usual_seconds: Option<u64>,
    pub(crate) same_incident_seconds: Option<u64>,
    pub(crate) incidents_per_hour: Option<usize>,
    pub(crate) triggers: Vec<String>,
}

impl Config {
    /// Where recordings are: what was named, what is configured, or the default place.
    pub(crate) fn directory(&self, named: Option<&Path>) -> PathBuf {
        let directory = named.or(self.dir.as_deref());
        directory.map_or_else(default_dir, Path::to_owned)
    }

    /// The file that was named, or the default one when it is there.
    pub(crate) fn path(named: Option<&Path>) -> Option<PathBuf> {
        let usual = || Some(Path::new(DEFAULT_PATH)).filter(|path| path.exists());
        named.or_else(usual).map(Path::to_owned)
    }

    /// Reads the file that was named, or the default one when it is there.
    pub(crate) fn load(named: Option<&Path>) -> Result<Self> {
        let Some(path) = Self::path(named) else {
            return Ok(Self::default());
        };
        let path = path.as_path();
        let text = std::fs::read_to_string(path).map_err(|error| unread(path, &error))?;
        let config: Self = match toml::from_str(&text) {
            Ok(config) => config,
            Err(error) => bail!("{}:{}", path.display(), error_position(&text, &error)),
        };
        for trigger in &config.detect.triggers {
            if let Err(error) = triggers::parse(trigger) {
                let line = text
                    .lines()
                    .position(|line| line.contains(trigger.as_str()));
                bail!(
                    "{}:{}: triggers: column {}: {}",
                    path.display(),
                    line.map_or(1, |line| line + 1),
                    error.column,
                    error.problem
                );
            }
        }
        for name in &config.listen_hosts {
            if let Err(error) = listen::host_name(name) {
                let line = text.lines().position(|line| line.contains(name.as_str()));
                bail!(
                    "{}:{}: listen_hosts: {error}",
                    path.display(),
                    line.map_or(1, |line| line + 1)
                );
            }
        }
        for (index, hook) in config.hooks.iter().enumerate() {
            if let Err(error) = hooks::check(hook) {
                let mut heads = text
                    .lines()
                    .enumerate()
                    .filter(|(_, line)| line.trim_start().starts_with("[[hooks]]"));
                let line = heads.nth(index).map_or(1, |(line, _)| line + 1);
                bail!("{}:{line}: {error:#}", path.display());
            }
        }
        for (head, checked) in [
            ("[fleet]", feed::check(&config.fleet)),
            ("[gateway]", gateway_config::check(&config.gateway)),
        ] {
            if let Err(error) = checked {
                let is_head = |line: &str| line.trim_start().starts_with(head);
                let line = text.lines().position(is_head).map_or(1, |line| line + 1);
                bail!("{}:{line}: {error:#}", path.display());
            }
        }
        target_config::check(path, &text, &config.targets)?;
        Ok(config)
    }

    /// What the recorder is told: the defaults, changed by the file.
    pub(crate) fn recorder(&self, dir: PathBuf) -> Result<RecorderConfig> {
        let mut config = RecorderConfig::in_dir(dir);
        let set = |target: &mut u64, seconds: Option<u64>| {
            if let Some(seconds) = seconds {
                *target = seconds.saturating_mul(1000);
            }
        };
        set(&mut config.before_ms, self.incident.before_seconds);
        set(&mut config.after_ms, self.incident.after_seconds);
        set(&mut config.incident_max_ms, self.incident.max_seconds);
        let limits = HistoryLimits::default();
        config.history = self.history.keep.unwrap_or(true).then(|| HistoryLimits {
            age: match self.history.hours {
                Some(hours) => Duration::from_secs(hours.saturating_mul(3600)),
                None => limits.age,
            },
            bytes: match self.history.mebibytes {
                Some(mebibytes) => mebibytes.saturating_mul(1 << 20),
                None => limits.bytes,
            },
        });
        let retention = &mut config.retention;
        let own = &self.retention;
        if let Some(days) = own.incident_days {
            let age = Duration::from_secs(days.saturating_mul(24 * 3600));
            retention.age = (days > 0).then_some(age);
        }
        let bytes = |mebibytes: u64| mebibytes.saturating_mul(1 << 20);
        if let Some(mebibytes) = own.incident_mebibytes {
            retention.bytes = (mebibytes > 0).then_some(bytes(mebibytes));
        }
        if let Some(mebibytes) = own.free_mebibytes {
            retention.free = FreeMin::Bytes(bytes(mebibytes));
        }
        let detect = &mut config.detect;
        let file = &self.detect;
        for (target, value) in [
            (&mut detect.probe_limit_ms, file.probe_limit_ms),
            (&mut detect.statement_limit_ms, file.statement_limit_ms),
            (&mut detect.answer_limit_ms, file.answer_limit_ms),
            (&mut detect.burn_limit_ms, file.slow_burn_limit_ms),
        ] {
            *target = value.unwrap_or(*target);
        }
        for (target, value) in [
            (&mut detect.completions_share, file.completions_share),
            (&mut detect.hung_share, file.hung_share),
            (
                &mut detect.statement_times_usual,
                file.statement_times_usual,
            ),
            (&mut detect.stuck_above_usual, file.stuck_above_usual),
            (&mut detect.system_share_min, file.system_share_min),
            (&mut detect.system_times_usual, file.system_times_usual),
            (&mut detect.answer_times_usual, file.answer_times_usual),
            (&mut detect.burn_times_hour_ago, file.slow_burn_times),
        ] {
            *target = value.unwrap_or(*target);
        }
        set(&mut detect.restart_ms, file.restart_seconds);
        set(&mut detect.new_usual_ms, file.new_usual_seconds);
        let hysteresis = &mut detect.hysteresis;
        set(&mut hysteresis.same_incident_ms, file.same_incident_seconds);
        hysteresis.per_hour = self
            .detect
            .incidents_per_hour
            .unwrap_or(hysteresis.per_hour);
        for trigger in &self.detect.triggers {
            detect.user.push(triggers::parse(trigger)?);
        }
        Ok(config)
    }
}

/// Where recordings go when nobody said. A service's own directory is that of its unit (systemd.exec(5),
/// `StateDirectory=`); of several the first.
fn default_dir() -> PathBuf {
    let of_unit = std::env::var("STATE_DIRECTORY").unwrap_or_default();
    if let Some(dir) = of_unit.split(':').find(|dir| !dir.is_empty()) {
        return PathBuf::from(dir);
    }
    if rustix::process::geteuid().is_root() {
        return PathBuf::from(SERVICE_DIR);
    }
    let state = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from);
    let home = || std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".local/state"));
    state
        .or_else(home)
        .unwrap_or_else(std::env::temp_dir)
        .join("freezeframe")
}

/// What is wrong with a file that cannot be read. The usual one is read by every command, and may be root's alone.
fn unread(path: &Path, error: &std::io::Error) -> anyhow::Error {
    let is_usual = path == Path::new(DEFAULT_PATH);
    let to_do = match is_usual && error.kind() == std::io::ErrorKind::PermissionDenied {
        true => "; use sudo, or --config /dev/null to do without it",
        false => "",
    };
    anyhow!("{}: {error}{to_do}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_file_that_only_root_may_read_is_no_end() {
        let refused = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
        let told = unread(Path::new(DEFAULT_PATH), &refused).to_string();
        assert!(
            told.ends_with("--config /dev/null to do without it"),
            "{told}"
        );
        let own = unread(Path::new("own.toml"), &refused).to_string();
        assert_eq!(own, format!("own.toml: {refused}"));
        assert!(Config::load(Some(Path::new("/dev/null"))).is_ok());
    }

    fn error_of(text: &str) -> String {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f.toml");
        std::fs::write(&path, text).unwrap();
        let error = Config::load(Some(&path)).unwrap_err();
        format!("{error:#}").replace(&format!("{}/", dir.path().display()), "")
    }

    #[test]
    fn mistakes_are_told_with_line_and_key() {
        let error = error_of("dir = \"/x\"\n[history]\nhours = \"many\"\n");
        assert!(
            error.starts_with("f.toml:3: hours: invalid type"),
            "{error}"
        );
        assert!(
            error.ends_with(", expected a whole number from 0 on"),
            "{error}"
        );
        let error = error_of("[history]\nkeep = 1\n");
        assert!(error.ends_with(", expected true or false"), "{error}");
        let error = error_of("[detect]\nprobe_limit = 3\n");
        assert!(
            error.starts_with("f.toml:2: unknown field `probe_limit`"),
            "{error}"
        );
        // A value in the place of a key.
        for line in [
            "hunter2 = 3",
            "'hunter2 of acme' = 3",
            "'`, expected hunter2' = 3",
            "hunter2.limit = 3",
        ] {
            let error = error_of(&format!("[detect]\n{line}\n"));
            assert!(
                error.starts_with("f.toml:2: unknown field, expected one of `"),
                "{error}"
            );
            assert!(!error.contains("hunter2"), "{error}");
        }
        let error = error_of("[detect]\ntriggers = [\n  'Uptime > 3',\n  'foo.bar > 3',\n]\n");
        assert!(
            error.starts_with("f.toml:4: triggers: column 1: no signal 'foo.bar'"),
            "{error}"
        );
        let error = error_of("[detect]\ntriggers = [\n  'x >> 3',\n]\n");
        assert!(error.starts_with("f.toml:3: triggers: column 4"), "{error}");
        let hook = "[[hooks]]\nshell = 'x'\n[[hooks]]\nurl = 'ftp://x'\n";
        let error = error_of(hook);
        assert!(
            error.starts_with("f.toml:3: hooks: url: http://host[:port]/path"),
            "{error}"
        );
        let error = error_of("\n[fleet]\nurl = 'ftp://x'\n");
        assert!(
            error.starts_with("f.toml:2: fleet: url: 'ftp://…' is no store"),
            "{error}"
        );
        let error = error_of("listen = \"nowhere\"\n");
        assert!(error.starts_with("f.toml:1: listen: "), "{error}");
        let error = error_of("listen_hosts = [\n  'db1:80',\n]\n");
        assert!(
            error.starts_with("f.toml:2: listen_hosts: a host name"),
            "{error}"
        );
        let error = error_of("[server]\nssl_mode = 'sure'\n");
        assert!(
            error.starts_with("f.toml:2: ssl_mode: one of DISABLED"),
            "{error}"
        );
        let error = error_of("[server]\nhost = 'mysql://root:hunter2@db1/'\n");
        assert_eq!(
            error,
            "f.toml:2: a host's name or number, without a login, a port or a path"
        );
        let error = error_of("[server]\npassword_file = 4711\n");
        assert!(
            error.starts_with("f.toml:2: password_file: invalid type: a whole number"),
            "{error}"
        );
        let error = error_of("[[targets]]\nname = 'x'\nsocket = 'mysql://root:hunter2@db1/'\n");
        assert!(!error.contains("hunter2"), "{error}");
        let error = error_of("[detect\n");
        assert!(error.starts_with("f.toml:1: "), "{error}");
        assert!(!error.contains('\n'));
    }

    #[test]
    fn no_mistake_is_told_with_its_value() {
        for text in [
            "[[hooks]]\ndeadline_seconds = 's3cret'\n",
            "[[hooks]]\nformat = 's3cret'\n",
            "[[hooks]]\non = [\n's3cret=x'\n]\n",
            "[[hooks]]\nurl = ['s3cret']\n",
            "[[hooks]]\nurl 'https://h/?s3cret=1'\n",
            "[[hooks]]\nurl = 'http://u:s3cret@h/'\n",
            "[[hooks]]\nurl = 's3cret'\n",
            "[[hooks]]\nurl = 'http://h/'\nheaders = ['Authorization s3cret']\n",
            "[fleet]\nurl = 'mysql://u:s3cret@h/'\n",
            "[fleet]\nurl = 'sqlite:///x'\nframes = 'https://u:s3cret@h/'\n",
            "[[targets]]\nname = 'a'\nport = 1\nmetrics = 'cmd:aws --secret s3cret'\n",
            "[[targets]]\nname = 'me:s3cret@db7'\nport = 1\n",
            "[server]\nssl_mode = 's3cret'\n",
            "[fleet]\nurl = 'http://me:s3cret'\n",
            "[fleet]\nurl = 'gateway+http://me@s3cret:x'\n",
            "[fleet]\nurl = 'sqlite:///x'\nframes = 's3+https://h/b/?Signature=s3cret'\n",
        ] {
            let error = error_of(text);
            assert!(error.starts_with("f.toml:"), "{error}");
            assert!(!error.contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn the_file_changes_the_defaults() {
        let text = "[incident]\nafter_seconds = 5\n[history]\nmebibytes = 8\n\
                    [detect]\ntriggers = ['Threads_running > 9']\n";
        let config: Config = toml::from_str(text).unwrap();
        let recorder = config.recorder("/x".into()).unwrap();
        assert_eq!((recorder.after_ms, recorder.before_ms), (5000, 60_000));
        assert_eq!(recorder.history.unwrap().bytes, 8 << 20);
        assert_eq!(recorder.detect.user.len(), 1);
        let kept = |text: &str| {
            let config: Config = toml::from_str(text).unwrap();
            config.recorder("/x".into()).unwrap().retention
        };
        let usual = kept("");
        assert_eq!((usual.age, usual.bytes), (None, Some(10 << 30)));
        assert_eq!(usual.free, FreeMin::Share);
        let text = "[retention]\nincident_days = 30\nincident_mebibytes = 0\nfree_mebibytes = 7\n";
        let own = kept(text);
        assert_eq!(own.age, Some(Duration::from_secs(30 * 86_400)));
        assert_eq!((own.bytes, own.free), (None, FreeMin::Bytes(7 << 20)));
        let config: Config = toml::from_str("[detect]\ntriggers = ['x']\n").unwrap();
        assert!(config.recorder("/x".into()).is_err());
    }
}
