//! What folders have, those of the file system and those in archives alike.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::memory_budget::MemoryBudget;
use super::packed::Packed;

/// Folders in folders.
pub(super) const DEPTH_MAX: usize = 8;

/// Names in a folder that are listed: with the files that are read of them they take some 30 MB.
pub(super) const LISTED_MAX: usize = 100_000;

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

pub(super) fn listed(path: &Path) -> Result<Tree> {
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
    pub(super) fn with_tree<R>(&self, action: impl FnOnce(&Tree) -> R) -> Result<Option<R>> {
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
    pub(super) fn head(&self, bytes_max: u64, account: &MemoryBudget) -> Vec<u8> {
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
