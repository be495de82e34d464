//! Reads one file of the catalogue and says what is wrong with it, with line and key.

mod advice;
mod fix;
mod raw;
mod repair;
mod sign;

use std::cell::RefCell;

use serde::Serialize;
use toml::Spanned;

use self::raw::RawCause;
use self::sign::Side;
use crate::cause::{ANY_CAUSE, Advice, Cause, LookAlike};
use crate::functions::explained;
use crate::names::Compiled;
use crate::verdict::Remedy;
use expression::ExpressionError;

/// Largest file, in bytes.
const FILE_BYTES_MAX: usize = 256 * 1024;

/// A file that was read.
pub(crate) struct CauseFile {
    pub(crate) name: String,
    pub(crate) cause: Cause,
    /// Ids of causes that it names and that must be in the catalogue, with what is wrong where one is not.
    pub(crate) references: Vec<(String, CatalogueError)>,
}

/// Reads a file; else everything that is wrong with it, at least one thing, in the order in which it
/// was found.
pub(crate) fn read(
    name: &str,
    text: &str,
    compiled: Compiled,
) -> Result<CauseFile, Vec<CatalogueError>> {
    let reader = Reader {
        name,
        text,
        compiled,
        problems: RefCell::default(),
        taken_out: RefCell::default(),
    };
    let file = if text.len() > FILE_BYTES_MAX {
        reader.note(reader.error(0, None, format!("larger than {FILE_BYTES_MAX} bytes")));
        None
    } else if text.trim().is_empty() {
        reader.note(reader.error(0, None, "the file is empty"));
        None
    } else {
        repair::read(&reader).and_then(|raw| reader.cause(raw))
    };
    let problems = reader.problems.into_inner();
    match file {
        Some(file) if problems.is_empty() => Ok(file),
        _ => Err(problems),
    }
}

struct Reader<'a> {
    name: &'a str,
    text: &'a str,
    compiled: Compiled,
    /// Reading goes on behind a mistake, so that all of them can be told.
    problems: RefCell<Vec<CatalogueError>>,
    /// Keys that were there, with a mistake, and were taken out.
    taken_out: RefCell<Vec<String>>,
}

/// What is said of a key that a witness needs.
const MISSING: &str = "is missing for this witness";

/// What is said of one that has nothing in it.
const EMPTY: &str = "must not be empty";

/// What is said of a key that a table needs.
const NOT_THERE: &str = "missing field";

/// What is said of a witness without a limit.
const NO_LIMIT: &str = "needs a limit";

/// The keys that are limits.
const LIMITS: [&str; 4] = ["above", "below", "times_baseline", "at_most_times_baseline"];

type Read<T> = Result<T, CatalogueError>;

