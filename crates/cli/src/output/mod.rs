//! What is told, and where: standard output and standard error are written to here and nowhere else (clippy refuses
//! `println!` and its like in the whole workspace), and what is written is a [`Plain`], which can only be made by
//! escaping. So nothing recorded, named or configured can drive a terminal.

mod screen;
mod stderr;
mod stdout;

use model::Plain;
use unicode_width::UnicodeWidthStr as _;

pub use screen::{Look, Screen};
pub use stderr::{ask, clear_progress, is_terminal, name_program, note, progress, tell};
pub use stdout::{
    pass_on, print, print_either, print_json, print_json_line, print_json_text, print_line,
    print_page, stream_json, text_options,
};

/// Text of the outside on one line of the terminal: nothing recorded may drive it.
pub fn plain(text: &str) -> String {
    Plain::line(text).into_string()
}

/// Text that has less room behind its head begins below it.
const ROOM_MIN: usize = 30;

/// How far it stands in there.
const INDENT: usize = 8;

/// Text behind a head, its further lines below its first; nothing is cut. Width 0 is as wide as it
/// takes.
pub fn wrapped(head: &str, text: &str, width: usize) -> String {
    let width = match width {
        0 => usize::MAX,
        width => width,
    };
    let length = head.width();
    let is_below = width.saturating_sub(length) < ROOM_MIN && length > INDENT;
    let indent = if is_below { INDENT } else { length };
    let room = width.saturating_sub(indent).max(ROOM_MIN);
    let mut lines = vec![String::new()];
    for word in plain(text).split(' ') {
        match lines.last_mut() {
            Some(line) if line.is_empty() => line.push_str(word),
            Some(line) if line.width() + 1 + word.width() <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    let begin = format!("\n{:indent$}", "");
    let text = lines.join(&begin);
    match is_below {
        true => format!("{}{begin}{text}\n", head.trim_end()),
        false => format!("{head}{text}\n"),
    }
}

/// A moment's time of the day: `03:12:05 UTC`. Whatever people read is UTC and says so, in every command and page: two
/// outputs can be laid side by side, and sent to somebody in another zone.
pub fn clock(wall_ms: i64) -> String {
    moment(wall_ms, "%H:%M:%S UTC")
}

/// A moment with its date: `2026-11-20 03:12:05 UTC`.
pub fn date(wall_ms: i64) -> String {
    moment(wall_ms, "%Y-%m-%d %H:%M:%S UTC")
}

fn moment(wall_ms: i64, format: &str) -> String {
    jiff::Timestamp::from_millisecond(wall_ms).map_or_else(
        |_| wall_ms.to_string(),
        |moment| moment.strftime(format).to_string(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_utc_and_say_so() {
        assert_eq!(date(1_715_483_525_120), "2024-05-12 03:12:05 UTC");
        assert_eq!(clock(1_715_483_525_120), "03:12:05 UTC");
        assert_eq!(clock(i64::MAX), i64::MAX.to_string());
    }

    #[test]
    fn text_is_wrapped_behind_its_head_or_below_it() {
        let text = "one two three four five six seven eight nine ten";
        assert_eq!(
            wrapped("    ok  ", text, 40),
            "    ok  one two three four five six\n        seven eight nine ten\n"
        );
        let head = format!("    ok  {:<36} ", "evidence");
        assert_eq!(
            wrapped(&head, text, 60),
            "    ok  evidence\n        one two three four five six seven eight nine ten\n"
        );
        assert_eq!(wrapped("a ", text, 0), format!("a {text}\n"));
        let wide = "元数据锁 元数据锁 元数据锁 元数据锁";
        assert_eq!(
            wrapped("a ", wide, 34),
            "a 元数据锁 元数据锁 元数据锁\n  元数据锁\n"
        );
    }
}
