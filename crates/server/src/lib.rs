//! What the server tells: the connection with its deadlines, probes, status, processlist,
//! variables, the InnoDB status, the replica's status, the threads of connections, what it counts of statements; and
//! what goes over the wire between it and its clients.

mod address;
mod client;
mod connection;
mod counters;
mod der;
pub mod digests;
mod error;
mod error_log_table;
pub mod grants;
mod login;
mod login_error;
mod login_path;
mod open_connections;
mod option_file;
mod os_threads;
mod own;
mod probe;
mod processlist;
mod public_value;
mod queries;
mod replica;
mod server_version;
mod status_names;
mod tls;
pub mod wire;

pub use address::{Address, host_name, is_this_host, look_up, socket_path};
pub use connection::{Deadlines, Row, Session, Waits};
pub use counters::statement_mix;
pub use error::ServerError;
pub use error_log_table::ErrorLogTable;
pub use login::{FoundLogin, Login, LoginOptions, find_login};
pub use login_error::{LoginError, file_of_secret};
pub use open_connections::open_connections;
pub use option_file::option_values;
pub use os_threads::thread_sessions;
pub use own::{OwnStatementFilter, OwnStatements, own_clients};
pub use probe::{ProbeResult, probe_connect, probe_kept, probe_query};
pub use public_value::is_private_option;
pub use queries::{
    VariablesSeen, compressed_sessions, innodb_status, innodb_taken, pasted_processlist_taken,
    processlist, processlist_taken, status, variable_fact, variables, version,
};
pub use replica::{ReplicaChannel, ReplicaReader, replica_readings};
pub use server_version::{Flavor, ServerVersion};
pub use status_names::status_reading;
pub use tls::{Tls, TlsMode, TlsOptions};
