//! What of a variable's value is recorded.
//!
//! Servers and plugins have hundreds of variables, and any of them may hold a key: the headers of an exporter, a cloud's
//! connection string. So the name alone does not decide. A value is kept that can be nobody's secret by what it is
//! made of: numbers, flags, the servers' own words, a path. Free text is kept only of variables that are known to hold
//! a host, a name, a version or a format (`text_settings.txt`), and without what may log somebody in.

use std::collections::HashSet;
use std::sync::LazyLock;

use model::names_a_secret;

/// Variables that hold statements.
const STATEMENTS: [&str; 3] = ["init_connect", "init_slave", "init_replica"];

/// Variables whose value is a text and that are kept: what diagnosis reads, and names without which a reader, or
/// whoever replaces names, does not know what they mean.
static TEXTS: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| include_str!("text_settings.txt").lines().collect());

/// Those of them whose values have blanks. All others are one word, or a list: behind a blank there stand the options of a
/// program, or what somebody noted who showed the value to others.
const WITH_BLANKS: [&str; 9] = [
    "version_comment",
    "version_malloc_library",
    "version_ssl_library",
    "system_time_zone",
    "date_format",
    "datetime_format",
    "time_format",
    "ft_boolean_syntax",
    "innodb_data_file_path",
];

/// What a note behind a value begins with.
const NOTES: [&str; 5] = [" <-", " \u{2190}", " //", " --", " #"];

/// The program that a cluster's node runs, with options for it.
const PROGRAM: &str = "wsrep_notify_cmd";

/// Beginnings of names of such variables.
const TEXT_FAMILIES: [&str; 2] = ["character_set", "collation"];

/// Ends of names of variables that hold the place of a file. A key in base64 may begin with a slash, too.
const PATH_ENDS: [&str; 14] = [
    "dir",
    "directory",
    "directories",
    "file",
    "filename",
    "path",
    "basename",
    "socket",
    "home",
    "index",
    "_priv",
    "_provider",
    "_library",
    "_log",
];

/// Words of values that stand in no message of a server.
static VALUE_WORDS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    include_str!("setting_words.txt")
        .split_ascii_whitespace()
        .collect()
});

/// Longest value that is kept, characters.
const VALUE_CHARS_MAX: usize = 1000;

/// Digits of a number: the largest of 64 bits has 20.
const DIGITS_MAX: usize = 20;

/// Digits within a word that is made of several pieces, all together.
const JOINED_DIGITS_MAX: usize = 14;

/// Stands for a value that is not kept.
const HIDDEN: &str = "(hidden)";

/// The value as it may be recorded.
pub(crate) fn public_value(name: &str, value: &str) -> String {
    let lower = plain_name(name);
    let lower = lower.as_str();
    if STATEMENTS.contains(&lower) {
        return sql::redact_in_any_mode(value);
    }
    if is_flag(value) {
        return value.to_owned();
    }
    if names_a_secret(lower) || holds_a_secret(value) {
        return HIDDEN.to_owned();
    }
    let is_text =
        TEXTS.contains(lower) || TEXT_FAMILIES.iter().any(|family| lower.starts_with(family));
    let names_a_path = PATH_ENDS.iter().any(|end| lower.ends_with(end));
    let kept = if is_of_known_words(value) {
        value.to_owned()
    } else if is_text || (names_a_path && is_path(value)) {
        without_login(text_alone(lower, value))
    } else {
        HIDDEN.to_owned()
    };
    kept.chars().take(VALUE_CHARS_MAX).collect()
}

/// Whether the value of an option may not be shown where its whole command is: a secret, a statement with anybody's values
/// in it, an address with one of them.
pub fn is_private_option(name: &str, value: &str) -> bool {
    let name = plain_name(name);
    STATEMENTS.contains(&name.as_str())
        || names_a_secret(&name)
        || value
            .split_once("://")
            .is_some_and(|(_, rest)| rest.contains('@') || holds_a_secret(rest))
}

/// An option's name as that of its variable: `--loose-init-connect` sets `init_connect`.
fn plain_name(name: &str) -> String {
    let name = name.trim_start_matches('-').to_ascii_lowercase();
    let name = name.replace('-', "_");
    name.strip_prefix("loose_").unwrap_or(&name).to_owned()
}

/// What a password is not.
fn is_flag(value: &str) -> bool {
    ["", "ON", "OFF", "YES", "NO", "NULL", "DEFAULT"].contains(&value)
}

/// `…;ssl_password=x`, `X-Api-Key: y`: a pair in the value says that it holds a secret.
fn holds_a_secret(value: &str) -> bool {
    value
        .split([',', ';', '?', '&', ' ', '\t', '\n', '{', '"', '\''])
        .filter_map(|piece| piece.split_once(['=', ':']))
        .any(|(name, value)| !is_flag(value) && names_a_secret(name))
}

