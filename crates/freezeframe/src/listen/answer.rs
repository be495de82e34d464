//! An answer, and its bytes on the wire.

use model::Plain;

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) kind: &'static str,
    pub(crate) body: String,
    /// What a browser may do with it, `Content-Security-Policy`.
    pub(crate) policy: String,
    /// Further lines of its head, each with its end.
    pub(crate) more: String,
}

/// Nothing is loaded by it, and it stands in no frame.
const NOTHING: &str = "default-src 'none'; frame-ancestors 'none'";

impl Answer {
    pub(crate) fn new(code: u16, kind: &'static str, body: String) -> Self {
        Self {
            code,
            kind,
            body,
            policy: NOTHING.to_owned(),
            more: String::new(),
        }
    }

    /// A text, for a terminal as well: what was asked may stand in it.
    pub(crate) fn text(code: u16, body: &str) -> Self {
        let body = Plain::text(body).into_string() + "\n";
        Self::new(code, "text/plain; charset=utf-8", body)
    }

    fn reason(&self) -> &'static str {
        match self.code {
            200 => "OK",
            303 => "See Other",
            401 => "Unauthorized",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            408 => "Request Timeout",
            411 => "Length Required",
            413 => "Content Too Large",
            414 => "URI Too Long",
            421 => "Misdirected Request",
            429 => "Too Many Requests",
            431 => "Request Header Fields Too Large",
            500 => "Internal Server Error",
            503 => "Service Unavailable",
            505 => "HTTP Version Not Supported",
            _ => "Bad Request",
        }
    }

    /// Head and body; of an answer to HEAD the head alone, with the length that the body has.
    pub(crate) fn bytes(&self, head_only: bool) -> Vec<u8> {
        let allow = match self.code {
            405 => "Allow: GET, HEAD\r\n",
            _ => "",
        };
        let mut bytes = format!(
            "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
             Content-Security-Policy: {}\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
             Connection: close\r\n{allow}{}\r\n",
            self.code,
            self.reason(),
            self.kind,
            self.body.len(),
            self.policy,
            self.more,
        )
        .into_bytes();
        if !head_only {
            bytes.extend(self.body.as_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_asked_drives_no_terminal() {
        let answer = Answer::text(400, "no history of '\u{1b}]52;c;eA==\u{7}'\nsecond");
        assert_eq!(
            answer.body,
            "no history of '\\x1b]52;c;eA==\\x07'\nsecond\n"
        );
    }
}
