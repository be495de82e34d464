//! What a process has mapped and opened (`pmap`, `/proc/PID/maps`, `lsof`): which memory allocator it
//! runs with, how much memory and how many files it has.

use std::path::{Path, PathBuf};

use kernel::procfs::maps::{Allocator, MappedAllocator, allocators, of_library};
use model::{Fact, Reading, Unit};

use crate::format::{Format, Group, Recogniser, sign};
use crate::line::Line;
use crate::read::{Read, counted};

pub(crate) static PMAP: Format = Format {
    id: "pmap",
    group: Group::Host,
    name: "pmap output",
    printed_by: "pmap",
    content: "the memory allocator, resident memory",
    recognisers: &[Recogniser::new(420, "A0123456789", 0, |at| {
        is_pmap_head(at.text, at.next)
    })],
    continues: |_, next| next.own.is_none() && is_pmap_row(next.text),
    preference: 17,
    read: pmap,
    ..Format::NONE
};

pub(crate) static PROC_MAPS: Format = Format {
    id: "proc_maps",
    group: Group::Host,
    name: "/proc/PID/maps",
    printed_by: "the kernel: maps and smaps",
    content: "the memory allocator",
    recognisers: &[Recogniser::new(430, "", sign::COLON, |at| {
        is_maps_line(at.text)
    })],
    continues: |_, next| next.own.is_none() && is_maps_part(next.text),
    read: maps,
    ..Format::NONE
};

pub(crate) static LSOF: Format = Format {
    id: "lsof",
    group: Group::Host,
    name: "open files of a process",
    printed_by: "lsof, `ls -l /proc/PID/fd`",
    content: "how many, the memory allocator",
    recognisers: &[Recogniser::new(440, "", 0, |at| {
        (at.text.starts_with(['C', 'l']) || at.has(sign::SLASH)) && is_lsof_head(at.text)
    })],
    continues: |_, next| next.own.is_none() && is_lsof_row(next.text),
    preference: 18,
    read: open_files,
    ..Format::NONE
};

