//! Who waits for whom, as boxes with words between them: from the crowd to whoever is in front.
//!
//! A sentence says the same ([`chain_sentence`](crate::evidence::chain::chain_sentence), `who did it`); boxes are for
//! whoever has to see at once how long the queue is and where it ends.

use diagnosis::Actor;
use model::{ChainLink, HolderBy, WaitChain};

use super::brief::{capital, span};
use crate::evidence::chain::holder_by_words;
use crate::units::counted;

/// What a box is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Those that wait.
    Crowd,
    /// What they wait for.
    Lock,
    /// Who has it, or is first in the queue.
    Holder,
    /// Who has it is not known.
    Unknown,
}

/// A box, and how the one before is related to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Link {
    /// The words between; none before the first box.
    pub(crate) relation: &'static str,
    /// What it is.
    pub(crate) kind: Kind,
    /// Its name.
    pub(crate) name: String,
    /// What else is known of it.
    pub(crate) more: String,
}

fn link(relation: &'static str, kind: Kind, name: impl Into<String>, more: String) -> Link {
    Link {
        relation,
        kind,
        name: name.into(),
        more,
    }
}

fn waits(count: u64) -> &'static str {
    match count {
        1 => "waits for",
        _ => "wait for",
    }
}

/// A chain of the lock table. Empty for a chain without links.
pub(crate) fn of_locks(chain: &WaitChain) -> Vec<Link> {
    let Some((first, rest)) = chain.links.split_first() else {
        return Vec::new();
    };
    let crowd = u64::from(first.waiters);
    let mut links = vec![
        link("", Kind::Crowd, counted(crowd, "thread"), String::new()),
        link(waits(crowd), Kind::Lock, &first.lock, String::new()),
        held_by(first, rest.is_empty()),
    ];
    for (number, one) in rest.iter().enumerate() {
        // The holder before is one of those that wait for this lock.
        let more = match one.waiters.saturating_sub(1) {
            0 => String::new(),
            others => format!("with {}", counted(others.into(), "other")),
        };
        links.push(link("waits for", Kind::Lock, &one.lock, more));
        links.push(held_by(one, number + 1 == rest.len()));
    }
    if chain.circular {
        let more = "a deadlock, or two moments mixed up".to_owned();
        links.push(link("waits for", Kind::Lock, &first.lock, more));
    }
    links
}

/// Who holds the lock of a link; of the last one also what it does.
fn held_by(of: &ChainLink, is_last: bool) -> Link {
    let Some(holder) = &of.holder else {
        return link("held by", Kind::Unknown, "unknown", String::new());
    };
    let doing = match is_last {
        true => holder.doing.trim(),
        false => "",
    };
    let (name, process) = match holder.by {
        HolderBy::Server => (holder.name.clone(), ""),
        _ => (format!("thread {}", holder.tid), holder.name.as_str()),
    };
    let mut more = vec![process, holder_by_words(holder.by), doing];
    more.retain(|part| !part.is_empty());
    link("held by", Kind::Holder, name, more.join(", "))
}

/// What a session in front holds, by its part.
const HELD: [(&str, &str); 5] = [
    ("row-lock-holder", "row lock"),
    ("metadata-lock-holder", "metadata lock of a table"),
    ("table-lock-holder", "table lock"),
    ("global-lock-holder", "global read lock"),
    ("user-lock-holder", "lock of the application"),
];

/// Sessions that wait for a lock of the server, where it is known for sure who holds it. Else empty.
pub(crate) fn of_sessions(actors: &[Actor]) -> Vec<Link> {
    let sure = |actor: &&Actor| actor.sure && actor.connection.is_some();
    let of_part = |part: &str| {
        let mut known = actors.iter().filter(sure);
        known.find(|actor| actor.who == part)
    };
    let held = HELD
        .iter()
        .find_map(|(part, lock)| Some((of_part(part)?, *lock)));
    let Some((holder, lock)) = held else {
        return Vec::new();
    };
    // A DDL that waits for it is first in the queue, and all others are behind it.
    let first = of_part("waiting-ddl").filter(|ddl| ddl.connection != holder.connection);
    let waiters = holder.waiters.unwrap_or(0);
    let behind = waiters.saturating_sub(u64::from(first.is_some()));
    let mut links = Vec::new();
    if behind > 0 {
        let crowd = counted(behind, "session");
        links.push(link("", Kind::Crowd, crowd, String::new()));
    }
    if let Some(ddl) = first {
        let relation = match behind {
            0 => "",
            1 => "waits behind",
            _ => "wait behind",
        };
        links.push(link(
            relation,
            Kind::Holder,
            capital(&ddl.name()),
            does(ddl),
        ));
    }
    let relation = match (links.is_empty(), first) {
        (true, _) => "",
        (false, Some(_)) => "waits for",
        (false, None) => waits(behind),
    };
    let of_what = holder.lock.as_deref().unwrap_or_default().to_owned();
    links.push(link(relation, Kind::Lock, lock, of_what));
    links.push(link(
        "held by",
        Kind::Holder,
        capital(&holder.name()),
        does(holder),
    ));
    links
}

