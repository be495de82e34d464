//! TLS to the server: what is wanted, from the command line or an option file, and what rustls is told.
//!
//! **The default goes by the way.** To this host (a unix socket, or an address of our own) there is none, as nobody
//! else hears it. To another host there is, and the server's certificate is verified: who records a fleet shall not
//! find out later that passwords and statements were readable on the way.
//!
//! **Without `--ssl-ca` the system's authorities count, and then the name as well.** A public authority signs for
//! everybody: that it has signed says nothing without the name. An authority of one's own signs for one's own servers.
//!
//! **A certificate that is itself in the `--ssl-ca` file is accepted** as it is: servers have self-signed ones, and ones
//! of X.509 version 1, made as old manuals say, which no verifier of today takes otherwise.

mod files;
mod old_certificate;
mod verify;

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Arc, OnceLock};

use rustls::ClientConfig;

use crate::login_error::LoginError;
use files::Files;

/// How the way to the server is to be protected; the names are those of MySQL's clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TlsMode {
    /// Never.
    Disabled,
    /// Where the server has it; its certificate is not verified.
    Preferred,
    /// Always; its certificate is not verified.
    Required,
    /// Always, and an authority that we know has signed the certificate.
    VerifyCa,
    /// That, and it is for the host that we asked for.
    VerifyIdentity,
}

impl TlsMode {
    /// All of them, the weakest first.
    pub const ALL: [Self; 5] = [
        Self::Disabled,
        Self::Preferred,
        Self::Required,
        Self::VerifyCa,
        Self::VerifyIdentity,
    ];

    /// Its name on the command line and in option files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Disabled => "DISABLED",
            Self::Preferred => "PREFERRED",
            Self::Required => "REQUIRED",
            Self::VerifyCa => "VERIFY_CA",
            Self::VerifyIdentity => "VERIFY_IDENTITY",
        }
    }

    /// The certificate counts.
    pub(crate) fn verifies(self) -> bool {
        self >= Self::VerifyCa
    }
}

impl FromStr for TlsMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let name = text.trim().replace('-', "_");
        let mut all = Self::ALL.into_iter();
        all.find(|mode| mode.name().eq_ignore_ascii_case(&name))
            // Not what was found there: the value of another setting may have come here by mistake.
            .ok_or_else(|| {
                "one of DISABLED, PREFERRED, REQUIRED, VERIFY_CA, VERIFY_IDENTITY expected"
                    .to_owned()
            })
    }
}

/// What was said about TLS. What is missing is taken from the next place that says something.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsOptions {
    /// `--ssl-mode`.
    pub mode: Option<TlsMode>,
    /// `--ssl-ca`: the authorities that are trusted instead of the system's, in PEM.
    pub ca: Option<PathBuf>,
    /// `--ssl-cert`: our own certificate, in PEM, with those that lead to its authority.
    pub cert: Option<PathBuf>,
    /// `--ssl-key`: its key, in PEM.
    pub key: Option<PathBuf>,
    /// MariaDB's `ssl` in an option file: on this host, too, without saying how.
    pub is_wanted: bool,
}

impl TlsOptions {
    /// These, and what they leave open from `other`.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        // A certificate and the key of another one are of no use.
        let both = self.cert.is_some() || self.key.is_some();
        let (cert, key) = match both {
            true => (self.cert, self.key),
            false => (other.cert, other.key),
        };
        Self {
            mode: self.mode.or(other.mode),
            ca: self.ca.or(other.ca),
            cert,
            key,
            is_wanted: self.is_wanted || other.is_wanted,
        }
    }
}

/// TLS as it is wanted, with the files read.
#[derive(Debug, Clone, Default)]
pub struct Tls(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    options: TlsOptions,
    files: Files,
    /// What rustls is told, for each of its modes: made when it is first needed, and then shared, so that a probe each
    /// second resumes its session.
    made: [OnceLock<Result<Arc<ClientConfig>, String>>; 5],
}

impl PartialEq for Tls {
    fn eq(&self, other: &Self) -> bool {
        self.0.options == other.0.options
    }
}

impl Eq for Tls {}

/// Where a connection leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PeerLocation {
    /// To a process of this host, by a unix socket.
    Socket,
    /// To this host, by TCP.
    ThisHost,
    /// To another host.
    Elsewhere,
}

