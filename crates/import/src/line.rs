//! A line of a capture.

use std::borrow::Cow;

/// A line with its number, from 1; a line of several frames is several with the same.
#[derive(Debug, Clone)]
pub(crate) struct Line<'a> {
    pub(crate) number: usize,
    pub(crate) text: Cow<'a, str>,
}

impl Line<'_> {
    /// Without blanks on either side.
    pub(crate) fn trimmed(&self) -> &str {
        self.text.trim_ascii()
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.text.trim_ascii().is_empty()
    }

    pub(crate) fn into_owned<'a>(self) -> Line<'a> {
        Line {
            number: self.number,
            text: Cow::Owned(self.text.into_owned()),
        }
    }
}

/// The lines of a text, as `split('\n')` has them, in a fraction of its time.
pub(crate) fn split(text: &str) -> impl Iterator<Item = &str> {
    let ends = memchr::memchr_iter(b'\n', text.as_bytes()).chain([text.len()]);
    let mut from = 0;
    ends.map(move |end| {
        let line = text.get(from..end).unwrap_or_default();
        from = end + 1;
        line
    })
}

/// Whether one of the bytes of a text is this one.
pub(crate) fn has(text: &str, byte: u8) -> bool {
    memchr::memchr(byte, text.as_bytes()).is_some()
}

/// Whether a large text has these words.
pub(crate) fn has_words(text: &str, words: &str) -> bool {
    memchr::memmem::find(text.as_bytes(), words.as_bytes()).is_some()
}

/// The lines in one text.
pub(crate) fn joined(lines: &[Line<'_>]) -> String {
    let mut text = String::with_capacity(lines.iter().map(|line| line.text.len() + 1).sum());
    for line in lines {
        text.push_str(&line.text);
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_the_standard_library() {
        for text in ["", "a", "\n", "a\nb", "a\n\nb\n", "ä\r\n\u{a0}\n"] {
            let own: Vec<&str> = split(text).collect();
            assert_eq!(own, text.split('\n').collect::<Vec<_>>(), "{text:?}");
        }
    }
}
