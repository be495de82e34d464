//! Who sent the statements of an incident: what is to be changed at a client, a person has to find there.

use std::collections::BTreeMap;

use diagnosis::Cause;
use model::{Counted, Incident, OrderBy, ProcessList, QueryDigest, Session, TextKind};

/// Names of each kind that are told.
const NAMES_MAX: usize = 3;

/// What is known of the clients in the stall, a sentence each.
pub(super) fn clients(incident: &Incident, cause: &Cause) -> Vec<String> {
    let onset_us = incident
        .clock
        .wall_ms(incident.stall.onset)
        .saturating_mul(1000);
    let in_stall: Vec<&QueryDigest> = incident
        .queries
        .iter()
        .map(|timed| &timed.digest)
        .filter(|digest| digest.to_us.is_none_or(|to| to > onset_us))
        .collect();
    let mut told = Vec::new();
    // Of a cause that is about one kind of statement, who sent those.
    let kind = cause
        .id
        .starts_with("show-warnings")
        .then_some("SHOW WARNINGS");
    for (words, of) in [
        (
            "user",
            (|class| &class.users) as fn(&model::QueryClass) -> &Vec<Counted>,
        ),
        ("host", |class| &class.hosts),
        ("connector", |class| &class.programs),
    ] {
        let mut names: BTreeMap<&str, u64> = BTreeMap::new();
        let classes = in_stall.iter().flat_map(|digest| &digest.classes);
        for class in classes.filter(|class| kind.is_none_or(|kind| class.kind == kind)) {
            for counted in of(class) {
                *names.entry(counted.name.as_str()).or_default() += counted.count;
            }
        }
        if let Some(list) = most(names) {
            let what = kind.unwrap_or("statements");
            told.push(format!("{what} in the stall, by {words}: {list}"));
        }
    }
    let mut users: BTreeMap<String, u64> = BTreeMap::new();
    let mut hosts: BTreeMap<String, u64> = BTreeMap::new();
    for timed in &incident.texts {
        if timed.text.kind() != TextKind::Processlist || timed.at < incident.stall.onset {
            continue;
        }
        let Some(list) = ProcessList::from_text(timed.text.body()) else {
            continue;
        };
        keep_most(&mut hosts, by_host(&list.longest));
        keep_most(&mut users, list.by_user);
    }
    let borrowed = |names: &BTreeMap<String, u64>| {
        most(
            names
                .iter()
                .map(|(name, count)| (name.as_str(), *count))
                .collect(),
        )
    };
    if let Some(list) = borrowed(&users) {
        told.push(format!("busy sessions at once, by user: {list}"));
    }
    if let Some(list) = borrowed(&hosts) {
        told.push(format!("longest sessions at once, by host: {list}"));
    }
    told
}

fn by_host(sessions: &[Session]) -> BTreeMap<String, u64> {
    let mut hosts: BTreeMap<String, u64> = BTreeMap::new();
    for session in sessions {
        *hosts.entry(session.host.clone()).or_default() += 1;
    }
    hosts
}

/// The most of each name that one list had: a session is in many lists, and is not many sessions.
fn keep_most(most: &mut BTreeMap<String, u64>, of_list: BTreeMap<String, u64>) {
    for (name, count) in of_list {
        let known = most.entry(name).or_default();
        *known = count.max(*known);
    }
}

fn most(names: BTreeMap<&str, u64>) -> Option<String> {
    let mut names: Vec<(&str, u64)> = names
        .into_iter()
        .filter(|(name, count)| !name.is_empty() && *count > 0)
        .collect();
    names.order_by(|one, other| other.1.cmp(&one.1).then(one.0.cmp(other.0)));
    let more = names.len().saturating_sub(NAMES_MAX);
    let told: Vec<String> = names
        .iter()
        .take(NAMES_MAX)
        .map(|(name, count)| format!("{name} ({count})"))
        .collect();
    if told.is_empty() {
        return None;
    }
    let rest = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    Some(format!("{}{rest}", told.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_in_many_lists_is_one() {
        let list = |hosts: &[&str]| -> Vec<Session> {
            let session = |host: &&str| Session {
                id: 7,
                user: "app".to_owned(),
                host: (*host).to_owned(),
                db: String::new(),
                command: "Query".to_owned(),
                seconds: 3.0,
                state: String::new(),
                statement: String::new(),
            };
            hosts.iter().map(session).collect()
        };
        let mut hosts = BTreeMap::new();
        for _ in 0..16 {
            keep_most(
                &mut hosts,
                by_host(&list(&["127.0.0.1", "127.0.0.1", "::1"])),
            );
        }
        keep_most(&mut hosts, by_host(&list(&["127.0.0.1", "app7"])));
        let told = most(
            hosts
                .iter()
                .map(|(name, count)| (name.as_str(), *count))
                .collect(),
        );
        assert_eq!(told.as_deref(), Some("127.0.0.1 (2), ::1 (1), app7 (1)"));
    }
}
