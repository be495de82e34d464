//! Connections and listen queues (`netstat`, `ss`), filesystems (`df`), kernel settings (`sysctl`),
//! processes (`ps`).

use std::collections::BTreeMap;

use model::{Fact, Reading, Unit};

use super::{Read, Tick, counted};
use crate::clean::Line;
use crate::kind::is_df_row;
use crate::times;

/// Kernel settings that are kept.
const SETTINGS_MAX: usize = 400;

/// Filesystems that are kept.
const FILESYSTEMS_MAX: usize = 100;

/// Kernel settings that say something of memory, disks, queues and limits.
const SETTINGS: [&str; 8] = [
    "vm.",
    "net.core.",
    "net.ipv4.tcp_",
    "net.ipv4.ip_local_port_range",
    "net.netfilter.",
    "net.nf_",
    "fs.",
    "kernel.",
];

/// The port of a server whose process is not named in the list.
const PORT: &str = "3306";

/// The prints of a file that is written again and again: pt-stalk puts the moment in front of each.
fn prints<'a, 'l>(lines: &'a [Line<'l>]) -> Vec<(Option<i64>, &'a [Line<'l>])> {
    let mut starts: Vec<(usize, Option<i64>)> = lines
        .iter()
        .enumerate()
        .filter_map(|(index, line)| Some((index, Some(times::ts(&line.text)?))))
        .collect();
    if starts.first().is_none_or(|(index, _)| *index > 0) {
        starts.insert(0, (0, None));
    }
    let ends: Vec<usize> = starts
        .iter()
        .skip(1)
        .map(|(index, _)| *index)
        .chain([lines.len()])
        .collect();
    starts
        .into_iter()
        .zip(ends)
        .map(|((from, at), to)| (at, lines.get(from..to).unwrap_or_default()))
        .collect()
}

fn push(
    read: &mut Read,
    source: &'static str,
    at: Option<i64>,
    nth: usize,
    readings: Vec<Reading>,
) {
    if !readings.is_empty() {
        read.ticks.push(Tick {
            source,
            at,
            after: nth as u64 * 1000,
            readings,
        });
    }
}

/// Counters of `netstat -s`, or connections by state with the queues of the server's port.
pub(super) fn netstat(lines: &[Line<'_>]) -> Read {
    let mut read = Read::default();
    let (mut sockets, mut counters) = (0_usize, 0_usize);
    for (nth, (at, print)) in prints(lines).into_iter().enumerate() {
        let mut listens: Vec<Reading> = Vec::new();
        let mut states: BTreeMap<String, u64> = BTreeMap::new();
        let mut queue: Option<(u64, u64, bool)> = None;
        let mut queues: Vec<Reading> = Vec::new();
        for line in print {
            let text = line.trimmed();
            if let Some(reading) = listen_counter(text) {
                counters += 1;
                listens.push(reading);
            } else if let Some(socket) = Socket::of(text) {
                sockets += 1;
                if socket.state == "LISTEN" {
                    let better = socket.is_server
                        && queue.is_none_or(|(.., named)| socket.is_named || !named);
                    if better {
                        queue = Some((socket.received, socket.sent, socket.is_named));
                    }
                } else {
                    *states.entry(socket.state).or_default() += 1;
                }
            }
        }
        if let Some((length, limit, _)) = queue {
            queues.push(level("accept_queue.tcp.length", length));
            // netstat prints 0 there, ss the limit.
            if limit > 0 {
                queues.push(level("accept_queue.tcp.limit", limit));
            }
        }
        listens.extend(
            states
                .iter()
                .map(|(state, count)| level(&format!("net.tcp.{state}"), *count)),
        );
        push(&mut read, "netstat", at, nth, listens);
        push(&mut read, "accept-queue", at, nth, queues);
    }
    read.brought = match (sockets, counters) {
        (0, counters) => counted(
            counters,
            "counter of listen queues",
            "counters of listen queues",
        ),
        (sockets, _) => counted(sockets, "socket", "sockets"),
    };
    read
}

fn level(name: &str, value: u64) -> Reading {
    Reading::gauge(name.to_owned(), Unit::Count, value as f64)
}

fn listen_counter(text: &str) -> Option<Reading> {
    let (number, rest) = text.split_once(' ')?;
    let value: u64 = number.parse().ok()?;
    let name = if rest.contains("the listen queue of a socket overflowed") {
        "net.listen_overflows"
    } else if rest.contains("SYNs to LISTEN sockets") {
        "net.listen_drops"
    } else {
        return None;
    };
    Some(Reading::counter(name, Unit::Count, value as f64))
}

struct Socket {
    state: String,
    received: u64,
    sent: u64,
    /// It is the server's, by its port or its program.
    is_server: bool,
    /// By its program.
    is_named: bool,
}

impl Socket {
    /// `tcp 0 0 127.0.0.1:3306 0.0.0.0:* LISTEN 812/mysqld`, `LISTEN 0 151 *:3306 *:*`.
    fn of(text: &str) -> Option<Self> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let number = |place: usize| words.get(place)?.parse::<u64>().ok();
        let (state, received, sent, local) = match words.first()? {
            first if first.starts_with("tcp") => match number(1) {
                Some(received) => (*words.get(5)?, received, number(2)?, *words.get(3)?),
                // ss with the kind of socket in front.
                None => (*words.get(1)?, number(2)?, number(3)?, *words.get(4)?),
            },
            first if crate::kind::CONNECTION_STATES.contains(first) => {
                (*first, number(1)?, number(2)?, *words.get(3)?)
            }
            _ => return None,
        };
        let is_named = text.contains("mysqld") || text.contains("mariadbd");
        let port = local.rsplit(':').next().unwrap_or_default();
        Some(Self {
            state: plain_state(state),
            received,
            sent,
            // The X protocol listens beside it.
            is_server: port != "33060" && (is_named || port == PORT),
            is_named,
        })
    }
}

