//! An answer, and its bytes on the wire.

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(super) code: u16,
    pub(super) kind: &'static str,
    pub(super) body: String,
}

impl Answer {
    pub(super) fn text(code: u16, body: &str) -> Self {
        Self {
            code,
            kind: "text/plain; charset=utf-8",
            body: format!("{body}\n"),
        }
    }

    fn reason(&self) -> &'static str {
        match self.code {
            200 => "OK",
            404 => "Not Found",
            405 => "Method Not Allowed",
            408 => "Request Timeout",
            414 => "URI Too Long",
            421 => "Misdirected Request",
            431 => "Request Header Fields Too Large",
            500 => "Internal Server Error",
            503 => "Service Unavailable",
            505 => "HTTP Version Not Supported",
            _ => "Bad Request",
        }
    }

    /// Head and body; of an answer to HEAD the head alone, with the length that the body has.
    pub(super) fn bytes(&self, head_only: bool) -> Vec<u8> {
        let allow = match self.code {
            405 => "Allow: GET, HEAD\r\n",
            _ => "",
        };
        let mut bytes = format!(
            "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
             Connection: close\r\n{allow}\r\n",
            self.code,
            self.reason(),
            self.kind,
            self.body.len(),
        )
        .into_bytes();
        if !head_only {
            bytes.extend(self.body.as_bytes());
        }
        bytes
    }
}
