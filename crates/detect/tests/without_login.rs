//! A recorder that may not log in, beside a simulated server: what the kernel's times of connections
//! are worth.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a failing step fails the test"
)]

use crate::sim::judge::{episodes, judge};
use crate::sim::mechanism::Mechanism;
use crate::sim::{Beside, Load, Running, Server};

/// What holds requests: all of them, or those that write.
const HOLDS: [Mechanism; 5] = [
    Mechanism::RowLock,
    Mechanism::MetadataLock,
    Mechanism::GlobalReadLock,
    Mechanism::Stopped,
    Mechanism::LogFull,
];

fn server(clients: usize, rate: f64, seed: u64) -> Server {
    let mut server = Server::new(clients, Load::Rate(rate), seed);
    server.login = false;
    server.run(70_000);
    server
}

#[test]
fn what_holds_all_requests_is_noticed_with_its_times() {
    let (mut all, mut noticed, mut right) = (0, 0, 0);
    for (seed, mechanism) in (0..).zip(HOLDS) {
        for clients in [2, 4, 8, 32] {
            for rate in [20.0, 800.0] {
                for length in [5000, 20_000] {
                    let mut server = server(clients, rate, seed * 100 + clients as u64);
                    // Until the last idle connection has asked for something that is held.
                    let Some(truth) = server.stall(mechanism, length) else {
                        continue;
                    };
                    server.run(10_000);
                    let judged = judge(&episodes(&server.events), truth);
                    all += 1;
                    let Some(delay) = judged.delay else {
                        eprintln!("missed: {mechanism:?} {clients} clients {rate}/s {length} ms");
                        continue;
                    };
                    noticed += 1;
                    let ends = judged.end_error.is_some_and(|error| error.abs() <= 1500);
                    right += i32::from(ends && delay <= 5000);
                    if !ends || delay > 5000 {
                        eprintln!(
                            "late: {mechanism:?} {clients} clients {rate}/s {length} ms: {judged:?}"
                        );
                    }
                }
            }
        }
    }
    eprintln!("without a login: {noticed} of {all} noticed, {right} of them in time");
    assert!(noticed * 10 >= all * 9, "{noticed} of {all}");
    assert!(right * 10 >= noticed * 8, "{right} of {noticed}");
}

#[test]
fn what_healthy_servers_do_is_no_stall() {
    for (clients, rate) in [(4, 1.0), (4, 20.0), (4, 800.0), (32, 800.0), (200, 20.0)] {
        let mut server = server(clients, rate, 7);
        for round in 0..4 {
            // A report of its own connection, one of a client that usually asks for little, a night
            // without requests, a burst.
            let from = server.now;
            server.beside.push(Beside {
                id: 1_000_000 + from,
                from,
                to: from + 60_000,
                text: "",
                state: "",
                rows: 0.0,
            });
            if rate >= 20.0 {
                server.clients[1].since = from;
                server.clients[1].statement = Some(Running {
                    text: "",
                    state: "",
                    until: from + 25_000,
                });
            }
            server.run(40_000);
            server.load = Load::Rate(match round {
                0 => 0.0,
                1 => rate * 10.0,
                2 => rate / 10.0,
                _ => rate,
            });
            server.run(60_000);
            server.load = Load::Rate(rate);
            server.run(60_000);
        }
        let told = episodes(&server.events);
        let said: Vec<_> = told.iter().map(|stall| &stall.says).collect();
        assert!(said.is_empty(), "{clients} clients, {rate}/s: {said:#?}");
    }
}
