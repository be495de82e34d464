//! Who logs in: what the user said, then login paths and option files.

use std::path::{Path, PathBuf};

use crate::Address;
use crate::login_error::{LoginError, file_of_secret};
use crate::login_path;
use crate::option_file::{self, FileLogin};
use crate::tls::{Tls, TlsOptions};

/// Who we are to the server. `Debug` does not show the password.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    /// User name.
    pub user: String,
    /// Password; none for authentication by the socket's peer.
    pub password: Option<String>,
    /// Where it is from, for messages.
    pub from: String,
    /// How the way to the server is protected.
    pub tls: Tls,
}

impl std::fmt::Debug for Login {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "Login({} from {})", self.user, self.from)
    }
}

/// What the user said about logging in.
#[derive(Debug, Clone, Default)]
pub struct LoginOptions {
    /// `--user`.
    pub user: Option<String>,
    /// `--password-file`: its first line is the password.
    pub password_file: Option<PathBuf>,
    /// `--defaults-file`; without it `~/.my.cnf` when it is there.
    pub defaults_file: Option<PathBuf>,
    /// `--login-path`: a login of the file that `mysql_config_editor` writes.
    pub login_path: Option<String>,
    /// That file; without it `~/.mylogin.cnf` when it is there.
    pub login_file: Option<PathBuf>,
    /// `MYSQL_PWD` of the environment.
    pub environment_password: Option<String>,
    /// Home directory.
    pub home: Option<PathBuf>,
    /// The name of the user that runs us, for authentication by the socket's peer.
    pub system_user: String,
    /// `--ssl-mode` and the files beside it; what is left open is the option file's.
    pub tls: TlsOptions,
}

/// The port of a server that is named without one.
const USUAL_PORT: u16 = 3306;

/// Who we are to the server, and where an option file says that it is.
#[derive(Debug, Clone)]
pub struct FoundLogin {
    /// The login.
    pub login: Login,
    /// Where the option file says that the server is, whole.
    pub address: Option<Address>,
    /// The option file's `host`, unless it is `localhost`, which means the unix socket (MySQL manual, 6.2.4 "Connecting
    /// to the MySQL Server Using Command Options").
    pub host: Option<String>,
}

/// Finds the login, and an address when the option file names one: `--user` and
/// `--password-file` first, then the option file, `MYSQL_PWD`, and the system user last.
pub fn find_login(options: &LoginOptions) -> Result<FoundLogin, LoginError> {
    let (path, required) = match (&options.defaults_file, &options.home) {
        (Some(path), _) => (Some(path.clone()), true),
        (None, Some(home)) => (Some(home.join(".my.cnf")), false),
        (None, None) => (None, false),
    };
    let mut file = FileLogin::default();
    let mut from = "the system user".to_owned();
    if let Some(path) = path
        && (required || path.exists())
    {
        file = option_file::parse(&path, &read(&path)?)?;
        if file.user.is_some() || file.password.is_some() {
            from = path.display().to_string();
        }
    }
    if let Some((more, file_name)) = login_path(options)? {
        if more.user.is_some() || more.password.is_some() {
            from = file_name;
        }
        file = more.or(file);
    }
    let password_from = match (
        &options.password_file,
        &file.password,
        &options.environment_password,
    ) {
        (Some(path), _, _) => Some(path.display().to_string()),
        (None, Some(_), _) => Some(from.clone()),
        (None, None, Some(_)) => Some("MYSQL_PWD".to_owned()),
        (None, None, None) => None,
    };
    if options.user.is_some() {
        from = "--user".to_owned();
    }
    // A user that was said and a password of another one is what is refused.
    if let Some(other) = password_from.filter(|other| *other != from) {
        from = format!("{from} and {other}");
    }
    let password = match &options.password_file {
        Some(path) => {
            let text = read_as(path, file_of_secret(path))?;
            Some(text.lines().next().unwrap_or("").to_owned())
        }
        None => file
            .password
            .or_else(|| options.environment_password.clone()),
    };
    let login = Login {
        user: options
            .user
            .clone()
            .or(file.user)
            .unwrap_or_else(|| options.system_user.clone()),
        password,
        from,
        tls: Tls::new(options.tls.clone().or(file.tls))?,
    };
    let host = file
        .host
        .filter(|host| !host.is_empty() && !host.eq_ignore_ascii_case("localhost"));
    let address = match (&host, file.socket, file.port) {
        (Some(host), _, port) => Some(Address::Tcp(host.clone(), port.unwrap_or(USUAL_PORT))),
        (None, Some(socket), _) => Some(Address::Socket(socket.into())),
        (None, None, Some(port)) => Some(Address::Tcp("127.0.0.1".to_owned(), port)),
        (None, None, None) => None,
    };
    Ok(FoundLogin {
        login,
        address,
        host,
    })
}

