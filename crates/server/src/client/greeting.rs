//! What a server says first, and what we answer (MySQL source code documentation, "Connection Phase").

use super::error::ClientError;
use super::fields::{Fields, put_short};

/// Capabilities that are used. Not asked for: compression, files of the client, several statements or results, the
/// newer end of results; a server that uses one of them anyway is not understood.
mod capability {
    pub(super) const LONG_PASSWORD: u32 = 1;
    pub(super) const LONG_FLAG: u32 = 1 << 2;
    pub(super) const PROTOCOL_41: u32 = 1 << 9;
    pub(super) const SSL: u32 = 1 << 11;
    pub(super) const TRANSACTIONS: u32 = 1 << 13;
    pub(super) const SECURE_CONNECTION: u32 = 1 << 15;
    pub(super) const PLUGIN_AUTH: u32 = 1 << 19;
    pub(super) const CONNECT_ATTRS: u32 = 1 << 20;
}

/// utf8mb4_general_ci: every server since 5.5.3 knows it; an older one takes its default instead.
const CHARSET: u8 = 45;

/// Bytes that the server scrambles passwords with in its greeting.
pub(super) const NONCE_BYTES: usize = 20;

/// A server's greeting.
#[derive(Debug)]
pub(super) struct Greeting {
    /// The server's number of this connection.
    pub(super) id: u32,
    capabilities: u32,
    pub(super) nonce: [u8; NONCE_BYTES],
    /// The plugin that it would use; empty when it does not say.
    pub(super) plugin: String,
}

impl Greeting {
    /// Reads it. A server that is full or does not want us sends an error instead.
    pub(super) fn read(packet: &[u8]) -> Result<Self, ClientError> {
        let mut fields = Fields(packet);
        match fields.u8() {
            Some(10) => {}
            Some(0xff) => return Err(ClientError::from_error_packet(packet)),
            Some(9) => {
                return Err(ClientError::Login(
                    "the server uses the protocol of MySQL 3, which is not supported".into(),
                ));
            }
            _ => {
                return Err(ClientError::garbled(
                    "it is not the greeting of a MySQL server",
                ));
            }
        }
        let greeting = Self::fields(fields)
            .ok_or_else(|| ClientError::garbled("the greeting is not whole"))?;
        let needed = capability::PROTOCOL_41 | capability::SECURE_CONNECTION;
        if greeting.capabilities & needed != needed {
            return Err(ClientError::Login(
                "the server uses a protocol older than MySQL 4.1, which is not supported".into(),
            ));
        }
        Ok(greeting)
    }

    fn fields(mut fields: Fields<'_>) -> Option<Self> {
        fields.zero_ended()?;
        let id = fields.u32()?;
        let first = fields.take(8)?;
        fields.u8()?;
        let low = fields.u16()?;
        // The server's character set and status.
        fields.take(3)?;
        let high = fields.u16()?;
        // The length of both parts of the nonce, and ten bytes of which MariaDB uses four.
        fields.take(11)?;
        let second = fields.take(NONCE_BYTES - 8)?;
        let mut nonce = [0; NONCE_BYTES];
        for (to, from) in nonce.iter_mut().zip(first.iter().chain(second)) {
            *to = *from;
        }
        let capabilities = u32::from(low) | u32::from(high) << 16;
        let plugin = match capabilities & capability::PLUGIN_AUTH {
            0 => &[],
            _ => {
                // The zero behind the nonce; that behind the name is missing in some versions.
                fields.u8()?;
                fields.zero_ended().unwrap_or(fields.0)
            }
        };
        Some(Self {
            id,
            capabilities,
            nonce,
            plugin: String::from_utf8_lossy(plugin).into_owned(),
        })
    }

    /// The server can speak TLS.
    pub(super) fn has_tls(&self) -> bool {
        self.capabilities & capability::SSL != 0
    }

