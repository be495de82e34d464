//! Texts as mails carry them: `=3D` is a sign, `=` at the end of a line breaks it (RFC 2045, section 6.7).

use std::borrow::Cow;

use memchr::memmem;

/// What the head of such a part says.
const HEAD: &str = "quoted-printable";

/// The text with what is behind such a head as it was written.
pub(crate) fn decoded(text: &str) -> Cow<'_, str> {
    let found = memmem::find(text.as_bytes(), HEAD.as_bytes());
    let Some(head) = found.map(|at| at + HEAD.len()) else {
        return Cow::Borrowed(text);
    };
    let (head, mut rest) = text.split_at(head);
    let mut out = head.as_bytes().to_vec();
    while let Some((before, behind)) = rest.split_once('=') {
        out.extend_from_slice(before.as_bytes());
        let code = behind
            .get(..2)
            .and_then(|code| u8::from_str_radix(code, 16).ok());
        let end = behind.trim_start_matches([' ', '\t', '\r']);
        rest = if let Some(byte) = code {
            out.push(byte);
            behind.get(2..).unwrap_or_default()
        } else if let Some(rest) = end.strip_prefix('\n') {
            rest
        } else {
            out.push(b'=');
            behind
        };
    }
    out.extend_from_slice(rest.as_bytes());
    Cow::Owned(match String::from_utf8(out) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::decoded;

    #[test]
    fn a_mail_is_as_it_was_written() {
        let text = "a=3D\nEncoding: quoted-printable\n\nx=3D1 =C3=A4 lo=\nng=\r\ner a=b =";
        let decoded_text = "a=3D\nEncoding: quoted-printable\n\nx=1 ä longer a=b =";
        assert_eq!(decoded(text), decoded_text);
        assert_eq!(decoded("x=3D1 lo=\nng"), "x=3D1 lo=\nng");
    }
}
