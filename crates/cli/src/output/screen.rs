//! The whole terminal, for a view that is drawn again and again. Like everything that is told, what it shows is escaped
//! here, and the terminal is given back however the program ends: by an error, a panic, or a signal that the view sees.
#![expect(
    clippy::disallowed_methods,
    reason = "with stdout.rs the one place that writes to standard output"
)]

use std::io::{self, BufWriter, IsTerminal, Stdout, Write};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::ThreadId;
use std::time::Duration;

use anyhow::{Result, bail};
use crossterm::style::{Attribute, Color, SetAttribute, SetBackgroundColor, SetForegroundColor};
use crossterm::terminal::{
    Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use crossterm::{cursor, queue};
use model::Plain;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// The terminal is ours now.
static OPEN: AtomicBool = AtomicBool::new(false);
static HOOK: Once = Once::new();

/// Longest text that is given to the clipboard, bytes: terminals drop longer ones, some at 8 KiB.
const COPY_BYTES_MAX: usize = 4096;

/// The exit code after a hang-up: that of SIGHUP in a shell.
const HUNG_UP: i32 = 129;

/// How a piece of text looks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Look {
    /// Number of a colour for the letters; the terminal's own where there is none.
    pub colour: Option<u8>,
    /// Bold.
    pub bold: bool,
    /// Faint.
    pub faint: bool,
    /// Letters and background exchanged.
    pub reversed: bool,
}

/// Ends the program when its terminal is gone. What reads keys (crossterm 0.29, `try_read`) then reads nothing without
/// end: it would never look at a signal again, and keep a processor busy for good. There is nothing to give back.
fn end_with_terminal() -> io::Result<()> {
    std::thread::Builder::new()
        .name("ff-terminal".to_owned())
        .spawn(|| {
            let stdin = io::stdin();
            loop {
                // Asked for nothing, it waits for a hang-up alone.
                let mut gone = [PollFd::new(&stdin, PollFlags::empty())];
                match poll(&mut gone, None) {
                    Ok(_) | Err(rustix::io::Errno::INTR) => {}
                    Err(_) => return,
                }
                let is_gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
                if gone.iter().any(|one| one.revents().intersects(is_gone)) {
                    std::process::exit(HUNG_UP);
                }
            }
        })?;
    Ok(())
}

/// The terminal as a screen. Dropping it gives the terminal back.
#[derive(Debug)]
pub struct Screen {
    out: BufWriter<Stdout>,
    look: Option<Look>,
}

impl Screen {
    /// Takes the terminal: no echo, keys at once, the alternate screen.
    pub fn open() -> Result<Self> {
        if !io::stdout().is_terminal() || !io::stdin().is_terminal() {
            bail!("standard input or output is not a terminal; use --plain for lines of text");
        }
        let of: ThreadId = std::thread::current().id();
        HOOK.call_once(|| {
            // The line about a panic is to be read on the screen that stays.
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                if std::thread::current().id() == of {
                    give_back();
                }
                before(panic);
            }));
        });
        end_with_terminal()?;
        // What colours there are is the view's choice; NO_COLOR is one of its reasons.
        crossterm::style::force_color_output(true);
        enable_raw_mode()?;
        OPEN.store(true, Ordering::SeqCst);
        let mut screen = Self {
            out: BufWriter::new(io::stdout()),
            look: None,
        };
        queue!(screen.out, EnterAlternateScreen, cursor::Hide)?;
        screen.clear()?;
        Ok(screen)
    }

    /// Columns and lines.
    pub fn size() -> io::Result<(u16, u16)> {
        crossterm::terminal::size()
    }

    /// Whether something was typed that nobody has read yet, or is typed within this time; or the terminal is gone.
    pub fn has_input(wait: Duration) -> bool {
        let stdin = io::stdin();
        let mut typed = [PollFd::new(&stdin, PollFlags::IN)];
        let timeout = Timespec {
            tv_sec: i64::try_from(wait.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(wait.subsec_nanos()),
        };
        poll(&mut typed, Some(&timeout)).is_ok_and(|ready| ready > 0)
    }

    /// Empties it.
    pub fn clear(&mut self) -> io::Result<()> {
        self.look = None;
        queue!(
            self.out,
            SetAttribute(Attribute::Reset),
            Clear(ClearType::All)
        )?;
        self.out.flush()
    }

    /// Where the next text goes, column and line from 0.
    pub fn go(&mut self, column: u16, line: u16) -> io::Result<()> {
        queue!(self.out, cursor::MoveTo(column, line))
    }

    /// Writes a piece of one line.
    pub fn write(&mut self, text: &str, look: Look) -> io::Result<()> {
        if self.look != Some(look) {
            queue!(self.out, SetAttribute(Attribute::Reset))?;
            if let Some(colour) = look.colour {
                queue!(self.out, SetForegroundColor(Color::AnsiValue(colour)))?;
            }
            let attributes = [
                (look.bold, Attribute::Bold),
                (look.faint, Attribute::Dim),
                (look.reversed, Attribute::Reverse),
            ];
            for (_, attribute) in attributes.iter().filter(|(is_set, _)| *is_set) {
                queue!(self.out, SetAttribute(*attribute))?;
            }
            self.look = Some(look);
        }
        // A cell of most screens; there are some thousand.
        if text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) {
            return self.out.write_all(text.as_bytes());
        }
        self.out.write_all(Plain::line(text).as_str().as_bytes())
    }

    /// Everything is shown.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// Gives text to the clipboard of the terminal (OSC 52); one that has none ignores it. The text is escaped first: who
    /// pastes it into a shell gets what was to be seen.
    pub fn copy(&mut self, text: &str) -> io::Result<()> {
        let plain = Plain::line(text);
        let bytes = plain.as_str().as_bytes();
        let cut = bytes.get(..COPY_BYTES_MAX).unwrap_or(bytes);
        write!(self.out, "\x1b]52;c;{}\x07", base64(cut))?;
        self.out.flush()
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        let _ = self.out.flush();
        give_back();
    }
}

/// Gives the terminal back, once.
fn give_back() {
    if !OPEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = io::stdout();
    let _ = queue!(
        out,
        SetAttribute(Attribute::Reset),
        SetBackgroundColor(Color::Reset),
        LeaveAlternateScreen,
        cursor::Show
    );
    let _ = out.flush();
    let _ = disable_raw_mode();
}

const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn base64(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let at = |index: usize| u32::from(three.get(index).copied().unwrap_or(0));
        let bits = at(0) << 16 | at(1) << 8 | at(2);
        for place in 0..4 {
            let letter = (bits >> (18 - 6 * place) & 63) as usize;
            match place <= three.len() {
                true => out.push(char::from(LETTERS.get(letter).copied().unwrap_or(b'='))),
                false => out.push('='),
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_rfc_4648() {
        for (text, wanted) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(text.as_bytes()), wanted);
        }
    }
}
