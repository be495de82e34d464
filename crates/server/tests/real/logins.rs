//! The ways to log in that servers have, on real servers. What this machine's servers lack is skipped, and that is said.

use crate::{DEADLINES, start};
use model::ProbeOutcome;
use server::{Address, Login, ServerError, Session};
use testbed::{PrivateServer, ServerKind};

fn root(server: &PrivateServer) -> Session {
    let login = server.login();
    let testbed::Address::Socket(path) = login.address else {
        panic!("the lab's own login is by a socket");
    };
    let own = Login {
        user: login.user,
        password: login.password,
        from: "the lab".to_owned(),
        tls: server::Tls::default(),
    };
    Session::connect(&Address::Socket(path), &own, DEADLINES).unwrap()
}

fn login(user: &str, password: &str) -> Login {
    Login {
        user: user.to_owned(),
        password: Some(password.to_owned()),
        from: "the test".to_owned(),
        tls: server::Tls::default(),
    }
}

fn by_tcp(server: &PrivateServer, user: &str, password: &str) -> Result<(), ServerError> {
    let address = Address::Tcp("127.0.0.1".to_owned(), server.port());
    whole(&address, user, password)
}

fn by_socket(server: &PrivateServer, user: &str, password: &str) -> Result<(), ServerError> {
    whole(&Address::Socket(server.socket()), user, password)
}

/// A login that is good for a question.
fn whole(address: &Address, user: &str, password: &str) -> Result<(), ServerError> {
    let mut session = Session::connect(address, &login(user, password), DEADLINES)?;
    let (rows, _) = session.rows("SELECT CURRENT_USER(), 'é'", 1)?;
    assert!(
        rows[0].column(0).starts_with(&format!("{user}@")),
        "{rows:?}"
    );
    assert_eq!(rows[0].column(1), "é");
    Ok(())
}

fn denied(tried: Result<(), ServerError>) {
    let error = tried.unwrap_err();
    assert_eq!(error.outcome, ProbeOutcome::AccessDenied, "{error}");
}

/// Accounts by password in the plugin `with`, one of them without one.
fn accounts(server: &PrivateServer, with: &str) {
    let mut root = root(server);
    for (user, password) in [("known", "pass wörd"), ("open", "")] {
        root.execute(&format!(
            "CREATE USER {user} {}",
            with.replace("{}", password)
        ))
        .unwrap();
    }
}

fn passwords(server: &PrivateServer) {
    for way in [by_tcp, by_socket] {
        way(server, "known", "pass wörd").unwrap();
        way(server, "known", "pass wörd").unwrap();
        way(server, "open", "").unwrap();
        denied(way(server, "known", "other"));
        denied(way(server, "known", ""));
        denied(way(server, "open", "other"));
        denied(way(server, "nobody", "x"));
    }
}

#[test]
fn native_passwords_of_old_and_new_servers() {
    for kind in [
        ServerKind::MySql55,
        ServerKind::MariaDb,
        ServerKind::MariaDb11,
    ] {
        let Some(server) = start(kind, &[]) else {
            continue;
        };
        // An anonymous account would stand before ours.
        let _ = root(&server).execute("DROP USER ''@'localhost'");
        accounts(&server, "IDENTIFIED BY '{}'");
        passwords(&server);
    }
}

#[test]
fn caching_sha2_by_key_by_cache_and_by_socket() {
    let Some(server) = start(ServerKind::MySql9, &[]) else {
        return;
    };
    accounts(&server, "IDENTIFIED WITH caching_sha2_password BY '{}'");
    // The first login of an account is the full one, by TCP under the server's key.
    passwords(&server);
    // The cache is empty again.
    root(&server).execute("FLUSH PRIVILEGES").unwrap();
    by_tcp(&server, "known", "pass wörd").unwrap();
    root(&server).execute("FLUSH PRIVILEGES").unwrap();
    by_socket(&server, "known", "pass wörd").unwrap();
    by_tcp(&server, "known", "pass wörd").unwrap();
    let long = "x".repeat(200);
    let statement = format!("CREATE USER long_one IDENTIFIED BY '{long}'");
    root(&server).execute(&statement).unwrap();
    by_tcp(&server, "long_one", &long).unwrap();
}

