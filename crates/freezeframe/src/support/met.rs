//! Names that are met in what is bundled: addresses, paths and what a builder added to a version, in a log and in answers,
//! wherever they stand.

use std::net::{IpAddr, SocketAddr};

use export::redact::{builders_suffix, is_known_path};

use super::scrub::Scrub;

/// What the kernel has there, systemd and the files of symbols, every host has.
const OF_EVERY_HOST: [&str; 5] = [
    "/proc/",
    "/sys/",
    "/dev/",
    "/run/systemd/",
    "/usr/lib/debug/",
];

/// The addresses, paths and builders of a text are to be taken out.
pub(super) fn learn(text: &str, scrub: &mut Scrub) {
    let is_between = |c: char| c.is_whitespace() || ",;()'\"`<>=|".contains(c);
    for word in text.split(is_between) {
        let word = word.strip_suffix(['.', ':']).unwrap_or(word);
        if word.parse::<IpAddr>().is_ok() {
            scrub.add_host(word);
        } else if let Ok(address) = word.parse::<SocketAddr>() {
            scrub.add_host(&address.ip().to_string());
        } else if word.starts_with('/') {
            path(word, scrub);
        } else if let Some(builder) = builders_suffix(word) {
            scrub.add_name("name", builder);
        }
    }
}

/// `/srv/shop/db.sock`, `/etc/shop/causes/x.toml:3`. A single part is an address of ours: `/metrics`.
pub(super) fn path(word: &str, scrub: &mut Scrub) {
    let path = word.split(':').next().unwrap_or_default();
    let has_parts = path.matches('/').count() > 1;
    let is_everybodys = OF_EVERY_HOST.iter().any(|start| path.starts_with(start));
    if has_parts && !is_everybodys && !is_known_path(path) {
        scrub.add_path(path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cleaned(text: &str) -> String {
        let mut scrub = Scrub::new(b"0123456789abcdef");
        learn(text, &mut scrub);
        scrub.clean(text)
    }

    #[test]
    fn paths_of_somebody_are_taken_out_and_their_lines_stay() {
        let clean = cleaned(
            "/srv/quillfeather/causes/plumword.toml:3: no such sign\n\
             \"says\": \"/data/quillfeather: mode 0755\", \"to_do\": \"chmod 700 /data/quillfeather\"",
        );
        assert!(!clean.contains("quillfeather"), "{clean}");
        assert!(!clean.contains("plumword"), "{clean}");
        assert!(clean.contains(":3: no such sign"), "{clean}");
        assert!(clean.contains("chmod 700 dir_"), "{clean}");
    }

    #[test]
    fn paths_that_every_host_has_stay() {
        for text in [
            "/proc/pressure/memory can be read",
            "echo 0 > /sys/kernel/mm/transparent_hugepage/defrag",
            "no file of symbols in /usr/lib/debug/.build-id",
            "/etc/freezeframe/freezeframe.toml:3: user: invalid type",
            "directory /var/lib/freezeframe, /var/lib/mysql",
            "status at http://127.0.0.1:9306/healthz and /metrics",
        ] {
            assert_eq!(cleaned(text), text);
        }
    }

    #[test]
    fn a_builder_is_taken_out_and_the_version_stays() {
        let clean = cleaned("server 8.0.36-quillfeather, \"kernel\":\"5.15.0-91-quillfeather\"");
        assert!(!clean.contains("quill"), "{clean}");
        assert!(clean.contains("server 8.0.36-name_"), "{clean}");
        for text in [
            "server 10.11.19-MariaDB-log",
            "8.0.36-28.1, 4.18.0-553.el8_10.x86_64",
            "6.1.0-18-cloud-amd64, from 0.5-1.5s",
        ] {
            assert_eq!(cleaned(text), text);
        }
    }

    #[test]
    fn addresses_are_taken_out() {
        let clean = cleaned("10.1.2.3:3306: gone, as [fd00::7]:9 and '10.1.2.4'.");
        assert!(!clean.contains("10.1.2"), "{clean}");
        assert!(!clean.contains("fd00"), "{clean}");
    }
}
