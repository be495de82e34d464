//! Patterns on names of functions and locks, fast: a catalogue has hundreds of them and a record has
//! thousands of names.

use std::sync::OnceLock;

use memchr::memmem;
use regex::bytes::{Captures, Regex, RegexBuilder};

/// Longest pattern that is shown whole, in bytes.
const SHORT: usize = 48;

/// A regular expression. One that only stands for words, as most do, is compared as words. Of many names others are asked
/// only of those with a word that must be there.
#[derive(Debug, Clone)]
pub(crate) struct NamePattern {
    text: String,
    /// A text without one of these does not match.
    words: Vec<Word>,
    /// Compiled when it is first asked, which most are not.
    regex: OnceLock<Regex>,
}

/// A part of a pattern that means itself.
#[derive(Debug, Clone)]
pub(crate) struct Word {
    text: String,
    /// It is not all of an alternative: what has it may match.
    is_part: bool,
    /// `^` stood before it.
    begins: bool,
    /// `$` stood behind it.
    ends: bool,
}

impl Word {
    fn is_match(&self, name: &str) -> bool {
        match (self.begins, self.ends) {
            (true, true) => name == self.text,
            (true, false) => name.starts_with(&self.text),
            (false, true) => name.ends_with(&self.text),
            (false, false) => memmem::find(name.as_bytes(), self.text.as_bytes()).is_some(),
        }
    }
}

impl NamePattern {
    /// Reads a pattern; the error says what is wrong with it, when it is compiled now.
    pub(crate) fn parse(text: &str, compiled: Compiled) -> Result<Self, String> {
        let words = words(text);
        let regex = match compiled {
            Compiled::Now if words.iter().any(|word| word.is_part) => {
                regular_expression(text)?.into()
            }
            _ => OnceLock::new(),
        };
        Ok(Self {
            text: text.to_owned(),
            words,
            regex,
        })
    }

    #[expect(
        clippy::expect_used,
        reason = "built-in; the crate's tests compile all of them"
    )]
    fn compiled(&self) -> &Regex {
        let compile = || regular_expression(&self.text).expect("a built-in pattern is sound");
        self.regex.get_or_init(compile)
    }

    pub(crate) fn is_match(&self, name: &str) -> bool {
        let is_all = |word: &Word| !word.is_part || self.compiled().is_match(name.as_bytes());
        let mut words = self.words.iter();
        words.any(|word| word.is_match(name) && is_all(word))
    }

    /// What its groups stand for in a text that matches.
    pub(crate) fn captures<'t>(&self, text: &'t str) -> Option<Captures<'t>> {
        let has_groups = self.text.contains('(');
        has_groups.then(|| self.compiled().captures(text.as_bytes()))?
    }

    /// Whether some line of a text may match: `false` is certain. A text of many lines has its begin and its
    /// end once, so an expression that asks for either may match lines of which the text knows nothing.
    pub(crate) fn may_match_in(&self) -> impl Fn(&str) -> bool {
        let mut marks = ["^", "$", r"\A", r"\z"].into_iter();
        let asks = marks.any(|mark| self.text.contains(mark));
        let words = self.words.iter();
        let words = words.map(|word| (memmem::Finder::new(&word.text), !word.is_part || asks));
        let words: Vec<_> = words.collect();
        move |text| {
            let is_match = || self.compiled().is_match(text.as_bytes());
            let mut words = words.iter();
            words.any(|(word, is_enough)| {
                word.find(text.as_bytes()).is_some() && (*is_enough || is_match())
            })
        }
    }

    /// For each of these names whether it matches; empty where none does.
    pub(crate) fn matches(&self, names: &Names<'_>) -> Vec<bool> {
        let mut matches = Vec::new();
        for word in &self.words {
            names.mark(word, self, &mut matches);
        }
        matches
    }

    /// As it stands in the file; for people short: its first words.
    pub(crate) fn shown(&self, in_full: bool) -> String {
        match self.text.split_once('|') {
            Some((first, _)) if !in_full && self.text.len() > SHORT => format!("{first}|…"),
            _ => self.text.clone(),
        }
    }

    /// As it stands in the file.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

/// When the regular expressions of a catalogue are compiled, which takes half of the time that reading it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compiled {
    /// At once: a mistake is told where it stands.
    Now,
    /// Each when it is first asked, which most are not: the built-in ones have no mistakes, and tests read them so.
    AtFirstUse,
}

/// Largest regular expression, in bytes as the library counts them: ours have some thousands, and a
/// user's file may ask for `(a{1000}){1000}`.
const REGEX_BYTES_MAX: usize = 1 << 20;

/// What a search remembers of its way through a text, in bytes for each thread. There are hundreds
/// of patterns in a process that must stay small; one that needs more is searched more slowly.
const CACHE_BYTES_MAX: usize = 64 << 10;

