//! A chain of waits as a sentence.

use diagnosis::Verdict;
use model::{ChainLink, Holder, HolderBy, WaitChain};

use crate::units;

/// The chain in one sentence, without a full stop: "57 threads wait for kernel_mutex, held by
/// thread 4711 (mysqld, by its stack), which waits for malloc arena main_arena, held by …".
///
/// Names stand as they were recorded: whoever prints the sentence escapes it. Empty for a chain
/// without links.
pub fn chain_sentence(chain: &WaitChain) -> String {
    let Some((first, rest)) = chain.links.split_first() else {
        return String::new();
    };
    let mut out = match first.waiters {
        1 => format!("1 thread waits for {}", lock_words(first)),
        waiters => format!(
            "{} threads wait for {}",
            units::grouped(waiters),
            lock_words(first)
        ),
    };
    let mut before = first;
    for link in rest {
        out.push_str(&held_by(before));
        out.push_str(&format!(", which waits for {}", lock_words(link)));
        // The holder before is one of those that wait for this lock.
        match link.waiters {
            0 | 1 => {}
            2 => out.push_str(" with 1 other"),
            waiters => out.push_str(&format!(
                " with {} others",
                units::grouped(i64::from(waiters) - 1)
            )),
        }
        before = link;
    }
    out.push_str(&held_by(before));
    match (&before.holder, chain.circular) {
        (_, true) => out
            .push_str(", which waits for a lock named before: a deadlock, or two moments mixed up"),
        (Some(holder), false) => out.push_str(&doing(holder)),
        (None, false) => {}
    }
    out
}

/// What a holder is known by, in words.
pub fn holder_by_words(by: HolderBy) -> &'static str {
    match by {
        HolderBy::OwnerField => "by the lock's owner field",
        HolderBy::Stack => "by its stack",
        HolderBy::Server => "as the server reports",
    }
}

/// How a sentence goes on where the stacks do not show who holds the lock.
const UNKNOWN_HOLDER: &str = ", whose holder is unknown";

/// How the part of a session that holds a lock ends, in a verdict.
const HOLDER: &str = "-holder";

/// The session that holds a lock of this name, as the verdict says, in short: `metadata-lock-holder` that of a metadata
/// lock.
pub fn named_holder(verdict: &Verdict, lock: &str) -> Option<String> {
    let first = verdict.findings.first()?;
    let is_of_it = |who: &str| {
        let kind = who.strip_suffix(HOLDER).map(|kind| kind.replace('-', " "));
        kind.is_some_and(|kind| lock.contains(&kind))
    };
    let actor = first.actors.iter().find(|actor| is_of_it(&actor.who))?;
    let name = actor.says.split(": ").next()?;
    Some(match actor.sure {
        true => name.to_owned(),
        false => format!("perhaps {name}"),
    })
}

/// A chain's sentence with the holder that the verdict names. Stacks show no holder of a lock of the SQL layer; what one
/// part of a report says must not be unknown in another.
pub fn with_named_holder(sentence: &str, verdict: &Verdict) -> String {
    let named = sentence.strip_suffix(UNKNOWN_HOLDER).and_then(|begin| {
        let name = named_holder(verdict, begin.rsplit(" for ").next()?)?;
        Some(format!("{begin}, held by {name}"))
    });
    named.unwrap_or_else(|| sentence.to_owned())
}

/// A lock of which a capture of others has no address, in a sentence.
fn lock_words(link: &ChainLink) -> &str {
    match link.lock.as_str() {
        "address unknown" => "a lock with an unknown address",
        name => name,
    }
}

fn held_by(link: &ChainLink) -> String {
    match &link.holder {
        Some(holder) if holder.by == HolderBy::Server => {
            format!(", held by {} ({})", holder.name, holder_by_words(holder.by))
        }
        Some(holder) => {
            let name = match holder.name.is_empty() {
                true => String::new(),
                false => format!("{}, ", holder.name),
            };
            format!(
                ", held by thread {} ({name}{})",
                holder.tid,
                holder_by_words(holder.by)
            )
        }
        None => UNKNOWN_HOLDER.to_owned(),
    }
}

