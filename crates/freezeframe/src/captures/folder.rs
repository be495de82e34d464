//! Folders, those of the file system and those in archives alike: what of them is taken.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use diagnosis::SourceRead;

use super::archive::{Packed, is_packed, unpack};
use super::frames::SqliteFile;
use super::held::{Account, Span};
use super::{FILES_MAX, Found, open, stretches};
use crate::memory;

/// Folders in folders.
pub(super) const DEPTH_MAX: usize = 8;

/// Entries of folders that are looked through for collections before anything is read.
const LOOKED_MAX: usize = 20_000;

/// Names in a folder that are listed: with the files that are read of them they take some 30 MB.
const LISTED_MAX: usize = 100_000;

/// Other collections that are told of.
const OTHERS_MAX: usize = 20;

/// Something in a folder.
pub(super) enum Entry {
    /// A folder of the file system.
    Dir(PathBuf),
    /// A file of the file system.
    File(PathBuf),
    /// A pipe, a socket, a device.
    Special,
    /// A folder in an archive.
    Folder(Tree),
    /// A file in an archive.
    Packed(Packed),
}

/// What a folder has, by name.
pub(super) type Tree = BTreeMap<String, Entry>;

/// How deep it is where we are.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Depth {
    pub(super) folders: usize,
    pub(super) archives: usize,
}

/// A folder by which name people know it, and where it is.
pub(super) struct Place<'a> {
    pub(super) path: &'a str,
    pub(super) is_packed: bool,
}

/// Puts a file of an archive into its folder; the last of several of one name stays, as when they are
/// unpacked.
pub(super) fn insert(tree: &mut Tree, name: &str, packed: Packed) {
    let mut tree = tree;
    let mut rest = name;
    for _ in 0..DEPTH_MAX {
        let Some((folder, behind)) = rest.split_once('/') else {
            break;
        };
        rest = behind;
        if folder.is_empty() || folder == "." {
            continue;
        }
        let inner = tree
            .entry(folder.to_owned())
            .or_insert_with(|| Entry::Folder(Tree::new()));
        // A damaged archive may have a file of the same name.
        if !matches!(inner, Entry::Folder(_)) {
            *inner = Entry::Folder(Tree::new());
        }
        let Entry::Folder(inner) = inner else { return };
        tree = inner;
    }
    if !rest.is_empty() {
        tree.insert(rest.to_owned(), Entry::Packed(packed));
    }
}

fn listed(path: &Path) -> Result<Tree> {
    let mut tree = Tree::new();
    let name = || path.display().to_string();
    for entry in std::fs::read_dir(path).with_context(name)?.take(LISTED_MAX) {
        let path = entry.with_context(name)?.path();
        let mut name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
            .unwrap_or_default();
        // Names that are no text may look the same.
        while tree.contains_key(&name) {
            name.push('\u{fffd}');
        }
        let entry = match path.metadata() {
            Ok(there) if there.is_dir() => Entry::Dir(path),
            Ok(there) if !there.is_file() => Entry::Special,
            // What cannot be looked at is told when it is read.
            _ => Entry::File(path),
        };
        tree.insert(name, entry);
    }
    Ok(tree)
}

impl Entry {
    /// Does something with what a folder has; nothing for what is no folder.
    fn with_tree<R>(&self, action: impl FnOnce(&Tree) -> R) -> Result<Option<R>> {
        Ok(match self {
            Entry::Dir(path) => Some(action(&listed(path)?)),
            Entry::Folder(tree) => Some(action(tree)),
            _ => None,
        })
    }

    /// Whether one of a folder's entries is as wanted; no for what cannot be read.
    pub(super) fn any(&self, is_wanted: &mut dyn FnMut(&str, &Entry) -> bool) -> bool {
        let any = self.with_tree(|tree| tree.iter().any(|(name, entry)| is_wanted(name, entry)));
        any.ok().flatten().unwrap_or(false)
    }

    /// Its first bytes, for what is told by them.
    pub(super) fn head(&self, bytes_max: u64, account: &Account) -> Vec<u8> {
        use std::io::Read;
        let mut bytes = Vec::new();
        match self {
            Entry::File(path) => {
                let read = std::fs::File::open(path)
                    .and_then(|file| file.take(bytes_max).read_to_end(&mut bytes));
                if read.is_err() {
                    return Vec::new();
                }
            }
            Entry::Packed(packed) => return packed.head(bytes_max, account),
            _ => {}
        }
        bytes
    }
}

