//! Clients of every kind, and clients that go wrong.

use std::io::{Read as _, Write as _};
use std::net::{IpAddr, Ipv6Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use mysql::prelude::Queryable;
use testbed::{Address, Login, PrivateServer, ServerKind};

use super::{Planting, TIMEOUT};

/// A login over TCP as somebody else.
pub(super) fn login_as(server: &PrivateServer, user: &str, password: &str) -> Login {
    Login {
        user: user.to_owned(),
        password: Some(password.to_owned()),
        ..server.tcp_login()
    }
}

/// The ways to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Socket,
    Tcp,
    Compressed,
    Ipv6,
    /// By the client program that is installed.
    Tls,
}

pub(crate) const WAYS: [Way; 5] = [Way::Socket, Way::Tcp, Way::Compressed, Way::Ipv6, Way::Tls];

/// Clients of a planted server.
pub(crate) struct Clients<'a> {
    pub(crate) planting: &'a Planting<'a>,
    /// Where scripts for the client program go.
    pub(crate) dir: &'a Path,
}

impl Clients<'_> {
    fn user_login(&self, way: Way) -> Login {
        let markers = self.planting.markers;
        let mut login = login_as(
            self.planting.server,
            markers.text("user"),
            markers.text("password"),
        );
        match way {
            Way::Socket => login.address = Address::Socket(self.planting.server.socket()),
            Way::Ipv6 => {
                login.address = Address::TcpFrom(
                    Ipv6Addr::LOCALHOST.to_string(),
                    self.planting.server.port(),
                    IpAddr::V6(Ipv6Addr::LOCALHOST),
                );
            }
            _ => (),
        }
        login
    }

    /// Says statements in this way; whether anybody heard them.
    pub(crate) fn say(&self, way: Way, statements: &[&str]) -> bool {
        if way == Way::Tls {
            return self.say_by_program(statements);
        }
        let login = self.user_login(way);
        let Ok(mut session) = login.connect(way == Way::Compressed, TIMEOUT) else {
            return false;
        };
        self.planting.say(&mut session, &["SET NAMES utf8"]);
        self.planting.say(&mut session, statements);
        true
    }

    /// By the `mariadb` program over TLS.
    fn say_by_program(&self, statements: &[&str]) -> bool {
        // MySQL 5.5 offers TLS 1.0 only, which no client of today speaks.
        if self.planting.kind == ServerKind::MySql55 {
            return false;
        }
        let script: Vec<String> = statements
            .iter()
            .map(|statement| format!("{}\n$$\n", self.planting.markers.fill(statement)))
            .collect();
        let options = self.dir.join("client.cnf");
        let markers = self.planting.markers;
        std::fs::write(
            &options,
            format!("[client]\npassword=\"{}\"\n", markers.text("password")),
        )
        .unwrap();
        let child = Command::new("mariadb")
            .arg(format!("--defaults-file={}", options.display()))
            .args(["--force", "--delimiter=$$", "--comments", "--ssl"])
            .args([
                "--skip-ssl-verify-server-cert",
                "--protocol=TCP",
                "--host=127.0.0.1",
            ])
            .arg(format!("--port={}", self.planting.server.port()))
            .arg(format!("--user={}", markers.text("user")))
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        let Ok(mut child) = child else {
            return false;
        };
        let mut stdin = child.stdin.take().unwrap();
        let all = script.concat();
        let writer = std::thread::spawn(move || stdin.write_all(all.as_bytes()));
        let output = child.wait_with_output().unwrap();
        let _ = writer.join();
        let said = String::from_utf8_lossy(&output.stderr);
        let refused = said.contains("TLS/SSL error") || said.contains("ERROR 20");
        if refused {
            eprintln!("skipped: TLS: {}", said.lines().next().unwrap_or_default());
        }
        !refused
    }

    /// Prepared by the binary protocol, with markers as parameters.
    pub(crate) fn prepared(&self, way: Way) {
        let markers = self.planting.markers;
        let Ok(mut session) = self
            .user_login(way)
            .connect(way == Way::Compressed, TIMEOUT)
        else {
            return;
        };
        let _ = session.query_drop(markers.fill("USE `{schema}`"));
        let _ = session.query_drop("SET SESSION sql_log_bin = 0");
        for statement in [
            "SELECT ?, '{email}'",
            "INSERT INTO `{table}` (`{column}`) VALUES (?)",
            "SELECT * FROM `{table}` WHERE `{column}` = ? OR `{column}` = '{phrase}'",
            "CALL signals(?)",
            "INSERT INTO numbers VALUES (?, '{token}')",
        ] {
            let Ok(prepared) = session.prep(markers.fill(statement)) else {
                continue;
            };
            for value in ["parameter", "email", "lines", "card"] {
                let _ = session.exec_drop(&prepared, (markers.text(value),));
            }
        }
    }

    /// A statement of so many bytes.
    pub(crate) fn long_statement(&self, bytes: usize) {
        let markers = self.planting.markers;
        let one = markers.fill("('{email} {phrase}', '{token}'),");
        let many = one.repeat(bytes / one.len() + 1);
        let sql = format!("SELECT 1 IN {}0)", many.replacen('(', "((", 1));
        if let Ok(mut session) = self.user_login(Way::Tcp).connect(false, TIMEOUT) {
            let _ = session.query_drop(sql);
        }
    }

    /// Wrong passwords, users that are none, clients that say nothing or nonsense, that are killed or time out.
    pub(crate) fn trouble(&self) {
        let (server, markers) = (self.planting.server, self.planting.markers);
        for (user, password) in [
            (
                markers.text("user"),
                markers.text("password").to_owned() + "x",
            ),
            (markers.text("typed"), String::new()),
            (markers.text("typed"), markers.text("password").to_owned()),
            ("root", markers.text("password").to_owned()),
        ] {
            let _ = login_as(server, user, &password).connect(false, TIMEOUT);
            let mut login = login_as(server, user, &password);
            login.address = Address::Socket(server.socket());
            let _ = login.connect(false, TIMEOUT);
        }
        // A schema that this account has no access to.
        let login = login_as(server, "plain", markers.text("password"));
        if let Ok(mut session) = login.connect(false, TIMEOUT) {
            let _ = session.query_drop(markers.fill("USE mysql"));
            let _ = session.query_drop(
                markers.fill("INSERT INTO `{schema}`.`{table}` (`{column}`) VALUES ('{email}')"),
            );
            let _ = session.query_drop(markers.fill("SET GLOBAL init_connect = '{phrase}'"));
        }
        self.raw_clients();
        self.killed();
    }

    /// Clients that never log in: silent, nonsense, cut off in the middle.
    fn raw_clients(&self) {
        let markers = self.planting.markers;
        for bytes in [
            Vec::new(),
            markers
                .fill("GET /{email} HTTP/1.1\r\nAuthorization: {token}\r\n\r\n")
                .into_bytes(),
            // A packet that announces more than comes.
            [&[200, 0, 0, 1][..], markers.text("email").as_bytes()].concat(),
        ] {
            let address = ("127.0.0.1", self.planting.server.port());
            let Ok(mut stream) = TcpStream::connect(address) else {
                continue;
            };
            let _ = stream.set_read_timeout(Some(Duration::from_millis(300)));
            let mut greeting = [0; 200];
            let _ = stream.read(&mut greeting);
            let _ = stream.write_all(&bytes);
            let _ = stream.read(&mut greeting);
        }
    }

    /// Sessions of the marked user in the marked schema that are killed, time out, or go away without a word.
    fn killed(&self) {
        let markers = self.planting.markers;
        let mut admin = self.planting.session();
        for way in [Way::Tcp, Way::Socket, Way::Ipv6] {
            let Ok(mut session) = self.user_login(way).connect(false, TIMEOUT) else {
                continue;
            };
            let _ = session.query_drop(markers.fill("USE `{schema}`"));
            let id = session.connection_id();
            let sql = markers.fill("SELECT SLEEP(5), '{email}'");
            let running = std::thread::spawn(move || session.query_drop(sql));
            std::thread::sleep(Duration::from_millis(150));
            let _ = admin.query_drop(format!("KILL {id}"));
            let _ = running.join();
        }
        if let Ok(mut session) = self.user_login(Way::Tcp).connect(false, TIMEOUT) {
            let _ = session.query_drop(markers.fill("USE `{schema}`"));
            let _ =
                session.query_drop("SET SESSION wait_timeout = 1, SESSION net_read_timeout = 1");
            std::thread::sleep(Duration::from_millis(1300));
            let _ = session.query_drop("SELECT 1");
        }
        self.gone_in_the_middle();
    }

    /// The client program, killed while it waits for an answer.
    fn gone_in_the_middle(&self) {
        let markers = self.planting.markers;
        let sql = markers.fill("SELECT '{email}', SLEEP(1), REPEAT('{phrase}', 100000)");
        let child = Command::new("mariadb")
            .args([
                "--no-defaults",
                "--protocol=TCP",
                "--host=127.0.0.1",
                "--skip-ssl",
            ])
            .arg(format!("--port={}", self.planting.server.port()))
            .arg(format!("--user={}", markers.text("user")))
            .arg(format!("--password={}", markers.text("password")))
            .args(["-e", &sql])
            .arg(markers.text("schema"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        let Ok(mut child) = child else {
            return;
        };
        std::thread::sleep(Duration::from_millis(400));
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Certificates for a server, made by the `openssl` program: its arguments. Empty where that cannot be.
pub(crate) fn certificate(dir: &Path) -> Vec<String> {
    let file = |name: &str| -> PathBuf { dir.join(name) };
    let made = Command::new("openssl")
        .args([
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2",
        ])
        .args(["-subj", "/CN=freezeframe-test"])
        .arg("-keyout")
        .arg(file("key.pem"))
        .arg("-out")
        .arg(file("cert.pem"))
        .stderr(Stdio::null())
        .status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("skipped: TLS: the program openssl makes no certificate");
        return Vec::new();
    }
    let path = |option: &str, name: &str| format!("--{option}={}", file(name).display());
    vec![
        path("ssl-ca", "cert.pem"),
        path("ssl-cert", "cert.pem"),
        path("ssl-key", "key.pem"),
    ]
}
