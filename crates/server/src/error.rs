//! Errors of a server, and what each means for a probe and for an absence.

use std::io::ErrorKind;

use model::{Absent, ProbeOutcome, Reason};
use thiserror::Error;

use crate::client::ClientError;

/// An error of the server or of the way to it, with what it means for a probe.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{text}")]
pub struct ServerError {
    /// What it means.
    pub outcome: ProbeOutcome,
    /// The server's error number, when it is the server that complains.
    pub code: Option<u16>,
    /// In words.
    pub text: String,
}

/// Errors by which a full server turns a client away (MySQL 8.4 error reference).
const TOO_MANY: [u16; 3] = [1040, 1203, 1226];

/// Errors of a server that cannot make a thread, or has no memory for it: `ER_CANT_CREATE_THREAD`
/// and `ER_OUT_OF_RESOURCES`.
const NO_RESOURCES: [u16; 2] = [1135, 1041];

/// Errors that say "I do not know you": wrong password, host not allowed or blocked, account
/// locked, authentication plugin, only with TLS.
const DENIED: [u16; 11] = [
    1044, 1045, 1129, 1130, 1251, 1524, 1698, 1862, 3118, 3159, 4151,
];

/// Errors that say that a privilege is missing, not the login.
const PRIVILEGE: [u16; 4] = [1142, 1143, 1227, 3554];

/// Errors that say that this version has no such schema, column or table.
const NOT_THERE: [u16; 4] = [1049, 1054, 1109, 1146];

impl ServerError {
    /// Whether the connection can be used no more.
    pub fn is_connection_lost(&self) -> bool {
        self.code.is_none()
    }

    /// The absence of `what` because of this error.
    pub fn absent(&self, what: &str) -> Absent {
        let reason = match (self.outcome, self.code) {
            (_, Some(code)) if PRIVILEGE.contains(&code) => Reason::Permission,
            (_, Some(code)) if NOT_THERE.contains(&code) => Reason::Unsupported,
            (ProbeOutcome::TimedOut, _) => Reason::Deadline,
            (ProbeOutcome::AccessDenied, _) => Reason::NoLogin,
            (
                ProbeOutcome::Refused
                | ProbeOutcome::Lost
                | ProbeOutcome::TooManyConnections
                | ProbeOutcome::NoResources,
                _,
            ) => Reason::NoConnection,
            _ => Reason::Failed,
        };
        Absent::new(what, reason, self.text.clone())
    }
}

fn outcome_of_io(kind: ErrorKind) -> ProbeOutcome {
    match kind {
        ErrorKind::ConnectionRefused | ErrorKind::NotFound => ProbeOutcome::Refused,
        ErrorKind::WouldBlock | ErrorKind::TimedOut => ProbeOutcome::TimedOut,
        ErrorKind::UnexpectedEof
        | ErrorKind::ConnectionReset
        | ErrorKind::ConnectionAborted
        | ErrorKind::BrokenPipe => ProbeOutcome::Lost,
        _ => ProbeOutcome::Failed,
    }
}

fn outcome_of_code(code: u16) -> ProbeOutcome {
    if TOO_MANY.contains(&code) {
        ProbeOutcome::TooManyConnections
    } else if NO_RESOURCES.contains(&code) {
        ProbeOutcome::NoResources
    } else if DENIED.contains(&code) {
        ProbeOutcome::AccessDenied
    } else {
        ProbeOutcome::ServerError
    }
}

impl From<ClientError> for ServerError {
    fn from(error: ClientError) -> Self {
        let (outcome, code) = match &error {
            ClientError::Server { code, .. } => (outcome_of_code(*code), Some(*code)),
            ClientError::Io(io) => (outcome_of_io(io.kind()), None),
            ClientError::TimedOut => (ProbeOutcome::TimedOut, None),
            ClientError::Ended => (ProbeOutcome::Lost, None),
            ClientError::Login(_) => (ProbeOutcome::AccessDenied, None),
            ClientError::Interrupted | ClientError::Garbled(_) | ClientError::TooMuch(_) => {
                (ProbeOutcome::Failed, None)
            }
        };
        let text = match outcome {
            // The system's own time for a connect may be shorter than ours.
            ProbeOutcome::TimedOut => ClientError::TimedOut.to_string(),
            _ => error.to_string(),
        };
        Self {
            outcome,
            code,
            text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_of_the_server_says_what_it_means() {
        let outcome = |code: u16| {
            let told = ClientError::Server {
                code,
                state: "HY000".to_owned(),
                message: "no".to_owned(),
            };
            ServerError::from(told).outcome
        };
        assert_eq!(outcome(1040), ProbeOutcome::TooManyConnections);
        assert_eq!(outcome(1045), ProbeOutcome::AccessDenied);
        assert_eq!(outcome(1135), ProbeOutcome::NoResources);
        assert_eq!(outcome(1064), ProbeOutcome::ServerError);
        let closed = ServerError::from(ClientError::Ended);
        assert_eq!(closed.outcome, ProbeOutcome::Lost);
        assert!(closed.is_connection_lost());
    }
}
