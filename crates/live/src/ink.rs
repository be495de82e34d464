//! What is shown as text with a meaning: the colour comes last, and can be left out.

use cli::output::Look;
use model::Plain;
use ratatui_core::text::Span;

/// What a piece of text is. A colour only repeats what its words say.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Ink {
    /// Ordinary.
    #[default]
    Plain,
    /// A heading, a name that counts.
    Strong,
    /// Beside the point.
    Dim,
    /// Trouble: orange.
    Bad,
    /// As it should be, or the time before: blue.
    Good,
    /// A box of the flame graph that takes more than before: orange all over.
    More,
    /// One that takes less: blue all over.
    Less,
    /// The chosen row, the head and foot.
    Bar,
}

/// Colours that the terminal has, or that are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Palette {
    /// None; weight and reversed letters stay.
    Off,
    /// The eight of ECMA-48.
    Eight,
    /// With their bright ones.
    Sixteen,
    /// The cube of xterm.
    Many,
}

impl Palette {
    /// The words of `--palette`.
    pub const WORDS: [(&str, Self); 4] = [
        ("off", Self::Off),
        ("8", Self::Eight),
        ("16", Self::Sixteen),
        ("256", Self::Many),
    ];

    /// What the environment asks for: none with `NO_COLOR` (no-color.org), else what `TERM` and `COLORTERM` say.
    pub fn from_environment(get: impl Fn(&str) -> Option<String>) -> Self {
        let has = |name: &str| get(name).filter(|value| !value.is_empty());
        let term = has("TERM").unwrap_or_default();
        match (has("NO_COLOR"), has("COLORTERM")) {
            (Some(_), _) => Self::Off,
            (None, Some(_)) => Self::Many,
            _ if term == "dumb" => Self::Off,
            _ if term.contains("256") => Self::Many,
            _ if term == "linux" || term.is_empty() => Self::Eight,
            _ => Self::Sixteen,
        }
    }

    /// How an ink looks. The orange and the blue of the cube (#af5f00, #5f5fff) have a contrast of 4.4 and more on black
    /// and on white; with fewer colours they are what comes nearest.
    pub fn style(self, ink: Ink) -> Look {
        let is_box = matches!(ink, Ink::More | Ink::Less);
        let as_letters = match ink {
            Ink::More => Ink::Bad,
            Ink::Less => Ink::Good,
            ink => ink,
        };
        let colour = match (self, as_letters) {
            (Self::Off, _) => None,
            (Self::Eight | Self::Sixteen, Ink::Bad) => Some(3),
            (Self::Many, Ink::Bad) => Some(130),
            (Self::Eight, Ink::Good) => Some(6),
            (Self::Sixteen, Ink::Good) => Some(12),
            (Self::Many, Ink::Good) => Some(63),
            _ => None,
        };
        Look {
            colour,
            bold: matches!(ink, Ink::Strong | Ink::Bad) || (ink == Ink::More && self == Self::Off),
            faint: ink == Ink::Dim && self != Self::Off,
            reversed: ink == Ink::Bar || (is_box && self != Self::Off),
        }
    }
}

/// One line of the screen. Whatever is put into it is escaped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Line {
    pieces: Vec<(Ink, String)>,
}

/// Each byte is a letter of one column: most text is, and needs no tables of Unicode.
pub fn is_printable_ascii(text: &str) -> bool {
    text.bytes().all(|byte| (b' '..=b'~').contains(&byte))
}

/// Columns that text takes.
pub fn width(text: &str) -> usize {
    match is_printable_ascii(text) {
        true => text.len(),
        false => Span::raw(text).width(),
    }
}

/// Text cut to so many columns; `~` stands for what is gone.
pub fn cut(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let ends: Vec<usize> = text.char_indices().map(|(end, _)| end).collect();
    let before = |end: usize| text.get(..end).unwrap_or("");
    // A longer text is not narrower.
    let fitting = ends.partition_point(|end| width(before(*end)) < most);
    let end = fitting.checked_sub(1).and_then(|last| ends.get(last));
    let mut out = before(end.copied().unwrap_or(0)).to_owned();
    if most > 0 {
        out.push('~');
    }
    out
}

impl Line {
    /// A line of one piece.
    pub fn colored(ink: Ink, text: &str) -> Self {
        Self::default().add(ink, text)
    }

    /// An ordinary line.
    pub fn plain(text: &str) -> Self {
        Self::colored(Ink::Plain, text)
    }

    /// With another piece behind it.
    #[must_use]
    pub fn add(mut self, ink: Ink, text: &str) -> Self {
        self.push(ink, text);
        self
    }

    /// Adds a piece.
    pub fn push(&mut self, ink: Ink, text: &str) {
        let text = Plain::line(text).into_string();
        if !text.is_empty() {
            self.pieces.push((ink, text));
        }
    }

    /// Columns.
    pub fn width(&self) -> usize {
        self.pieces.iter().map(|(_, text)| width(text)).sum()
    }

    /// Blanks up to a column.
    pub fn pad(&mut self, to: usize) {
        let missing = to.saturating_sub(self.width());
        if missing > 0 {
            self.pieces.push((Ink::Plain, " ".repeat(missing)));
        }
    }

    /// Text that ends at the last column, where there is room for it.
    #[must_use]
    pub fn right(mut self, ink: Ink, text: &str, columns: usize) -> Self {
        let begin = columns.saturating_sub(width(text));
        if begin >= self.width() {
            self.pad(begin);
            self.push(ink, text);
        }
        self
    }

