//! What the lab does to its host, so that its tests can do it too; the lab itself is a program.

pub mod host;
