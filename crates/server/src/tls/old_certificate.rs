//! Certificates of X.509 version 1, which manuals of MySQL and MariaDB had people make for decades. The verifier of today
//! reads none of them, and so cannot even tell whether a server has its certificate's key.

use rustls::crypto::WebPkiSupportedAlgorithms;
use rustls::pki_types::CertificateDer;
use rustls::{CertificateError, DigitallySignedStruct, Error};

use crate::der::element;

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;

/// Whether that is what the verifier complains of.
pub(super) fn is_old(error: &Error) -> bool {
    // It has no name of its own for it.
    matches!(error, Error::InvalidCertificate(CertificateError::Other(other))
        if format!("{other:?}").contains("UnsupportedCertVersion"))
}

/// Whether the message is signed by the key of the certificate.
pub(super) fn is_signed(
    message: &[u8],
    certificate: &CertificateDer<'_>,
    signed: &DigitallySignedStruct,
    known: &WebPkiSupportedAlgorithms,
) -> bool {
    let Some((algorithm, key)) = public_key(certificate) else {
        return false;
    };
    let of_scheme = known
        .mapping
        .iter()
        .find(|(scheme, _)| *scheme == signed.scheme);
    let mut algorithms = of_scheme
        .into_iter()
        .flat_map(|(_, algorithms)| *algorithms);
    algorithms.any(|one| {
        one.public_key_alg_id().as_ref() == algorithm
            && one
                .verify_signature(key, message, signed.signature())
                .is_ok()
    })
}

/// Algorithm and key of a certificate of version 1 (RFC 5280, 4.1): there is no version in it, and nothing behind the key.
fn public_key(mut certificate: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut whole = element(&mut certificate, SEQUENCE)?;
    let mut inside = element(&mut whole, SEQUENCE)?;
    element(&mut inside, INTEGER)?;
    // Algorithm of the signature, issuer, validity, subject.
    for _ in 0..4 {
        element(&mut inside, SEQUENCE)?;
    }
    let mut key = element(&mut inside, SEQUENCE)?;
    let algorithm = element(&mut key, SEQUENCE)?;
    let (unused, bits) = element(&mut key, BIT_STRING)?.split_first()?;
    (*unused == 0).then_some((algorithm, bits))
}
