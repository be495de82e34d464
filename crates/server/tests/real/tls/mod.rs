//! TLS to real servers, with certificates that are made here by the program `openssl`, and to servers that never finish
//! a handshake. What this machine lacks is skipped, and that is said.

mod certificates;
mod silent;

use std::path::Path;

use crate::{DEADLINES, start};
use model::ProbeOutcome;
use server::{Address, Login, ServerError, Session, Tls, TlsMode, TlsOptions};
use testbed::{PrivateServer, ServerKind};

use certificates::Made;

fn login(user: &str, password: &str, options: TlsOptions) -> Login {
    Login {
        user: user.to_owned(),
        password: Some(password.to_owned()),
        from: "the test".to_owned(),
        tls: Tls::new(options).unwrap(),
    }
}

fn with(mode: TlsMode) -> TlsOptions {
    TlsOptions {
        mode: Some(mode),
        ..TlsOptions::default()
    }
}

fn with_ca(mode: TlsMode, ca: &Path) -> TlsOptions {
    TlsOptions {
        ca: Some(ca.to_owned()),
        ..with(mode)
    }
}

/// As the account `known`, over TCP; gives the version of TLS.
fn version(server: &PrivateServer, options: TlsOptions) -> Result<String, ServerError> {
    version_at("127.0.0.1", server, &login("known", "pass wörd", options))
}

fn version_at(host: &str, server: &PrivateServer, login: &Login) -> Result<String, ServerError> {
    let address = Address::Tcp(host.to_owned(), server.port());
    let mut session = Session::connect(&address, login, DEADLINES)?;
    let (rows, _) = session.rows("SHOW SESSION STATUS LIKE 'Ssl_version'", 1)?;
    // Something longer than one record.
    let (variables, _) = session.rows("SHOW GLOBAL VARIABLES", 5000)?;
    assert!(variables.len() > 200, "{}", variables.len());
    Ok(rows
        .first()
        .map_or_else(String::new, |row| row.column(1).to_owned()))
}

fn refused(tried: Result<String, ServerError>, because: &str) {
    let error = tried.unwrap_err();
    assert_eq!(error.outcome, ProbeOutcome::AccessDenied, "{error}");
    assert!(error.text.contains(because), "{error}");
    assert!(
        !error.text.contains('\n') && !error.text.contains("  "),
        "{error}"
    );
}

fn root(server: &PrivateServer) -> Session {
    let own = server.login();
    let testbed::Address::Socket(path) = own.address else {
        panic!("the lab's own login is by a socket");
    };
    let own = Login {
        user: own.user,
        password: own.password,
        from: "the lab".to_owned(),
        tls: Tls::default(),
    };
    Session::connect(&Address::Socket(path), &own, DEADLINES).unwrap()
}

fn execute(server: &PrivateServer, statements: &[&str]) {
    let mut root = root(server);
    // An anonymous account would stand before ours.
    let _ = root.execute("DROP USER ''@'localhost'");
    for statement in statements {
        root.execute(statement).unwrap();
    }
}

/// The installed MariaDB with the certificate of this name, and with more arguments.
fn start_with(made: &Made, certificate: &str, more: &[&str]) -> Option<PrivateServer> {
    let own = [
        format!("--ssl-ca={}", made.path("ca.pem").display()),
        format!(
            "--ssl-cert={}",
            made.path(&format!("{certificate}.pem")).display()
        ),
        format!(
            "--ssl-key={}",
            made.path(&format!("{certificate}.key")).display()
        ),
    ];
    let own = own.iter().map(String::as_str);
    let arguments: Vec<&str> = own.chain(more.iter().copied()).collect();
    start(ServerKind::MariaDb, &arguments)
}

const KNOWN: &str = "CREATE USER known IDENTIFIED BY 'pass wörd'";

