//! What must not be in a bundle, and what stands in its place.

use super::settings::Text;
use model::OrderBy;

/// Shorter texts of the configuration stand in too many words to be looked for.
const TEXT_BYTES_MIN: usize = 4;

/// A piece of an address or of a command line is looked for from here on: it may be a token.
const PIECE_BYTES_MIN: usize = 8;

/// Words of our own, which name nobody.
const OWN: [&str; 6] = [
    "freezeframe",
    "localhost",
    "127.0.0.1",
    "/var/lib/freezeframe",
    "/bin/sh",
    "root",
];

/// Words of JSON.
const JSON: [&str; 3] = ["true", "false", "null"];

/// Texts that are taken out, the longest first.
#[derive(Debug, Default)]
pub(super) struct Scrub {
    known: Vec<Known>,
}

/// A text that must not be there.
#[derive(Debug)]
struct Known {
    text: String,
    /// What is said in its place.
    in_place: String,
    /// It is one as a word of its own only: a short one stands in others.
    is_word: bool,
}

impl Known {
    /// Where it stands from there on.
    fn find(&self, bytes: &[u8], from: usize) -> Option<usize> {
        let wanted = self.text.as_bytes();
        let is_part = |byte: Option<&u8>| {
            byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        };
        let stands = |at: usize| {
            let end = at + wanted.len();
            bytes.get(at..end) == Some(wanted)
                && !(self.is_word
                    && (is_part(at.checked_sub(1).and_then(|before| bytes.get(before)))
                        || is_part(bytes.get(end))))
        };
        let last = bytes.len().checked_sub(wanted.len())?;
        (from..=last).find(|at| stands(*at))
    }

    fn replaced(&self, text: String) -> String {
        let Some(mut at) = self.find(text.as_bytes(), 0) else {
            return text;
        };
        let (mut clean, mut from) = (String::new(), 0);
        loop {
            clean += text.get(from..at).unwrap_or_default();
            clean += &self.in_place;
            from = at + self.text.len();
            match self.find(text.as_bytes(), from) {
                Some(next) => at = next,
                None => break,
            }
        }
        clean + text.get(from..).unwrap_or_default()
    }
}

impl Scrub {
    /// A name: of a host, a user, a path.
    pub(super) fn add_name(&mut self, what: &str, name: &str) {
        let name = name.trim();
        if name.len() >= TEXT_BYTES_MIN && !OWN.contains(&name) {
            self.add(what, name);
        }
    }

    /// A password, or another secret: however short it is.
    pub(super) fn add_secret(&mut self, what: &str, secret: &str) {
        let secret = secret.trim_end_matches(['\r', '\n']);
        if !secret.is_empty() {
            self.add(what, secret);
        }
    }

    /// A text of the configuration, and its pieces: of an address, of a command line, of a header line.
    pub(super) fn add_setting(&mut self, text: &Text) {
        self.add_name(&text.key, &text.value);
        let cut = |c: char| c.is_whitespace() || "/?&=:@'\"(){}$;,".contains(c);
        for piece in text.value.split(cut) {
            if piece.len() >= PIECE_BYTES_MIN && !OWN.contains(&piece) {
                self.add(&text.key, piece);
            }
        }
    }

    fn add(&mut self, what: &str, text: &str) {
        if JSON.contains(&text) {
            return;
        }
        // As it stands in JSON, too.
        let json = serde_json::to_string(text).unwrap_or_default();
        let json = json.strip_prefix('"').unwrap_or_default();
        let json = json.strip_suffix('"').unwrap_or_default().to_owned();
        for form in [text.to_owned(), json] {
            if !self.known.iter().any(|known| known.text == form) {
                self.known.push(Known {
                    is_word: form.len() < PIECE_BYTES_MIN,
                    text: form,
                    in_place: format!("({what})"),
                });
            }
        }
        let order = |known: &Known| (std::cmp::Reverse(known.text.len()), known.text.clone());
        self.known.order_by_key(order);
    }

    /// The text without them.
    pub(super) fn clean(&self, text: &str) -> String {
        let known = self.known.iter();
        known.fold(text.to_owned(), |text, known| known.replaced(text))
    }

    /// What of them still stands somewhere: the words that would have stood in its place.
    pub(super) fn find(&self, bytes: &[u8]) -> Option<&str> {
        let found = self.known.iter().find(|known| {
            // Our own words in its place may hold a short one.
            known.find(known.in_place.as_bytes(), 0).is_none() && known.find(bytes, 0).is_some()
        });
        found.map(|known| known.in_place.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_secrets_and_pieces_are_taken_out_in_every_form() {
        let mut scrub = Scrub::default();
        scrub.add_name("host", "db1.example.com");
        scrub.add_name("user", "app");
        scrub.add_name("user", "freezeframe");
        scrub.add_secret("password", "p\"w\n");
        scrub.add_setting(&Text {
            key: "hooks.url".to_owned(),
            value: "https://chat.example/hooks/T0K3N-SECRET?key=AB".to_owned(),
        });
        let text = "freezeframe at db1.example.com:3306, app, p\"w, {\"x\":\"p\\\"w\"}, T0K3N-SECRET, \
                    https://chat.example/hooks/T0K3N-SECRET?key=AB";
        let clean = scrub.clean(text);
        assert_eq!(
            clean,
            "freezeframe at (host):3306, app, (password), {\"x\":\"(password)\"}, (hooks.url), (hooks.url)"
        );
        assert_eq!(scrub.find(text.as_bytes()), Some("(hooks.url)"));
        assert_eq!(scrub.find(clean.as_bytes()), None);
        // A short one is a word, not a part of others, and none of JSON.
        let mut scrub = Scrub::default();
        for name in ["mysql", "true"] {
            scrub.add_name("user", name);
        }
        let text = "mysql@db, mysqld, \"mysql\": true";
        let clean = scrub.clean(text);
        assert_eq!(clean, "(user)@db, mysqld, \"(user)\": true");
        assert_eq!(scrub.find(b"mysqld mysql_x"), None);
        assert_eq!(scrub.find(b"x mysql"), Some("(user)"));
    }
}
