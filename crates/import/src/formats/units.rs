//! What keepers of processes tell of the server's: `systemctl status`, `docker stats`.

use model::{Fact, Reading, Unit};

use crate::columns::number;
use crate::format::{Format, Group, Recogniser, sign};
use crate::line::Line;
use crate::read::{Read, counted};

pub(crate) static UNIT: Format = Format {
    id: "unit",
    group: Group::Host,
    name: "systemctl status",
    printed_by: "`systemctl status` of the server's unit",
    content: "tasks and memory of its cgroup, their limits",
    recognisers: &[Recogniser::new(310, "", sign::DOT, |at| {
        is_unit_head(at.text, at.next)
    })],
    continues: |_, next| is_unit_line(next.text),
    preference: 23,
    read: unit,
    ..Format::NONE
};

pub(crate) static CONTAINERS: Format = Format {
    id: "containers",
    group: Group::Host,
    name: "docker stats",
    printed_by: "`docker stats`, `podman stats` of the server's container",
    content: "tasks and memory of its cgroup, their limits",
    recognisers: &[Recogniser::new(320, "CI", sign::SLASH, |at| {
        is_containers_head(at.text)
    })],
    continues: |_, next| is_containers_row(next.text),
    preference: 24,
    read: containers,
    ..Format::NONE
};

/// `● mariadb.service - MariaDB 10.11.6 database server`: the name of the unit.
fn unit_of(text: &str) -> Option<&str> {
    let rest = text
        .strip_prefix(['●', '○', '×', '*', '↻', '?'])
        .unwrap_or(text)
        .trim_start();
    let name = rest.split_whitespace().next()?;
    let behind = rest.get(name.len()..)?;
    (name.ends_with(".service") && (behind.is_empty() || behind.starts_with(" - "))).then_some(name)
}

/// The head of `systemctl status`, which has the state of the unit's file behind it.
fn is_unit_head(text: &str, next: &[&str]) -> bool {
    unit_of(text).is_some()
        && next
            .first()
            .is_some_and(|line| line.trim().starts_with("Loaded: "))
}

/// A line of it below the head.
fn is_unit_line(text: &str) -> bool {
    const NAMES: [&str; 17] = [
        "Loaded",
        "Drop-In",
        "Active",
        "Docs",
        "Process",
        "Main PID",
        "Status",
        "Tasks",
        "Memory",
        "CPU",
        "CGroup",
        "IO",
        "IP",
        "Invocation",
        "Since",
        "Trigger",
        "TriggeredBy",
    ];
    text.split_once(": ")
        .is_some_and(|(name, _)| NAMES.contains(&name))
        || text.starts_with(['├', '└'])
        || text.starts_with("http")
}

/// `CONTAINER ID  NAME  CPU %  MEM USAGE / LIMIT  MEM %  …  PIDS`, of docker and of podman.
fn is_containers_head(text: &str) -> bool {
    (text.starts_with("CONTAINER") || text.starts_with("ID ")) && text.contains("MEM USAGE / LIMIT")
}

/// A row of it: a share, what is used of how much.
fn is_containers_row(text: &str) -> bool {
    text.contains("% ") && text.contains("B / ")
}

/// Parts of the names of units, programs and containers that are the server's.
const SERVERS: [&str; 5] = ["mysql", "mariadb", "percona", "pxc", "galera"];

fn is_server(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SERVERS.iter().any(|part| name.contains(part))
}

