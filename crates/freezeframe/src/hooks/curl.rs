//! Posts JSON by https.

use std::path::PathBuf;
use std::time::Duration;

use super::address::Address;
use super::failure::{Failure, judge};

/// Where to post to; its address shows without what is secret of it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Target {
    pub(super) address: Address,
    /// Certificates that are trusted instead of the system's.
    pub(super) ca_file: Option<PathBuf>,
}

/// Posts, and judges the status of the answer.
pub(super) fn post(
    target: &Target,
    headers: &[String],
    body: &str,
    deadline: Duration,
) -> Result<(), Failure> {
    let (url, whom) = (target.address.whole(), &target.address.authority);
    let mut lines = vec!["Content-Type: application/json".to_owned()];
    lines.extend_from_slice(headers);
    let ca_file = target.ca_file.as_deref();
    match transport::curl::exchange("POST", url, &lines, body.as_bytes(), ca_file, deadline) {
        Ok(answer) => judge(whom, answer.status),
        Err(said) => {
            // curl shows an address that it cannot read in the lines behind the first.
            let said = said.lines().next().unwrap_or_default();
            Err(Failure::Later(format!("{whom}: {said}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read, Write};
    use std::net::TcpListener;
    use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
    use std::sync::mpsc::{Receiver, channel};
    use std::time::Instant;

    use super::*;

    const LONG: Duration = Duration::from_secs(60);

    const BODY: &str = "{\"x\":1}";

    /// An authority of our own, and a receiver's certificate from it for this name.
    struct Certificates(tempfile::TempDir);

    impl Certificates {
        /// Nothing, and it is said, where openssl(1) is not there.
        fn new(name: &str) -> Option<Self> {
            let dir = tempfile::tempdir().unwrap();
            let certificates = Self(dir);
            let (key, ca) = (certificates.path("ca.key"), certificates.path("ca.pem"));
            let request = ["req", "-newkey", "rsa:2048", "-nodes", "-batch"];
            let authority = [
                "-x509",
                "-days",
                "2",
                "-subj",
                "/CN=freezeframe test",
                "-keyout",
            ];
            certificates.openssl(&[&request[..], &authority, &[&key, "-out", &ca]].concat())?;
            let (own, wish) = (certificates.path("own.key"), certificates.path("own.csr"));
            let subject = ["-subj", "/CN=receiver", "-keyout", &own, "-out", &wish];
            certificates.openssl(&[&request[..], &subject].concat())?;
            let extensions = certificates.path("extensions");
            std::fs::write(&extensions, format!("subjectAltName = {name}\n")).unwrap();
            let signed = certificates.path("own.pem");
            certificates.openssl(&[
                "x509",
                "-req",
                "-in",
                &wish,
                "-CA",
                &ca,
                "-CAkey",
                &key,
                "-CAcreateserial",
                "-days",
                "2",
                "-extfile",
                &extensions,
                "-out",
                &signed,
            ])?;
            Some(certificates)
        }

        fn path(&self, name: &str) -> String {
            self.0.path().join(name).display().to_string()
        }

        fn openssl(&self, arguments: &[&str]) -> Option<()> {
            let output = match Command::new("openssl").args(arguments).output() {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                    eprintln!("skipped: openssl is not installed");
                    return None;
                }
                other => other.unwrap(),
            };
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "openssl {arguments:?}: {said}");
            Some(())
        }
    }

    /// A receiver that speaks TLS: what arrives comes out of its output, what it answers goes into its input.
    struct Tls {
        child: Child,
        port: u16,
        answers: ChildStdin,
        arrived: Receiver<String>,
    }

    impl Tls {
        fn start(certificates: &Certificates) -> Self {
            // Somebody else may take it meanwhile, which is as likely as it is in all tests that do so.
            let port = {
                let free = TcpListener::bind("127.0.0.1:0").unwrap();
                free.local_addr().unwrap().port()
            };
            let mut child = Command::new("openssl")
                .args([
                    "s_server",
                    "-quiet",
                    "-accept",
                    &format!("127.0.0.1:{port}"),
                ])
                .args(["-cert", &certificates.path("own.pem")])
                .args(["-key", &certificates.path("own.key")])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            let answers = child.stdin.take().unwrap();
            let output = child.stdout.take().unwrap();
            let (sender, arrived) = channel();
            std::thread::spawn(move || {
                let mut output = BufReader::new(output);
                while let Some(request) = request(&mut output) {
                    if sender.send(request).is_err() {
                        return;
                    }
                }
            });
            let end = Instant::now() + LONG;
            while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
                assert!(Instant::now() < end, "the receiver does not listen");
                std::thread::sleep(Duration::from_millis(20));
            }
            Self {
                child,
                port,
                answers,
                arrived,
            }
        }

        fn target(&self, host: &str, ca_file: Option<String>) -> Target {
            Target {
                address: format!("https://{host}:{}/hook?a=b", self.port)
                    .parse()
                    .unwrap(),
                ca_file: ca_file.map(PathBuf::from),
            }
        }

        /// Posts, and gives the answer when the request is there.
        fn post(&mut self, target: &Target, answer: &str) -> (Result<(), Failure>, Option<String>) {
            let target = target.clone();
            let posting = std::thread::spawn(move || {
                let headers = ["Authorization: Bearer x".to_owned()];
                post(&target, &headers, BODY, LONG)
            });
            let end = Instant::now() + LONG;
            loop {
                if let Ok(request) = self.arrived.recv_timeout(Duration::from_millis(20)) {
                    self.answers.write_all(answer.as_bytes()).unwrap();
                    return (posting.join().unwrap(), Some(request));
                }
                if posting.is_finished() {
                    return (posting.join().unwrap(), None);
                }
                assert!(Instant::now() < end, "neither a request nor an end");
            }
        }
    }

    impl Drop for Tls {
        fn drop(&mut self) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }

    /// Head and body of the next one.
    fn request(output: &mut BufReader<ChildStdout>) -> Option<String> {
        let mut text = String::new();
        let mut length = 0;
        while !text.ends_with("\r\n\r\n") {
            let mut line = String::new();
            if output.read_line(&mut line).ok()? == 0 {
                return None;
            }
            if let Some(value) = line.strip_prefix("Content-Length: ") {
                length = value.trim().parse().ok()?;
            }
            text += &line;
        }
        let mut body = vec![0; length];
        output.read_exact(&mut body).ok()?;
        Some(text + &String::from_utf8_lossy(&body))
    }

    const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    const BUSY: &str =
        "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";

    /// What is needed beside ourselves.
    fn certificates(name: &str) -> Option<Certificates> {
        if transport::curl::installed().is_none() {
            eprintln!("skipped: curl is not installed");
            return None;
        }
        Certificates::new(name)
    }

    #[test]
    fn a_receiver_that_is_trusted_gets_the_post() {
        let Some(certificates) = certificates("IP:127.0.0.1") else {
            return;
        };
        let mut receiver = Tls::start(&certificates);
        let trusted = receiver.target("127.0.0.1", Some(certificates.path("ca.pem")));
        let (result, request) = receiver.post(&trusted, OK);
        assert_eq!(result, Ok(()));
        let request = request.unwrap();
        assert!(
            request.starts_with("POST /hook?a=b HTTP/1.1\r\n"),
            "{request}"
        );
        assert!(
            request.contains("\r\nAuthorization: Bearer x\r\n"),
            "{request}"
        );
        assert!(
            request.contains("\r\nContent-Type: application/json\r\n"),
            "{request}"
        );
        assert!(request.ends_with(&format!("\r\n\r\n{BODY}")), "{request}");
    }

    #[test]
    fn a_receiver_that_is_busy_is_asked_again() {
        let Some(certificates) = certificates("IP:127.0.0.1") else {
            return;
        };
        let mut receiver = Tls::start(&certificates);
        let trusted = receiver.target("127.0.0.1", Some(certificates.path("ca.pem")));
        let (result, _) = receiver.post(&trusted, BUSY);
        let Err(Failure::Later(said)) = &result else {
            panic!("{result:?}");
        };
        assert!(said.ends_with("status 503"), "{said}");
        assert_eq!(receiver.post(&trusted, OK).0, Ok(()));
    }

    #[test]
    fn a_receiver_that_is_not_trusted_gets_nothing() {
        let Some(certificates) = certificates("DNS:elsewhere.example") else {
            return;
        };
        let mut receiver = Tls::start(&certificates);
        let unknown = receiver.target("127.0.0.1", None);
        let of_another_name = receiver.target("127.0.0.1", Some(certificates.path("ca.pem")));
        for target in [unknown, of_another_name] {
            let (result, request) = receiver.post(&target, OK);
            assert_eq!(request, None, "{target:?}");
            let Err(Failure::Later(said)) = &result else {
                panic!("{result:?}");
            };
            assert!(said.contains("curl") && said.contains("SSL"), "{said}");
        }
    }

    #[test]
    fn an_address_that_curl_cannot_read_is_not_told() {
        if transport::curl::installed().is_none() {
            eprintln!("skipped: curl is not installed");
            return;
        }
        for url in [
            "https://127.0.0.1:1/{T0K3N",
            "https://u:T0K3N@127.0.0.1:1/[",
        ] {
            let target = Target {
                address: url.parse().unwrap(),
                ca_file: None,
            };
            let Err(Failure::Later(said)) = post(&target, &[], BODY, LONG) else {
                panic!("nobody listens there");
            };
            assert!(said.contains("curl") && !said.contains("T0K3N"), "{said}");
        }
    }
}
