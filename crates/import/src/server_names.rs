//! Names of settings and counters as servers and kernels have them. Among the rows of such a table, or among the options of a file, there
//! may be others: what stands behind a name that no server has is somebody's.

use std::collections::HashSet;
use std::sync::LazyLock;

use lexicon::{Kind, Lexicon};
use model::{Fact, Reading};

/// Families of settings and counters of servers and their engines, by the first word of their names, in small letters.
const FAMILIES: [&str; 23] = [
    "aria",
    "audit",
    "aurora",
    "binlog",
    "caching",
    "clone",
    "com",
    "handler",
    "innodb",
    "mariadb",
    "mysql",
    "mysqlx",
    "optimizer",
    "performance",
    "qcache",
    "rocksdb",
    "rpl",
    "slave",
    "spider",
    "ssl",
    "threads",
    "tokudb",
    "wsrep",
];

/// Digits under a name that is only made of words of servers; longer numbers are those of cards and accounts.
const DIGITS_MAX: usize = 12;

/// Stands for a value that is not kept.
const HIDDEN: &str = "(hidden)";

/// Words in names of variables that stand in no message.
static WORDS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    server_text::VARIABLE_WORDS
        .split_ascii_whitespace()
        .collect()
});

/// Words in names of the kernel's settings and counters.
static KERNEL_WORDS: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| server_text::KERNEL_NAMES.split_ascii_whitespace().collect());

/// Whether a name is one of a server's.
pub(crate) fn is_servers(name: &str) -> bool {
    let known = |kind| Lexicon::get().lookup(kind, name).is_some();
    let family = name.split('_').next().unwrap_or_default();
    FAMILIES.contains(&family.to_ascii_lowercase().as_str())
        || server_text::is_message_word(name)
        || known(Kind::Setting)
        || known(Kind::Status)
}

/// A setting as a fact. Under a name that no server has the value is not kept.
pub(crate) fn setting(name: &str, value: &str) -> Fact {
    match is_kept(name, value) {
        true => server::variable_fact(name, value),
        false => Fact::new(format!("variables.{name}"), HIDDEN),
    }
}

/// A counter; none where the name is no server's, or the value no number.
pub(crate) fn counter(name: &str, value: &str) -> Option<Reading> {
    server::status_reading(name, value).filter(|_| is_kept(name, value))
}

fn is_kept(name: &str, value: &str) -> bool {
    let digits = value.bytes().filter(u8::is_ascii_digit).count();
    let is_flag = value.is_empty() || ["ON", "OFF"].contains(&value);
    is_flag || is_servers(name) || (digits <= DIGITS_MAX && is_of_servers_words(name))
}

/// A plug-in's and a younger server's names are made of the same words.
fn is_of_servers_words(name: &str) -> bool {
    name.split(['_', '.']).all(|word| {
        let stem = word.trim_end_matches(|c: char| c.is_ascii_digit());
        stem.len() < 2
            || server_text::is_message_word(stem)
            || WORDS.contains(stem.to_ascii_lowercase().as_str())
    })
}

/// Whether the name of a kernel's setting or counter is made of words of kernels.
pub(crate) fn is_kernels(name: &str) -> bool {
    let is_word = |word: &str| {
        KERNEL_WORDS.contains(word) || WORDS.contains(word) || server_text::is_kernel_word(word)
    };
    let lower = name.to_ascii_lowercase();
    lower
        .split(|c: char| !c.is_alphanumeric())
        .all(|word| is_word(word) || word.split(|c: char| c.is_ascii_digit()).all(is_word))
}

#[cfg(test)]
mod tests {
    use super::{counter, is_kernels, setting};

    #[test]
    fn under_a_name_of_nobodys_server_nothing_is_kept() {
        for (name, value, kept) in [
            ("max_connections", "500", "500"),
            ("innodb_made_up", "4711", "4711"),
            ("thread_pool_made_up", "ON", "ON"),
            ("validate_password.length", "8", "8"),
            ("auto_increment_increment", "2", "2"),
            ("customer_card", "4111", "(hidden)"),
            ("quillfeather_pin", "4711", "(hidden)"),
            ("account_number", "4111111111111111", "(hidden)"),
        ] {
            let fact = setting(name, value);
            assert_eq!(
                (fact.name, fact.value),
                (format!("variables.{name}"), kept.to_owned())
            );
        }
        for name in ["Threads_running", "Uptime", "Innodb_made_up", "Queries"] {
            assert_eq!(counter(name, "4711").map(|one| one.value), Some(4711.0));
        }
        for name in ["Customer_card", "Quillfeather_pin"] {
            assert!(counter(name, "4711").is_none(), "{name}");
        }
    }

    #[test]
    fn names_of_kernels_are_known_by_their_words() {
        for name in [
            "vm.dirty_ratio",
            "vm.min_free_kbytes",
            "net.ipv4.tcp_max_syn_backlog",
            "net.netfilter.nf_conntrack_max",
            "kernel.sched_min_granularity_ns",
            "fs.file-max",
            "cgroup.memory_max",
        ] {
            assert!(is_kernels(name), "{name}");
        }
        for name in ["vm.quillfeather_pin", "kernel.hunter2", "cgroup.customer"] {
            assert!(!is_kernels(name), "{name}");
        }
    }
}
