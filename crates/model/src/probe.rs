//! How a probe of the server ended, and the number by which that is stored as a signal.

use serde::{Deserialize, Serialize};

/// How a probe of the server ended. Each is a different thing with a different cause.
///
/// Stored as the signal `probe.query_outcome` and `probe.connect_outcome` by [`ProbeOutcome::code`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProbeOutcome {
    /// The server answered.
    Ok,
    /// Nobody listens: ECONNREFUSED, or the socket file is missing.
    Refused,
    /// No answer before the probe's deadline: the connection may have been accepted.
    TimedOut,
    /// The server is full: errors 1040, 1203, 1226.
    TooManyConnections,
    /// The server answers and does not know the login: errors 1045, 1698, 1130 and kin. It lives.
    AccessDenied,
    /// The connection broke while it was in use.
    Lost,
    /// Another error of the server, which does answer.
    ServerError,
    /// Another error of the way to it.
    Failed,
    /// The server cannot get a thread or the memory for it: errors 1135 and 1041.
    NoResources,
}

const CODES: [(ProbeOutcome, u8, &str); 9] = [
    (ProbeOutcome::Ok, 0, "answered"),
    (ProbeOutcome::Refused, 1, "refused"),
    (ProbeOutcome::TimedOut, 2, "timed out"),
    (ProbeOutcome::TooManyConnections, 3, "too many connections"),
    (ProbeOutcome::AccessDenied, 4, "access denied"),
    (ProbeOutcome::Lost, 5, "connection lost"),
    (ProbeOutcome::ServerError, 6, "server error"),
    (ProbeOutcome::Failed, 7, "failed"),
    (
        ProbeOutcome::NoResources,
        8,
        "no thread or memory for a connection",
    ),
];

impl ProbeOutcome {
    /// The number stored as the signal's value; never reused for another meaning.
    pub fn code(self) -> f64 {
        CODES
            .iter()
            .find(|(outcome, _, _)| *outcome == self)
            .map_or(f64::NAN, |(_, code, _)| f64::from(*code))
    }

    /// The outcome with this code.
    pub fn from_code(code: f64) -> Option<Self> {
        CODES
            .iter()
            .find(|(_, known, _)| f64::from(*known) == code)
            .map(|(outcome, _, _)| *outcome)
    }

    /// In plain words.
    pub fn to_text(self) -> &'static str {
        CODES
            .iter()
            .find(|(outcome, _, _)| *outcome == self)
            .map_or("", |(_, _, words)| words)
    }

    /// Whether the server gave a sign of life: a refused login is one, a full server is not free
    /// of trouble but answers at once.
    pub fn is_stall_sign(self) -> bool {
        matches!(
            self,
            Self::Refused
                | Self::TimedOut
                | Self::TooManyConnections
                | Self::Lost
                | Self::NoResources
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_read_back_and_are_unique() {
        for (outcome, code, _) in CODES {
            assert_eq!(outcome.code(), f64::from(code));
            assert_eq!(ProbeOutcome::from_code(f64::from(code)), Some(outcome));
        }
        assert_eq!(ProbeOutcome::from_code(99.0), None);
    }
}
