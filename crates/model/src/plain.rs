//! Text from outside, made harmless for a terminal.
//!
//! A name, a statement or a message may hold what a terminal obeys: escape sequences that write to the clipboard, move
//! the cursor or change the title, and characters that reorder or hide what stands beside them. Such a character is
//! shown instead of sent, as `\x1b` or `\u{202e}`: a backslash, and its number in hexadecimal.

use std::fmt::{self, Display, Write};

/// What a style may be (SGR of ECMA-48): none, bold, faint, underlined, a colour of letters that can be read. Not among
/// them is what hides letters: concealed, black, a colour behind them.
const STYLES: [&str; 11] = ["", "0", "1", "2", "4", "31", "32", "33", "34", "35", "36"];

/// Text that a terminal can be given. It can only be made by escaping.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plain(String);

impl Plain {
    /// Text for one line: line ends and tabs are shown as `\n`, `\r` and `\t`.
    pub fn line(text: &str) -> Self {
        let mut out = String::with_capacity(text.len());
        for character in text.chars() {
            match character {
                '\n' => out.push_str("\\n"),
                '\r' => out.push_str("\\r"),
                '\t' => out.push_str("\\t"),
                _ => push(&mut out, character),
            }
        }
        Self(out)
    }

    /// Text of several lines: line ends and tabs stay.
    pub fn text(text: &str) -> Self {
        let mut out = String::with_capacity(text.len());
        for character in text.chars() {
            push_of_text(&mut out, character);
        }
        Self(out)
    }

    /// As [`Plain::text`], for a page that we have styled ourselves: colours and weight stay, and nothing else does.
    pub fn styled(text: &str) -> Self {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(first) = rest.chars().next() {
            let length = style(rest).unwrap_or(first.len_utf8());
            let (piece, behind) = rest.split_at(length);
            if length > first.len_utf8() {
                out.push_str(piece);
            } else {
                push_of_text(&mut out, first);
            }
            rest = behind;
        }
        Self(out)
    }

    /// A finished JSON document. What JSON allows raw and a terminal would obey only stands in its strings, and becomes
    /// `\u009b` there: for whoever reads the document nothing changes.
    pub fn json(document: &str) -> Self {
        let mut out = String::with_capacity(document.len());
        for character in document.chars() {
            if character == '\n' || !is_deceptive(character) {
                out.push(character);
                continue;
            }
            for unit in character.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        }
        Self(out)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text.
    pub fn into_string(self) -> String {
        self.0
    }
}

impl Display for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// Controls (C0, DEL, C1), and what Unicode calls default ignorable or bidirectional formatting: overrides and isolates,
/// characters without width, separators of lines and paragraphs, tags.
pub fn is_deceptive(character: char) -> bool {
    character.is_control()
        || matches!(character,
            '\u{ad}' | '\u{61c}' | '\u{180e}'
            | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// A deceptive character as it is shown.
pub fn push_visible(out: &mut String, character: char) {
    let code = u32::from(character);
    let _ = if code < 0x100 {
        write!(out, "\\x{code:02x}")
    } else {
        write!(out, "\\u{{{code:x}}}")
    };
}

fn push(out: &mut String, character: char) {
    match is_deceptive(character) {
        true => push_visible(out, character),
        false => out.push(character),
    }
}

fn push_of_text(out: &mut String, character: char) {
    match character {
        '\n' | '\t' => out.push(character),
        _ => push(out, character),
    }
}

/// The length of the sequence that the text begins with, if it is one that sets colours or weight.
fn style(text: &str) -> Option<usize> {
    let inner = text.strip_prefix("\x1b[")?;
    let end = inner.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    let mut parameters = inner.get(..end)?.split(';');
    let is_style =
        inner.get(end..)?.starts_with('m') && parameters.all(|one| STYLES.contains(&one));
    is_style.then_some("\x1b[".len() + end + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A title, a clipboard, C1, an override, what hides.
    const HOSTILE: &str =
        "a\u{1b}]0;x\u{7}\u{1b}[2J\u{9b}31m\u{7f}\u{202e}\u{2066}\u{200b}\u{2028}ü\r\n\tb";

    #[test]
    fn nothing_deceptive_is_left_and_what_it_was_can_be_read() {
        assert_eq!(
            Plain::line(HOSTILE).as_str(),
            "a\\x1b]0;x\\x07\\x1b[2J\\x9b31m\\x7f\\u{202e}\\u{2066}\\u{200b}\\u{2028}ü\\r\\n\\tb"
        );
        assert!(Plain::text(HOSTILE).as_str().ends_with("ü\\x0d\n\tb"));
        for text in [Plain::text(HOSTILE), Plain::styled(HOSTILE)] {
            let mut left = text.as_str().chars().filter(|c| is_deceptive(*c));
            assert_eq!(left.by_ref().collect::<String>(), "\n\t");
        }
    }

    #[test]
    fn of_a_styled_page_only_its_styles_stay() {
        for (text, wanted) in [
            ("\u{1b}[1mbold\u{1b}[0m", "\u{1b}[1mbold\u{1b}[0m"),
            ("\u{1b}[1;36mx\u{1b}[m", "\u{1b}[1;36mx\u{1b}[m"),
            ("\u{1b}[2Jx", "\\x1b[2Jx"),
            ("\u{1b}[8mx", "\\x1b[8mx"),
            ("\u{1b}[1;40mx", "\\x1b[1;40mx"),
            ("\u{1b}[", "\\x1b["),
            ("\u{1b}[1", "\\x1b[1"),
            ("\u{1b}]8;;m", "\\x1b]8;;m"),
            ("\u{1b}[\u{9b}m", "\\x1b[\\x9bm"),
            ("\u{1b}\u{1b}[1m", "\\x1b\u{1b}[1m"),
        ] {
            assert_eq!(Plain::styled(text).as_str(), wanted);
        }
        let long = format!("\u{1b}[{}m", "1".repeat(100));
        assert!(Plain::styled(&long).as_str().starts_with("\\x1b[1"));
    }

    #[test]
    fn json_keeps_its_meaning() {
        let document = "\"a\u{9b}\u{202e}\u{e0041}\u{7f}\"\n";
        assert_eq!(
            Plain::json(document).as_str(),
            "\"a\\u009b\\u202e\\udb40\\udc41\\u007f\"\n"
        );
    }
}