/// What the file of login paths says, and its name for messages. As the servers' own clients have it: it is stronger than
/// an option file, and its group `client` is read in any case.
fn login_path(options: &LoginOptions) -> Result<Option<(FileLogin, String)>, LoginError> {
    let usual = || options.home.as_ref().map(|home| home.join(".mylogin.cnf"));
    let Some(path) = options.login_file.clone().or_else(usual) else {
        return Ok(None);
    };
    let named = options.login_path.as_deref();
    let absent = |name: &str| {
        let problem = format!(
            "no login path '{name}'; to make it: mysql_config_editor set --login-path={name} --user=NAME --password"
        );
        login_path::wrong(&path, &problem)
    };
    // As with the option file: one that cannot be seen is not there.
    let found = match path.exists() {
        true => login_path::read(&path)?,
        false => None,
    };
    let Some(text) = found else {
        return named.map_or(Ok(None), |name| Err(absent(name)));
    };
    if let Some(name) = named.filter(|name| !option_file::has_group(&text, name)) {
        return Err(absent(name));
    }
    let groups: Vec<&str> = ["client", "freezeframe"].into_iter().chain(named).collect();
    let found = option_file::parse_groups(&path, &text, &groups)?;
    Ok(Some((found, path.display().to_string())))
}

fn read(path: &Path) -> Result<String, LoginError> {
    read_as(path, path.to_owned())
}

