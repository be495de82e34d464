//! Words that say that what follows is a secret.

/// Parts of the names of settings, options, headers and keys whose value is a secret, or may hold one. In small letters
/// and with `_` between words, as [`names_a_secret`] reads a name.
pub const SECRET_WORDS: [&str; 26] = [
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "_auth",
    "authentication_string",
    "authorization",
    "secret",
    "token",
    "bearer",
    "cookie",
    "credential",
    "header",
    "api_key",
    "apikey",
    "access_key",
    "accesskey",
    "ingestion_key",
    "private_key",
    "privatekey",
    "signing_key",
    "license_key",
    "filekey",
    "connection_string",
    "connectionstring",
    "provider_options",
];

/// The same for words that are parts of others (`pass` of `bypass`): between dashes, points and ends
/// of a name only.
pub const WHOLE_SECRET_WORDS: [&str; 7] =
    ["pass", "passcode", "psk", "otp", "jwt", "dsn", "signature"];

/// Beginnings of names that have such a word and tell a policy, a size or a method.
const POLICIES: [&str; 15] = [
    "validate_password",
    "simple_password",
    "strict_password",
    "password_history",
    "password_reuse",
    "password_require",
    "old_passwords",
    "default_password_lifetime",
    "default_auth",
    "generated_random_password",
    "caching_sha2_password_digest",
    "innodb_ft_max_token",
    "innodb_ft_min_token",
    "ngram_token_size",
    "mecab_token_size",
];

/// Whether a name says that its value is a secret: `api-key`, `Api Key` and `api.key` are the same name.
pub fn names_a_secret(name: &str) -> bool {
    let name: String = name
        .chars()
        .map(|c| match c {
            '-' | '.' | ' ' => '_',
            c => c.to_ascii_lowercase(),
        })
        .collect();
    let name = name.trim_start_matches('_');
    let name = name.strip_prefix("loose_").unwrap_or(name);
    let has_word = SECRET_WORDS.iter().any(|word| name.contains(word))
        || name
            .split('_')
            .any(|word| WHOLE_SECRET_WORDS.contains(&word));
    has_word && !POLICIES.iter().any(|policy| name.starts_with(policy))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_known_however_its_words_are_parted() {
        for name in [
            "ssl_passphrase",
            "x-api-key",
            "Api Key",
            "signoz-ingestion-key",
            "Authorization",
            "AccountConnectionString",
            "telemetry.otel_exporter_otlp_traces_headers",
            "wsrep_sst_auth",
            "X-Amz-Signature",
            "db-pass",
        ] {
            assert!(names_a_secret(name), "{name}");
        }
        for name in [
            "key_buffer_size",
            "author",
            "innodb_page_size",
            "validate_password.length",
            "loose-old-passwords",
            "ngram_token_size",
            "bypass_cache",
            "signal",
            "dsnet",
        ] {
            assert!(!names_a_secret(name), "{name}");
        }
    }
}