#[test]
fn mariadb_with_an_authority_of_its_own() {
    let Some(made) = Made::new() else { return };
    let Some(server) = start_with(&made, "server", &[]) else {
        return;
    };
    execute(
        &server,
        &[
            KNOWN,
            "CREATE USER certified IDENTIFIED BY 'x' REQUIRE X509",
            "CREATE USER encrypted IDENTIFIED BY 'x' REQUIRE SSL",
        ],
    );
    let (ca, other) = (made.path("ca.pem"), made.path("other-ca.pem"));
    assert_eq!(version(&server, with(TlsMode::Disabled)).unwrap(), "");
    assert_eq!(version(&server, TlsOptions::default()).unwrap(), "");
    for options in [
        with(TlsMode::Preferred),
        with(TlsMode::Required),
        with_ca(TlsMode::VerifyCa, &ca),
        with_ca(TlsMode::VerifyIdentity, &ca),
        // The certificate itself.
        with_ca(TlsMode::VerifyCa, &made.path("server.pem")),
    ] {
        let told = format!("{options:?}");
        assert_eq!(version(&server, options).expect(&told), "TLSv1.3", "{told}");
    }
    let implied = TlsOptions {
        ca: Some(ca.clone()),
        ..TlsOptions::default()
    };
    assert_eq!(version(&server, implied).unwrap(), "TLSv1.3");
    for options in [
        with_ca(TlsMode::VerifyCa, &other),
        with_ca(TlsMode::VerifyIdentity, &other),
        with(TlsMode::VerifyCa),
        with(TlsMode::VerifyIdentity),
    ] {
        refused(version(&server, options), "name its authority");
    }
    let by_name = login("known", "pass wörd", with_ca(TlsMode::VerifyIdentity, &ca));
    refused(
        version_at("localhost", &server, &by_name),
        "is not for the name 'localhost'",
    );
    let by_name = login("known", "pass wörd", with_ca(TlsMode::VerifyCa, &ca));
    assert_eq!(
        version_at("localhost", &server, &by_name).unwrap(),
        "TLSv1.3"
    );

    let plain = login("encrypted", "x", TlsOptions::default());
    assert!(version_at("127.0.0.1", &server, &plain).is_err());
    let encrypted = login("encrypted", "x", with(TlsMode::Required));
    let by_socket = Address::Socket(server.socket());
    assert_eq!(
        version_at("127.0.0.1", &server, &encrypted).unwrap(),
        "TLSv1.3"
    );
    Session::connect(&by_socket, &encrypted, DEADLINES).unwrap();

    let ours = |name: &str| TlsOptions {
        cert: Some(made.path(&format!("{name}.pem"))),
        key: Some(made.path(&format!("{name}.key"))),
        ..with_ca(TlsMode::VerifyCa, &ca)
    };
    let certified = |options| version_at("127.0.0.1", &server, &login("certified", "x", options));
    assert!(certified(with_ca(TlsMode::VerifyCa, &ca)).is_err());
    // Again and again, as a probe does: the session is resumed, our certificate with it.
    let own = login("certified", "x", ours("client"));
    for _ in 0..3 {
        assert_eq!(version_at("127.0.0.1", &server, &own).unwrap(), "TLSv1.3");
    }
    Session::connect(&by_socket, &own, DEADLINES).unwrap();
    let strange = certified(ours("stranger")).unwrap_err();
    assert!(strange.text.contains("certificate"), "{strange}");
}

#[test]
fn tls_1_2_and_a_certificate_of_the_first_version() {
    let Some(made) = Made::new() else { return };
    let more = ["--tls-version=TLSv1.2"];
    let Some(server) = start_with(&made, "old", &more) else {
        return;
    };
    execute(&server, &[KNOWN]);
    let required = version(&server, with(TlsMode::Required)).unwrap();
    assert_eq!(required, "TLSv1.2");
    let named = with_ca(TlsMode::VerifyCa, &made.path("old.pem"));
    assert_eq!(version(&server, named).unwrap(), "TLSv1.2");
    let by_authority = with_ca(TlsMode::VerifyCa, &made.path("ca.pem"));
    refused(version(&server, by_authority), "X.509 version 1");
}

