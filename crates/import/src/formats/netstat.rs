//! Connections and listen queues: `netstat`, `ss`.

use std::collections::BTreeMap;

use model::{Reading, Unit};

use crate::columns::plain;
use crate::format::{Format, Gap, Group, Recogniser};
use crate::line::Line;
use crate::read::{Read, counted, prints};

pub(crate) static FORMAT: Format = Format {
    id: "netstat",
    group: Group::Host,
    name: "netstat output",
    printed_by: "netstat (also `-s`), ss",
    content: "connections by state, listen queues and their overflows",
    recognisers: &[Recogniser::new(370, "APSNIUTM0123456789", 0, |at| {
        is_netstat(at.text, at.next)
    })],
    continues: |_, next| next.own.is_none() && is_net_line(next.line, next.text),
    absorbs: |_, next| is_connection(next.text),
    gap: Gap::Lines(6),
    preference: 15,
    read,
    is_inventory: true,
    ..Format::NONE
};

/// Heads of `netstat -s`.
const PROTOCOLS: [&str; 9] = [
    "Ip:",
    "Icmp:",
    "IcmpMsg:",
    "Tcp:",
    "Udp:",
    "UdpLite:",
    "TcpExt:",
    "IpExt:",
    "MPTcpExt:",
];

/// A head of a list of connections, or a part of `netstat -s`.
fn is_netstat(text: &str, next: &[&str]) -> bool {
    text.starts_with("Active Internet connections")
        || (text.starts_with("Proto Recv-Q Send-Q"))
        || ((text.starts_with("State ") || text.starts_with("Netid "))
            && text.contains("Recv-Q")
            && text.contains("Local Address"))
        || is_listen_counter(text)
        || (PROTOCOLS.contains(&text)
            && next
                .first()
                .is_some_and(|line| line.starts_with([' ', '\t'])))
}

/// `    123 times the listen queue of a socket overflowed`.
fn is_listen_counter(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && (text.contains("the listen queue of a socket overflowed")
            || text.contains("SYNs to LISTEN sockets"))
}

/// A line of a list of connections, or of `netstat -s`.
fn is_net_line(line: &str, text: &str) -> bool {
    let mut words = text.split_whitespace();
    let first = words.next().unwrap_or_default();
    PROTOCOLS.contains(&first)
        || first.starts_with("tcp")
        || first.starts_with("udp")
        || first.starts_with("unix")
        || CONNECTION_STATES.contains(&first)
        || (line.starts_with([' ', '\t']) && !text.is_empty())
}

/// `tcp        0      0 10.0.0.5:3306 …`: a row of netstat's, which no other format has.
fn is_connection(text: &str) -> bool {
    let Some((protocol, rest)) = text.split_once(' ') else {
        return false;
    };
    let mut queues = rest.split_ascii_whitespace().take(2);
    let is_queue = |word: Option<&str>| {
        word.is_some_and(|word| word.bytes().all(|byte| byte.is_ascii_digit()))
    };
    ["tcp", "tcp6", "udp", "udp6"].contains(&protocol)
        && is_queue(queues.next())
        && is_queue(queues.next())
}

/// States as ss writes them.
const CONNECTION_STATES: [&str; 12] = [
    "LISTEN",
    "ESTAB",
    "SYN-SENT",
    "SYN-RECV",
    "FIN-WAIT-1",
    "FIN-WAIT-2",
    "TIME-WAIT",
    "CLOSE-WAIT",
    "LAST-ACK",
    "CLOSING",
    "UNCONN",
    "CLOSED",
];

/// The port of a server whose process is not named in the list.
const PORT: &str = "3306";

