use std::path::Path;

use crate::login_error::LoginError;

/// What an option file says about logging in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FileLogin {
    pub(crate) user: Option<String>,
    pub(crate) password: Option<String>,
    pub(crate) socket: Option<String>,
    pub(crate) port: Option<u16>,
    pub(crate) host: Option<String>,
}

/// Groups that are read, later ones override (MySQL manual, 6.2.2.2 "Using Option Files").
const GROUPS: [&str; 4] = ["client", "client-server", "client-mariadb", "freezeframe"];

/// Reads the login options of an option file (`my.cnf`).
pub(crate) fn parse(path: &Path, text: &str) -> Result<FileLogin, LoginError> {
    let mut login = FileLogin::default();
    for group in GROUPS {
        let mut inside = false;
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if let Some(name) = line.strip_prefix('[') {
                inside = name.trim_end_matches(']').trim() == group;
                continue;
            }
            if !inside || line.is_empty() || line.starts_with(['#', ';', '!']) {
                continue;
            }
            let (key, value) = line.split_once('=').unwrap_or((line, ""));
            let value = unquote(value.trim());
            match key.trim().replace('_', "-").as_str() {
                "user" => login.user = Some(value),
                "password" => login.password = Some(value),
                "socket" => login.socket = Some(value),
                "host" => login.host = Some(value),
                "port" => {
                    let port = value.parse().map_err(|_| LoginError::OptionFile {
                        path: path.to_owned(),
                        line: number,
                        problem: format!("port '{value}' is not a port number"),
                    })?;
                    login.port = Some(port);
                }
                _ => {}
            }
        }
    }
    Ok(login)
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
    fn a_hash_without_a_blank_belongs_to_the_password() {
        assert_eq!(
            read("[client]\npassword=a#b").password.as_deref(),
            Some("a#b")
        );
    }

    #[test]
    fn a_mistake_is_told_with_its_line() {
        let error = parse(Path::new("my.cnf"), "[client]\n\nport=many\n").unwrap_err();
        assert_eq!(
            error.to_string(),
            "my.cnf:3: port 'many' is not a port number"
        );
    }
}
