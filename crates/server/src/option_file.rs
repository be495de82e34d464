//! Option files of MySQL's clients, as far as they are about logging in.

use std::path::Path;

use crate::address::{host_name, socket_path};
use crate::login_error::LoginError;
use crate::tls::{TlsMode, TlsOptions};

/// What an option file says about logging in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FileLogin {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) socket: Option<String>,
    pub(crate) port: Option<u16>,
    pub(crate) host: Option<String>,
    pub(crate) tls: TlsOptions,
}

impl FileLogin {
    /// This, and what it leaves open from `other`.
    pub(crate) fn or(self, other: Self) -> Self {
        Self {
            user: self.user.or(other.user),
            password: self.password.or(other.password),
            socket: self.socket.or(other.socket),
            port: self.port.or(other.port),
            host: self.host.or(other.host),
            tls: self.tls.or(other.tls),
        }
    }
}

/// What MariaDB's clients know instead of a mode.
#[derive(Debug, Default)]
struct Switches {
    tls: Option<bool>,
    verify: Option<bool>,
}

impl Switches {
    /// What they mean: with a certificate to verify, its name is verified as well.
    fn set(&self, options: &mut TlsOptions) {
        options.is_wanted = self.tls == Some(true);
        let mode = match (self.tls, self.verify) {
            (Some(false), _) => Some(TlsMode::Disabled),
            (_, Some(true)) => Some(TlsMode::VerifyIdentity),
            (Some(true), Some(false)) => Some(TlsMode::Required),
            (None, Some(false)) => Some(TlsMode::Preferred),
            (_, None) => None,
        };
        options.mode = options.mode.or(mode);
    }
}

/// Groups that are read, later ones override (MySQL manual, 6.2.2.2 "Using Option Files").
const GROUPS: [&str; 4] = ["client", "client-server", "client-mariadb", "freezeframe"];

/// Reads the login options of an option file (`my.cnf`).
pub(crate) fn parse(path: &Path, text: &str) -> Result<FileLogin, LoginError> {
    parse_groups(path, text, &GROUPS)
}

/// The options of all groups with their values, as whoever reads them has them: without quotes, escapes and comments.
pub fn option_values(text: &str) -> impl Iterator<Item = (String, String)> {
    text.lines().filter_map(|line| {
        let (key, value) = line.trim().split_once('=')?;
        let key = key.trim().replace('_', "-");
        Some((key, unquote(value.trim())))
    })
}

/// Whether there is such a group.
pub(crate) fn has_group(text: &str, group: &str) -> bool {
    text.lines()
        .any(|line| head(line.trim()).is_some_and(|name| name == group))
}

/// The name of a group, in the line that begins it.
fn head(line: &str) -> Option<&str> {
    line.strip_prefix('[')
        .map(|name| name.trim_end_matches(']').trim())
}

/// Reads what these groups say; later ones override.
pub(crate) fn parse_groups(
    path: &Path,
    text: &str,
    groups: &[&str],
) -> Result<FileLogin, LoginError> {
    let mut login = FileLogin::default();
    let mut switches = Switches::default();
    for group in groups {
        let mut inside = false;
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if let Some(name) = head(line) {
                inside = name == *group;
                continue;
            }
            if !inside || line.is_empty() || line.starts_with(['#', ';', '!']) {
                continue;
            }
            let (key, value) = line.split_once('=').unwrap_or((line, ""));
            let value = unquote(value.trim());
            let key = key.trim().replace('_', "-");
            let key = key.strip_prefix("loose-").unwrap_or(&key);
            let wrong = |why: &dyn std::fmt::Display| LoginError::OptionFile {
                path: path.to_owned(),
                line: number,
                problem: format!("{key}: {why}"),
            };
            match key {
                "user" => login.user = Some(value),
                "password" => login.password = Some(value),
                "socket" => login.socket = Some(socket_path(value).map_err(|why| wrong(&why))?),
                "host" => login.host = Some(host_name(value).map_err(|why| wrong(&why))?),
                "ssl-ca" => login.tls.ca = Some(value.into()),
                "ssl-cert" => login.tls.cert = Some(value.into()),
                "ssl-key" => login.tls.key = Some(value.into()),
                "ssl-mode" => {
                    let mode = value.parse::<TlsMode>();
                    login.tls.mode = Some(mode.map_err(|why| wrong(&why))?);
                }
                "ssl" => switches.tls = Some(is_on(&value)),
                "skip-ssl" | "disable-ssl" => switches.tls = Some(false),
                "ssl-verify-server-cert" => switches.verify = Some(is_on(&value)),
                "skip-ssl-verify-server-cert" | "disable-ssl-verify-server-cert" => {
                    switches.verify = Some(false);
                }
                "port" => {
                    let port = value.parse::<u16>();
                    login.port = Some(port.map_err(|_| wrong(&"a number up to 65535 expected"))?);
                }
                _ => {}
            }
        }
    }
    switches.set(&mut login.tls);
    Ok(login)
}