/// ss and netstat in one writing.
fn plain_state(state: &str) -> String {
    match state {
        "ESTAB" => "ESTABLISHED".to_owned(),
        other => other
            .chars()
            .take(20)
            .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
            .collect(),
    }
}

/// `df`: how full filesystems are.
pub(super) fn df(lines: &[Line<'_>]) -> Read {
    let mut read = Read::default();
    let mut fullest: Option<(f64, String)> = None;
    for (nth, (at, print)) in prints(lines).into_iter().enumerate() {
        let mut readings = Vec::new();
        for line in print {
            let text = line.trimmed();
            if !is_df_row(text) || readings.len() >= FILESYSTEMS_MAX {
                continue;
            }
            let words: Vec<&str> = text.split_whitespace().collect();
            let [device, size, used, free, share, mount, ..] = words.as_slice() else {
                continue;
            };
            // An image fills its device to the last block, and nobody can write to it.
            let is_image = (device.contains("/loop") || device.contains("/sr"))
                && size == used
                && *free == "0";
            if is_image || is_no_place(mount) {
                continue;
            }
            let Ok(percent) = share.trim_end_matches('%').parse::<f64>() else {
                continue;
            };
            if fullest.as_ref().is_none_or(|(most, _)| percent > *most) {
                fullest = Some((percent, (*mount).to_owned()));
            }
            readings.push(Reading::gauge(
                format!("filesystem.{mount}.used_share"),
                Unit::Share,
                percent / 100.0,
            ));
        }
        push(&mut read, "filesystem", at, nth, readings);
    }
    read.brought = fullest.map_or_else(String::new, |(percent, mount)| {
        format!("fullest: {mount}, {percent:.0} %")
    });
    read
}

/// Where nobody's data are: the system's own, and the layers of containers, which stand again for
/// the filesystem that they are on. What a place is on does not matter: `/tmp` may be memory or an
/// image, and a server stalls when it is full.
fn is_no_place(mount: &str) -> bool {
    const ROOTS: [&str; 8] = [
        "/dev",
        "/proc",
        "/run",
        "/snap",
        "/sys",
        "/var/lib/containers/storage/overlay",
        "/var/lib/docker/overlay2",
        "/var/snap",
    ];
    ROOTS.iter().any(|root| {
        mount
            .strip_prefix(root)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

/// Settings as facts.
pub(super) fn sysctl(lines: &[Line<'_>]) -> Read {
    let mut read = Read::default();
    for line in lines {
        let Some((key, value)) = line.trimmed().split_once('=') else {
            continue;
        };
        let key = key.trim();
        let is_wanted = SETTINGS.iter().any(|start| key.starts_with(start));
        if is_wanted && read.facts.len() < SETTINGS_MAX {
            let value: String = value
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
                .chars()
                .take(200)
                .collect();
            read.facts.push(Fact::new(format!("sysctl.{key}"), value));
        }
    }
    read.brought = counted(read.facts.len(), "setting", "settings");
    read
}

/// What our own export says of server and host, as it was recorded.
pub(super) fn facts(lines: &[Line<'_>]) -> Read {
    let mut read = Read::default();
    for line in lines {
        if let Some((name, value)) = line.trimmed().split_once(" = ")
            && crate::kind::is_fact(line.trimmed())
            && read.facts.len() < SETTINGS_MAX
        {
            let value: String = value.chars().take(400).collect();
            read.facts.push(Fact::new(name.to_owned(), value));
        }
    }
    read.brought = counted(read.facts.len(), "fact", "facts");
    read
}

/// Why pt-stalk collected: `Check results: status(Threads_running)=30, matched=yes, cycles_true=5`.
pub(super) fn stalk_trigger(lines: &[Line<'_>]) -> Read {
    const WORDS_MAX: usize = 200;
    let mut read = Read::default();
    for line in lines {
        let Some((_, check)) = line.trimmed().split_once(" Check results: ") else {
            continue;
        };
        let check: String = check.chars().take(WORDS_MAX).collect();
        read.brought.clone_from(&check);
        read.trigger = Some(format!("pt-stalk: {check}"));
    }
    if read.trigger.is_none() {
        read.skipped
            .push((0, "pt-stalk collected at once, without a trigger".into()));
    }
    read
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean;

    #[test]
    fn listen_queues() {
        let read = netstat(&clean::lines(
            "TS 1700000000.1 x\nTcpExt:\n    5 times the listen queue of a socket overflowed\n    7 SYNs to LISTEN sockets dropped\n\
             TS 1700000001.1 x\nTcpExt:\n    9 times the listen queue of a socket overflowed\n",
        ));
        let at: Vec<_> = read.ticks.iter().map(|tick| tick.at).collect();
        assert_eq!(at, [Some(1_700_000_000_100), Some(1_700_000_001_100)]);
        assert_eq!(
            read.values("net.listen_overflows").last().copied(),
            Some(9.0)
        );
        assert_eq!(read.values("net.listen_drops").last().copied(), Some(7.0));
    }

    #[test]
    fn sockets_of_netstat_and_ss() {
        let text = "Active Internet connections (servers and established)\nProto Recv-Q Send-Q Local Address           Foreign Address         State       PID/Program name\n\
            tcp        0      0 0.0.0.0:22              0.0.0.0:*               LISTEN      1/sshd\n\
            tcp      151      0 0.0.0.0:3306            0.0.0.0:*               LISTEN      812/mysqld\n\
            tcp        0      0 10.0.0.1:3306           10.0.0.2:4711           ESTABLISHED 812/mysqld\n\
            tcp        0      0 10.0.0.1:3306           10.0.0.2:4712           TIME_WAIT   -\n";
        let read = netstat(&clean::lines(text));
        assert_eq!(
            read.values("accept_queue.tcp.length").last().copied(),
            Some(151.0)
        );
        assert_eq!(read.values("accept_queue.tcp.limit").last().copied(), None);
        assert_eq!(read.values("net.tcp.TIME_WAIT").last().copied(), Some(1.0));
        let text = "State  Recv-Q Send-Q Local Address:Port Peer Address:Port\nLISTEN 12 80 *:3306 *:*\nESTAB 0 0 10.0.0.1:3306 10.0.0.2:4711\n";
        let read = netstat(&clean::lines(text));
        assert_eq!(
            read.values("accept_queue.tcp.length").last().copied(),
            Some(12.0)
        );
        assert_eq!(
            read.values("accept_queue.tcp.limit").last().copied(),
            Some(80.0)
        );
        assert_eq!(
            read.values("net.tcp.ESTABLISHED").last().copied(),
            Some(1.0)
        );
    }

    #[test]
    fn what_made_pt_stalk_collect() {
        let read = stalk_trigger(&clean::lines(
            "2026_11_21_12_55_42 Check results: status(Threads_running)=30, matched=yes, cycles_true=5\n2026_11_21_12_55_42 pt-stalk ran with --function=status\n",
        ));
        let words = "status(Threads_running)=30, matched=yes, cycles_true=5";
        assert_eq!(read.trigger, Some(format!("pt-stalk: {words}")));
    }

    #[test]
    fn what_a_place_is_on_does_not_hide_that_it_is_full() {
        let read = df(&clean::lines(
            "Filesystem Size Used Avail Use% Mounted on\nudev 15G 15G 0 100% /dev\n/dev/sda3 194G 21G 164G 11% /\n\
             tmpfs 5.0M 5.0M 0 100% /run/lock\n/dev/loop0 1.5G 1.4G 0 100% /tmp\n/dev/loop1 56M 56M 0 100% /mnt/image\n\
             /dev/loop2 64M 63M 0 100% /snap/core/1\ntmpfs 8G 6G 2G 75% /var/lib/mysql\n",
        ));
        assert_eq!(read.brought, "fullest: /tmp, 100 %");
        let shares = |mount: &str| read.values(&format!("filesystem.{mount}.used_share"));
        assert_eq!(shares("/var/lib/mysql"), [0.75]);
        assert_eq!(read.ticks[0].readings.len(), 3);
    }

    #[test]
    fn filesystems_and_settings() {
        let read = df(&clean::lines(
            "Filesystem     1K-blocks     Used Available Use% Mounted on\n/dev/vda1 100 99 1 99% /var/lib/mysql\ntmpfs 5 5 0 100% /run\n",
        ));
        assert_eq!(
            read.values("filesystem./var/lib/mysql.used_share")
                .last()
                .copied(),
            Some(0.99)
        );
        assert_eq!(
            read.values("filesystem./run.used_share").last().copied(),
            None
        );
        assert_eq!(read.brought, "fullest: /var/lib/mysql, 99 %");
        let read = sysctl(&clean::lines(
            "vm.swappiness=60\nnet.ipv4.tcp_wmem = 4096\t16384\t4194304\ndev.cdrom.info = \n",
        ));
        assert_eq!(
            read.facts,
            [
                Fact::new("sysctl.vm.swappiness", "60"),
                Fact::new("sysctl.net.ipv4.tcp_wmem", "4096 16384 4194304")
            ]
        );
    }
}
