//! The option files that a server has read, and the directories that they include.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Files that are followed, and bytes of each.
const FILES_MAX: usize = 200;
const BYTES_MAX: usize = 1 << 20;

/// Where a server looks when its command line does not say it (MySQL 8.4 manual, 6.2.2.2 "Using Option Files";
/// Debian builds with `/etc/mysql`).
const DEFAULTS: [&str; 3] = ["/etc/my.cnf", "/etc/mysql/my.cnf", "/usr/etc/my.cnf"];

/// What was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct OptionFiles {
    /// Files that the server reads at its start, in that order, those of included directories left out.
    pub(super) files: Vec<PathBuf>,
    /// Directories whose files ending in `.cnf` it reads, the one that is read last at the end.
    pub(super) directories: Vec<PathBuf>,
    /// Started with `--no-defaults`: it reads none.
    pub(super) none: bool,
}

/// Finds the option files of a server by its command line. `read` gives a file of the server's own tree of files.
pub(super) fn find(
    arguments: &[String],
    read: &dyn Fn(&Path, usize) -> Option<String>,
) -> OptionFiles {
    let value = |name: &str| {
        arguments
            .iter()
            .find_map(|argument| argument.strip_prefix(name)?.strip_prefix('='))
            .map(PathBuf::from)
    };
    let mut found = OptionFiles {
        none: arguments.iter().any(|argument| argument == "--no-defaults"),
        ..OptionFiles::default()
    };
    if found.none {
        return found;
    }
    let first: Vec<PathBuf> = match value("--defaults-file") {
        Some(file) => vec![file],
        None => DEFAULTS
            .iter()
            .map(PathBuf::from)
            .chain(value("--defaults-extra-file"))
            .collect(),
    };
    let mut seen = BTreeSet::new();
    for file in first {
        follow(&file, read, &mut seen, &mut found);
    }
    found
}

fn follow(
    file: &Path,
    read: &dyn Fn(&Path, usize) -> Option<String>,
    seen: &mut BTreeSet<PathBuf>,
    found: &mut OptionFiles,
) {
    if seen.len() >= FILES_MAX || !seen.insert(file.to_owned()) {
        return;
    }
    let Some(text) = read(file, BYTES_MAX) else {
        return;
    };
    found.files.push(file.to_owned());
    for line in text.lines().map(str::trim) {
        if let Some(dir) = line.strip_prefix("!includedir") {
            let dir = PathBuf::from(dir.trim());
            if dir.is_absolute() {
                // The last mention counts: what is read later wins.
                found.directories.retain(|known| *known != dir);
                found.directories.push(dir);
            }
        } else if let Some(other) = line.strip_prefix("!include ") {
            follow(Path::new(other.trim()), read, seen, found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(arguments: &[&str], files: &[(&str, &str)]) -> OptionFiles {
        let arguments: Vec<String> = arguments.iter().map(|text| (*text).to_owned()).collect();
        find(&arguments, &|path, _| {
            let file = files.iter().find(|(name, _)| Path::new(name) == path);
            file.map(|(_, text)| (*text).to_owned())
        })
    }

    #[test]
    fn directories_are_those_of_the_files_that_are_read() {
        let debian = [(
            "/etc/mysql/my.cnf",
            "[client-server]\n!includedir /etc/mysql/conf.d/\n!includedir /etc/mysql/mariadb.conf.d/\n",
        )];
        let all = found(&["/usr/sbin/mariadbd"], &debian);
        assert_eq!(all.files, [Path::new("/etc/mysql/my.cnf")]);
        assert_eq!(
            all.directories.last().unwrap(),
            Path::new("/etc/mysql/mariadb.conf.d/")
        );
        // Another file was named: Debian's is not read.
        let other = [
            debian[0],
            ("/srv/a.cnf", "!include /srv/b.cnf\n"),
            ("/srv/b.cnf", "!includedir /srv/d\n!include /srv/a.cnf\n"),
        ];
        let all = found(&["mysqld", "--defaults-file=/srv/a.cnf"], &other);
        assert_eq!(all.directories, [Path::new("/srv/d")]);
        assert!(found(&["mysqld", "--no-defaults"], &debian).none);
        assert_eq!(found(&["mysqld"], &[]), OptionFiles::default());
    }
}
