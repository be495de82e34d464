//! Stacks, profiles, lock tables and digests of statements for readers: grouped and compared ([`groups`],
//! [`profile_table`], [`profile_diff`]), as text for a terminal, as JSON, and in the formats of
//! other tools.
//!
//! No I/O: values in, text or bytes out. Names of threads and functions are outside text; every
//! writer here makes them harmless for a terminal.

pub mod captured;
pub mod chain;
pub mod flame;
pub mod folded;
pub(crate) mod frames_text;
pub mod futex;
pub mod groups;
pub mod heat;
pub mod locks_json;
pub mod locks_text;
mod meanings;
pub mod pprof;
pub mod profile_diff;
pub mod profile_document;
pub mod profile_json;
pub mod profile_table;
pub mod profile_text;
pub mod pt_pmp;
pub mod pt_pmp_printed;
pub mod queries_diff;
pub(crate) mod queries_format;
pub mod queries_json;
pub mod queries_text;
pub mod speedscope;
pub mod stacks_json;
pub mod stacks_text;
pub mod summary;
#[cfg(test)]
mod testing;
pub mod waiting;
pub mod workload;