/// `systemctl status`: tasks and memory of the unit, with their limits.
fn unit(lines: &[Line<'_>]) -> Read {
    let mut read = Read::default();
    let mut unit = "";
    for line in lines {
        let text = line.trimmed();
        if let Some(name) = unit_of(text) {
            unit = name;
        }
        if !is_server(unit) {
            continue;
        }
        if let Some(rest) = text.strip_prefix("Tasks: ") {
            let (now, limit) = amount_and_limit(rest);
            add_threads(&mut read, number(now), limit.and_then(number));
        } else if let Some(rest) = text.strip_prefix("Memory: ") {
            let (now, limit) = amount_and_limit(rest);
            add_memory(&mut read, bytes(now), limit.and_then(bytes));
        }
    }
    if read.is_empty() {
        let why = match is_server(unit) {
            true => "it has neither tasks nor memory of the unit",
            false => "no unit in it is a MySQL or MariaDB server",
        };
        read.skipped.push((0, why.into()));
    }
    read
}

/// `docker stats`, `podman stats`: the server's container, or the only one.
fn containers(lines: &[Line<'_>]) -> Read {
    let mut read = Read::default();
    let rows: Vec<&str> = lines
        .iter()
        .map(Line::trimmed)
        .filter(|text| !text.is_empty() && !is_containers_head(text))
        .collect();
    let name = |row: &str| {
        let words: Vec<&str> = row.split_whitespace().take(2).collect();
        words.join(" ")
    };
    let server = rows
        .iter()
        .find(|row| is_server(&name(row)))
        .or_else(|| rows.first().filter(|_| rows.len() == 1));
    let Some(row) = server else {
        let containers = counted(rows.len(), "container", "containers");
        let why = format!("none of {containers} has the name of a MySQL or MariaDB server");
        read.skipped.push((0, why.into()));
        return read;
    };
    let words: Vec<&str> = row.split_whitespace().collect();
    let bar = words.iter().position(|word| *word == "/");
    let beside = |place: Option<usize>| place.and_then(|at| words.get(at)).copied();
    let used = beside(bar.and_then(|bar| bar.checked_sub(1))).and_then(bytes);
    let limit = beside(bar.map(|bar| bar + 1)).and_then(bytes);
    add_memory(&mut read, used, limit);
    // Only the number at the end is of threads.
    let threads = words.last().and_then(|word| word.parse::<u32>().ok());
    add_threads(&mut read, threads.map(f64::from), None);
    read
}

fn add_threads(read: &mut Read, now: Option<f64>, limit: Option<f64>) {
    if let Some(limit) = limit {
        read.facts
            .push(Fact::new("cgroup.pids_max", limit.to_string()));
    }
    let Some(now) = now else { return };
    let of = limit.map_or_else(String::new, |limit| format!(" of {limit}"));
    summarise(read, format!("{now}{of} threads"));
    let reading = Reading::gauge("cgroup.pids.current", Unit::Count, now);
    read.push("cgroup", None, 0, vec![reading]);
}

fn add_memory(read: &mut Read, now: Option<f64>, limit: Option<f64>) {
    const GIB: f64 = 1_073_741_824.0;
    if let Some(limit) = limit {
        read.facts
            .push(Fact::new("cgroup.memory_max", limit.to_string()));
    }
    let Some(now) = now else { return };
    let of = limit.map_or_else(String::new, |limit| format!(" of {:.1}", limit / GIB));
    summarise(read, format!("{:.1}{of} GiB of memory", now / GIB));
    let reading = Reading::gauge("cgroup.memory.current_bytes", Unit::Bytes, now);
    read.push("cgroup", None, 0, vec![reading]);
}

fn summarise(read: &mut Read, what: String) {
    if !read.brought.is_empty() {
        read.brought.push_str(", ");
    }
    read.brought.push_str(&what);
}

/// `4915 (limit: 4915)`, `10.1G (high: 9.0G max: 10.2G available: 0B)`: how much, and how much it may be.
fn amount_and_limit(text: &str) -> (&str, Option<&str>) {
    let (now, rest) = text.split_once('(').unwrap_or((text, ""));
    let rest = rest.trim_end().trim_end_matches(')');
    let mut words = rest.split_whitespace();
    let limit = words
        .find(|word| ["limit:", "max:"].contains(word))
        .and_then(|_| words.next());
    (now.trim(), limit)
}

/// `10.1G`, `1.998GiB`, `512MB`: units of systemd (of 1024) and of docker.
fn bytes(word: &str) -> Option<f64> {
    let end = word.find(|c: char| c.is_ascii_alphabetic())?;
    let (digits, unit) = word.split_at_checked(end)?;
    let decimal = unit.len() == 2 && unit.ends_with('B');
    let step: f64 = if decimal { 1000.0 } else { 1024.0 };
    let power = match unit.chars().next()?.to_ascii_uppercase() {
        'B' => 0,
        'K' => 1,
        'M' => 2,
        'G' => 3,
        'T' => 4,
        _ => return None,
    };
    Some(number(digits)? * step.powi(power))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean;

    #[test]
    fn tasks_and_memory_of_the_unit() {
        let capture = unit(&clean::lines(
            "● mariadb.service - MariaDB 10.5.15 database server\n     Loaded: loaded (/lib/x.service; enabled)\n\
             \x20     Tasks: 4915 (limit: 4915)\n     Memory: 10.0G (high: 9.0G max: 10.5G available: 512.0M)\n",
        ));
        assert_eq!(
            capture.brought,
            "4915 of 4915 threads, 10.0 of 10.5 GiB of memory"
        );
        assert_eq!(capture.values("cgroup.pids.current"), [4915.0]);
        assert_eq!(capture.facts[0].name, "cgroup.pids_max");
        assert_eq!(capture.facts[0].value, "4915");
        assert_eq!(capture.facts[1].value, "11274289152");
        let capture = unit(&clean::lines(
            "● cron.service - Cron\n     Loaded: loaded\n      Tasks: 1 (limit: 9)\n",
        ));
        assert!(capture.is_empty());
    }

    #[test]
    fn the_servers_container() {
        let head = "CONTAINER ID   NAME   CPU %   MEM USAGE / LIMIT   MEM %   NET I/O   BLOCK I/O   PIDS\n";
        let one = "3b1c4f2a9d8e   db      99.87%  1.998GiB / 2GiB   99.90%   1.2GB / 3.4GB   201GB / 87GB  61\n";
        let capture = containers(&clean::lines(&[head, one].concat()));
        assert_eq!(capture.brought, "2.0 of 2.0 GiB of memory, 61 threads");
        assert_eq!(capture.facts[0].value, "2147483648");
        let two = one.replace("db ", "web");
        let capture = containers(&clean::lines(&[head, one, &two].concat()));
        assert_eq!(
            capture.skipped[0].1,
            "none of 2 containers has the name of a MySQL or MariaDB server"
        );
        let ours = one.replace("db ", "mysql-1");
        let capture = containers(&clean::lines(&[head, &two, &ours].concat()));
        assert_eq!(capture.values("cgroup.pids.current"), [61.0]);
    }
}
