//! A chain of waits as a sentence.

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
            units::grouped(i64::from(waiters)),
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
pub const UNKNOWN_HOLDER: &str = ", whose holder is unknown";

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
}
