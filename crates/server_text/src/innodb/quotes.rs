//! Whether a quote is open at the end of a line of SQL.

/// What of SQL can go on over the end of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Quote {
    /// `'…'`
    Single,
    /// `"…"`
    Double,
    /// `` `…` ``
    Back,
    /// `/* … */`
    Comment,
}

impl Quote {
    fn mark(self) -> Option<u8> {
        match self {
            Self::Single => Some(b'\''),
            Self::Double => Some(b'"'),
            Self::Back => Some(b'`'),
            Self::Comment => None,
        }
    }
}

/// What is open after `line`, when `open` was before it. By the rules of the MySQL manual,
/// "String Literals" and "Comments", with backslash escapes; an executable comment (`/*! … */`)
/// is not a comment.
pub(super) fn after_line(open: Option<Quote>, line: &str) -> Option<Quote> {
    let mut open = open;
    let mut bytes = line.as_bytes();
    while let [first, rest @ ..] = bytes {
        bytes = rest;
        match open {
            None => match (first, rest) {
                (b'\'', _) => open = Some(Quote::Single),
                (b'"', _) => open = Some(Quote::Double),
                (b'`', _) => open = Some(Quote::Back),
                (b'#', _) => return None,
                (b'-', [b'-']) => return None,
                (b'-', [b'-', blank, ..]) if blank.is_ascii_whitespace() => return None,
                (b'/', [b'*', b'!', ..] | [b'*', b'M', b'!', ..]) => {}
                (b'/', [b'*', rest @ ..]) => {
                    open = Some(Quote::Comment);
                    bytes = rest;
                }
                _ => {}
            },
            Some(Quote::Comment) => {
                if let (b'*', [b'/', rest @ ..]) = (first, rest) {
                    open = None;
                    bytes = rest;
                }
            }
            Some(quote) => {
                let mark = quote.mark();
                match rest {
                    [_, rest @ ..] if *first == b'\\' && quote != Quote::Back => bytes = rest,
                    // A doubled quote stands for one.
                    [second, rest @ ..] if mark == Some(*first) && second == first => bytes = rest,
                    _ if mark == Some(*first) => open = None,
                    _ => {}
                }
            }
        }
    }
    open
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_open_and_close() {
        for (line, open) in [
            ("a 'b' c", None),
            ("a 'b", Some(Quote::Single)),
            ("a 'it''s", Some(Quote::Single)),
            ("a 'it''s'", None),
            (r"a 'it\'s", Some(Quote::Single)),
            (r"a 'b\", Some(Quote::Single)),
            ("a \"it's\"", None),
            ("a \"it's", Some(Quote::Double)),
            ("a -- it's", None),
            ("a --'s", Some(Quote::Single)),
            ("a # it's", None),
            ("a /* it's */ 'b", Some(Quote::Single)),
            ("a /* it's", Some(Quote::Comment)),
            ("a /*! 'b", Some(Quote::Single)),
            (r"`a\` 'b'", None),
            ("a --", None),
        ] {
            assert_eq!(after_line(None, line), open, "{line}");
        }
        assert_eq!(
            after_line(Some(Quote::Single), "b', 'c"),
            Some(Quote::Single)
        );
        assert_eq!(after_line(Some(Quote::Comment), "it's */"), None);
    }
}
