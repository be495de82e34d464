//! Who may send: a file with a line for each token, its SHA-256 and the hosts whose rows it may send.
//!
//! ```text
//! # HOST SHA-256-OF-THE-TOKEN [FURTHER-HOST…]
//! db1 9f86…
//! watch1 60303… db2 db3
//! watch2 fd61… *
//! ```
//!
//! A token has 256 random bits, so its hash tells nothing about it, and everybody may read the file. It is read again when
//! it is another one.

use std::collections::HashMap;
use std::fs::{File, Permissions};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::fleet::gateway::Owner;
use anyhow::{Context, Result, anyhow, bail};
use cli::output;
use rustix::fs::FlockOperation;
use sha2::{Digest, Sha256};

/// Bytes of the file that are read: a hundred thousand hosts.
const BYTES_MAX: u64 = 16 << 20;

/// What a token begins with, so that those who look for secrets in texts find it.
const PREFIX: &str = "ffg_";

/// Random bytes of a token.
const TOKEN_BYTES: usize = 32;

/// Bytes of a host's name.
const NAME_BYTES_MAX: usize = 253;

/// The file of a gateway with this directory.
pub(super) fn path_in(dir: &Path) -> PathBuf {
    dir.join("hosts")
}

/// A line of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) owner: Owner,
    hash: [u8; 32],
}

impl Line {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_whitespace();
        let name = name(words.next()?).ok()?;
        let hash = of_hex(words.next()?)?;
        let mut owner = Owner {
            name,
            ..Owner::default()
        };
        for word in words {
            match word {
                "*" => owner.any = true,
                host => owner.also.push(host.to_owned()),
            }
        }
        Some(Self { owner, hash })
    }
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.owner.name, hex(&self.hash))?;
        for host in &self.owner.also {
            write!(f, " {host}")?;
        }
        match self.owner.any {
            true => f.write_str(" *"),
            false => Ok(()),
        }
    }
}

/// What a file is told apart by from what it was.
type Stamp = (i64, i64, u64, u64);

/// The tokens that are good.
pub(super) struct Hosts {
    path: PathBuf,
    seen: Option<Stamp>,
    known: HashMap<[u8; 32], Arc<Owner>>,
}

impl Hosts {
    /// What the file has; nothing where there is none.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let mut hosts = Self {
            path: path.to_owned(),
            seen: None,
            known: HashMap::new(),
        };
        hosts.refresh()?;
        Ok(hosts)
    }

    /// How many tokens are good.
    pub(super) fn count(&self) -> usize {
        self.known.len()
    }

    /// Whose token this is.
    ///
    /// # Errors
    ///
    /// When the file cannot be read now.
    pub(super) fn owner(&mut self, token: &str) -> Result<Option<Arc<Owner>>> {
        self.refresh()?;
        let hash: [u8; 32] = Sha256::digest(token).into();
        Ok(self.known.get(&hash).cloned())
    }

    fn refresh(&mut self) -> Result<()> {
        let found = stamp(&self.path).with_context(|| self.path.display().to_string())?;
        if found == self.seen {
            return Ok(());
        }
        let (lines, wrong) = lines(&self.path)?;
        for number in wrong {
            output::note(&format!(
                "{}:{number}: not a line of HOST and SHA-256; it is left out",
                self.path.display()
            ));
        }
        let known = lines.into_iter().map(|line| (line.hash, line.owner.into()));
        self.known = known.collect();
        self.seen = found;
        Ok(())
    }
}

fn stamp(path: &Path) -> std::io::Result<Option<Stamp>> {
    match path.metadata() {
        Ok(file) => Ok(Some((
            file.mtime(),
            file.mtime_nsec(),
            file.ino(),
            file.len(),
        ))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// The lines of the file, and the numbers of those that are none.
pub(super) fn lines(path: &Path) -> Result<(Vec<Line>, Vec<usize>)> {
    let context = || path.display().to_string();
    let mut text = String::new();
    match File::open(path) {
        Ok(file) => {
            file.take(BYTES_MAX + 1)
                .read_to_string(&mut text)
                .with_context(context)?;
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error).with_context(context),
    }
    if text.len() as u64 > BYTES_MAX {
        bail!("{}: over 16 MiB", path.display());
    }
    let (mut found, mut wrong) = (Vec::new(), Vec::new());
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        match Line::parse(line) {
            Some(line) => found.push(line),
            None => wrong.push(number),
        }
    }
    Ok((found, wrong))
}

/// A host's name as rows have it.
pub(super) fn name(text: &str) -> Result<String, String> {
    let is_good = |c: char| !c.is_whitespace() && !c.is_control();
    let is_name = !text.is_empty()
        && text.len() <= NAME_BYTES_MAX
        && !text.starts_with(['#', '*'])
        && text.chars().all(is_good);
    match is_name {
        true => Ok(text.to_owned()),
        false => Err("a host name as `hostname` prints it expected".to_owned()),
    }
}

/// Gives a host a token, besides those that it has, and tells it.
pub(super) fn add(dir: &Path, owner: Owner) -> Result<String> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| anyhow!("no random numbers: {error}"))?;
    let token = format!("{PREFIX}{}", hex(&bytes));
    let hash = Sha256::digest(&token).into();
    change(dir, |text| {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        *text += &format!("{}\n", Line { owner, hash });
    })?;
    Ok(token)
}

