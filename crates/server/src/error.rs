use std::io::ErrorKind;

use model::{Absent, ProbeOutcome, Reason};
use mysql::DriverError;
use thiserror::Error;

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
/// locked, authentication plugin.
const DENIED: [u16; 10] = [1044, 1045, 1129, 1130, 1251, 1524, 1698, 1862, 3118, 4151];

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

impl From<mysql::Error> for ServerError {
    fn from(error: mysql::Error) -> Self {
        let mut code = None;
        let outcome = match &error {
            mysql::Error::MySqlError(server) => {
                code = Some(server.code);
                if TOO_MANY.contains(&server.code) {
                    ProbeOutcome::TooManyConnections
                } else if NO_RESOURCES.contains(&server.code) {
                    ProbeOutcome::NoResources
                } else if DENIED.contains(&server.code) {
                    ProbeOutcome::AccessDenied
                } else {
                    ProbeOutcome::ServerError
                }
            }
            mysql::Error::IoError(io) => outcome_of_io(io.kind()),
            mysql::Error::CodecError(codec) => std::error::Error::source(codec)
                .and_then(|source| source.downcast_ref::<std::io::Error>())
                .map_or(ProbeOutcome::Lost, |io| outcome_of_io(io.kind())),
            mysql::Error::DriverError(driver) => match driver {
                DriverError::ConnectTimeout | DriverError::Timeout => ProbeOutcome::TimedOut,
                DriverError::CouldNotConnect(Some((_, _, kind))) => outcome_of_io(*kind),
                DriverError::UnknownAuthPlugin(_)
                | DriverError::OldMysqlPasswordDisabled
                | DriverError::CleartextPluginDisabled => ProbeOutcome::AccessDenied,
                _ => ProbeOutcome::Failed,
            },
            _ => ProbeOutcome::Failed,
        };
        let text = match outcome {
            ProbeOutcome::TimedOut => "no answer before the deadline".to_owned(),
            _ => one_line(&words(&error)),
        };
        Self {
            outcome,
            code,
            text,
        }
    }
}

/// What happened, without the names of the driver's types around it.
fn words(error: &mysql::Error) -> String {
    match error {
        mysql::Error::MySqlError(server) => server.to_string(),
        mysql::Error::IoError(io) => io.to_string(),
        mysql::Error::CodecError(codec) => codec.to_string(),
        mysql::Error::DriverError(driver) => driver.to_string(),
        mysql::Error::UrlError(url) => url.to_string(),
        other => other.to_string(),
    }
}

/// Error texts of servers may hold anything; what is stored is one line without control characters.
fn one_line(text: &str) -> String {
    text.chars()
        .take(300)
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_read_what_happened_and_no_types_of_the_driver() {
        let denied = mysql::MySqlError {
            state: "28000".to_owned(),
            code: 1045,
            message: "Access denied for user 'a'@'localhost'".to_owned(),
        };
        let text = ServerError::from(mysql::Error::MySqlError(denied)).text;
        assert_eq!(
            text,
            "ERROR 1045 (28000): Access denied for user 'a'@'localhost'"
        );
        let driver = mysql::Error::DriverError(DriverError::UnexpectedPacket);
        assert!(!ServerError::from(driver).text.contains('{'));
    }
}
