//! Reads one file of the catalogue and says what is wrong with it, with line and key.

mod deep;
mod raw;
mod sign;
mod texts;

use toml::Spanned;

use self::raw::{RawCause, RawRemedy};
use self::sign::Side;
use crate::catalogue::{ANY_CAUSE, CatalogueError, Cause, LookAlike};
use crate::verdict::Remedy;

/// Largest file, in bytes.
const FILE_BYTES_MAX: usize = 256 * 1024;

/// A file that was read.
pub(crate) struct CauseFile {
    pub(crate) name: String,
    pub(crate) cause: Cause,
    /// Causes that it names and that must be in the catalogue.
    pub(crate) references: Vec<Reference>,
}

/// A cause named in a file.
pub(crate) struct Reference {
    pub(crate) key: &'static str,
    pub(crate) line: usize,
    pub(crate) id: String,
}

/// Reads a file.
pub(crate) fn read(name: &str, text: &str) -> Result<CauseFile, CatalogueError> {
    let reader = Reader { name, text };
    if text.len() > FILE_BYTES_MAX {
        return Err(reader.error(0, None, format!("larger than {FILE_BYTES_MAX} bytes")));
    }
    let raw: RawCause = toml::from_str(text).map_err(|error| {
        let span = error.span().unwrap_or(0..0);
        let key = text.get(span.clone()).filter(|key| is_key(key));
        reader.error(span.start, key, error.message())
    })?;
    reader.cause(raw)
}

struct Reader<'a> {
    name: &'a str,
    text: &'a str,
}

type Read<T> = Result<T, CatalogueError>;

impl Reader<'_> {
    fn error(&self, at: usize, key: Option<&str>, problem: impl Into<String>) -> CatalogueError {
        CatalogueError {
            file: self.name.to_owned(),
            line: self.line(at),
            key: key.map(str::to_owned),
            problem: problem.into(),
        }
    }

    fn line(&self, at: usize) -> usize {
        let head = self.text.as_bytes().get(..at).unwrap_or_default();
        1 + head.iter().filter(|byte| **byte == b'\n').count()
    }

    fn at<T>(&self, value: &Spanned<T>, key: &str, problem: impl Into<String>) -> CatalogueError {
        self.error(value.span().start, Some(key), problem)
    }

    fn cause(&self, raw: RawCause) -> Read<CauseFile> {
        let stem = self.name.rsplit('/').next().unwrap_or(self.name);
        let id = raw.id.get_ref();
        if !is_id(id) {
            return Err(self.at(&raw.id, "id", "must be lower-case letters, digits and '-'"));
        }
        if stem.strip_suffix(".toml") != Some(id) {
            return Err(self.at(&raw.id, "id", format!("the file must be called {id}.toml")));
        }
        self.text(&raw.title, "title")?;
        self.text(&raw.what, "what")?;
        self.texts(&raw.refuted_by, raw.refuted_by.get_ref(), "refuted_by")?;
        self.texts(&raw.sources, raw.sources.get_ref(), "sources")?;
        let remedy = self.remedy(&raw.remedy)?;
        if raw.witness.is_empty() {
            return Err(self.error(0, Some("witness"), "a cause needs a witness"));
        }
        let references = self.references(&raw)?;
        let witnesses = self.signs(&raw.witness, Side::For)?;
        let against = self.signs(&raw.against, Side::Against)?;
        let ids = |list: Vec<Spanned<String>>| list.into_iter().map(Spanned::into_inner).collect();
        Ok(CauseFile {
            name: self.name.to_owned(),
            references,
            cause: Cause {
                id: raw.id.into_inner(),
                title: raw.title.into_inner(),
                what: raw.what.into_inner(),
                refuted_by: raw.refuted_by.into_inner(),
                look_alikes: raw
                    .look_alike
                    .into_iter()
                    .map(|raw| LookAlike {
                        cause: raw.cause.into_inner(),
                        difference: raw.difference,
                        external: raw.external,
                    })
                    .collect(),
                aggravates: ids(raw.aggravates),
                effect_of: ids(raw.effect_of),
                remedy,
                sources: raw.sources.into_inner(),
                witnesses,
                against,
            },
        })
    }

    fn references(&self, raw: &RawCause) -> Read<Vec<Reference>> {
        let relations = [
            ("aggravates", &raw.aggravates),
            ("effect_of", &raw.effect_of),
        ];
        let related = relations
            .iter()
            .flat_map(|(key, ids)| ids.iter().map(move |id| (*key, id)))
            .filter(|(key, id)| *key != "effect_of" || id.get_ref() != ANY_CAUSE);
        let alike = raw
            .look_alike
            .iter()
            .filter(|alike| !alike.external)
            .map(|alike| ("cause", &alike.cause));
        related
            .chain(alike)
            .map(|(key, id)| {
                if id.get_ref() == raw.id.get_ref() {
                    return Err(self.at(id, key, "a cause cannot name itself"));
                }
                Ok(Reference {
                    key,
                    line: self.line(id.span().start),
                    id: id.get_ref().clone(),
                })
            })
            .collect()
    }

    fn remedy(&self, spanned: &Spanned<RawRemedy>) -> Read<Remedy> {
        let raw = spanned.get_ref();
        for (key, list) in [
            ("now", &raw.now),
            ("durable", &raw.durable),
            ("undo", &raw.undo),
            ("verify", &raw.verify),
        ] {
            self.texts(spanned, list, key)?;
        }
        if raw.risk.trim().is_empty() {
            return Err(self.at(spanned, "risk", "must not be empty"));
        }
        Ok(Remedy {
            now: raw.now.clone(),
            durable: raw.durable.clone(),
            undo: raw.undo.clone(),
            risk: raw.risk.clone(),
            verify: raw.verify.clone(),
        })
    }

    fn text(&self, text: &Spanned<String>, key: &str) -> Read<()> {
        if text.get_ref().trim().is_empty() {
            return Err(self.at(text, key, "must not be empty"));
        }
        Ok(())
    }

    fn texts<T>(&self, place: &Spanned<T>, texts: &[String], key: &str) -> Read<()> {
        if texts.is_empty() || texts.iter().any(|text| text.trim().is_empty()) {
            return Err(self.at(place, key, "must not be empty"));
        }
        Ok(())
    }
}

fn is_id(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
}

fn is_key(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}
