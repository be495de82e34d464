//! The server's answer to a request, packet by packet. Which capabilities were agreed on need not be known: an end of
//! columns has 5 bytes, an end of rows 5 or, where `CLIENT_DEPRECATE_EOF` made it an OK packet, at least 7.

use super::bytes::Reader;

const OK: u8 = 0x00;
const LOCAL_INFILE: u8 = 0xfb;
const END: u8 = 0xfe;
const ERROR: u8 = 0xff;

/// MariaDB's progress reports are error packets of this number.
const PROGRESS: u16 = 0xffff;

/// Length of an end-of-columns or end-of-rows packet.
const EOF_BYTES: u64 = 5;
/// A row may begin as an end does; it is longer than any.
const END_BYTES_MAX: u64 = 0xff_ffff;

// Of the server's status (include/mysql_com.h).
const CURSOR_EXISTS: u16 = 0x0040;
const MORE_RESULTS: u16 = 0x0008;

/// No table has more.
const COLUMNS_MAX: u64 = 0xffff;

/// What kind of answer a request has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// OK, an error, or results.
    Results,
    /// Rows without columns before them (`COM_STMT_FETCH`), or columns without rows (`COM_FIELD_LIST`).
    Rows,
    /// One packet.
    Single,
    /// OK with the statement's id; what follows is passed over.
    Prepared,
    /// An authentication that ends with OK or an error.
    Login,
}

/// How far the answer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum ReplyPosition {
    /// Before the first packet, or the first of a further result.
    #[default]
    First,
    /// So many column definitions are to come.
    Columns(u64),
    /// After them: perhaps an end of columns, then rows.
    AfterColumns,
    /// Rows.
    Rows,
}

/// What an answer said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Outcome {
    pub(super) error: Option<u16>,
    pub(super) rows: u64,
    pub(super) affected: Option<u64>,
    pub(super) warnings: Option<u16>,
    /// The prepared statement's id.
    pub(super) prepared: Option<u32>,
}

/// What a packet means for its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// It goes on.
    More,
    /// Only a note that the server is at work.
    Progress,
    /// The server waits for a file from the client.
    Infile,
    /// The answer is complete.
    Done,
    /// Not to be understood: the answer ends somewhere.
    Lost,
}

/// Takes one packet: the beginning of its payload, and its length.
pub(super) fn step(
    shape: Shape,
    at: &mut ReplyPosition,
    outcome: &mut Outcome,
    payload: &[u8],
    length: u64,
) -> Step {
    let Some(first) = payload.first() else {
        return Step::Lost;
    };
    if *first == ERROR && length < END_BYTES_MAX {
        return match Reader(payload.get(1..).unwrap_or_default()).u16() {
            Some(PROGRESS) => Step::Progress,
            Some(number) => {
                outcome.error = Some(number);
                Step::Done
            }
            None => Step::Lost,
        };
    }
    match shape {
        Shape::Single => Step::Done,
        Shape::Login => match *first {
            OK => Step::Done,
            _ => Step::More,
        },
        Shape::Prepared => {
            let mut reader = Reader(payload.get(1..).unwrap_or_default());
            outcome.prepared = reader.u32().filter(|_| *first == OK);
            Step::Done
        }
        Shape::Rows => row(at, outcome, payload, length),
        Shape::Results => match *at {
            ReplyPosition::First => result(at, outcome, payload, length),
            ReplyPosition::Columns(left) => {
                *at = match left {
                    0 | 1 => ReplyPosition::AfterColumns,
                    _ => ReplyPosition::Columns(left - 1),
                };
                Step::More
            }
            ReplyPosition::AfterColumns if *first == END && length == EOF_BYTES => {
                *at = ReplyPosition::Rows;
                // A cursor's rows are fetched by other requests.
                match Reader(payload.get(3..).unwrap_or_default()).u16() {
                    Some(status) if status & CURSOR_EXISTS != 0 => {
                        end(at, outcome, payload, length)
                    }
                    _ => Step::More,
                }
            }
            ReplyPosition::AfterColumns | ReplyPosition::Rows => {
                *at = ReplyPosition::Rows;
                row(at, outcome, payload, length)
            }
        },
    }
}