/// What a session does.
fn does(actor: &Actor) -> String {
    let class = actor.statement_class.as_ref();
    let class = class.map(|class| class.trim_end_matches(" other").to_uppercase());
    let does = match (class, actor.running_seconds, actor.idle_seconds) {
        (Some(class), Some(time), _) => format!("{class} for {}", span(time)),
        (Some(class), None, _) => class,
        (None, _, Some(time)) => format!("idle for {}", span(time)),
        (None, Some(time), None) => format!("active for {}", span(time)),
        (None, None, None) => String::new(),
    };
    match (does.is_empty(), actor.transaction_seconds) {
        (_, None) => does,
        (true, Some(time)) => format!("its transaction is open for {}", span(time)),
        (false, Some(time)) => format!("{does}, its transaction is open for {}", span(time)),
    }
}

#[cfg(test)]
mod tests {
    use model::Holder;

    use super::*;
    use crate::testing::holder;

    fn told(links: &[Link]) -> Vec<String> {
        let told = links.iter().map(|link| {
            let more = match link.more.as_str() {
                "" => String::new(),
                more => format!(" ({more})"),
            };
            let words = format!("{} [{:?} {}]{more}", link.relation, link.kind, link.name);
            words.trim().to_owned()
        });
        told.collect()
    }

    fn locks(links: &[(&str, u32, Option<Holder>)], circular: bool) -> Vec<String> {
        let links = links.iter().map(|(lock, waiters, holder)| ChainLink {
            lock: (*lock).to_owned(),
            waiters: *waiters,
            holder: holder.clone(),
        });
        told(&of_locks(&WaitChain {
            links: links.collect(),
            circular,
        }))
    }

    #[test]
    fn a_crowd_of_threads_and_who_is_in_front() {
        let by = holder(4711, HolderBy::Stack, "waits for malloc arena");
        assert_eq!(
            locks(
                &[
                    ("kernel_mutex", 1057, by.clone()),
                    ("malloc arena", 3, None)
                ],
                false
            ),
            [
                "[Crowd 1,057 threads]",
                "wait for [Lock kernel_mutex]",
                "held by [Holder thread 4711] (mysqld, by its stack)",
                "waits for [Lock malloc arena] (with 2 others)",
                "held by [Unknown unknown]",
            ]
        );
        let last = locks(
            &[("m", 1, holder(7, HolderBy::OwnerField, "in fdatasync"))],
            false,
        );
        assert_eq!(last.first().unwrap(), "[Crowd 1 thread]");
        assert_eq!(
            last.last().unwrap(),
            "held by [Holder thread 7] (mysqld, by the lock's owner field, in fdatasync)"
        );
        let circle = locks(&[("a", 1, by.clone()), ("b", 1, by)], true);
        assert_eq!(
            circle.last().unwrap(),
            "waits for [Lock a] (a deadlock, or two moments mixed up)"
        );
        assert!(locks(&[], false).is_empty());
    }

    fn session(who: &str, id: u64) -> Actor {
        Actor {
            who: who.to_owned(),
            sure: true,
            connection: Some(id),
            ..Actor::default()
        }
    }

    #[test]
    fn a_queue_of_sessions() {
        let holder = Actor {
            idle_seconds: Some(14.0),
            waiters: Some(39),
            ..session("metadata-lock-holder", 43)
        };
        let ddl = Actor {
            statement_class: Some("alter".to_owned()),
            running_seconds: Some(13.0),
            ..session("waiting-ddl", 45)
        };
        let sessions = |actors: &[Actor]| told(&of_sessions(actors));
        assert_eq!(
            sessions(&[ddl.clone(), holder.clone()]),
            [
                "[Crowd 38 sessions]",
                "wait behind [Holder Connection 45] (ALTER for 13 s)",
                "waits for [Lock metadata lock of a table]",
                "held by [Holder Connection 43] (idle for 14 s)",
            ]
        );
        let rows = Actor {
            waiters: Some(1),
            transaction_seconds: Some(42.0),
            ..session("row-lock-holder", 9)
        };
        assert_eq!(
            sessions(&[rows]),
            [
                "[Crowd 1 session]",
                "waits for [Lock row lock]",
                "held by [Holder Connection 9] (its transaction is open for 42 s)",
            ]
        );
        // Who only may be it is in no picture.
        let perhaps = Actor {
            sure: false,
            ..holder
        };
        assert!(sessions(&[ddl, perhaps]).is_empty());
    }
}
