//! What must not be in a bundle, and what stands in its place.
//!
//! A name is replaced by the pseudonym that it has in the bundle's incidents, so that what belongs together still does. A
//! secret, and a text of the configuration, by the word for it in parentheses.

use std::net::IpAddr;

use export::redact::pseudonym;

use super::settings::Text;

/// Shorter names are not looked for in an incident's file, where single words of ours stand; its own search is for those.
const IN_FRAMES_BYTES_MIN: usize = 4;

/// A shorter text of the configuration may be a word of any sentence.
const TEXT_BYTES_MIN: usize = 4;

/// A single letter names nobody.
const NAME_BYTES_MIN: usize = 2;

/// A piece of an address or of a command line is looked for from here on: it may be a token.
const PIECE_BYTES_MIN: usize = 8;

/// Words of our own, which name nobody.
const OWN: [&str; 9] = [
    "/etc/freezeframe",
    "/etc/freezeframe/freezeframe.toml",
    "freezeframe",
    "localhost",
    "127.0.0.1",
    "/var/lib/freezeframe",
    "/bin/sh",
    "root",
    "stdin",
];

/// Words of JSON.
const JSON: [&str; 3] = ["true", "false", "null"];

/// First parts of hosts' names that are words as well.
const USUAL_HOSTS: [&str; 8] = [
    "mysql", "mariadb", "percona", "mysqld", "mariadbd", "server", "database", "db",
];

/// Texts that are taken out, the longest first.
#[derive(Debug, Default)]
pub(super) struct Scrub {
    /// That of the bundle's incidents.
    salt: Vec<u8>,
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
    /// It must not be in an incident's file, either.
    in_frames: bool,
}

impl Known {
    fn stands(&self, bytes: &[u8], at: usize) -> bool {
        let is_part = |byte: Option<&u8>| {
            byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
        };
        let end = at + self.text.len();
        bytes.get(at..end) == Some(self.text.as_bytes())
            && !(self.is_word
                && (is_part(at.checked_sub(1).and_then(|before| bytes.get(before)))
                    || is_part(bytes.get(end))))
    }
}

/// The known texts by their first byte, the longest first.
struct Index<'s>(Vec<Vec<&'s Known>>);

impl<'s> Index<'s> {
    fn of(known: impl Iterator<Item = &'s Known>) -> Self {
        let mut all = vec![Vec::new(); 256];
        for one in known {
            let first = one.text.bytes().next().unwrap_or_default();
            if let Some(same) = all.get_mut(usize::from(first)) {
                same.push(one);
            }
        }
        Self(all)
    }

    /// The next one from there on, of several at one place the longest.
    fn next(&self, bytes: &[u8], from: usize) -> Option<(usize, &'s Known)> {
        let rest = bytes.get(from..)?.iter();
        rest.zip(from..).find_map(|(byte, at)| {
            let mut same = self.0.get(usize::from(*byte))?.iter();
            let found = same.find(|known| known.stands(bytes, at))?;
            Some((at, *found))
        })
    }
}

impl Scrub {
    /// With the salt of the bundle's incidents.
    pub(super) fn new(salt: &[u8]) -> Self {
        Self {
            salt: salt.to_owned(),
            known: Vec::new(),
        }
    }

    /// What stands for a name of this kind.
    pub(super) fn pseudonym(&self, kind: &str, name: &str) -> String {
        pseudonym(&self.salt, kind, name)
    }

    /// A name of this kind, which shows in front of what stands for it.
    pub(super) fn add_name(&mut self, kind: &str, name: &str) {
        let name = name.trim();
        let has_letters = name.chars().any(char::is_alphabetic);
        if name.len() < NAME_BYTES_MIN || OWN.contains(&name) || !has_letters {
            return;
        }
        let in_place = pseudonym(&self.salt, kind, name);
        // A server may be called `replica`, which is a word of every file.
        let is_plain = name.chars().all(char::is_alphabetic) && !["host", "user"].contains(&kind);
        self.add(
            in_place,
            name,
            name.len() >= IN_FRAMES_BYTES_MIN && !is_plain,
        );
    }

