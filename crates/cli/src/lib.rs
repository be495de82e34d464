//! What the command lines of `freezeframe` and `freezeframe-lab` share: where output goes and how it is escaped, how a
//! program begins and ends, durations, and what a recorder's directory holds.

mod duration;
pub mod output;
mod program;
pub mod recorded;
mod usage;

pub use duration::{duration, some_time};
pub use program::{begin, end, is_broken_pipe, one_line, wrong_arguments};
pub use usage::{Usage, file_only, usage};
