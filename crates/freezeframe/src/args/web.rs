//! Arguments of `freezeframe web`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  freezeframe web                                  print the address to open; Ctrl-C ends it
  freezeframe web --dir /var/lib/freezeframe --dir /mnt/db2/freezeframe
                                                   several recorders in one view
  ssh -L 8420:127.0.0.1:8420 db1 freezeframe web   on another host: open the printed address here
  freezeframe web --fleet sqlite:///var/lib/fleet/fleet.db
                                                   many servers: their stalls by time
  curl -H \"Authorization: Bearer $TOKEN\" http://127.0.0.1:8420/api/incidents

It only reads files, and the store of the fleet: it writes nothing and queries neither servers nor
recorders. Anyone who has the token sees everything in these directories and in that store:
docs/web.md, \"Who can see it\".")]
pub(crate) struct Web {
    /// Directory of incidents and histories; may be repeated [default: where record writes]
    #[arg(long = "dir", value_name = "DIR")]
    pub(crate) dirs: Vec<PathBuf>,
    /// Also show the fleet in this store: sqlite:///DIR/FILE, or http://USER@HOST:8123/DATABASE with the password in $FREEZEFRAME_FLEET_PASSWORD [default: url of [fleet] in the configuration]
    #[arg(long, value_name = "URL")]
    pub(crate) fleet: Option<String>,
    /// Certificate authorities to trust for an https:// store [default: the system's]
    #[arg(long, value_name = "FILE", requires = "fleet")]
    pub(crate) fleet_ca_file: Option<PathBuf>,
    /// Address to serve on; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8420")]
    pub(crate) listen: SocketAddr,
    /// Another host name that requests may use, such as that of a proxy; may be repeated
    #[arg(long = "listen-host", value_name = "NAME", value_parser = crate::listen::host_name)]
    pub(crate) listen_hosts: Vec<String>,
    /// Allow an address that other hosts can reach; everything, the token too, is sent unencrypted
    #[arg(long)]
    pub(crate) exposed: bool,
    /// File with the token in its first line [default: a new token at each start]
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Directory of your own causes [default: causes_dir of the configuration, else /etc/freezeframe/causes.d]
    #[arg(long, value_name = "DIR")]
    pub(crate) causes: Option<PathBuf>,
    /// Configuration file [default: /etc/freezeframe/freezeframe.toml, if it exists]
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}