/// The text without what stands behind it.
fn text_alone<'a>(name: &str, value: &'a str) -> &'a str {
    let note = NOTES.iter().filter_map(|sign| value.find(sign)).min();
    let value = value.get(..note.unwrap_or(value.len())).unwrap_or(value);
    let is_file = name != PROGRAM && (value.starts_with(['/', '.']) || is_on_drive(value));
    if WITH_BLANKS.contains(&name) || is_file {
        return value.trim_end();
    }
    let mut blanks = value.match_indices(char::is_whitespace).map(|(at, _)| at);
    let end = blanks.find(|at| {
        let before = value.get(..*at).unwrap_or_default().trim_end();
        !before.is_empty() && !before.ends_with([',', ';'])
    });
    value.get(..end.unwrap_or(value.len())).unwrap_or(value)
}

/// `C:\dir`
fn is_on_drive(value: &str) -> bool {
    let mut letters = value.chars();
    letters.next().is_some_and(|c| c.is_ascii_alphabetic()) && letters.as_str().starts_with(":\\")
}

/// The value without the user and the password of an address: `https://bot:key@host/` is `https://host/`.
fn without_login(value: &str) -> String {
    let (head, rest) = match value.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), value),
    };
    match rest.rsplit_once('@') {
        // A password may hold any sign, so the last of these ends it. Without a scheme `user@host` is an account.
        Some((login, host)) if !head.is_empty() || login.contains(':') => format!("{head}{host}"),
        _ => value.to_owned(),
    }
}

/// A file or a folder, and nothing else.
fn is_path(value: &str) -> bool {
    (value.starts_with('/')
        || value.starts_with("./")
        || value.starts_with("../")
        || is_on_drive(value))
        && !value.contains("://")
        && !value.contains(|c: char| c.is_whitespace() || "=@?&;\"'".contains(c))
}

/// Whether all of a value is numbers, flags and words of the servers: a size, an enumeration, a set. Words with nothing
/// but a blank between them are a text, and so is what stands behind `=`, if it is no flag.
fn is_of_known_words(value: &str) -> bool {
    value.split([',', ';']).all(|part| {
        let (name, flag) = part.trim().split_once('=').unwrap_or((part.trim(), ""));
        let is_switch = ["", "on", "off", "default"].contains(&flag.to_ascii_lowercase().as_str());
        is_switch && name.split([':', '|', '(', ')', '*', '%']).all(is_known)
    })
}

/// A number, or a word whose pieces are all known: `READ-COMMITTED`, `10.11.6`, `aes-128-ecb`.
fn is_known(word: &str) -> bool {
    if word.is_empty() || is_number(word) || is_own(word) {
        return true;
    }
    let mut digits = 0;
    word.split(['-', '_', '.', '+', '/']).all(|piece| {
        let count = piece.bytes().filter(u8::is_ascii_digit).count();
        let is_number = count == piece.len();
        digits += if is_number { count } else { 0 };
        (is_number || is_own(piece)) && digits <= JOINED_DIGITS_MAX
    })
}

/// `-1`, `0.75`, `1e-9`, `128M`, `99%`.
fn is_number(word: &str) -> bool {
    let digits = word.bytes().filter(u8::is_ascii_digit).count();
    let bare = word.trim_end_matches(|c: char| "kKmMgGtTpPbBiIsS".contains(c));
    (1..=DIGITS_MAX).contains(&digits)
        && word.len() - bare.len() <= 3
        && bare.ends_with(|c: char| c.is_ascii_digit())
        && bare.parse::<f64>().is_ok()
}

