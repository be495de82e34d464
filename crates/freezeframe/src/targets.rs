//! Which servers a command is about, and how it logs in to them.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use kernel::roots::ProcRoot;
use kernel::servers::ServerProcess;
use recorder::{Target, TargetError, Wanted, discover_targets};
use rustix::net::sockopt::socket_peercred;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use server::{Address, Login, LoginOptions, TlsOptions, find_login, is_this_host, look_up};

use crate::args::ServerArgs;
use crate::config::Config;

/// The servers that are meant: what the command line says, then the configuration, then all.
pub(crate) fn find(args: &ServerArgs, config: &Config) -> Result<Vec<Target>> {
    let file = &config.server;
    let found = find_login(&login_options(args, config))?;
    let login = found.login;
    let mut wanted = wanted(args, config);
    let named = args.host.as_ref().or(file.host.as_ref());
    let host = named.or(found.host.as_ref());
    // What names a server of this host by its socket or process says where it is.
    if wanted.socket.is_none() && wanted.pid.is_none() {
        wanted.other_host = host.filter(|host| !is_this_host(host)).cloned();
    }
    // Another host's address is none of a server of this one.
    let is_of_other = found
        .host
        .as_deref()
        .is_some_and(|host| !is_this_host(host));
    let address = found
        .address
        .filter(|_| !is_of_other || wanted.other_host == found.host);
    let mut targets = discover_targets(&wanted, &login, address.as_ref())?;
    for target in &mut targets {
        let is_seen = |process: &ServerProcess| !process.unix_sockets.is_empty();
        if let [Address::Socket(path)] = target.addresses.as_slice()
            && !target.process.as_ref().is_some_and(is_seen)
            && let Some(process) = listener(path)
        {
            target.process = Some(process);
        }
    }
    Ok(targets)
}

/// As [`find`], and a host that the command line names must have an address: who mistypes it is told at once, and not by
/// every source that cannot be read. Of a host in a file nothing is said: a recorder waits for it, as for its server.
pub(crate) fn find_resolved(args: &ServerArgs, config: &Config) -> Result<Vec<Target>> {
    if let Some(host) = &args.host {
        look_up(host).with_context(|| format!("--host {host}: this name cannot be resolved"))?;
    }
    find(args, config)
}

/// Who we are to the servers, where none is named and all that run here are meant.
pub(crate) fn all_here(args: &ServerArgs, config: &Config) -> Result<Option<Login>> {
    let file = &config.server;
    let is_named =
        args.names_one() || file.socket.is_some() || file.port.is_some() || file.host.is_some();
    if is_named {
        return Ok(None);
    }
    let found = find_login(&login_options(args, config))?;
    let is_elsewhere = found.host.is_some_and(|host| !is_this_host(&host));
    Ok((!is_elsewhere).then_some(found.login))
}

/// As [`find`], for who waits for servers that begin later: there may be none.
pub(crate) fn find_any(args: &ServerArgs, config: &Config) -> Result<Vec<Target>> {
    match find(args, config) {
        Err(error) if matches!(error.downcast_ref(), Some(TargetError::NoServer)) => Ok(Vec::new()),
        other => other,
    }
}

/// Who we are to a server: what the command line says, then the configuration, then the system.
pub(crate) fn login_options(args: &ServerArgs, config: &Config) -> LoginOptions {
    let file = &config.server;
    LoginOptions {
        user: args.user.clone().or_else(|| file.user.clone()),
        password_file: args
            .password_file
            .clone()
            .or_else(|| file.password_file.clone()),
        defaults_file: args
            .defaults_file
            .clone()
            .or_else(|| file.defaults_file.clone()),
        login_path: args.login_path.clone().or_else(|| file.login_path.clone()),
        login_file: login_file(),
        environment_password: std::env::var("MYSQL_PWD").ok(),
        home: std::env::var_os("HOME").map(PathBuf::from),
        system_user: system_user(),
        tls: tls_options(args, config),
    }
}

/// The file of login paths. The variable is that of the servers' own clients.
pub(crate) fn login_file() -> Option<PathBuf> {
    let named = std::env::var_os("MYSQL_TEST_LOGIN_FILE").map(PathBuf::from);
    named.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".mylogin.cnf")))
}

/// How the way to a server is protected: what the command line says, then the configuration.
fn tls_options(args: &ServerArgs, config: &Config) -> TlsOptions {
    let (said, file) = (&args.tls, &config.server);
    let said = TlsOptions {
        mode: said.ssl_mode,
        ca: said.ssl_ca.clone(),
        cert: said.ssl_cert.clone(),
        key: said.ssl_key.clone(),
        is_wanted: false,
    };
    said.or(TlsOptions {
        mode: file.ssl_mode,
        ca: file.ssl_ca.clone(),
        cert: file.ssl_cert.clone(),
        key: file.ssl_key.clone(),
        is_wanted: false,
    })
}

/// As [`find_resolved`], for who does not wait and see: where a socket or a port is named, a process that only starts
/// may be another server, and nothing is said of it.
pub(crate) fn find_listening(args: &ServerArgs, config: &Config) -> Result<Vec<Target>> {
    let wanted = wanted(args, config);
    let is_address = wanted.pid.is_none() && (wanted.socket.is_some() || wanted.port.is_some());
    let mut targets = find_resolved(args, config)?;
    for target in targets.iter_mut().filter(|_| is_address) {
        target.process.take_if(|process| only_starts(process));
    }
    Ok(targets)
}

/// It listens nowhere, and that is no matter of permission.
pub(crate) fn only_starts(process: &ServerProcess) -> bool {
    process.unix_sockets.is_empty() && process.tcp_ports.is_empty() && process.absent.is_empty()
}

/// What the command line names, or else the configuration.
fn wanted(args: &ServerArgs, config: &Config) -> Wanted {
    if args.socket.is_some() || args.port.is_some() || args.pid.is_some() {
        return Wanted {
            socket: args.socket.clone(),
            port: args.port,
            pid: args.pid,
            other_host: None,
        };
    }
    Wanted {
        // Of another server, when a host is named.
        socket: config.server.socket.clone().filter(|_| args.host.is_none()),
        port: config.server.port,
        ..Wanted::default()
    }
}

/// The server that listens on a unix socket, by the socket itself: whose sockets are whose is not seen
/// by a user that is neither root nor the server's.
fn listener(path: &Path) -> Option<ServerProcess> {
    kernel::servers::server(&ProcRoot::default(), peer(path)?)
}

/// The process that listens on a unix socket, as the kernel tells whoever connects to it.
fn peer(path: &Path) -> Option<u32> {
    let address = SocketAddrUnix::new(path).ok()?;
    // A server that stalls may let nobody in: that is not waited for.
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).ok()?;
    connect(&socket, &address).ok()?;
    let peer = socket_peercred(&socket).ok()?;
    u32::try_from(peer.pid.as_raw_nonzero().get()).ok()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_tells_who_listens_on_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.sock");
        assert_eq!(peer(&path), None);
        let open = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert_eq!(peer(&path), Some(std::process::id()));
        assert!(listener(&path).is_none(), "a test is no server");
        drop(open);
        assert_eq!(peer(&path), None);
    }
}
