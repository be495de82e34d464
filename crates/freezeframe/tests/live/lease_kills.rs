//! The lease of the general log while its owner, its watchdog and the next start are killed.

use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use rustix::process::Signal;
use testbed::ServerKind;

use crate::lease::{PREVIOUS, Scene, TIMEOUT, children, finished, kinds, parent_of, signal};
use crate::tool::wait_until;

/// xorshift64*: rounds that failed can be run again.
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        let high = u128::from(self.0.wrapping_mul(0x2545_F491_4F6C_DD1D));
        ((high * u128::from(end)) >> 64) as u64
    }
}

/// What happened in many rounds.
#[derive(Debug, Default)]
struct Tally {
    /// Killed while the lease was in the journal.
    in_force: usize,
    /// The watchdog was killed as well.
    both: usize,
    /// Both were killed, and the lease was left for the next start.
    left: usize,
    /// The log was still on when the owner was dead.
    on: usize,
    /// The server was frozen while the owner was killed.
    frozen: usize,
}

/// A short lease: much of a round is what is done before and after it.
const TIME: &str = "60ms";

/// Rounds of a short lease, each ended by SIGKILL at a random moment.
fn killed_at_random(kind: ServerKind, rounds: usize, seed: u64) -> Option<Tally> {
    let mut scene = Scene::start(kind)?;
    let mut random = Random(seed);
    let mut tally = Tally::default();
    let before = scene.set(false, "FILE");
    // The fastest of some whole ones: a moment beyond the end kills nothing.
    let mut whole = Duration::MAX;
    for _ in 0..5 {
        let begin = Instant::now();
        let (_, said) = finished(scene.live(TIME, &[]));
        whole = whole.min(begin.elapsed());
        scene.is_as_before(&before, &said);
    }
    for round in 0..rounds {
        let (on, output) = PREVIOUS[random.below(PREVIOUS.len() as u64) as usize];
        let before = scene.set(on, output);
        let mut owner = scene.live(TIME, &[]);
        // Half of them in the lease, however slow the machine is; the others whenever.
        let waits = random.below(2) == 0;
        let moment = if waits {
            wait_until("the lease to be taken", || {
                !scene.leases().is_empty() || owner.try_wait().unwrap().is_some()
            });
            Duration::from_micros(random.below(80_000))
        } else {
            Duration::from_micros(random.below(whole.as_micros() as u64))
        };
        std::thread::sleep(moment);
        let kills_both = random.below(3) == 0;
        // What the owner sends to a frozen server is executed when nobody of us lives any more.
        let freezes = random.below(4) == 0;
        if freezes {
            scene.server.pause().unwrap();
            std::thread::sleep(Duration::from_micros(random.below(20_000)));
        }
        let watchdogs = children(owner.id());
        owner.kill().unwrap();
        owner.wait().unwrap();
        let in_force = !scene.leases().is_empty();
        if kills_both {
            std::thread::sleep(Duration::from_micros(random.below(15_000)));
            watchdogs.iter().for_each(|pid| signal(*pid, Signal::KILL));
        }
        if freezes {
            scene.server.resume().unwrap();
        }
        if !kills_both {
            tally.on += usize::from(in_force && scene.is_on());
        }
        wait_until("the watchdog to be done", || {
            watchdogs.iter().all(|pid| parent_of(*pid).is_none())
        });
        let what = format!(
            "round {round} of {kind:?}: {on} {output}, killed after {moment:?} ({waits}), both: {kills_both}, frozen: {freezes}"
        );
        let is_left = !scene.leases().is_empty();
        // A watchdog that was started between the look at the children and the kill is on its own; it is awaited.
        if kills_both || is_left && watchdogs.is_empty() {
            if random.below(2) == 0 {
                // The next start is killed as well; the one after that finds the same.
                let mut next = scene.start_revert();
                std::thread::sleep(Duration::from_micros(random.below(30_000)));
                next.kill().unwrap();
                next.wait().unwrap();
            }
            scene.revert();
        }
        tally.in_force += usize::from(in_force);
        tally.both += usize::from(in_force && kills_both);
        tally.left += usize::from(is_left);
        tally.frozen += usize::from(in_force && freezes);
        scene.is_as_before(&before, &what);
        if freezes {
            std::thread::sleep(Duration::from_millis(20));
            scene.is_as_before(&before, &format!("later in {what}"));
        }
    }
    eprintln!("{kind:?}, {rounds} rounds, a whole one takes {whole:?}: {tally:?}");
    Some(tally)
}