/// The first packet of a result.
fn result(at: &mut ReplyPosition, outcome: &mut Outcome, payload: &[u8], length: u64) -> Step {
    match payload.first() {
        Some(&OK) => end(at, outcome, payload, length),
        Some(&LOCAL_INFILE) => Step::Infile,
        // Of COM_SET_OPTION and the like.
        Some(&END) if length <= EOF_BYTES => end(at, outcome, payload, length),
        _ => {
            let mut reader = Reader(payload);
            let Some(columns) = reader.length().filter(|count| *count <= COLUMNS_MAX) else {
                return Step::Lost;
            };
            // Where the columns may be known to the client (MARIADB_CLIENT_CACHE_METADATA,
            // CLIENT_OPTIONAL_RESULTSET_METADATA) a byte says whether they follow.
            let follow = reader.u8() != Some(0);
            *at = if follow {
                ReplyPosition::Columns(columns)
            } else {
                ReplyPosition::AfterColumns
            };
            Step::More
        }
    }
}

fn row(at: &mut ReplyPosition, outcome: &mut Outcome, payload: &[u8], length: u64) -> Step {
    if payload.first() == Some(&END) && length < END_BYTES_MAX {
        return end(at, outcome, payload, length);
    }
    outcome.rows += 1;
    Step::More
}

