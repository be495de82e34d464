//! SHOW GLOBAL STATUS and SHOW VARIABLES: rows of a name and a value. `mysqladmin ext -i` prints the
//! status again and again.

use std::collections::HashSet;

use model::{Fact, Reading};

use crate::format::Candidate;
use crate::format::{Format, Gap, Group, Recogniser, sign};
use crate::format::{Next, Open};
use crate::line::{Line, has};
use crate::read::{Read, Tick, counted};
use crate::server_names::{self, is_servers};
use crate::tables::{is_head_of_two, is_name_value_head, is_rule};
use crate::times;

pub(crate) static FORMAT: Format = Format {
    id: "name_value",
    group: Group::Server,
    name: "server variables or status",
    printed_by: "`SHOW STATUS`, `SHOW VARIABLES`, `mysqladmin ext -i` (also `-r`)",
    content: "signals and settings",
    recognisers: &[Recogniser::new(160, "", sign::TABLE, |at| {
        is_name_value(at)
    })],
    allows_head: is_name_value_head,
    continues,
    // A key of the server among its status has as many lines.
    gap: Gap::Lines(20),
    is_table: true,
    is_inventory: true,
    preference: 4,
    read,
    ..Format::NONE
};

/// A head `Variable_name | Value`, or some rows of a name and a value.
fn is_name_value(at: &Candidate<'_>) -> bool {
    if is_head_of_two(at.cells()) {
        return true;
    }
    if at.text.starts_with('|') {
        // Only a row of two cells tells by itself that it is one.
        return matches!(at.cells(), [name, _] if is_variable(name));
    }
    // Without boxes only a run of such lines is one.
    let rows = std::iter::once(&at.text)
        .chain(at.next.iter().take(3))
        .filter(|row| is_tabbed_variable(row.trim()));
    rows.count() >= 3
}

/// A name and a value behind a tab.
fn is_tabbed_variable(text: &str) -> bool {
    !text.starts_with('|')
        && text
            .split_once('\t')
            .is_some_and(|(name, value)| !value.contains('\t') && is_variable(name.trim_end()))
}

/// The two cells of a row. A row of a box with more of them is none of a name and a value.
fn name_and_value(text: &str) -> Option<(&str, &str)> {
    let Some(inner) = text.strip_prefix('|') else {
        let (name, value) = text.split_once('\t')?;
        return (!has(value, b'\t')).then(|| (name.trim_ascii(), value.trim_ascii()));
    };
    let inner = inner.strip_suffix('|').unwrap_or(inner);
    let Some((name, value)) = inner.split_once('|') else {
        return has(inner, b'\t').then(|| (inner.trim_ascii(), ""));
    };
    // A value may hold the separator; between cells it has blanks around it.
    let value = value.trim();
    (!value.contains(" | ")).then(|| (name.trim_ascii(), value))
}

/// A name as variables have them: with an underscore, or a known single word.
pub(crate) fn is_variable(name: &str) -> bool {
    const SINGLE: [&str; 14] = [
        "port",
        "socket",
        "version",
        "datadir",
        "basedir",
        "timestamp",
        "Connections",
        "Queries",
        "Questions",
        "Uptime",
        "Compression",
        "autocommit",
        "tmpdir",
        "hostname",
    ];
    let is_name = !name.is_empty()
        && name.len() <= 100
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(&byte));
    is_name && ((name.contains('_') && !name.starts_with("TABLE_")) || SINGLE.contains(&name))
}

fn continues(_: &Open, next: &Next<'_>) -> bool {
    let is_pair = || name_and_value(next.text).is_some_and(|(name, _)| !name.contains(' '));
    is_rule(next.text) || (next.own.is_none() && (is_variable(next.text) || is_pair()))
}

