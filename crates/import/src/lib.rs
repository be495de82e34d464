//! Others' captures, as an incident.
//!
//! People have a backtrace from a ticket, an InnoDB status in a mail, a `perf report`, last night's
//! pt-stalk directory. Whatever it is: it is recognised by its content, never by its name; several
//! things in one text are told apart; damage is passed over, and said with its line. The same
//! diagnosis looks at the result that looks at what the recorder took.
//!
//! Pure: bytes in, an [`model::Incident`] out. Opening files and archives is the caller's.

mod absent;
mod assemble;
mod beside;
mod broken;
mod clean;
mod client_lists;
mod collapsed;
mod columns;
mod crash;
mod format;
mod formats;
mod heads;
mod json_log;
mod json_rows;
mod line;
mod marked;
mod moments;
mod notes;
mod one_input;
mod origins;
mod part;
mod printed;
mod printed_rows;
mod prose;
mod rds_monitoring;
mod read;
mod recognise;
mod room;
mod shell;
mod split;
mod stack_lines;
mod starts;
mod table_rows;
mod tables;
mod terminal;
mod ticks;
mod times;
mod told;
mod unfold;
mod web_page;
mod wrapped;

pub use assemble::{Imported, import};
pub use format::{Format, Group};
pub use formats::FORMATS;
pub use printed::printed_threads;

/// A capture as it was given.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    /// Its path, or `-`: for people, and for the place of what was found in it.
    pub path: &'a str,
    /// Its content.
    pub bytes: &'a [u8],
}

/// What a part of an input was recognised as, or why it was not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The input's path.
    pub path: String,
    /// What it is (`gdb backtrace`).
    pub kind: String,
    /// First and last line, from 1; absent for what has no lines.
    pub lines: Option<(usize, usize)>,
    /// What came of it in a few words (`42 threads`), empty where nothing can be said.
    pub brought: String,
    /// Why it, or some of it, was left out.
    pub skipped: Option<String>,
}

/// Bytes of one input that are read; the rest is left out and said.
pub const INPUT_BYTES_MAX: usize = 512 << 20;