/// An address as `pmap` and `/proc/PID/maps` write it.
fn is_address(word: &str) -> bool {
    (8..=16).contains(&word.len()) && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// `r-x--`, as pmap has it.
fn is_mode(word: &str) -> bool {
    word.len() == 5 && word.bytes().all(|byte| b"rwxspR-".contains(&byte))
}

/// `4711:   /usr/sbin/mariadbd --user=mysql`, with the list behind it, or the head of the list.
fn is_pmap_head(text: &str, next: &[&str]) -> bool {
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
fn is_pmap_row(text: &str) -> bool {
    if text.starts_with("----------------") || text.starts_with("total ") {
        return true;
    }
    let mut words = text.split_whitespace();
    words.next().is_some_and(is_address) && words.take(5).any(is_mode)
}

/// `7f00-7f10 r-xp 00000000 fe:00 123   /usr/lib/libc.so.6`.
fn is_maps_line(text: &str) -> bool {
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
fn is_maps_part(text: &str) -> bool {
    text.starts_with("VmFlags:")
        || text.split_once(':').is_some_and(|(name, value)| {
            name.bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
                && (value.ends_with(" kB") || value.trim().parse::<u64>().is_ok())
        })
}

/// The head of lsof, a file that is mapped, or a line of `ls -l /proc/PID/fd`.
fn is_lsof_head(text: &str) -> bool {
    (text.starts_with("COMMAND ") && text.contains(" PID ") && text.ends_with(" NAME"))
        || (text.contains(" mem ") && text.contains(" REG ") && is_lsof_row(text))
        || is_listed_descriptor(text)
}

/// `lrwx------ 1 mysql mysql 64 Nov 21 06:25 12 -> /var/lib/mysql/ibdata1`.
fn is_listed_descriptor(text: &str) -> bool {
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
fn is_lsof_row(text: &str) -> bool {
    let mut words = text.split_whitespace();
    words.nth(1).is_some_and(|pid| pid.parse::<u32>().is_ok()) && words.count() >= 4
}

/// Programs of servers.
const SERVERS: [&str; 4] = ["mysqld", "mariadbd", "mysqld-debug", "mysqld_max"];

fn is_server(program: &str) -> bool {
    let name = program.rsplit('/').next().unwrap_or(program);
    SERVERS.contains(&name)
}

fn gauge(read: &mut Read, name: &'static str, unit: Unit, value: f64) {
    read.push("process", None, 0, vec![Reading::gauge(name, unit, value)]);
}

/// The allocator as the recorder tells it.
fn allocator_fact(found: &[MappedAllocator]) -> Fact {
    let names: Vec<String> = found
        .iter()
        .map(|found| match &found.library {
            Some(path) => format!("{} ({})", found.allocator.label(), path.display()),
            None => found.allocator.label().to_owned(),
        })
        .collect();
    Fact::new("server.allocator", names.join(", "))
}

/// The allocators among libraries by their names. Where there is none and all are listed it is the C
/// library's.
fn by_names<'a>(names: impl Iterator<Item = &'a str>, whole: bool) -> Vec<MappedAllocator> {
    let mut found: Vec<MappedAllocator> = Vec::new();
    for name in names {
        let library = Some(PathBuf::from(name));
        if let Some(allocator) = of_library(Path::new(name))
            && !found.iter().any(|known| known.library == library)
        {
            found.push(MappedAllocator { allocator, library });
        }
    }
    if found.is_empty() && whole {
        found.push(MappedAllocator {
            allocator: Allocator::LibcOrLinkedIn,
            library: None,
        });
    }
    found
}

fn add_allocator(read: &mut Read, found: &[MappedAllocator]) {
    if found.is_empty() {
        return;
    }
    let fact = allocator_fact(found);
    read.brought.push_str("; allocator: ");
    read.brought.push_str(&fact.value);
    read.facts.push(fact);
}

/// What is said of a process that is no server.
fn skip_other_process(read: &mut Read) {
    read.skipped
        .push((0, "it belongs to no MySQL or MariaDB server".into()));
}

/// `pmap PID` and `pmap -x PID`.
fn pmap(lines: &[Line<'_>]) -> Read {
    let mut read = Read::default();
    let mut names: Vec<&str> = Vec::new();
    let mut program = None;
    let (mut mappings, mut total) = (0_usize, None);
    for line in lines {
        let text = line.trimmed();
        let mut words = text.split_whitespace();
        let first = words.next().unwrap_or_default();
        if let Some(pid) = first.strip_suffix(':')
            && pid.parse::<u32>().is_ok()
        {
            program = words.next();
        } else if first == "total" {
            total = Some(text);
        } else if is_pmap_row(text) && !first.starts_with("---") {
            mappings += 1;
            names.extend(words.next_back());
        }
    }
    let is_servers = match program {
        Some(program) => is_server(program),
        None => names.iter().any(|name| is_server(name)),
    };
    if !is_servers {
        skip_other_process(&mut read);
        return read;
    }
    read.brought = counted(mappings, "mapping", "mappings");
    // `total kB  1234 567 89`: all, resident, dirty. Without -x only all is told.
    let resident = total.and_then(|total| {
        let mut words = total.strip_prefix("total kB")?.split_whitespace();
        words.nth(1)?.parse::<f64>().ok()
    });
    if let Some(kib) = resident {
        gauge(
            &mut read,
            "process.resident_bytes",
            Unit::Bytes,
            kib * 1024.0,
        );
    }
    let whole = program.is_some() && total.is_some();
    add_allocator(&mut read, &by_names(names.into_iter(), whole));
    if read.is_empty() {
        read.skipped
            .push((0, "a part of the list, without an allocator in it".into()));
    }
    read
}

/// `/proc/PID/maps`, and `smaps` with its lines between.
fn maps(lines: &[Line<'_>]) -> Read {
    let mut read = Read::default();
    let text: String = lines
        .iter()
        .flat_map(|line| [line.trimmed(), "\n"])
        .collect();
    let mut paths = text
        .lines()
        .filter_map(|line| line.split_whitespace().nth(5));
    if !paths.any(is_server) {
        skip_other_process(&mut read);
        return read;
    }
    let mappings = lines.iter().filter(|line| is_maps_line(line.trimmed()));
    read.brought = counted(mappings.count(), "mapping", "mappings");
    let found = allocators(text.as_bytes());
    // The stack stands at the end: the list is whole.
    let whole = text.contains("[stack]");
    let is_known = found
        .iter()
        .any(|one| one.allocator != Allocator::LibcOrLinkedIn);
    if whole || is_known {
        add_allocator(&mut read, &found);
    } else {
        read.skipped
            .push((0, "a part of the list, without an allocator in it".into()));
    }
    read
}

/// `lsof -p PID`, or `ls -l /proc/PID/fd`: how many files are open, and which libraries are mapped.
fn open_files(lines: &[Line<'_>]) -> Read {
    let mut read = Read::default();
    let mut names: Vec<&str> = Vec::new();
    let mut program: Option<&str> = None;
    let (mut descriptors, mut deleted, mut listed) = (0_usize, 0_usize, 0_usize);
    let mut head = false;
    for line in lines {
        let text = line.trimmed();
        if let Some((_, path)) = text.split_once(" -> ") {
            descriptors += 1;
            deleted += usize::from(path.ends_with("(deleted)"));
            continue;
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        if words.first() == Some(&"COMMAND") {
            head = true;
            continue;
        }
        if !is_lsof_row(text) {
            continue;
        }
        listed += 1;
        // The name is cut by lsof to nine characters: `mariadbd` fits.
        program = program.or(words.first().copied());
        let kind = words
            .iter()
            .skip(2)
            .take(4)
            .find(|word| is_descriptor(word));
        match kind {
            Some(&"mem") => names.extend(words.last()),
            Some(word) if word.starts_with(|c: char| c.is_ascii_digit()) => {
                descriptors += 1;
                deleted += usize::from(text.ends_with("(deleted)"));
            }
            _ => {}
        }
    }
    if listed > 0 && !program.is_some_and(is_server) {
        skip_other_process(&mut read);
        return read;
    }
    read.brought = counted(descriptors, "open file", "open files");
    if deleted > 0 {
        read.brought
            .push_str(&format!(", {deleted} of them deleted"));
    }
    if descriptors > 0 {
        gauge(
            &mut read,
            "process.open_files",
            Unit::Count,
            descriptors as f64,
        );
    }
    // Libraries stand in front of descriptors: with both the list of libraries is whole.
    let whole = head && descriptors > 0 && !names.is_empty();
    add_allocator(&mut read, &by_names(names.into_iter(), whole));
    if read.is_empty() {
        read.skipped
            .push((0, "a part of the list, without an open file".into()));
    }
    read
}

/// The column FD: `12u`, `3rW`, `mem`, `cwd`, `txt`.
fn is_descriptor(word: &str) -> bool {
    let digits = word.bytes().take_while(u8::is_ascii_digit).count();
    let rest = word.get(digits..).unwrap_or_default();
    match digits {
        0 => ["mem", "cwd", "rtd", "txt", "DEL"].contains(&word),
        _ => (1..=2).contains(&rest.len()) && rest.starts_with(['r', 'w', 'u']),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean;

    fn summary(read: &Read) -> (Option<&str>, Option<f64>) {
        let readings = read.ticks.iter().flat_map(|tick| &tick.readings);
        (
            read.facts.first().map(|fact| fact.value.as_str()),
            readings.map(|reading| reading.value).next(),
        )
    }

    const PMAP: &str = "4711:   /usr/sbin/mariadbd --user=mysql\n\
        Address           Kbytes     RSS   Dirty Mode  Mapping\n\
        000055d5c9a3c000    6892    1552       0 r---- mariadbd\n\
        00007f2a4c000000   65404   65404   65404 rw---   [ anon ]\n\
        00007f2a5c000000    1368     500       0 r-x-- libjemalloc.so.2\n\
        ---------------- ------- ------- ------- \n\
        total kB          123456   67456   65404\n";

    #[test]
    fn pmap_tells_the_allocator_and_the_memory() {
        let read = pmap(&clean::lines(PMAP));
        assert_eq!(
            summary(&read),
            (Some("jemalloc (libjemalloc.so.2)"), Some(67456.0 * 1024.0))
        );
        assert_eq!(
            read.brought,
            "3 mappings; allocator: jemalloc (libjemalloc.so.2)"
        );
        let without = PMAP.replace("libjemalloc", "libz");
        assert_eq!(
            summary(&pmap(&clean::lines(&without))).0,
            Some("libc or linked in")
        );
        // What was cut off may have been the allocator.
        let (cut, _) = without.split_once("------").unwrap();
        assert_eq!(summary(&pmap(&clean::lines(cut))), (None, None));
        let other = PMAP.replace("mariadbd", "java");
        assert!(pmap(&clean::lines(&other)).is_empty());
    }

    #[test]
    fn maps_tell_the_allocator() {
        let text = "55d5-55d9 r--p 00000000 fe:00 1 /usr/sbin/mysqld\n\
            7f2a4c000000-7f2a4d000000 r-xp 00000000 fe:00 2 /usr/lib/libtcmalloc.so.4\nRss: 4 kB\n\
            7ffd0000-7ffd1000 rw-p 00000000 00:00 0 [stack]\n";
        let fact = "tcmalloc (/usr/lib/libtcmalloc.so.4)";
        assert_eq!(summary(&maps(&clean::lines(text))).0, Some(fact));
        let libc = text.replace("libtcmalloc.so.4", "libc.so.6");
        assert_eq!(
            summary(&maps(&clean::lines(&libc))).0,
            Some("libc or linked in (/usr/lib/libc.so.6)")
        );
        let (cut, _) = libc.split_once("7ffd").unwrap();
        assert!(maps(&clean::lines(cut)).is_empty());
    }

    #[test]
    fn lsof_tells_files_and_libraries() {
        let text = "COMMAND   PID USER   FD      TYPE             DEVICE  SIZE/OFF     NODE NAME\n\
            mariadbd 4711 mysql  cwd       DIR              254,0      4096  1572867 /var/lib/mysql\n\
            mariadbd 4711 mysql  mem       REG              254,0   2190440     1234 /usr/lib/libjemalloc.so.2\n\
            mariadbd 4711 mysql    0r      CHR                1,3       0t0        4 /dev/null\n\
            mariadbd 4711 mysql   12uW     REG              254,0  12582912     1235 /var/lib/mysql/ibdata1\n\
            mariadbd 4711 mysql   13u      REG              254,0         0     1236 /tmp/ibX (deleted)\n";
        let read = open_files(&clean::lines(text));
        assert_eq!(
            summary(&read),
            (Some("jemalloc (/usr/lib/libjemalloc.so.2)"), Some(3.0))
        );
        assert!(read.brought.starts_with("3 open files, 1 of them deleted"));
        let list = "total 0\nlrwx------ 1 mysql mysql 64 Nov 21 06:25 12 -> /var/lib/mysql/ibdata1\n\
            lr-x------ 1 mysql mysql 64 Nov 21 06:25 0 -> /dev/null\n";
        assert_eq!(summary(&open_files(&clean::lines(list))), (None, Some(2.0)));
    }
}
