//! One client: one request, one answer, and an end to each wait.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

use ::fleet::batch_bytes;
use ::fleet::gateway::{Added, Arrival, CHECK_PATH, INSERT_PATH, Owner, check_owner, days};
use serde_json::json;

use super::keeper::FULL;
use super::shared::Shared;
use super::state::{Reason, add, locked};
use super::status;
use crate::listen::{Answer, Head, Names, Request};

/// How long a client may take for the head of its request: it comes in one piece.
const HEAD_MAX: Duration = Duration::from_secs(5);

/// How long it may take for a batch, however large. Recorders give up after as long.
const BODY_MAX: Duration = Duration::from_secs(60);

/// How long it may take to read its answer.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// How long what it still sends is thrown away behind its answer, and how much: closing on bytes that were not read may
/// cost it the answer.
const PARTING_MAX: Duration = Duration::from_secs(1);
const PARTING_BYTES_MAX: usize = 1 << 20;

/// Bytes of a batch as it is sent. Those of incidents with a thousand threads are a few MB.
const BODY_BYTES_MAX: u64 = 32 << 20;

/// Days from a batch's first row to its last. A minute has one, an incident two.
const DAYS_MAX: i64 = 60;

/// What whoever finds no place is told.
const NO_PLACE: &str = "too many connections; try again later";

/// A request that is not done, for a reason that is counted.
struct Refused {
    reason: Reason,
    answer: Answer,
    /// Why, for whoever runs the gateway.
    why: Box<str>,
}

fn refused(reason: Reason, code: u16, why: &str) -> Refused {
    let mut answer = Answer::text(code, why);
    if matches!(code, 429 | 503) {
        answer.more = "Retry-After: 30\r\n".to_owned();
    }
    Refused {
        reason,
        answer,
        why: why.into(),
    }
}

/// The gateway itself cannot. Whoever asks may be anybody, and reads nothing of its files and folders.
fn unable(why: &str) -> Refused {
    Refused {
        why: why.into(),
        ..refused(Reason::Disk, 503, "the gateway cannot do it at the moment")
    }
}

/// Answers who has no place.
pub(super) fn turn_away(mut stream: &TcpStream) {
    let answer = refused(Reason::Full, 503, NO_PLACE).answer.bytes(false);
    // It is short, and the socket's buffer is empty.
    let _ = stream.set_nonblocking(true);
    let _ = stream.write(&answer);
}

/// Serves one client to its end.
pub(super) fn serve(shared: &Shared, number: u64, stream: &TcpStream, peer: &str) {
    let mut head = Head::with_posts();
    let end = Instant::now() + HEAD_MAX;
    let mut buffer = [0; 16 << 10];
    let request = loop {
        match read(stream, &mut buffer, end) {
            // It asked nothing.
            Ok(0) | Err(_) if head.is_empty() => return,
            Ok(0) => break Err(Answer::text(400, "the request is not whole").into()),
            Err(_) => break Err(Answer::text(408, "the request took longer than 5 s").into()),
            Ok(count) => {
                let bytes = buffer.get(..count).unwrap_or_default();
                if let Some(request) = head.take(bytes, &Names::any()) {
                    break request;
                }
            }
        }
    };
    let request = match request {
        Ok(request) => request,
        Err(refusal) => return answer(stream, &refusal.answer, refusal.head_only),
    };
    if !request.is_post {
        let found = status::answer(&shared.state, &request);
        return answer(stream, &found, request.head_only);
    }
    let mut sender = peer.to_owned();
    match post(shared, number, stream, &request, head, &mut sender) {
        Ok(done) => answer(stream, &done, false),
        Err(Refused {
            reason,
            answer: told,
            why,
        }) => {
            shared.state.refuse(reason, &sender, why.trim_end());
            answer(stream, &told, false);
        }
    }
}

