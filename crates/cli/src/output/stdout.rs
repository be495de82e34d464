//! Standard output: the answer. Only here is it written to, and only what was made [`Plain`].
#![expect(
    clippy::disallowed_methods,
    reason = "this is the one place that writes to standard output"
)]

use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};

use anyhow::{Result, bail};
use model::Plain;
use report::TextOptions;
use serde::Serialize;

/// How standard output wants its text: its width, and colours only on a terminal that did not ask
/// for none (no-color.org).
pub fn text_options() -> TextOptions {
    let stdout = io::stdout();
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

/// A closed pipe is an error that `main` takes as the end.
fn write(text: &Plain) -> Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_str().as_bytes())?;
    if !text.as_str().ends_with('\n') {
        stdout.write_all(b"\n")?;
    }
    Ok(stdout.flush()?)
}

/// Text of any number of lines.
pub fn print(text: &str) -> Result<()> {
    write(&Plain::text(text))
}

/// One line.
pub fn print_line(text: &str) -> Result<()> {
    write(&Plain::line(text))
}

/// A page that was made with [`text_options`]: where these ask for colours, they stay.
pub fn print_page(text: &str) -> Result<()> {
    match text_options().color {
        true => write(&Plain::styled(text)),
        false => print(text),
    }
}

/// A JSON document.
pub fn print_json(value: &impl Serialize) -> Result<()> {
    print_json_text(&serde_json::to_string_pretty(value)?)
}

/// One of several JSON documents, a line each.
pub fn print_json_line(value: &impl Serialize) -> Result<()> {
    print_json_text(&serde_json::to_string(value)?)
}

/// A JSON document that is text already.
pub fn print_json_text(document: &str) -> Result<()> {
    write(&Plain::json(document))
}

/// A JSON document that is text already, or else a page.
pub fn print_either(is_json: bool, text: &str) -> Result<()> {
    match is_json {
        true => print_json_text(text),
        false => print_page(text),
    }
}

/// A JSON document that is written piece by piece, because it is long.
pub fn stream_json(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let mut out = JsonPieces(BufWriter::new(io::stdout().lock()));
    write(&mut out)?;
    Ok(out.0.flush()?)
}

/// Pieces of a JSON document, of whole characters.
struct JsonPieces<W: Write>(W);

impl<W: Write> Write for JsonPieces<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = std::str::from_utf8(bytes)
            .map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
        self.0.write_all(Plain::json(piece).as_str().as_bytes())?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// The bytes of a file, for another program: they are passed on as they are. A terminal is no program, and gets
/// only text that does nothing to it.
pub fn pass_on(bytes: &[u8]) -> Result<()> {
    let mut stdout = io::stdout().lock();
    if stdout.is_terminal() {
        match std::str::from_utf8(bytes) {
            Ok(text) => return print(text),
            Err(_) => bail!(
                "this output is binary, and standard output is a terminal: name a file, or pipe it into a program"
            ),
        }
    }
    stdout.write_all(bytes)?;
    Ok(stdout.flush()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_of_json_are_escaped_and_no_character_is_cut() {
        let mut out = JsonPieces(Vec::new());
        out.write_all("{\"é\":\"\u{9b}\u{202e}\"}".as_bytes())
            .unwrap();
        assert_eq!(out.0, "{\"é\":\"\\u009b\\u202e\"}".as_bytes());
        assert!(out.write_all(b"\xc2").is_err());
    }
}
