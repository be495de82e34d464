//! The samples of a flame graph by when they were taken, so that a page can show those of some seconds.

use std::collections::BTreeMap;

use model::Window;

/// Samples of one profile, or of several one after another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    /// When it began and ended.
    pub(crate) window: Window,
    /// 0 of the first, 1 of the second profiles.
    pub(crate) side: usize,
    /// Nodes that were innermost, in ascending order, and their samples.
    pub(crate) own: Vec<(usize, u64)>,
}

impl Part {
    /// The same on other nodes; where several go to one, their sum.
    pub(crate) fn moved(&self, place: &[usize]) -> Self {
        let placed = |(node, value): &(usize, u64)| Some((*place.get(*node)?, *value));
        Self {
            own: summed(self.own.iter().filter_map(placed)),
            ..*self
        }
    }

    /// Begin and end in milliseconds since the recording began, the side, then for each node how many it is behind the
    /// one before, and its samples.
    pub(crate) fn numbers(&self) -> Vec<u64> {
        let mut out = vec![self.window.from, self.window.to, self.side as u64];
        let mut last = 0;
        for (node, value) in &self.own {
            out.extend([(node - last) as u64, *value]);
            last = *node;
        }
        out
    }
}

/// At most so many pairs of a node and its samples: neighbours of a side are put together until it is so.
pub(crate) fn fitted(mut parts: Vec<Part>, pairs_max: usize) -> Vec<Part> {
    let pairs = |parts: &[Part]| parts.iter().map(|part| part.own.len()).sum::<usize>();
    while pairs(&parts) > pairs_max && parts.len() > 2 {
        let before = parts.len();
        parts = halved(parts);
        if parts.len() == before {
            break;
        }
    }
    parts
}

fn halved(parts: Vec<Part>) -> Vec<Part> {
    let mut out: Vec<Part> = Vec::with_capacity(parts.len() / 2 + 1);
    // Whether the last one is one of two already.
    let mut is_pair = true;
    for part in parts {
        match out
            .last_mut()
            .filter(|last| !is_pair && last.side == part.side)
        {
            Some(last) => {
                last.window.to = part.window.to;
                last.own = summed(last.own.iter().chain(&part.own).copied());
                is_pair = true;
            }
            None => {
                out.push(part);
                is_pair = false;
            }
        }
    }
    out
}

fn summed(pairs: impl Iterator<Item = (usize, u64)>) -> Vec<(usize, u64)> {
    let mut sums: BTreeMap<usize, u64> = BTreeMap::new();
    for (node, value) in pairs {
        let sum = sums.entry(node).or_default();
        *sum = sum.saturating_add(value);
    }
    sums.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(from: u64, side: usize, own: &[(usize, u64)]) -> Part {
        Part {
            window: Window {
                from,
                to: from + 1000,
            },
            side,
            own: own.to_vec(),
        }
    }

    #[test]
    fn neighbours_are_put_together_until_they_fit() {
        let parts = vec![
            part(0, 0, &[(1, 1), (2, 1)]),
            part(1000, 1, &[(1, 2), (4, 1)]),
            part(2000, 1, &[(1, 3), (2, 5)]),
            part(3000, 1, &[(4, 7)]),
        ];
        let fit = fitted(parts.clone(), 7);
        assert_eq!(fit, parts);
        let fit = fitted(parts, 6);
        assert_eq!(fit.len(), 3);
        assert_eq!(
            fit[1].window,
            Window {
                from: 1000,
                to: 3000
            }
        );
        assert_eq!(fit[1].own, [(1, 5), (2, 5), (4, 1)]);
        assert_eq!(fit[1].numbers(), [1000, 3000, 1, 1, 5, 1, 5, 2, 1]);
        // One of each side is left at the least.
        assert_eq!(fitted(fit, 0).len(), 2);
    }

    #[test]
    fn nodes_that_are_put_together_have_the_sum() {
        let moved = part(0, 1, &[(1, 1), (2, 10), (3, 100)]).moved(&[0, 1, 5, 5]);
        assert_eq!(moved.own, [(1, 1), (5, 110)]);
    }
}
