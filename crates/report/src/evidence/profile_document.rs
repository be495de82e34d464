//! A profile as a file: `freezeframe profile -o NAME.profile.json`, read back for comparisons.

use model::{FrameSide, Profile, Stack, StackTable};
use serde::{Deserialize, Serialize};

use super::folded::{FoldedError, SAMPLES_MAX, parse_folded};
use crate::escape;

/// Name and version of the document; fields are added within a version, never changed.
pub const PROFILE_FORMAT: &str = "freezeframe-profile/1";

/// A profile with its stacks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ProfileDocument {
    /// [`PROFILE_FORMAT`].
    pub format: String,
    /// The version that wrote it.
    #[serde(default)]
    pub tool_version: String,
    /// Host name.
    #[serde(default)]
    pub host: String,
    /// Process id of the server, when one was profiled.
    #[serde(default)]
    pub pid: Option<u32>,
    /// Wall-clock time at the profile's moment 0, milliseconds since 1970 UTC; 0 when not known.
    #[serde(default)]
    pub wall_at_zero_ms: i64,
    /// The samples.
    pub profile: Profile,
    /// Their stacks.
    pub book: StackTable,
}

/// A file that is no profile.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProfileError {
    /// It is no JSON, or a field is missing or of another type.
    #[error("line {line}, column {column}: {message}")]
    Json {
        /// From 1; 0 when the document as a whole is meant.
        line: usize,
        /// From 1.
        column: usize,
        /// What is wrong there.
        message: String,
    },
    /// Another document, or a version this program does not know.
    #[error("its format is {found:?}, not {PROFILE_FORMAT:?}")]
    Format {
        /// What it says it is.
        found: String,
    },
    /// A row of `profile.counts`, or a stack, refers to what the book does not hold.
    #[error("{place} refers to {what} {number}, which is not in the book")]
    Reference {
        /// Where (`profile.counts[3]`).
        place: String,
        /// `stack` or `frame`.
        what: &'static str,
        /// Its number.
        number: u32,
    },
    /// The counts add up to more than 2^53.
    #[error("profile.counts[{row}]: the counts add up to more than 2^53")]
    TooMany {
        /// The row with which they do.
        row: usize,
    },
    /// A line of folded stacks.
    #[error(transparent)]
    Folded(#[from] FoldedError),
}

impl ProfileDocument {
    /// A document of a profile, with nothing known about where it is from.
    pub fn new(profile: Profile, book: StackTable) -> Self {
        Self {
            format: PROFILE_FORMAT.to_owned(),
            tool_version: String::new(),
            host: String::new(),
            pid: None,
            wall_at_zero_ms: 0,
            profile,
            book,
        }
    }

    /// The document as one line of JSON with a line end.
    pub fn to_json(&self) -> String {
        // Only maps with keys that are no strings fail, and there are none.
        let text = serde_json::to_string(self)
            .unwrap_or_else(|error| serde_json::json!({ "error": error.to_string() }).to_string());
        escape::json(&text) + "\n"
    }

    /// Reads a document, or folded stacks, which know neither time nor rate: both are 0 then.
    ///
    /// # Errors
    ///
    /// What is wrong with the text, and where.
    pub fn read(text: &str) -> Result<Self, ProfileError> {
        match text.trim_start().starts_with('{') {
            true => Self::read_json(text),
            false => {
                let (book, counts) = parse_folded(text)?;
                let profile = Profile {
                    from: 0,
                    to: 0,
                    hz: 0,
                    processors: 0,
                    counts,
                    lost: 0,
                };
                Ok(Self::new(profile, book))
            }
        }
    }

    fn read_json(text: &str) -> Result<Self, ProfileError> {
        #[derive(Deserialize)]
        struct Head {
            #[serde(default)]
            format: String,
        }
        let head: Head = serde_json::from_str(text).map_err(json_error)?;
        if head.format != PROFILE_FORMAT {
            return Err(ProfileError::Format { found: head.format });
        }
        let mut document: Self = serde_json::from_str(text).map_err(json_error)?;
        check_book(&document.book)?;
        check_counts(&document)?;
        document.rebuild_book();
        Ok(document)
    }

    /// A book that was read finds no stack by its content: it is built anew, and rows are told the
    /// new numbers where the file held a stack twice.
    fn rebuild_book(&mut self) {
        let mut book = StackTable::default();
        let frames: Vec<_> = self
            .book
            .frames()
            .iter()
            .map(|frame| book.frame_id(frame.clone()))
            .collect();
        let stacks: Vec<_> = self
            .book
            .stacks()
            .iter()
            .map(|stack| {
                let of_stack = stack.frames.iter();
                book.stack_id(Stack {
                    frames: of_stack
                        .filter_map(|frame| frames.get(frame.0 as usize).copied())
                        .collect(),
                    end: stack.end,
                })
            })
            .collect();
        for row in &mut self.profile.counts {
            if let Some(id) = stacks.get(row.stack.0 as usize) {
                row.stack = *id;
            }
        }
        self.book = book;
    }

