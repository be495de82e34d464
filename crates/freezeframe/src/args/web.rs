//! Arguments of `freezeframe web`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe web                                  prints an address to open; Ctrl-C ends it
  freezeframe web --dir /var/lib/freezeframe --dir /mnt/db2/freezeframe
                                                   several recorders in one view
  ssh -L 8420:127.0.0.1:8420 db1 freezeframe web   of another host: open the printed address here
  curl -H \"Authorization: Bearer $TOKEN\" http://127.0.0.1:8420/api/incidents

Files are read, nothing is written, and neither a server nor a recorder is asked anything.
Whoever has the token sees everything in these directories: docs/web.md, \"Who can see it\".")]
pub(crate) struct Web {
    /// Where incidents and histories are; may be given several times [default: as for record]
    #[arg(long = "dir", value_name = "DIR")]
    pub(crate) dirs: Vec<PathBuf>,
    /// Answer here; port 0 takes any that is free
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8420")]
    pub(crate) listen: SocketAddr,
    /// A further name by which it is asked, such as that of a proxy; may be given several times
    #[arg(long = "listen-host", value_name = "NAME", value_parser = crate::listen::host_name)]
    pub(crate) listen_hosts: Vec<String>,
    /// Permit an address that other hosts reach: what is sent, the token as well, is not encrypted
    #[arg(long)]
    pub(crate) exposed: bool,
    /// File whose first line is the token [default: a new one at each start]
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Causes of your own [default: causes_dir of the configuration, else /etc/freezeframe/causes.d]
    #[arg(long, value_name = "DIR")]
    pub(crate) causes: Option<PathBuf>,
    /// Configuration; else /etc/freezeframe/freezeframe.toml when it is there
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}
