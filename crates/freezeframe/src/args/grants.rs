//! Arguments of `freezeframe grants`.

use clap::Args;

use super::ServerArgs;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  sudo freezeframe grants                       for the server on this host; nothing is changed
  sudo freezeframe grants | sudo mariadb        and make the account
  freezeframe grants --for-version mysql-8.4 --password
                                                without a server; by a password, for TCP
  freezeframe grants --for-version mariadb-10.11 --json | jq -r '.[].statements[].sql'

The account can do what a recorder needs and no more, on MariaDB, MySQL 5.5 to 9 and Percona Server;
what each grant is for, and what is absent without it: freezeframe check.")]
pub(crate) struct Grants {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// Print for this version, such as mariadb-10.11, mysql-8.0, percona-8.0, and ask no server
    #[arg(long, value_name = "VERSION", value_parser = server_version,
        conflicts_with_all = ["socket", "port", "pid", "host"])]
    pub(crate) for_version: Option<server::ServerVersion>,
    /// The account; without @HOST it comes from localhost
    #[arg(
        long,
        value_name = "NAME[@HOST]",
        default_value = "freezeframe@localhost"
    )]
    pub(crate) account: String,
    /// By a new password, which is printed, in place of the unix socket
    #[arg(long)]
    pub(crate) password: bool,
    /// JSON
    #[arg(long)]
    pub(crate) json: bool,
}

fn server_version(text: &str) -> Result<server::ServerVersion, String> {
    let version = server::ServerVersion::read(text);
    version.ok_or_else(|| {
        "a version such as mariadb-10.11, mysql-8.0 or percona-8.0 expected".to_owned()
    })
}
