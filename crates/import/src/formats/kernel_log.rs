//! Lines of the kernel's log, and what keepers of containers say of their ends.
//!
//! A syslog has the lines of all programs, and people write between lines that they show. Nothing is kept of what is not
//! the kernel's by its form but the lexicon's own words: an application's line may hold anything.

use lexicon::Kind;

use crate::format::Candidate;
use crate::format::{Format, Gap, Group, Recogniser, sign};
use crate::kernel_line::{self, is_function, is_said_by_program, without_note};
use crate::line::Line;
use crate::prefixes::Prefixes;
use crate::read::Read;
use crate::read::Timestamp;
use crate::times::{behind_month, behind_syslog_date, starts_with_syslog_date};

pub(crate) static FORMAT: Format = Format {
    id: "kernel_log",
    group: Group::Host,
    name: "kernel log",
    printed_by: "dmesg, syslog, containers' keepers",
    content: "lines that matter",
    recognisers: &[Recogniser::new(220, "", 0, is_kernel_log)],
    continues: |_, next| next.own.is_none() && is_kernel_detail(next.text),
    gap: Gap::Lines(4),
    read,
    ..Format::NONE
};

/// Longest that stands in front of the kernel's stamp: a host, a container, a prompt.
const PREFIX_BYTES_MAX: usize = 64;

/// Digits of the kernel's seconds since its start: those of a program's log are since 1970, and have one more.
const SECONDS_DIGITS_MAX: usize = 9;

/// `[12345.678901] text`, `Jan  1 00:00:00 host kernel: text`, what the kernel alone says without
/// either or with nothing but a date in front, a container that was killed.
fn is_kernel_log(at: &Candidate<'_>) -> bool {
    let text = without_level(at.text);
    let undated = behind_syslog_date(text).unwrap_or(text);
    (at.has(sign::BRACKET) && is_stamped(undated))
        || is_syslog(text)
        || is_message(undated)
        || (at.has(sign::EQUAL) && is_want_of_memory(undated))
        || (at.has(sign::CAPITAL_O)
            && text.contains("OOMKilled")
            && text.split_whitespace().any(|word| word == "OOMKilled"))
}

/// `<4>text` → `text`.
fn without_level(text: &str) -> &str {
    let behind = text.strip_prefix('<').and_then(|rest| rest.split_once('>'));
    behind.map_or(text, |(_, rest)| rest)
}

/// A line that belongs to the message above it: the state and the stack of a task.
fn is_kernel_detail(text: &str) -> bool {
    const STARTS: [&str; 6] = [
        "Call Trace:",
        "\"echo 0 > /proc/sys/kernel/hung_task_timeout_secs\"",
        "Not tainted ",
        "Tainted: ",
        "RIP: ",
        "Kernel panic - not syncing",
    ];
    let undated = behind_syslog_date(text).unwrap_or(text);
    STARTS.iter().any(|start| undated.starts_with(start)) || is_exact_detail(text)
}

