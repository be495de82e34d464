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

/// The lines in one text.
pub(crate) fn joined(lines: &[Line<'_>]) -> String {
    let mut text = String::with_capacity(lines.iter().map(|line| line.text.len() + 1).sum());
    for line in lines {
        text.push_str(&line.text);
        text.push('\n');
    }
    text
}