/// `2018_03_05_13_24_55` in front.
pub(super) fn is_stalk_time(name: &str) -> bool {
    name.len() >= 19
        && name
            .bytes()
            .take(19)
            .enumerate()
            .all(|(at, byte)| match at {
                4 | 7 | 10 | 13 | 16 => byte == b'_',
                _ => byte.is_ascii_digit(),
            })
}

/// When the collections of pt-stalk in a folder were taken, oldest first.
fn times(tree: &Tree) -> Vec<String> {
    let mut times: Vec<String> = tree
        .keys()
        .filter(|name| is_stalk_time(name))
        .filter_map(|name| name.get(..19).map(str::to_owned))
        .collect();
    times.dedup();
    times
}

/// The latest collection in a folder or below it: its time, and the names of its files.
struct Collection {
    time: String,
    names: BTreeSet<String>,
}

impl Collection {
    fn own(tree: &Tree, time: &str) -> Self {
        let names = tree.keys().filter(|name| name.starts_with(time));
        Self {
            time: time.to_owned(),
            names: names.cloned().collect(),
        }
    }

    fn latest(entry: &Entry, depth: usize, looked: &mut usize) -> Option<Self> {
        if depth > DEPTH_MAX || *looked > LOOKED_MAX {
            return None;
        }
        let found = entry.with_tree(|tree| {
            *looked += tree.len();
            if let Some(time) = times(tree).last() {
                return Some(Self::own(tree, time));
            }
            tree.values()
                .filter_map(|entry| Self::latest(entry, depth + 1, looked))
                .reduce(|best, next| match next.time > best.time {
                    true => next,
                    false => best,
                })
        });
        // What cannot be read is told when it is read.
        found.ok().flatten().flatten()
    }
}

/// The folders of a folder that hold collections of other stalls or other servers than the one that
/// is taken: together they would be an incident that never was. Two folders with files of one time
/// are one collection, unless they have files of one name.
fn of_others(
    tree: &Tree,
    own: Option<Collection>,
    depth: usize,
    account: &Account,
) -> BTreeSet<String> {
    let mut looked = 0;
    let below: Vec<(&String, Collection)> = tree
        .iter()
        .filter(|(_, entry)| own.is_none() || !stretches::is_stretch(entry, account))
        .filter_map(|(name, entry)| {
            Collection::latest(entry, depth + 1, &mut looked).map(|found| (name, found))
        })
        .collect();
    let mut taken = match own {
        Some(own) => own,
        None => {
            let latest = below.iter().map(|(_, found)| &found.time).max();
            let Some(time) = latest.cloned() else {
                return BTreeSet::new();
            };
            Collection {
                time,
                names: BTreeSet::new(),
            }
        }
    };
    let mut others = BTreeSet::new();
    for (name, found) in below {
        if found.time == taken.time && found.names.is_disjoint(&taken.names) {
            taken.names.extend(found.names);
        } else {
            others.insert(name.clone());
        }
    }
    others
}

/// A folder of the file system, once: a link that points back would have everything read again.
pub(super) fn directory(
    path: &Path,
    prefix: Option<&str>,
    depth: Depth,
    found: &mut Found,
) -> Result<()> {
    let shown = path.display().to_string();
    // Of one folder several collections may be wanted.
    if prefix.is_none() && is_seen(path, &shown, found) {
        return Ok(());
    }
    let place = Place {
        path: &shown,
        is_packed: false,
    };
    let tree = listed(path)?;
    if tree.len() >= LISTED_MAX {
        let why = format!("of more than {LISTED_MAX} names in it only so many were looked at");
        found.note_cut(shown.clone(), why);
    }
    read(&place, &tree, prefix, depth, found);
    Ok(())
}