fn read(lines: &[Line<'_>]) -> Read {
    let mut read = Read::default();
    let mut table = Table::default();
    let mut relative = Relative::default();
    for line in lines {
        let text = line.trimmed();
        if let Some(at) = times::ts(text) {
            table.end(&mut read, &mut relative);
            table.at = Some(at);
        } else if is_name_value_head(text) {
            table.end(&mut read, &mut relative);
            table.has_head = true;
        } else if let Some((name, value)) = name_and_value(text) {
            if table.seen.contains(name) {
                let has_head = table.has_head;
                table.end(&mut read, &mut relative);
                table.has_head = has_head;
            }
            table.row(name, value);
        }
    }
    table.end(&mut read, &mut relative);
    let values: usize = read.ticks.iter().map(|tick| tick.readings.len()).sum();
    read.what = match (read.ticks.len(), read.facts.len()) {
        (0, 0) => None,
        (0, _) => Some("server variables".to_owned()),
        (1, 0) => Some("server status".to_owned()),
        (_, 0) => Some("server status, repeated".to_owned()),
        _ => None,
    };
    read.brought = match (read.ticks.len(), read.facts.len()) {
        (0, 0) => String::new(),
        (0, facts) => format!("{facts} settings"),
        (ticks, 0) => format!("{values} values at {}", timestamps(ticks)),
        (ticks, facts) => format!("{values} values at {}, {facts} settings", timestamps(ticks)),
    };
    read
}

fn timestamps(ticks: usize) -> String {
    counted(ticks, "moment", "moments")
}

/// Beginnings of the names that Galera's status has and its settings do not.
const GALERA_STATUS: [&str; 16] = [
    "wsrep_flow_control_",
    "wsrep_local_",
    "wsrep_cluster_size",
    "wsrep_cluster_status",
    "wsrep_cluster_state_uuid",
    "wsrep_cluster_conf_id",
    "wsrep_cert_",
    "wsrep_commit_",
    "wsrep_apply_",
    "wsrep_received",
    "wsrep_replicated",
    "wsrep_repl_",
    "wsrep_last_committed",
    "wsrep_ready",
    "wsrep_connected",
    "wsrep_incoming_addresses",
];

/// Names that only the status of ProxySQL has, which shares others with the server's (Questions, Slow_queries).
fn is_of_proxy(name: &str) -> bool {
    ["ProxySQL_", "Client_Connections_", "Server_Connections_"]
        .iter()
        .any(|start| name.starts_with(start))
}

fn is_galera_status(name: &str) -> bool {
    GALERA_STATUS.iter().any(|start| name.starts_with(start))
}

/// One print of a table.
#[derive(Default)]
struct Table<'a> {
    at: Option<i64>,
    /// Its columns are called as those of the server's.
    has_head: bool,
    seen: HashSet<&'a str>,
    rows: Vec<(&'a str, &'a str)>,
    readings: Vec<Reading>,
    facts: Vec<Fact>,
}

impl<'a> Table<'a> {
    fn row(&mut self, name: &'a str, value: &'a str) {
        self.seen.insert(name);
        self.rows.push((name, value));
    }

    /// It is the status of a proxy in front of servers.
    fn is_of_proxy(&self) -> bool {
        self.rows.iter().any(|(name, _)| is_of_proxy(name))
    }

    /// Status variables begin with a capital letter, but for those of Galera; settings do not. The
    /// many say which of both a table is.
    fn read(&mut self) {
        let rows = std::mem::take(&mut self.rows);
        let capital = |name: &str| name.starts_with(|c: char| c.is_ascii_uppercase());
        let of_status = rows
            .iter()
            .filter(|(name, _)| capital(name) || is_galera_status(name))
            .count();
        let is_status = of_status * 2 > rows.len();
        for (name, value) in rows {
            if capital(name) || is_galera_status(name) || (is_status && name.starts_with("wsrep_"))
            {
                self.readings.extend(server_names::counter(name, value));
            } else if !is_status {
                self.facts.push(server_names::setting(name, value));
            }
        }
    }

    fn end(&mut self, read: &mut Read, relative: &mut Relative) {
        if self.rows.is_empty() {
            // The moment in front of the head stays.
            return;
        }
        if self.is_of_proxy() {
            *self = Self::default();
            let why = "status of ProxySQL: it describes the proxy, not a server";
            read.skipped.push((0, why.into()));
            return;
        }
        // A row of anybody's table, field by field, has the same form.
        if !self.has_head && !self.rows.iter().any(|(name, _)| is_servers(name)) {
            *self = Self::default();
            let why = "a name and a value a row, and none of the names is one of a server's";
            read.skipped.push((0, why.into()));
            return;
        }
        self.read();
        let done = std::mem::take(self);
        read.facts.extend(done.facts);
        if done.readings.is_empty() {
            return;
        }
        // This reader makes ticks of the status only.
        let index = read.ticks.len() as u64;
        let (readings, seconds) = relative.absolute(done.readings);
        read.ticks.push(Tick {
            source: "status",
            at: done.at,
            after: seconds.map_or(index * 1000, |seconds| seconds * 1000),
            readings,
        });
    }
}

/// `mysqladmin -r` prints differences from the second time on: they are added up again.
#[derive(Default)]
struct Relative {
    sums: Option<std::collections::HashMap<String, f64>>,
    is_relative: Option<bool>,
    first_uptime: Option<f64>,
}

