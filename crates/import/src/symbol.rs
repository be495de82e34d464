//! The name of a function without what people write behind it.
//!
//! `rw_lock_s_lock_func   <- index lock`, `clone // ours`: whoever shows a stack to others notes what he sees in it. A name
//! has no blanks but in parentheses and brackets, in front of a template (`bool f<int>`), and in a few forms of C++.

/// Forms of C++ with blanks anywhere.
const WITH_BLANKS: [&str; 2] = [" thunk to ", "operator "];

/// What stands behind a name and belongs to it.
const ENDS: [&str; 3] = ["const", "[clone ", "(inlined)"];

/// The name alone.
pub(crate) fn alone(text: &str) -> &str {
    let text = text.trim();
    if !text.contains(char::is_whitespace) || WITH_BLANKS.iter().any(|words| text.contains(words)) {
        return text;
    }
    let mut depth = 0_usize;
    let mut before = ' ';
    for (at, char) in text.char_indices() {
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

/// Whether a name goes on with what stands behind a blank.
fn goes_on(rest: &str) -> bool {
    let next = rest.trim_start();
    let is_of_name = |c: char| c.is_alphanumeric() || c == '_';
    let has_template = || {
        let mut brackets = next.match_indices('<');
        brackets.any(|(at, _)| {
            next.get(..at)
                .is_some_and(|head| head.ends_with(is_of_name))
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
        ] {
            for name in [
                "clone",
                "ha_innobase::index_read",
                "std::vector<int, long>::push_back",
                "bool f<int, long>",
                "A::f(int, char const*)",
                "A::f() const",
                "(anonymous namespace)::f",
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
