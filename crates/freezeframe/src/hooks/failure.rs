//! Why a hook did not get its event, and whether to try again.

/// Why an event was not delivered.
#[derive(Debug, PartialEq)]
pub(super) enum Failure {
    /// It may go well later.
    Later(String),
    /// Trying again would not help.
    Never(String),
}

/// What a status means: a request that the receiver calls wrong stays wrong.
pub(super) fn judge(whom: &str, code: u16) -> Result<(), Failure> {
    let says = format!("{whom}: status {code}");
    match code {
        200..=299 => Ok(()),
        408 | 425 | 429 | 500..=599 => Err(Failure::Later(says)),
        300..=399 => Err(Failure::Never(format!(
            "{says}: redirects are not followed"
        ))),
        _ => Err(Failure::Never(says)),
    }
}
