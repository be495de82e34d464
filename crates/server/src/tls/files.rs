//! Certificates and keys, read from files.

use std::fmt;
use std::path::Path;
use std::sync::OnceLock;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::TlsOptions;
use crate::login_error::{LoginError, file_of_secret};

/// Bytes of a file. The system's authorities have 230 KiB.
const BYTES_MAX: u64 = 4 << 20;

/// Where systems have their authorities, in one file: Debian, Ubuntu, Arch; Red Hat, Fedora; SUSE; Alpine.
const USUAL_AUTHORITIES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// What the files have that were named.
#[derive(Default)]
pub(super) struct Files {
    /// `--ssl-ca`.
    pub(super) authorities: Option<Vec<CertificateDer<'static>>>,
    /// `--ssl-cert` and `--ssl-key`.
    pub(super) own: Option<(Vec<CertificateDer<'static>>, PrivateKeyDer<'static>)>,
}

impl fmt::Debug for Files {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        // No key, not by accident either.
        let authorities = self.authorities.as_ref().map_or(0, Vec::len);
        write!(formatter, "Files({authorities} authorities)")
    }
}

impl Files {
    /// Reads the files that were named.
    pub(super) fn read(options: &TlsOptions) -> Result<Self, LoginError> {
        let authorities = match &options.ca {
            Some(path) => Some(certificates(path)?),
            None => None,
        };
        let own = match (&options.cert, &options.key) {
            (None, None) => None,
            (Some(cert), Some(key)) => Some((certificates(cert)?, private_key(key)?)),
            (Some(path), None) => {
                return Err(wrong(path, "a certificate needs its key: --ssl-key"));
            }
            (None, Some(path)) => {
                let path = file_of_secret(path);
                return Err(wrong(&path, "a key needs its certificate: --ssl-cert"));
            }
        };
        Ok(Self { authorities, own })
    }
}

/// The system's authorities. Read once: all servers share them.
pub(super) fn system() -> &'static [CertificateDer<'static>] {
    static READ: OnceLock<Vec<CertificateDer<'static>>> = OnceLock::new();
    READ.get_or_init(|| {
        let named = std::env::var_os("SSL_CERT_FILE").map(std::path::PathBuf::from);
        let usual = USUAL_AUTHORITIES.iter().map(std::path::PathBuf::from);
        let mut places = named.into_iter().chain(usual);
        places
            .find_map(|path| certificates(&path).ok())
            .unwrap_or_default()
    })
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, LoginError> {
    let text = read(path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) => Err(wrong(path, "no PEM certificate in it")),
        Err(error) => Err(wrong(
            path,
            &format!("its certificates cannot be read: {error}"),
        )),
    }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, LoginError> {
    let text = read(path)?;
    let is_locked = |mark: &str| String::from_utf8_lossy(&text).contains(mark);
    if is_locked("BEGIN ENCRYPTED PRIVATE KEY") || is_locked("Proc-Type: 4,ENCRYPTED") {
        return Err(wrong(
            path,
            "the key needs a passphrase, which is not supported",
        ));
    }
    PrivateKeyDer::from_pem_slice(&text).map_err(|_| wrong(path, "no PEM private key in it"))
}

fn read(path: &Path) -> Result<Vec<u8>, LoginError> {
    use std::io::Read;

    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(BYTES_MAX).read_to_end(&mut bytes))
        .map_err(|source| LoginError::Unreadable {
            path: file_of_secret(path),
            source,
        })?;
    Ok(bytes)
}

fn wrong(path: &Path, problem: &str) -> LoginError {
    LoginError::Tls {
        path: path.to_owned(),
        problem: problem.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_file_is_told_in_one_line() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.pem");
        let told = |text: &[u8]| {
            std::fs::write(&path, text).unwrap();
            let as_ca = TlsOptions {
                ca: Some(path.clone()),
                ..TlsOptions::default()
            };
            let as_key = TlsOptions {
                cert: Some("/nowhere".into()),
                key: None,
                ..TlsOptions::default()
            };
            let errors = [Files::read(&as_ca), Files::read(&as_key)];
            errors.map(|read| read.unwrap_err().to_string())
        };
        for text in [
            &b""[..],
            b"\xff\x00",
            b"-----BEGIN CERTIFICATE-----\n",
            b"-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n",
        ] {
            for error in told(text) {
                assert!(!error.contains('\n'), "{error}");
            }
        }
        let [as_ca, as_key] = told(b"nothing");
        assert!(as_ca.contains("x.pem: no PEM certificate"), "{as_ca}");
        assert!(as_key.contains("needs its key"), "{as_key}");
        let locked =
            b"-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
        std::fs::write(&path, locked).unwrap();
        let error = private_key(&path).unwrap_err().to_string();
        assert!(error.contains("passphrase"), "{error}");
    }
}