/// What a killed owner had sent is executed after its death: it must be over before anybody says that all is back.
#[test]
fn a_statement_that_outlives_its_client_is_ended_first() {
    use remedy::general_log::{GeneralLogChange, Values};
    use remedy::{Change, Journal, Lease, LoginSource, ProcessId, ServerAddress, ServerLogin};
    for kind in kinds() {
        let Some(mut scene) = Scene::start(kind) else {
            continue;
        };
        let before = scene.set(false, "FILE");
        let id = "00000000000000ab";
        let file_here = scene
            .server
            .datadir()
            .join(format!("freezeframe-general-{id}.log"));
        let previous = Values {
            general_log: before.0,
            log_output: before.1.clone(),
            general_log_file: before.2.clone(),
        };
        let ours = Values {
            general_log: true,
            log_output: "FILE".to_owned(),
            general_log_file: file_here.to_string_lossy().into_owned(),
        };
        scene.admin.query_drop("CREATE DATABASE late").unwrap();
        let body = format!(
            "CREATE PROCEDURE late.taking() BEGIN DO SLEEP(15); SET GLOBAL general_log_file = '{}'; \
             SET GLOBAL general_log = ON; END",
            file_here.display()
        );
        scene.admin.query_drop(body).unwrap();
        let mut dead = scene.server.login().connect(false, TIMEOUT).unwrap();
        let connection = u64::from(dead.connection_id());
        dead.query_drop("DO GET_LOCK('freezeframe.general_log', 0)")
            .unwrap();
        let late = std::thread::spawn(move || dead.query_drop("CALL late.taking()").is_err());
        let change = GeneralLogChange {
            previous,
            ours,
            file_here,
            bytes_max: 1 << 20,
            free_bytes_min: 0,
            connection,
        };
        let lease = Lease {
            version: 1,
            id: id.to_owned(),
            server: ServerLogin {
                address: ServerAddress::Socket(scene.server.socket()),
                process: None,
                login: LoginSource::default(),
            },
            change: Change::GeneralLog(change),
            taken_us: 0,
            deadline_us: 0,
            // Nobody has ever had this number at that time.
            owner: ProcessId {
                pid: std::process::id(),
                start_time_ticks: 1,
            },
        };
        Journal::open(&scene.journal)
            .unwrap()
            .write(&lease)
            .unwrap();
        wait_until("the statement to be under way", || {
            let question = "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'DO SLEEP%' \
                OR INFO LIKE 'CALL late%'";
            scene.admin.query_first::<u64, _>(question).unwrap() > Some(0)
        });
        scene.revert();
        assert!(late.join().unwrap(), "{kind:?}: it was not ended");
        scene.is_as_before(&before, "after a statement that outlived its client");
    }
}

#[test]
fn killed_at_a_random_moment_the_lease_is_given_back() {
    let mut tally = Tally::default();
    for (kind, rounds) in kinds().into_iter().zip([15, 5, 5]) {
        let seed = u64::from(std::process::id()) + 1;
        let Some(more) = killed_at_random(kind, rounds, seed) else {
            continue;
        };
        tally.in_force += more.in_force;
    }
    assert!(
        tally.in_force > 0,
        "no round killed a lease that was in force: {tally:?}"
    );
}

#[test]
#[ignore = "a thousand rounds take minutes; cargo test -p freezeframe --test live -- --ignored thousand"]
fn a_thousand_kills_at_random_moments() {
    for (kind, rounds) in kinds().into_iter().zip([600, 200, 200]) {
        if let Some(tally) = killed_at_random(kind, rounds, 20_261_121) {
            assert!(
                tally.in_force > rounds / 10 && tally.left > 0 && tally.on > 0,
                "{tally:?}"
            );
        }
    }
}
