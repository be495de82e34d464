//! The packets with which a connection begins: the server's greeting (version 10) and the client's answer.

use std::sync::Arc;

use super::bytes::Reader;
use super::limits::NAME_BYTES_MAX;

// Capabilities (include/mysql_com.h).
const CONNECT_WITH_DB: u32 = 1 << 3;
const COMPRESS: u32 = 1 << 5;
const PROTOCOL_41: u32 = 1 << 9;
const SSL: u32 = 1 << 11;
const SECURE_CONNECTION: u32 = 1 << 15;
const PLUGIN_AUTH: u32 = 1 << 19;
const CONNECT_ATTRIBUTES: u32 = 1 << 20;
const PLUGIN_AUTH_LENENC: u32 = 1 << 21;
const ZSTD: u32 = 1 << 26;
const QUERY_ATTRIBUTES: u32 = 1 << 27;

/// An SSL request is the answer's first 32 bytes.
const SSL_REQUEST_BYTES: u64 = 32;

/// More pairs than any client sends.
const ATTRIBUTES_MAX: usize = 64;

/// What the server says first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Greeting {
    pub(super) connection_id: u32,
    pub(super) capabilities: u32,
}

/// Parses a greeting; `None` when it is none of version 10.
pub(super) fn greeting(payload: &[u8]) -> Option<Greeting> {
    let mut reader = Reader(payload);
    if reader.u8()? != 10 {
        return None;
    }
    let version = reader.zero_ended();
    if !version.first()?.is_ascii_digit() {
        return None;
    }
    let connection_id = reader.u32()?;
    reader.take(9)?;
    let low = reader.u16()?;
    // Servers before 4.1 end here.
    reader.take(3);
    let high = reader.u16().unwrap_or(0);
    Some(Greeting {
        connection_id,
        capabilities: u32::from(low) | u32::from(high) << 16,
    })
}

/// What the client answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Answer {
    /// The rest of the connection is TLS.
    Tls,
    /// A login.
    Login(Login),
}

/// Who the client is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Login {
    pub(super) user: Option<Arc<str>>,
    pub(super) database: Option<Arc<str>>,
    pub(super) program: Option<Arc<str>>,
    pub(super) capabilities: u32,
}

impl Login {
    /// The protocol is compressed after the login.
    pub(super) fn is_compressed(&self, server: u32) -> bool {
        let both = self.capabilities & server;
        both & (COMPRESS | ZSTD) != 0
    }

    /// Statements come with attributes.
    pub(super) fn has_query_attributes(&self, server: u32) -> bool {
        self.capabilities & server & QUERY_ATTRIBUTES != 0
    }
}

/// Parses the client's answer, `length` bytes of which `payload` is the beginning.
pub(super) fn answer(payload: &[u8], length: u64) -> Option<Answer> {
    let mut reader = Reader(payload);
    let low = Reader(payload).u16()?;
    if u32::from(low) & PROTOCOL_41 == 0 {
        // Before 4.1: two bytes of capabilities, three of the largest packet.
        reader.take(5)?;
        let user = reader.zero_ended();
        return Some(Answer::Login(Login {
            user: name(user),
            capabilities: low.into(),
            ..Login::default()
        }));
    }
    let capabilities = reader.u32()?;
    if capabilities & SSL != 0 && length <= SSL_REQUEST_BYTES {
        return Some(Answer::Tls);
    }
    // The largest packet, the character set, reserved bytes: the last four are MariaDB's own capabilities, which change
    // nothing that is read here but whether a result's columns follow, and its first packet says that itself.
    reader.take(28)?;
    let mut login = Login {
        user: name(reader.zero_ended()),
        capabilities,
        ..Login::default()
    };
    // What is cut off, or broken, is left out.
    let _ = rest_of_login(&mut reader, &mut login);
    Some(Answer::Login(login))
}

fn rest_of_login(reader: &mut Reader<'_>, login: &mut Login) -> Option<()> {
    let has = |flag| login.capabilities & flag != 0;
    if has(PLUGIN_AUTH_LENENC) {
        reader.string()?;
    } else if has(SECURE_CONNECTION) {
        let length = reader.u8()?;
        reader.take(length.into())?;
    } else {
        reader.zero_ended();
    }
    if has(CONNECT_WITH_DB) {
        login.database = name(reader.zero_ended());
    }
    if login.capabilities & PLUGIN_AUTH != 0 {
        reader.zero_ended();
    }
    if login.capabilities & CONNECT_ATTRIBUTES != 0 {
        login.program = attributes(reader);
    }
    Some(())
}

/// `COM_CHANGE_USER` without its command byte.
pub(super) fn change_user(payload: &[u8], capabilities: u32) -> Login {
    let mut reader = Reader(payload);
    let mut login = Login {
        user: name(reader.zero_ended()),
        capabilities,
        ..Login::default()
    };
    let _ = rest_of_change(&mut reader, &mut login);
    login
}

fn rest_of_change(reader: &mut Reader<'_>, login: &mut Login) -> Option<()> {
    let length = reader.u8()?;
    reader.take(length.into())?;
    login.database = name(reader.zero_ended());
    reader.u16()?;
    if login.capabilities & PLUGIN_AUTH != 0 {
        reader.zero_ended();
    }
    if login.capabilities & CONNECT_ATTRIBUTES != 0 {
        login.program = attributes(reader);
    }
    Some(())
}

