//! Stacks merged from the root into one tree, with a value from each of two profiles.

use std::collections::{BTreeMap, HashMap};

use model::{
    FrameId, FrameSide, OrderBy, Profile, ProfileCount, Stack, StackFrame, StackId, StackTable,
    UnnamedReason, Window,
};

pub(crate) use crate::flame_part::Part;
pub(crate) use crate::flame_side::{FlameSide, Whose};

/// What a frame of the tree stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Kind {
    /// A function of a program or library.
    User,
    /// A function of the kernel.
    Kernel,
    /// A thread of the server, by name.
    Server,
    /// A thread of another program, by name.
    Other,
    /// Frames put together because each is rare.
    Folded,
    /// Stands for the callers of a stack that was cut.
    Cut,
    /// The root.
    All,
}

/// A frame, once however often it stands in the tree.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct TreeFrame {
    /// Function or thread name.
    pub(crate) name: String,
    /// Image, empty when unknown; for a cut stack why it was cut.
    pub(crate) image: String,
    /// What it stands for.
    pub(crate) kind: Kind,
    /// Why the function has no name.
    pub(crate) nameless: Option<UnnamedReason>,
}

/// A frame at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Node {
    /// Index of the caller's node; of itself for the root.
    pub(crate) parent: usize,
    /// Index of its frame.
    pub(crate) frame: usize,
    /// Samples with it on the stack, of the first and the second profile.
    pub(crate) value: [u64; 2],
}

/// The tree. Node 0 is the root, every parent stands before its children.
#[derive(Debug, Clone, Default)]
pub(crate) struct FlameTree {
    /// The frames that nodes refer to.
    pub(crate) frames: Vec<TreeFrame>,
    /// The nodes.
    pub(crate) nodes: Vec<Node>,
    /// What was put in, first and second.
    pub(crate) halves: [FlameSide; 2],
    /// The same samples by when they were taken, a part for each profile.
    pub(crate) parts: Vec<Part>,
    /// Nodes left out of this tree and counted in its folded ones.
    pub(crate) folded: usize,
}

/// A function's samples over the whole tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameSums {
    /// Index of the frame.
    pub(crate) frame: usize,
    /// Samples with it innermost, first and second.
    pub(crate) own: [u64; 2],
    /// Samples with it anywhere on the stack, each counted once.
    pub(crate) total: [u64; 2],
}

impl FlameTree {
    /// The tree of two lists of profiles, each with its book.
    pub(crate) fn from_profiles(
        first: (&[&Profile], &StackTable),
        second: (&[&Profile], &StackTable),
    ) -> Self {
        Self::of_whose(Whose::Everybody, first, second)
    }

    /// The same of a part of the samples.
    pub(crate) fn of_whose(
        whose: Whose,
        first: (&[&Profile], &StackTable),
        second: (&[&Profile], &StackTable),
    ) -> Self {
        let mut builder = Builder::default();
        for (side, (profiles, book)) in [first, second].into_iter().enumerate() {
            builder.tree.halves[side] = FlameSide::from_profiles(whose, profiles);
            let mut known = Known::default();
            for profile in profiles {
                builder.add(side, whose, profile, book, &mut known);
            }
        }
        builder.tree.sum_up();
        builder.tree
    }

    /// From the samples of which each node was the innermost, those with it anywhere on the stack.
    fn sum_up(&mut self) {
        for index in (1..self.nodes.len()).rev() {
            let Node { parent, value, .. } = self.nodes[index];
            let caller = &mut self.nodes[parent].value;
            *caller = [0, 1].map(|side| caller[side].saturating_add(value[side]));
        }
    }

    /// The value of a node as a share of the root's, the greater of both profiles.
    fn weight(&self, node: &Node) -> f64 {
        let share = |side: usize| {
            let all = self.halves[side].samples;
            if all == 0 {
                0.0
            } else {
                node.value[side] as f64 / all as f64
            }
        };
        share(0).max(share(1))
    }

