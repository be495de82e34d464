//! What healthy servers do is no stall, and hides none that comes after it.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a failing step fails the test"
)]

use crate::recordings;
use crate::recordings::Recording;
use crate::sim::judge::{Episode, episodes};
use crate::sim::mechanism::{LOGIN, Mechanism, UNGREETED};
use crate::sim::{Beside, Host, Load, Random, Server};
use model::Millis;

const REPORT: &str =
    "SELECT a.k, SUM(b.n) FROM shop.sale a JOIN shop.item b ON b.id = a.item GROUP BY a.k";

fn beside(server: &mut Server, seconds: u64, text: &'static str, state: &'static str, rows: f64) {
    let from = server.now;
    server.beside.push(Beside {
        // No connection has the number of an earlier one.
        id: 10_000_000 + from + 100_000_000_000 * server.beside.len() as u64,
        from,
        to: from + seconds * 1000,
        text,
        state,
        rows,
    });
}

/// What happens beside the load, and for how long it is looked at.
fn happens(server: &mut Server, what: &str) {
    let load = server.load;
    let rate = match load {
        Load::Rate(rate) => rate,
        Load::Saturated => 2000.0,
    };
    match what {
        "nothing" => {}
        "a long report" => beside(server, 60, REPORT, "Sending data", 100_000.0),
        "a report that only computes" => {
            beside(
                server,
                60,
                "SELECT SUM(SIN(a.k)) FROM shop.sale a",
                "Sending data",
                0.0,
            );
        }
        "a batch job" => beside(
            server,
            50,
            "UPDATE shop.sale SET n = n + 1 WHERE day < '2026-01-01'",
            "Updating",
            50_000.0,
        ),
        "a backup" => beside(
            server,
            90,
            "SELECT /*!40001 SQL_NO_CACHE */ * FROM `sale`",
            "Sending data",
            80_000.0,
        ),
        "ANALYZE" => beside(server, 40, "ANALYZE TABLE shop.sale", "", 0.0),
        "an online ALTER" => beside(
            server,
            60,
            "ALTER TABLE shop.sale ADD INDEX (day)",
            "altering table",
            0.0,
        ),
        // A port scanner, or the check of a load balancer.
        "a client that never says a word" => beside(server, 60, "", LOGIN, 0.0),
        "a client that is not greeted" => beside(server, 60, "", UNGREETED, 0.0),
        "a sleeping session" => beside(server, 60, "SELECT SLEEP(60)", "User sleep", 0.0),
        "a slow client" => beside(
            server,
            60,
            "SELECT * FROM shop.sale",
            "Writing to net",
            100.0,
        ),
        "a cron burst" => {
            for _ in 0..12 {
                beside(server, 30, REPORT, "Sending data", 30_000.0);
            }
            if let Load::Rate(_) = load {
                server.load = Load::Rate(rate * 3.0);
            }
        }
        "ten times the load" => {
            if let Load::Rate(_) = load {
                for part in 1..=10 {
                    server.load = Load::Rate(rate * f64::from(part));
                    server.run(6000);
                }
            }
        }
        "a tenth of the load" => server.load = Load::Rate(rate / 10.0),
        "a tenth of the load, beside a report" => {
            beside(server, 90, REPORT, "Sending data", 100_000.0);
            server.run(5000);
            server.load = Load::Rate(rate / 10.0);
        }
        "no load any more" => server.load = Load::Rate(0.0),
        "no load any more, and a client that never says a word" => {
            server.load = Load::Rate(0.0);
            server.run(5000);
            beside(server, 60, "", LOGIN, 0.0);
        }
        "no load any more, beside a report" => {
            beside(server, 90, REPORT, "Sending data", 100_000.0);
            server.run(5000);
            server.load = Load::Rate(0.0);
        }
        "neighbours that burn the processors" => {
            server.host = Host {
                busy: 1.0,
                own_system: 0.02,
                probe_us: 3000.0,
                queued: 6.0,
                ..Host::default()
            };
        }
        "neighbours that burn the disk" => {
            server.slowness = 8.0;
        }
        "a restart" => server.restart(4000),
        "a checkpoint" => {
            // Statements take four times as long for some seconds.
            server.slowness = 4.0;
            server.run(8000);
            server.slowness = 1.0;
        }
        "the clock set back" => {
            server.run(5000);
            server.now -= 5000;
        }
        other => panic!("{other}"),
    }
    server.run(60_000);
    server.load = load;
    server.host = Host::default();
    server.slowness = 1.0;
    server.run(40_000);
}

