//! The fleet: incidents of many servers in one store, and the questions to it.
//!
//! **The tables stand once** (`tables.rs`), as plain data. What SQLite and ClickHouse are told is made of them, as are
//! the bytes of a [`Batch`] and the page that describes them.
//!
//! **Exactly once.** Rows come in batches, each with a [`Token`]. A store takes a token once, and all rows of it or none;
//! who does not know whether a batch arrived sends the same bytes again. Behind that, no table keeps two rows of one key,
//! so that a token that was forgotten costs work and no truth.

pub mod any_store;
pub mod batch;
pub mod batch_bytes;
pub mod cells;
pub mod clickhouse;
mod endpoint;
pub mod error;
pub mod from_incident;
pub mod gateway;
mod places;
pub mod questions;
pub mod row;
pub mod s3;
pub mod sqlite;
pub mod subject;
pub mod table;
pub mod tables;
pub mod url;
pub mod value;
pub mod vitals;

pub use batch::{Batch, Token};
pub use value::Value;
