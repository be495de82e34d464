//! Lines of the kernel's log: forms of names first, and then word by word.
//!
//! What a kernel says is made of some thousand words, of numbers, and of names of functions, devices and drivers, most of
//! which have a sign or a digit in them. A plain word that is none of these becomes `?`, as in a server's log: it is no
//! name that could be followed.

use super::pseudonyms::Pseudonyms;
use super::{text, well_known};

/// Stands for what is not known.
const GONE: &str = "?";

/// Shorter words name nobody.
const LETTERS_MIN: usize = 3;

/// So many hexadecimal digits are an address.
const HEX_DIGITS_MIN: usize = 8;

/// Names of devices before their numbers, of registers, of days and months, and what few lines of the kernel have.
const WORDS: [&str; 66] = [
    "apr", "aug", "bcache", "bios", "bond", "code", "comm", "dec", "dmi", "dst", "efer", "eflags",
    "eno", "enp", "ens", "eth", "feb", "fri", "gmt", "hda", "ifb", "jan", "jul", "jun", "len",
    "loop", "mac", "mar", "may", "mmcblk", "mon", "nbd", "nov", "null", "nvme", "oct", "opts",
    "pgtables", "pkru", "ppid", "proto", "ram", "rax", "rbd", "rbp", "rbx", "rcx", "rdi", "rdx",
    "rip", "rsi", "rsp", "sat", "sep", "src", "sun", "swapents", "tag", "tgid", "thu", "tos",
    "ttl", "tue", "utc", "wed", "xvd",
];

/// The lines with other names.
pub(super) fn rename(pseudonyms: &mut Pseudonyms<'_>, body: &str) -> String {
    let renamed = text::rename(pseudonyms, body);
    let mut out = String::with_capacity(renamed.len());
    let mut rest = renamed.as_str();
    while let Some(first) = rest.chars().next() {
        let is_piece = is_of_piece(first);
        let end = rest.find(|c| is_of_piece(c) != is_piece);
        let (piece, behind) = rest.split_at(end.unwrap_or(rest.len()));
        rest = behind;
        let word = piece.trim_matches(|c: char| !c.is_alphanumeric());
        match is_piece && !is_known(pseudonyms, word) {
            true => out.push_str(&piece.replacen(word, GONE, 1)),
            false => out.push_str(piece),
        }
    }
    out
}

/// What stands in names of functions, files and devices, and in numbers.
fn is_of_piece(c: char) -> bool {
    c.is_alphanumeric() || "_/.+:-@#$".contains(c)
}

/// Whether a word may stay: it has a sign in it, it is a number, or all its runs of letters are known.
fn is_known(pseudonyms: &Pseudonyms<'_>, word: &str) -> bool {
    let has_sign = word.contains(|c: char| !c.is_alphanumeric());
    let is_address =
        word.len() >= HEX_DIGITS_MIN && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    has_sign
        || is_address
        || pseudonyms.is_own(word)
        || word
            .split(|c: char| c.is_ascii_digit())
            .all(|run| is_word(pseudonyms, run))
}

fn is_word(pseudonyms: &Pseudonyms<'_>, run: &str) -> bool {
    let lower = run.to_lowercase();
    let lower = lower.as_str();
    lower.chars().count() < LETTERS_MIN
        || WORDS.contains(&lower)
        || model::is_kernel_word(lower)
        || server_text::is_message_word(lower)
        || well_known::PROGRAMS.contains(&lower)
        // `sda` and `vdb`: each disk has a letter.
        || (run.is_ascii() && run.len() == LETTERS_MIN && (lower.starts_with("sd") || lower.starts_with("vd")))
        || pseudonyms.is_own(lower)
}