    /// Samples of each node with nothing called from it.
    fn own(&self) -> Vec<[u64; 2]> {
        let mut own: Vec<[u64; 2]> = self.nodes.iter().map(|node| node.value).collect();
        for node in self.nodes.iter().skip(1) {
            for side in [0, 1] {
                own[node.parent][side] = own[node.parent][side].saturating_sub(node.value[side]);
            }
        }
        own
    }

    /// Sums by thread's name, in no order.
    pub(crate) fn threads(&self) -> Vec<FrameSums> {
        let threads = self.nodes.iter().skip(1).filter(|node| node.parent == 0);
        threads
            .map(|node| FrameSums {
                frame: node.frame,
                own: node.value,
                total: node.value,
            })
            .collect()
    }

    /// Sums by function, in no order. Threads and the root are left out.
    pub(crate) fn sums(&self) -> Vec<FrameSums> {
        let mut sums: Vec<FrameSums> = (0..self.frames.len())
            .map(|frame| FrameSums {
                frame,
                own: [0; 2],
                total: [0; 2],
            })
            .collect();
        for (node, own) in self.nodes.iter().zip(self.own()) {
            let sum = &mut sums[node.frame];
            let nested = self.callers(node).any(|caller| caller.frame == node.frame);
            for side in [0, 1] {
                sum.own[side] = sum.own[side].saturating_add(own[side]);
                let value = if nested { 0 } else { node.value[side] };
                sum.total[side] = sum.total[side].saturating_add(value);
            }
        }
        sums.retain(|sum| matches!(self.frames[sum.frame].kind, Kind::User | Kind::Kernel));
        sums
    }

    fn callers(&self, node: &Node) -> impl Iterator<Item = &Node> {
        let mut at = node.parent;
        std::iter::from_fn(move || {
            let caller = self.nodes.get(at).filter(|_| at != 0)?;
            at = caller.parent;
            Some(caller)
        })
    }

    /// The same tree in the order of a walk from the root, the heaviest child first, with at most
    /// `nodes_max` nodes: the lightest are put together, those of one caller as one "(n more)".
    pub(crate) fn pruned(&self, nodes_max: usize) -> Self {
        let weights: Vec<f64> = self.nodes.iter().map(|node| self.weight(node)).collect();
        let mut sorted = weights.clone();
        sorted.sort_unstable_by(|a, b| b.total_cmp(a));
        let nodes_max = nodes_max.max(2);
        let mut keep = nodes_max;
        loop {
            // A node is never heavier than its caller, so what is above a limit is a tree.
            let limit = sorted.get(keep).copied().unwrap_or(-1.0);
            if self.count_above(limit, &weights) <= nodes_max || keep == 1 {
                return self.above(limit, &weights);
            }
            keep = (keep * 4 / 5).max(1);
        }
    }

    /// Nodes of the tree [`FlameTree::above`] a limit.
    fn count_above(&self, limit: f64, weights: &[f64]) -> usize {
        let mut folds = vec![false; self.nodes.len()];
        let mut kept = 0;
        for (index, (node, weight)) in self.nodes.iter().zip(weights).enumerate() {
            if index == 0 || *weight > limit {
                kept += 1;
            } else if node.parent == 0 || weights[node.parent] > limit {
                folds[node.parent] = true;
            }
        }
        kept + folds.iter().filter(|folds| **folds).count()
    }