/// Reads a regular expression; the error says in one line what is wrong with it.
///
/// One in ASCII knows ASCII only: `.` is a byte, and `(?i)` folds no other letters. So it is compiled in two thirds of the
/// time, and the first verdict of a recorder compiles a hundred.
fn regular_expression(text: &str) -> Result<Regex, String> {
    RegexBuilder::new(text)
        .unicode(!text.is_ascii())
        .size_limit(REGEX_BYTES_MAX)
        .dfa_size_limit(CACHE_BYTES_MAX)
        .build()
        .map_err(|error| {
            let told = error.to_string();
            let last = told.lines().last().unwrap_or_default().trim();
            last.strip_prefix("error: ").unwrap_or(last).to_owned()
        })
}

/// The words that a pattern stands for, with `|` between them or in groups: `^(a|b)$` stands for `^a$` and `^b$`.
/// Where an alternative means more, a part of it.
fn words(text: &str) -> Vec<Word> {
    let mut depth = 0_i32;
    let between = |byte: char| {
        depth += i32::from(byte == '(') - i32::from(byte == ')');
        byte == '|' && depth == 0
    };
    let mut words = Vec::new();
    for one in text.split(between) {
        let known = words.len();
        if expand(one, &mut words).is_none() {
            words.truncate(known);
            words.push(part(one));
        }
    }
    match has_parts(text) || words.iter().all(|word| !word.is_part) {
        true => words,
        false => vec![part("")],
    }
}

/// Whether each `|` outside of parentheses stands between alternatives: none is escaped or in a class, and nothing
/// changes what letters mean.
fn has_parts(text: &str) -> bool {
    let is_class = |(class, _): (&str, &str)| class.len() > 1 && !class.contains(['(', ')', '|']);
    let mut classes = text.split('[').skip(1);
    !text.contains('\\')
        && !text.contains("(?")
        && classes.all(|rest| rest.split_once(']').is_some_and(is_class))
}

/// The longest part of the begin of an alternative that stands in all that it matches: without its last letter, which may
/// be counted by what follows. Any text begins with none.
fn part(text: &str) -> Word {
    let begin = text.split(['(', '[', '{']).next().unwrap_or_default();
    let parts = begin.split(|c| !is_plain(c));
    let parts = parts.map(|part| part.get(..part.len().saturating_sub(1)).unwrap_or_default());
    let longest = parts.max_by_key(|part| part.len()).unwrap_or_default();
    Word {
        text: longest.to_owned(),
        is_part: true,
        begins: longest.is_empty(),
        ends: false,
    }
}

fn expand(text: &str, words: &mut Vec<Word>) -> Option<()> {
    let Some((before, grouped)) = text.split_once('(') else {
        words.push(word(text)?);
        return Some(());
    };
    let (choices, after) = grouped.split_once(')')?;
    let mut choices = choices.split('|');
    choices.try_for_each(|choice| expand(&[before, choice, after].concat(), words))
}

/// A plain word, or nothing when the text means more than itself.
fn word(text: &str) -> Option<Word> {
    let begun = text.strip_prefix('^').unwrap_or(text);
    let rest = begun.strip_suffix('$').unwrap_or(begun);
    (!rest.is_empty() && rest.chars().all(is_plain)).then(|| Word {
        text: rest.to_owned(),
        is_part: false,
        begins: begun.len() < text.len(),
        ends: rest.len() < begun.len(),
    })
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_:~ -<>,&".contains(c)
}

/// Many names in order, one behind the other: a word that begins a name stands where the order puts it, and any other is
/// looked for in all of them at once, not in each.
pub(crate) struct Names<'a> {
    /// Each with the place at which it was given.
    names: Vec<(&'a str, usize)>,
    text: String,
    /// Where each name ends in the text.
    ends: Vec<usize>,
}

impl<'a> Names<'a> {
    pub(crate) fn new(names: impl Iterator<Item = &'a str>) -> Self {
        let mut names: Vec<(&str, usize)> = names.zip(0..).collect();
        names.sort_unstable();
        let ends = names.iter().scan(0, |end, (name, _)| {
            *end += name.len();
            Some(*end)
        });
        Self {
            text: names.iter().map(|(name, _)| *name).collect(),
            ends: ends.collect(),
            names,
        }
    }

