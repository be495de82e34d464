use std::io::{IsTerminal, Write};

use anyhow::Result;
use report::TextOptions;

/// How standard output wants its text: its width, and colours only on a terminal that did not ask
/// for none (no-color.org).
pub(crate) fn text_options() -> TextOptions {
    let stdout = std::io::stdout();
    if !stdout.is_terminal() {
        return TextOptions::default();
    }
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    TextOptions {
        width: rustix::termios::tcgetwinsize(&stdout).map_or(0, |size| usize::from(size.ws_col)),
        color: !no_color && !dumb,
    }
}

/// Writes to standard output; a closed pipe is an error that `main` takes as the end.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        stdout.write_all(b"\n")?;
    }
    Ok(stdout.flush()?)
}

/// A remark beside the answer, on standard error.
pub(crate) fn note(text: &str) {
    eprintln!("freezeframe: {}", plain(text));
}

/// Text of the outside on one line of the terminal: nothing recorded may drive it.
pub(crate) fn plain(text: &str) -> String {
    text.chars()
        .map(|c| if c.is_control() { '\u{fffd}' } else { c })
        .collect()
}

/// A moment as local time of the day.
pub(crate) fn clock(wall_ms: i64) -> String {
    let zone = jiff::tz::TimeZone::system();
    jiff::Timestamp::from_millisecond(wall_ms).map_or_else(
        |_| wall_ms.to_string(),
        |moment| moment.to_zoned(zone).strftime("%H:%M:%S%.3f").to_string(),
    )
}

/// A moment with its date and zone.
pub(crate) fn date(wall_ms: i64) -> String {
    let zone = jiff::tz::TimeZone::system();
    jiff::Timestamp::from_millisecond(wall_ms).map_or_else(
        |_| wall_ms.to_string(),
        |moment| {
            moment
                .to_zoned(zone)
                .strftime("%Y-%m-%d %H:%M:%S %Z")
                .to_string()
        },
    )
}
