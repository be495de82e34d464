//! The head of a request: bytes in, what is asked out.

use super::{Answer, Names};

/// Bytes of a request's head. Browsers and probes send less than one KiB.
pub(super) const HEAD_BYTES_MAX: usize = 8 * 1024;

/// Bytes of a target. The longest that there is holds a server's label.
const TARGET_BYTES_MAX: usize = 2 * 1024;

/// Bytes of the first line: the target, a method and the version.
const LINE_BYTES_MAX: usize = TARGET_BYTES_MAX + 64;

/// What is asked.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Request {
    /// Without the query.
    pub(crate) path: String,
    /// What stands behind the question mark.
    pub(crate) query: String,
    /// The answer's head alone (HEAD).
    pub(crate) head_only: bool,
    /// The host that is asked, as it was written, with its port.
    pub(crate) host: String,
    /// The page that asks, as a browser tells it.
    pub(crate) origin: Option<String>,
    /// How that page stands to us, as a browser tells it.
    pub(crate) fetch_site: Option<String>,
    /// What the answer is for, likewise.
    pub(crate) fetch_mode: Option<String>,
    /// Who asks.
    pub(crate) authorization: Option<String>,
    /// The kinds of answers that are understood, all headers of it in one.
    pub(crate) accept: String,
    /// A body follows, which is for us (POST).
    pub(crate) is_post: bool,
    /// The bytes of it, as they are told; none where nothing is, or in a way that is not understood.
    pub(crate) content_length: Option<u64>,
    /// Whoever asks waits for `100 Continue` before it sends the body.
    pub(crate) expects_continue: bool,
}

/// A request that is refused.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) answer: Answer,
    /// As in [`Request`].
    pub(crate) head_only: bool,
}

impl From<Answer> for Refusal {
    fn from(answer: Answer) -> Self {
        Self {
            answer,
            head_only: false,
        }
    }
}

/// A head that comes in pieces.
#[derive(Debug, Default)]
pub(crate) struct Head {
    bytes: Vec<u8>,
    takes_posts: bool,
    /// Where the line begins that has not ended yet.
    line: usize,
    /// Up to here no end of a line was found.
    seen: usize,
}

impl Head {
    /// One that may be of a POST.
    pub(crate) fn with_posts() -> Self {
        Self {
            takes_posts: true,
            ..Self::default()
        }
    }

    /// What came behind it, when it is whole.
    pub(crate) fn rest(mut self) -> Vec<u8> {
        self.bytes.split_off(self.line.min(self.bytes.len()))
    }

    /// Nothing has come yet.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Takes more bytes; answers as soon as the head is whole, or cannot become one.
    pub(crate) fn take(&mut self, more: &[u8], names: &Names) -> Option<Result<Request, Refusal>> {
        self.bytes.extend(more);
        while let Some(length) = self
            .bytes
            .get(self.seen..)?
            .iter()
            .position(|byte| *byte == b'\n')
        {
            let end = self.seen + length;
            let line = self.bytes.get(self.line..end)?;
            let is_first = self.line == 0;
            let is_empty = matches!(line, [] | [b'\r']);
            let is_long = line.len() > LINE_BYTES_MAX;
            (self.line, self.seen) = (end + 1, end + 1);
            if is_first && is_empty {
                // Some clients end an earlier body with one line too many (RFC 9112, section 2.2).
                self.bytes.drain(..=end);
                (self.line, self.seen) = (0, 0);
            } else if is_first && is_long {
                return Some(Err(too_long().into()));
            } else if end > HEAD_BYTES_MAX {
                return Some(Err(too_large().into()));
            } else if is_empty {
                return Some(parse(self.bytes.get(..end)?, names, self.takes_posts));
            }
        }
        self.seen = self.bytes.len();
        if self.line == 0 && self.bytes.len() > LINE_BYTES_MAX {
            return Some(Err(too_long().into()));
        }
        (self.bytes.len() > HEAD_BYTES_MAX).then(|| Err(too_large().into()))
    }
}