/// An OK packet or an end of rows.
fn end(at: &mut ReplyPosition, outcome: &mut Outcome, payload: &[u8], length: u64) -> Step {
    let mut reader = Reader(payload);
    let first = reader.u8();
    let fields = if first == Some(END) && length <= EOF_BYTES {
        let warnings = reader.u16();
        (None, reader.u16(), warnings)
    } else {
        let affected = reader.length();
        reader.length();
        let status = reader.u16();
        (affected, status, reader.u16())
    };
    let (affected, status, warnings) = fields;
    if first == Some(OK) {
        outcome.affected = Some(
            outcome
                .affected
                .unwrap_or(0)
                .saturating_add(affected.unwrap_or(0)),
        );
    }
    outcome.warnings = warnings.or(outcome.warnings);
    if status.is_some_and(|status| status & MORE_RESULTS != 0) {
        *at = ReplyPosition::First;
        Step::More
    } else {
        Step::Done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Steps of an answer and what it said.
    fn answer(shape: Shape, packets: &[&[u8]]) -> (Vec<Step>, Outcome) {
        let (mut at, mut outcome) = (ReplyPosition::default(), Outcome::default());
        let steps = packets
            .iter()
            .map(|packet| step(shape, &mut at, &mut outcome, packet, packet.len() as u64))
            .collect();
        (steps, outcome)
    }

    const EOF: &[u8] = &[0xfe, 2, 0, 2, 0];
    const OK_AS_END: &[u8] = &[0xfe, 0, 0, 2, 0, 3, 0];
    const COLUMN: &[u8] = b"\x03def...";

    #[test]
    fn results_with_and_without_an_end_of_columns() {
        let (steps, outcome) = answer(
            Shape::Results,
            &[&[2], COLUMN, COLUMN, EOF, b"\x01a\x01b", b"\xfb\x01b", EOF],
        );
        assert_eq!(steps.last(), Some(&Step::Done));
        assert!(steps[..6].iter().all(|step| *step == Step::More));
        assert_eq!((outcome.rows, outcome.warnings), (2, Some(2)));
        let (steps, outcome) = answer(
            Shape::Results,
            &[&[1], COLUMN, b"\x01a", b"\x01b", b"\x01c", OK_AS_END],
        );
        assert_eq!(steps.last(), Some(&Step::Done));
        assert_eq!((outcome.rows, outcome.warnings), (3, Some(3)));
        // No rows at all.
        let (steps, outcome) = answer(Shape::Results, &[&[1], COLUMN, OK_AS_END]);
        assert_eq!((steps[2], outcome.rows), (Step::Done, 0));
        let (steps, _) = answer(Shape::Results, &[&[1], COLUMN, EOF, EOF]);
        assert_eq!(steps[2..], [Step::More, Step::Done]);
    }

    #[test]
    fn columns_that_the_client_knows_do_not_follow() {
        let (steps, outcome) = answer(Shape::Results, &[&[1, 0], EOF, b"\x01a", EOF]);
        assert_eq!((steps[3], outcome.rows), (Step::Done, 1));
        let (steps, outcome) = answer(Shape::Results, &[&[1, 0], b"\x01a", OK_AS_END]);
        assert_eq!((steps[2], outcome.rows), (Step::Done, 1));
        let (steps, outcome) = answer(Shape::Results, &[&[1, 1], COLUMN, b"\x01a", OK_AS_END]);
        assert_eq!((steps[3], outcome.rows), (Step::Done, 1));
    }

    #[test]
    fn several_results_and_a_cursor() {
        let more: &[u8] = &[0, 5, 0, 8, 0, 0, 0];
        let last: &[u8] = &[0, 7, 0, 2, 0, 1, 0];
        let (steps, outcome) = answer(
            Shape::Results,
            &[more, &[1], COLUMN, EOF, b"\x01a", &[0xfe, 0, 0, 8, 0], last],
        );
        assert_eq!(steps.last(), Some(&Step::Done));
        assert!(steps[..6].iter().all(|step| *step == Step::More));
        assert_eq!((outcome.affected, outcome.rows), (Some(12), 1));
        assert_eq!(outcome.warnings, Some(1));
        let (steps, _) = answer(Shape::Results, &[&[1], COLUMN, &[0xfe, 0, 0, 0x42, 0]]);
        assert_eq!(steps[2], Step::Done);
    }

    #[test]
    fn errors_progress_and_files() {
        let error = b"\xff\x28\x04#42000You have an error";
        let (steps, outcome) = answer(Shape::Results, &[error]);
        assert_eq!((steps[0], outcome.error), (Step::Done, Some(1064)));
        let (steps, outcome) = answer(Shape::Results, &[&[1], COLUMN, EOF, b"\x01a", error]);
        assert_eq!((steps[4], outcome.error), (Step::Done, Some(1064)));
        let progress = b"\xff\xff\xff\x01\x01\x02\x00\x00\x00";
        let (steps, outcome) = answer(Shape::Results, &[progress, &[0, 0, 0, 2, 0, 0, 0]]);
        assert_eq!(steps, [Step::Progress, Step::Done]);
        assert_eq!(outcome.error, None);
        assert_eq!(answer(Shape::Results, &[b"\xfb/file"]).0, [Step::Infile]);
        assert_eq!(answer(Shape::Results, &[b""]).0, [Step::Lost]);
        assert_eq!(
            answer(Shape::Results, &[b"\xfd\xff\xff\xff"]).0,
            [Step::Lost]
        );
    }

    #[test]
    fn other_answers() {
        let (steps, outcome) = answer(Shape::Prepared, &[b"\0\x07\0\0\0\x01\0\x02\0\0\0\0"]);
        assert_eq!((steps[0], outcome.prepared), (Step::Done, Some(7)));
        let switch: &[&[u8]] = &[b"\xfeplugin\0", b"\x01\x03", b"\0\0\0\x02\0\0\0"];
        assert_eq!(answer(Shape::Login, switch).0[2], Step::Done);
        assert_eq!(answer(Shape::Single, &[b"Uptime: 5"]).0, [Step::Done]);
        assert_eq!(answer(Shape::Rows, &[b"\0\0a", EOF]).0[1], Step::Done);
    }
}
