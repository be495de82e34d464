//! Login paths: logins by a name, in the file that `mysql_config_editor` writes (MySQL manual, "mysql_config_editor").
//!
//! The file is an option file, each line by itself under AES-128 in ECB, with the key in front of it: nobody reads it by
//! looking over a shoulder, and it is no secret from whoever has the file. Layout (mysys_ssl/my_default.cc): 4 bytes that
//! nobody uses, 20 bytes of key; then for each line 4 bytes of length and the line.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use aes::Aes128;
use aes::cipher::{BlockDecrypt, KeyInit};

use crate::login_error::LoginError;

/// Bytes of a file: hundreds of logins.
const BYTES_MAX: u64 = 1 << 20;

const UNUSED_BYTES: usize = 4;
const KEY_BYTES: usize = 20;
const BLOCK_BYTES: usize = 16;

/// The text of a file; `None` when it is not there.
pub(crate) fn read(path: &Path) -> Result<Option<String>, LoginError> {
    let unreadable = |source| LoginError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let file = match File::open(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        other => other.map_err(unreadable)?,
    };
    let mode = file.metadata().map_err(unreadable)?.mode();
    // As the servers' own clients, which do not read such a file.
    if mode & 0o077 != 0 {
        let problem = "others may read or change it: chmod 600";
        return Err(wrong(path, problem));
    }
    let mut bytes = Vec::new();
    file.take(BYTES_MAX)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    decrypt(&bytes)
        .map(Some)
        .map_err(|why| wrong(path, &format!("not a file of mysql_config_editor: {why}")))
}

pub(crate) fn wrong(path: &Path, problem: &str) -> LoginError {
    LoginError::LoginPath {
        path: path.to_owned(),
        problem: problem.to_owned(),
    }
}

fn decrypt(bytes: &[u8]) -> Result<String, &'static str> {
    let (_, rest) = bytes
        .split_at_checked(UNUSED_BYTES)
        .ok_or("it is too short")?;
    let (material, mut rest) = rest.split_at_checked(KEY_BYTES).ok_or("it is too short")?;
    let mut key = [0; BLOCK_BYTES];
    for (index, byte) in material.iter().enumerate() {
        if let Some(place) = key.get_mut(index % BLOCK_BYTES) {
            *place ^= byte;
        }
    }
    let cipher = Aes128::new(&key.into());
    let mut text = Vec::with_capacity(rest.len());
    while !rest.is_empty() {
        let (length, behind) = rest.split_first_chunk().ok_or("it is cut")?;
        let length = usize::try_from(u32::from_le_bytes(*length)).map_err(|_| "it is cut")?;
        let (line, behind) = behind.split_at_checked(length).ok_or("it is cut")?;
        rest = behind;
        let from = text.len();
        if line.is_empty() || line.len() % BLOCK_BYTES != 0 {
            return Err("a line has no whole blocks");
        }
        for block in line.chunks_exact(BLOCK_BYTES) {
            let mut block = *aes::Block::from_slice(block);
            cipher.decrypt_block(&mut block);
            text.extend_from_slice(&block);
        }
        // PKCS #7: the last byte says how many are not the line's.
        let padding = usize::from(text.last().copied().unwrap_or(0));
        let end = text.len().checked_sub(padding).filter(|end| *end >= from);
        let (Some(end), 1..=BLOCK_BYTES) = (end, padding) else {
            return Err("a line does not end as it should");
        };
        text.truncate(end);
    }
    String::from_utf8(text).map_err(|_| "it is no text")
}

#[cfg(test)]
pub(crate) mod tests {
    use std::os::unix::fs::PermissionsExt;

    use aes::cipher::BlockEncrypt;

    use super::*;

    /// A file as `mysql_config_editor` writes it.
    pub(crate) fn encrypt(text: &str) -> Vec<u8> {
        let material: Vec<u8> = (1..=20).collect();
        let mut key = [0; 16];
        for (index, byte) in material.iter().enumerate() {
            key[index % 16] ^= byte;
        }
        let cipher = Aes128::new(&key.into());
        let mut bytes = [&[0; 4][..], &material].concat();
        for line in text.split_inclusive('\n') {
            let padding = 16 - line.len() % 16;
            let mut padded = line.as_bytes().to_vec();
            padded.resize(line.len() + padding, padding as u8);
            bytes.extend_from_slice(&(padded.len() as u32).to_le_bytes());
            for block in padded.chunks_exact(16) {
                let mut block = *aes::Block::from_slice(block);
                cipher.encrypt_block(&mut block);
                bytes.extend_from_slice(&block);
            }
        }
        bytes
    }

    #[test]
    fn what_was_written_is_read() {
        let text =
            "[client]\nuser = \"monitor\"\n[db7]\npassword = \"a long one, of several blocks\"\n";
        assert_eq!(decrypt(&encrypt(text)).as_deref(), Ok(text));
        assert_eq!(decrypt(&encrypt("")).as_deref(), Ok(""));
    }

    /// Written by mysql_config_editor 9.7 for this test.
    const REAL: &[u8] = include_bytes!("test_login.cnf");

    #[test]
    fn a_file_of_the_program_itself_is_read() {
        let text = decrypt(REAL).unwrap();
        let path = Path::new("login");
        let found = crate::option_file::parse_groups(path, &text, &["client", "db7"]).unwrap();
        assert_eq!(found.user.as_deref(), Some("monitor"));
        assert_eq!(found.password.as_deref(), Some("p#w \"q\" wörd"));
        assert_eq!(
            (found.host.as_deref(), found.port),
            (Some("db7.example"), Some(3307))
        );
    }

    #[test]
    fn no_file_panics_and_none_is_believed_that_is_cut() {
        let whole = encrypt("[client]\nuser = \"monitor\"\n");
        let ends = [24, 24 + 4 + 16, whole.len()];
        for length in 0..=whole.len() {
            let cut = decrypt(&whole[..length]);
            assert_eq!(cut.is_ok(), ends.contains(&length), "{length}");
        }
        for index in 24..whole.len() {
            for byte in [0, 1, 0x7f, 0xff] {
                let mut other = whole.clone();
                other[index] = byte;
                let _ = decrypt(&other);
            }
        }
    }

    #[test]
    fn a_file_that_others_read_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("login");
        assert_eq!(read(&path).unwrap(), None);
        std::fs::write(&path, encrypt("[a]\n")).unwrap();
        let set = |mode| std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        set(0o644);
        let error = read(&path).unwrap_err().to_string();
        assert!(
            error.ends_with("login: others may read or change it: chmod 600"),
            "{error}"
        );
        set(0o600);
        assert_eq!(read(&path).unwrap().as_deref(), Some("[a]\n"));
        std::fs::write(&path, "[client]\nuser=me\n").unwrap();
        let error = read(&path).unwrap_err().to_string();
        assert!(
            error.contains("not a file of mysql_config_editor"),
            "{error}"
        );
    }
}