/// Takes the tokens of a host, all of them or all but the newest; how many these were.
pub(super) fn remove(dir: &Path, name: &str, keep_newest: bool) -> Result<usize> {
    let mut count = 0;
    change(dir, |text| {
        let is_its = |line: &str| Line::parse(line).is_some_and(|line| line.owner.name == name);
        let its = text.lines().filter(|line| is_its(line)).count();
        count = its.saturating_sub(usize::from(keep_newest));
        let mut left = count;
        let rest = text.lines().filter(|line| {
            let goes = left > 0 && is_its(line);
            left -= usize::from(goes);
            !goes
        });
        *text = rest.map(|line| format!("{line}\n")).collect();
    })?;
    Ok(count)
}

/// Changes the file: whole or not at all, and one after the other.
fn change(dir: &Path, change: impl FnOnce(&mut String)) -> Result<()> {
    let path = path_in(dir);
    let context = || path.display().to_string();
    let folder = File::open(dir).with_context(|| dir.display().to_string())?;
    rustix::fs::flock(&folder, FlockOperation::LockExclusive).with_context(context)?;
    let mut text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            "# HOST SHA-256-OF-THE-TOKEN [FURTHER-HOST…]\n".to_owned()
        }
        Err(error) => return Err(error).with_context(context),
    };
    change(&mut text);
    let mut file = tempfile::NamedTempFile::new_in(dir).with_context(context)?;
    // Root adds hosts, and the gateway is another user.
    let everybody = Permissions::from_mode(0o644);
    file.as_file()
        .set_permissions(everybody)
        .and_then(|()| file.write_all(text.as_bytes()))
        .and_then(|()| file.as_file().sync_all())
        .with_context(context)?;
    file.persist(&path)
        .map_err(|error| error.error)
        .with_context(context)?;
    folder.sync_all().with_context(context)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn of_hex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    for (index, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * index..2 * index + 2)?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(name: &str) -> Owner {
        Owner {
            name: name.to_owned(),
            ..Owner::default()
        }
    }

    #[test]
    fn a_token_is_known_from_when_it_is_added_until_it_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let mut hosts = Hosts::read(&path_in(dir.path())).unwrap();
        assert_eq!(hosts.count(), 0);
        let first = add(dir.path(), owner("db1")).unwrap();
        let second = add(dir.path(), owner("db1")).unwrap();
        let watch = Owner {
            also: vec!["db2".to_owned()],
            any: true,
            ..owner("watch")
        };
        let third = add(dir.path(), watch.clone()).unwrap();
        let text = std::fs::read_to_string(path_in(dir.path())).unwrap();
        for token in [&first, &second, &third] {
            assert!(token.starts_with(PREFIX) && token.len() == 68);
            assert!(!text.contains(&token[PREFIX.len()..]));
        }
        assert_ne!(first, second);
        assert_eq!(*hosts.owner(&first).unwrap().unwrap(), owner("db1"));
        assert_eq!(*hosts.owner(&second).unwrap().unwrap(), owner("db1"));
        assert_eq!(*hosts.owner(&third).unwrap().unwrap(), watch);
        assert_eq!(hosts.owner(&first[1..]).unwrap(), None);
        assert_eq!(remove(dir.path(), "db1", true).unwrap(), 1);
        assert_eq!(hosts.owner(&first).unwrap(), None);
        assert_eq!(*hosts.owner(&second).unwrap().unwrap(), owner("db1"));
        assert_eq!(remove(dir.path(), "db1", true).unwrap(), 0);
        assert_eq!(remove(dir.path(), "db1", false).unwrap(), 1);
        assert_eq!(remove(dir.path(), "db1", false).unwrap(), 0);
        assert_eq!(hosts.owner(&second).unwrap(), None);
        assert_eq!(*hosts.owner(&third).unwrap().unwrap(), watch);
    }

    #[test]
    fn a_line_that_is_none_costs_itself() {
        let dir = tempfile::tempdir().unwrap();
        let token = add(dir.path(), owner("db1")).unwrap();
        let mut text = std::fs::read_to_string(path_in(dir.path())).unwrap();
        text.insert_str(0, "db2\n# comment\n\ndb3 12\ndb4 é\n");
        std::fs::write(path_in(dir.path()), text).unwrap();
        let (found, wrong) = lines(&path_in(dir.path())).unwrap();
        assert_eq!((found.len(), wrong), (1, vec![1, 4, 5]));
        let mut hosts = Hosts::read(&path_in(dir.path())).unwrap();
        assert!(hosts.owner(&token).unwrap().is_some());
    }

    #[test]
    fn names_are_those_of_hosts() {
        assert_eq!(name("db1.example.com").unwrap(), "db1.example.com");
        for wrong in ["", "a b", "#a", "*", "a\nb", &"x".repeat(300)] {
            assert!(name(wrong).is_err(), "{wrong}");
        }
    }
}
