//! Clients are not let in.

use model::Millis;

use super::stops::COMPLETIONS_MIN;
use super::{Now, Sign, seconds, several};
use crate::view::{View, number};

/// Below this share of `max_connections` clients are let in now, and one or two that were refused before came at a bad
/// moment.
const ROOM_SHARE: f64 = 0.95;

/// So many that were refused since the reading before are no bad moment, whatever is free by now: where each statement
/// has a connection of its own, many are free again each moment.
const REFUSED_MANY: f64 = 5.0;

/// Sessions that log in at once, from which it is no single client's fault that one of them waits.
const LOGGING_IN_MIN: f64 = 3.0;

/// So long before a client was seen to wait for its login the work may have stopped because of it,
/// milliseconds: it is seen in the second after it came, and the work is counted by seconds.
const STOPPED_BEFORE_MS: Millis = 2500;

/// A login takes milliseconds. The server tells no time of it, so this is the time between samples,
/// milliseconds, less what a beat may come early.
const LOGIN_MS: f64 = 900.0;

/// The same between a look and a second one, where nothing completes either.
const LOGIN_SECOND_LOOK_MS: f64 = 400.0;

/// A connection that is full and refuses, whoever the recorder is: it may have the one that is kept
/// for administrators.
///
/// `refused_before`: the reading before told of some. In the second in which connections become free, many may still
/// have been refused, and the stall is over.
pub(super) fn check(now: &Now<'_>, refused_before: &mut bool) -> Sign {
    if now.sample.source != "status" {
        return Sign::Unclear;
    }
    let doors = now.view.doors;
    let Some(refused) = doors.refused.filter(|_| doors.at == now.sample.at) else {
        return Sign::Unclear;
    };
    let full = match (doors.connected, now.view.max_connections) {
        (Some(connected), Some(max)) => Some((connected >= max, connected, max)),
        _ => None,
    };
    let is_full = full.is_some_and(|(is_full, _, _)| is_full);
    let has_room = full.is_some_and(|(_, connected, max)| connected < max * ROOM_SHARE);
    let goes_on = std::mem::replace(refused_before, refused > 0.0);
    let is_many = doors.is_exact && refused >= REFUSED_MANY && !goes_on;
    if refused > 0.0 && (!has_room || is_many) && (doors.is_exact || is_full) {
        let used = full.map_or_else(String::new, |(_, connected, max)| match has_room {
            true => format!(": all {max:.0} were in use, {connected:.0} are now"),
            false => format!(": {connected:.0} of {max:.0} are in use"),
        });
        return Sign::Bad {
            since: doors.since,
            says: format!(
                "{} refused in a second{used}",
                several(refused.round(), "connection was", "connections were")
            ),
        };
    }
    if is_full {
        return Sign::Unclear;
    }
    Sign::Good {
        since: doors.since.midpoint(doors.at),
    }
}

/// Clients wait to be let in: for a name server, or for a plugin.
pub(super) fn logins(now: &Now<'_>) -> Sign {
    if now.sample.source != "processlist" {
        return Sign::Unclear;
    }
    let at = now.sample.at;
    let Some(crowd) = now.view.crowd_at(at) else {
        return Sign::Unclear;
    };
    let oldest_ms = crowd.logging_in_oldest_ms;
    let waits = oldest_ms >= LOGIN_MS;
    let seen = at.saturating_sub(oldest_ms as Millis);
    let stopped = work_stopped(now, seen).filter(|_| oldest_ms >= LOGIN_SECOND_LOOK_MS);
    if waits && crowd.logging_in >= LOGGING_IN_MIN || stopped.is_some() {
        let clients = several(crowd.logging_in, "client waits", "clients wait");
        let oldest = seconds(oldest_ms);
        Sign::Bad {
            // It was first seen up to a second after it came.
            since: seen.saturating_sub(500),
            says: format!(
                "{clients} to be let in, the oldest for {oldest} or longer{}",
                stopped.unwrap_or_default()
            ),
        }
    } else if !waits {
        Sign::Good {
            since: at.saturating_sub(500),
        }
    } else {
        Sign::Unclear
    }
}

/// Next to nothing has completed since a client was seen to wait, and just before it the work flowed: of a small
/// pool that connects for each statement no more than one or two can wait. A client that never says a
/// word stops nobody. What flowed is what did so then: a server may have been at a third of its usual pace.
fn work_stopped(now: &Now<'_>, seen: Millis) -> Option<String> {
    let usual = now.usual.completions.median()?;
    let completions = now.view.work_at(now.sample.at)?.completions;
    let just_before = seen.saturating_sub(STOPPED_BEFORE_MS);
    let flowed = now.usual.completions.most_since(just_before)?;
    let share = now.config.completions_share;
    let stopped = usual >= COMPLETIONS_MIN
        && flowed >= COMPLETIONS_MIN.max(usual * share)
        && completions <= flowed * share;
    stopped.then(|| format!("; {completions:.0} of {usual:.0} statements a second completed"))
}

