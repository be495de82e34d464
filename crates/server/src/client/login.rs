//! Logging in: the plugin that the server asks for, until it says yes or no (MySQL source code documentation,
//! "Authentication Phase"; MariaDB's "Authentication Plugins").

use super::deadline::Deadline;
use super::error::ClientError;
use super::greeting::{Greeting, NONCE_BYTES};
use super::limits::LOGIN_ROUNDS_MAX;
use super::packets::Packets;
use super::public_key::PublicKey;
use super::scramble;
use crate::Login;
use crate::tls::{PeerLocation, TlsMode};

const NATIVE: &str = "mysql_native_password";
const CACHING_SHA2: &str = "caching_sha2_password";
const ED25519: &str = "client_ed25519";
const SHA256: &str = "sha256_password";
/// The password as it is; also what is asked for by PAM.
const CLEAR: &str = "mysql_clear_password";

/// Of `caching_sha2_password`: the server knows us by its cache; it needs the password itself; we ask for its key.
const FAST: u8 = 3;
const FULL: u8 = 4;
const KEY: u8 = 2;

/// Of `sha256_password`: we ask for the key.
const SHA256_KEY: u8 = 1;

/// Errors of a server that takes nobody without TLS: `ER_SECURE_TRANSPORT_REQUIRED`.
const TLS_REQUIRED: u16 = 3159;

/// Reads the greeting and logs in; gives the server's number of the connection.
pub(super) fn log_in(
    packets: &mut Packets,
    login: &Login,
    deadline: &Deadline,
) -> Result<u32, ClientError> {
    let user = &login.user;
    if user.contains('\0') {
        return Err(ClientError::Login(
            "the user's name holds a zero byte".into(),
        ));
    }
    let mut packet = Vec::new();
    receive(packets, &mut packet, deadline)?;
    let greeting = Greeting::read(&packet)?;
    protect(packets, &greeting, login, deadline)?;
    let is_encrypted = packets.stream.is_encrypted();
    let mut trial = Trial {
        password: login.password.as_deref().unwrap_or("").as_bytes(),
        is_private: packets.stream.is_private(),
        is_closed: is_encrypted || packets.stream.leads == PeerLocation::Socket,
        plugin: NATIVE.to_owned(),
        nonce: greeting.nonce.to_vec(),
    };
    // Who has another plugin than the server's first one is asked again.
    if greeting.plugin == CACHING_SHA2 {
        trial.plugin = CACHING_SHA2.to_owned();
    }
    let answer = greeting.answer(user, &trial.plugin, &trial.proof()?, is_encrypted);
    packets.send(&answer, deadline)?;
    for _ in 0..LOGIN_ROUNDS_MAX {
        receive(packets, &mut packet, deadline)?;
        let (first, rest) = packet
            .split_first()
            .ok_or_else(|| ClientError::garbled("an empty packet in the login"))?;
        let reply = match first {
            0x00 => return Ok(greeting.id),
            0xff => {
                return Err(with_advice(
                    ClientError::from_error_packet(&packet),
                    is_encrypted,
                ));
            }
            0xfe => Some(trial.switched(rest)?),
            0x01 => trial.more(rest)?,
            _ => return Err(ClientError::garbled("it is no step of a login")),
        };
        if let Some(reply) = reply {
            packets.send(&reply, deadline)?;
        }
    }
    Err(ClientError::garbled("the login comes to no end"))
}

fn receive(
    packets: &mut Packets,
    packet: &mut Vec<u8>,
    deadline: &Deadline,
) -> Result<(), ClientError> {
    let in_order = packets.receive(packet, deadline)?;
    // An error is worth telling whatever its number.
    if !in_order && packet.first() != Some(&0xff) {
        return Err(ClientError::garbled("packets are out of order"));
    }
    Ok(())
}

/// Encrypts the way, where that is wanted and can be had.
fn protect(
    packets: &mut Packets,
    greeting: &Greeting,
    login: &Login,
    deadline: &Deadline,
) -> Result<(), ClientError> {
    let tls = &login.tls;
    let mode = tls.mode(packets.stream.leads);
    match (mode, greeting.has_tls()) {
        (TlsMode::Disabled, _) | (TlsMode::Preferred, false) => return Ok(()),
        (_, false) => {
            let why = match tls.is_by_default() {
                true => "which is required for a server on another host",
                false => "which --ssl-mode requires",
            };
            let text = format!(
                "the server has no TLS, {why}: switch it on there (ssl_cert, ssl_key), or use --ssl-mode DISABLED (not encrypted)"
            );
            return Err(ClientError::Login(text.into()));
        }
        (_, true) => {}
    }
    // What came behind the greeting came from anybody, and would be taken for what the server says under TLS.
    if !packets.is_drained() {
        return Err(ClientError::garbled(
            "it says more before TLS than a greeting",
        ));
    }
    packets.send(&greeting.head(true), deadline)?;
    packets.stream.encrypt(tls, mode, deadline)
}