    /// The line as far as it has room; `~` stands for what is gone.
    #[must_use]
    pub fn cut(self, columns: usize) -> Self {
        if self.width() <= columns {
            return self;
        }
        let mut line = Self::default();
        for (ink, text) in self.pieces {
            let room = columns.saturating_sub(line.width());
            let is_whole = width(&text) <= room;
            line.pieces.push((ink, cut(&text, room)));
            if !is_whole {
                break;
            }
        }
        line
    }

    /// The same in one ink.
    #[must_use]
    pub fn all(self, ink: Ink) -> Self {
        let text: String = self.pieces.into_iter().map(|(_, text)| text).collect();
        Self {
            pieces: vec![(ink, text)],
        }
    }

    /// Its pieces.
    pub fn spans(&self) -> &[(Ink, String)] {
        &self.pieces
    }

    /// Its text.
    pub fn text(&self) -> String {
        self.pieces.iter().map(|(_, text)| text.as_str()).collect()
    }
}

/// Words on lines of a width, later lines indented.
pub fn wrapped(ink: Ink, text: &str, indent: usize, columns: usize) -> Vec<Line> {
    let plain = Plain::line(text);
    let room = columns.max(indent + 8);
    let begin = plain.as_str().len() - plain.as_str().trim_start_matches(' ').len();
    let begin = begin.min(room / 2);
    let indent = indent + begin;
    let mut lines: Vec<String> = vec![" ".repeat(begin)];
    for word in plain.as_str().split(' ').filter(|word| !word.is_empty()) {
        let Some(line) = lines.last_mut() else { break };
        match line.trim().is_empty() {
            true => line.push_str(word),
            false if width(line) + 1 + width(word) <= room => {
                line.push(' ');
                line.push_str(word);
            }
            false => lines.push(format!("{:indent$}{word}", "")),
        }
    }
    lines.iter().map(|line| Line::colored(ink, line)).collect()
}

/// Text for terminals that have ASCII only.
pub fn ascii(text: &str) -> String {
    let letter = |letter: char| match letter {
        '–' | '—' => '-',
        'µ' => 'u',
        '×' => 'x',
        '…' => '~',
        letter if letter.is_ascii() => letter,
        _ => '?',
    };
    text.chars().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_and_wrapped_by_columns() {
        assert_eq!(cut("abcdef", 4), "abc~");
        assert_eq!(cut("abc", 3), "abc");
        assert_eq!(cut("日本語", 5), "日本~");
        assert_eq!(cut("abc", 0), "");
        let lines = wrapped(Ink::Plain, "one two three four", 2, 10);
        let text: Vec<String> = lines.iter().map(Line::text).collect();
        assert_eq!(text, ["one two", "  three", "  four"]);
        let line = Line::plain("left").right(Ink::Dim, "right", 12);
        assert_eq!(line.text(), "left   right");
        assert_eq!(line.clone().right(Ink::Dim, "no room", 14), line);
        assert_eq!(line.cut(9).text(), "left   r~");
        let deep = wrapped(Ink::Plain, "  one two three", 2, 10);
        let text: Vec<String> = deep.iter().map(Line::text).collect();
        assert_eq!(text, ["  one two", "    three"]);
    }

    #[test]
    fn what_drives_a_terminal_is_shown() {
        let line = Line::plain("a\u{1b}[2J\u{202e}\nb");
        assert_eq!(line.text(), "a\\x1b[2J\\u{202e}\\nb");
        assert_eq!(ascii("1 µs – é"), "1 us - ?");
    }

    #[test]
    fn the_environment_chooses_the_colours() {
        let of = |set: &[(&str, &str)]| {
            Palette::from_environment(|name| {
                let found = set.iter().find(|(key, _)| *key == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        for (set, palette) in [
            (&[("TERM", "xterm-256color")][..], Palette::Many),
            (
                &[("TERM", "xterm-256color"), ("NO_COLOR", "1")],
                Palette::Off,
            ),
            (
                &[("TERM", "xterm-256color"), ("NO_COLOR", "")],
                Palette::Many,
            ),
            (&[("TERM", "xterm")], Palette::Sixteen),
            (&[("TERM", "linux")], Palette::Eight),
            (&[("TERM", "dumb")], Palette::Off),
            (
                &[("TERM", "xterm"), ("COLORTERM", "truecolor")],
                Palette::Many,
            ),
        ] {
            assert_eq!(of(set), palette, "{set:?}");
        }
        let off = Palette::Off.style(Ink::Bad);
        assert!(off.bold && off.colour.is_none());
    }

    /// Relative luminance and contrast of WCAG 2.
    #[test]
    fn both_colours_can_be_read_on_black_and_on_white() {
        let light = |part: f64| match part / 255.0 {
            low if low <= 0.03928 => low / 12.92,
            high => ((high + 0.055) / 1.055).powf(2.4),
        };
        for (red, green, blue) in [(0xaf, 0x5f, 0), (0x5f, 0x5f, 0xff)] {
            let luminance = 0.2126 * light(f64::from(red))
                + 0.7152 * light(f64::from(green))
                + 0.0722 * light(f64::from(blue));
            assert!((luminance + 0.05) / 0.05 > 4.4, "on black: {luminance}");
            assert!(1.05 / (luminance + 0.05) > 4.4, "on white: {luminance}");
        }
    }
}
