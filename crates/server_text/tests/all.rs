//! The tests of what servers write, one program: each would be linked alone. A file beside this one has its line here.

mod error_log_properties;
mod innodb_captures;
mod innodb_fixture;
mod innodb_generations;
mod innodb_properties;
