//! Stacks as a tree with two shares on each frame, for views that draw flame graphs themselves.

use std::collections::BTreeMap;

use model::{OrderBy, Profile, StackTable};

use crate::flame_tree::{FlameSide, FlameTree, Kind, Whose};

/// A frame at its place in the tree.
#[derive(Debug, Clone, PartialEq)]
pub struct FlameNode {
    /// Index of its caller; of itself for the root.
    pub parent: usize,
    /// Callers above it.
    pub depth: usize,
    /// Function or thread.
    pub name: String,
    /// Its image; empty where there is none.
    pub image: String,
    /// It is a function of the kernel.
    pub is_kernel: bool,
    /// Share of all samples with it on the stack, 0 to 1, of the time before.
    pub before: f64,
    /// The same of the time that is looked at.
    pub now: f64,
    /// Share with it innermost, of the time that is looked at.
    pub own: f64,
    /// The same of the time before.
    pub own_before: f64,
    /// Where its box begins, 0 to 1 of the root's width.
    pub begin: f64,
}

/// The tree in the order of a walk from its root, the heaviest called one first: a frame's callees follow it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Flame {
    /// The frames. The first is the root.
    pub nodes: Vec<FlameNode>,
    /// Processors that were busy on average, before and now; absent where that is not known.
    pub busy: [Option<f64>; 2],
}

/// The tree of two times, of at most so many frames: the rarest are put together.
pub fn flame(before: &[&Profile], now: &[&Profile], book: &StackTable, nodes_max: usize) -> Flame {
    let tree = FlameTree::of_whose(Whose::Everybody, (before, book), (now, book)).pruned(nodes_max);
    let share = |value: u64, side: usize| match tree.halves.get(side).map_or(0, |half| half.samples)
    {
        0 => 0.0,
        all => value as f64 / all as f64,
    };
    let mut nodes: Vec<FlameNode> = Vec::with_capacity(tree.nodes.len());
    // Where the next one that a frame called begins.
    let mut next: Vec<f64> = Vec::with_capacity(tree.nodes.len());
    for (index, node) in tree.nodes.iter().enumerate() {
        let [before, now] = node.value;
        let (before, now) = (share(before, 0), share(now, 1));
        let begin = match next.get_mut(node.parent).filter(|_| index > 0) {
            Some(next) => {
                let begin = *next;
                *next += now;
                begin
            }
            None => 0.0,
        };
        let depth = nodes
            .get(node.parent)
            .filter(|_| index > 0)
            .map_or(0, |parent| parent.depth + 1);
        if let Some(parent) = nodes.get_mut(node.parent).filter(|_| index > 0) {
            parent.own = (parent.own - now).max(0.0);
            parent.own_before = (parent.own_before - before).max(0.0);
        }
        let frame = tree.frames.get(node.frame);
        nodes.push(FlameNode {
            parent: node.parent,
            depth,
            name: frame.map_or_else(String::new, |frame| frame.name.clone()),
            image: frame.map_or_else(String::new, |frame| frame.image.clone()),
            is_kernel: frame.is_some_and(|frame| frame.kind == Kind::Kernel),
            before,
            now,
            own: now,
            own_before: before,
            begin,
        });
        next.push(begin);
    }
    let busy = |half: &FlameSide| Some(half.samples as f64 * half.processors_per_sample()?);
    Flame {
        nodes,
        busy: [busy(&tree.halves[0]), busy(&tree.halves[1])],
    }
}

impl Flame {
    /// How much the share of each function in itself changed, 0.1 is ten points; those that grew most first.
    pub fn changes(&self) -> Vec<(&str, f64)> {
        let mut all: BTreeMap<&str, f64> = BTreeMap::new();
        for node in &self.nodes {
            *all.entry(&node.name).or_default() += node.own - node.own_before;
        }
        let mut all: Vec<(&str, f64)> = all.into_iter().collect();
        all.order_by(|a, b| b.1.total_cmp(&a.1));
        all
    }

