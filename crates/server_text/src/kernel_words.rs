//! Words of the kernel's log, where people may have written between them.
//!
//! What the kernel says is made of some thousand words, of numbers, and of names of functions, devices, drivers and files of
//! sources, which have signs and digits between words.

/// Shorter words name nobody.
const LETTERS_MIN: usize = 3;

/// So many hexadecimal digits are an address.
const HEX_DIGITS_MIN: usize = 8;

/// So few are the number of a device.
const HEX_DIGITS_FEW: usize = 4;

/// Words of short pieces: a key is written like them.
const MIXED: [&str; 8] = [
    "e1000e", "i2c", "i2s", "i40e", "l2tp", "p2p", "s2io", "v4l2",
];

/// Names of devices before their numbers, of registers, of days and months, and what few lines of the kernel have.
const WORDS: [&str; 72] = [
    "adj",
    "amd",
    "apr",
    "aug",
    "bcache",
    "bios",
    "bond",
    "code",
    "comm",
    "conntrack",
    "dec",
    "dmi",
    "dst",
    "efer",
    "eflags",
    "eno",
    "enp",
    "ens",
    "eth",
    "feb",
    "fri",
    "gfp",
    "gmt",
    "hda",
    "ifb",
    "jan",
    "jul",
    "jun",
    "len",
    "libc",
    "loop",
    "mac",
    "mar",
    "may",
    "mmcblk",
    "mon",
    "nbd",
    "nov",
    "null",
    "nvme",
    "oct",
    "opts",
    "pgtables",
    "pkru",
    "ppid",
    "proto",
    "ram",
    "rax",
    "rbd",
    "rbp",
    "rbx",
    "rcx",
    "rdi",
    "rdx",
    "rip",
    "rsi",
    "rsp",
    "sat",
    "sem",
    "sep",
    "src",
    "sun",
    "swapents",
    "tag",
    "tgid",
    "thu",
    "tos",
    "ttl",
    "tue",
    "utc",
    "wed",
    "xvd",
];

/// Whether letters stand in lines of the kernel's or of a server's log, are a disk, or are too few to name anybody.
pub fn is_kernel_word(letters: &str) -> bool {
    let lower = letters.to_lowercase();
    let lower = lower.as_str();
    lower.chars().count() < LETTERS_MIN
        || WORDS.contains(&lower)
        || model::is_kernel_word(lower)
        || crate::is_message_word(lower)
        // `sda` and `vdb`: each disk has a letter.
        || (letters.is_ascii()
            && letters.len() == LETTERS_MIN
            && (lower.starts_with("sd") || lower.starts_with("vd")))
}

/// Whether a part of a word, without signs, may be the kernel's: it is a number or an address, or `is_word` knows each run of
/// letters between its digits.
pub fn is_kernel_part(part: &str, is_word: impl Fn(&str) -> bool) -> bool {
    let prefixed = part.strip_prefix("0x");
    let digits = prefixed.unwrap_or(part);
    // Few letters alone are a name as well: `abe`, `dee`.
    let is_short = digits.len() <= HEX_DIGITS_FEW && digits.bytes().any(|c| c.is_ascii_digit());
    let is_length = digits.len() >= HEX_DIGITS_MIN || is_short;
    if digits.bytes().all(|byte| byte.is_ascii_hexdigit()) && (is_length || prefixed.is_some()) {
        return true;
    }
    let runs = || part.split(|c: char| c.is_ascii_digit());
    let letters = runs().filter(|run| !run.is_empty()).count();
    // Short runs of letters between digits are a key's, unless a word stands beside them: `nvme0n1p1`.
    let is_mixed = letters > 1
        && runs().all(|run| run.chars().count() < LETTERS_MIN)
        && !MIXED.contains(&part.to_lowercase().as_str());
    !is_mixed && runs().all(is_word)
}