#[test]
fn a_server_without_a_key_has_no_full_login_by_tcp() {
    let arguments = [
        "--caching-sha2-password-private-key-path=none.pem",
        "--caching-sha2-password-public-key-path=none.pem",
    ];
    let Some(server) = start(ServerKind::MySql9, &arguments) else {
        return;
    };
    accounts(&server, "IDENTIFIED WITH caching_sha2_password BY '{}'");
    // Without a key there is no way by TCP, until the cache knows the account.
    denied(by_tcp(&server, "known", "pass wörd"));
    by_socket(&server, "known", "pass wörd").unwrap();
    by_tcp(&server, "known", "pass wörd").unwrap();
}

#[test]
fn ed25519_of_mariadb() {
    for kind in [ServerKind::MariaDb, ServerKind::MariaDb11] {
        let Some(server) = start(kind, &[]) else {
            continue;
        };
        if let Err(error) = root(&server).execute("INSTALL SONAME 'auth_ed25519'") {
            eprintln!("skipped: {kind:?} has no ed25519: {error}");
            continue;
        }
        accounts(&server, "IDENTIFIED VIA ed25519 USING PASSWORD('{}')");
        for way in [by_tcp, by_socket] {
            way(&server, "known", "pass wörd").unwrap();
            denied(way(&server, "known", "other"));
        }
    }
}

#[test]
fn the_socket_s_peer() {
    let uid = rustix::process::geteuid().as_raw().to_string();
    let passwd = std::fs::read_to_string("/etc/passwd").unwrap();
    let me = passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == uid).then(|| name.to_owned())
    });
    let me = me.expect("we have a name");
    for (kind, plugin) in [
        (ServerKind::MariaDb, "IDENTIFIED VIA unix_socket"),
        (ServerKind::MariaDb11, "IDENTIFIED VIA unix_socket"),
        (ServerKind::MySql9, "IDENTIFIED WITH auth_socket"),
    ] {
        let Some(server) = start(kind, &[]) else {
            continue;
        };
        let mut root = root(&server);
        let _ = root.execute("INSTALL PLUGIN auth_socket SONAME 'auth_socket.so'");
        let _ = root.execute("INSTALL SONAME 'auth_socket'");
        // Where we are root this is the lab's own account: our session stays.
        let _ = root.execute(&format!("CREATE USER '{me}'@'localhost'"));
        if let Err(error) = root.execute(&format!("ALTER USER '{me}'@'localhost' {plugin}")) {
            eprintln!("skipped: {kind:?}: {error}");
            continue;
        }
        by_socket(&server, &me, "").unwrap();
        by_socket(&server, &me, "not asked for").unwrap();
        root.execute(&format!("CREATE USER other {plugin}"))
            .unwrap();
        denied(by_socket(&server, "other", ""));
    }
}

#[test]
fn a_server_that_demands_tls_is_told_in_one_line() {
    for kind in [ServerKind::MySql9, ServerKind::MariaDb11] {
        let Some(server) = start(kind, &["--require-secure-transport=ON"]) else {
            continue;
        };
        accounts(&server, "IDENTIFIED BY '{}'");
        let error = by_tcp(&server, "known", "pass wörd").unwrap_err();
        assert!(error.text.contains("--ssl-mode REQUIRED"), "{error}");
        by_socket(&server, "known", "pass wörd").unwrap();
    }
}

#[test]
fn a_full_server_says_so_before_the_greeting() {
    for kind in [ServerKind::MariaDb, ServerKind::MySql9, ServerKind::MySql55] {
        let Some(server) = start(kind, &["--max-connections=2"]) else {
            continue;
        };
        let mut root = root(&server);
        root.execute("CREATE USER plain").unwrap();
        let _ = root.execute("DROP USER ''@'localhost'");
        let address = Address::Socket(server.socket());
        let mut held = Vec::new();
        let error = loop {
            // MySQL has at least ten, whatever is said.
            match Session::connect(&address, &login("plain", ""), DEADLINES) {
                Ok(session) => held.push(session),
                Err(error) => break error,
            }
            assert!(held.len() < 100);
        };
        assert_eq!(error.outcome, ProbeOutcome::TooManyConnections, "{error}");
        assert!(error.text.starts_with("ERROR 1040 ("), "{error}");
    }
}
