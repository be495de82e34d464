//! Certificates of two authorities.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A directory of them: `ca`, `other-ca`; of the first `server` (for 127.0.0.1 and db7.example), `expired`, `old` (X.509
/// version 1), `client`; `stranger`, a client of the other one.
pub(crate) struct Made(tempfile::TempDir);

impl Made {
    /// None without the program `openssl`.
    pub(crate) fn new() -> Option<Self> {
        if Command::new("openssl").arg("version").output().is_err() {
            eprintln!("skipped: the program openssl is not there");
            return None;
        }
        let made = Self(tempfile::tempdir().unwrap());
        // A private server may run as another user.
        open_to_all(made.0.path(), 0o755);
        for ca in ["ca", "other-ca"] {
            made.key(ca);
            let subject = format!("/CN=freezeframe test {ca}");
            let own = [
                "req",
                "-x509",
                "-new",
                "-days",
                "30",
                "-subj",
                &subject,
                "-addext",
                "keyUsage=critical,keyCertSign,cRLSign",
            ];
            made.openssl(
                &[
                    &own[..],
                    &["-key", &made.text(ca, "key"), "-out", &made.text(ca, "pem")],
                ]
                .concat(),
            );
        }
        let names = "subjectAltName=IP:127.0.0.1,DNS:db7.example";
        made.sign("server", "ca", "30", Some(names));
        made.sign("expired", "ca", "-1", Some(names));
        made.sign("old", "ca", "30", None);
        made.sign("client", "ca", "30", Some("extendedKeyUsage=clientAuth"));
        made.sign(
            "stranger",
            "other-ca",
            "30",
            Some("extendedKeyUsage=clientAuth"),
        );
        Some(made)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn text(&self, name: &str, ending: &str) -> String {
        self.path(&format!("{name}.{ending}")).display().to_string()
    }

    fn key(&self, name: &str) {
        let out = self.text(name, "key");
        // RSA in the old form: what the oldest servers read.
        self.openssl(&["genrsa", "-traditional", "-out", &out, "2048"]);
        open_to_all(Path::new(&out), 0o644);
    }

    fn sign(&self, name: &str, ca: &str, days: &str, extension: Option<&str>) {
        self.key(name);
        let (key, request) = (self.text(name, "key"), self.text(name, "csr"));
        let subject = format!("/CN=freezeframe test {name}");
        self.openssl(&[
            "req", "-new", "-key", &key, "-subj", &subject, "-out", &request,
        ]);
        let (ca_cert, ca_key) = (self.text(ca, "pem"), self.text(ca, "key"));
        let (out, extensions) = (self.text(name, "pem"), self.text(name, "ext"));
        let mut arguments = vec![
            "x509",
            "-req",
            "-in",
            &request,
            "-CA",
            &ca_cert,
            "-CAkey",
            &ca_key,
            "-CAcreateserial",
            "-days",
            days,
            "-out",
            &out,
        ];
        if let Some(extension) = extension {
            std::fs::write(&extensions, format!("{extension}\n")).unwrap();
            arguments.extend(["-extfile", &extensions]);
        }
        self.openssl(&arguments);
    }

    fn openssl(&self, arguments: &[&str]) {
        let output = Command::new("openssl")
            .args(arguments)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "openssl {arguments:?}: {told}");
    }
}

fn open_to_all(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}