#[test]
fn an_expired_certificate_is_told() {
    let Some(made) = Made::new() else { return };
    let Some(server) = start_with(&made, "expired", &[]) else {
        return;
    };
    execute(&server, &[KNOWN]);
    let verified = with_ca(TlsMode::VerifyCa, &made.path("ca.pem"));
    refused(version(&server, verified), "has expired");
}

#[test]
fn mysql_9_with_what_it_made_itself() {
    let Some(server) = start(ServerKind::MySql9, &["--require-secure-transport=ON"]) else {
        return;
    };
    execute(
        &server,
        &[
            KNOWN,
            "CREATE USER certified IDENTIFIED BY 'x' REQUIRE X509",
        ],
    );
    let ca = server.datadir().join("ca.pem");
    refused(
        version(&server, TlsOptions::default()),
        "--ssl-mode REQUIRED",
    );
    assert_eq!(
        version(&server, with(TlsMode::Required)).unwrap(),
        "TLSv1.3"
    );
    // By the full login each time: the password goes through the encrypted way.
    for _ in 0..2 {
        execute(&server, &["FLUSH PRIVILEGES"]);
        let verified = version(&server, with_ca(TlsMode::VerifyCa, &ca));
        assert_eq!(verified.unwrap(), "TLSv1.3");
    }
    refused(
        version(&server, with_ca(TlsMode::VerifyIdentity, &ca)),
        "is not for the name '127.0.0.1'",
    );
    let wrong = login("known", "other", with_ca(TlsMode::VerifyCa, &ca));
    let denied = version_at("127.0.0.1", &server, &wrong).unwrap_err();
    assert_eq!(
        (denied.outcome, denied.code),
        (ProbeOutcome::AccessDenied, Some(1045))
    );
    let ours = TlsOptions {
        cert: Some(server.datadir().join("client-cert.pem")),
        key: Some(server.datadir().join("client-key.pem")),
        ..with_ca(TlsMode::VerifyCa, &ca)
    };
    let certified = login("certified", "x", ours);
    assert_eq!(
        version_at("127.0.0.1", &server, &certified).unwrap(),
        "TLSv1.3"
    );

    let sha256 =
        root(&server).execute("CREATE USER sha IDENTIFIED WITH sha256_password BY 'pass wörd'");
    if let Err(error) = sha256 {
        eprintln!("skipped: sha256_password: {error}");
        return;
    }
    let by_tls = login("sha", "pass wörd", with_ca(TlsMode::VerifyCa, &ca));
    assert_eq!(
        version_at("127.0.0.1", &server, &by_tls).unwrap(),
        "TLSv1.3"
    );
    execute(&server, &["SET GLOBAL require_secure_transport = OFF"]);
    let by_key = login("sha", "pass wörd", TlsOptions::default());
    assert_eq!(version_at("127.0.0.1", &server, &by_key).unwrap(), "");
    let wrong = login("sha", "other", TlsOptions::default());
    let denied = version_at("127.0.0.1", &server, &wrong).unwrap_err();
    assert_eq!(denied.code, Some(1045), "{denied}");
}

#[test]
fn a_server_without_tls_is_told_in_one_line() {
    let Some(server) = start(ServerKind::MySql55, &[]) else {
        return;
    };
    execute(&server, &["CREATE USER known IDENTIFIED BY 'pass wörd'"]);
    refused(
        version(&server, with(TlsMode::Required)),
        "the server has no TLS, which --ssl-mode requires",
    );
    let _ = Session::connect(
        &Address::Tcp("127.0.0.1".to_owned(), server.port()),
        &login("known", "pass wörd", with(TlsMode::Preferred)),
        DEADLINES,
    )
    .unwrap();
}
