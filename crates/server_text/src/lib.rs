//! Text that a server wrote: its error log and `SHOW ENGINE INNODB STATUS`, read, and without what its
//! users wrote; and the kernel's log without the command lines of programs.
//!
//! This is the one way by which such text becomes a [`model::Text`], which is all that is stored, exported
//! or shown: [`error_log`], [`innodb_status`] and [`kernel_log`] for what has just been said, [`stored`] for what a file
//! holds. A file may be older than today's rules, or made by others, so its text is redacted again.
//!
//! **Known words are kept; nothing is searched for.** An earlier redactor removed what it recognised as a statement
//! or a quoted value. It failed in every way that a value can be written: with quotes inside, without any, cut, over
//! two lines, in Japanese. A list of all messages of all servers would be as long as the servers' own and never
//! complete. The words of those messages are a few thousand, whichever message they are in, and any other word is a
//! name or a value. The price: a message about a table no longer says which table. Diagnosis does not miss that:
//! captures get the same verdicts as before, byte for byte.
//!
//! **Phrases carry the numbers.** Causes need some values: error codes, how a connection ended, how long a page
//! cleaner took. These are known as whole phrases of constant words and short numbers. Such a phrase reveals nothing
//! but its own presence.

pub mod activity;
mod error_log;
pub mod innodb;
mod kernel_log;
mod kernel_words;
mod status;
mod status_sections;

use model::{OwnText, RedactedText, Text, TextKind};

pub use error_log::{LINE_BYTES_MAX, is_message_word};
pub use kernel_log::is_audit_record;
pub use kernel_words::{is_kernel_part, is_kernel_word};
pub use status_sections::StatusSections;

/// Words in names of settings and counters that stand in no message of a server, with blanks between.
pub const VARIABLE_WORDS: &str = include_str!("variable_words.txt");

/// Words in names of the kernel's settings and counters, and of InnoDB's mutexes, with blanks between.
pub const KERNEL_NAMES: &str = include_str!("kernel_names.txt");

/// Lines of an error log, without values, names and statements.
pub fn error_log(raw: &str) -> Text {
    Text::server(
        TextKind::ErrorLog,
        RedactedText::from_redactor(error_log::redact, raw),
    )
}

/// `SHOW ENGINE INNODB STATUS`, without literals and values of rows; lines of a log around it as [`error_log`].
pub fn innodb_status(raw: &str) -> Text {
    Text::server(
        TextKind::InnodbStatus,
        RedactedText::from_redactor(status::redact, raw),
    )
}

/// Lines of the kernel's log, without the arguments of programs.
pub fn kernel_log(raw: &str) -> Text {
    Text::own(OwnText::KernelLog, kernel_log::redact(raw))
}

/// A text of any kind as a file holds it; what a server wrote is redacted again, which changes nothing in a
/// text that was redacted by the same rules.
pub fn stored(kind: TextKind, body: &str) -> Text {
    let own = match kind {
        TextKind::ErrorLog => return error_log(body),
        TextKind::InnodbStatus => return innodb_status(body),
        TextKind::KernelLog => return kernel_log(body),
        TextKind::Processlist => OwnText::Processlist,
        TextKind::Semaphores => OwnText::Semaphores,
        TextKind::Threads => OwnText::Threads,
    };
    Text::own(own, body)
}