impl Relative {
    /// The values, and the seconds since the first time as the server's own clock has them.
    fn absolute(&mut self, mut readings: Vec<Reading>) -> (Vec<Reading>, Option<u64>) {
        let uptime = |readings: &[Reading]| {
            readings
                .iter()
                .find(|one| one.name == "status.Uptime")
                .map(|one| one.value)
        };
        let Some(sums) = &mut self.sums else {
            self.first_uptime = uptime(&readings);
            self.sums = Some(
                readings
                    .iter()
                    .map(|one| (one.name.to_string(), one.value))
                    .collect(),
            );
            return (readings, self.first_uptime.map(|_| 0));
        };
        let is_relative = *self.is_relative.get_or_insert_with(|| {
            matches!((uptime(&readings), self.first_uptime), (Some(now), Some(first)) if now * 10.0 < first)
        });
        if is_relative {
            for one in &mut readings {
                let is_level = one.kind == model::SignalKind::Gauge && one.name != "status.Uptime";
                if let Some(sum) = sums
                    .get_mut(one.name.as_ref())
                    .filter(|_| !is_level || one.value != 0.0)
                {
                    *sum += one.value;
                    one.value = *sum;
                } else if let Some(sum) = sums.get(one.name.as_ref()) {
                    one.value = *sum;
                }
            }
        }
        let since = uptime(&readings)
            .zip(self.first_uptime)
            .map(|(now, first)| now - first);
        let seconds = since
            .filter(|since| (0.0..1e6).contains(since))
            .map(|since| since as u64);
        (readings, seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clean;

    #[test]
    fn repeated_status_has_the_servers_own_times() {
        let print = |uptime: u32, queries: u32| {
            format!(
                "+--+\n| Variable_name | Value |\n+--+\n| Queries | {queries} |\n| Threads_running | 3 |\n| Uptime | {uptime} |\n+--+\n"
            )
        };
        let text = [print(1000, 50), print(1002, 70)].concat();
        let read_ = read(&clean::lines(&text));
        let seen: Vec<(u64, f64)> = read_
            .ticks
            .iter()
            .map(|tick| (tick.after, tick.readings[0].value))
            .collect();
        assert_eq!(seen, [(0, 50.0), (2000, 70.0)]);
        // With -r the second print is a difference.
        let text = [print(1000, 50), print(2, 20)].concat();
        let read_ = read(&clean::lines(&text));
        let seen: Vec<(u64, f64)> = read_
            .ticks
            .iter()
            .map(|tick| (tick.after, tick.readings[0].value))
            .collect();
        assert_eq!(seen, [(0, 50.0), (2000, 70.0)]);
    }

    #[test]
    fn a_moment_in_front_of_a_head_is_the_tables() {
        let print = |at: &str| format!("TS {at} x\nVariable_name\tValue\nQueries\t5\nUptime\t9\n");
        let text = [print("1700000000.5"), print("1700000001.5")].concat();
        let read = read(&clean::lines(&text));
        let at: Vec<_> = read.ticks.iter().map(|tick| tick.at).collect();
        assert_eq!(at, [Some(1_700_000_000_500), Some(1_700_000_001_500)]);
    }

    #[test]
    fn the_status_of_a_proxy_is_no_servers() {
        let read = read(&clean::lines(
            "| Variable_Name | Variable_Value |\n| ProxySQL_Uptime | 522 |\n| Questions | 510800 |\n",
        ));
        assert!(read.is_empty());
        assert!(read.skipped[0].1.contains("ProxySQL"), "{:?}", read.skipped);
    }

    #[test]
    fn a_row_of_anybodys_table_is_none_of_settings() {
        for text in [
            "| customer_id | 4711 |\n| card_no | 4111111111111111 |\n| pin_code | 1234 |\n",
            "customer_id\t4711\ncard_no\t4111111111111111\nCard_pin\t1234\n",
            "| Card_no | 4111111111111111 |\n| Street_no | 5 |\n",
        ] {
            let read = read(&clean::lines(text));
            assert!(read.is_empty() && read.skipped.len() == 1, "{text}");
        }
        // The server's own heads tell what it is, and so does any name of it. Of another row the value is not kept.
        for text in [
            "| Variable_name | Value |\n| acme_limit | 5 |\n",
            "| acme_limit | 5 |\n| innodb_acme | 6 |\n",
            "acme_limit\t5\nmax_connections\t6\n",
        ] {
            let read = read(&clean::lines(text));
            assert_eq!(read.facts[0].value, "(hidden)", "{text}");
        }
    }

    #[test]
    fn a_row_of_somebody_elses_among_counters_is_not_kept() {
        let read = read(&clean::lines(
            "Variable_name\tValue\nThreads_running\t3\nCard_pin\t4711\nUptime\t9\n",
        ));
        let names: Vec<&str> = read.ticks[0]
            .readings
            .iter()
            .map(|one| one.name.as_ref())
            .collect();
        assert_eq!(names, ["status.Threads_running", "status.Uptime"]);
    }

    #[test]
    fn settings_are_facts() {
        let read = read(&clean::lines(
            "| thread_handling | pool-of-threads |\n| wsrep_sst_auth | a:b |\n",
        ));
        assert_eq!(
            read.fact_list(),
            [
                ("variables.thread_handling", "pool-of-threads"),
                ("variables.wsrep_sst_auth", "(hidden)")
            ]
        );
    }
}
