//! Names of settings, options, fields and headers whose value is a secret: one list for all that is redacted.

use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

/// Parts of such names, in lower case. A `_` stands for whatever is between words.
pub(super) const PARTS: [&str; 20] = [
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "credential",
    "authorization",
    "authentication_string",
    "_auth",
    "api_key",
    "apikey",
    "access_key",
    "accesskey",
    "ingestion_key",
    "license_key",
    "filekey",
    "provider_options",
    "_headers",
    "cookie",
];

/// Beginnings of names that have such a part, and tell a policy or a size.
const POLICIES: [&str; 13] = [
    "validate_password",
    "simple_password",
    "strict_password",
    "password_history",
    "password_reuse",
    "password_require",
    "old_passwords",
    "default_password_lifetime",
    "generated_random_password",
    "caching_sha2_password_digest",
    "default_auth",
    "innodb_ft_min_token",
    "innodb_ft_max_token",
];

/// Values that are no secret wherever they stand.
const NO_SECRETS: [&str; 12] = [
    "", "?", "(hidden)", "yes", "no", "on", "off", "null", "none", "default", "0", "1",
];

/// Whether the value of what is called so is a secret.
pub(super) fn is_secret(name: &str) -> bool {
    let name = normal(name);
    let name = name.trim_start_matches('_');
    let name = name.strip_prefix("loose_").unwrap_or(name);
    PARTS.iter().any(|part| name.contains(part))
        && !POLICIES.iter().any(|policy| name.starts_with(policy))
}

/// Whether a value behind such a name is none: that there is one, or that there is not.
pub(super) fn is_none(value: &str) -> bool {
    NO_SECRETS.contains(&value.to_ascii_lowercase().as_str())
}

/// Whether a line may have such a name at all: most have none.
pub(super) fn is_mentioned(line: &str) -> bool {
    static WORDS: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
        // Of several words of a part the longest.
        let words = PARTS.map(|part| {
            part.split('_')
                .max_by_key(|word| word.len())
                .unwrap_or(part)
        });
        AhoCorasick::builder()
            .ascii_case_insensitive(true)
            .build(words)
            .ok()
    });
    WORDS.as_ref().is_none_or(|words| words.is_match(line))
}

/// The parts as one form of a regular expression.
pub(super) fn form() -> String {
    PARTS.map(|part| part.replace('_', "[_.-]")).join("|")
}

fn normal(name: &str) -> String {
    name.to_ascii_lowercase().replace(['-', '.'], "_")
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
