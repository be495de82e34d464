//! Names of settings and of status variables.
//!
//! A recorder has them from the server. An import takes whatever a text has in their place: a table of an application
//! with a name and a number in each row, a connection in front of a setting (`acme.replicate_do_db`), a value that went
//! on to the next line of an option file. The thousand names of servers are made of few words, so a part of a name in
//! which another word stands is somebody's.

use std::collections::HashSet;
use std::sync::LazyLock;

use super::keywords::is_keyword;
use super::well_known;

/// Areas of facts and signals whose names are those of variables.
const AREAS: [&str; 3] = ["variables.", "status.", "limits."];

/// Words in names of variables, in lower case.
static WORDS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let own = well_known::server().chain([
        well_known::STRUCTURE,
        include_str!("words/variable-words.txt"),
        include_str!("words/setting-values.txt"),
        include_str!("words/character-sets.txt"),
    ]);
    own.flat_map(|text| text.split(|c: char| !c.is_ascii_alphanumeric()))
        .collect()
});

/// Whether the name of a fact or a signal is one of a variable that no server has.
pub(crate) fn is_somebodys(name: &str) -> bool {
    parted(name).is_some_and(|(_, variable)| !variable.split('.').all(is_servers))
}

/// The area of such a name and the rest; nothing of any other name.
pub(super) fn parted(name: &str) -> Option<(&'static str, &str)> {
    AREAS
        .iter()
        .find_map(|area| Some((*area, name.strip_prefix(area)?)))
}

/// Whether a part between two points has no other words than servers use.
pub(super) fn is_servers(part: &str) -> bool {
    let lower = part.to_ascii_lowercase();
    lower.split(|c: char| !c.is_alphanumeric()).all(is_word)
}

/// A word of servers, also with a number at its end: `sha2`, `utf8mb4`.
fn is_word(word: &str) -> bool {
    let stem = word.trim_end_matches(|c: char| c.is_ascii_digit());
    stem.len() < 2
        || [word, stem].into_iter().any(|word| {
            WORDS.contains(word) || is_keyword(word) || server_text::is_message_word(word)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_servers_are_known_by_their_words() {
        for name in [
            "variables.innodb_buffer_pool_size",
            "variables.validate_password.length",
            "variables.performance_schema_max_mutex_classes",
            "variables.caching_sha2_password_digest_rounds",
            "variables.telemetry.otel_exporter_otlp_traces_headers",
            "status.Innodb_buffer_pool_pages_dirty",
            "status.Qcache_lowmem_prunes",
            "status.Com_show_warnings",
            "status.wsrep_flow_control_paused_ns",
            "limits.open_files",
            "cgroup.acme",
        ] {
            assert!(!is_somebodys(name), "{name}");
        }
        for name in [
            "variables.acme_shop.replicate_do_db",
            "variables.hunter2",
            "status.Alice_Miller",
            "status.Orders_of_acme",
        ] {
            assert!(is_somebodys(name), "{name}");
        }
    }
}