    /// A host's name or address, in every form in which one is told: with its domain and without, as a part of a label.
    pub(super) fn add_host(&mut self, host: &str) {
        let host = host.trim().trim_matches(['[', ']']);
        if let Ok(address) = host.parse::<IpAddr>() {
            if !address.is_loopback() && !address.is_unspecified() {
                let in_place = pseudonym(&self.salt, "addr", host);
                self.add(in_place, host, true);
                self.add(pseudonym(&self.salt, "dir", host), &label_of(host), true);
            }
            return;
        }
        self.add_name("host", host);
        if host.contains('.') {
            self.add_name("dir", &label_of(host));
        }
        // A journal has it without its domain.
        if let Some((first, _)) = host.split_once('.')
            && first.len() >= NAME_BYTES_MIN
            && first.chars().any(char::is_alphabetic)
            && !OWN.contains(&first)
            && !USUAL_HOSTS.contains(&first)
        {
            self.add(pseudonym(&self.salt, "host", first), first, false);
        }
    }

    /// What a server is called in names of files: a port and a process name nobody.
    pub(super) fn add_label(&mut self, label: &str) {
        let digits = label.strip_prefix("pid").unwrap_or(label);
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            self.add_name("dir", label);
        }
    }

    /// A path, and the label that is made of it.
    pub(super) fn add_path(&mut self, path: &str) {
        self.add_name("dir", path);
        self.add_name("dir", &label_of(path));
    }

    /// A password, or another secret: however short it is.
    pub(super) fn add_secret(&mut self, what: &str, secret: &str) {
        let secret = secret.trim_end_matches(['\r', '\n']);
        if !secret.is_empty() {
            self.add(format!("({what})"), secret, true);
        }
    }

    /// A text of the configuration, and its pieces: of an address, of a command line, of a header line.
    pub(super) fn add_setting(&mut self, text: &Text) {
        let in_place = format!("({})", text.key);
        let value = text.value.trim();
        if value.len() >= TEXT_BYTES_MIN && !OWN.contains(&value) {
            self.add(in_place.clone(), value, true);
        }
        let cut = |c: char| c.is_whitespace() || "/?&=:@'\"(){}$;,".contains(c);
        for piece in text.value.split(cut) {
            if piece.len() >= PIECE_BYTES_MIN && !OWN.contains(&piece) {
                self.add(in_place.clone(), piece, true);
            }
        }
    }

    /// The first word for a text is the one that stands in its place.
    fn add(&mut self, in_place: String, text: &str, in_frames: bool) {
        if JSON.contains(&text) || text.is_empty() {
            return;
        }
        // As it stands in JSON, too.
        let json = serde_json::to_string(text).unwrap_or_default();
        let json = json.strip_prefix('"').unwrap_or_default();
        let json = json.strip_suffix('"').unwrap_or_default().to_owned();
        for form in [text.to_owned(), json] {
            match self.known.iter_mut().find(|known| known.text == form) {
                Some(known) => known.in_frames |= in_frames,
                None => {
                    let bytes = form.len();
                    let at = self
                        .known
                        .partition_point(|known| known.text.len() >= bytes);
                    let known = Known {
                        is_word: bytes < PIECE_BYTES_MIN,
                        text: form,
                        in_place: in_place.clone(),
                        in_frames,
                    };
                    self.known.insert(at, known);
                }
            }
        }
    }

    /// The text without them.
    pub(super) fn clean(&self, text: &str) -> String {
        let index = Index::of(self.known.iter());
        let (mut clean, mut from) = (String::new(), 0);
        while let Some((at, known)) = index.next(text.as_bytes(), from) {
            clean += text.get(from..at).unwrap_or_default();
            clean += &known.in_place;
            from = at + known.text.len();
        }
        clean + text.get(from..).unwrap_or_default()
    }

    /// What of them still stands in a text: the words that would have stood in its place.
    pub(super) fn find(&self, bytes: &[u8]) -> Option<&str> {
        self.first(self.known.iter(), bytes)
    }

    /// The same of an incident's file, in which short names are words of ours.
    pub(super) fn find_in_frame(&self, bytes: &[u8]) -> Option<&str> {
        self.first(self.known.iter().filter(|known| known.in_frames), bytes)
    }

    fn first<'s>(
        &'s self,
        known: impl Iterator<Item = &'s Known>,
        bytes: &[u8],
    ) -> Option<&'s str> {
        // Our own words in the place of others may hold a short one.
        let is_said = |one: &Known| {
            let mut all = self.known.iter();
            all.any(|known| {
                let said = known.in_place.as_bytes();
                (0..said.len()).any(|at| one.stands(said, at))
            })
        };
        let index = Index::of(known);
        let mut from = 0;
        loop {
            let (at, found) = index.next(bytes, from)?;
            if !is_said(found) {
                return Some(found.in_place.as_str());
            }
            from = at + 1;
        }
    }
}