    /// What is heavier than a limit, the rest put together.
    fn above(&self, limit: f64, weights: &[f64]) -> Self {
        let mut kept: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        let mut light: HashMap<usize, (usize, [u64; 2])> = HashMap::new();
        for (index, node) in self.nodes.iter().enumerate().skip(1) {
            if weights[index] > limit {
                kept[node.parent].push(index);
            } else if node.parent == 0 || weights[node.parent] > limit {
                let (count, sum) = light.entry(node.parent).or_default();
                *count += 1;
                *sum = [0, 1].map(|side| sum[side].saturating_add(node.value[side]));
            }
        }
        for list in &mut kept {
            list.order_by(|a, b| {
                let [a, b] = [*a, *b].map(|index| &self.nodes[index]);
                let name = |node: &Node| &self.frames[node.frame].name;
                let by_value = (b.value[1], b.value[0]).cmp(&(a.value[1], a.value[0]));
                by_value.then_with(|| name(a).cmp(name(b)))
            });
        }
        let mut out = Self {
            halves: self.halves,
            ..Self::default()
        };
        let mut frames: HashMap<usize, usize> = HashMap::new();
        let mut folded: HashMap<usize, usize> = HashMap::new();
        // Where each node of this tree went; of a caller, where those of it went that are put together.
        let mut place: Vec<Option<usize>> = vec![None; self.nodes.len()];
        let mut fold_of: HashMap<usize, usize> = HashMap::new();
        let mut steps: Vec<Step> = Vec::new();
        if !self.nodes.is_empty() {
            steps.push(Step::Node(0, 0));
        }
        while let Some(step) = steps.pop() {
            let at = out.nodes.len();
            let (parent, frame, value) = match step {
                Step::Node(index, parent) => {
                    place[index] = Some(at);
                    // The last step is taken first, and what is put together stands last.
                    if let Some((count, value)) = light.remove(&index) {
                        steps.push(Step::Fold(count, value, at));
                    }
                    let called = kept[index].iter().rev();
                    steps.extend(called.map(|child| Step::Node(*child, at)));
                    let node = &self.nodes[index];
                    let frame = *frames.entry(node.frame).or_insert_with(|| {
                        out.frames.push(self.frames[node.frame].clone());
                        out.frames.len() - 1
                    });
                    (parent, frame, node.value)
                }
                Step::Fold(count, value, parent) => {
                    out.folded += count;
                    fold_of.insert(parent, at);
                    let frame = *folded.entry(count).or_insert_with(|| {
                        let name = format!("({count} more)");
                        out.frames.push(pseudo(&name, String::new(), Kind::Folded));
                        out.frames.len() - 1
                    });
                    (parent, frame, value)
                }
            };
            out.nodes.push(Node {
                parent,
                frame,
                value,
            });
        }
        // A caller stands before those that it called: what is put together goes where its caller's went.
        let mut places: Vec<usize> = Vec::with_capacity(place.len());
        for (node, place) in self.nodes.iter().zip(place) {
            let caller = places.get(node.parent).copied().unwrap_or(0);
            let together = fold_of.get(&caller).copied().unwrap_or(caller);
            places.push(place.unwrap_or(together));
        }
        out.parts = self.parts.iter().map(|part| part.moved(&places)).collect();
        out
    }
}

enum Step {
    /// A node, and its caller's place.
    Node(usize, usize),
    /// How many nodes to put together, their samples, and their caller's place.
    Fold(usize, [u64; 2], usize),
}

/// What of one table is in the tree already. Its names are long, its stacks deep, and the same in one profile after
/// another: each is looked for once.
#[derive(Default)]
struct Known<'a> {
    frames: HashMap<FrameId, usize>,
    /// The innermost node of a stack of a thread, by the thread's name and whether it is the server's.
    innermost: HashMap<(StackId, &'a str, bool), usize>,
}

/// While it is built, a node's value is of the samples of which it is the innermost.
struct Builder {
    tree: FlameTree,
    frames: HashMap<TreeFrame, usize>,
    children: HashMap<(usize, usize), usize>,
}

impl Default for Builder {
    fn default() -> Self {
        let mut builder = Self {
            tree: FlameTree::default(),
            frames: HashMap::new(),
            children: HashMap::new(),
        };
        let frame = builder.frame(pseudo("all", String::new(), Kind::All));
        builder.tree.nodes.push(Node {
            parent: 0,
            frame,
            value: [0; 2],
        });
        builder
    }
}