/// Counters of `netstat -s`, or connections by state with the queues of the server's port.
fn read(lines: &[Line<'_>]) -> Read {
    let mut read = Read::default();
    let (mut sockets, mut counters) = (0_usize, 0_usize);
    for (after, (at, print)) in (0..).step_by(1000).zip(prints(lines)) {
        let mut listens: Vec<Reading> = Vec::new();
        let mut states: BTreeMap<&str, u64> = BTreeMap::new();
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
        let mut plain_states: BTreeMap<String, u64> = BTreeMap::new();
        for (state, count) in states {
            *plain_states.entry(plain_state(state)).or_default() += count;
        }
        let states = plain_states.iter();
        listens.extend(states.map(|(state, count)| level(&format!("net.tcp.{state}"), *count)));
        read.push("netstat", at, after, listens);
        read.push("accept-queue", at, after, queues);
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

struct Socket<'t> {
    /// As it stands there.
    state: &'t str,
    received: u64,
    sent: u64,
    /// It is the server's, by its port or its program.
    is_server: bool,
    /// By its program.
    is_named: bool,
}

impl<'t> Socket<'t> {
    /// `tcp 0 0 127.0.0.1:3306 0.0.0.0:* LISTEN 812/mysqld`, `LISTEN 0 151 *:3306 *:*`.
    fn of(text: &'t str) -> Option<Self> {
        if !text.starts_with(|c: char| c == 't' || c.is_ascii_uppercase()) {
            return None;
        }
        // What the process is called stands behind these.
        let mut all = text.split_ascii_whitespace();
        let words: [Option<&str>; 6] = std::array::from_fn(|_| all.next());
        let word = |place: usize| words.get(place).copied().flatten();
        let number = |place: usize| word(place)?.parse::<u64>().ok();
        let (state, received, sent, local) = match word(0)? {
            first if first.starts_with("tcp") => match number(1) {
                Some(received) => (word(5)?, received, number(2)?, word(3)?),
                // ss with the kind of socket in front.
                None => (word(1)?, number(2)?, number(3)?, word(4)?),
            },
            first if CONNECTION_STATES.contains(&first) => {
                (first, number(1)?, number(2)?, word(3)?)
            }
            _ => return None,
        };
        let is_named = text.contains("mysqld") || text.contains("mariadbd");
        let port = local.rsplit(':').next().unwrap_or_default();
        Some(Self {
            state,
            received,
            sent,
            // The X protocol listens beside it.
            is_server: port != "33060" && (is_named || port == PORT),
            is_named,
        })
    }
}

/// ss and netstat in one writing. A state has capital letters in any language; what has others is none.
fn plain_state(state: &str) -> String {
    let is_small = |c: char| c.is_alphabetic() && !c.is_uppercase();
    match state {
        "ESTAB" => "ESTABLISHED".to_owned(),
        other if other.contains(is_small) => "OTHER".to_owned(),
        other => plain(other, 20, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean;
    use crate::recognise::recognise_line;

    #[test]
    fn listen_queues() {
        let capture = read(&clean::lines(
            "TS 1700000000.1 x\nTcpExt:\n    5 times the listen queue of a socket overflowed\n    7 SYNs to LISTEN sockets dropped\n\
             TS 1700000001.1 x\nTcpExt:\n    9 times the listen queue of a socket overflowed\n",
        ));
        let at: Vec<_> = capture.ticks.iter().map(|tick| tick.at).collect();
        assert_eq!(at, [Some(1_700_000_000_100), Some(1_700_000_001_100)]);
        assert_eq!(
            capture.values("net.listen_overflows").last().copied(),
            Some(9.0)
        );
        assert_eq!(
            capture.values("net.listen_drops").last().copied(),
            Some(7.0)
        );
    }

    #[test]
    fn sockets_of_netstat_and_ss() {
        let text = "Active Internet connections (servers and established)\nProto Recv-Q Send-Q Local Address           Foreign Address         State       PID/Program name\n\
            tcp        0      0 0.0.0.0:22              0.0.0.0:*               LISTEN      1/sshd\n\
            tcp      151      0 0.0.0.0:3306            0.0.0.0:*               LISTEN      812/mysqld\n\
            tcp        0      0 10.0.0.1:3306           10.0.0.2:4711           ESTABLISHED 812/mysqld\n\
            tcp        0      0 10.0.0.1:3306           10.0.0.2:4712           TIME_WAIT   -\n";
        let capture = read(&clean::lines(text));
        assert_eq!(
            capture.values("accept_queue.tcp.length").last().copied(),
            Some(151.0)
        );
        assert_eq!(
            capture.values("accept_queue.tcp.limit").last().copied(),
            None
        );
        assert_eq!(
            capture.values("net.tcp.TIME_WAIT").last().copied(),
            Some(1.0)
        );
        let text = "State  Recv-Q Send-Q Local Address:Port Peer Address:Port\nLISTEN 12 80 *:3306 *:*\nESTAB 0 0 10.0.0.1:3306 10.0.0.2:4711\n";
        let capture = read(&clean::lines(text));
        assert_eq!(
            capture.values("accept_queue.tcp.length").last().copied(),
            Some(12.0)
        );
        assert_eq!(
            capture.values("accept_queue.tcp.limit").last().copied(),
            Some(80.0)
        );
        assert_eq!(
            capture.values("net.tcp.ESTABLISHED").last().copied(),
            Some(1.0)
        );
    }

    #[test]
    fn a_row_that_is_taken_at_once_is_of_no_other_format() {
        for text in [
            "tcp        0      0 10.0.0.1:3306           10.0.0.2:4711           ESTABLISHED 812/mysqld",
            "tcp6       0  12345 :::3306                 :::*                    LISTEN      off (0.00/0/0)",
            "udp        0      0 127.0.0.1:323           0.0.0.0:*                           1/chronyd",
        ] {
            assert!(is_connection(text), "{text}");
            assert_eq!(recognise_line(text, text, &[]), None, "{text}");
        }
        for text in [
            "tcp LISTEN 0 151 *:3306 *:*",
            "tcp 0 x",
            "Tcp:",
            "udp is fine",
        ] {
            assert!(!is_connection(text), "{text}");
        }
    }

    #[test]
    fn a_state_has_one_name_whoever_prints_it() {
        let text = "State  Recv-Q Send-Q Local Address:Port Peer Address:Port\n\
            ESTAB 0 0 10.0.0.1:3306 10.0.0.2:4711\n\
            tcp        0      0 10.0.0.1:3306           10.0.0.2:4712           ESTABLISHED 812/mysqld\n";
        let capture = read(&clean::lines(text));
        assert_eq!(capture.values("net.tcp.ESTABLISHED"), [2.0]);
        assert_eq!(plain_state("FIN-WAIT-2"), "FIN_WAIT_2");
        assert_eq!(plain_state("hunter2"), "OTHER");
    }
}
