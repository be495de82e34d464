//! MySQL and MariaDB statements as text: tokens, redaction, fingerprints, classes; the logs that servers write of them
//! ([`log`]), and what those say in sum ([`digest`]).
//!
//! Everything here is a pure function of a statement that may be cut off anywhere or be no SQL at all: nothing
//! panics, nothing fails, and nothing of a literal is ever returned by [`redact`] and [`fingerprint`].
//!
//! **Statements are redacted for any `sql_mode`.** A session's mode cannot be seen from outside. Where reading a
//! backslash as an escape or not gives different strings, the text ends at the backslash. Classes follow the same
//! idea: the reading that gives a statement is believed; where both or none does, the class is what precedes the
//! first backslash (`sql/src/backslash.rs`).

mod backslash;
mod broken_string;
mod class;
pub mod compat;
pub mod digest;
mod fingerprint;
mod hints;
mod identity;
mod lexer;
mod lists;
pub mod log;
mod memo;
mod output;
mod prose;
mod redact;
mod remark;
mod scan;
mod segments;
mod skeleton;
mod unquoted_secret;
mod word;

pub use backslash::is_open;
pub use class::statement_class;
pub use fingerprint::{fingerprint, fingerprint_in, fingerprint_in_any_mode};
pub use identity::{ClassKey, fingerprint_id};
pub use lexer::{Lexer, SqlMode, Token, TokenKind};
pub use memo::Fingerprinter;
pub use output::{CUT_MARK, REDACTED_BYTES_MAX};
pub use prose::{end_of_statement, may_begin, statement_within};
pub use redact::{redact, redact_in, redact_in_any_mode};
pub use remark::without_remark;
