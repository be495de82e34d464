//! Names of settings, options, fields and headers whose value is a secret (`model::SECRET_WORDS`), as they are looked for in
//! what is redacted.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;
pub(super) use model::names_a_secret as is_secret;
use model::{SECRET_WORDS, WHOLE_SECRET_WORDS};

/// Values that are no secret wherever they stand. What we left out ourselves is told in brackets; a form ends at a blank
/// or at the second one.
const NO_SECRETS: [&str; 15] = [
    "",
    "?",
    "(hidden)",
    "(hidden",
    "(left out)",
    "(left",
    "yes",
    "no",
    "on",
    "off",
    "null",
    "none",
    "default",
    "0",
    "1",
];

/// Whether a value behind such a name is none: that there is one, or that there is not.
pub(super) fn is_none(value: &str) -> bool {
    NO_SECRETS.contains(&value.to_ascii_lowercase().as_str())
}

/// Whether a line may have such a name at all: most have none.
pub(super) fn is_mentioned(line: &str) -> bool {
    static WORDS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
        // Of several words of a part the longest.
        let words = SECRET_WORDS.map(|part| {
            part.split('_')
                .max_by_key(|word| word.len())
                .unwrap_or(part)
        });
        AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .build(words.iter().chain(&WHOLE_SECRET_WORDS))
            .ok()
    });
    WORDS.as_ref().is_none_or(|words| words.is_match(line))
}

/// The parts as one form of a regular expression.
pub(super) fn form() -> String {
    let parts = SECRET_WORDS.map(|part| part.replace('_', "[_.-]"));
    let whole = WHOLE_SECRET_WORDS.join("|");
    format!(r"{}|(?:\b|[_.-])(?:{whole})\b", parts.join("|"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_known_however_they_are_written() {
        for name in [
            "password",
            "--report-password",
            "wsrep_sst_auth",
            "loose-some_Secret",
            "telemetry.otel_exporter_otlp_traces_headers",
            "x-api-key",
            "ssl-passphrase",
            "signoz-ingestion-key",
            "Authorization",
            "db_pass",
        ] {
            assert!(is_secret(name) && is_mentioned(name), "{name}");
        }
        for name in [
            "validate_password.length",
            "innodb_ft_min_token_size",
            "default_authentication_plugin",
            "loose_old_passwords",
            "max_connections",
            "author",
        ] {
            assert!(!is_secret(name), "{name}");
        }
    }
}
