//! Servers that answer as no server should, asked in every way that a session has: nothing panics, everything ends at
//! its deadline, and memory stays small.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use server::{Address, Deadlines, Login, Session};
use testbed::hostile::{Variant, variants};

const DEADLINES: Deadlines = Deadlines {
    connect: Duration::from_millis(400),
    answer: Duration::from_millis(400),
};

/// Questions of one conversation.
const QUESTIONS: u32 = 4;

/// What a busy machine adds.
const SLACK: Duration = Duration::from_secs(2);

/// Variants that are tried at a time: most of them is waiting for a deadline.
const THREADS: usize = 32;

/// What this process may occupy at most: both ends of all conversations at a time are in it.
const HIGH_WATER_KIB_MAX: u64 = 512 << 10;

fn login() -> Login {
    Login {
        user: "root".to_owned(),
        password: Some("a secret".to_owned()),
        from: "the test".to_owned(),
        tls: server::Tls::default(),
    }
}

/// Asks until the first error, which is given.
fn converse(address: &Address) -> Result<(), server::ServerError> {
    let mut session = Session::connect(address, &login(), DEADLINES)?;
    session.execute("SET SESSION sql_mode = ''")?;
    session.rows("SHOW GLOBAL STATUS", 2000)?;
    session.ping()?;
    server::processlist(&mut session, &[], |_| Vec::new())?;
    Ok(())
}

fn tell(variant: Variant, dir: &std::path::Path, number: usize) -> Vec<String> {
    let (name, must_fail) = (variant.name.clone(), variant.must_fail);
    let socket = dir.join(number.to_string());
    let mut addresses = vec![Address::Tcp(
        "127.0.0.1".to_owned(),
        variant.clone().serve_tcp().unwrap(),
    )];
    if !variant.tcp_only {
        variant.serve_unix(&socket).unwrap();
        addresses.push(Address::Socket(socket));
    }
    let mut wrong = Vec::new();
    for address in addresses {
        let begin = Instant::now();
        let asked = thread::spawn(move || converse(&address)).join();
        let took = begin.elapsed();
        if took > DEADLINES.connect + DEADLINES.answer * QUESTIONS + SLACK {
            wrong.push(format!("{name}: took {took:?}"));
        }
        match asked {
            Err(_) => wrong.push(format!("{name}: panicked")),
            Ok(Ok(())) if must_fail => wrong.push(format!("{name}: was believed")),
            Ok(Err(error)) if name == "honest" => wrong.push(format!("{name}: {error}")),
            Ok(Err(error)) => {
                let text = &error.text;
                if text.chars().any(char::is_control) || text.chars().count() > 700 {
                    wrong.push(format!("{name}: {text:?}"));
                }
            }
            Ok(Ok(())) => {}
        }
    }
    wrong
}

#[test]
fn no_server_is_too_hostile() {
    let variants = variants();
    assert!(variants.len() >= 200, "{}", variants.len());
    let dir = tempfile::tempdir().unwrap();
    let count = variants.len();
    let queue = Mutex::new(variants.into_iter().enumerate());
    let wrong = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap().next();
                    let Some((number, variant)) = next else {
                        return;
                    };
                    let found = tell(variant, dir.path(), number);
                    wrong.lock().unwrap().extend(found);
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} of {count}: {wrong:#?}", wrong.len());
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    let kib = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    assert!(kib.unwrap() < HIGH_WATER_KIB_MAX, "{line:?}");
}

#[test]
fn who_is_stopped_does_not_wait_for_the_deadline() {
    let dir = tempfile::tempdir().unwrap();
    let patient = Deadlines {
        connect: Duration::from_secs(600),
        answer: Duration::from_secs(600),
    };
    let waits = ["is silent ", "drips ", "endless small rows"];
    let chosen = variants().into_iter().filter(|variant| {
        waits.iter().any(|begin| variant.name.starts_with(begin)) && !variant.tcp_only
    });
    let asked: Vec<_> = chosen
        .enumerate()
        .map(|(number, variant)| {
            let socket = dir.path().join(number.to_string());
            let name = variant.name.clone();
            variant.serve_unix(&socket).unwrap();
            let stop = Arc::new(AtomicBool::new(false));
            let seen = stop.clone();
            let thread = thread::spawn(move || {
                let mut session =
                    Session::connect(&Address::Socket(socket), &login(), patient.or_until(&seen))?;
                while session.ping().is_ok() {}
                session.ping()
            });
            (name, stop, thread)
        })
        .collect();
    assert!(asked.len() > 10);
    thread::sleep(Duration::from_millis(300));
    let begin = Instant::now();
    for (_, stop, _) in &asked {
        stop.store(true, Ordering::Relaxed);
    }
    for (name, _, thread) in asked {
        assert!(thread.join().unwrap().is_err(), "{name}");
    }
    // The deadlines are far away: a busy machine may take its time.
    let took = begin.elapsed();
    assert!(took < Duration::from_secs(20), "{took:?}");
}

/// A unix socket whose queue is full blocks a plain connect without limit.
#[test]
fn a_full_queue_ends_at_the_deadline() {
    let dir = tempfile::tempdir().unwrap();
    let socket = dir.path().join("full");
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, bind, listen, socket as open};
    let listener = open(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
    bind(&listener, &SocketAddrUnix::new(&socket).unwrap()).unwrap();
    listen(&listener, 0).unwrap();
    let address = Address::Socket(socket);
    let begin = Instant::now();
    let waiting: Vec<_> = (0..20)
        .map(|_| {
            let address = address.clone();
            thread::spawn(move || Session::connect(&address, &login(), DEADLINES).err())
        })
        .collect();
    for thread in waiting {
        let error = thread.join().unwrap().expect("nobody answers");
        assert_eq!(error.outcome, model::ProbeOutcome::TimedOut, "{error}");
    }
    assert!(begin.elapsed() < DEADLINES.connect + SLACK * 3);
}