/// Everything in a folder, by name. Of several collections of pt-stalk the latest is taken: they
/// are different stalls.
pub(super) fn read(
    place: &Place<'_>,
    tree: &Tree,
    prefix: Option<&str>,
    depth: Depth,
    found: &mut Found,
) {
    let times = times(tree);
    let wanted = prefix.map(str::to_owned).or_else(|| times.last().cloned());
    let other_folders = match prefix {
        Some(_) => BTreeSet::new(),
        None => {
            let own = wanted.as_deref().map(|time| Collection::own(tree, time));
            of_others(tree, own, depth.folders, &found.account)
        }
    };
    if prefix.is_none() {
        let others = times.iter().filter(|time| Some(*time) != wanted.as_ref());
        let others = others.chain(&other_folders).take(OTHERS_MAX);
        found.left_out.extend(others.map(|name| place.other(name)));
    }
    for (name, entry) in tree {
        let is_others = match &wanted {
            Some(wanted) if is_stalk_time(name) => !name.starts_with(wanted.as_str()),
            _ => prefix.is_some() || other_folders.contains(name),
        };
        if is_others {
            continue;
        }
        if found.files.len() >= FILES_MAX {
            found.note(
                place.path.to_owned(),
                format!("files over {FILES_MAX} were not read"),
            );
            break;
        }
        if found.account.is_used_up() {
            let why = format!(
                "the files from {name} on were left out: what was read before is all that is kept in memory"
            );
            found.note_cut(place.path.to_owned(), why);
            break;
        }
        let shown = match entry {
            Entry::Dir(path) | Entry::File(path) => path.display().to_string(),
            _ => format!("{}/{name}", place.path),
        };
        let is_folder = matches!(entry, Entry::Dir(_) | Entry::Folder(_));
        if is_folder && wanted.is_some() && stretches::is_stretch(entry, &found.account) {
            let mut stretch = found.beside();
            read_entry(shown.clone(), entry, depth, &mut stretch);
            found.keep_stretch(shown, stretch);
        } else {
            read_entry(shown, entry, depth, found);
        }
    }
}

fn read_entry(shown: String, entry: &Entry, depth: Depth, found: &mut Found) {
    let is_folder = matches!(entry, Entry::Dir(_) | Entry::Folder(_));
    if is_folder && depth.folders >= DEPTH_MAX {
        found.note(shown, format!("folders deeper than {DEPTH_MAX}"));
        return;
    }
    let inner = Depth {
        folders: depth.folders + 1,
        ..depth
    };
    let done = match entry {
        Entry::Dir(path) => directory(path, None, inner, found),
        Entry::File(path) => file(path, depth, found),
        Entry::Special => {
            let why = "a pipe, socket or device in a folder is not read: give its path to read it";
            found.note(shown, why.to_owned());
            return;
        }
        Entry::Folder(tree) => {
            let place = Place {
                path: &shown,
                is_packed: true,
            };
            read(&place, tree, None, inner, found);
            return;
        }
        Entry::Packed(packed) => {
            packed.read(shown, found, depth);
            return;
        }
    };
    if let Err(error) = done {
        found.note(shown, error.root_cause().to_string());
    }
}

/// A file, or a pipe or device that was given by its path.
pub(super) fn file(path: &Path, depth: Depth, found: &mut Found) -> Result<()> {
    let shown = path.display().to_string();
    if is_seen(path, &shown, found) {
        return Ok(());
    }
    memory::now_reading(path);
    // SQLite reads a file where it lies, however large it is.
    if path.is_file() && open::is_sqlite(path) {
        found.add_sqlite(shown, SqliteFile::There(path.to_owned()));
        return Ok(());
    }
    // What is packed is unpacked from where it lies.
    if path.is_file()
        && let Ok(span) = std::fs::File::open(path).and_then(Span::of_file)
        && is_packed(&span.peek(0, 512))
    {
        unpack(shown, span, found, depth);
        return Ok(());
    }
    let (bytes, cut) = open::read(path, &found.account)?;
    if let Some(why) = cut {
        found.note_cut(shown.clone(), why);
    }
    unpack(shown, Span::Held(bytes), found, depth);
    Ok(())
}

/// Whether this very file or folder was read under another name already, which is told.
fn is_seen(path: &Path, shown: &str, found: &mut Found) -> bool {
    let Ok(there) = path.metadata() else {
        return false;
    };
    if !there.is_file() && !there.is_dir() {
        return false;
    }
    let key = (there.dev(), there.ino());
    if let Some(first) = found.seen.get(&key) {
        let why = format!("the same as {first}, which is read once");
        found.note(shown.to_owned(), why);
        return true;
    }
    found.seen.insert(key, shown.to_owned());
    false
}

impl Place<'_> {
    /// A collection in it that is not taken.
    fn other(&self, name: &str) -> SourceRead {
        let why = match self.is_packed {
            true => {
                "another collection of the same archive: unpack it and give its path to explain it"
            }
            false => "another collection of the same folder: give this path to explain it",
        };
        let path = match self.is_packed {
            true => format!("{}/{name}", self.path),
            false => Path::new(self.path).join(name).display().to_string(),
        };
        SourceRead {
            path,
            kind: "collection of pt-stalk".to_owned(),
            skipped: Some(why.to_owned()),
            ..SourceRead::default()
        }
    }
}
