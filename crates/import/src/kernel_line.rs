//! What of a line of the kernel's log is the kernel's own: whoever shows a log may have written behind a line of it.
//!
//! Up to the end of a message that the lexicon knows a line stays as it is: names stand in such a message. Behind it, and in
//! a line without one, words stay that kernels and servers have, and numbers up to the first other word; of names those that
//! stand where the kernel prints a name. All else is `?`.

use lexicon::Kind;

/// Stands for what is not known.
const GONE: &str = "?";

/// Digits of a number; longer ones are those of cards and accounts.
const DIGITS_MAX: usize = 12;

/// Digits of all numbers of a word, such as an address of a device.
const JOINED_DIGITS_MAX: usize = 14;

/// Longest name of a task or of a control group, in bytes.
const NAME_BYTES_MAX: usize = 300;

/// So many numbers stand in front of a name in the kernel's list of tasks.
const TASK_NUMBERS_MIN: usize = 5;

/// Longest name of a program in front of its number.
const PROGRAM_BYTES_MAX: usize = 40;

/// Keys behind which the kernel writes a name.
const KEYS: [&str; 13] = [
    "comm",
    "task",
    "cpuset",
    "nodemask",
    "mems_allowed",
    "oom_memcg",
    "task_memcg",
    "global_oom",
    "constraint",
    "oom-kill:constraint",
    "dev",
    "IN",
    "OUT",
];

/// The line without what is not the kernel's. `from` is where its message begins; `is_kernels` tells that this is one of the
/// kernel's, which is known by what stands in front of it or by its begin.
pub(crate) fn own(text: &str, from: usize, is_kernels: bool) -> String {
    // What it says of a program is cut by its own grammar.
    if server_text::is_audit_record(text) {
        return text.to_owned();
    }
    let told = match is_kernels {
        true => message_end(text).max(from),
        false => from,
    };
    let (head, rest) = text.split_at_checked(told).unwrap_or((text, ""));
    let mut out = head.to_owned();
    let mut at = told;
    let mut is_doubtful = false;
    for piece in rest.split_inclusive(char::is_whitespace) {
        let word = piece.trim_end();
        let before = text.get(from..at).unwrap_or_default();
        at += piece.len();
        let kind = judge(word);
        let stays = match kind {
            Word::Own => true,
            Word::Number => !is_doubtful,
            Word::Other => is_in_place(before, word, is_kernels),
        };
        if stays {
            out.push_str(piece);
            continue;
        }
        is_doubtful = true;
        if !out.trim_end().ends_with(GONE) {
            out.push_str(GONE);
            out.push_str(piece.get(word.len()..).unwrap_or_default());
        }
    }
    out.truncate(out.trim_end().len());
    out
}

