//! Posts JSON by http.

use std::time::Duration;

use super::address::Address;
use super::failure::{Failure, judge};

/// Posts, and judges the status of the answer.
pub(super) fn post(
    address: &Address,
    headers: &[String],
    body: &str,
    deadline: Duration,
) -> Result<(), Failure> {
    let whom = &address.authority;
    let mut head = format!(
        "POST {} HTTP/1.1\r\nHost: {whom}\r\nUser-Agent: freezeframe/{}\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n",
        address.path,
        env!("CARGO_PKG_VERSION"),
        body.len()
    );
    for line in headers {
        head += line;
        head += "\r\n";
    }
    head += "\r\n";
    let place = (address.host.as_str(), address.port);
    let request = [head.as_bytes(), body.as_bytes()];
    match transport::http::exchange(place, &request, deadline) {
        Ok(answer) => judge(whom, answer.status),
        Err(said) => Err(Failure::Later(format!("{whom}: {said}"))),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    /// A receiver that gives one answer and hands over what it got.
    fn receiver(answer: &'static str) -> (Address, std::thread::JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let thread = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut got = Vec::new();
            let mut buffer = [0; 1000];
            while !got.ends_with(b"{\"x\":1}") {
                let count = stream.read(&mut buffer).unwrap();
                assert_ne!(count, 0);
                got.extend(&buffer[..count]);
            }
            stream.write_all(answer.as_bytes()).unwrap();
            String::from_utf8(got).unwrap()
        });
        let address = format!("http://127.0.0.1:{port}/hook?a=b").parse().unwrap();
        (address, thread)
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_post_is_what_a_receiver_expects() {
        let (address, thread) = receiver("HTTP/1.1 204 No Content\r\n\r\n");
        let headers = ["Authorization: Bearer x".to_owned()];
        assert_eq!(post(&address, &headers, "{\"x\":1}", LONG), Ok(()));
        let got = thread.join().unwrap();
        assert!(
            got.starts_with("POST /hook?a=b HTTP/1.1\r\nHost: 127.0.0.1:"),
            "{got}"
        );
        assert!(got.contains("\r\nContent-Length: 7\r\n"), "{got}");
        assert!(
            got.contains("\r\nAuthorization: Bearer x\r\n\r\n{"),
            "{got}"
        );
    }

    #[test]
    fn answers_say_whether_to_try_again() {
        for (answer, again) in [
            ("HTTP/1.1 503 Service Unavailable\r\n\r\n", true),
            ("HTTP/1.0 429 Too Many Requests\r\n\r\n", true),
            ("nonsense", true),
            ("HTTP/1.1 404 Not Found\r\n\r\n", false),
            ("HTTP/1.1 301 Moved\r\n\r\n", false),
        ] {
            let (address, thread) = receiver(answer);
            let result = post(&address, &[], "{\"x\":1}", LONG);
            thread.join().unwrap();
            let later = matches!(result, Err(Failure::Later(_)));
            assert!(result.is_err() && later == again, "{answer}: {result:?}");
        }
    }

    #[test]
    fn a_receiver_that_is_silent_or_away_is_tried_later() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let address: Address = format!("http://127.0.0.1:{port}").parse().unwrap();
        let result = post(&address, &[], "{}", Duration::from_millis(300));
        assert!(matches!(result, Err(Failure::Later(_))), "{result:?}");
        drop(listener);
        let result = post(&address, &[], "{}", LONG);
        assert!(matches!(result, Err(Failure::Later(_))), "{result:?}");
    }
}