impl Reader<'_> {
    fn error(&self, at: usize, key: Option<&str>, problem: impl Into<String>) -> CatalogueError {
        CatalogueError {
            file: self.name.to_owned(),
            line: self.line(at),
            column: self.column(at),
            key: key.map(str::to_owned),
            problem: problem.into(),
        }
    }

    fn line(&self, at: usize) -> usize {
        let head = self.text.as_bytes().get(..at).unwrap_or_default();
        // Each cause that a file names is told with its place, should it not be there.
        1 + memchr::memchr_iter(b'\n', head).count()
    }

    /// In characters, from 1.
    fn column(&self, at: usize) -> usize {
        let head = self.text.get(..at).unwrap_or_default();
        let before = head.rsplit('\n').next().unwrap_or_default();
        1 + before.chars().count()
    }

    /// Remembers a mistake.
    fn note(&self, problem: CatalogueError) {
        // It is not missing: it was told of already.
        let mut taken_out = self.taken_out.borrow_mut();
        let told = match problem.problem.as_str() {
            text if text == MISSING || text == EMPTY || text.starts_with(NOT_THERE) => {
                let key = problem.key.as_ref();
                taken_out.iter().position(|taken| Some(taken) == key)
            }
            text if text.starts_with(NO_LIMIT) => {
                let mut taken_out = taken_out.iter();
                taken_out.position(|taken| LIMITS.contains(&taken.as_str()))
            }
            _ => None,
        };
        match told {
            Some(index) => {
                taken_out.swap_remove(index);
            }
            None => self.problems.borrow_mut().push(problem),
        }
    }

    /// What was read, or nothing and the mistake is remembered.
    fn noted<T>(&self, read: Read<T>) -> Option<T> {
        read.map_err(|problem| self.note(problem)).ok()
    }

    fn at<T>(&self, value: &Spanned<T>, key: &str, problem: impl Into<String>) -> CatalogueError {
        self.error(value.span().start, Some(key), problem)
    }

    /// What is wrong within an expression, where it stands in the file.
    fn within(&self, text: &Spanned<String>, key: &str, error: ExpressionError) -> CatalogueError {
        let error = explained(error);
        // An escape in a basic string makes the two texts differ.
        let written = self.text.get(text.span()).unwrap_or_default();
        let head: String = text.get_ref().chars().take(error.column - 1).collect();
        let at = written.find(text.get_ref().as_str());
        let at = at.map_or(0, |begin| begin + head.len());
        self.error(text.span().start + at, Some(key), error.to_string())
    }

    fn cause(&self, raw: RawCause) -> Option<CauseFile> {
        let stem = self.name.rsplit('/').next().unwrap_or(self.name);
        let id = raw.id.get_ref();
        if let Err(missing) = self.there(&raw.id, "id", 0) {
            self.note(missing);
        } else if !is_id(id) {
            self.note(self.at(&raw.id, "id", "must be lower-case letters, digits and '-'"));
        } else if stem.strip_suffix(".toml") != Some(id) {
            self.note(self.at(&raw.id, "id", format!("the file must be called {id}.toml")));
        }
        self.text(&raw.title, "title");
        self.text(&raw.what, "what");
        for (key, texts) in [("refuted_by", &raw.refuted_by), ("sources", &raw.sources)] {
            if self.noted(self.there(texts, key, 0)).is_some() {
                self.texts(texts, texts.get_ref(), key);
            }
        }
        let steps = self.remedy(&raw.remedy, !raw.advice.is_empty());
        let advice: Vec<Advice> = (raw.advice.iter())
            .filter_map(|one| self.noted(self.advice(one)))
            .collect();
        let fixes = self.fixes(&raw.fix);
        if raw.witness.is_empty() {
            self.note(self.error(0, Some("witness"), "a cause needs a witness"));
        }
        for alike in &raw.look_alike {
            let (one, at) = (alike.get_ref(), alike.span().start);
            self.noted(self.there(&one.cause, "cause", at));
            self.noted(self.there(&one.difference, "difference", at));
        }
        let references = self.references(&raw);
        let is_layer = |name: &str| lexicon::layer(name).is_some();
        self.each(&raw.about, "about", "a layer of the lexicon", is_layer);
        let is_lower = |text: &str| {
            !text.trim_matches(['*', ' ']).is_empty() && !text.chars().any(char::is_uppercase)
        };
        self.each(&raw.told, "told", "words in lower case", is_lower);
        self.each(
            &raw.terms,
            "terms",
            "a term of the lexicon",
            lexicon::is_term,
        );
        let witnesses = self.signs(&raw.witness, Side::For);
        let against = self.signs(&raw.against, Side::Against);
        let ids = |list: Vec<Spanned<String>>| list.into_iter().map(Spanned::into_inner).collect();
        Some(CauseFile {
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
                    .map(Spanned::into_inner)
                    .map(|raw| LookAlike {
                        cause: raw.cause.into_inner(),
                        difference: raw.difference.into_inner(),
                        external: raw.external,
                    })
                    .collect(),
                aggravates: ids(raw.aggravates),
                effect_of: ids(raw.effect_of),
                about: ids(raw.about),
                told: ids(raw.told),
                terms: ids(raw.terms),
                remedy: Cause::general(&steps, &advice),
                steps,
                advice,
                fixes,
                sources: raw.sources.into_inner(),
                witnesses,
                against,
            },
        })
    }

    /// Notes those of a list that are not what they must be.
    fn each(&self, list: &[Spanned<String>], key: &str, must: &str, is: impl Fn(&str) -> bool) {
        for one in list.iter().filter(|one| !is(one.get_ref())) {
            self.note(self.at(one, key, format!("must be {must}")));
        }
    }

    fn references(&self, raw: &RawCause) -> Vec<(String, CatalogueError)> {
        let aggravated = raw.aggravates.iter().map(|id| ("aggravates", id));
        // Any cause is none that must be there.
        let is_one = |id: &&Spanned<String>| id.get_ref() != ANY_CAUSE;
        let roots = raw.effect_of.iter().filter(is_one);
        let roots = roots.map(|id| ("effect_of", id));
        let alike = raw
            .look_alike
            .iter()
            .map(Spanned::get_ref)
            .filter(|alike| !alike.external && !alike.cause.span().is_empty())
            .map(|alike| ("cause", &alike.cause));
        aggravated
            .chain(roots)
            .chain(alike)
            .filter_map(|(key, id)| {
                if id.get_ref() == raw.id.get_ref() {
                    self.note(self.at(id, key, "a cause cannot name itself"));
                    return None;
                }
                let name = id.get_ref().clone();
                let problem = self.at(id, key, format!("there is no cause '{name}'"));
                Some((name, problem))
            })
            .collect()
    }

    /// `advised`: steps about somebody, which are told beside these, may be all there are to do now.
    fn remedy(&self, spanned: &Spanned<Remedy>, advised: bool) -> Remedy {
        let raw = spanned.get_ref();
        if self.noted(self.there(spanned, "remedy", 0)).is_none() {
            return raw.clone();
        }
        for (key, list) in [
            ("now", &raw.now),
            ("durable", &raw.durable),
            ("undo", &raw.undo),
            ("verify", &raw.verify),
        ] {
            if !(key == "now" && advised && list.is_empty()) {
                self.texts(spanned, list, key);
            }
        }
        if raw.risk.trim().is_empty() {
            self.note(self.at(spanned, "risk", EMPTY));
        }
        raw.clone()
    }

    /// A key that must be there in the table that stands `at`.
    fn there<T>(&self, value: &Spanned<T>, key: &str, at: usize) -> Read<()> {
        match value.span().is_empty() {
            true => Err(self.error(at, Some(key), format!("{NOT_THERE} `{key}`"))),
            false => Ok(()),
        }
    }

    /// A text of the file itself.
    fn text(&self, text: &Spanned<String>, key: &str) {
        let there = self.noted(self.there(text, key, 0)).is_some();
        if there && text.get_ref().trim().is_empty() {
            self.note(self.at(text, key, EMPTY));
        }
    }

    fn texts<T>(&self, place: &Spanned<T>, texts: &[String], key: &str) {
        if texts.is_empty() || texts.iter().any(|text| text.trim().is_empty()) {
            self.note(self.at(place, key, EMPTY));
        }
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

/// What is wrong with a catalogue, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{file}:{line}: {}{problem}", key.as_ref().map_or(String::new(), |key| format!("{key}: ")))]
pub struct CatalogueError {
    /// The file's name as it was given.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in it, in characters, from 1.
    pub column: usize,
    /// The key at fault, where there is one.
    pub key: Option<String>,
    /// What is wrong.
    pub problem: String,
}
