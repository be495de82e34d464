//! A server that dies in the middle of a statement, and prints it.

use std::process::Command;
use std::time::{Duration, Instant};

use mysql::prelude::Queryable;
use testbed::ServerKind;

use super::Planting;

/// Number of tgkill(2) on x86-64. kill(2) leaves the kernel to choose the thread, and only the one that runs the
/// statement prints it.
const TGKILL: &str = "234";
const SIGSEGV: &str = "11";

/// How long a dying server may take to print its stack.
const DIES: Duration = Duration::from_secs(20);

/// Sends SIGSEGV to the thread that runs a statement with markers.
pub(crate) fn crash(planting: &Planting, statement: &str) -> Result<(), String> {
    let pid = planting.server.pid().ok_or("it does not run")?;
    let mut session = planting.session();
    let id = session.connection_id();
    let sql = planting.markers.fill(statement);
    let running = std::thread::spawn(move || super::all_results(&mut session, &sql));
    std::thread::sleep(Duration::from_millis(700));
    if running.is_finished() {
        return Err(format!("the statement ended: {:?}", running.join()));
    }
    let thread = thread_of(planting, pid, id).ok_or("its thread is not known")?;
    let code = format!("exit(syscall({TGKILL}, {pid}, {thread}, {SIGSEGV}) == 0 ? 0 : 1)");
    let sent = Command::new("perl").args(["-e", &code]).status();
    if !sent.as_ref().is_ok_and(|status| status.success()) {
        return Err(format!("perl sends no signal: {sent:?}"));
    }
    let end = Instant::now() + DIES;
    while Instant::now() < end && !ended(pid) {
        std::thread::sleep(Duration::from_millis(50));
    }
    if ended(pid) {
        let _ = running.join();
        return Ok(());
    }
    Err(format!("thread {thread} lives on"))
}

/// A child that nobody has waited for is a zombie.
fn ended(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat.rsplit(')').next().unwrap_or_default().trim_start();
    state.is_empty() || state.starts_with('Z') || state.starts_with('X')
}

/// The server's thread that serves this connection.
fn thread_of(planting: &Planting, pid: u32, connection: u32) -> Option<u32> {
    let question = match planting.kind {
        ServerKind::MySql9 => format!(
            "SELECT THREAD_OS_ID FROM performance_schema.threads WHERE PROCESSLIST_ID = {connection}"
        ),
        ServerKind::MySql55 => return busy_thread(pid),
        _ => format!("SELECT tid FROM information_schema.processlist WHERE id = {connection}"),
    };
    let mut session = planting.session();
    session.query_first(question).ok().flatten()
}

/// MySQL 5.5 does not tell: it is the thread that computes.
fn busy_thread(pid: u32) -> Option<u32> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    let times = entries.filter_map(|entry| {
        let id: u32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let stat = std::fs::read_to_string(format!("/proc/{pid}/task/{id}/stat")).ok()?;
        // `utime` is the twelfth field behind the name (proc(5)).
        let (_, rest) = stat.rsplit_once(')')?;
        let ticks: u64 = rest.split_whitespace().nth(11)?.parse().ok()?;
        Some((rest.trim_start().starts_with('R'), ticks, id))
    });
    times.max().map(|(_, _, id)| id)
}