    /// A frame with all that it called, directly and not: a range of indexes.
    pub fn subtree(&self, root: usize) -> std::ops::Range<usize> {
        let depth = self.nodes.get(root).map_or(0, |node| node.depth);
        let below = self.nodes.iter().skip(root + 1);
        let count = below.take_while(|node| node.depth > depth).count();
        root..(root + 1 + count).min(self.nodes.len())
    }

    /// The names from the root to a frame, the root left out.
    pub fn path(&self, mut at: usize) -> Vec<String> {
        let mut names = Vec::new();
        while let Some(node) = self.nodes.get(at).filter(|_| at != 0) {
            names.push(node.name.clone());
            at = node.parent;
        }
        names.reverse();
        names
    }

    /// The frame with these names, or of them the last that is there.
    pub fn find(&self, path: &[String]) -> usize {
        let mut at = 0;
        for name in path {
            let called = self.subtree(at).skip(1);
            let mut own = called.filter(|index| {
                let node = self.nodes.get(*index);
                node.is_some_and(|node| node.parent == at && &node.name == name)
            });
            match own.next() {
                Some(next) => at = next,
                None => break,
            }
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use model::{ProfileCount, StackEnd, StackId};

    use super::*;
    use crate::evidence::testing::{kernel, user};

    fn profile(counts: &[(StackId, u64)]) -> Profile {
        let count = |(stack, count): &(StackId, u64)| ProfileCount {
            stack: *stack,
            thread: "connection".to_owned(),
            server: true,
            count: *count,
        };
        Profile {
            from: 0,
            to: 1_000,
            hz: 100,
            processors: 4,
            counts: counts.iter().map(count).collect(),
            lost: 0,
        }
    }

    #[test]
    fn frames_have_shares_places_and_names() {
        let mut book = StackTable::default();
        let sends = book.intern(
            vec![kernel("send"), user("write"), user("run")],
            StackEnd::Complete,
        );
        let reads = book.intern(vec![user("read"), user("run")], StackEnd::Complete);
        let before = profile(&[(sends, 10), (reads, 30)]);
        let now = profile(&[(sends, 150), (reads, 50)]);
        let flame = flame(&[&before], &[&now], &book, 100);
        let told: Vec<(usize, &str, f64, f64, f64, f64)> = flame
            .nodes
            .iter()
            .map(|node| {
                (
                    node.depth,
                    node.name.as_str(),
                    node.before,
                    node.now,
                    node.own,
                    node.begin,
                )
            })
            .collect();
        assert_eq!(
            told,
            [
                (0, "all", 1.0, 1.0, 0.0, 0.0),
                (1, "connection", 1.0, 1.0, 0.0, 0.0),
                (2, "run", 1.0, 1.0, 0.0, 0.0),
                (3, "write", 0.25, 0.75, 0.0, 0.0),
                (4, "send", 0.25, 0.75, 0.75, 0.0),
                (3, "read", 0.75, 0.25, 0.25, 0.75),
            ]
        );
        assert_eq!(flame.busy, [Some(0.4), Some(2.0)]);
        let changes = flame.changes();
        assert_eq!(changes.first(), Some(&("send", 0.5)));
        assert_eq!(changes.last(), Some(&("read", -0.5)));
        assert_eq!(flame.subtree(3), 3..5);
        assert_eq!(flame.subtree(0), 0..6);
        let path = flame.path(4);
        assert_eq!(path, ["connection", "run", "write", "send"]);
        assert_eq!(flame.find(&path), 4);
        assert_eq!(flame.find(&path[..2]), 2);
        // What is not there any more: the nearest caller that is.
        assert_eq!(flame.find(&["connection".to_owned(), "gone".to_owned()]), 1);
        assert_eq!(super::flame(&[], &[], &book, 9).nodes.len(), 1);
    }
}