    /// Images of the profile's user frames, each once, in order.
    pub fn images(&self) -> Vec<&str> {
        let user = self.book.frames().iter();
        let mut images: Vec<&str> = user
            .filter(|frame| frame.side == FrameSide::User && !frame.image.is_empty())
            .map(|frame| frame.image.as_str())
            .collect();
        images.sort_unstable();
        images.dedup();
        images
    }
}

fn check_book(book: &StackTable) -> Result<(), ProfileError> {
    for (index, stack) in book.stacks().iter().enumerate() {
        for frame in &stack.frames {
            if book.frame(*frame).is_none() {
                return Err(ProfileError::Reference {
                    place: format!("book.stacks[{index}]"),
                    what: "frame",
                    number: frame.0,
                });
            }
        }
    }
    Ok(())
}

fn check_counts(document: &ProfileDocument) -> Result<(), ProfileError> {
    let mut left = SAMPLES_MAX;
    for (row, count) in document.profile.counts.iter().enumerate() {
        if count.stack.0 as usize >= document.book.stacks().len() {
            return Err(ProfileError::Reference {
                place: format!("profile.counts[{row}]"),
                what: "stack",
                number: count.stack.0,
            });
        }
        left = left
            .checked_sub(count.count)
            .ok_or(ProfileError::TooMany { row })?;
    }
    Ok(())
}

fn json_error(error: serde_json::Error) -> ProfileError {
    let text = error.to_string();
    // The message ends in the place, which the variant says.
    let message = text
        .rsplit_once(" at line ")
        .map_or(text.as_str(), |(message, _)| message);
    ProfileError::Json {
        line: error.line(),
        column: error.column(),
        message: escape::terminal(message),
    }
}

#[cfg(test)]
mod tests {
    use model::{ProfileCount, StackEnd};

    use super::*;
    use crate::evidence::testing::{NASTY, kernel, user};

    fn document() -> ProfileDocument {
        let mut book = StackTable::default();
        let unused = book.intern([user("unused")], StackEnd::Complete);
        let stack = book.intern([kernel("k"), user(NASTY), user("main")], StackEnd::TooDeep);
        assert_ne!(unused, stack);
        let profile = Profile {
            from: 1000,
            to: 11_000,
            hz: 99,
            processors: 2,
            counts: vec![ProfileCount {
                stack,
                thread: NASTY.to_owned(),
                server: true,
                count: 12,
            }],
            lost: 3,
        };
        ProfileDocument {
            host: "db1".to_owned(),
            pid: Some(4242),
            wall_at_zero_ms: 1_715_483_525_120,
            ..ProfileDocument::new(profile, book)
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let document = document();
        let text = document.to_json();
        assert_eq!(text.lines().count(), 1);
        assert!(!text.trim_end().chars().any(char::is_control));
        let mut back = ProfileDocument::read(&text).unwrap();
        assert_eq!(back, document);
        let known = document
            .book
            .stack(document.profile.counts[0].stack)
            .clone();
        assert_eq!(
            back.book.stack_id(known),
            document.profile.counts[0].stack,
            "a book that was read knows its stacks"
        );
        assert_eq!(document.images(), ["mysqld"]);
    }

    #[test]
    fn folded_stacks_are_a_profile_without_time() {
        let document = ProfileDocument::read("mysqld;main;k_[k] 5\n").unwrap();
        assert_eq!(
            (document.profile.hz, document.profile.counts[0].count),
            (0, 5)
        );
        assert_eq!(ProfileDocument::read("").unwrap().profile.counts, []);
    }

    #[test]
    fn errors_have_their_place() {
        let wrong = |text: &str| ProfileDocument::read(text).unwrap_err().to_string();
        assert_eq!(wrong("a;b\n"), "line 1: no count at its end");
        assert_eq!(
            wrong("{\n  \"format\": 3}"),
            "line 2, column 13: invalid type: integer `3`, expected a string"
        );
        assert_eq!(
            wrong("{\"format\": \"freezeframe-profile/2\"}"),
            "its format is \"freezeframe-profile/2\", not \"freezeframe-profile/1\""
        );
        assert_eq!(
            wrong("{\"format\": \"freezeframe-profile/1\"}"),
            "line 1, column 35: missing field `profile`"
        );
        let text = document().to_json();
        assert_eq!(
            wrong(&text.replace("\"stack\":1", "\"stack\":7")),
            "profile.counts[0] refers to stack 7, which is not in the book"
        );
        assert_eq!(
            wrong(&text.replace("\"frames\":[1,2,3]", "\"frames\":[1,2,9]")),
            "book.stacks[1] refers to frame 9, which is not in the book"
        );
        assert_eq!(
            wrong(&text.replace("\"count\":12", "\"count\":18014398509481984")),
            "profile.counts[0]: the counts add up to more than 2^53"
        );
        assert!(wrong(&text.replace("\"count\":12", "\"count\":-1")).contains("invalid value"));
        for cut in [1, 10, text.len() / 2, text.len() - 3] {
            assert!(wrong(&text[..cut]).starts_with("line 1, column "), "{cut}");
        }
    }
}