fn is_own(word: &str) -> bool {
    server_text::is_message_word(word) || VALUE_WORDS.contains(word.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_hidden_and_policies_are_not() {
        assert_eq!(public_value("wsrep_sst_auth", "user:pass"), "(hidden)");
        assert_eq!(public_value("report_password", "12345678"), "(hidden)");
        assert_eq!(public_value("disconnect_on_expired_password", "ON"), "ON");
        assert_eq!(public_value("old_passwords", "0"), "0");
        assert_eq!(public_value("validate_password.policy", "MEDIUM"), "MEDIUM");
        assert_eq!(public_value("ngram_token_size", "2"), "2");
        assert_eq!(public_value("init_connect", "SET @a='x'"), "SET @a=?");
    }

    #[test]
    fn free_text_is_hidden_whatever_its_variable_is_called() {
        for (name, value) in [
            (
                "telemetry.otel_exporter_otlp_traces_headers",
                "x-honeycomb-team=hcaik_01hqk4k2",
            ),
            (
                "telemetry.otel_exporter_otlp_metrics_headers",
                "Authorization=Basic dXNlcjpwYXNz",
            ),
            ("telemetry.otel_exporter_otlp_logs_headers", "4711"),
            (
                "telemetry.otel_exporter_otlp_logs_endpoint",
                "https://user:pass@collector.example/v1",
            ),
            ("some_plugin_options", "x-team=4711"),
            ("some_plugin_options", "signoz-ingestion-key=page"),
            ("some_plugin_phrase", "correct horse battery staple"),
            ("some_plugin_phrase", "page log table"),
            ("some_plugin_name", "hunter2"),
            ("cloud_connection_string", "page"),
            ("admin_ssl_passphrase", "1234"),
            ("server_audit_syslog_info", "acme-prod"),
            ("made_up", "dXNlcjpwYXNz"),
            ("made_up", "hcaik_01hqk4k2"),
            ("made_up_dir", "/tmp?key=x"),
            ("made_up", "/dXNlcjpwYXNz"),
        ] {
            assert_eq!(public_value(name, value), "(hidden)", "{name} = {value}");
        }
    }

    #[test]
    fn a_listed_text_is_kept_without_a_login() {
        for (name, value, kept) in [
            (
                "wsrep_cluster_address",
                "gcomm://bot:p/w,x@10.0.0.1,db2:4567",
                "gcomm://10.0.0.1,db2:4567",
            ),
            ("report_host", "bot:key@db7", "db7"),
            ("mandatory_roles", "role1@%,role2", "role1@%,role2"),
            (
                "wsrep_cluster_address",
                "gcomm://a,b?socket.ssl_password=x",
                "(hidden)",
            ),
        ] {
            assert_eq!(public_value(name, value), kept);
        }
    }

    #[test]
    fn what_stands_behind_a_listed_text_is_none_of_it() {
        for (name, value, kept) in [
            (
                "wsrep_notify_cmd",
                "/usr/bin/notify.py --to dba --smtp hunter2",
                "/usr/bin/notify.py",
            ),
            (
                "wsrep_notify_cmd",
                "/usr/bin/notify.sh -phunter2",
                "/usr/bin/notify.sh",
            ),
            ("hostname", "db7 of Alice, hunter2", "db7"),
            ("report_host", "db7   <-- hunter2", "db7"),
            ("version_comment", "Acme build  // hunter2", "Acme build"),
            ("datadir", "/var/my data/  # hunter2", "/var/my data/"),
            (
                "gtid_executed",
                "a-1:1-5,\nb-2:1-9 hunter2",
                "a-1:1-5,\nb-2:1-9",
            ),
        ] {
            assert_eq!(public_value(name, value), kept);
        }
        for (name, value) in [
            ("version_ssl_library", "OpenSSL 3.0.11 19 Sep 2023"),
            ("system_time_zone", "Central European Standard Time"),
            ("ft_boolean_syntax", "+ -><()~*:\"\"&|"),
            ("tmpdir", "C:\\Windows Files\\Temp"),
            ("wsrep_cluster_address", "gcomm://db1, db2, db3"),
            ("wsrep_node_address", " db1"),
        ] {
            assert_eq!(public_value(name, value), value, "{name}");
        }
    }

    #[test]
    fn what_servers_say_by_themselves_is_kept() {
        for (name, value) in [
            ("innodb_buffer_pool_size", "17179869184"),
            ("innodb_max_dirty_pages_pct", "90.000000"),
            ("innodb_log_file_size", "48M"),
            ("optimizer_trace_offset", "-1"),
            ("transaction_isolation", "REPEATABLE-READ"),
            ("sql_mode", "STRICT_TRANS_TABLES,NO_BACKSLASH_ESCAPES"),
            ("optimizer_switch", "index_merge=on,mrr_cost_based=off"),
            ("made_up_switch", "index_merge=on,batched_key_access=off"),
            ("binlog_checksum", "CRC32"),
            ("block_encryption_mode", "aes-128-ecb"),
            ("collation_server", "latin1_swedish_ci"),
            ("default_authentication_plugin", "caching_sha2_password"),
            ("time_zone", "Europe/Berlin"),
            ("version", "10.11.6-MariaDB-acme-log"),
            ("version_comment", "Acme build"),
            ("innodb_flush_method", "O_DIRECT_NO_FSYNC"),
            ("innodb_data_file_path", "ibdata1:12M:autoextend"),
            (
                "log_error_services",
                "log_filter_internal; log_sink_internal",
            ),
            ("innodb_empty_free_list_algorithm", "backoff"),
            ("thread_handling", "pool-of-threads"),
            ("protocol_compression_algorithms", "zlib,zstd,uncompressed"),
            ("wsrep_osu_method", "TOI"),
            ("wsrep_sst_method", "xtrabackup-v2"),
            ("query_cache_type", "DEMAND"),
            ("datadir", "/var/lib/mysql/"),
            ("character_sets_dir", "/usr/share/mysql/charsets/"),
            ("innodb_undo_directory", "./"),
            ("wsrep_provider", "/usr/lib/galera/libgalera_smm.so"),
            ("hostname", "db7.acme.example"),
            ("bind_address", "*"),
            ("authentication_policy", "*,,"),
            ("tls_version", "TLSv1.2,TLSv1.3"),
            ("slave_skip_errors", "1062,1032"),
        ] {
            assert_eq!(public_value(name, value), value, "{name}");
        }
    }
}
