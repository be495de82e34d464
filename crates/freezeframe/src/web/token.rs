//! The token: who has it may look.

use std::fmt::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result, bail};
use cli::output;

/// Random bytes of a token that we make: nobody guesses 128 bits.
const BYTES: usize = 16;

/// Characters of a token that is given: below it could be guessed, above it an address is too long.
const LENGTH: std::ops::RangeInclusive<usize> = 16..=128;

/// The token.
pub(super) struct Token(String);

impl Token {
    /// A new one.
    pub(super) fn random() -> Result<Self> {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes)
            .map_err(|error| anyhow::anyhow!("no random numbers for a token: {error}"))?;
        let mut text = String::new();
        for byte in bytes {
            let _ = write!(text, "{byte:02x}");
        }
        Ok(Self(text))
    }

    /// The first line of a file.
    pub(super) fn of_file(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| server::file_of_secret(path).display().to_string())?;
        let token = text.lines().next().unwrap_or_default().trim();
        let is_fit = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if !LENGTH.contains(&token.len()) || !token.chars().all(is_fit) {
            bail!(
                "{}: a token needs 16 to 128 letters, digits, - and _; `openssl rand -hex 16` makes one",
                path.display()
            );
        }
        let mode = std::fs::metadata(path).map_or(0, |file| file.permissions().mode() & 0o777);
        if mode & 0o007 != 0 {
            output::note(&format!(
                "{}: everybody on this host can read the token (mode {mode:04o}): chmod 600",
                path.display()
            ));
        }
        Ok(Self(token.to_owned()))
    }

    pub(super) fn text(&self) -> &str {
        &self.0
    }

    /// Whether this is it. How long that takes tells nothing of where the first difference is.
    pub(super) fn is(&self, given: &str) -> bool {
        let (own, given) = (self.0.as_bytes(), given.as_bytes());
        let mut difference = u8::from(own.len() != given.len());
        for (index, byte) in own.iter().enumerate() {
            difference |= byte ^ given.get(index).copied().unwrap_or(0);
        }
        std::hint::black_box(difference) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_long_random_and_compared_as_a_whole() {
        let (one, other) = (Token::random().unwrap(), Token::random().unwrap());
        assert_eq!(one.text().len(), 2 * BYTES);
        assert_ne!(one.text(), other.text());
        assert!(one.is(one.text()) && !one.is(other.text()));
        let text = one.text().to_owned();
        for wrong in [
            "",
            &text[..31],
            &format!("{text}0"),
            &text.to_uppercase().replace('A', "a"),
        ] {
            assert!(wrong == text || !one.is(wrong), "{wrong}");
        }
    }

    #[test]
    fn a_token_of_a_file_is_long_enough_for_an_address() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("token");
        std::fs::write(&path, "0123456789abcdef_-\nsecond\n").unwrap();
        assert_eq!(Token::of_file(&path).unwrap().text(), "0123456789abcdef_-");
        for wrong in [
            "",
            "short",
            "0123456789abcdef/../",
            "0123456789abcdef\u{e9}",
        ] {
            std::fs::write(&path, wrong).unwrap();
            assert!(Token::of_file(&path).is_err(), "{wrong}");
        }
    }
}