    fn mark(&self, word: &Word, of: &NamePattern, matches: &mut Vec<bool>) {
        let mut mark = |(name, place): (&str, usize)| {
            if word.is_match(name) && (!word.is_part || of.is_match(name)) {
                matches.resize(self.names.len(), false);
                matches[place] = true;
            }
        };
        if word.begins {
            let text = word.text.as_str();
            let from = self.names.partition_point(|(name, _)| *name < text);
            let names = self.names.iter().skip(from);
            let begun = names.take_while(|(name, _)| name.starts_with(text));
            return begun.copied().for_each(mark);
        }
        let finder = memmem::Finder::new(&word.text);
        let mut from = 0;
        while let Some(rest) = self.text.as_bytes().get(from..)
            && let Some(at) = finder.find(rest)
        {
            // What was found may reach into the next name, which is looked through from its begin.
            let found = self.ends.partition_point(|end| *end <= from + at);
            let (Some(end), Some(name)) = (self.ends.get(found), self.names.get(found)) else {
                return;
            };
            mark(*name);
            from = *end;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_expressions_match_alike() {
        for (pattern, name, expected) in [
            ("malloc", "_int_malloc", true),
            ("^malloc$", "_int_malloc", false),
            ("^malloc$|^free$", "free", true),
            ("^_int_", "_int_free", true),
            ("_slowpath$", "rwsem_down_read_slowpath", true),
            ("THD::init", "THD::init_for_queries", true),
            ("^(malloc|free)$", "free", true),
            ("^(malloc|free)$", "freed", false),
            ("^a(b|c)d|e(f|g)$", "xeg", true),
            ("^a(b|c)d|e(f|g)$", "xacd", false),
            ("a(|b)c", "ac", true),
            ("flush_tlb_.*", "flush_tlb_mm_range", true),
            ("a|b", "c", false),
            ("(?i)größe|x+", "GRÖSSE", false),
            ("(?i)größe|x+", "GRÖẞE", true),
            (r"^table (.*)\d$", "Table 1", false),
            (r"^table (.*)\d$", "table straße 1", true),
            ("a|bc*d|^x[0-9]+y", "abd", true),
            ("^e|bc*d|^x[0-9]+y", "abd", true),
            ("^e|bc+d|^x[0-9]+y", "abd", false),
            ("^e|bb+d|^xx[0-9]+y", "xx12y", true),
            ("^e|bb+d|^xx[0-9]+y", "axx12y", false),
            ("e|(xx)?bb.*d", "bbad", true),
            ("e|xx[(]b|c", "c", true),
            ("e|xx[a|f|g]b", "f", false),
            ("e|xx[]a|f|g]b", "f", false),
            ("e|xx[ab[c]f|gg|h]b", "gg", false),
            (r"e|xx\||gg", "gg", true),
            ("e|x{0,12}bb", "bb", true),
            ("e|(?i)x|gg", "gg", true),
        ] {
            let parsed = NamePattern::parse(pattern, Compiled::Now).unwrap();
            assert_eq!(parsed.is_match(name), expected, "{pattern} {name}");
            let regex = Regex::new(pattern).unwrap();
            assert_eq!(
                regex.is_match(name.as_bytes()),
                expected,
                "{pattern} {name}"
            );
        }
        let names = [
            "mall", "oc", "malloc", "", "mallocx", "xmalloc", "free", "x",
        ];
        let all = Names::new(names.into_iter());
        for pattern in [
            "malloc",
            "^malloc$",
            "^malloc",
            "malloc$",
            "l|^fr",
            "(oc|x)$",
            "none",
            r"\Afree",
            r"mall\z",
            "^mal+o|free",
            "^x?$",
            "mall.*x|^fr+ee$|none",
        ] {
            let parsed = NamePattern::parse(pattern, Compiled::Now).unwrap();
            let expected = names.map(|name| parsed.is_match(name));
            let mut matches = parsed.matches(&all);
            assert_eq!(matches.is_empty(), !expected.contains(&true), "{pattern}");
            matches.resize(names.len(), false);
            assert_eq!(matches, expected, "{pattern}");
            let text = names.join("\n");
            assert!(
                parsed.may_match_in()(&text) || !expected.contains(&true),
                "{pattern}"
            );
        }
        assert!(!NamePattern::parse("none|^other", Compiled::Now)
            .unwrap()
            .may_match_in()("malloc\nfree"));
        for (pattern, expected) in [
            ("^malloc$|free", 2),
            ("^(malloc|free)$|x_(a|b|)_y", 5),
            ("^(a|b)_(c|d|e)$", 6),
            ("a(b)?", 0),
            ("a((b|c)|d)", 0),
            ("(?i)a", 0),
            ("a|[bc]", 1),
        ] {
            let parsed = NamePattern::parse(pattern, Compiled::Now).unwrap();
            let words = parsed.words.iter().filter(|word| !word.is_part);
            assert_eq!(words.count(), expected, "{pattern}");
        }
        let grouped = NamePattern::parse("lost (lock|latch)", Compiled::AtFirstUse).unwrap();
        let captured = grouped.captures("he lost latch 1").unwrap();
        assert_eq!(captured.get(1).unwrap().as_bytes(), b"latch");
        assert!(NamePattern::parse("(", Compiled::Now).is_err());
        assert!(
            NamePattern::parse("a||b", Compiled::Now)
                .unwrap()
                .is_match("")
        );
    }
}