impl Tls {
    /// Reads the files.
    pub fn new(options: TlsOptions) -> Result<Self, LoginError> {
        let files = match options.mode {
            Some(TlsMode::Disabled) => Files::default(),
            _ => Files::read(&options)?,
        };
        Ok(Self(Arc::new(Inner {
            options,
            files,
            made: Default::default(),
        })))
    }

    /// What was said.
    pub fn options(&self) -> &TlsOptions {
        &self.0.options
    }

    /// What holds for a connection that leads there.
    pub(crate) fn mode(&self, leads: PeerLocation) -> TlsMode {
        let options = &self.0.options;
        let is_own = options.cert.is_some();
        match (options.mode, leads) {
            (Some(mode), PeerLocation::ThisHost | PeerLocation::Elsewhere) => mode,
            // Nobody else hears it and nobody else answers; but an account may want it, or our certificate.
            (Some(mode), PeerLocation::Socket) if mode >= TlsMode::Required || is_own => {
                mode.min(TlsMode::Preferred)
            }
            (Some(_), PeerLocation::Socket) => TlsMode::Disabled,
            (None, PeerLocation::Socket) if is_own => TlsMode::Preferred,
            (None, PeerLocation::Socket) => TlsMode::Disabled,
            // As MySQL's clients: who names authorities means them.
            (None, PeerLocation::ThisHost) if options.ca.is_some() => TlsMode::VerifyCa,
            (None, PeerLocation::ThisHost) if is_own || options.is_wanted => TlsMode::Required,
            (None, PeerLocation::ThisHost) => TlsMode::Disabled,
            (None, PeerLocation::Elsewhere) if options.ca.is_some() => TlsMode::VerifyCa,
            (None, PeerLocation::Elsewhere) => TlsMode::VerifyIdentity,
        }
    }

    /// Whether nobody said what holds: an error then tells how to say it.
    pub(crate) fn is_by_default(&self) -> bool {
        self.0.options.mode.is_none()
    }

    /// What rustls is told.
    pub(crate) fn config(&self, mode: TlsMode) -> Result<Arc<ClientConfig>, String> {
        let inner = &self.0;
        let Some(made) = inner.made.get(mode as usize) else {
            return Err("no such mode".to_owned());
        };
        made.get_or_init(|| verify::config(mode, &inner.files).map(Arc::new))
            .clone()
    }

    /// Which authorities are trusted, in words.
    pub(crate) fn trusted(&self) -> String {
        match &self.0.options.ca {
            Some(path) => path.display().to_string(),
            None => "the system's authorities".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tls(mode: Option<TlsMode>) -> Tls {
        Tls::new(TlsOptions {
            mode,
            ..TlsOptions::default()
        })
        .unwrap()
    }

    #[test]
    fn names_of_modes() {
        for mode in TlsMode::ALL {
            assert_eq!(mode.name().to_lowercase().parse(), Ok(mode));
        }
        assert_eq!("verify-ca".parse(), Ok(TlsMode::VerifyCa));
        assert!("on".parse::<TlsMode>().is_err());
    }

    #[test]
    fn another_host_is_verified_and_this_one_needs_nothing() {
        use PeerLocation::{Elsewhere, Socket, ThisHost};
        let usual = Tls::default();
        assert_eq!(usual.mode(Elsewhere), TlsMode::VerifyIdentity);
        assert_eq!(usual.mode(ThisHost), TlsMode::Disabled);
        assert_eq!(usual.mode(Socket), TlsMode::Disabled);
        let required = tls(Some(TlsMode::Required));
        assert_eq!(required.mode(Elsewhere), TlsMode::Required);
        assert_eq!(required.mode(ThisHost), TlsMode::Required);
        assert_eq!(required.mode(Socket), TlsMode::Preferred);
        let none = tls(Some(TlsMode::Disabled));
        assert_eq!(none.mode(Elsewhere), TlsMode::Disabled);
    }

    #[test]
    fn what_is_said_first_counts_and_a_key_belongs_to_its_certificate() {
        let path = |name: &str| Some(PathBuf::from(name));
        let said = TlsOptions {
            ca: path("a"),
            cert: path("c"),
            ..TlsOptions::default()
        };
        let file = TlsOptions {
            mode: Some(TlsMode::Required),
            ca: path("b"),
            cert: path("d"),
            key: path("e"),
            is_wanted: false,
        };
        let both = said.or(file.clone());
        assert_eq!(both.mode, Some(TlsMode::Required));
        assert_eq!((both.ca, both.cert, both.key), (path("a"), path("c"), None));
        assert_eq!(TlsOptions::default().or(file.clone()), file);
    }
}
