//! Words and numbers of InnoDB's own lines.

use crate::error_log::is_message_word;

/// Words of InnoDB's lines that stand in no message.
const WORDS: [&str; 18] = [
    "activity",
    "allocated",
    "averages",
    "calculated",
    "coalesced",
    "deep",
    "individually",
    "intention",
    "merges",
    "oldest",
    "printing",
    "printout",
    "prints",
    "sleeping",
    "various",
    "wait_ex",
    "young",
    "youngs",
];

/// Folders of InnoDB's sources, with which the names of their files begin: `row0sel.cc`.
const FOLDERS: [&str; 37] = [
    "arch", "btr", "buf", "clone", "data", "ddl", "dict", "dyn", "eval", "fil", "fsp", "fts",
    "fut", "gis", "ha", "handler", "ibuf", "lob", "lock", "log", "mach", "mem", "mtr", "os",
    "page", "pars", "que", "read", "rem", "row", "srv", "sync", "thr", "trx", "usr", "ut", "zip",
];

/// Stands for what is no statement, and for what is no word of InnoDB's.
pub(super) const GONE: &str = "?";

/// Longest number with what stands behind it: hexadecimal digits of a thread.
const NUMBER_BYTES_MAX: usize = 20;

/// Hexadecimal digits that begin with a letter are a thread from here on.
pub(super) const THREAD_BYTES_MIN: usize = 8;

/// A file of InnoDB's sources, without its end: `row0sel`. In front of the zero stands its folder.
pub fn is_source(word: &str) -> bool {
    word.split_once('0').is_some_and(|(folder, rest)| {
        FOLDERS.contains(&folder)
            && rest
                .bytes()
                .all(|byte| byte.is_ascii_lowercase() || byte == b'_')
    })
}

pub(super) fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// A number, or a word that is made of InnoDB's.
pub(super) fn is_own(word: &str) -> bool {
    let digits = word.strip_prefix("0x").unwrap_or(word);
    let digits = digits.trim_end_matches(['k', 'm', 's']);
    let is_long = digits.len() >= THREAD_BYTES_MIN;
    let is_number = digits.len() <= NUMBER_BYTES_MAX
        && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        && digits.bytes().any(|byte| byte.is_ascii_digit())
        && (is_long || digits.starts_with(|c: char| c.is_ascii_digit()));
    let is_word = |word: &str| {
        word.len() < 2
            || word.bytes().all(|byte| byte.is_ascii_digit())
            || is_message_word(word)
            || WORDS.contains(&word.to_ascii_lowercase().as_str())
    };
    is_number || is_word(word) || word.split('_').all(is_word)
}
