//! Where a line of a page may end: in a command only between its words.
//!
//! A browser ends a line behind each hyphen, too. A line that ends with `--`, and has `runtime` on the next one, reads as
//! another command. So words with hyphens stay whole, as far as a narrow screen has room for them. What is copied is the
//! same as before: no character is added.

use std::ops::Range;

use crate::markup::{Markup, markup};

/// Characters that stay whole at the most: a line of code on a telephone has no more.
const WHOLE_MAX: usize = 34;

/// A text of at most about so many bytes of markup; options of commands (`--name`) in it stay whole.
pub(crate) fn text(text: &str, bytes_max: usize) -> Markup {
    marked(text, bytes_max, false)
}

/// A command, or a name that a machine knows: all its words stay whole.
pub(crate) fn command(text: &str, bytes_max: usize) -> Markup {
    marked(text, bytes_max, true)
}

fn marked(text: &str, bytes_max: usize, is_command: bool) -> Markup {
    let mut pieces: Vec<(bool, &str)> = Vec::new();
    let mut told = 0;
    for range in whole(text, is_command) {
        pieces.push((false, text.get(told..range.start).unwrap_or_default()));
        told = range.end;
        pieces.push((true, text.get(range).unwrap_or_default()));
    }
    pieces.push((false, text.get(told..).unwrap_or_default()));
    let mut out = Markup::new();
    for (is_whole, piece) in pieces {
        let shown = Markup::cut(piece, bytes_max.saturating_sub(out.len()));
        let is_cut = shown != Markup::cut(piece, usize::MAX);
        out += match is_whole {
            true => markup!("<span class=\"whole\">{}</span>", shown),
            false => shown,
        };
        if is_cut {
            break;
        }
    }
    out
}

/// What of a text stays whole, in bytes.
fn whole(text: &str, is_command: bool) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    if !text.contains('-') {
        return found;
    }
    let mut words = words(text).into_iter().peekable();
    while let Some(mut range) = words.next() {
        // Alone at the end of a line it would seem that nothing follows.
        if is_command && text.get(range.clone()) == Some("--") {
            let next = words.next_if(|next| text.get(range.end..next.start) == Some(" "));
            range.end = next.map_or(range.end, |next| next.end);
        }
        let length = whole_length(text.get(range.clone()).unwrap_or_default(), is_command);
        if length > 0 {
            found.push(range.start..range.start + length);
        }
    }
    found
}

/// The places of what stands between blanks.
fn words(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut begin = None;
    for (at, character) in text.char_indices() {
        match (character.is_whitespace(), begin) {
            (true, Some(from)) => {
                found.push(from..at);
                begin = None;
            }
            (false, None) => begin = Some(at),
            _ => {}
        }
    }
    found.extend(begin.map(|from| from..text.len()));
    found
}

/// How much of a word stays whole, in bytes from its begin. Of an option that is too long the value may be parted.
fn whole_length(word: &str, is_command: bool) -> usize {
    let name = word
        .trim_start_matches(['(', '[', '\'', '"', '`'])
        .strip_prefix('-');
    let is_option = name.is_some_and(|name| {
        name.starts_with(|first: char| first == '-' || first.is_ascii_alphabetic())
    });
    let end = word.char_indices().nth(WHOLE_MAX).map(|(at, _)| at);
    match end {
        None if is_option || (is_command && word.contains('-')) => word.len(),
        Some(end) if is_option => word.find('=').map_or(end, |at| end.min(at + 1)),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(text: &str, is_command: bool) -> Vec<&str> {
        let ranges = whole(text, is_command).into_iter();
        ranges.filter_map(|range| text.get(range)).collect()
    }

    #[test]
    fn an_option_is_not_parted_from_its_dashes() {
        let command = "systemctl set-property --runtime mariadb.service MemoryMax=24G";
        assert_eq!(kept(command, true), ["set-property", "--runtime"]);
        assert_eq!(kept(command, false), ["--runtime"]);
        for (text, options) in [
            ("renice -n 19 -p PID; ionice -c3", &["-n", "-p", "-c3"][..]),
            (
                "name it (--fix-dir), or '--at'",
                &["(--fix-dir),", "'--at'"][..],
            ),
            ("no effect (-5 %), 3 - 2, a -- b, row-lock", &["--"][..]),
            ("all is plain", &[][..]),
        ] {
            assert_eq!(kept(text, false), options, "{text}");
        }
    }

    #[test]
    fn lone_dashes_stay_with_what_follows() {
        assert_eq!(kept("run x -- --runtime y", true), ["-- --runtime"]);
        assert_eq!(kept("run x --\n--runtime", true), ["--", "--runtime"]);
        assert_eq!(kept("run x --", true), ["--"]);
    }

    #[test]
    fn what_no_line_has_room_for_may_be_parted_behind_its_name() {
        let value = "/very/long-path".repeat(9);
        let long = format!("x --defaults-file={value} {value}");
        assert_eq!(kept(&long, true), ["--defaults-file="]);
        let nameless = format!("--{}", "a".repeat(99));
        assert_eq!(
            kept(&nameless, true),
            [format!("--{}", "a".repeat(WHOLE_MAX - 2))]
        );
    }

    #[test]
    fn it_is_text_and_has_its_bounds() {
        let shown = command("a --b=<i> -- 'c'", usize::MAX).into_string();
        assert_eq!(
            shown,
            "a <span class=\"whole\">--b=&lt;i&gt;</span> <span class=\"whole\">-- &#39;c&#39;</span>"
        );
        let long = "-a é ".repeat(1_000);
        let cut = text(&long, 500).into_string();
        assert!(cut.len() < 600 && cut.contains('…'), "{}", cut.len());
        assert_eq!(cut.matches("<span").count(), cut.matches("</span>").count());
        assert_eq!(
            text(&long, usize::MAX).into_string().matches("-a").count(),
            1_000
        );
        assert_eq!(text("", 0), Markup::new());
    }
}