fn pseudo(name: &str, image: String, kind: Kind) -> TreeFrame {
    TreeFrame {
        name: name.to_owned(),
        image,
        kind,
        nameless: None,
    }
}

fn real(frame: &StackFrame) -> TreeFrame {
    TreeFrame {
        name: frame.name.clone(),
        image: frame.image.clone(),
        kind: match frame.side {
            FrameSide::Kernel => Kind::Kernel,
            FrameSide::User => Kind::User,
        },
        nameless: frame.nameless,
    }
}

impl Builder {
    fn frame(&mut self, frame: TreeFrame) -> usize {
        let next = self.tree.frames.len();
        let index = *self.frames.entry(frame.clone()).or_insert(next);
        if index == next {
            self.tree.frames.push(frame);
        }
        index
    }

    fn add<'a>(
        &mut self,
        side: usize,
        whose: Whose,
        profile: &'a Profile,
        book: &StackTable,
        known: &mut Known<'a>,
    ) {
        let hz = self.tree.halves[side].hz;
        let mut own: BTreeMap<usize, u64> = BTreeMap::new();
        for row in profile.counts.iter().filter(|row| whose.has(row)) {
            let value = scaled(row.count, hz, profile.hz);
            let key = (row.stack, row.thread.as_str(), row.server);
            let node = match known.innermost.get(&key) {
                Some(node) => *node,
                None => {
                    let node = self.innermost(row, book, &mut known.frames);
                    known.innermost.insert(key, node);
                    node
                }
            };
            let slot = &mut self.tree.nodes[node].value[side];
            *slot = slot.saturating_add(value);
            let innermost = own.entry(node).or_default();
            *innermost = innermost.saturating_add(value);
            let samples = &mut self.tree.halves[side].samples;
            *samples = samples.saturating_add(value);
        }
        self.tree.parts.push(Part {
            window: Window {
                from: profile.from,
                to: profile.to,
            },
            side,
            own: own.into_iter().collect(),
        });
    }

    /// The frame that stands where the callers of a cut stack would: without it a function in the
    /// middle of a program would look like a thread's first one.
    fn cut(&mut self, stack: &Stack) -> Option<usize> {
        (!stack.end.is_complete()).then(|| {
            self.frame(pseudo(
                "(callers unknown)",
                stack.end.to_text().to_owned(),
                Kind::Cut,
            ))
        })
    }

    /// The node of the innermost frame of a row's stack. `frames` are those of the table that are in the tree already.
    fn innermost(
        &mut self,
        row: &ProfileCount,
        book: &StackTable,
        frames: &mut HashMap<FrameId, usize>,
    ) -> usize {
        let kind = match row.server {
            true => Kind::Server,
            false => Kind::Other,
        };
        let thread = self.frame(pseudo(&row.thread, String::new(), kind));
        let mut at = self.called(0, thread);
        let stack = book.stack(row.stack);
        if let Some(cut) = self.cut(stack) {
            at = self.called(at, cut);
        }
        for id in stack.frames.iter().rev() {
            let known = frames.get(id).copied();
            let index = known.or_else(|| Some(self.frame(real(book.frame(*id)?))));
            if let Some(index) = index {
                frames.insert(*id, index);
                at = self.called(at, index);
            }
        }
        at
    }

    /// The node of a frame that another one called.
    fn called(&mut self, caller: usize, frame: usize) -> usize {
        let next = self.tree.nodes.len();
        let node = *self.children.entry((caller, frame)).or_insert(next);
        if node == next {
            self.tree.nodes.push(Node {
                parent: caller,
                frame,
                value: [0; 2],
            });
        }
        node
    }
}

/// Samples of one rate in samples of a denser one.
pub(crate) fn scaled(count: u64, hz: u32, taken_at_hz: u32) -> u64 {
    if hz == taken_at_hz || taken_at_hz == 0 {
        return count;
    }
    (count as f64 * f64::from(hz) / f64::from(taken_at_hz)).round() as u64
}

#[cfg(test)]
mod tests;
