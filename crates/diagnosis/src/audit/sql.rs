//! Rules about the server's SQL layer: query cache, logs, time zone, names of hosts.

use super::{Judged, Look, Untold::Fine, fine_if, graded, note, or, serious};
use crate::human::{Show, show};

pub(super) fn query_cache(look: &Look) -> Judged {
    let kind = look.variable("query_cache_type")?;
    let size = look.variable_number("query_cache_size")?;
    fine_if(matches!(kind, "OFF" | "0") || size == 0.0)?;
    let prunes = or(look.status_rate("Qcache_lowmem_prunes"), 0.0)?;
    let hits = or(look.status_rate("Qcache_hits"), 0.0)?;
    let inserts = or(look.status_rate("Qcache_inserts"), 0.0)?;
    fine_if(hits + inserts < 1.0)?;
    let text = format!(
        "the query cache is {kind} with {}: hits at {}, results put in at {} and thrown out for room at {}",
        show(size, Show::Bytes),
        show(hits, Show::PerSecond),
        show(inserts, Show::PerSecond),
        show(prunes, Show::PerSecond)
    );
    graded(prunes >= 10.0 || size > 256.0 * 1024.0 * 1024.0, text)
}

pub(super) fn general_log(look: &Look) -> Judged {
    fine_if(!look.is_on("general_log")?)?;
    let output = or(look.variable("log_output"), "FILE")?;
    fine_if(output == "NONE")?;
    let rate = or(look.status_rate("Questions"), 0.0)?;
    let text = format!(
        "the general log is on (log_output {output}); statements come at {}",
        show(rate, Show::PerSecond)
    );
    graded(
        rate >= 1000.0 || (output.contains("TABLE") && rate >= 100.0),
        text,
    )
}

pub(super) fn slow_log_of_all(look: &Look) -> Judged {
    let on = look.is_on("slow_query_log")?;
    let limit = look.variable_number("long_query_time")?;
    let rate = or(look.status_rate("Slow_queries"), 0.0)?;
    fine_if(!on || limit > 0.01 || rate < 1000.0)?;
    note(format!(
        "the slow log takes nearly every statement: long_query_time is {limit} s, they come at {}",
        show(rate, Show::PerSecond)
    ))
}

pub(super) fn time_zone(look: &Look) -> Judged {
    fine_if(look.variable("time_zone")? != "SYSTEM")?;
    let share = look.profile_share(&[
        "__tz_convert",
        "__localtime_r",
        "localtime_r",
        "Time_zone_system::",
    ])?;
    fine_if(share < 0.02)?;
    let text = format!(
        "time_zone is SYSTEM, and {} of the server's CPU time is conversion of times by the C \
         library",
        show(share, Show::Percent)
    );
    graded(share >= 0.1, text)
}

pub(super) fn instrumentation(look: &Look) -> Judged {
    fine_if(!look.is_on("performance_schema")?)?;
    let share = look.profile_share(&[
        "pfs_start_",
        "pfs_end_",
        "start_mutex_wait_v",
        "end_mutex_wait_v",
    ])?;
    fine_if(share < 0.05)?;
    note(format!(
        "{} of the server's CPU time is performance_schema's own",
        show(share, Show::Percent)
    ))
}

/// Sessions in these states have not logged in yet.
const LOGGING_IN: [&str; 3] = ["login", "Receiving from client", "unauthenticated user"];

pub(super) fn resolving(look: &Look) -> Judged {
    look.variable("skip_name_resolve")?;
    fine_if(look.is_on("skip_name_resolve")?)?;
    let list = look.processlist()?;
    let remote = |host: &str| {
        !host.is_empty() && host != "localhost" && host != "::1" && !host.starts_with("127.")
    };
    let hosts: std::collections::BTreeSet<&str> = list
        .longest
        .iter()
        .map(|session| session.host.as_str())
        .filter(|host| remote(host))
        .collect();
    let first = hosts.first().ok_or(Fine)?;
    let new = or(look.status_rate("Connections"), 0.0)?;
    let waiting = list
        .longest
        .iter()
        .filter(|s| s.user == "unauthenticated user" || LOGGING_IN.contains(&s.state.as_str()))
        .filter(|session| session.seconds >= 2.0)
        .count();
    let text = format!(
        "skip_name_resolve is off, and sessions come from {} other hosts (such as {first}), new \
         ones at {}",
        hosts.len(),
        show(new, Show::PerSecond)
    );
    if waiting > 0 {
        return serious(format!(
            "{text}; {waiting} have been logging in for 2 s or longer"
        ));
    }
    note(text)
}