fn too_long() -> Answer {
    Answer::text(
        414,
        &format!("a target has at most {TARGET_BYTES_MAX} bytes"),
    )
}

fn too_large() -> Answer {
    Answer::text(
        431,
        &format!("the head of a request has at most {HEAD_BYTES_MAX} bytes"),
    )
}

fn bad(why: &str) -> Refusal {
    Answer::text(400, why).into()
}

/// A token of RFC 9110, section 5.6.2.
fn is_token(text: &str) -> bool {
    let is_other = |byte: u8| b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || is_other(byte))
}

fn parse(head: &[u8], names: &Names, takes_posts: bool) -> Result<Request, Refusal> {
    let text = String::from_utf8_lossy(head);
    let mut lines = text
        .split('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line));
    let first = lines.next().unwrap_or_default();
    let [method, target, version] = words(first)
        .ok_or_else(|| bad("the first line of a request is a method, a target and HTTP/1.1"))?;
    if target.len() > TARGET_BYTES_MAX {
        return Err(too_long().into());
    }
    let minor = minor_version(version)?;
    if target.chars().any(char::is_control) || !is_token(method) {
        return Err(bad("the first line has characters that it may not have"));
    }
    let head_only = method == "HEAD";
    let refused = |answer: Answer| Refusal { answer, head_only };
    let fields = fields(lines)?;
    let said = fields.host;
    if said.is_none() && minor > 0 {
        return Err(refused(Answer::text(400, "there is no Host header")));
    }
    // The host of a target that has one counts, not that of the header (RFC 9112, section 3.2.2).
    let (target, host) = match absolute(target) {
        Some((host, path)) => (path, Some(host)),
        None => (target, said),
    };
    if let Some(host) = host {
        names.admit(host).map_err(refused)?;
    }
    let is_post = takes_posts && method == "POST";
    if !is_post && !matches!(method, "GET" | "HEAD") {
        let known = match takes_posts {
            true => "GET, HEAD and POST only",
            false => "GET and HEAD only",
        };
        return Err(refused(Answer::text(405, known)));
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let owned = |value: Option<&str>| value.map(str::to_owned);
    Ok(Request {
        path: path.to_owned(),
        query: query.to_owned(),
        head_only,
        host: host.unwrap_or_default().to_owned(),
        origin: owned(fields.origin),
        fetch_site: owned(fields.fetch_site),
        fetch_mode: owned(fields.fetch_mode),
        authorization: owned(fields.authorization),
        accept: fields.accept,
        is_post,
        // Pieces without a length that is told first are not taken.
        content_length: match fields.transfer_encoding {
            None => fields.content_length.and_then(|length| length.parse().ok()),
            Some(_) => None,
        },
        expects_continue: fields
            .expect
            .is_some_and(|expected| expected.eq_ignore_ascii_case("100-continue")),
    })
}

/// Exactly three words with one space between them.
fn words(line: &str) -> Option<[&str; 3]> {
    let mut words = line.split(' ');
    let three = [words.next()?, words.next()?, words.next()?];
    (words.next().is_none() && three.iter().all(|word| !word.is_empty())).then_some(three)
}

/// The second number of `HTTP/1.x`.
fn minor_version(version: &str) -> Result<u8, Refusal> {
    let numbers = version.strip_prefix("HTTP/").unwrap_or_default().as_bytes();
    match numbers {
        [b'1', b'.', minor] if minor.is_ascii_digit() => Ok(minor.saturating_sub(b'0')),
        [major, b'.', minor] if major.is_ascii_digit() && minor.is_ascii_digit() => {
            Err(Answer::text(505, "HTTP/1.1 and HTTP/1.0 only").into())
        }
        _ => Err(bad("not a request of HTTP/1.1")),
    }
}

/// Headers that are looked at; each may be there once only, but for `Accept`, which is a list.
#[derive(Default)]
struct Fields<'a> {
    host: Option<&'a str>,
    origin: Option<&'a str>,
    fetch_site: Option<&'a str>,
    fetch_mode: Option<&'a str>,
    authorization: Option<&'a str>,
    content_length: Option<&'a str>,
    transfer_encoding: Option<&'a str>,
    expect: Option<&'a str>,
    accept: String,
}

fn fields<'a>(lines: impl Iterator<Item = &'a str>) -> Result<Fields<'a>, Refusal> {
    let mut fields = Fields::default();
    for line in lines.filter(|line| !line.is_empty()) {
        // A line that begins with a space went on with the one before, long ago; and a space before the
        // colon is how requests are smuggled (RFC 9112, sections 5.1 and 5.2). Neither is a token.
        let field = line.split_once(':').filter(|(name, _)| is_token(name));
        let (name, value) =
            field.ok_or_else(|| bad("a line of the head is not a name, a colon and a value"))?;
        let found = match name.to_ascii_lowercase().as_str() {
            "host" => &mut fields.host,
            "origin" => &mut fields.origin,
            "sec-fetch-site" => &mut fields.fetch_site,
            "sec-fetch-mode" => &mut fields.fetch_mode,
            "authorization" => &mut fields.authorization,
            "content-length" => &mut fields.content_length,
            "transfer-encoding" => &mut fields.transfer_encoding,
            "expect" => &mut fields.expect,
            "accept" => {
                fields.accept += value.trim();
                fields.accept.push(',');
                continue;
            }
            _ => continue,
        };
        if found.replace(value.trim()).is_some() {
            return Err(bad(&format!("there is more than one {name} header")));
        }
    }
    Ok(fields)
}