fn doing(holder: &Holder) -> String {
    match holder.doing.trim() {
        "" => String::new(),
        place if place.starts_with("in ") => format!(", which is {place}"),
        verb => format!(", which {verb}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::holder;

    fn link(lock: &str, waiters: u32, holder: Option<Holder>) -> ChainLink {
        ChainLink {
            lock: lock.to_owned(),
            waiters,
            holder,
        }
    }

    #[test]
    fn from_the_crowd_to_the_root() {
        let chain = WaitChain {
            links: vec![
                link(
                    "kernel_mutex",
                    57,
                    holder(4711, HolderBy::Stack, "waits for malloc arena main_arena"),
                ),
                link(
                    "malloc arena main_arena",
                    3,
                    holder(4712, HolderBy::OwnerField, "runs"),
                ),
            ],
            circular: false,
        };
        assert_eq!(
            chain_sentence(&chain),
            "57 threads wait for kernel_mutex, held by thread 4711 (mysqld, by its stack), which \
             waits for malloc arena main_arena with 2 others, held by thread 4712 (mysqld, by the \
             lock's owner field), which runs"
        );
    }

    #[test]
    fn ends_of_chains() {
        let says = |links, circular| chain_sentence(&WaitChain { links, circular });
        assert_eq!(says(Vec::new(), false), "");
        assert_eq!(
            says(vec![link("m", 1, None)], false),
            "1 thread waits for m, whose holder is unknown"
        );
        assert_eq!(
            says(
                vec![link("m", 1200, holder(1, HolderBy::Stack, "in fdatasync"))],
                false
            ),
            "1,200 threads wait for m, held by thread 1 (mysqld, by its stack), which is in fdatasync"
        );
        assert_eq!(
            says(vec![link("m", 2, holder(1, HolderBy::Stack, ""))], false),
            "2 threads wait for m, held by thread 1 (mysqld, by its stack)"
        );
        assert_eq!(
            says(
                vec![
                    link("a", 1, holder(1, HolderBy::OwnerField, "waits for b")),
                    link("b", 1, holder(2, HolderBy::OwnerField, "waits for a")),
                ],
                true
            ),
            "1 thread waits for a, held by thread 1 (mysqld, by the lock's owner field), which \
             waits for b, held by thread 2 (mysqld, by the lock's owner field), which waits for a lock named before: a deadlock, or two moments mixed up"
        );
    }

    fn verdict_with(actor: diagnosis::Actor) -> Verdict {
        Verdict {
            sentence: String::new(),
            findings: vec![diagnosis::Finding {
                cause: "mdl-pileup".to_owned(),
                title: "Metadata lock".to_owned(),
                what: String::new(),
                level: diagnosis::Level::Certain,
                confidence: 0.99,
                witnesses: Vec::new(),
                against: Vec::new(),
                refuted_by: Vec::new(),
                unknown: Vec::new(),
                actors: vec![actor],
                relations: Vec::new(),
                remedy: diagnosis::Remedy::default(),
                sources: Vec::new(),
            }],
            folded: Vec::new(),
            mechanism: Vec::new(),
            rejected: Vec::new(),
            absent: Vec::new(),
            sources: Vec::new(),
        }
    }

    #[test]
    fn a_verdict_names_the_holder_of_its_kind_of_lock() {
        let mut verdict = verdict_with(diagnosis::Actor {
            who: "metadata-lock-holder".to_owned(),
            says: "connection 926 (root@::1): OTHER for 13 s".to_owned(),
            sure: true,
            ..diagnosis::Actor::default()
        });
        let of = |lock: &str, verdict: &Verdict| {
            let chain = WaitChain {
                links: vec![link(lock, 9, None)],
                circular: false,
            };
            with_named_holder(&chain_sentence(&chain), verdict)
        };
        assert_eq!(
            of("metadata lock", &verdict),
            "9 threads wait for metadata lock, held by connection 926 (root@::1)"
        );
        assert!(of("row lock", &verdict).ends_with(UNKNOWN_HOLDER));
        verdict.findings[0].actors[0].sure = false;
        assert!(
            of("metadata lock", &verdict).ends_with(", held by perhaps connection 926 (root@::1)")
        );
        verdict.findings.clear();
        assert!(of("metadata lock", &verdict).ends_with(UNKNOWN_HOLDER));
    }
}