fn with_advice(error: ClientError, is_encrypted: bool) -> ClientError {
    match error {
        ClientError::Server {
            code: TLS_REQUIRED,
            state,
            message,
        } if !is_encrypted => ClientError::Server {
            code: TLS_REQUIRED,
            state,
            message: format!("{message} (--ssl-mode REQUIRED, or the server's --socket)"),
        },
        other => other,
    }
}

/// The plugin that is tried.
struct Trial<'a> {
    password: &'a [u8],
    /// Nobody but the server can hear what we say, and it is the right one.
    is_private: bool,
    /// The server takes the way for one on which a password may be told as it is.
    is_closed: bool,
    plugin: String,
    nonce: Vec<u8>,
}

impl Trial<'_> {
    /// The first answer to the plugin.
    fn proof(&self) -> Result<Vec<u8>, ClientError> {
        let short = self.nonce.get(..NONCE_BYTES);
        let short = short.ok_or_else(|| ClientError::garbled("too little to scramble with"));
        Ok(match self.plugin.as_str() {
            NATIVE => scramble::native(short?, self.password),
            CACHING_SHA2 => scramble::caching_sha2(short?, self.password),
            ED25519 => {
                let nonce = self.nonce.get(..32);
                let nonce = nonce.ok_or_else(|| ClientError::garbled("too little to sign"))?;
                scramble::ed25519(nonce, self.password)
            }
            CLEAR => self.clear()?,
            SHA256 if self.password.is_empty() => vec![0],
            SHA256 if self.is_closed => self.as_it_is(),
            SHA256 => vec![SHA256_KEY],
            other => {
                let text = format!(
                    "the account's authentication plugin '{}' is not supported; supported are {NATIVE}, {CACHING_SHA2}, {SHA256}, ed25519 and the unix socket's user",
                    other
                        .chars()
                        .filter(|c| !c.is_control())
                        .take(64)
                        .collect::<String>()
                );
                return Err(ClientError::Login(text.into()));
            }
        })
    }

    /// The server wants another plugin.
    fn switched(&mut self, packet: &[u8]) -> Result<Vec<u8>, ClientError> {
        if packet.is_empty() {
            return Err(ClientError::Login(
                "the account's password has the format of MySQL 4.0, which is not supported".into(),
            ));
        }
        let end = packet.iter().position(|byte| *byte == 0);
        let end = end.ok_or_else(|| ClientError::garbled("a plugin without a name"))?;
        let (name, nonce) = packet.split_at(end);
        self.plugin = String::from_utf8_lossy(name).into_owned();
        self.nonce = nonce.get(1..).unwrap_or_default().to_vec();
        self.proof()
    }

    /// A further step of the plugin.
    fn more(&self, packet: &[u8]) -> Result<Option<Vec<u8>>, ClientError> {
        match (self.plugin.as_str(), packet) {
            (CACHING_SHA2, [FAST]) => Ok(None),
            // As the servers' own clients: over TLS they are asked for nothing else.
            (CACHING_SHA2, [FULL]) if self.is_closed => Ok(Some(self.as_it_is())),
            (CACHING_SHA2, [FULL]) => Ok(Some(vec![KEY])),
            (CACHING_SHA2 | SHA256, key) if !self.is_closed => self.under_key(key).map(Some),
            _ => Err(ClientError::garbled(
                "a step that this plugin does not have",
            )),
        }
    }

    /// The password itself. It is told to nobody who may be somebody else, whoever asks.
    fn clear(&self) -> Result<Vec<u8>, ClientError> {
        if !self.is_private {
            return Err(ClientError::Login(
                "the server asks for the password in clear text, which freezeframe sends only over a unix socket or TLS with a verified certificate: use --socket, or --ssl-mode VERIFY_CA with --ssl-ca FILE"
                    .into(),
            ));
        }
        Ok(self.as_it_is())
    }

    fn as_it_is(&self) -> Vec<u8> {
        [self.password, &[0]].concat()
    }

    /// The password, masked with the nonce, under the server's key.
    fn under_key(&self, key: &[u8]) -> Result<Vec<u8>, ClientError> {
        let key = PublicKey::read(key)
            .map_err(|why| ClientError::Garbled(format!("its public key: {why}").into()))?;
        let nonce = self.nonce.get(..NONCE_BYTES);
        let nonce = nonce.ok_or_else(|| ClientError::garbled("too little to scramble with"))?;
        let masked: Vec<u8> = self
            .password
            .iter()
            .chain(&[0])
            .zip(nonce.iter().cycle())
            .map(|(letter, mask)| letter ^ mask)
            .collect();
        let mut seed = [0; 20];
        getrandom::fill(&mut seed)
            .map_err(|error| ClientError::Login(format!("no random numbers: {error}").into()))?;
        key.encrypt(&masked, &seed).ok_or_else(|| {
            ClientError::Login("the password is too long for the server's public key".into())
        })
    }
}
