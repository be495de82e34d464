//! Rules about what the server is asked now.

use super::{Judged, Look, note, serious};
use crate::human::{Show, show};

pub(super) fn compressed(look: &Look) -> Judged {
    let compressed = look.last("sessions.compressed")?;
    if compressed < 1.0 {
        return Ok(None);
    }
    let all = look.last("sessions.counted")?;
    let warnings = look.status_rate("Com_show_warnings")?.unwrap_or(0.0);
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
    let warnings = look.status_rate("Com_show_warnings")?.unwrap_or(0.0);
    let all = look.status_rate("Questions")?.unwrap_or(0.0);
    if warnings < 100.0 || all <= 0.0 || warnings / all < 0.2 {
        return Ok(None);
    }
    let text = format!(
        "{} of all statements are SHOW WARNINGS ({})",
        show(warnings / all, Show::Percent),
        show(warnings, Show::PerSecond)
    );
    if warnings < 5000.0 {
        return note(text);
    }
    serious(text)
}

pub(super) fn temporary_tables(look: &Look) -> Judged {
    let (Some(disk), Some(all)) = (
        look.status_rate("Created_tmp_disk_tables")?,
        look.status_rate("Created_tmp_tables")?,
    ) else {
        return Ok(None);
    };
    if disk < 10.0 || all <= 0.0 || disk / all < 0.25 {
        return Ok(None);
    }
    let bytes = |name: &str| -> Result<String, super::Missing> {
        Ok(match look.variable_number(name)? {
            Some(bytes) => show(bytes, Show::Bytes),
            None => "unknown".to_owned(),
        })
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

pub(super) fn metadata_locks(look: &Look) -> Judged {
    let list = look.processlist()?;
    let waiting = list
        .by_state
        .iter()
        .filter(|(state, _)| state.contains(METADATA))
        .fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
    let longest = list
        .longest
        .iter()
        .filter(|session| session.state.contains(METADATA))
        .map(|session| session.seconds)
        .fold(0.0, f64::max);
    if waiting == 0 || (waiting == 1 && longest < 2.0) {
        return Ok(None);
    }
    let text = format!(
        "{waiting} sessions wait for a table's metadata lock, the longest for {}",
        show(longest, Show::Seconds)
    );
    if waiting < 5 && longest < 60.0 {
        return note(text);
    }
    serious(text)
}

pub(super) fn global_read_lock(look: &Look) -> Judged {
    let list = look.processlist()?;
    let waiting = list
        .by_state
        .iter()
        .filter(|(state, _)| {
            [
                "global read lock",
                "commit lock",
                "backup lock",
                "table flush",
            ]
            .iter()
            .any(|wanted| state.contains(wanted))
        })
        .fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
    if waiting == 0 {
        return Ok(None);
    }
    serious(format!(
        "{waiting} sessions wait behind FLUSH TABLES or a backup's lock"
    ))
}

pub(super) fn running(look: &Look) -> Judged {
    let Some(_) = look.status("Threads_running")? else {
        return Ok(None);
    };
    let running = look.mean("status.Threads_running")?;
    let cpus = look.number("host.cpus")?;
    if running < 32.0 || running < 8.0 * cpus {
        return Ok(None);
    }
    note(format!(
        "{} threads run statements on {cpus} processors",
        show(running, Show::Count)
    ))
}

pub(super) fn flow_control(look: &Look) -> Judged {
    let Some(paused) = look.status("wsrep_flow_control_paused")? else {
        return Ok(None);
    };
    if paused < 0.05 {
        return Ok(None);
    }
    note(format!(
        "the cluster stood still for {} of the time since the last FLUSH STATUS \
         (wsrep_flow_control_paused)",
        show(paused, Show::Percent)
    ))
}
