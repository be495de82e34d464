//! The name of a function without what people write behind it.
//!
//! `rw_lock_s_lock_func   <- index lock`, `clone // ours`: whoever shows a stack to others notes what he sees in it. A name
//! has no blanks but in parentheses and brackets, in front of a template (`bool f<int>`), and in a few forms of C++.

/// Forms of C++ with blanks: what a name begins with, and what stands in front of a type that a class becomes.
const THUNKS: [&str; 2] = ["non-virtual thunk to ", "virtual thunk to "];
const OPERATOR: &str = "operator ";

/// Words of types that have several.
const OF_TYPES: [&str; 8] = [
    "char", "const", "double", "float", "int", "long", "short", "unsigned",
];

/// What stands behind a name and belongs to it.
const ENDS: [&str; 3] = ["const", "[clone ", "(inlined)"];

/// The name alone.
pub(crate) fn alone(text: &str) -> &str {
    let text = text.trim();
    if !text.contains(char::is_whitespace) {
        return text;
    }
    let begin = begin_with_blanks(text);
    let mut depth = 0_usize;
    let head = text.get(..begin).unwrap_or_default();
    let mut before = head.chars().next_back().unwrap_or(' ');
    for (at, char) in text.char_indices().skip_while(|(at, _)| *at < begin) {
        match char {
            '<' | '(' | '[' | '{' => depth += 1,
            '>' if before == '-' => {}
            '>' | ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ if char.is_whitespace() && depth == 0 && !before.is_whitespace() => {
                let rest = text.get(at..).unwrap_or_default();
                if !goes_on(rest) {
                    let name = text.get(..at).unwrap_or(text);
                    return name.trim_end_matches([',', ';']);
                }
            }
            _ => {}
        }
        before = char;
    }
    text
}

/// Bytes at the begin of a name in which blanks are its own: `virtual thunk to `, `A::operator unsigned long`. A sentence
/// behind a name may speak of an operator, too.
fn begin_with_blanks(text: &str) -> usize {
    let thunk = THUNKS.iter().find(|words| text.starts_with(**words));
    if let Some(words) = thunk {
        return words.len();
    }
    let mut places = text.match_indices(OPERATOR).map(|(at, _)| at);
    let of_class = |at: &usize| {
        let before = text.get(..*at).unwrap_or_default();
        before.is_empty() || before.ends_with("::")
    };
    let Some(at) = places.find(of_class) else {
        return 0;
    };
    // Of the type the first word, and others where it has several.
    const ENDS_OF_WORDS: [char; 6] = [' ', '(', '&', '*', ',', ';'];
    let mut end = at + OPERATOR.len();
    let first = text.get(end..).unwrap_or_default();
    end += first.find(ENDS_OF_WORDS).unwrap_or(first.len());
    while let Some(rest) = text.get(end..).and_then(|rest| rest.strip_prefix(' ')) {
        let word = rest.split(ENDS_OF_WORDS).next().unwrap_or_default();
        if !OF_TYPES.contains(&word) {
            break;
        }
        end += 1 + word.len();
    }
    end
}

/// Whether a name goes on with what stands behind a blank.
fn goes_on(rest: &str) -> bool {
    let next = rest.trim_start();
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
    let has_template = || {
        let mut brackets = next.match_indices('<');
        brackets.any(|(at, _)| {
            let head = next.get(..at).unwrap_or_default();
            let is_of_type = |c: char| is_of_name(c) || " :*&~".contains(c);
            head.ends_with(is_of_name) && head.chars().all(is_of_type)
        })
    };
    ENDS.iter().any(|end| next.starts_with(end)) || has_template()
}

#[cfg(test)]
mod tests {
    use super::alone;

    #[test]
    fn notes_are_no_part_of_a_name() {
        for note in [
            "<- index lock",
            "<--- Alice, hunter2",
            "// ours",
            "-- ours",
            "=> look",
            "\u{2190} look",
            "(the one of Alice)",
            "# ours",
            "her password is hunter2",
            "<-- n<5 hunter2",
            "says Alice, n<5 hunter2",
            "// the operator says hunter2",
            "<- operator Alice, a thunk to hunter2",
        ] {
            for name in [
                "clone",
                "ha_innobase::index_read",
                "std::vector<int, long>::push_back",
                "bool f<int, long>",
                "A::f(int, char const*)",
                "A::f() const",
                "(anonymous namespace)::f",
                "A::operator bool",
                "A::operator unsigned long",
                "operator new(unsigned long)",
                "non-virtual thunk to A::f()",
                "...",
            ] {
                assert_eq!(alone(&format!("{name}   {note}")), name, "{note}");
                assert_eq!(alone(&format!("{name}, {note}")), name, "{note}");
            }
        }
    }

    #[test]
    fn names_are_whole() {
        for name in [
            "",
            "clone",
            "operator new(unsigned long)",
            "A::operator bool",
            "A::operator char const*",
            "non-virtual thunk to A::f()",
            "unsigned long std::max<int>(int const&)",
            "<T as core::fmt::Display>::fmt",
            "<signal handler called>",
            "f(int, char) const [clone .part.5]",
            "f (inlined)",
            "A::operator->",
        ] {
            assert_eq!(alone(name), name);
        }
    }
}
