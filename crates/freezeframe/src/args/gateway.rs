//! Arguments of `freezeframe fleet gateway`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
pub(crate) struct Gateway {
    #[command(subcommand)]
    pub(crate) command: Option<GatewayCommand>,
    /// Store: sqlite:///DIR/FILE, or http://USER@HOST:8123/DATABASE with the password in $FREEZEFRAME_FLEET_PASSWORD [default: url in [gateway] of the configuration]
    #[arg(long, value_name = "URL")]
    pub(crate) url: Option<String>,
    /// Address for recorders; without encryption, so use a TLS proxy between hosts [default: 127.0.0.1:9308]
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) listen: Option<SocketAddr>,
    /// File of the fleet's salt, the same that the recorders have [default: FILE.salt beside an SQLite store, else /etc/freezeframe/fleet.salt]
    #[arg(long, value_name = "FILE")]
    pub(crate) salt_file: Option<PathBuf>,
    /// Certificate authorities to trust for an https:// store [default: the system's]
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_file: Option<PathBuf>,
    /// Maximum size of the batches that wait for the store [default: 4096]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) journal_mebibytes: Option<u64>,
    /// Directory of the journal and the hosts [default: /var/lib/freezeframe-gateway]
    #[arg(long, value_name = "DIR", global = true)]
    pub(crate) dir: Option<PathBuf>,
    /// Configuration file [default: /etc/freezeframe/freezeframe.toml, if it exists]
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) config: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GatewayCommand {
    /// Let a host send: print a new token for its recorder, once.
    #[command(after_help = "Examples:
  freezeframe fleet gateway add-host db1
  freezeframe fleet gateway add-host db1 | ssh db1 'cat > /etc/freezeframe/fleet.password'
  freezeframe fleet gateway add-host watch1 --also db2 --also db3
                                                 a recorder that watches servers of other hosts

NAME is what `hostname` prints on the host. To change a token: add-host again, give the new one to
the recorder, then remove-host NAME --keep-newest.")]
    AddHost(GatewayAddHost),
    /// Remove the tokens of a host: it can send no more.
    RemoveHost(GatewayRemoveHost),
    /// List the hosts that may send.
    Hosts(GatewayHosts),
}

#[derive(Debug, Args)]
pub(crate) struct GatewayAddHost {
    /// The host's name, as `hostname` prints it there
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Another host whose servers this recorder watches; may be repeated
    #[arg(long, value_name = "HOST", conflicts_with = "any")]
    pub(crate) also: Vec<String>,
    /// Let this recorder send for servers of any host
    #[arg(long)]
    pub(crate) any: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct GatewayRemoveHost {
    /// The host's name
    #[arg(value_name = "NAME")]
    pub(crate) name: String,
    /// Keep the token that was added last
    #[arg(long)]
    pub(crate) keep_newest: bool,
}

#[derive(Debug, Args)]
pub(crate) struct GatewayHosts {
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
