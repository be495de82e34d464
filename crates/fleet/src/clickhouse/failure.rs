//! What went wrong, in a line, and what the sender does now.

use std::fmt;

/// What to do after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// The server has too much to do: the same again, later and less often.
    BackOff,
    /// Nobody knows whether it was done: the same bytes with the same token again.
    Retry,
    /// It fails again until somebody changes something.
    Stop,
    /// This one is refused as it is, and others may not be: they are not to wait for it.
    Leave,
}

/// A failure of the store, or of the gateway before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What to do now.
    pub then: Then,
    /// The exception's code, when the server had one.
    pub code: Option<u32>,
    /// What went wrong, one line.
    pub said: String,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.said)
    }
}

impl std::error::Error for Failure {}

/// Characters of the server's words that are kept.
const SAID_MAX: usize = 300;

/// Exceptions of a server that has too much to do. Numbers: src/Common/ErrorCodes.cpp.
const BUSY: [(u32, &str); 8] = [
    (201, "a quota is used up"),
    (202, "too many statements run at once"),
    (241, "the server has no memory left for it"),
    (243, "the server's disk is full"),
    (
        252,
        "too many parts: inserts come faster than they are merged",
    ),
    (439, "the server has no thread left for it"),
    (473, "another statement has locked the table"),
    (745, "the server is overloaded"),
];

/// Exceptions after which nobody knows what was done, or that pass by themselves.
const UNSURE: [(u32, &str); 10] = [
    (159, "it took too long"),
    (209, "a connection within the server timed out"),
    (210, "a connection within the server broke"),
    (225, "the replicas' keeper cannot be reached"),
    (236, "the server shuts down"),
    (242, "the replica is read-only for now"),
    (279, "no replica can be reached"),
    (285, "too few replicas are there"),
    (319, "the replicas' keeper did not say whether it was done"),
    (999, "the replicas' keeper has a problem"),
];

/// Exceptions that somebody has to do something about, and what.
const WRONG: [(u32, &str); 11] = [
    (
        16,
        "a column is missing; `freezeframe fleet init` brings the tables to this version",
    ),
    (36, "a table has the wrong definition"),
    (60, "a table is missing; `freezeframe fleet init` makes it"),
    (81, "no such database; `freezeframe fleet init` makes it"),
    (115, "the server does not know a setting: it is too old"),
    (164, "the user may only read"),
    (192, "no such user"),
    (193, "wrong password"),
    (194, "the user needs a password"),
    (497, "the user needs a GRANT for this"),
    (516, "wrong user or password"),
];

impl Failure {
    /// The server cannot be reached, or its answer was lost.
    pub(crate) fn unreachable(whom: &str, what: impl fmt::Display) -> Self {
        Self {
            then: Then::Retry,
            code: None,
            said: format!("{whom}: {}", line(&what.to_string())),
        }
    }

    /// Somebody has to change something.
    pub(crate) fn stop(whom: &str, what: impl fmt::Display) -> Self {
        Self {
            then: Then::Stop,
            code: None,
            said: format!("{whom}: {what}"),
        }
    }

    /// The same of an insert. What a server refuses without a word about table, user or setting it refuses of these rows,
    /// and others may be taken.
    pub(super) fn of_insert(self) -> Self {
        let is_of_rows = |code: u32| !WRONG.iter().any(|(known, _)| *known == code);
        match self.then {
            Then::Stop if self.code.is_some_and(is_of_rows) => Self {
                then: Then::Leave,
                ..self
            },
            _ => self,
        }
    }

