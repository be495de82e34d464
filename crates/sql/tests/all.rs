//! The tests of statements, one program: each would be linked alone. A file beside this one has its line here.

mod class;
mod common;
mod compat;
mod fingerprint;
mod identity;
mod lexer;
mod literals;
mod memo;
mod properties;
mod redact;
