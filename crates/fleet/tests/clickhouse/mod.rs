//! ClickHouse: what is sent to it, what it answers, and whether both stores say the same.

mod both;
mod live;
mod once;
mod server;
mod sums;
mod wire;
