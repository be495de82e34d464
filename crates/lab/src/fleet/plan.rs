//! Which servers a simulated fleet has, and which of them stall when of what. Pure, and the same for the same seed.

use crate::chance::Chance;

/// Share of stalls that hit several servers at once, how many, and within how long, seconds.
const AT_ONCE: f64 = 0.05;
const AT_ONCE_SERVERS: usize = 5;
const AT_ONCE_SECONDS: f64 = 20.0;

/// Share of servers with a remedy, and of the stalls of its cause that it keeps away.
const REMEDIED: f64 = 0.25;
const KEPT_AWAY: f64 = 0.8;

/// Share of stalls that are seen with all evidence.
const ALL_EVIDENCE: f64 = 0.6;

/// Share of servers whose clock is wrong by more than a second or two, and by how much, milliseconds.
const WRONG_CLOCKS: f64 = 0.05;
const WRONG_BY_MS: f64 = 90_000.0;

const CLUSTERS: [&str; 6] = ["shop", "search", "billing", "users", "reports", "archive"];
const KERNELS: [&str; 4] = ["5.10.0-28", "5.15.0-91", "6.1.0-18", "6.8.0-45"];
const RECORDERS: [&str; 3] = ["0.1.0", "0.2.0", env!("CARGO_PKG_VERSION")];
const THP: [&str; 3] = ["always", "madvise", "never"];
const FLUSH: [&str; 2] = ["1", "2"];

/// A server of the fleet.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Server {
    /// The host's name.
    pub(super) name: String,
    /// Which server on the host.
    pub(super) label: &'static str,
    /// What its host was called before this moment, milliseconds since 1970.
    pub(super) renamed: Option<(String, i64)>,
    pub(super) cluster: &'static str,
    pub(super) kernel: &'static str,
    pub(super) recorder: &'static str,
    pub(super) thp: &'static str,
    pub(super) settings: Vec<(String, String)>,
    /// How much its clock is ahead.
    pub(super) ahead_ms: i64,
    /// The template of its calm.
    pub(super) calm: usize,
    /// How busy it is.
    pub(super) scale: f64,
    /// Not heard of from then on, milliseconds since 1970.
    pub(super) silent_from: i64,
    /// The templates that it stalls like.
    prone: Vec<usize>,
}

impl Server {
    /// What its host is called at this moment.
    pub(super) fn name_at(&self, at_ms: i64) -> &str {
        match &self.renamed {
            Some((former, until)) if at_ms < *until => former,
            _ => &self.name,
        }
    }
}

/// A stall of a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stall {
    /// When, milliseconds since 1970, by the right clock.
    pub(super) at_ms: i64,
    pub(super) server: usize,
    pub(super) template: usize,
    /// By which of its views it is told; one that there is not is that with all evidence.
    pub(super) view: usize,
}

/// A remedy of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Applied {
    pub(super) server: usize,
    pub(super) at_ms: i64,
    pub(super) cause: String,
    pub(super) is_undone: bool,
}

/// A fleet and what happens to it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Plan {
    pub(super) servers: Vec<Server>,
    /// By time.
    pub(super) stalls: Vec<Stall>,
    pub(super) remedies: Vec<Applied>,
}

/// How large a fleet is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Size {
    pub(super) hosts: usize,
    pub(super) incidents: usize,
    /// The time of the incidents, milliseconds since 1970.
    pub(super) from_ms: i64,
    pub(super) to_ms: i64,
}

/// The fleet of this seed. `truths`: what each template is of.
pub(super) fn plan(seed: u64, size: Size, truths: &[&str]) -> Plan {
    let mut chance = Chance::of(&[seed, 1]);
    let servers: Vec<Server> = (0..size.hosts)
        .map(|number| server(number, &size, truths.len(), &mut chance))
        .collect();
    let mut remedies = Vec::new();
    for (number, server) in servers.iter().enumerate() {
        let Some(cause) = server.prone.first().and_then(|place| truths.get(*place)) else {
            continue;
        };
        if chance.is(REMEDIED) {
            remedies.push(Applied {
                server: number,
                at_ms: within(&size, 0.3, 0.7, &mut chance),
                cause: (*cause).to_owned(),
                is_undone: chance.is(0.1),
            });
        }
    }
    let mut stalls = Vec::new();
    while stalls.len() < size.incidents && !servers.is_empty() {
        let first = chance.below(servers.len());
        let Some(template) = servers
            .get(first)
            .and_then(|server| chance.pick(&server.prone))
        else {
            break;
        };
        let at_ms = within(&size, 0.0, 1.0, &mut chance);
        let hit = match chance.is(AT_ONCE) {
            true => AT_ONCE_SERVERS.min(servers.len()),
            false => 1,
        };
        for other in 0..hit {
            let server = (first + other * 7) % servers.len();
            let cause = truths.get(template).copied().unwrap_or_default();
            let is_remedied = remedies.iter().any(|one| {
                one.server == server && one.cause == cause && one.at_ms < at_ms && !one.is_undone
            });
            if stalls.len() >= size.incidents || is_remedied && chance.is(KEPT_AWAY) {
                continue;
            }
            let late = chance.between(0.0, AT_ONCE_SECONDS * 1000.0) as i64;
            stalls.push(Stall {
                at_ms: at_ms + if hit > 1 { late } else { 0 },
                server,
                template,
                view: match chance.is(ALL_EVIDENCE) {
                    true => 0,
                    false => 1 + chance.below(4),
                },
            });
        }
    }
    stalls.sort_unstable();
    Plan {
        servers,
        stalls,
        remedies,
    }
}

