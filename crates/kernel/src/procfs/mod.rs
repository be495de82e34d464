//! Parsers of `/proc`, `/sys` and cgroup files.
//!
//! Each takes the file's bytes. Lines and fields it does not know are passed over, missing ones are absent, and no
//! input makes it panic. `CONFIG`-dependent and newer fields are `Option`: absent is not zero.

pub mod buddyinfo;
pub mod cgroup;
pub mod diskstats;
pub mod limits;
pub mod maps;
pub mod meminfo;
pub mod mountinfo;
pub mod net;
pub mod netstat;
pub mod pressure;
pub mod stat;
pub mod task_stat;
pub mod task_status;
pub mod thp;
pub mod vmstat;

mod text;
