//! The embedded store: one SQLite file, for a handful of servers or for a directory of incidents.

pub mod ddl;
