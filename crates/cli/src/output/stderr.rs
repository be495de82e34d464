//! Standard error: remarks, errors, questions, progress. Only here is it written to, and only what was made [`Plain`].
//! Whether anybody reads it is nothing to fail for.
#![expect(
    clippy::disallowed_methods,
    reason = "this is the one place that writes to standard error"
)]

use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;

use model::Plain;

/// What stands before a remark.
static PROGRAM: OnceLock<&'static str> = OnceLock::new();

/// The name of this program, for its remarks; the first call counts.
pub fn name_program(name: &'static str) {
    let _ = PROGRAM.set(name);
}

fn write(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr
        .write_all(text.as_bytes())
        .and_then(|()| stderr.flush());
}

/// A remark beside the answer, or an error: one line.
pub fn note(text: &str) {
    let program = PROGRAM.get().unwrap_or(&"freezeframe");
    write(&format!("{program}: {}\n", Plain::line(text)));
}

/// Text of several lines, such as what is wrong with the arguments.
pub fn tell(text: &str) {
    write(Plain::text(text).as_str());
}

/// A question; the answer is written behind it.
pub fn ask(text: &str) {
    write(Plain::line(text).as_str());
}

/// Whether somebody looks at it.
pub fn is_terminal() -> bool {
    io::stderr().is_terminal()
}

/// How far it is: a line that is written over by the next one. A file or a journal gets none.
pub fn progress(text: &str) {
    if is_terminal() {
        write(&format!("\r{}\x1b[K", Plain::line(text)));
    }
}

/// Takes the line of [`progress`] away.
pub fn clear_progress() {
    if is_terminal() {
        write("\r\x1b[K");
    }
}
