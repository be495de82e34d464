//! Private servers and loads with a known truth: what the demo, the benchmark and the tests of
//! the whole program are run against. Nothing here touches a server that it did not start itself,
//! except [`run`] and [`Mix::prepare`], which go to the [`Login`] they are given.

mod allocator;
mod at_once;
mod cascade;
mod churn;
mod client;
mod error;
mod fake;
mod files;
pub mod hostile;
mod idle;
mod kind;
mod latency;
mod leak;
mod load;
mod login;
mod made_captures;
mod made_incident;
mod mix;
mod private_server;
mod process;
mod replica;
mod scenario;
mod session;
mod slow_sync;
mod template;
mod victims;
mod watch;
mod withheld;

pub use allocator::{Allocator, OLD_GLIBC};
pub use at_once::at_once;
pub use cascade::{Cascade, cascade_file, cascades};
pub use churn::Churn;
pub use client::{CATCH_UP_MAX, Load, RECONNECT_BACKOFF_MAX, STATEMENT_SEPARATOR};
pub use error::Error;
pub use fake::{Answers, FakeServers};
pub use idle::{IDLE_CONNECTIONS_MAX, IdleConnections};
pub use kind::{Installed, ServerKind, installed};
pub use latency::{Latency, RELATIVE_ERROR};
pub use leak::Leak;
pub use load::{CLIENTS_MAX, LOAD_SECONDS_MAX, LoadResult, run, run_watched};
pub use login::{Address, Login};
pub use made_captures::{Bulk, made_gdb, made_stalk};
pub use made_incident::{IncidentSize, made_incident};
pub use mix::{MIXES, Mix, ROWS, mix};
pub use private_server::{Options, PrivateServer};
pub use replica::{CausalReads, REPLICA_ARGUMENTS, SOURCE_ARGUMENTS, follow};
pub use scenario::{
    FREE_MIB_MIN, Help, InVain, Restart, Scenario, Stage, Step, Traffic, Truth, scenario,
    scenario_file, scenarios,
};
pub use session::{HeldSession, say};
pub use slow_sync::{Slow, SlowSync};
pub use victims::{Victim, build_victim, victim_names};
pub use watch::{HUNG_MS_MIN, Hung, SLOT_MS, Waited, Watch};
pub use withheld::{WITHHELD_MUCH, WITHHELD_SOME, Withheld, machine_did_it_too};