/// The text of a file that a message calls so.
fn read_as(path: &Path, shown: PathBuf) -> Result<String, LoginError> {
    std::fs::read_to_string(path).map_err(|source| LoginError::Unreadable {
        path: shown,
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(dir: &Path, option_file: &str) -> LoginOptions {
        std::fs::write(dir.join(".my.cnf"), option_file).unwrap();
        LoginOptions {
            home: Some(dir.to_owned()),
            system_user: "root".into(),
            ..LoginOptions::default()
        }
    }

    #[test]
    fn what_is_said_beats_the_file_and_the_file_beats_the_rest() {
        let dir = tempfile::tempdir().unwrap();
        let mut options = options(dir.path(), "[client]\nuser=a\npassword=b\nsocket=/s\n");
        options.environment_password = Some("env".into());
        let found = find_login(&options).unwrap();
        assert_eq!(
            (found.login.user.as_str(), found.login.password.as_deref()),
            ("a", Some("b"))
        );
        assert_eq!(found.address, Some(Address::Socket("/s".into())));

        let secret = dir.path().join("secret");
        std::fs::write(&secret, "p w\n").unwrap();
        options.user = Some("c".into());
        options.password_file = Some(secret);
        let login = find_login(&options).unwrap().login;
        assert_eq!(
            (login.user.as_str(), login.password.as_deref()),
            ("c", Some("p w"))
        );
        assert!(!format!("{login:?}").contains("p w"));
        assert!(
            login.from.starts_with("--user and ") && login.from.ends_with("/secret"),
            "{}",
            login.from
        );
        // A password of the option file with a user that was said.
        options.password_file = None;
        let from = find_login(&options).unwrap().login.from;
        assert!(
            from.starts_with("--user and ") && from.ends_with("my.cnf"),
            "{from}"
        );
        options.password_file = Some("/nonexistent/secret".into());
        let error = find_login(&options).unwrap_err().to_string();
        assert!(
            error.starts_with("the login cannot be read: /nonexistent/secret: No such file"),
            "{error}"
        );
    }

    #[test]
    fn a_password_in_the_place_of_its_file_is_not_told() {
        for password in ["hunter2", "hunter/2+x=", "-----BEGIN KEY-----\nhunter2"] {
            let options = LoginOptions {
                password_file: Some(password.into()),
                ..LoginOptions::default()
            };
            let error = find_login(&options).unwrap_err().to_string();
            assert!(
                error.starts_with("the login cannot be read: (what stands there is no path): ")
                    && !error.contains("hunter"),
                "{error}"
            );
        }
    }

    #[test]
    fn nothing_said_is_the_system_user_without_a_password() {
        let dir = tempfile::tempdir().unwrap();
        let options = LoginOptions {
            home: Some(dir.path().to_owned()),
            system_user: "root".into(),
            ..LoginOptions::default()
        };
        let found = find_login(&options).unwrap();
        assert_eq!(
            (
                found.login.user.as_str(),
                found.login.password,
                found.address
            ),
            ("root", None, None)
        );
    }

    #[test]
    fn a_login_path_is_stronger_than_the_option_file() {
        use std::os::unix::fs::PermissionsExt;

        let dir = tempfile::tempdir().unwrap();
        let mut options = options(dir.path(), "[client]\nuser=a\npassword=b\nssl-ca=/x\n");
        options.tls.mode = Some(crate::TlsMode::Disabled);
        options.login_path = Some("db7".into());
        let error = find_login(&options).unwrap_err().to_string();
        assert!(error.contains("no login path 'db7'"), "{error}");
        let text =
            "[client]\nuser = \"c\"\n[db7]\npassword = \"d#\"\nhost = \"db7\"\n[db8]\nuser=e\n";
        let path = dir.path().join(".mylogin.cnf");
        std::fs::write(&path, crate::login_path::tests::encrypt(text)).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        let found = find_login(&options).unwrap();
        assert_eq!(found.login.user, "c");
        assert_eq!(found.login.password.as_deref(), Some("d#"));
        assert!(found.login.from.ends_with(".mylogin.cnf"));
        assert_eq!(found.address, Some(Address::Tcp("db7".into(), 3306)));
        options.login_path = None;
        let usual = find_login(&options).unwrap().login;
        assert_eq!(
            (usual.user.as_str(), usual.password.as_deref()),
            ("c", Some("b"))
        );
        options.login_path = Some("db9".into());
        let error = find_login(&options).unwrap_err().to_string();
        assert!(error.contains("no login path 'db9'"), "{error}");
    }

    #[test]
    fn a_host_is_where_the_server_is() {
        let dir = tempfile::tempdir().unwrap();
        let place = |text: &str| {
            let found = find_login(&options(dir.path(), text)).unwrap();
            (found.address, found.host)
        };
        let tcp = |host: &str, port| Some(Address::Tcp(host.to_owned(), port));
        let db7 = Some("db7".to_owned());
        assert_eq!(
            place("[client]\nhost=db7\n"),
            (tcp("db7", 3306), db7.clone())
        );
        assert_eq!(
            place("[client]\nhost=db7\nport=3307\nsocket=/s\n"),
            (tcp("db7", 3307), db7),
            "as the server's own clients take it"
        );
        assert_eq!(
            place("[client]\nhost=localhost\nsocket=/s\n"),
            (Some(Address::Socket("/s".into())), None)
        );
    }

    #[test]
    fn a_named_file_must_be_there() {
        let options = LoginOptions {
            defaults_file: Some("/nowhere/my.cnf".into()),
            ..LoginOptions::default()
        };
        let error = find_login(&options).unwrap_err().to_string();
        assert!(
            error.starts_with("the login cannot be read: /nowhere/my.cnf: No such file"),
            "{error}"
        );
    }
}
