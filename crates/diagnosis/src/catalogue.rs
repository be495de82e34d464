//! The catalogue: causes as plain data, read from one TOML file each.

use std::borrow::Cow;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use crate::cause::Cause;
use crate::cause_file::{self, CatalogueError, CauseFile};
use crate::names::Compiled;
use model::OrderBy;

/// The files of `causes/`, embedded by `build.rs`.
const PACKED: embed::PackedAsOne = include!(concat!(env!("OUT_DIR"), "/causes.rs"));

/// Known causes of stalls.
#[derive(Debug, Clone)]
pub struct Catalogue {
    /// The built-in ones are there once, however many catalogues have them.
    causes: Cow<'static, [Cause]>,
}

/// The built-in catalogue with a user's own causes.
#[derive(Debug, Clone)]
pub struct Extended {
    /// All causes, by id.
    pub catalogue: Catalogue,
    /// Ids of those that are the user's.
    pub own: BTreeSet<String>,
    /// Ids of built-in causes whose place was taken.
    pub replaced: BTreeSet<String>,
    /// What is wrong with files; none of these is in the catalogue.
    pub problems: Vec<CatalogueError>,
}

/// The causes of files, by id.
fn read_all<N: AsRef<str>, T: AsRef<str>>(
    files: &[(N, T)],
    compiled: Compiled,
) -> (BTreeMap<String, CauseFile>, Vec<CatalogueError>) {
    let mut read = BTreeMap::new();
    let mut problems = Vec::new();
    for (name, text) in files {
        match cause_file::read(name.as_ref(), text.as_ref(), compiled) {
            Err(found) => problems.extend(found),
            Ok(file) => match read.entry(file.cause.id.clone()) {
                Entry::Occupied(_) => problems.push(twice(&file)),
                Entry::Vacant(free) => {
                    free.insert(file);
                }
            },
        }
    }
    (read, problems)
}

fn twice(file: &CauseFile) -> CatalogueError {
    CatalogueError {
        file: file.name.clone(),
        line: 1,
        column: 1,
        key: Some("id".to_owned()),
        problem: format!("'{}' is the id of another file too", file.cause.id),
    }
}

/// The causes that a file names and that are not there.
fn dangling(file: &CauseFile, is_there: impl Fn(&str) -> bool) -> Vec<CatalogueError> {
    let references = file.references.iter();
    references
        .filter(|(id, _)| !is_there(id))
        .map(|(_, problem)| problem.clone())
        .collect()
}

static BUILTIN: LazyLock<Catalogue> = LazyLock::new(|| {
    #[expect(
        clippy::expect_used,
        reason = "the files are embedded; the crate's tests load them"
    )]
    Catalogue::read(&builtin_files(), Compiled::AtFirstUse)
        .expect("the built-in catalogue is sound")
});

/// The embedded files as (name, text), to load together with others.
pub fn builtin_files() -> Vec<(&'static str, String)> {
    embed::unpack_each(PACKED)
}

impl Catalogue {
    /// The causes that come with the program.
    pub fn builtin() -> &'static Self {
        &BUILTIN
    }

    /// Reads a catalogue from files given as (name, text).
    ///
    /// # Errors
    /// When a file is not a cause (`docs/reference/causes.md`), two have the same id, or one names a cause
    /// that is not there.
    pub fn from_files<N: AsRef<str>, T: AsRef<str>>(
        files: &[(N, T)],
    ) -> Result<Self, CatalogueError> {
        Self::read(files, Compiled::Now)
    }

    fn read<N: AsRef<str>, T: AsRef<str>>(
        files: &[(N, T)],
        compiled: Compiled,
    ) -> Result<Self, CatalogueError> {
        let (files, mut problems) = read_all(files, compiled);
        for file in files.values() {
            problems.extend(dangling(file, |id| files.contains_key(id)));
        }
        match problems.into_iter().next() {
            Some(problem) => Err(problem),
            None => Ok(Self {
                causes: files.into_values().map(|file| file.cause).collect(),
            }),
        }
    }

    /// The built-in causes with those of a user. One that has the id of a built-in cause takes its
    /// place. A file with a mistake is left out; everything that is wrong is told.
    pub fn extended<N: AsRef<str>, T: AsRef<str>>(files: &[(N, T)]) -> Extended {
        let (mut own, mut problems) = read_all(files, Compiled::Now);
        // Who names a cause that is left out is left out with it.
        let builtin = Self::builtin();
        let own_ids = loop {
            let ids: BTreeSet<String> = own.keys().cloned().collect();
            own.retain(|_, file| {
                let found = dangling(file, |id| builtin.get(id).is_some() || ids.contains(id));
                problems.extend_from_slice(&found);
                found.is_empty()
            });
            if own.len() == ids.len() {
                break ids;
            }
        };
        let replaced = own
            .keys()
            .filter(|id| builtin.get(id).is_some())
            .cloned()
            .collect();
        let catalogue = match own.is_empty() {
            true => Self {
                causes: Cow::Borrowed(builtin.causes()),
            },
            false => builtin.with(own),
        };
        Extended {
            catalogue,
            own: own_ids,
            replaced,
            problems,
        }
    }

    /// With these causes beside, or in the place of those that have their ids.
    fn with(&self, own: BTreeMap<String, CauseFile>) -> Self {
        let kept = (self.causes.iter()).filter(|cause| !own.contains_key(&cause.id));
        let mut causes: Vec<Cause> = kept.cloned().collect();
        causes.extend(own.into_values().map(|file| file.cause));
        causes.order_by(|left, right| left.id.cmp(&right.id));
        Self {
            causes: causes.into(),
        }
    }

    /// The causes, by id.
    pub fn causes(&self) -> &[Cause] {
        &self.causes
    }

    /// The cause with this id.
    pub fn get(&self, id: &str) -> Option<&Cause> {
        self.causes.iter().find(|cause| cause.id == id)
    }
}
