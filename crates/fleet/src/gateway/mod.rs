//! What stands between many recorders and their store: a gateway takes batches, keeps them on its disk until the store has
//! them, and writes those of many hosts together.
//!
//! **Each batch once.** A batch is acknowledged when the [`Journal`] has it on the disk with its token; the same token again
//! is acknowledged and not kept twice. What goes to the store together is written down before it is sent, so that a
//! gateway that is killed sends the same batches under the same token again. What the store refuses as it is holds up
//! nothing else.
//!
//! **Each host for itself.** A recorder shows the secret of its host, and [`check_owner`] looks at every row: whose it is,
//! and whether shared rows are what their ids are made of.

mod aside;
mod client;
mod journal;
mod owner;

pub use aside::{Aside, Narrowed};
pub use client::{CHECK_PATH, Gateway, INSERT_PATH};
pub use journal::{Added, Arrival, Group, GroupLimits, Journal, Waiting};
pub use owner::{Foreign, Owner, check_owner, days};