/// A switch without a value is on.
fn is_on(value: &str) -> bool {
    !["0", "off", "false"]
        .iter()
        .any(|off| value.eq_ignore_ascii_case(off))
}

/// Takes quotes off; outside of quotes ` #` begins a comment. Escapes as in the manual.
fn unquote(value: &str) -> String {
    for quote in ['\'', '"'] {
        if let Some(rest) = value.strip_prefix(quote)
            && let Some(end) = rest.rfind(quote)
        {
            return unescape(&rest[..end]);
        }
    }
    let value = value.split_once(" #").map_or(value, |(value, _)| value);
    unescape(value.trim_end())
}

fn unescape(value: &str) -> String {
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars().peekable();
    while let Some(c) = chars.next() {
        let escaped = match (c, chars.peek()) {
            ('\\', Some('b')) => '\u{8}',
            ('\\', Some('t')) => '\t',
            ('\\', Some('n')) => '\n',
            ('\\', Some('r')) => '\r',
            ('\\', Some('s')) => ' ',
            ('\\', Some('\\')) => '\\',
            ('\\', Some('"')) => '"',
            ('\\', Some('\'')) => '\'',
            _ => {
                out.push(c);
                continue;
            }
        };
        chars.next();
        out.push(escaped);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> FileLogin {
        parse(Path::new("my.cnf"), text).unwrap()
    }

    #[test]
    fn groups_and_quotes() {
        let login = read(
            "[mysqld]\nuser=mysql\nport = 3306\n[client]\nuser = monitor # who\n\
             password=\"a#b c\\\\d\"\nport=3307\n!includedir /etc\n[freezeframe]\nuser=ff\n",
        );
        assert_eq!(login.user.as_deref(), Some("ff"));
        assert_eq!(login.password.as_deref(), Some("a#b c\\d"));
        assert_eq!(login.port, Some(3307));
    }

    #[test]
    fn options_of_all_groups_are_told_as_they_are_meant() {
        let text = "[mysqldump]\nuser = alice # dba\npassword=\"hunter\\\\2 #\"\nquick\n";
        let all: Vec<(String, String)> = option_values(text).collect();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            all,
            [pair("user", "alice"), pair("password", "hunter\\2 #")]
        );
    }

    #[test]
    fn a_hash_without_a_blank_belongs_to_the_password() {
        assert_eq!(
            read("[client]\npassword=a#b").password.as_deref(),
            Some("a#b")
        );
    }

    #[test]
    fn tls_by_the_names_of_both_makes() {
        let mode = |text: &str| read(&format!("[client]\n{text}\n")).tls.mode;
        assert_eq!(mode("ssl-mode=verify_ca"), Some(TlsMode::VerifyCa));
        assert_eq!(mode("loose_ssl_mode=DISABLED"), Some(TlsMode::Disabled));
        assert_eq!(mode("ssl"), None);
        assert_eq!(mode("skip-ssl"), Some(TlsMode::Disabled));
        assert_eq!(mode("ssl=0"), Some(TlsMode::Disabled));
        let verified = mode("ssl\nssl-verify-server-cert");
        assert_eq!(verified, Some(TlsMode::VerifyIdentity));
        let not = mode("ssl\nssl-verify-server-cert=off");
        assert_eq!(not, Some(TlsMode::Required));
        let tls = read("[client]\nssl\nssl-ca=/a\nssl_cert = /c\nssl-key=/k\n").tls;
        assert!(tls.is_wanted && tls.mode.is_none(), "{tls:?}");
        let files = [tls.ca, tls.cert, tls.key].map(|file| file.unwrap_or_default());
        assert_eq!(files, ["/a", "/c", "/k"].map(std::path::PathBuf::from));
        let text = "[client]\nssl-mode=sure\n";
        let error = parse(Path::new("my.cnf"), text).unwrap_err().to_string();
        assert!(
            error.starts_with("my.cnf:2: ssl-mode: one of DISABLED"),
            "{error}"
        );
    }

    #[test]
    fn a_host_with_a_login_in_it_is_refused_without_being_told() {
        for line in [
            "host=mysql://root:hunter2@db7",
            "host = 'root:hunter2@db7' # who",
            "loose-host=db7?password=hunter2",
            "socket=mysql://root:hunter2@db7",
        ] {
            let text = format!("[client]\n{line}\n");
            let error = parse(Path::new("my.cnf"), &text).unwrap_err().to_string();
            assert!(
                error.starts_with("my.cnf:2: ") && !error.contains("hunter2"),
                "{error}"
            );
        }
        let text = "[client]\nhost=mysql://root:hunter2@db7\n";
        let error = parse(Path::new("my.cnf"), text).unwrap_err();
        assert_eq!(
            error.to_string(),
            "my.cnf:2: host: a host's name or number, without a login, a port or a path"
        );
    }

    #[test]
    fn a_mistake_is_told_with_its_line() {
        let error = parse(Path::new("my.cnf"), "[client]\n\nport=many\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "my.cnf:3: port: a number up to 65535 expected"
        );
    }
}
