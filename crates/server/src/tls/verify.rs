//! What rustls is told, and whether a certificate is the right one.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

use super::TlsMode;
use super::files::{self, Files};
use super::old_certificate;

/// What rustls is told for a mode.
pub(super) fn config(mode: TlsMode, files: &Files) -> Result<ClientConfig, String> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    let builder = match mode.verifies() {
        true => {
            let known: &[CertificateDer<'static>] = match &files.authorities {
                Some(named) => named,
                None => files::system(),
            };
            let verifier = Known::new(mode, known, &provider)?;
            builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(verifier))
        }
        false => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Anybody(provider))),
    };
    match &files.own {
        None => Ok(builder.with_no_client_auth()),
        Some((chain, key)) => builder
            .with_client_auth_cert(chain.clone(), key.clone_key())
            .map_err(|error| format!("our own certificate or key: {error}")),
    }
}

/// Takes any certificate, if only the server has its key.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        let verified = verify_tls12_signature(message, certificate, signed, known);
        or_by_old(verified, message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        let verified = verify_tls13_signature(message, certificate, signed, known);
        or_by_old(verified, message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// The same for a certificate of X.509 version 1. Whether it is the right one is another question.
fn or_by_old(
    verified: Result<HandshakeSignatureValid, Error>,
    message: &[u8],
    certificate: &CertificateDer<'_>,
    signed: &DigitallySignedStruct,
    known: &WebPkiSupportedAlgorithms,
) -> Result<HandshakeSignatureValid, Error> {
    match &verified {
        Err(error)
            if old_certificate::is_old(error)
                && old_certificate::is_signed(message, certificate, signed, known) =>
        {
            Ok(HandshakeSignatureValid::assertion())
        }
        _ => verified,
    }
}

/// Takes what an authority that we know has signed.
#[derive(Debug)]
struct Known {
    /// The authorities' own; none where no file has one that can sign.
    by_authority: Option<Arc<WebPkiServerVerifier>>,
    /// The certificates that were named: one of them is accepted as it is.
    named: Vec<CertificateDer<'static>>,
    is_name_verified: bool,
    handshake: Anybody,
}

impl Known {
    fn new(
        mode: TlsMode,
        known: &[CertificateDer<'static>],
        provider: &Arc<CryptoProvider>,
    ) -> Result<Self, String> {
        let mut roots = RootCertStore::empty();
        let (added, _) = roots.add_parsable_certificates(known.iter().cloned());
        let by_authority = match added {
            0 => None,
            _ => Some(
                WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
                    .build()
                    .map_err(|error| error.to_string())?,
            ),
        };
        Ok(Self {
            by_authority,
            named: known.to_vec(),
            is_name_verified: mode == TlsMode::VerifyIdentity,
            handshake: Anybody(provider.clone()),
        })
    }
}

impl ServerCertVerifier for Known {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let unknown = Error::InvalidCertificate(CertificateError::UnknownIssuer);
        let found = self.by_authority.as_ref().map_or(Err(unknown), |known| {
            known.verify_server_cert(certificate, between, name, ocsp, now)
        });
        let Err(Error::InvalidCertificate(why)) = found else {
            return found;
        };
        use CertificateError::{
            Expired, ExpiredContext, NotValidForName, NotValidForNameContext, NotValidYet,
            NotValidYetContext, Revoked,
        };
        match why {
            // The name is looked at last: the authority has signed it.
            NotValidForName | NotValidForNameContext { .. } if !self.is_name_verified => {
                Ok(ServerCertVerified::assertion())
            }
            NotValidForName
            | NotValidForNameContext { .. }
            | Expired
            | ExpiredContext { .. }
            | NotValidYet
            | NotValidYetContext { .. }
            | Revoked => Err(Error::InvalidCertificate(why)),
            // Who has this very certificate in the file means this very server.
            _ if self.named.iter().any(|named| named == certificate) => {
                Ok(ServerCertVerified::assertion())
            }
            _ => Err(Error::InvalidCertificate(why)),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.handshake
            .verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.handshake
            .verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.handshake.supported_verify_schemes()
    }
}
