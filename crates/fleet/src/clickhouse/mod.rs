//! The store for many servers: ClickHouse through its HTTP interface.
//!
//! **Exactly once** has two lines. Each request carries its batch's token, and a table forgets no token within its
//! window, so that the same bytes may be sent again. Behind that, tables are of the replacing kind and keep no key
//! twice; hours are made anew from the minutes that are there, and never summed up by what comes in; the sums of stacks are
//! rows of their incident, which replace each other as a whole.
//!
//! What a failure asks of the sender stands in it: [`Then`].

mod address;
mod ask;
pub mod ddl;
mod earlier;
mod failure;
mod init;
mod insert;
mod json;
mod request;
mod rowbinary;
mod store;
mod sums;
mod version;

pub use address::Address;
pub use ddl::{Layout, VERSION};
pub(crate) use failure::line;
pub use failure::{Failure, Then};

pub use rowbinary::encode;
pub use store::Store;
pub use version::NEEDED;