fn post(
    shared: &Shared,
    number: u64,
    stream: &TcpStream,
    request: &Request,
    head: Head,
    sender: &mut String,
) -> Result<Answer, Refused> {
    let is_check = match request.path.as_str() {
        INSERT_PATH => false,
        CHECK_PATH => true,
        _ => return Ok(Answer::text(404, "no such address at a gateway")),
    };
    let owner = owner(shared, request)?;
    sender.clone_from(&owner.name);
    shared.forget(number);
    let full = |code, why: &str| refused(Reason::Full, code, why);
    let _place = shared
        .of_host(&owner.name)
        .ok_or_else(|| full(429, "this host already sends batches, with the same token"))?;
    let length = request.content_length.ok_or_else(|| {
        refused(
            Reason::Unreadable,
            411,
            "the request does not tell its Content-Length",
        )
    })?;
    let length = usize::try_from(length)
        .ok()
        .filter(|length| *length as u64 <= BODY_BYTES_MAX);
    let length =
        length.ok_or_else(|| refused(Reason::TooLarge, 413, "a batch has at most 32 MiB"))?;
    let _room = shared
        .room(length)
        .ok_or_else(|| full(503, "the gateway reads too much at the moment"))?;
    if request.expects_continue {
        let mut stream = stream;
        let _ = stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n");
    }
    let bytes = body(stream, head.rest(), length)?;
    let arrival = arrival(shared, &owner, bytes)?;
    if is_check {
        let body = json!({"host": owner.name}).to_string();
        return Ok(Answer::new(200, "application/json", body));
    }
    match shared.keeper.keep(arrival) {
        Ok(Added::New) => add(&shared.state.received, 1),
        Ok(Added::Known) => add(&shared.state.repeated, 1),
        Ok(Added::Full) => return Err(full(503, FULL)),
        Err(why) => return Err(unable(&why)),
    }
    Ok(Answer::text(200, "kept"))
}

/// Whose token it is.
fn owner(shared: &Shared, request: &Request) -> Result<std::sync::Arc<Owner>, Refused> {
    let authorization = request.authorization.as_deref().unwrap_or_default();
    let (scheme, token) = authorization.split_once(' ').unwrap_or(("", ""));
    if !scheme.eq_ignore_ascii_case("bearer") {
        return Err(refused(Reason::Token, 401, "the host's token is missing"));
    }
    match locked(&shared.hosts).owner(token.trim()) {
        Ok(Some(owner)) => Ok(owner),
        Ok(None) => Err(refused(
            Reason::Token,
            401,
            "the gateway does not know this token",
        )),
        Err(error) => Err(unable(&format!("{error:#}"))),
    }
}

/// The whole body.
fn body(stream: &TcpStream, mut bytes: Vec<u8>, length: usize) -> Result<Vec<u8>, Refused> {
    let end = Instant::now() + BODY_MAX;
    bytes.truncate(length);
    let mut buffer = [0; 64 << 10];
    while bytes.len() < length {
        let left = (length - bytes.len()).min(buffer.len());
        let piece = buffer.get_mut(..left).unwrap_or_default();
        let count = match read(stream, piece, end) {
            Ok(0) => return Err(refused(Reason::TooSlow, 400, "the batch broke off")),
            Ok(count) => count,
            Err(error) if is_late(&error) => {
                let why = "the batch did not come within 60 s";
                return Err(refused(Reason::TooSlow, 408, why));
            }
            Err(_) => return Err(refused(Reason::TooSlow, 400, "the batch broke off")),
        };
        bytes.extend(buffer.iter().take(count));
    }
    Ok(bytes)
}

/// The batch that these bytes are, when it is its sender's.
fn arrival(shared: &Shared, owner: &Owner, bytes: Vec<u8>) -> Result<Arrival, Refused> {
    let unpacking = locked(&shared.unpacking);
    let batch = batch_bytes::from_bytes(&bytes)
        .map_err(|error| refused(Reason::Unreadable, 400, &error.to_string()))?;
    check_owner(&batch, owner, &shared.salt)
        .map_err(|error| refused(Reason::Foreign, 403, &error.to_string()))?;
    let days = days(&batch);
    if days.is_some_and(|(first, last)| last.saturating_sub(first) >= DAYS_MAX) {
        let why = format!("the rows of a batch are from {DAYS_MAX} days or more");
        return Err(refused(Reason::TooLarge, 413, &why));
    }
    let (token, cells) = (batch.token, batch.cells());
    drop(batch);
    drop(unpacking);
    Ok(Arrival {
        token,
        bytes,
        days,
        cells,
    })
}

fn is_late(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Reads what is there, up to the end of its time.
fn read(mut stream: &TcpStream, buffer: &mut [u8], end: Instant) -> std::io::Result<usize> {
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// Writes the answer, and waits a moment for whoever still sends.
fn answer(mut stream: &TcpStream, answer: &Answer, head_only: bool) {
    let written = stream
        .set_write_timeout(Some(ANSWER_MAX))
        .and_then(|()| stream.write_all(&answer.bytes(head_only)));
    if written.is_err() || stream.shutdown(Shutdown::Write).is_err() {
        return;
    }
    let end = Instant::now() + PARTING_MAX;
    let mut buffer = [0; 16 << 10];
    let mut thrown = 0;
    while let Ok(count @ 1..) = read(stream, &mut buffer, end) {
        thrown += count;
        if thrown > PARTING_BYTES_MAX {
            return;
        }
    }
}
