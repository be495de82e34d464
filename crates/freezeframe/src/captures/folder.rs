//! What of folders is taken, of those of the file system and those in archives alike, and what is packed in it; one in
//! the other.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::Result;
use diagnosis::SourceRead;
use flate2::read::MultiGzDecoder;

use super::incident_files::SqliteFile;
use super::memory_budget::{Bytes, MemoryBudget, ReadEnd, Span};
use super::packed::{Form, HEAD_BYTES, content, is_packed, limited};
use super::tree::{DEPTH_MAX, Entry, LISTED_MAX, Tree, is_stalk_time, listed};
use super::{FILES_MAX, OpenedCaptures, archive, export_parts, open};
use crate::memory;
use crate::queries::zstd::Zstd;

/// Archives in archives.
const ARCHIVES_MAX: usize = 4;

/// Entries of folders that are looked through for collections before anything is read.
const LOOKED_MAX: usize = 20_000;

/// The kind of a source that is a collection of pt-stalk in a folder with several.
pub(crate) const STALK_COLLECTION: &str = "collection of pt-stalk";

/// Other collections that are told of.
const OTHERS_MAX: usize = 20;

/// How deep it is where we are.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Depth {
    pub(super) folders: usize,
    pub(super) archives: usize,
}

/// A folder by which name people know it, and where it is.
struct Place<'a> {
    path: &'a str,
    is_packed: bool,
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
    account: &MemoryBudget,
) -> BTreeSet<String> {
    let mut looked = 0;
    let below: Vec<(&String, Collection)> = tree
        .iter()
        .filter(|(_, entry)| own.is_none() || !export_parts::is_export_part(entry, account))
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
    found: &mut OpenedCaptures,
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
        let why = format!("it has more than {LISTED_MAX} names; the others were left out");
        found.note_cut(shown.clone(), why);
    }
    read(&place, &tree, prefix, depth, found);
    Ok(())
}

/// Everything in a folder, by name. Of several collections of pt-stalk the latest is taken: they
/// are different stalls.
fn read(
    place: &Place<'_>,
    tree: &Tree,
    prefix: Option<&str>,
    depth: Depth,
    found: &mut OpenedCaptures,
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
            let why = format!("files from {name} on were left out: the memory limit was reached");
            found.note_cut(place.path.to_owned(), why);
            break;
        }
        let shown = match entry {
            Entry::Dir(path) | Entry::File(path) => path.display().to_string(),
            _ => format!("{}/{name}", place.path),
        };
        let is_folder = matches!(entry, Entry::Dir(_) | Entry::Folder(_));
        if is_folder && wanted.is_some() && export_parts::is_export_part(entry, &found.account) {
            let mut stretch = found.sibling();
            read_entry(shown.clone(), entry, depth, &mut stretch);
            found.keep_stretch(shown, stretch);
        } else {
            read_entry(shown, entry, depth, found);
        }
    }
}

fn read_entry(shown: String, entry: &Entry, depth: Depth, found: &mut OpenedCaptures) {
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
            let why = "a pipe, socket or device in a folder is not read: name its path to read it";
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
            let content = packed.content(&found.account);
            unpacked(shown, content, found, depth);
            return;
        }
    };
    if let Err(error) = done {
        found.note(shown, error.root_cause().to_string());
    }
}

/// A file, or a pipe or device that was given by its path.
pub(super) fn file(path: &Path, depth: Depth, found: &mut OpenedCaptures) -> Result<()> {
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
fn is_seen(path: &Path, shown: &str, found: &mut OpenedCaptures) -> bool {
    let Ok(there) = path.metadata() else {
        return false;
    };
    if !there.is_file() && !there.is_dir() {
        return false;
    }
    let key = (there.dev(), there.ino());
    if let Some(first) = found.seen.get(&key) {
        let why = format!("the same as {first}, read once");
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
                "another collection in the same archive: unpack it and name its path to explain it"
            }
            false => "another collection in the same folder: name this path to explain it",
        };
        let path = match self.is_packed {
            true => format!("{}/{name}", self.path),
            false => Path::new(self.path).join(name).display().to_string(),
        };
        SourceRead {
            path,
            kind: STALK_COLLECTION.to_owned(),
            skipped: Some(why.to_owned()),
            ..SourceRead::default()
        }
    }
}

/// Adds a file, or what is packed in it.
pub(super) fn unpack(path: String, span: Span, found: &mut OpenedCaptures, depth: Depth) {
    if depth.archives >= ARCHIVES_MAX {
        found.note(path, format!("archives deeper than {ARCHIVES_MAX}"));
        return;
    }
    let account = found.account.clone();
    match Form::from_head(&span.peek(0, HEAD_BYTES)) {
        Some(Form::Gzip) => {
            let inner = limited(MultiGzDecoder::new(span.reader()), &account);
            // What was packed is not needed any more.
            drop(span);
            unpacked(path, inner, found, depth);
        }
        Some(Form::Zstd) => {
            let inner = limited(Zstd::new(span.reader()), &account);
            drop(span);
            unpacked(path, inner, found, depth);
        }
        Some(Form::Zip) => {
            let tree = archive::zip(&path, &span, found);
            drop(span);
            opened(&path, tree, found, depth);
        }
        Some(Form::Tar) => {
            let tree = archive::tar(&path, &span, found);
            drop(span);
            opened(&path, tree, found, depth);
        }
        None => match content(&span, &account) {
            (bytes, ReadEnd::Whole) => found.add(path, bytes),
            (bytes, ended) => unpacked(path, (bytes, ended), found, depth),
        },
    }
}

/// Reads what an archive holds, by the same choice as of a folder.
fn opened(path: &str, tree: Tree, found: &mut OpenedCaptures, depth: Depth) {
    let place = Place {
        path,
        is_packed: true,
    };
    let inner = Depth {
        archives: depth.archives + 1,
        ..depth
    };
    read(&place, &tree, None, inner, found);
}

fn unpacked(
    path: String,
    (bytes, ended): (Bytes, ReadEnd),
    found: &mut OpenedCaptures,
    depth: Depth,
) {
    match ended {
        ReadEnd::Whole => {}
        ReadEnd::Cut(why) => found.note_cut(path.clone(), why),
        ReadEnd::Failed(error) => found.note(
            path.clone(),
            format!("damaged after {} bytes: {error}", bytes.len()),
        ),
    }
    if !bytes.is_empty() {
        let inner = Depth {
            archives: depth.archives + 1,
            ..depth
        };
        unpack(path, Span::Held(bytes), found, inner);
    }
}
