//! Arguments of `freezeframe grants`.

use clap::Args;

use super::ServerArgs;

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  sudo freezeframe grants                       print the SQL for the server on this host
  sudo freezeframe grants | sudo mariadb        create the account
  freezeframe grants --for-version mysql-8.4 --password
                                                without a server; an account with a password
  freezeframe grants --for-version mariadb-10.11 --json | jq -r '.[].statements[].sql'

The account can do what a recorder needs and no more, on MariaDB, MySQL 5.5 to 9 and Percona Server.
`freezeframe check` says what each grant is for, and what is missing without it.")]
pub(crate) struct Grants {
    /// Print the SQL for this version (mariadb-10.11, mysql-8.0, percona-8.0) without asking a server
    #[arg(long, value_name = "VERSION", value_parser = server_version,
        conflicts_with_all = ["socket", "port", "pid", "host"])]
    pub(crate) for_version: Option<server::ServerVersion>,
    /// Name of the account; without @HOST it logs in from localhost
    #[arg(
        long,
        value_name = "NAME[@HOST]",
        default_value = "freezeframe@localhost"
    )]
    pub(crate) account: String,
    /// Log in by a new password, which is printed, instead of the unix socket
    #[arg(long)]
    pub(crate) password: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
}

fn server_version(text: &str) -> Result<server::ServerVersion, String> {
    let version = server::ServerVersion::read(text);
    version.ok_or_else(|| {
        "a version such as mariadb-10.11, mysql-8.0 or percona-8.0 expected".to_owned()
    })
}
