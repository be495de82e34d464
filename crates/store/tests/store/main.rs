//! The store against real files.

mod frame;
mod history;
mod support;