/// A server greets its client in a millisecond, whoever the client is: one that is not greeted for so long waits for
/// the server, milliseconds.
const GREETING_MS: f64 = 1000.0;

/// So many statements would have completed while the oldest client waited: none is no chance.
const MISSED_MIN: f64 = 3.0;
/// The same where nobody else is connected.
const MISSED_ALONE_MIN: f64 = 1.0;

/// Fewer statements a second than this are none: one of our own may have been under way.
const COMPLETED_MAX: f64 = 0.3;

/// From one reading of the status to the next, milliseconds.
const READING_MS: Millis = 1000;

/// How long before the first of them came something completed, in times that one usually comes in.
const FLOWED_BEFORE: f64 = 5.0;

/// Clients wait for the server's first word, and nothing completes any more: a pool that connects for each statement,
/// be it of one client with a statement a second. What a client does cannot look so: the server speaks first, so to a
/// port scanner and a load balancer's check it has sent something.
pub(super) fn greetings(now: &Now<'_>) -> Sign {
    let at = now.sample.at;
    if now.sample.source == "status" {
        // What completes again was let in; on a host with many connections they are looked at less often.
        let share = now.config.completions_share;
        let usual = now.usual.completions.mean();
        return match now.view.work_at(at).zip(usual) {
            Some((work, usual)) if work.completions > COMPLETED_MAX.max(usual * share) => {
                Sign::Good { since: work.since }
            }
            _ => Sign::Unclear,
        };
    }
    if now.sample.source != "connections" {
        return Sign::Unclear;
    }
    let Some(ungreeted) = View::ungreeted(now.sample) else {
        return Sign::Unclear;
    };
    if ungreeted.clients == 0.0 {
        return Sign::Good {
            since: at.saturating_sub(500),
        };
    }
    let (Some(usual), Some(work)) = (now.usual.completions.mean(), now.view.work_at(at)) else {
        return Sign::Unclear;
    };
    let came = at.saturating_sub(ungreeted.oldest_ms as Millis);
    let missed = usual * ungreeted.oldest_ms / 1000.0;
    let missed_min = match ungreeted.are_all {
        true => MISSED_ALONE_MIN,
        false => MISSED_MIN,
    };
    let completed_since = |moment| {
        let most = now.usual.completions.most_since(moment);
        most.is_some_and(|most| most > COMPLETED_MAX)
    };
    // What completed just before they came is in a reading that began before. Later, who was connected already may
    // have asked once more before it came back and waits as well: it is enough that nothing completes any more.
    let quiet = GREETING_MS.max(missed_min * 1000.0 / usual) as Millis;
    let quiet_since = came
        .saturating_add(READING_MS)
        .max(at.saturating_sub(quiet));
    let stopped =
        work.since >= came && work.completions <= COMPLETED_MAX && !completed_since(quiet_since);
    let before = STOPPED_BEFORE_MS.max((FLOWED_BEFORE * 1000.0 / usual) as Millis);
    let flowed = completed_since(came.saturating_sub(before));
    if ungreeted.oldest_ms < GREETING_MS || missed < missed_min || !stopped || !flowed {
        return Sign::Unclear;
    }
    let clients = several(ungreeted.clients, "client waits", "clients wait");
    Sign::Bad {
        since: came,
        says: format!(
            "{clients} for the server's greeting, the oldest for {}; no statement completed, {} a second usually",
            seconds(ungreeted.oldest_ms),
            rate(usual)
        ),
    }
}

/// Statements a second, for people.
fn rate(a_second: f64) -> String {
    match a_second >= 10.0 {
        true => format!("{a_second:.0}"),
        false => format!("{a_second:.1}"),
    }
}

/// The queue of connections that the server has not accepted yet is full.
pub(super) fn accept_queue(now: &Now<'_>, before: &mut Option<Millis>) -> Sign {
    if now.sample.source != "accept-queue" {
        return Sign::Unclear;
    }
    let at = now.sample.at;
    let since = before.replace(at).unwrap_or(at);
    let mut known = false;
    for (length, limit) in [
        ("accept_queue.tcp.length", "accept_queue.tcp.limit"),
        ("accept_queue.unix.length", "accept_queue.unix.limit"),
    ] {
        let (Some(length), Some(limit)) = (number(now.sample, length), number(now.sample, limit))
        else {
            continue;
        };
        known = true;
        if limit >= 1.0 && length >= limit {
            return Sign::Bad {
                since,
                says: format!(
                    "{length:.0} clients wait for the server to accept their connections, and the queue is full"
                ),
            };
        }
        if length > limit / 2.0 {
            return Sign::Unclear;
        }
    }
    match known {
        true => Sign::Good { since: at },
        false => Sign::Unclear,
    }
}
