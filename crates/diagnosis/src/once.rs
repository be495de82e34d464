//! Lists without repetitions, and what occurs most.

/// Each thing once, in the order in which they come.
pub(crate) fn once<T: PartialEq>(things: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut all = Vec::new();
    for thing in things {
        if !all.contains(&thing) {
            all.push(thing);
        }
    }
    all
}

/// The name with the largest count; of equal ones the first by name.
pub(crate) fn most<N: Ord>(counts: impl IntoIterator<Item = (N, u64)>) -> Option<N> {
    let counts = counts.into_iter().filter(|(_, count)| *count > 0);
    let most = counts.max_by(|(a, left), (b, right)| left.cmp(right).then_with(|| b.cmp(a)));
    most.map(|(name, _)| name)
}