/// The connection attributes as one name: `program_name`, which programs give themselves, and the library's
/// `_client_name` and version.
fn attributes(reader: &mut Reader<'_>) -> Option<Arc<str>> {
    let length = usize::try_from(reader.length()?).ok()?;
    let all = reader.0.get(..length).unwrap_or(reader.0);
    let (mut program, mut client, mut version) = (None, None, None);
    let mut pairs = Reader(all);
    for _ in 0..ATTRIBUTES_MAX {
        let Some((key, value)) = pairs.string().zip(pairs.string()) else {
            break;
        };
        match key {
            b"program_name" => program = Some(value),
            b"_client_name" => client = Some(value),
            b"_client_version" => version = Some(value),
            _ => {}
        }
    }
    let parts: Vec<&[u8]> = [client, version].into_iter().flatten().collect();
    let library = parts.join(&b' ');
    match (program, library.as_slice()) {
        (Some(program), b"") => name(program),
        (Some(program), library) => name(&[program, b" (", library, b")"].concat()),
        (None, library) => name(library),
    }
}

/// A name for people, within bounds; `None` when it is empty.
pub(super) fn name(bytes: &[u8]) -> Option<Arc<str>> {
    let bytes = bytes.get(..NAME_BYTES_MAX).unwrap_or(bytes);
    let text = String::from_utf8_lossy(bytes);
    (!text.is_empty()).then(|| text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_greeting() {
        let mut payload = b"\x0a10.11.6-MariaDB\0".to_vec();
        payload.extend(77_u32.to_le_bytes());
        payload.extend(b"12345678\0");
        payload.extend([0xfe, 0xf7, 8, 2, 0, 0xff, 0x81]);
        let greeting = greeting(&payload).unwrap();
        assert_eq!(greeting.connection_id, 77);
        assert_eq!(greeting.capabilities, 0x81ff_f7fe);
        assert_eq!(super::greeting(b"\xff\x10\x04Too many connections"), None);
        for end in 0..payload.len() - 8 {
            assert_eq!(super::greeting(&payload[..end]), None, "{end}");
        }
    }

    fn login(capabilities: u32, rest: &[u8]) -> Vec<u8> {
        let mut payload = capabilities.to_le_bytes().to_vec();
        payload.extend([0; 28]);
        payload.extend(rest);
        payload
    }

    #[test]
    fn a_login_with_everything() {
        let capabilities = PROTOCOL_41
            | CONNECT_WITH_DB
            | PLUGIN_AUTH
            | PLUGIN_AUTH_LENENC
            | CONNECT_ATTRIBUTES
            | COMPRESS
            | QUERY_ATTRIBUTES;
        let attributes = b"\x0c_client_name\x08libmysql\x0cprogram_name\x03app\x01x\x01y";
        let mut rest = b"shop\0\x03pwdorders\0plugin\0".to_vec();
        rest.push(attributes.len() as u8);
        rest.extend(attributes);
        let payload = login(capabilities, &rest);
        let Some(Answer::Login(found)) = answer(&payload, payload.len() as u64) else {
            panic!()
        };
        assert_eq!(found.user.as_deref(), Some("shop"));
        assert_eq!(found.database.as_deref(), Some("orders"));
        assert_eq!(found.program.as_deref(), Some("app (libmysql)"));
        assert!(found.is_compressed(COMPRESS) && !found.is_compressed(ZSTD));
        assert!(found.has_query_attributes(u32::MAX) && !found.has_query_attributes(0));
        // Cut anywhere, nothing but names that are whole or cut comes out.
        for end in 32..payload.len() {
            let Some(Answer::Login(cut)) = answer(&payload[..end], payload.len() as u64) else {
                panic!()
            };
            assert!("shop".starts_with(cut.user.as_deref().unwrap_or("")));
        }
    }

    #[test]
    fn an_ssl_request_and_old_logins() {
        let payload = login(PROTOCOL_41 | SSL, b"");
        assert_eq!(answer(&payload, 32), Some(Answer::Tls));
        let Some(Answer::Login(old)) = answer(b"\x05\x00\x00\x00\x01root\0", 10) else {
            panic!()
        };
        assert_eq!(old.user.as_deref(), Some("root"));
        let payload = login(
            PROTOCOL_41 | SECURE_CONNECTION | CONNECT_WITH_DB,
            b"u\0\x02pwdb\0",
        );
        let Some(Answer::Login(old)) = answer(&payload, payload.len() as u64) else {
            panic!()
        };
        assert_eq!(old.database.as_deref(), Some("db"));
        assert_eq!(old.program, None);
    }

    #[test]
    fn another_user() {
        let payload = b"bob\0\x02pwdb2\0\x08\x00plugin\0";
        let login = change_user(payload, PROTOCOL_41 | SECURE_CONNECTION | PLUGIN_AUTH);
        assert_eq!(login.user.as_deref(), Some("bob"));
        assert_eq!(login.database.as_deref(), Some("db2"));
    }
}
