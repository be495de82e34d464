//! A statement and what it is given as a request, and what its answer means.

use std::io::Write;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::address::Address;
use super::failure::Failure;
use crate::endpoint::{Request, escaped, user_agent};

/// Bodies from this size on are packed.
const PACKED_FROM_BYTES: usize = 4096;

/// Posts the body with these parameters of the URL and gives the answer's body.
pub(super) fn post(
    address: &Address,
    parameters: &[(&str, &str)],
    body: Vec<u8>,
    deadline: Duration,
) -> Result<Vec<u8>, Failure> {
    let whom = address.shown();
    let mut target = "/".to_owned();
    for (index, (name, value)) in parameters.iter().enumerate() {
        target.push(if index == 0 { '?' } else { '&' });
        target += name;
        target.push('=');
        target += &escaped(value);
    }
    let mut headers = vec![
        user_agent(),
        "Content-Type: application/octet-stream".to_owned(),
    ];
    if !address.user.is_empty() {
        headers.push(format!("X-ClickHouse-User: {}", address.user));
    }
    if !address.password.is_empty() {
        headers.push(format!("X-ClickHouse-Key: {}", address.password));
    }
    let mut body = body;
    if body.len() >= PACKED_FROM_BYTES {
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        let packed = packed.write_all(&body).and_then(|()| packed.finish());
        body = packed.map_err(|error| Failure::stop(&whom, error))?;
        headers.push("Content-Encoding: gzip".to_owned());
    }
    let request = Request {
        method: "POST",
        target: &target,
        headers: &headers,
        body: &body,
    };
    let answer = address
        .endpoint
        .exchange(&request, address.ca_file.as_deref(), deadline);
    let answer = answer.map_err(|what| Failure::unreachable(&whom, what))?;
    match (answer.status, answer.code) {
        (200, None) => Ok(answer.body),
        (status, code) => {
            let said = String::from_utf8_lossy(&answer.body);
            Err(Failure::of_answer(&whom, status, code, &said))
        }
    }
}
