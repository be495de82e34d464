//! What others are asked for a bundle: programs, and the recorder's status address. Each has a deadline.

use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

/// The recorder's unit.
pub(super) const SERVICE: &str = "freezeframe";

/// Bytes of an answer that are kept.
const ANSWER_BYTES_MAX: u64 = 4 << 20;

/// How long the status address may take.
const STATUS_TIME_MAX: Duration = Duration::from_secs(3);

/// What a program prints, whatever it exits with; or in a sentence why there is nothing.
pub(super) fn program(command: &mut Command, deadline: Duration) -> Result<String, String> {
    let end = Instant::now() + deadline;
    let name = command.get_program().to_string_lossy().into_owned();
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{name}: {error}"))?;
    let Some(stdout) = child.stdout.take() else {
        return Err(format!("{name}: no output"));
    };
    let (sender, output) = sync_channel(1);
    let spawned = kernel::own_threads::start("ff-output", move || {
        let mut bytes = Vec::new();
        let read = stdout.take(ANSWER_BYTES_MAX).read_to_end(&mut bytes);
        let _ = sender.send(read.map(|_| bytes));
    });
    let left = end.saturating_duration_since(Instant::now());
    let read = spawned.ok().and_then(|_| output.recv_timeout(left).ok());
    let _ = child.kill();
    let _ = child.wait();
    match read {
        Some(Ok(bytes)) if bytes.is_empty() => Err(format!("{name}: printed nothing")),
        Some(Ok(bytes)) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Some(Err(error)) => Err(format!("{name}: {error}")),
        None => Err(format!("{name}: no answer in {} s", deadline.as_secs())),
    }
}

/// The metrics of the recorder that answers at this address.
pub(super) fn metrics(listen: SocketAddr) -> Result<String, String> {
    let mut address = listen;
    if address.ip().is_unspecified() {
        address.set_ip(match address.is_ipv4() {
            true => IpAddr::V4(Ipv4Addr::LOCALHOST),
            false => IpAddr::V6(Ipv6Addr::LOCALHOST),
        });
    }
    let asked = || -> std::io::Result<String> {
        let mut stream = TcpStream::connect_timeout(&address, STATUS_TIME_MAX)?;
        stream.set_read_timeout(Some(STATUS_TIME_MAX))?;
        stream.set_write_timeout(Some(STATUS_TIME_MAX))?;
        let head = "GET /metrics HTTP/1.1\r\nConnection: close\r\n";
        write!(stream, "{head}Host: {address}\r\n\r\n")?;
        let mut answer = Vec::new();
        stream.take(ANSWER_BYTES_MAX).read_to_end(&mut answer)?;
        Ok(String::from_utf8_lossy(&answer).into_owned())
    };
    let answer = asked().map_err(|error| format!("the status address: {error}"))?;
    match answer.split_once("\r\n\r\n") {
        Some((head, body)) if head.starts_with("HTTP/1.1 200") => Ok(body.to_owned()),
        _ => {
            Err("unexpected answer from the status address: it may not be a recorder's".to_owned())
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
    use super::*;

    fn shell(line: &str, deadline: Duration) -> Result<String, String> {
        program(Command::new("/bin/sh").args(["-c", line]), deadline)
    }

    #[test]
    fn a_program_that_hangs_or_is_not_there_is_a_sentence() {
        let long = Duration::from_secs(60);
        assert_eq!(shell("echo a; exit 1", long), Ok("a\n".to_owned()));
        assert!(shell("true", long).unwrap_err().contains("printed nothing"));
        let begin = Instant::now();
        let hangs = shell("exec sleep 600", Duration::from_millis(100)).unwrap_err();
        assert!(
            hangs.contains("no answer") && begin.elapsed() < long,
            "{hangs}"
        );
        let nowhere = program(&mut Command::new("/nonexistent/x"), long);
        assert!(nowhere.unwrap_err().starts_with("/nonexistent/x: "));
    }

    #[test]
    fn metrics_are_asked_for_on_loopback() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let thread = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            // All of it: what is unread when a connection is closed resets it.
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") {
                stream.read_exact(&mut byte).unwrap();
                head.extend(byte);
            }
            stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nx 1\n").unwrap();
            head
        });
        let told = metrics(SocketAddr::from(([0, 0, 0, 0], port)));
        assert_eq!(told, Ok("x 1\n".to_owned()));
        assert!(thread.join().unwrap().starts_with(b"GET /metrics HTTP/1.1"));
        assert!(metrics(SocketAddr::from(([127, 0, 0, 1], port))).is_err());
    }
}
