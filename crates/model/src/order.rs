//! Sorting with little code.
//!
//! The standard library's sort is made anew for each type and each order, 3 to 7 KB of code each time, to sort millions
//! as fast as can be. Rows of a report are few, and there are more than a hundred kinds of them: theirs sort numbers, by
//! one sort for all, and are put in place afterwards. What sorts hundreds of thousands takes the standard library's.

use std::cmp::Ordering;

/// What a slice is sorted by. Both sorts are stable.
pub trait OrderBy<T> {
    /// As `sort_by`.
    fn order_by(&mut self, compare: impl Fn(&T, &T) -> Ordering);

    /// As `sort_by_key`.
    fn order_by_key<K: Ord>(&mut self, key: impl Fn(&T) -> K);
}

impl<T> OrderBy<T> for [T] {
    fn order_by(&mut self, compare: impl Fn(&T, &T) -> Ordering) {
        let items = &*self;
        let order = sorted(
            items.len(),
            &|left, right| match (items.get(left), items.get(right)) {
                (Some(left), Some(right)) => compare(left, right),
                _ => Ordering::Equal,
            },
        );
        place(order, &mut |left, right| self.swap(left, right));
    }

    fn order_by_key<K: Ord>(&mut self, key: impl Fn(&T) -> K) {
        self.order_by(|left, right| key(left).cmp(&key(right)));
    }
}

/// Which item comes where: the first of the result is the number of the item that comes first.
fn sorted(count: usize, compare: &dyn Fn(usize, usize) -> Ordering) -> Vec<usize> {
    let mut order: Vec<usize> = (0..count).collect();
    order.sort_by(|left, right| compare(*left, *right));
    order
}

/// Puts items where the order wants them, circle by circle, each with one swap.
fn place(mut order: Vec<usize>, swap: &mut dyn FnMut(usize, usize)) {
    for start in 0..order.len() {
        let mut here = start;
        while let Some(next) = order.get_mut(here) {
            let from = std::mem::replace(next, here);
            if from == here || from == start {
                break;
            }
            swap(here, from);
            here = from;
        }
    }
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, reason = "a failing step fails the test")]
mod tests {
    use super::OrderBy;

    /// Numbers that repeat, in no order, with where each stood.
    fn some(count: usize) -> Vec<(u64, usize)> {
        let mut number = 20_261_125_u64;
        let numbers = (0..count).map(|place| {
            number = number
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            ((number >> 33) % 37, place)
        });
        numbers.collect()
    }

    #[test]
    fn it_sorts_as_the_standard_library_does() {
        for count in (0..70).chain([500, 1_001]) {
            let mut ours = some(count);
            let mut theirs = ours.clone();
            ours.order_by_key(|one| one.0);
            theirs.sort_by_key(|one| one.0);
            assert_eq!(ours, theirs, "{count}");
            ours.order_by(|one, other| other.0.cmp(&one.0));
            theirs.sort_by_key(|one| std::cmp::Reverse(one.0));
            assert_eq!(ours, theirs, "{count}");
        }
    }

    #[test]
    fn a_part_is_sorted_alone() {
        let mut all = ["d", "c", "b", "a"].map(str::to_owned);
        all[1..3].order_by(Ord::cmp);
        assert_eq!(all, ["d", "b", "c", "a"]);
    }
}
