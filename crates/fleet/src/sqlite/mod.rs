//! The embedded store: one SQLite file, for a handful of servers or for the directory of incidents that a question is about.
//!
//! The file is written ahead (WAL) and private (0600). A batch is one transaction with its token, so that a killed
//! process leaves all of it or nothing.

mod ask;
mod cell;
pub mod ddl;
mod insert;
mod open;
mod places;
mod retain;

pub use ask::{Answer, Extent, Given};
pub use ddl::VERSION;
pub use insert::Inserted;
pub use open::{Initialised, Store};
pub(crate) use open::{create_private, sqlite};