/// What the recorder makes of a host or a path as a part of a file's name.
fn label_of(text: &str) -> String {
    let letters = text.chars();
    let label: String = letters
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    label.trim_matches('-').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SALT: &[u8] = b"0123456789abcdef";

    fn of(kind: &str, name: &str) -> String {
        pseudonym(SALT, kind, name)
    }

    #[test]
    fn names_secrets_and_pieces_are_taken_out_in_every_form() {
        let mut scrub = Scrub::new(SALT);
        scrub.add_host("db1.example.com");
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
        let (host, user) = (of("host", "db1.example.com"), of("user", "app"));
        assert_eq!(
            clean,
            format!(
                "freezeframe at {host}:3306, {user}, (password), {{\"x\":\"(password)\"}}, (hooks.url), (hooks.url)"
            )
        );
        assert_eq!(scrub.find(text.as_bytes()), Some(host.as_str()));
        assert_eq!(scrub.find(b"T0K3N-SECRET"), Some("(hooks.url)"));
        assert_eq!(scrub.find(clean.as_bytes()), None);
        // A short one is a word, not a part of others, and none of JSON.
        let mut scrub = Scrub::new(SALT);
        for name in ["mysql", "true"] {
            scrub.add_name("user", name);
        }
        let user = of("user", "mysql");
        let clean = scrub.clean("mysql@db, mysqld, \"mysql\": true");
        assert_eq!(clean, format!("{user}@db, mysqld, \"{user}\": true"));
        assert_eq!(scrub.find(b"mysqld mysql_x"), None);
        assert_eq!(scrub.find(b"x mysql"), Some(user.as_str()));
    }

    #[test]
    fn a_host_is_found_in_labels_and_without_its_domain() {
        let mut scrub = Scrub::new(SALT);
        for host in [
            "db7.acme.example",
            "10.1.2.3",
            "db9",
            "mysql.acme.example",
            "127.0.0.1",
        ] {
            scrub.add_host(host);
        }
        scrub.add_label("db7-acme-example-3307");
        scrub.add_label("3306");
        scrub.add_label("pid77");
        scrub.add_path("/srv/acme/mysqld.sock");
        let text = "db7-acme-example-3307-20261129T220500Z.frame db7-acme-example-3308 10-1-2-3-3306 srv-acme-mysqld-sock \
                    db7 freezeframe[1]: db9:3306: db9 and db99, mysql 3306 pid77 127.0.0.1";
        let clean = scrub.clean(text);
        for name in ["acme", "db7", "10-1-2-3", "db9 ", "db9:"] {
            assert!(!clean.contains(name), "{name} in {clean}");
        }
        let label = of("dir", "db7-acme-example-3307");
        assert!(
            clean.starts_with(&format!("{label}-20261129T220500Z.frame ")),
            "{clean}"
        );
        assert!(
            clean.ends_with("and db99, mysql 3306 pid77 127.0.0.1"),
            "{clean}"
        );
        assert_eq!(scrub.find(clean.as_bytes()), None);
        // Words of a file's tables may be the same.
        assert_eq!(scrub.find_in_frame(b"\"db9\" db7"), None);
        assert!(scrub.find_in_frame(b"x db7.acme.example x").is_some());
    }

    #[test]
    fn a_name_that_is_a_word_of_ours_does_not_refuse_a_bundle() {
        let mut scrub = Scrub::new(SALT);
        scrub.add_name("user", "password");
        scrub.add_secret("password", "hunter2");
        let clean = scrub.clean("password is hunter2");
        assert_eq!(scrub.find(clean.as_bytes()), None, "{clean}");
    }
}
