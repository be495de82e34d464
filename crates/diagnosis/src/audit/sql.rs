//! Rules about the server's SQL layer: query cache, logs, time zone, names of hosts.

use super::{Judged, Look, note, serious};
use crate::human::{Show, show};

pub(super) fn query_cache(look: &Look) -> Judged {
    let (Some(kind), Some(size)) = (
        look.variable("query_cache_type")?,
        look.variable_number("query_cache_size")?,
    ) else {
        return Ok(None);
    };
    if matches!(kind, "OFF" | "0") || size == 0.0 {
        return Ok(None);
    }
    let prunes = look.status_rate("Qcache_lowmem_prunes")?.unwrap_or(0.0);
    let hits = look.status_rate("Qcache_hits")?.unwrap_or(0.0);
    let inserts = look.status_rate("Qcache_inserts")?.unwrap_or(0.0);
    if hits + inserts < 1.0 {
        return Ok(None);
    }
    let text = format!(
        "the query cache is {kind} with {}: hits at {}, results put in at {} and thrown out for room at {}",
        show(size, Show::Bytes),
        show(hits, Show::PerSecond),
        show(inserts, Show::PerSecond),
        show(prunes, Show::PerSecond)
    );
    if prunes >= 10.0 || size > 256.0 * 1024.0 * 1024.0 {
        return serious(text);
    }
    note(text)
}

pub(super) fn general_log(look: &Look) -> Judged {
    if !look.is_on("general_log")? {
        return Ok(None);
    }
    let output = look.variable("log_output")?.unwrap_or("FILE");
    if output == "NONE" {
        return Ok(None);
    }
    let rate = look.status_rate("Questions")?.unwrap_or(0.0);
    let text = format!(
        "the general log is on (log_output {output}); statements come at {}",
        show(rate, Show::PerSecond)
    );
    if rate >= 1000.0 || (output.contains("TABLE") && rate >= 100.0) {
        return serious(text);
    }
    note(text)
}

pub(super) fn slow_log_of_all(look: &Look) -> Judged {
    let on = look.is_on("slow_query_log")?;
    let Some(limit) = look.variable_number("long_query_time")? else {
        return Ok(None);
    };
    let rate = look.status_rate("Slow_queries")?.unwrap_or(0.0);
    if !on || limit > 0.01 || rate < 1000.0 {
        return Ok(None);
    }
    note(format!(
        "the slow log takes nearly every statement: long_query_time is {limit} s, they come at {}",
        show(rate, Show::PerSecond)
    ))
}

pub(super) fn time_zone(look: &Look) -> Judged {
    if look.variable("time_zone")? != Some("SYSTEM") {
        return Ok(None);
    }
    let share = look.profile_share(&[
        "__tz_convert",
        "__localtime_r",
        "localtime_r",
        "Time_zone_system::",
    ])?;
    if share < 0.02 {
        return Ok(None);
    }
    let text = format!(
        "time_zone is SYSTEM, and {} of the server's CPU time is conversion of times by the C \
         library",
        show(share, Show::Percent)
    );
    if share < 0.1 {
        return note(text);
    }
    serious(text)
}

pub(super) fn instrumentation(look: &Look) -> Judged {
    if !look.is_on("performance_schema")? {
        return Ok(None);
    }
    let share = look.profile_share(&[
        "pfs_start_",
        "pfs_end_",
        "start_mutex_wait_v",
        "end_mutex_wait_v",
    ])?;
    if share < 0.05 {
        return Ok(None);
    }
    note(format!(
        "{} of the server's CPU time is performance_schema's own",
        show(share, Show::Percent)
    ))
}

/// Sessions in these states have not logged in yet.
const LOGGING_IN: [&str; 3] = ["login", "Receiving from client", "unauthenticated user"];

pub(super) fn resolving(look: &Look) -> Judged {
    if look.variable("skip_name_resolve")?.is_none() || look.is_on("skip_name_resolve")? {
        return Ok(None);
    }
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
    let Some(first) = hosts.first() else {
        return Ok(None);
    };
    let new = look.status_rate("Connections")?.unwrap_or(0.0);
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