fn within(size: &Size, from: f64, to: f64, chance: &mut Chance) -> i64 {
    let length = (size.to_ms - size.from_ms) as f64;
    size.from_ms + (length * chance.between(from, to)) as i64
}

fn server(number: usize, size: &Size, templates: usize, chance: &mut Chance) -> Server {
    let pick = |from: &[&'static str], chance: &mut Chance| chance.pick(from).unwrap_or_default();
    let flush = pick(&FLUSH, chance);
    let settings = [
        ("variables.innodb_flush_log_at_trx_commit", flush),
        ("variables.max_connections", "500"),
        ("variables.query_cache_type", pick(&["ON", "OFF"], chance)),
    ];
    let ahead_ms = match chance.is(WRONG_CLOCKS) {
        true => chance.between(-WRONG_BY_MS, WRONG_BY_MS),
        false => chance.between(-1500.0, 1500.0),
    };
    let thp = pick(&THP, chance);
    let mut settings: Vec<(String, String)> = settings
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
    settings.push(("thp.enabled".to_owned(), thp.to_owned()));
    let prone = (0..3).map(|_| chance.below(templates)).collect();
    // One in a hundred each, and at least one of each in a fleet of a dozen.
    let is_renamed = number % 100 == 11;
    let is_silent = number % 100 == 5;
    Server {
        name: format!("db{number}"),
        // The same port everywhere, and two servers on some hosts would be two hosts' names here.
        label: "3306",
        renamed: is_renamed.then(|| {
            let at = within(size, 0.4, 0.6, chance);
            (format!("old-db{number}"), at)
        }),
        cluster: CLUSTERS
            .get(number % CLUSTERS.len())
            .copied()
            .unwrap_or_default(),
        kernel: pick(&KERNELS, chance),
        recorder: pick(&RECORDERS, chance),
        thp,
        settings,
        ahead_ms: ahead_ms as i64,
        calm: chance.below(templates),
        scale: chance.between(0.3, 3.0),
        silent_from: match is_silent {
            true => size.to_ms - 3_600_000,
            false => i64::MAX,
        },
        prone,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    const SIZE: Size = Size {
        hosts: 20,
        incidents: 500,
        from_ms: 1_795_000_000_000,
        to_ms: 1_797_000_000_000,
    };

    #[test]
    fn the_same_seed_plans_the_same() {
        let truths = ["a", "b", "c", "d"];
        let one = plan(1, SIZE, &truths);
        assert_eq!(one, plan(1, SIZE, &truths));
        assert_ne!(one, plan(2, SIZE, &truths));
        assert_eq!((one.servers.len(), one.stalls.len()), (20, 500));
        let templates: BTreeSet<usize> = one.stalls.iter().map(|stall| stall.template).collect();
        assert_eq!(templates.len(), truths.len());
        assert!(one.stalls.is_sorted_by_key(|stall| stall.at_ms));
        assert!(!one.remedies.is_empty());
    }

    #[test]
    fn a_fleet_has_a_renamed_host_a_silent_one_and_clocks_that_differ() {
        let one = plan(1, SIZE, &["a", "b"]);
        let renamed = one.servers.iter().find(|server| server.renamed.is_some());
        let names =
            renamed.map(|server| (server.name_at(SIZE.from_ms), server.name_at(SIZE.to_ms)));
        assert_eq!(names, Some(("old-db11", "db11")));
        let silent = |server: &&Server| server.silent_from < SIZE.to_ms;
        assert_eq!(one.servers.iter().filter(silent).count(), 1);
        let ahead: BTreeSet<i64> = one.servers.iter().map(|server| server.ahead_ms).collect();
        assert!(ahead.len() > 10);
    }
}
