//! MySQL and MariaDB statements as text: tokens, redaction, fingerprints, classes; the logs that servers write of them
//! ([`log`]), and what those say in sum ([`digest`]).
//!
//! Everything here is a pure function of a statement that may be cut off anywhere or be no SQL at all: nothing
//! panics, nothing fails, and nothing of a literal is ever returned by [`redact`] and [`fingerprint`].

mod backslash;
mod class;
pub mod compat;
pub mod digest;
mod fingerprint;
mod identity;
mod lexer;
mod lists;
pub mod log;
mod memo;
mod output;
mod pieces;
mod redact;
mod scan;
mod skeleton;
mod word;

pub use class::statement_class;
pub use fingerprint::{fingerprint, fingerprint_in};
pub use identity::{ClassKey, fingerprint_id};
pub use lexer::{Lexer, SqlMode, Token, TokenKind};
pub use memo::Fingerprinter;
pub use output::{CUT_MARK, REDACTED_BYTES_MAX};
pub use redact::{redact, redact_in, redact_in_any_mode};