/// Where the last message of the kernel ends that the lexicon knows.
fn message_end(text: &str) -> usize {
    let found = lexicon::mentions(text);
    let found = found
        .iter()
        .filter(|one| one.entry.kind == Kind::KernelLine);
    let ends = found.filter_map(|one| Some(text.find(one.text)? + one.text.len()));
    ends.max().unwrap_or(0)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Word {
    /// Of kernels or servers.
    Own,
    /// It has a number in it.
    Number,
    Other,
}

/// Judges what stands between two blanks.
fn judge(word: &str) -> Word {
    let core = word.trim_matches(|c: char| c.is_ascii_punctuation());
    let mut digits = 0;
    let mut has_number = false;
    for name in core.split(|c: char| !(c.is_alphanumeric() || c == '_')) {
        if is_constant(name) {
            continue;
        }
        for part in name.split('_').filter(|part| !part.is_empty()) {
            if is_number(part) {
                digits += part.len();
            } else if !server_text::is_kernel_part(part, server_text::is_kernel_word) {
                return Word::Other;
            }
            has_number |= part.bytes().any(|byte| byte.is_ascii_digit());
            if digits > JOINED_DIGITS_MAX || (is_number(part) && part.len() > DIGITS_MAX) {
                return Word::Other;
            }
        }
    }
    match has_number {
        _ if core.contains('@') => Word::Other,
        true => Word::Number,
        false => Word::Own,
    }
}

/// `CONSTRAINT_MEMCG`, `__GFP_COMP`.
fn is_constant(name: &str) -> bool {
    name.contains('_')
        && name
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte == b'_')
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_name(text: &str) -> bool {
    (1..=NAME_BYTES_MAX).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_-./:+,".contains(&byte))
}

/// `io_schedule+0x46/0x70`.
pub(crate) fn is_function(word: &str) -> bool {
    let place = word
        .split_once("+0x")
        .and_then(|(_, rest)| rest.split_once("/0x"));
    place.is_some_and(|(from, size)| {
        let digits = from.bytes().chain(size.bytes());
        digits.filter(u8::is_ascii_hexdigit).count() > 1
    })
}

/// Whether the kernel prints a name where this word stands behind what is `before` it in its message.
fn is_in_place(before: &str, word: &str, is_kernels: bool) -> bool {
    let bare = word.trim_matches([',', '.', ';', ':']);
    let words = before.split_whitespace();
    let last = words.clone().next_back().unwrap_or_default();
    let in_brackets = |open: char, close: char| {
        let inner = bare.strip_prefix(open)?.strip_suffix(close)?;
        is_name(inner).then_some(inner)
    };
    let has_pid = |sign: char, end: &str| {
        let parts = bare
            .strip_suffix(end)
            .and_then(|bare| bare.rsplit_once(sign));
        parts.is_some_and(|(name, pid)| is_name(name) && is_number(pid))
    };
    let is_in_table = || {
        let row = words.clone().count() >= TASK_NUMBERS_MIN;
        row && words.clone().all(|word| {
            let number = word.trim_matches(['[', ']', '-']);
            number.is_empty() || is_number(number)
        })
    };
    // `name=value,name=value`
    let is_of_key = |pair: &str| {
        pair.split_once('=').is_some_and(|(key, value)| {
            let value = value.trim_matches(['(', ')', '"']);
            KEYS.contains(&key) && (value.is_empty() || is_name(value))
        })
    };
    let is_pairs = || {
        bare.contains('=')
            && bare
                .split(',')
                .all(|pair| judge(pair) != Word::Other || is_of_key(pair))
    };
    is_function(bare)
        || (is_function(last) && in_brackets('[', ']').is_some())
        || (["comm:", "Comm:"].contains(&last) && is_name(bare))
        || (last == "task" && has_pid(':', ""))
        // `Killed process 5 (mysqld)`, `Killed process 5, UID 27, (mysqld)`.
        || (before.contains("rocess ")
            && is_number(last.trim_end_matches(','))
            && in_brackets('(', ')').is_some())
        // `mysqld[4123]: segfault`.
        || ((last.is_empty() || last == "traps:") && has_pid('[', "]"))
        // A control group, in the kernel's own sentence.
        || (is_kernels
            && ["in", "of", "for"].contains(&last)
            && bare.starts_with('/')
            && is_name(bare))
        // `Not tainted 5.10.0-21-amd64`, `Tainted: P OE 5.4.0`.
        || (before.to_ascii_lowercase().contains("tainted")
            && bare.starts_with(|c: char| c.is_ascii_digit())
            && bare.contains('.')
            && is_name(bare))
        || is_pairs()
        || (is_in_table() && is_name(bare))
}

/// The line in front of what somebody noted behind it. The kernel itself has two minuses and a `#` in its lines, and two
/// slashes in front of a host, but no arrow.
pub(crate) fn without_note(text: &str) -> &str {
    let ends = [" <-", " \u{2190}", " //"]
        .into_iter()
        .flat_map(|sign| text.match_indices(sign));
    let ends = ends.filter(|(at, sign)| {
        let behind = text.get(at + sign.len()..).unwrap_or_default();
        behind.is_empty() || behind.starts_with([' ', '-', '='])
    });
    match ends.map(|(at, _)| at).min() {
        Some(end) => text.get(..end).unwrap_or(text).trim_end(),
        None => text,
    }
}

/// `cloud-init[812]: text`. What the kernel tells of a process that it ended begins so, too: `mysqld[4123]: segfault at 0`.
pub(crate) fn is_said_by_program(message: &str) -> bool {
    const OF_KERNEL: [&str; 8] = [
        "segfault ",
        "trap ",
        "unhandled ",
        "bad frame ",
        "undefined instruction",
        "general protection",
        "vsyscall ",
        "syscall ",
    ];
    let Some((name, rest)) = message.split_once('[') else {
        return false;
    };
    let is_of_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.@()/".contains(&byte);
    let is_number = |text: &str| {
        (1..=10).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    let is_name = (1..=PROGRAM_BYTES_MAX).contains(&name.len()) && name.bytes().all(is_of_name);
    is_name
        && rest.split_once("]: ").is_some_and(|(pid, said)| {
            is_number(pid) && !OF_KERNEL.iter().any(|begin| said.starts_with(begin))
        })
}

#[cfg(test)]
mod tests {
    use super::{own, without_note};

    #[test]
    fn what_is_written_behind_a_message_is_not_kept() {
        for (text, kept) in [
            (
                "INFO: task mysqld:4123 blocked for more than 120 seconds. Alice has hunter2",
                "INFO: task mysqld:4123 blocked for more than 120 seconds. ? has ?",
            ),
            (
                "INFO: task shop-api:4123 blocked for more than 120 seconds, hunter2 4711",
                "INFO: task shop-api:4123 blocked for more than 120 seconds, ?",
            ),
            (
                "Out of memory: Killed process 5 (shop-api) total-vm:9kB, anon-rss:8kB hunter2",
                "Out of memory: Killed process 5 (shop-api) total-vm:9kB, anon-rss:8kB ?",
            ),
            (
                "sd 0:0:0:0: [sda] I/O error, dev sda, sector 4711 (hunter2) pin=4711",
                "sd 0:0:0:0: [sda] I/O error, dev sda, sector 4711 ?",
            ),
            (
                "INFO: task mysqld:4123 blocked for more than 120 seconds. 4111111111111111",
                "INFO: task mysqld:4123 blocked for more than 120 seconds. ?",
            ),
            (
                "INFO: task mysqld:4123 blocked for more than 120 seconds. alice@example.com",
                "INFO: task mysqld:4123 blocked for more than 120 seconds. ?",
            ),
        ] {
            assert_eq!(own(text, 0, true), kept);
            assert_eq!(own(kept, 0, true), kept);
        }
        // Of no kernel's line the begin is somebody's, too.
        let own = own("quillf has OOMKilled 4711", 0, false);
        assert_eq!(own, "? has OOMKilled ?");
    }

    #[test]
    fn what_the_kernel_says_stays() {
        for text in [
            "Killed process 11726, UID 498, (shop-api) total-vm:7823732kB, anon-rss:1kB, file-rss:0kB",
            "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=docker-a1.scope,mems_allowed=0,task=shop-api,pid=5,uid=27",
            "quillf invoked oom-killer: gfp_mask=0x6280ca(GFP_HIGHUSER_MOVABLE|__GFP_ZERO), order=0, oom_score_adj=0",
            "[  812]    27   812  1234567   1000 0 quillf",
            "CPU: 3 PID: 4123 Comm: quillf Not tainted 5.10.0-21-amd64 #1",
            "Not tainted 5.4.17-2136.302.el7uek.x86_64 #2",
            "quillf[4123]: segfault at 0 ip 0000 sp 0000 error 4 in libc.so.6[7f00+1b000]",
            " ? quillf_fsync+0x44/0x120 [quillf]",
            "TCP: request_sock_TCP: Possible SYN flooding on port 3306. Sending cookies.",
            "nvme nvme0: I/O 12 QID 3 timeout, aborting",
            "EXT4-fs (dm-3): mounted filesystem",
        ] {
            assert_eq!(own(text, 0, true), text);
        }
    }

    #[test]
    fn what_somebody_notes_behind_a_line_is_none_of_it() {
        let line = "[   25.000001] FS-Cache: Loaded";
        for note in [
            " <- Alice, hunter2",
            "   <---- hunter2",
            " \u{2190} hunter2",
            "  // hunter2",
        ] {
            assert_eq!(without_note(&format!("{line}{note}")), line);
        }
        for line in [
            "[   25.000001] CIFS: Attempting to mount //srv/share",
            "[   25.000001] TCP: out of memory -- consider tuning tcp_mem",
            "[   25.000001] -> #1 (&mm->mmap_sem){++++}:",
            "[   25.000001] a <-5 b",
        ] {
            assert_eq!(without_note(line), line);
        }
    }
}
