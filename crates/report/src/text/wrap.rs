//! Lines of a width.

use unicode_width::UnicodeWidthChar as _;

/// Columns a character takes in a terminal; one that drives the terminal is escaped before, and counts as one.
pub(crate) fn columns_of(character: char) -> usize {
    character.width().unwrap_or(1)
}

/// Columns a text takes.
pub(crate) fn columns(text: &str) -> usize {
    text.chars().map(columns_of).sum()
}

/// Breaks words into lines of at most `width` columns; a word that is longer is cut. A number and its unit stay together.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match words.last_mut() {
            Some(number) if is_unit(word) && is_number(number) => {
                number.push(' ');
                number.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    fill(words.iter().map(String::as_str), width)
}

fn is_number(word: &str) -> bool {
    let word = word.trim_start_matches(['(', '-', '<', '>']);
    word.starts_with(|c: char| c.is_ascii_digit())
        && word
            .chars()
            .all(|c| c.is_ascii_digit() || c == '.' || c == ',')
}

fn is_unit(word: &str) -> bool {
    const UNITS: [&str; 9] = ["s", "ms", "µs", "min", "h", "%", "KiB", "MiB", "GiB"];
    UNITS.contains(&word.trim_end_matches(['.', ',', ';', ':', ')']))
}

/// Breaks a command into lines that can still be typed as they stand: between words outside quotes, with a backslash at
/// the end where a shell reads it; within quotes at a blank, where a line feed is as good. What has no blank, such as a
/// path, is never broken: the terminal does that, and gives it back whole to who copies it.
pub(crate) fn wrap_command(command: &str, width: usize, shell: bool) -> Vec<String> {
    let continued = if shell { " \\" } else { "" };
    let room = width.saturating_sub(columns(continued)).max(2);
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    let fits = |line: &str, word: &str| columns(line) + 1 + columns(word) <= room;
    for word in quoted_words(command) {
        if !line.is_empty() && fits(&line, word) {
            line.push(' ');
            line.push_str(word);
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line) + continued);
        }
        for part in word.split(' ') {
            if !line.is_empty() && !fits(&line, part) {
                lines.push(std::mem::take(&mut line).trim_end().to_owned());
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(part);
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// Cuts a text to `width` columns; a cut shows as "…" at the end where there is a column for it.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    if width == 0 {
        return String::new();
    }
    let mut out = String::new();
    let mut taken = 1;
    for character in text.chars() {
        taken += columns_of(character);
        if taken > width {
            break;
        }
        out.push(character);
    }
    out.push('…');
    out
}

/// Cuts a text to `width` columns in its middle, where a cut shows as "…": the end of a function's
/// name says more than its begin.
pub(crate) fn cut_middle(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let Some(room) = width.checked_sub(1) else {
        return String::new();
    };
    let begin = fitting(text.chars(), room / 3);
    let taken: usize = begin.iter().copied().map(columns_of).sum();
    let mut end = fitting(text.chars().rev(), room.saturating_sub(taken));
    end.reverse();
    begin.into_iter().chain(['…']).chain(end).collect()
}

fn fitting(characters: impl Iterator<Item = char>, width: usize) -> Vec<char> {
    let mut taken = 0;
    characters
        .take_while(|character| {
            taken += columns_of(*character);
            taken <= width
        })
        .collect()
}

fn fill<'a>(words: impl Iterator<Item = &'a str>, width: usize) -> Vec<String> {
    let width = width.max(2);
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in words {
        let needed = columns(word) + usize::from(!line.is_empty());
        if columns(&line) + needed <= width {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        let mut taken = 0;
        for character in word.chars() {
            if taken + columns_of(character) > width {
                lines.push(std::mem::take(&mut line));
                taken = 0;
            }
            taken += columns_of(character);
            line.push(character);
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    lines
}

/// Words with what stands in quotes kept whole.
fn quoted_words(command: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut begin = 0;
    let mut quote = None;
    for (at, character) in command.char_indices() {
        match (quote, character) {
            (None, '\'' | '"' | '`') => quote = Some(character),
            (Some(open), _) if open == character => quote = None,
            (None, _) if character.is_whitespace() => {
                words.extend(command.get(begin..at));
                begin = at + character.len_utf8();
            }
            _ => {}
        }
    }
    words.extend(command.get(begin..));
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_width() {
        assert_eq!(wrap("one two  three", 8), ["one two", "three"]);
        assert_eq!(wrap("abcdefgh ij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrap("it took 22 s.", 10), ["it took", "22 s."]);
        assert_eq!(wrap("", 4), [""; 0]);
        assert_eq!(wrap("日本語 x", 4), ["日本", "語 x"]);
        assert_eq!(columns("e\u{301}日"), 3);
        assert_eq!(columns("– µs ▁█ … ×"), 11);
    }

    #[test]
    fn commands_break_outside_quotes() {
        assert_eq!(
            wrap_command("mysql -e 'SET GLOBAL x = 1' db", 22, true),
            ["mysql -e \\", "'SET GLOBAL x = 1' \\", "db"]
        );
        assert_eq!(wrap_command("SET x = 1;", 5, false), ["SET x", "= 1;"]);
        // A part of a path is no path.
        assert_eq!(
            wrap_command(
                "freezeframe fix /work/3306-20261130T050433.211Z.frame",
                30,
                true
            ),
            [
                "freezeframe fix \\",
                "/work/3306-20261130T050433.211Z.frame"
            ]
        );
        assert_eq!(
            wrap_command("mysql -e 'SET GLOBAL x = 1' db", 14, true),
            ["mysql -e \\", "'SET GLOBAL", "x = 1' db"]
        );
    }

    #[test]
    fn cuts_show() {
        assert_eq!(cut("abcdef", 4), "abc…");
        assert_eq!(cut("abcd", 4), "abcd");
        assert_eq!(cut("abcd", 0), "");
        assert_eq!(cut_middle("abcdefghij", 7), "ab…ghij");
        assert_eq!(cut_middle("abcdefg", 7), "abcdefg");
        assert_eq!(columns(&cut_middle("日本語日本語日本語", 8)), 7);
        assert_eq!(cut_middle("abc", 1), "…");
        assert_eq!(cut_middle("abc", 0), "");
    }
}