const ALL: [&str; 22] = [
    "nothing",
    "a long report",
    "a report that only computes",
    "a batch job",
    "a backup",
    "ANALYZE",
    "an online ALTER",
    "a sleeping session",
    "a slow client",
    "a cron burst",
    "ten times the load",
    "a tenth of the load",
    "a tenth of the load, beside a report",
    "no load any more",
    "no load any more, beside a report",
    "a client that never says a word",
    "a client that is not greeted",
    "no load any more, and a client that never says a word",
    "neighbours that burn the processors",
    "neighbours that burn the disk",
    "a restart",
    "a checkpoint",
];

const LOADS: [(usize, Load); 7] = [
    (1, Load::Rate(1.0)),
    (4, Load::Rate(1.0)),
    (4, Load::Rate(20.0)),
    (4, Load::Rate(800.0)),
    (8, Load::Saturated),
    (32, Load::Rate(800.0)),
    (200, Load::Rate(20.0)),
];

#[test]
fn what_healthy_servers_do_is_no_stall_and_hides_none() {
    let mut alarms = Vec::new();
    let mut blind = Vec::new();
    for what in ALL {
        for (pool, load) in LOADS {
            let mut server = Server::new(pool, load, 7 + pool as u64);
            server.run(70_000);
            happens(&mut server, what);
            for episode in episodes(&server.events) {
                alarms.push(format!(
                    "{what}, {pool} clients, {load:?}: {} [{}]",
                    episode.says, episode.rule
                ));
            }
            server.events.clear();
            let truth = server.stall(Mechanism::MetadataLock, 5000).unwrap();
            server.run(5000);
            let noticed = episodes(&server.events)
                .iter()
                .any(|episode| episode.trigger >= truth.onset.0 && episode.trigger <= truth.end.1);
            if !noticed {
                blind.push(format!("after {what}, {pool} clients, {load:?}"));
            }
        }
    }
    assert!(
        alarms.is_empty(),
        "{} false alarms: {alarms:#?}",
        alarms.len()
    );
    assert!(blind.is_empty(), "blind: {blind:#?}");
}

#[test]
fn nothing_is_told_of_the_first_seconds_of_a_busy_server() {
    for (pool, load) in LOADS {
        let mut server = Server::new(pool, load, 3);
        server.host = Host {
            busy: 1.0,
            own_system: 0.6,
            probe_us: 4000.0,
            on_cpu: 1.6,
            queued: 14.0,
        };
        server.run(30_000);
        assert_eq!(server.events, [], "{pool} clients, {load:?}");
    }
}

#[test]
fn a_clock_set_back_ends_nothing_that_works() {
    for back in [5000, 300_000] {
        let mut server = Server::new(4, Load::Rate(800.0), 5);
        server.run(400_000);
        server.now -= back;
        for client in &mut server.clients {
            client.since = server.now;
        }
        server.run(90_000);
        assert_eq!(server.events, [], "{back}");
        let truth = server.stall(Mechanism::RowLock, 5000).unwrap();
        server.run(5000);
        let told = episodes(&server.events);
        assert_eq!(told.len(), 1, "{back}: {told:?}");
        assert!(told[0].onset.abs_diff(truth.onset.1) <= 1000);
    }
}

/// Statements a second at this time of a day: little at night, most at noon.
fn of_the_day(second: u64) -> f64 {
    let hour = second as f64 / 3600.0;
    let shape = 0.5 - 0.5 * (hour / 24.0 * std::f64::consts::TAU).cos();
    2.0 + 300.0 * shape * shape
}

/// A probe that takes so long is felt, microseconds.
const FELT_US: f64 = 250_000.0;

/// Seconds of healthy servers as they were recorded: how busy the processors were, how much of them the server
/// spent in the kernel, how long a probe took.
fn noise() -> Vec<Host> {
    let healthy = recordings::all()
        .into_iter()
        .filter(|one| one.stalls.is_empty());
    let hosts: Vec<Host> = healthy
        .flat_map(|recording| of(&recording))
        // In a restart users hang, too.
        .filter(|host| host.probe_us < FELT_US)
        .collect();
    assert!(hosts.len() > 300, "{} seconds are too few", hosts.len());
    hosts
}