    /// What is asked for of what it has.
    fn used(&self, is_encrypted: bool) -> u32 {
        use capability::*;
        let wanted = LONG_PASSWORD
            | LONG_FLAG
            | PROTOCOL_41
            | TRANSACTIONS
            | SECURE_CONNECTION
            | PLUGIN_AUTH
            | CONNECT_ATTRS;
        let tls = if is_encrypted { SSL } else { 0 };
        (wanted & (self.capabilities | LONG_PASSWORD | LONG_FLAG)) | tls
    }

    /// How an answer begins; all of the packet by which TLS is asked for.
    pub(super) fn head(&self, is_encrypted: bool) -> Vec<u8> {
        let mut packet = self.used(is_encrypted).to_le_bytes().to_vec();
        // The longest packet that we would send; the server has a limit of its own.
        packet.extend_from_slice(&0x0100_0000_u32.to_le_bytes());
        packet.push(CHARSET);
        packet.extend_from_slice(&[0; 23]);
        packet
    }

    /// Our answer: who we are, and the first answer to a plugin.
    pub(super) fn answer(
        &self,
        user: &str,
        plugin: &str,
        proof: &[u8],
        is_encrypted: bool,
    ) -> Vec<u8> {
        use capability::{CONNECT_ATTRS, PLUGIN_AUTH};
        let used = self.used(is_encrypted);
        let mut packet = self.head(is_encrypted);
        packet.extend_from_slice(user.as_bytes());
        packet.push(0);
        put_short(&mut packet, proof);
        if used & PLUGIN_AUTH != 0 {
            packet.extend_from_slice(plugin.as_bytes());
            packet.push(0);
        }
        if used & CONNECT_ATTRS != 0 {
            // A person who finds us in the server's own tables shall know who that is.
            let mut attributes = Vec::new();
            put_short(&mut attributes, b"program_name");
            put_short(&mut attributes, b"freezeframe");
            put_short(&mut attributes, b"_pid");
            put_short(&mut attributes, std::process::id().to_string().as_bytes());
            put_short(&mut packet, &attributes);
        }
        packet
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn greeting(capabilities: u32) -> Vec<u8> {
        let mut packet = b"\x0a5.5.9-log\0\x07\0\0\0abcdefgh\0".to_vec();
        packet.extend_from_slice(&(capabilities as u16).to_le_bytes());
        packet.extend_from_slice(b"\x08\x02\0");
        packet.extend_from_slice(&((capabilities >> 16) as u16).to_le_bytes());
        packet.extend_from_slice(b"\x15\0\0\0\0\0\0\0\0\0\0ijklmnopqrst\0");
        packet
    }

    #[test]
    fn greetings_of_old_and_new_servers() {
        let known = Greeting::read(&greeting(0x8200)).unwrap();
        assert_eq!((known.id, known.plugin.as_str()), (7, ""));
        assert_eq!(&known.nonce, b"abcdefghijklmnopqrst");
        let answer = known.answer("me", "mysql_native_password", b"p", false);
        assert!(answer.ends_with(b"me\0\x01p"), "{answer:?}");

        let with_name = |name: &[u8]| {
            let bytes = [&greeting(0x8_8200)[..], name].concat();
            Greeting::read(&bytes).unwrap().plugin
        };
        assert_eq!(
            with_name(b"caching_sha2_password\0"),
            "caching_sha2_password"
        );
        // MySQL 5.5.7 to 5.5.9 send it without its end.
        assert_eq!(with_name(b"mysql_native_password"), "mysql_native_password");
    }

    #[test]
    fn a_cut_greeting_is_an_error_wherever_it_is_cut() {
        let whole = greeting(0x8200);
        for length in 0..whole.len() - 1 {
            let cut = whole.get(..length).unwrap();
            assert!(Greeting::read(cut).is_err(), "{length}");
        }
        assert!(Greeting::read(&greeting(0x200)).is_err());
        assert!(Greeting::read(&greeting(0x8000)).is_err());
    }
}
