//! Rules about limits: connections, open files, the table cache.

use super::{Judged, Look, Untold::Fine, fine_if, graded, note, or, serious};
use crate::human::{Show, show};

pub(super) fn connections(look: &Look) -> Judged {
    let max = look.variable_number("max_connections")?;
    let now = or(look.status("Threads_connected"), 0.0)?;
    let most = or(look.status("Max_used_connections"), 0.0)?;
    let refused = or(look.status("Connection_errors_max_connections"), 0.0)?;
    fine_if(max <= 0.0)?;
    if now / max >= 0.95 {
        return serious(format!(
            "{} of {} connections are in use (max_connections)",
            show(now, Show::Count),
            show(max, Show::Count)
        ));
    }
    if refused > 0.0 || most > max {
        return note(format!(
            "max_connections ({}) has been reached: {} at once at the most, {} refused since the \
             start",
            show(max, Show::Count),
            show(most, Show::Count),
            show(refused, Show::Count)
        ));
    }
    if now / max >= 0.85 {
        return note(format!(
            "{} of {} connections are in use",
            show(now, Show::Count),
            show(max, Show::Count)
        ));
    }
    Err(Fine)
}

/// Threads that the limit of tasks leaves to connections.
pub(super) fn threads(look: &Look) -> Judged {
    let tasks = look.last("cgroup.pids.current")?;
    let limit = look.maybe_number("cgroup.pids_max").ok_or(Fine)?;
    let max = look.variable_number("max_connections")?;
    // A pool needs few threads for many connections.
    fine_if(or(look.variable("thread_handling"), "")? == "pool-of-threads")?;
    let connected = or(look.status("Threads_connected"), 0.0)?;
    let room = limit - (tasks - connected).max(0.0);
    fine_if(room >= max)?;
    let text = format!(
        "the server's cgroup may have {} tasks (pids.max) and has {}: {} connections fit, and \
         max_connections is {}",
        show(limit, Show::Count),
        show(tasks, Show::Count),
        show(room.max(0.0), Show::Count),
        show(max, Show::Count)
    );
    graded(connected >= 0.9 * room, text)
}

pub(super) fn table_cache(look: &Look) -> Judged {
    let open = look.status("Open_tables")?;
    let opened = look.status_rate("Opened_tables")?;
    let cache = look.variable_number("table_open_cache")?;
    fine_if(opened < 10.0 || open < 0.95 * cache)?;
    note(format!(
        "the table cache is full ({} of {}) and tables are opened anew, at {}; open_files_limit \
         is {}",
        show(open, Show::Count),
        show(cache, Show::Count),
        show(opened, Show::PerSecond),
        or(look.variable("open_files_limit"), "unknown")?
    ))
}

pub(super) fn open_files(look: &Look) -> Judged {
    let open = look.number("process.open_files")?;
    let limit = look.number("limits.open_files")?;
    fine_if(limit <= 0.0 || open / limit < 0.8)?;
    let text = format!(
        "the server has {} files open of the {} it may have (Max open files)",
        show(open, Show::Count),
        show(limit, Show::Count)
    );
    graded(open / limit >= 0.95, text)
}

/// Open files that a server of that time reserves memory for one by one.
const HUGE_LIMIT: f64 = 1e8;

pub(super) fn huge_open_files(look: &Look) -> Judged {
    let version = look.fact("server.version")?;
    let old = version.starts_with("5.") && !version.contains("MariaDB");
    fine_if(!old)?;
    let limit = or(look.variable_number("open_files_limit"), 0.0)?;
    fine_if(limit < HUGE_LIMIT)?;
    serious(format!(
        "open_files_limit is {}, and this version allocates memory for each",
        show(limit, Show::Count)
    ))
}