/// Host and path of `http://host/path`.
fn absolute(target: &str) -> Option<(&str, &str)> {
    let scheme = target.get(..7)?;
    let rest = target.get(7..)?;
    if !scheme.eq_ignore_ascii_case("http://") {
        return None;
    }
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (host, path) = rest.split_at_checked(end)?;
    Some((host, if path.starts_with('/') { path } else { "/" }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn names() -> Names {
        Names::new("record", "db1", &[])
    }

    fn take(text: &str) -> Option<Result<Request, Refusal>> {
        Head::default().take(text.as_bytes(), &names())
    }

    fn code(text: &str) -> u16 {
        match take(text) {
            None => 0,
            Some(Ok(_)) => 200,
            Some(Err(refusal)) => refusal.answer.code,
        }
    }

    #[test]
    fn requests_are_understood_or_refused_with_the_right_status() {
        let long = "y".repeat(HEAD_BYTES_MAX);
        for (head, wanted) in [
            ("GET / HTTP/1.1\r\nHost: db1\r\n\r\n", 200),
            ("GET / HTTP/1.1\nHost: db1\n\n", 200),
            ("\r\n\r\nGET / HTTP/1.1\r\nHost: db1\r\n\r\n", 200),
            ("GET / HTTP/1.0\r\n\r\n", 200),
            ("GET / HTTP/1.1\r\nhOST:\tdb1 \r\nX-Y: a:b\r\n\r\n", 200),
            ("GET http://db1/healthz HTTP/1.1\r\nHost: x\r\n\r\n", 200),
            ("GET http://evil/ HTTP/1.1\r\nHost: db1\r\n\r\n", 421),
            ("GET / HTTP/1.1\r\nHost: evil\r\n\r\n", 421),
            ("GET / HTTP/1.0\r\nHost: evil\r\n\r\n", 421),
            ("POST / HTTP/1.1\r\nHost: evil\r\n\r\n", 421),
            ("POST / HTTP/1.1\r\nHost: db1\r\n\r\n", 405),
            ("OPTIONS * HTTP/1.1\r\nHost: db1\r\n\r\n", 405),
            ("GET / HTTP/1.1\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: db1\r\nHost: db1\r\n\r\n", 400),
            (
                "GET / HTTP/1.1\r\nHost: db1\r\nOrigin: a\r\norigin: b\r\n\r\n",
                400,
            ),
            ("GET / HTTP/1.1\r\nHost : db1\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nHost: db1\r\n Host: db1\r\n\r\n", 400),
            ("GET / HTTP/1.1\r\nno colon\r\n\r\n", 400),
            ("GET /\r\n\r\n", 400),
            ("GET  / HTTP/1.1\r\nHost: db1\r\n\r\n", 400),
            ("GET /\u{1b}[2J HTTP/1.1\r\nHost: db1\r\n\r\n", 400),
            ("GET / HTTX/1.1\r\nHost: db1\r\n\r\n", 400),
            ("\u{0} / HTTP/1.1\r\nHost: db1\r\n\r\n", 400),
            ("PRI * HTTP/2.0\r\n\r\n", 505),
            ("GET / HTTP/1.1\r\nHost: d", 0),
            ("", 0),
            (&format!("GET /{long}"), 414),
            (
                &format!("GET /{} HTTP/1.1\r\nHost: db1\r\n\r\n", &long[..3000]),
                414,
            ),
            (&format!("GET / HTTP/1.1\r\nHost: db1\r\nX: {long}"), 431),
            (
                &format!("GET / HTTP/1.1\r\nHost: db1\r\nX: {long}\r\n\r\n"),
                431,
            ),
        ] {
            assert_eq!(code(head), wanted, "{head:?}");
        }
    }

    #[test]
    fn the_path_is_without_its_query_and_its_host() {
        for (target, path, query) in [
            ("/healthz?x=1", "/healthz", "x=1"),
            ("http://db1:9306/healthz/3306", "/healthz/3306", ""),
            ("HTTP://db1", "/", ""),
            ("http://db1?x", "/", ""),
        ] {
            let head = format!("HEAD {target} HTTP/1.1\r\nHost: db1\r\n\r\n");
            let request = take(&head).unwrap().unwrap();
            assert!(request.head_only);
            assert_eq!(
                (request.path.as_str(), request.query.as_str()),
                (path, query)
            );
        }
    }

    #[test]
    fn a_post_is_taken_where_it_is_wanted_with_what_follows() {
        let text = "POST /v1/batch HTTP/1.1\r\nHost: any\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\nhel";
        let mut head = Head::with_posts();
        let request = head.take(text.as_bytes(), &Names::any()).unwrap().unwrap();
        assert!(request.is_post && request.expects_continue);
        assert_eq!(request.content_length, Some(5));
        assert_eq!(head.rest(), b"hel");
        let told = |field: &str| {
            let text = format!("POST / HTTP/1.1\r\nHost: a\r\n{field}\r\n\r\n");
            let request = Head::with_posts().take(text.as_bytes(), &Names::any());
            request.unwrap().map(|request| request.content_length).ok()
        };
        assert_eq!(
            told("Content-Length: 5\r\nTransfer-Encoding: chunked"),
            Some(None)
        );
        assert_eq!(told("Content-Length: -5"), Some(None));
        assert_eq!(told("Content-Length: 5\r\nContent-Length: 6"), None);
        assert_eq!(code(text), 421);
    }

    proptest! {
        /// Whatever comes, and in whatever pieces: no panic, an end within the limit, the same answer.
        #[test]
        fn pieces_change_nothing(
            lines in prop::collection::vec("[ -~\\r\\x00\\x1b\u{9b}é]{0,40}", 0..12),
            good in any::<bool>(),
            size in 1_usize..50,
        ) {
            let mut text = if good { "GET /healthz HTTP/1.1\r\nHost: db1\r\n".to_owned() } else { String::new() };
            text.push_str(&lines.join("\n"));
            text.push_str("\r\n\r\n");
            let whole = code(&text);
            let mut head = Head::default();
            let mut last = None;
            for piece in text.as_bytes().chunks(size) {
                last = head.take(piece, &names());
                if last.is_some() {
                    break;
                }
            }
            let last = match last {
                None => 0,
                Some(Ok(_)) => 200,
                Some(Err(refusal)) => refusal.answer.code,
            };
            prop_assert_eq!(whole, last);
        }
    }
}