/// One of which each part has a form, so that nothing else is in it.
fn is_exact_detail(text: &str) -> bool {
    let text = without_note(text);
    let text = behind_syslog_date(text).unwrap_or(text);
    let is_hex = |word: &str| {
        let digits = word.trim_start_matches("0x");
        digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let is_address = |word: &str| (8..=18).contains(&word.len()) && is_hex(word);
    let mut words = text.split_whitespace();
    (words.clone().count() > 0 && words.clone().all(is_address))
        || is_kernel_frame(text)
        // `jbd2/dm-9-8  D ffff81043e0a1420  0  762  585`.
        || (words.nth(1).is_some_and(|state| ["D", "R", "S"].contains(&state))
            && words.clone().any(|word| word.parse::<u32>().is_ok())
            && words.all(|word| is_hex(word) || ["running", "task"].contains(&word)))
}

/// `[<ffffffff8109b5a6>] ? io_schedule+0x46/0x70 [nfs]`: a frame, and what the kernel has in its line. A sentence may have
/// the same signs in it.
fn is_kernel_frame(text: &str) -> bool {
    // A number of a line or of a frame, an address, a module, `RIP:`.
    let is_sign = |word: &str| {
        let is_bracket = word.starts_with('[') && word.ends_with(']');
        let bare = word.trim_matches(|c: char| c.is_ascii_punctuation());
        let digits = bare.strip_prefix("0x").unwrap_or(bare);
        is_bracket || word.ends_with(':') || digits.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let text = without_date(text);
    let mut words = text.split_whitespace();
    let has_any = words.clone().any(is_function) || text.starts_with("[<");
    has_any && words.all(|word| is_function(word) || is_sign(word))
}

/// Without the date of `dmesg -T`, in any language: `[Sun Jan 21 10:13:06 2024]  schedule+0x5e/0xd0`.
fn without_date(text: &str) -> &str {
    let stamp = text.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let stamp = stamp.filter(|(date, _)| {
        date.len() <= PREFIX_BYTES_MAX && date.contains(' ') && date.matches(':').count() == 2
    });
    stamp.map_or(text, |(_, rest)| rest)
}

/// `[12345.678901] text`, `[  +0.000003] text` and `[Oct28 16:58] text` of `dmesg --reltime`, also
/// behind the name of a host or a container, or behind a prompt.
fn is_stamped(text: &str) -> bool {
    let brackets = text.match_indices('[').map(|(at, _)| at);
    let mut brackets = brackets.take_while(|at| *at <= PREFIX_BYTES_MAX);
    brackets.any(|at| is_stamp_at(text, at))
}

/// The bracket at this place begins the kernel's stamp.
fn is_stamp_at(text: &str, at: usize) -> bool {
    let Some((before, rest)) = text.split_at_checked(at) else {
        return false;
    };
    let inner = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let Some((stamp, message)) = inner else {
        return false;
    };
    let stamp = stamp.trim_start();
    if before.is_empty() {
        let seconds = stamp.strip_prefix('+').unwrap_or(stamp);
        // Who shows few lines cuts the stamps short.
        let message = message.trim_start();
        let is_kernels = || is_message(message) || is_want_of_memory(message);
        return is_seconds(seconds, 3)
            || is_minute(stamp)
            || (is_seconds(seconds, 1) && is_kernels());
    }
    // The kernel prints six digits behind the point: in the midst of a line nothing less tells.
    [": ", "| ", "# ", "$ "]
        .iter()
        .any(|end| before.ends_with(end))
        && is_seconds(stamp.strip_prefix('+').unwrap_or(stamp), 6)
        && message.starts_with(' ')
}

/// `12345.678901`, with so many digits behind the point.
fn is_seconds(stamp: &str, digits_min: usize) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    stamp.split_once('.').is_some_and(|(whole, part)| {
        is_number(whole)
            && whole.len() <= SECONDS_DIGITS_MAX
            && is_number(part)
            && part.len() >= digits_min
    })
}

/// `Oct28 16:58`.
fn is_minute(stamp: &str) -> bool {
    let Some(rest) = behind_month(stamp) else {
        return false;
    };
    let is_number = |text: &str| {
        (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    rest.trim_start()
        .split_once(' ')
        .and_then(|(day, time)| Some((day, time.split_once(':')?)))
        .is_some_and(|(day, (hour, minute))| [day, hour, minute].into_iter().all(is_number))
}

fn is_syslog(text: &str) -> bool {
    text.starts_with("kernel: ")
        || (starts_with_syslog_date(text)
            && (behind_program(text, "kernel: ").is_some() || is_end_of_a_unit(text)))
}

/// Words of a date with a zone, and of a host, in front of a program in a syslog.
const HEAD_WORDS_MAX: usize = 4;

/// What stands behind the program of a line, if it is this one: in front of it stand a date and a host.
fn behind_program<'t>(text: &'t str, program: &str) -> Option<&'t str> {
    let (head, rest) = text.split_once(program)?;
    let words = match behind_syslog_date(head) {
        Some(host) => host.split_whitespace().count() + HEAD_WORDS_MAX - 1,
        None => head.split_whitespace().count(),
    };
    let is_word = head.is_empty() || head.ends_with(' ');
    let has_other = head.split_whitespace().any(|word| word.ends_with(':'));
    (is_word && !has_other && words <= HEAD_WORDS_MAX).then_some(rest)
}

/// What systemd says when the kernel killed a unit's process for want of memory.
fn is_end_of_a_unit(text: &str) -> bool {
    behind_program(text, "systemd[").is_some()
        && (text.contains("killed by the OOM killer") || text.contains("result 'oom-kill'"))
}

/// What the kernel alone says: the end of a process for want of memory, a task that hangs.
fn is_message(text: &str) -> bool {
    static STARTS: Prefixes = Prefixes::new(&[
        "Out of memory: Kill process ",
        "Out of memory: kill process ",
        "Out of memory: Killed process ",
        "Memory cgroup out of memory: Kill process ",
        "Memory cgroup out of memory: Killed process ",
        "oom-kill:constraint=",
        "oom_reaper: reaped process ",
        "Kernel panic - not syncing: ",
    ]);
    let is_pid = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    STARTS.match_start(text)
        || text
            .strip_prefix("Killed process ")
            .is_some_and(|rest| is_pid(rest) && rest.contains('('))
        || text.strip_prefix("INFO: task ").is_some_and(|rest| {
            rest.split_once(" blocked for more than ")
                .is_some_and(|(task, time)| {
                    task.rsplit_once(':').is_some_and(|(_, pid)| is_pid(pid))
                        && time.contains(" seconds")
                })
        })
}

/// A task that asked for memory in vain.
fn is_want_of_memory(text: &str) -> bool {
    text.split_once(" invoked oom-killer: gfp_mask=")
        .is_some_and(|(task, _)| task.len() <= PREFIX_BYTES_MAX)
}

/// Bytes of log lines that are kept of one section.
const LOG_BYTES_MAX: usize = 256 << 10;

/// Facilities of syslog but for the kernel's, as `dmesg -x` has them in front.
const OTHER_FACILITIES: [&str; 11] = [
    "user", "mail", "daemon", "auth", "syslog", "lpr", "news", "uucp", "cron", "authpriv", "ftp",
];

/// What stands in front of the kernel's stamp, and its message.
fn stamped(text: &str) -> Option<(&str, &str)> {
    let text = without_level(text);
    let text = behind_syslog_date(text).unwrap_or(text);
    let brackets = text.match_indices('[').map(|(at, _)| at);
    let mut brackets = brackets.take_while(|at| *at <= PREFIX_BYTES_MAX);
    let at = brackets.find(|at| is_stamp_at(text, *at))?;
    let (before, rest) = text.split_at_checked(at)?;
    Some((before, rest.split_once(']')?.1))
}

/// Whether a stamped line is a program's: whoever writes to `/dev/kmsg` or to the console stands in the kernel's log. An
/// installer tells the password that it made, systemd the command line of a unit.
fn is_of_program(text: &str) -> bool {
    let Some((before, message)) = stamped(text) else {
        return false;
    };
    let facility = before.split(':').next().unwrap_or_default().trim_end();
    let is_local = |number: &str| matches!(number.as_bytes(), [b'0'..=b'7']);
    OTHER_FACILITIES.contains(&facility)
        || facility.strip_prefix("local").is_some_and(is_local)
        || is_said_by_program(message.trim_start())
}

/// What is kept of a line: all of one of the kernel's. Of any other what the lexicon knows of the kernel's messages, and
/// all of it where nothing but names of devices stand in front of such a message: the stamps may have been cut off.
fn kept(text: &str) -> Option<String> {
    let text = without_note(text);
    let trimmed = text.trim();
    let is_programs = is_of_program(trimmed);
    if !is_programs && is_exact_detail(trimmed) {
        return Some(text.to_owned());
    }
    let is_kernels =
        || is_kernel_log(&Candidate::new(text, trimmed, &[])) || is_kernel_detail(trimmed);
    if !is_programs && is_kernels() {
        return Some(kernels_own(trimmed));
    }
    let found = lexicon::mentions(text);
    let found = found
        .iter()
        .filter(|one| one.entry.kind == Kind::KernelLine);
    let messages: Vec<&str> = found.map(|one| one.text).collect();
    let first = *messages.first()?;
    let before = text.split(first).next().unwrap_or_default();
    match is_programs || starts_with_syslog_date(trimmed) || !is_of_devices(before) {
        true => Some(messages.join("\n")),
        false => Some(kernel_line::own(trimmed, 0, true)),
    }
}

/// What of one of the kernel's lines is its own. In front of its stamp stands at most a host; a prompt or a note there may be
/// anything.
fn kernels_own(text: &str) -> String {
    if let Some((before, message)) = stamped(text) {
        let hosts = before.split_whitespace().filter(|word| *word != "kernel:");
        let is_head = hosts.count() <= 1 || before.starts_with("kern");
        let text = match is_head {
            true => text,
            false => text.split_once(before).map_or(text, |(_, rest)| rest),
        };
        return kernel_line::own(text, text.len() - message.len(), true);
    }
    let undated = without_level(text);
    let undated = behind_syslog_date(undated).unwrap_or(undated);
    let message = behind_program(text, "kernel: ").or_else(|| behind_program(text, "systemd["));
    let message = message.unwrap_or(undated);
    let task = message.split(" invoked ").next().unwrap_or_default();
    let is_of_one_task = !task.contains(char::is_whitespace);
    let is_kernels = message.len() < undated.len()
        || is_message(message)
        || is_kernel_detail(message)
        || (is_want_of_memory(message) && is_of_one_task);
    kernel_line::own(text, text.len() - message.len(), is_kernels)
}

/// Whether a text is such as `sd 0:0:0:0: [sda] ` and `nvme nvme0: `: at most one word in it is one of prose.
fn is_of_devices(text: &str) -> bool {
    let is_plain = |word: &&str| {
        word.bytes()
            .all(|byte| byte.is_ascii_alphabetic() || byte == b',')
    };
    text.is_ascii() && text.split_whitespace().filter(is_plain).count() <= 1
}

/// Lines as they stand there, without those of others and the arguments of programs.
fn read(lines: &[Line<'_>]) -> Read {
    let mut body = String::new();
    let mut kept = 0_usize;
    let mut read = Read::default();
    for line in lines.iter().filter(|line| !line.is_blank()) {
        if body.len() + line.text.len() > LOG_BYTES_MAX {
            read.skipped.push((
                line.number,
                format!("lines of the log over {LOG_BYTES_MAX} bytes").into(),
            ));
            break;
        }
        if let Some(text) = self::kept(&line.text) {
            body.push_str(&text);
            body.push('\n');
            kept += 1;
        }
    }
    read.brought = format!("{kept} lines");
    if kept > 0 {
        read.texts
            .push((Timestamp::default(), server_text::kernel_log(&body)));
    }
    read
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_one(text: &str) -> bool {
        is_kernel_log(&Candidate::new(text, text, &[]))
    }

    #[test]
    fn stamps_of_the_kernel_in_every_form() {
        for text in [
            "[12345.678901] mysqld: page allocation failure",
            "<4>[    2.000001] text",
            "[  +0.000003] Killed process 16556 (mysqld) total-vm:16816660kB",
            "[Oct28 16:58] mysqld invoked oom-killer: gfp_mask=0x6280ca",
            "host kernel: [   16.869199] text",
            "percona # [   16.869199] mysqld invoked oom-killer: order=0",
            "db-1  | [  812.000001] text",
            "root@x:~# [  812.000001] text",
            "[root@db1 ~]# [  812.000001] text",
            "[wrsroot@controller-0 ~(keystone_admin)]$ [519825.439055] text",
            "Mar  2 17:35:10 db1 kernel: text",
            "kernel: nf_conntrack: nf_conntrack: table full, dropping packet",
            "Aug 25 11:10:09 db1 systemd[1]: mariadb.service: Failed with result 'oom-kill'.",
            "Nov 22 10:11:12 kernel: [123.4] text",
            "Nov  2 10:11:12 [  123.456789] text",
            "Nov  2 10:11:12 Out of memory: Kill process 16556 (mysqld) score 1663",
            "Nov 22 10:11:12 INFO: task mysqld:4123 blocked for more than 120 seconds.",
            "[4711.1] Out of memory: Killed process 12 (mysqld) total-vm:9kB",
            "[81.25] INFO: task jbd2/sda1-8:762 blocked for more than 120 seconds.",
        ] {
            assert!(is_one(text), "{text}");
        }
        for text in [
            "Aug 25 11:10:09 db1 systemd[1]: Started MariaDB 10.11.11 database server.",
            "[...]",
            "[.]  more",
            "[10.0.0.7] connected",
            "[8.0] a version",
            "[Oct28] a day",
            "see [1.234567] for more",
            "[4.1] Out of memory is no more in this release",
            "Nov 22 10:11:12 Out of memory again",
            "Nov 22 10:11 Out of memory: Kill process 16556 (mysqld)",
            "it took: [1.234567]s",
            "[1763000000.123456] a line of a program",
        ] {
            assert!(!is_one(text), "{text}");
        }
    }

    #[test]
    fn arguments_of_programs_are_not_kept() {
        let text = "[ 12.345678] audit: type=1327 audit(1700000000.1:9): proctitle=6D7973716C002D75726F6F74002D7068756E74657232\n\
                    [ 12.345679] audit: backlog limit exceeded\n";
        let read = read(&crate::clean::lines(text));
        let body = read.texts[0].1.body();
        assert!(!body.contains("2D7068756E74657232"), "{body}");
        assert!(
            body.contains("audit: type=1327 audit(1700000000.1:9): (left out)"),
            "{body}"
        );
        assert!(body.contains("audit: backlog limit exceeded\n"), "{body}");
    }

    #[test]
    fn lines_of_others_between_those_of_the_kernel_are_not_kept() {
        let text = "Nov 29 10:00:00 db1 kernel: INFO: task mysqld:4123 blocked for more than 120 seconds.\n\
                    Nov 29 10:00:01 db1 CRON[77]: (root) CMD (mysqldump -uroot -phunter2 acme)\n\
                    Nov 29 10:00:02 db1 shop[99]: login of alice failed with hunter2\n\
                    her card is 4111 hunter2, and blocked for more than 240 seconds.\n\
                    Nov 29 10:00:03 db1 kernel:       Not tainted 5.10.0-21-amd64\n\
                    Call Trace:\n\
                     io_schedule+0x46/0x70\n\
                    [1763000000.123456] alice is logged in with hunter2\n\
                    Nov 29 10:00:04 db1 kernel: Out of memory: Killed process 5 (mysqld)\n";
        let bytes = text.as_bytes();
        let incident = crate::import(&[crate::Input { path: "x", bytes }])
            .incident
            .unwrap();
        let kept = format!("{incident:?}");
        for secret in ["hunter2", "alice", "4111", "acme"] {
            assert!(!kept.contains(secret), "{secret}: {kept}");
        }
        for own in [
            "task mysqld:4123 blocked for more than 120 seconds.",
            "Not tainted 5.10.0-21-amd64",
            "io_schedule+0x46/0x70",
            "Killed process 5 (mysqld)",
        ] {
            assert!(kept.contains(own), "{own}: {kept}");
        }
    }

    /// Into the kernel's log write programs as well.
    #[test]
    fn what_programs_say_in_the_kernels_log_is_not_kept() {
        for text in [
            "[   24.123456] cloud-init[1234]: Set the following 'random' passwords: root:hunter2",
            "Nov 29 10:00:00 db1 kernel: [   24.123456] cloud-init[1234]: root:hunter2",
            "[   25.000001] systemd[1]: Started /usr/bin/mysql -uroot -phunter2.",
            "<30>[   25.000001] systemd[1]: Started /usr/bin/mysql -uroot -phunter2.",
            "db1 kernel: [   25.000001] (mysqld)[812]: Failed to execute hunter2",
            "user  :warn  : [   24.123456] her password is hunter2",
            "daemon:info  : [   24.123456] unit of hunter2",
            "local0:info  : [   24.123456] hunter2",
        ] {
            assert_eq!(kept(text), None, "{text}");
        }
        let text = "[   25.000001] shop[9]: hunter2 saw blk_update_request: I/O error, dev sda, and lost hunter2";
        let told = kept(text).unwrap();
        assert!(
            told.contains("I/O error, dev") && !told.contains("hunter2"),
            "{told}"
        );
        for text in [
            "[   25.000001] mysqld[4123]: segfault at 0 ip 0000 sp 0000 error 4 in libc.so.6[7f00+1b000]",
            "localhost kernel: [   25.000001] EXT4-fs (sda1): mounted filesystem",
            "[   25.000001] traps: mysqld[4123] general protection fault ip:7f00",
            "[   25.000001] mysqld[4123]: unhandled signal 11 at 0000",
            "kern  :warn  : [   25.000001] TCP: out of memory -- consider tuning tcp_mem",
            "[   25.000001] Memory cgroup out of memory: Killed process 5 (mysqld)",
            "[   25.000001] [  812]   27   812  1234567   1000 mysqld",
        ] {
            assert_eq!(kept(text).as_deref(), Some(text));
        }
    }

    #[test]
    fn a_sentence_is_no_detail_of_a_task() {
        for text in [
            "Alice S 4711 says hunter2",
            "hunter2 io_schedule+0x46/0x70",
            "[<alice@example.com> wrote: hunter2",
            "hunter2 was told at io_schedule+0x46/0x70 to Alice",
            "see do_x+0x of hunter2/0x",
        ] {
            assert_eq!(kept(text), None, "{text}");
        }
        for text in [
            "jbd2/dm-9-8   D ffff81043e0a1420     0   762    585",
            "mysqld          R  running task        0  4123      1 0x00000008",
            " io_schedule+0x46/0x70",
            " ? __blkdev_issue_flush+0x5/0x90 [nfs]",
            " [<ffffffff8109b5a6>] ? io_schedule+0x46/0x70",
            "[<ffffffff8109b5a6>]",
            "[Sun Jan 21 10:13:06 2024]  bch2_fsync+0x44/0x120 [bcachefs]",
            "[Mi Feb 10 04:11:37 2021]  [<ffffffff81b7f8c0>] ? bit_wait+0x50/0x50",
            "#3 io_schedule+0x46/0x70",
            "RIP: 0010:io_schedule+0x46/0x70",
            "ffff8800 0000000000000086 ffff88083fd13c40",
        ] {
            assert_eq!(kept(text).as_deref(), Some(text));
        }
        assert_eq!(
            kept(" io_schedule+0x46/0x70   <-- Alice, hunter2").as_deref(),
            Some(" io_schedule+0x46/0x70")
        );
    }

    /// A log of all programs has lines that only look like the kernel's.
    #[test]
    fn a_line_that_has_the_kernels_name_in_it_is_not_the_kernels() {
        for text in [
            "Nov 29 10:00:02 db1 shop[9]: hunter2 told kernel: Alice",
            "2024-01-01T00:00:00 shop: hunter2 kernel: Alice",
            "Nov 29 10:00:02 db1 shop[9]: hunter2 of systemd[1]: result 'oom-kill'",
        ] {
            let kept = kept(text).unwrap_or_default();
            assert!(
                !kept.contains("hunter2") && !kept.contains("Alice"),
                "{kept}"
            );
        }
        for (text, own) in [
            (
                "pin is hunter2: [   25.000001] FS-Cache: Loaded",
                "[   25.000001] FS-Cache: Loaded",
            ),
            (
                "Nov 29 10:00:02 db1 kernel: FS-Cache: Loaded, hunter2 4711",
                "Nov 29 10:00:02 db1 kernel: FS-Cache: Loaded, ?",
            ),
            ("Not tainted 5.10.0 hunter2", "Not tainted 5.10.0 ?"),
            (
                "ata1.00: failed command: WRITE FPDMA QUEUED hunter2",
                "ata1.00: failed command: WRITE FPDMA QUEUED ?",
            ),
        ] {
            assert_eq!(kept(text).as_deref(), Some(own));
        }
    }

    #[test]
    fn of_a_line_without_a_stamp_the_message_is_kept() {
        let whole = "ata1.00: failed command: WRITE FPDMA QUEUED";
        assert_eq!(kept(whole).as_deref(), Some(whole));
        let whole = "sd 0:0:0:0: [sda] I/O error, dev sda, sector 4711";
        assert_eq!(kept(whole).as_deref(), Some(whole));
        for text in [
            "sorry, Alice saw blk_update_request: I/O error, dev sda, and lost hunter2",
            "Nov 29 10:00:00 db1 shop[9]: I/O error, dev sda, and lost hunter2 of Alice",
        ] {
            let kept = kept(text).unwrap();
            assert!(kept.contains("I/O error, dev"), "{kept}");
            assert!(
                !kept.contains("Alice") && !kept.contains("hunter2"),
                "{kept}"
            );
        }
        assert_eq!(kept("Alice has lost hunter2"), None);
    }

    #[test]
    fn what_the_kernel_alone_says_needs_no_stamp() {
        for text in [
            "Out of memory: Kill process 16556 (mysqld) score 1663 or sacrifice child",
            "Out of memory: kill process 4944 (mysqld) score 1663 or a child",
            "Killed process 11726, UID 498, (mysqld) total-vm:7823732kB",
            "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null)",
            "INFO: task jbd2/dm-9-8:762 blocked for more than 120 seconds.",
            "mysqld invoked oom-killer: gfp_mask=0x6280ca, order=0",
        ] {
            assert!(is_one(text), "{text}");
        }
        for text in [
            "INFO: task $NAME:$PID blocked for more than 120 seconds.",
            "Killed process by hand",
            "Out of memory again",
            "we saw that mysqld invoked oom-killer: twice",
            "I think the server was Killed process 5 (mysqld)",
        ] {
            assert!(!is_one(text), "{text}");
        }
    }
}
