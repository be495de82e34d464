//! A name, or a family of names with `*` for any characters; within lines `%d` is a number, with blanks in front of it.

/// What stands for a number, as in the sources that print the lines.
const NUMBER: &str = "%d";

/// What an entry is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pattern {
    text: &'static str,
    /// In lower case.
    lower: &'static str,
    /// Looked for anywhere in a line.
    is_within: bool,
}

impl Pattern {
    /// A pattern is kept as long as the program runs, like the text that it is of.
    pub(crate) fn new(text: &'static str, is_within: bool) -> Self {
        let is_lower = text
            .bytes()
            .all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase());
        Self {
            text,
            lower: match is_lower {
                true => text,
                false => text.to_lowercase().leak(),
            },
            is_within,
        }
    }

    /// The whole name in lower case, of what is no family.
    pub(crate) fn name(&self) -> Option<&'static str> {
        (!self.is_within && !self.is_family()).then_some(self.lower)
    }

    /// How each name of the family begins, in lower case.
    pub(crate) fn begin<const BYTES: usize>(&self) -> Option<[u8; BYTES]> {
        let first = self.lower.split('*').next().filter(|_| !self.is_within)?;
        first.as_bytes().first_chunk().copied()
    }

    /// The longest text that stands in all of the family.
    pub(crate) fn anchor(&self) -> &'static str {
        let parts = self.text.split('*').flat_map(|part| part.split(NUMBER));
        parts.max_by_key(|part| part.len()).unwrap_or_default()
    }

    /// What stands in all of a family that begins with anything, before any other letters: the first of its path.
    pub(crate) fn stem(&self) -> &'static str {
        let first = self.text.split('*').find(|part| !part.is_empty());
        let first = first.and_then(|part| part.split(NUMBER).next());
        let first = first.unwrap_or_default();
        let end = first.find('/').map_or(first.len(), |at| at + 1);
        first.get(..end).unwrap_or(first)
    }

    /// It has an asterisk.
    pub(crate) fn is_family(&self) -> bool {
        self.text.contains('*')
    }

    /// Whether a line has its parts, one behind the other, letter by letter.
    pub(crate) fn is_in(&self, line: &str) -> bool {
        matches(self.text, true, line)
    }

    /// How much it says: its letters, and a name more than any family.
    pub(crate) fn letters(&self) -> usize {
        let asterisks = self.text.bytes().filter(|byte| *byte == b'*').count();
        (self.text.len() - asterisks) * 2 + usize::from(asterisks == 0)
    }

    /// Whether a text is of it, letter by letter.
    pub(crate) fn matches(&self, text: &str) -> bool {
        matches(self.text, self.is_within, text)
    }

    /// The same of a text in lower case, whatever the case was.
    pub(crate) fn matches_lower(&self, text: &str) -> bool {
        matches(self.lower, self.is_within, text)
    }
}

fn matches(pattern: &str, is_within: bool, text: &str) -> bool {
    let mut parts = pattern.split('*').peekable();
    let mut rest = text;
    let mut is_first = !is_within;
    while let Some(part) = parts.next() {
        let is_last = parts.peek().is_none() && !is_within;
        let found = match (is_first, is_last) {
            (true, true) => (rest == part).then_some(rest.len()),
            (true, false) => rest.starts_with(part).then_some(part.len()),
            (false, true) => rest.ends_with(part).then_some(rest.len()),
            (false, false) => find_end(rest, part),
        };
        let Some(end) = found else {
            return false;
        };
        rest = rest.get(end..).unwrap_or_default();
        is_first = false;
    }
    true
}

/// Where the first text of this form ends.
fn find_end(text: &str, part: &str) -> Option<usize> {
    let mut pieces = part.split(NUMBER);
    let first = pieces.next().unwrap_or_default();
    text.match_indices(first)
        .find_map(|(at, _)| end_of_numbers(text, at + first.len(), pieces.clone()))
}

/// Where numbers, each with a piece of text behind it, end that begin at this place. Tables of the kernel put blanks in front
/// of them, and some are negative.
fn end_of_numbers<'p>(
    text: &str,
    from: usize,
    pieces: impl Iterator<Item = &'p str>,
) -> Option<usize> {
    let mut rest = text.get(from..)?;
    for piece in pieces {
        let number = rest.trim_start_matches(' ');
        let number = number.strip_prefix('-').unwrap_or(number);
        let behind = number.trim_start_matches(|c: char| c.is_ascii_digit());
        if behind.len() == number.len() {
            return None;
        }
        rest = behind.strip_prefix(piece)?;
    }
    Some(text.len() - rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_families_and_lines() {
        for (pattern, is_within, text, expected) in [
            ("lock_rec_*", false, "lock_rec_lock", true),
            ("lock_rec_*", false, "xlock_rec_lock", false),
            ("*_thread", false, "srv_master_thread", true),
            ("*_thread", false, "srv_master_threads", false),
            ("committing *", false, "committing 12", true),
            ("a*b*c", false, "a1b2c", true),
            ("a*b*c", false, "a1c2b", false),
            ("a*bc", false, "abc", true),
            ("abc", false, "abcd", false),
            (
                "blocked for more than * seconds",
                true,
                "x blocked for more than 120 seconds.",
                true,
            ),
            ("oom", true, "boom", true),
            (
                "[%d] %d %d ",
                true,
                "[8.1] [ 2210]    27  -250 mysqld",
                true,
            ),
            ("[%d] %d %d ", true, "[ 2210]    27  anon", false),
            ("anon %d", true, "anon x, anon 7", true),
        ] {
            let pattern = Pattern::new(pattern, is_within);
            assert_eq!(pattern.matches(text), expected, "{pattern:?} {text}");
        }
        assert!(Pattern::new("Sending data", false).matches_lower("sending data"));
        assert!(Pattern::new("abc", false).letters() > Pattern::new("ab*", false).letters());
    }
}
