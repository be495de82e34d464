//! Text that a server wrote: its error log and `SHOW ENGINE INNODB STATUS`, read, and without what its
//! users wrote.
//!
//! This is the one way by which such text becomes a [`model::Text`], which is all that is stored, exported
//! or shown: [`error_log`] and [`innodb_status`] for what a server has just said, [`stored`] for what a file
//! holds. A file may be older than today's rules, or made by others, so its text is redacted again.

mod error_log;
pub mod innodb;
mod status;

use model::{OwnText, RedactedText, Text, TextKind};

pub use error_log::{LINE_BYTES_MAX, is_message_word};

/// Lines of an error log, without values, names and statements.
pub fn error_log(raw: &str) -> Text {
    Text::server(TextKind::ErrorLog, RedactedText::by(error_log::redact, raw))
}

/// `SHOW ENGINE INNODB STATUS`, without literals and values of rows; lines of a log around it as [`error_log`].
pub fn innodb_status(raw: &str) -> Text {
    Text::server(
        TextKind::InnodbStatus,
        RedactedText::by(status::redact, raw),
    )
}

/// A text of any kind as a file holds it; what a server wrote is redacted again, which changes nothing in a
/// text that was redacted by the same rules.
pub fn stored(kind: TextKind, body: &str) -> Text {
    let own = match kind {
        TextKind::ErrorLog => return error_log(body),
        TextKind::InnodbStatus => return innodb_status(body),
        TextKind::Processlist => OwnText::Processlist,
        TextKind::Semaphores => OwnText::Semaphores,
        TextKind::Threads => OwnText::Threads,
        TextKind::KernelLog => OwnText::KernelLog,
    };
    Text::own(own, body)
}
