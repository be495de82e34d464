//! Text from outside, made harmless for a terminal; for a page, see [`crate::markup`].

use model::Plain;

/// Escapes text for one line of a terminal: nothing in it can move the cursor, change colours,
/// reorder or hide what stands beside it.
pub(crate) fn terminal(text: &str) -> String {
    Plain::line(text).into_string()
}

/// As [`terminal`], cut so that the result has at most about `bytes_max` bytes; for text that is
/// shown as it is, by a script in a page.
pub(crate) fn plain_cut(text: &str, bytes_max: usize) -> String {
    let cut = text
        .char_indices()
        .find(|(at, _)| *at >= bytes_max)
        .map(|(at, _)| at);
    match cut {
        Some(at) => terminal(&text[..at]) + "…",
        None => terminal(text),
    }
}

/// Escapes, in a finished JSON document, what JSON allows raw and a terminal would obey.
pub(crate) fn json(document: &str) -> String {
    Plain::json(document).into_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_gets_no_control() {
        let out = terminal("a\u{1b}[2Jb\r\n\u{9b}31m\u{7f}ü");
        assert_eq!(out, "a\\x1b[2Jb\\r\\n\\x9b31m\\x7fü");
        assert!(!out.chars().any(char::is_control));
    }

    #[test]
    fn a_cut_stands_between_characters() {
        assert_eq!(plain_cut("aéb", 2), "aé…");
        assert_eq!(plain_cut("a\u{2028}", 9), "a\\u{2028}");
    }

    #[test]
    fn json_stays_json() {
        let document = serde_json::to_string("a\u{9b}\u{202e}\u{e0041}\n").unwrap();
        let escaped = json(&document);
        assert!(escaped.is_ascii());
        let back: String = serde_json::from_str(&escaped).unwrap();
        assert_eq!(back, "a\u{9b}\u{202e}\u{e0041}\n");
    }
}
