//! What the kernel and its tools tell of a process and of the kernel's own tables: `pmap`, `maps`,
//! `lsof`, `/proc/slabinfo`, `/proc/interrupts`, `numastat`; and lines that pt-stalk and strace write.

/// An address as `pmap` and `/proc/PID/maps` write it.
fn is_address(word: &str) -> bool {
    (8..=16).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// `r-x--`, as pmap has it.
fn is_mode(word: &str) -> bool {
    word.len() == 5 && word.bytes().all(|byte| b"rwxspR-".contains(&byte))
}

/// `4711:   /usr/sbin/mariadbd --user=mysql`, with the list behind it, or the head of the list.
pub(super) fn is_pmap_head(text: &str, next: &[&str]) -> bool {
    if text.starts_with("Address ") && text.contains("Kbytes") && text.ends_with("Mapping") {
        return true;
    }
    let Some((pid, command)) = text.split_once(':') else {
        return false;
    };
    pid.bytes().all(|byte| byte.is_ascii_digit())
        && (1..=10).contains(&pid.len())
        && command.starts_with([' ', '\t'])
        && next.first().is_some_and(|line| {
            let line = line.trim();
            line.starts_with("Address ") || is_pmap_row(line)
        })
}

/// `00007f2a4c000000   65404   65404   65404 rw---   [ anon ]`, or the rule and the sum at the end.
pub(crate) fn is_pmap_row(text: &str) -> bool {
    if text.starts_with("----------------") || text.starts_with("total ") {
        return true;
    }
    let mut words = text.split_whitespace();
    words.next().is_some_and(is_address) && words.take(5).any(is_mode)
}

/// `7f00-7f10 r-xp 00000000 fe:00 123   /usr/lib/libc.so.6`.
pub(crate) fn is_maps_line(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let range = words.next().and_then(|range| range.split_once('-'));
    let is_hex = |word: &str| {
        (4..=16).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    range.is_some_and(|(from, to)| is_hex(from) && is_hex(to))
        && words.next().is_some_and(|mode| {
            mode.len() == 4 && mode.bytes().all(|byte| b"rwxsp-".contains(&byte))
        })
        && words.next().is_some_and(is_address)
        && words.next().is_some_and(|device| device.contains(':'))
}

/// `Rss:   12 kB` of smaps, between two mappings.
pub(crate) fn is_maps_part(text: &str) -> bool {
    text.starts_with("VmFlags:")
        || text.split_once(':').is_some_and(|(name, value)| {
            name.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
                && (value.ends_with(" kB") || value.trim().parse::<u64>().is_ok())
        })
}

/// The head of lsof, a file that is mapped, or a line of `ls -l /proc/PID/fd`.
pub(super) fn is_lsof_head(text: &str) -> bool {
    (text.starts_with("COMMAND ") && text.contains(" PID ") && text.ends_with(" NAME"))
        || (text.contains(" mem ") && text.contains(" REG ") && is_lsof_row(text))
        || is_descriptor(text)
}

/// `lrwx------ 1 mysql mysql 64 Nov 21 06:25 12 -> /var/lib/mysql/ibdata1`.
fn is_descriptor(text: &str) -> bool {
    text.starts_with('l')
        && text.get(1..10).is_some_and(|mode| {
            mode.bytes().all(|byte| b"rwx-".contains(&byte)) && mode.ends_with("------")
        })
        && text.split_once(" -> ").is_some_and(|(before, _)| {
            before
                .rsplit(' ')
                .next()
                .is_some_and(|number| number.parse::<u32>().is_ok())
        })
}

/// `mariadbd 4711 mysql  mem  REG  254,0  2190440  1234 /usr/lib/x86_64-linux-gnu/libc.so.6`.
pub(crate) fn is_lsof_row(text: &str) -> bool {
    let mut words = text.split_whitespace();
    words.nth(1).is_some_and(|pid| pid.parse::<u32>().is_ok()) && words.count() >= 4
}

/// `slabinfo - version: 2.1` and the names of its columns.
pub(super) fn is_slab_head(text: &str) -> bool {
    text.starts_with("slabinfo - version")
        || text.starts_with("# name            <active_objs>")
        || is_slab_row(text)
}

/// `dentry  81312 81312 192 21 1 : tunables 0 0 0 : slabdata 3872 3872 0`.
pub(crate) fn is_slab_row(text: &str) -> bool {
    text.ends_with(|c: char| c.is_ascii_digit())
        && text.contains(" : tunables ")
        && text.contains(" : slabdata ")
}

/// `           CPU0       CPU1`.
pub(crate) fn is_interrupts_head(text: &str) -> bool {
    text.starts_with("CPU")
        && text.split_whitespace().all(|word| {
            word.strip_prefix("CPU")
                .is_some_and(|number| number.parse::<u32>().is_ok())
        })
}

/// ` TLB:   11156519   11342265   TLB shootdowns`.
pub(crate) fn is_interrupts_row(text: &str) -> bool {
    text.split_once(':').is_some_and(|(name, rest)| {
        (1..=8).contains(&name.len())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric())
            && rest
                .split_whitespace()
                .next()
                .is_some_and(|count| count.parse::<u64>().is_ok())
    })
}

/// `node0` with its counters behind it, as pt-stalk prints the files of `/sys/devices/system/node`.
pub(super) fn is_numa_head(text: &str, next: &[&str]) -> bool {
    text.starts_with("numa_hit ")
        || (is_node(text)
            && next
                .first()
                .is_some_and(|line| line.trim().starts_with("numa_hit ")))
}

fn is_node(text: &str) -> bool {
    text.strip_prefix("node")
        .is_some_and(|number| number.parse::<u32>().is_ok())
}

/// `numa_miss 5`.
pub(crate) fn is_numa_row(text: &str) -> bool {
    is_node(text)
        || text.split_once(' ').is_some_and(|(name, value)| {
            (name.starts_with("numa_")
                || ["interleave_hit", "local_node", "other_node"].contains(&name))
                && value.trim().parse::<u64>().is_ok()
        })
}

/// `2026_11_21_12_55_42 Starting /usr/bin/pt-stalk --function=status …`: what pt-stalk says itself.
pub(super) fn is_stalk_line(text: &str) -> bool {
    text.split_once(' ').is_some_and(|(time, _)| {
        time.len() == 19
            && time.bytes().enumerate().all(|(at, byte)| match at {
                4 | 7 | 10 | 13 | 16 => byte == b'_',
                _ => byte.is_ascii_digit(),
            })
    })
}

/// `4711  futex(0x7f00, FUTEX_WAIT_PRIVATE, 0, NULL) = 0 <0.000052>`.
pub(super) fn is_strace_line(text: &str) -> bool {
    let Some((pid, call)) = text.split_once(' ') else {
        return false;
    };
    let call = call.trim_start();
    let is_call = call.starts_with("<... ")
        || call.split_once('(').is_some_and(|(name, _)| {
            !name.is_empty()
                && name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        });
    pid.parse::<u32>().is_ok()
        && is_call
        && (text.ends_with(" <unfinished ...>")
            || (text.ends_with('>') && text.contains(" = ") && text.contains(" <0.")))
}
