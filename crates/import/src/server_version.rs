//! The server's version, where a log or a path of its sources tells it.

use crate::line::Line;

/// The first version that one of the lines tells.
pub(crate) fn version(lines: &[Line<'_>]) -> Option<String> {
    lines.iter().find_map(|line| version_in(&line.text))
}

/// `Version: '5.6.21-log'`, `…/mysql-5.7.28/sql/…`, `…/percona-server-8.0.30-22/…`.
fn version_in(text: &str) -> Option<String> {
    let number = |rest: &str| {
        let end = rest
            .find(|c: char| !(c.is_ascii_digit() || c == '.'))
            .unwrap_or(rest.len());
        let number = rest.get(..end)?.trim_end_matches('.');
        (number.matches('.').count() == 2 && number.starts_with(|c: char| c.is_ascii_digit()))
            .then(|| number.to_owned())
    };
    if let Some(rest) = text.strip_prefix("Version: '") {
        let version = rest.split('\'').next();
        // Any other program may have such a line.
        let is_version = |text: &&str| {
            text.starts_with(|c: char| c.is_ascii_digit())
                && text
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b".+~-:".contains(&byte))
        };
        return version.filter(is_version).map(str::to_owned);
    }
    for (mark, suffix) in [
        ("mysql-", ""),
        ("percona-server-", ""),
        ("mariadb-", "-MariaDB"),
        ("MariaDB-", "-MariaDB"),
    ] {
        for (at, _) in text.match_indices(mark) {
            let in_path = at > 0 && text.as_bytes().get(at - 1) == Some(&b'/');
            if in_path && let Some(number) = text.get(at + mark.len()..).and_then(number) {
                return Some(format!("{number}{suffix}"));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::version_in;

    #[test]
    fn versions_are_where_they_are() {
        for (text, version) in [
            (
                "Version: '5.6.21-log'  socket: '/tmp/x'",
                Some("5.6.21-log"),
            ),
            (
                "at /usr/src/mysql-5.7.28/include/thr_cond.h:147",
                Some("5.7.28"),
            ),
            (
                "at /b/percona-server-8.0.30-22/storage/x.cc",
                Some("8.0.30"),
            ),
            ("see mysql-8.0.1 for more", None),
            ("Version: 'hunter2 of acme'  socket: ''", None),
            ("Version: '8 of acme'", None),
            ("/mysql-8.0/x", None),
        ] {
            assert_eq!(version_in(text).as_deref(), version, "{text}");
        }
    }
}