/// Threads that waited for a processor beside the lab's ordinary load, on a machine that was building something: the
/// median, one second of ten, and the worst of some thousand.
fn queued_in(second: usize) -> f64 {
    match second % 100 {
        0 => 2.5,
        part if part % 10 == 0 => 0.3,
        _ => 0.02,
    }
}

fn of(recording: &Recording) -> Vec<Host> {
    let busy = recording.values("cpu.busy_share");
    let ticks = recording.values("process.system_ticks");
    let cpus = recording.values("cpu.count");
    let probes = recording.values("probe.query_us");
    let cpus = cpus.first().copied().unwrap_or(1.0);
    busy.iter()
        .zip(ticks.windows(2))
        // Five probes a second.
        .zip(probes.chunks(5))
        .enumerate()
        .map(|(second, ((busy, ticks), probes))| Host {
            busy: *busy,
            own_system: ((ticks[1] - ticks[0]) / 100.0 / cpus).max(0.0),
            probe_us: probes.iter().sum::<f64>() / probes.len() as f64,
            queued: queued_in(second),
            ..Host::default()
        })
        .collect()
}

/// Hours of a server with a daily shape, jobs each hour and reports now and then, on hosts as they were recorded.
fn hours(hours: u64, seed: u64) -> Vec<Episode> {
    let hosts = noise();
    let mut begin = 0;
    let mut server = Server::new(8, Load::Rate(2.0), seed);
    let mut random = Random::new(seed + 99);
    for second in 0..hours * 3600 {
        // The load wanders by a third.
        let noise = 0.7 + 0.6 * random.share();
        server.load = Load::Rate(of_the_day(second % 86_400) * noise);
        // A minute of a recorded host at a time, so that what follows each other there does here.
        if second % 60 == 0 {
            begin = random.below(hosts.len());
        }
        server.host = hosts[(begin + second as usize % 60) % hosts.len()];
        if second % 3600 == 0 {
            for _ in 0..6 {
                let length = 5 + random.below(60) as u64;
                beside(&mut server, length, REPORT, "Sending data", 30_000.0);
            }
        }
        if second % 86_400 == 3 * 3600 {
            beside(
                &mut server,
                1800,
                "SELECT /*!40001 SQL_NO_CACHE */ * FROM `sale`",
                "Sending data",
                90_000.0,
            );
        }
        if random.below(4000) == 0 {
            let length = 2 + random.below(120) as u64;
            beside(&mut server, length, REPORT, "Sending data", 100_000.0);
        }
        server.run(1000);
        let now = server.now;
        server.beside.retain(|beside| beside.to > now);
    }
    episodes(&server.events)
}

#[test]
fn hours_go_by_without_a_false_alarm() {
    let count: u64 = std::env::var("SIMULATED_HOURS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(6);
    let alarms = hours(count, 11);
    for alarm in &alarms {
        eprintln!("{} at {} [{}]", alarm.says, alarm.trigger, alarm.rule);
    }
    // One a month.
    let allowed = count as usize / (24 * 30);
    assert!(
        alarms.len() <= allowed,
        "{} false alarms in {count} hours",
        alarms.len()
    );
}

/// The time of the simulation that other tests leave out.
const HOUR_MS: Millis = 3_600_000;

#[test]
fn a_slow_burn_is_noticed_at_five_times_the_hour_before() {
    let mut server = Server::new(32, Load::Rate(100.0), 21);
    // 10 ms each.
    server.slowness = 40.0;
    server.run(HOUR_MS);
    assert_eq!(server.events, []);
    // It grows by a twentieth a minute, to eight times as much.
    let mut noticed_at = None;
    for _ in 0..44 {
        server.slowness *= 1.05;
        server.run(60_000);
        if !server.events.is_empty() {
            noticed_at = Some(server.slowness / 40.0);
            break;
        }
    }
    let told = episodes(&server.events);
    let times = noticed_at.unwrap_or_else(|| panic!("never noticed"));
    assert!((4.0..=8.0).contains(&times), "at {times} times: {told:?}");
    assert_eq!(told[0].rule, "slow-burn", "{told:?}");
}
