//! Lines as they were before mails, tickets and log collectors put something around them.

use std::borrow::Cow;

/// Longest line that is looked at, in bytes; what is behind is not read.
const LINE_BYTES_MAX: usize = 64 << 10;

/// Longest name of a container in front of its line.
const CONTAINER_BYTES_MAX: usize = 80;

/// A line with its number, from 1.
#[derive(Debug, Clone)]
pub(crate) struct Line<'a> {
    pub(crate) number: usize,
    pub(crate) text: Cow<'a, str>,
}

impl Line<'_> {
    /// Without blanks on either side.
    pub(crate) fn trimmed(&self) -> &str {
        self.text.trim()
    }

    pub(crate) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }
}

/// A text whose lines are lines: `mysql -B` writes the line ends of an InnoDB status as `\\n`.
pub(crate) fn with_lines(text: &str) -> Cow<'_, str> {
    if text.contains("INNODB MONITOR OUTPUT\\n") {
        Cow::Owned(text.replace("\\n", "\n"))
    } else {
        Cow::Borrowed(text)
    }
}

/// The lines of a text: quotation marks of mails, names of containers, HTML entities and carriage
/// returns are taken away.
pub(crate) fn lines(text: &str) -> Vec<Line<'_>> {
    let raw: Vec<&str> = text
        .split('\n')
        .map(|line| {
            let line = line
                .get(..line.floor_char_boundary(LINE_BYTES_MAX))
                .unwrap_or(line);
            unquoted(line.trim_end_matches(['\r', ' ', '\t']))
        })
        .collect();
    let mut lines = Vec::with_capacity(raw.len());
    for (index, line) in raw.iter().enumerate() {
        let container = container(line);
        let beside = [index.checked_sub(1), index.checked_add(1)];
        let is_container = container.is_some_and(|(name, _)| {
            beside
                .into_iter()
                .flatten()
                .filter_map(|beside| raw.get(beside))
                .any(|other| self::container(other).is_some_and(|(same, _)| same == name))
        });
        let line = match container {
            Some((_, rest)) if is_container => rest,
            _ => line,
        };
        lines.push(Line {
            number: index + 1,
            text: decoded(line),
        });
    }
    lines
}

/// Without `> ` and `>> ` in front.
fn unquoted(line: &str) -> &str {
    let mut rest = line;
    while let Some(inner) = rest.strip_prefix('>') {
        rest = inner;
    }
    if rest.len() == line.len() {
        return line;
    }
    rest.strip_prefix(' ').unwrap_or(rest)
}

/// `db_1   | text` → `db_1`, `text`.
fn container(line: &str) -> Option<(&str, &str)> {
    let (name, rest) = line.split_once('|')?;
    let name = name.trim_end();
    let is_name = !name.is_empty()
        && name.len() <= CONTAINER_BYTES_MAX
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    is_name.then(|| (name, rest.strip_prefix(' ').unwrap_or(rest)))
}

/// HTML entities and no-break spaces as the characters that they stand for.
fn decoded(line: &str) -> Cow<'_, str> {
    const ENTITIES: [(&str, &str); 8] = [
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&#34;", "\""),
        ("&nbsp;", " "),
        ("\u{a0}", " "),
        // Last: what it leaves behind is no entity.
        ("&amp;", "&"),
    ];
    let mut line = Cow::Borrowed(line);
    for (entity, sign) in ENTITIES {
        if line.contains(entity) {
            line = Cow::Owned(line.replace(entity, sign));
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<String> {
        lines(text)
            .iter()
            .map(|line| line.text.to_string())
            .collect()
    }

    #[test]
    fn what_others_put_around_lines_is_gone() {
        assert_eq!(texts("a\r\nb  \r\n"), ["a", "b", ""]);
        assert_eq!(texts("> > x"), ["> x"]);
        assert_eq!(texts(">> x\n>  y"), ["x", " y"]);
        assert_eq!(texts("f&lt;T&gt; &amp;lt; \u{a0}x"), ["f<T> &lt;  x"]);
        assert_eq!(texts("db_1  | one\ndb_1  | two"), ["one", "two"]);
        assert_eq!(texts("a | 1\nb | 2"), ["a | 1", "b | 2"]);
        assert_eq!(texts("| a | 1 |\n| b | 2 |"), ["| a | 1 |", "| b | 2 |"]);
    }

    #[test]
    fn a_line_without_end_is_cut() {
        let long = "ä".repeat(LINE_BYTES_MAX);
        assert!(texts(&long)[0].len() <= LINE_BYTES_MAX);
    }
}
