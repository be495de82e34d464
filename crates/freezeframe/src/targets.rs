use std::path::PathBuf;

use anyhow::Result;
use recorder::{Target, Wanted, discover_targets};
use server::{LoginOptions, find_login};

use crate::args::ServerArgs;
use crate::config::Config;

/// The servers that are meant: what the command line says, then the configuration, then all.
pub(crate) fn find(args: &ServerArgs, config: &Config) -> Result<Vec<Target>> {
    let file = &config.server;
    let options = LoginOptions {
        user: args.user.clone().or_else(|| file.user.clone()),
        password_file: args
            .password_file
            .clone()
            .or_else(|| file.password_file.clone()),
        defaults_file: args
            .defaults_file
            .clone()
            .or_else(|| file.defaults_file.clone()),
        environment_password: std::env::var("MYSQL_PWD").ok(),
        home: std::env::var_os("HOME").map(PathBuf::from),
        system_user: system_user(),
    };
    let (login, address) = find_login(&options)?;
    let said = args.socket.is_some() || args.port.is_some() || args.pid.is_some();
    let wanted = if said {
        Wanted {
            socket: args.socket.clone(),
            port: args.port,
            pid: args.pid,
        }
    } else {
        Wanted {
            socket: file.socket.clone(),
            port: file.port,
            pid: None,
        }
    };
    Ok(discover_targets(&wanted, &login, address.as_ref())?)
}

/// The name of the user that runs us, by /etc/passwd: authentication by the socket's peer goes by
/// the effective user, whatever $USER says.
fn system_user() -> String {
    let uid = rustix::process::geteuid().as_raw().to_string();
    std::fs::read_to_string("/etc/passwd")
        .ok()
        .and_then(|passwd| {
            passwd.lines().find_map(|line| {
                let mut fields = line.split(':');
                let name = fields.next()?;
                (fields.nth(1)? == uid).then(|| name.to_owned())
            })
        })
        .or_else(|| std::env::var("USER").ok())
        .unwrap_or_else(|| "root".to_owned())
}
