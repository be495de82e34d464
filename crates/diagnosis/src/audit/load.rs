//! Rules about what the server is asked now.

use model::ProcessList;

use super::{Judged, Look, fine_if, graded, note, or, serious};
use crate::human::{Show, show};

pub(super) fn compressed(look: &Look) -> Judged {
    let compressed = look.last("sessions.compressed")?;
    fine_if(compressed < 1.0)?;
    let all = look.last("sessions.counted")?;
    let warnings = or(look.status_rate("Com_show_warnings"), 0.0)?;
    let text = format!(
        "{} of {} sessions use the compressed protocol",
        show(compressed, Show::Count),
        show(all, Show::Count)
    );
    if warnings >= 1000.0 {
        return serious(format!(
            "{text}, and the server is asked SHOW WARNINGS at {}",
            show(warnings, Show::PerSecond)
        ));
    }
    note(text)
}

pub(super) fn show_warnings(look: &Look) -> Judged {
    let warnings = or(look.status_rate("Com_show_warnings"), 0.0)?;
    let all = or(look.status_rate("Questions"), 0.0)?;
    fine_if(warnings < 100.0 || all <= 0.0 || warnings / all < 0.2)?;
    let text = format!(
        "{} of all statements are SHOW WARNINGS ({})",
        show(warnings / all, Show::Percent),
        show(warnings, Show::PerSecond)
    );
    graded(warnings >= 5000.0, text)
}

pub(super) fn temporary_tables(look: &Look) -> Judged {
    let disk = look.status_rate("Created_tmp_disk_tables")?;
    let all = look.status_rate("Created_tmp_tables")?;
    fine_if(disk < 10.0 || all <= 0.0 || disk / all < 0.25)?;
    let bytes = |name: &str| {
        let bytes = look.variable_number(name);
        or(
            bytes.map(|bytes| show(bytes, Show::Bytes)),
            "unknown".to_owned(),
        )
    };
    note(format!(
        "temporary tables go to disk at {}, {} of all (tmp_table_size {}, max_heap_table_size {})",
        show(disk, Show::PerSecond),
        show(disk / all, Show::Percent),
        bytes("tmp_table_size")?,
        bytes("max_heap_table_size")?
    ))
}

/// The states of sessions that wait for a lock on metadata.
const METADATA: &str = "metadata lock";

/// Sessions in states with one of these words.
fn in_state(list: &ProcessList, words: &[&str]) -> u64 {
    let is_it = |state: &str| words.iter().any(|word| state.contains(word));
    let states = list.by_state.iter().filter(|(state, _)| is_it(state));
    states.fold(0, |sum, (_, count)| sum.saturating_add(*count))
}

pub(super) fn metadata_locks(look: &Look) -> Judged {
    let list = look.processlist()?;
    let waiting = in_state(list, &[METADATA]);
    let longest = list
        .longest
        .iter()
        .filter(|session| session.state.contains(METADATA))
        .map(|session| session.seconds)
        .fold(0.0, f64::max);
    fine_if(waiting == 0 || (waiting == 1 && longest < 2.0))?;
    let text = format!(
        "{waiting} sessions wait for a table's metadata lock, the longest for {}",
        show(longest, Show::Seconds)
    );
    graded(waiting >= 5 || longest >= 60.0, text)
}

pub(super) fn global_read_lock(look: &Look) -> Judged {
    let states = [
        "global read lock",
        "commit lock",
        "backup lock",
        "table flush",
    ];
    let waiting = in_state(look.processlist()?, &states);
    fine_if(waiting == 0)?;
    serious(format!(
        "{waiting} sessions wait behind FLUSH TABLES or a backup's lock"
    ))
}

pub(super) fn running(look: &Look) -> Judged {
    look.status("Threads_running")?;
    let running = look.mean("status.Threads_running")?;
    let cpus = look.number("host.cpus")?;
    fine_if(running < 32.0 || running < 8.0 * cpus)?;
    note(format!(
        "{} threads run statements on {cpus} processors",
        show(running, Show::Count)
    ))
}

pub(super) fn flow_control(look: &Look) -> Judged {
    let paused = look.status("wsrep_flow_control_paused")?;
    fine_if(paused < 0.05)?;
    note(format!(
        "the cluster stood still for {} of the time since the last FLUSH STATUS \
         (wsrep_flow_control_paused)",
        show(paused, Show::Percent)
    ))
}