    /// An answer of this status, with the exception's code if it has one. The server's words stay there: they quote the
    /// user, and cells of the row that could not be read. Of them the name of the exception is told.
    pub(super) fn of_answer(whom: &str, status: u16, code: Option<u32>, body: &str) -> Self {
        let code = code.or_else(|| code_of(body));
        let known = |list: &[(u32, &'static str)]| {
            let entry = list.iter().find(|(number, _)| Some(*number) == code)?;
            Some(entry.1)
        };
        let (then, what) = if let Some(what) = known(&BUSY) {
            (Then::BackOff, what)
        } else if let Some(what) = known(&UNSURE) {
            (Then::Retry, what)
        } else if let Some(what) = known(&WRONG) {
            (Then::Stop, what)
        } else {
            match status {
                // Of a proxy: less of it may pass.
                413 if code.is_none() => (Then::Leave, "it is too large for the way there"),
                429 => (Then::BackOff, "too many requests"),
                503 => (Then::BackOff, "the server has too much to do"),
                401 | 403 if code.is_none() => (Then::Stop, "wrong user or password"),
                // Of a proxy: behind it anything may have happened.
                408 | 500 | 502 | 504 if code.is_none() => {
                    (Then::Retry, "no answer from the server")
                }
                _ => (Then::Stop, "the server refused it"),
            }
        };
        let number = match (code, name_of(body)) {
            (Some(code), Some(name)) => format!("code {code}, {name}"),
            (Some(code), None) => format!("code {code}"),
            (None, _) => format!("status {status}"),
        };
        Self {
            then,
            code,
            said: format!("{whom}: {what} ({number})"),
        }
    }
}

/// The code that an exception's text begins with.
pub(super) fn code_of(body: &str) -> Option<u32> {
    let (_, rest) = body.split_once("Code: ")?;
    let digits = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

/// The name of an exception, which stands in brackets behind its words: `(TOO_MANY_PARTS)`. A row may hold any word in
/// brackets, so it is the last of the line, and one of ClickHouse's.
fn name_of(body: &str) -> Option<&str> {
    const BYTES_MAX: usize = 60;
    let line = body.lines().next()?;
    // Behind it stands the version, since some.
    let line = line.split(" (version ").next()?.trim_end();
    let name = line.strip_suffix(')')?.rsplit_once(" (")?.1;
    let is_name = name.len() <= BYTES_MAX
        && name.contains('_')
        && name
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    is_name.then_some(name)
}

/// As one line, not longer than what a person reads.
pub(crate) fn line(text: &str) -> String {
    let first = text.lines().next().unwrap_or_default().trim();
    let mut line: String = first
        .chars()
        .filter(|c| !c.is_control())
        .take(SAID_MAX)
        .collect();
    if first.chars().count() > SAID_MAX {
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOM: &str = "http://db1:8123/f";

    fn then(status: u16, code: Option<u32>) -> Then {
        Failure::of_answer(WHOM, status, code, "").then
    }

    #[test]
    fn a_busy_server_is_left_alone_for_a_while() {
        assert_eq!(then(429, None), Then::BackOff);
        assert_eq!(then(503, None), Then::BackOff);
        assert_eq!(then(500, Some(252)), Then::BackOff);
        let said = Failure::of_answer(
            WHOM,
            500,
            None,
            "Code: 252. DB::Exception: Too many parts (3001). (TOO_MANY_PARTS)\nStack trace:",
        );
        assert_eq!((said.then, said.code), (Then::BackOff, Some(252)));
        assert_eq!(
            said.to_string(),
            "http://db1:8123/f: too many parts: inserts come faster than they are merged (code 252, TOO_MANY_PARTS)"
        );
    }

    #[test]
    fn what_may_have_been_done_is_sent_again() {
        assert_eq!(then(500, Some(319)), Then::Retry);
        assert_eq!(then(502, None), Then::Retry);
        assert_eq!(Failure::unreachable(WHOM, "reset").then, Then::Retry);
    }

    #[test]
    fn what_is_said_of_rows_is_said_of_no_other_rows() {
        let of_insert = |status, code| Failure::of_answer(WHOM, status, code, "").of_insert();
        for (status, code) in [(400, Some(27)), (500, Some(469)), (413, None)] {
            assert_eq!(of_insert(status, code).then, Then::Leave, "{code:?}");
        }
        for (status, code) in [(404, Some(60)), (403, Some(497)), (401, None), (400, None)] {
            assert_eq!(of_insert(status, code).then, Then::Stop, "{code:?}");
        }
        assert_eq!(of_insert(500, Some(252)).then, Then::BackOff);
        assert_eq!(of_insert(502, None).then, Then::Retry);
    }

    #[test]
    fn what_fails_again_stops() {
        for (status, code) in [
            (403, Some(516)),
            (401, None),
            (404, Some(60)),
            (500, Some(62)),
        ] {
            assert_eq!(then(status, code), Then::Stop, "{status} {code:?}");
        }
        let user =
            "Code: 516. DB::Exception: quillfeather: Authentication failed: password is incorrect";
        let said = Failure::of_answer(WHOM, 403, None, user).said;
        assert!(!said.contains("quillfeather"), "{said}");
        // A row that it could not read, and the page of a proxy.
        for (body, shown) in [
            (
                "Code: 27. DB::Exception: Cannot parse input: expected ',' before: 'quillfeather': (at row 3). (CANNOT_PARSE_INPUT_ASSERTION_FAILED) (version 24.10.1.1)\nquillfeather",
                "the server refused it (code 27, CANNOT_PARSE_INPUT_ASSERTION_FAILED)",
            ),
            (
                "Code: 469. DB::Exception: Constraint is violated at row 1: name = (quillfeather)",
                "the server refused it (code 469)",
            ),
            (
                "Code: 62. DB::Exception: quillfeather (QUILL)",
                "the server refused it (code 62)",
            ),
            (
                "<html>quillfeather</html>",
                "the server refused it (status 400)",
            ),
        ] {
            let said = Failure::of_answer(WHOM, 400, None, body).said;
            assert_eq!(said, format!("{WHOM}: {shown}"));
        }
    }
}
