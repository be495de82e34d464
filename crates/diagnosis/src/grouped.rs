//! Many things sorted by a number that each has, in time that grows with them alone.

/// The things of each number, those of number 0 first.
pub(crate) struct Grouped<T> {
    all: Vec<T>,
    /// For each number the place behind its last thing.
    ends: Vec<usize>,
}

impl<T: Copy + Default> Grouped<T> {
    /// Things of numbers below `numbers`, which keep their order; others are left out.
    pub(crate) fn new(numbers: usize, things: impl Iterator<Item = (usize, T)> + Clone) -> Self {
        let mut ends = vec![0; numbers];
        for (number, _) in things.clone() {
            if let Some(count) = ends.get_mut(number) {
                *count += 1;
            }
        }
        let mut sum = 0;
        for end in &mut ends {
            // The begin of each for now, which moves on to its end.
            let count = std::mem::replace(end, sum);
            sum += count;
        }
        let mut all = vec![T::default(); sum];
        for (number, thing) in things {
            if let Some(place) = ends.get_mut(number)
                && let Some(slot) = all.get_mut(*place)
            {
                *slot = thing;
                *place += 1;
            }
        }
        Self { all, ends }
    }

    /// Those of each number, beginning with 0.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[T]> {
        (0..self.ends.len()).map(|number| self.of(number))
    }

    /// Those of one number.
    pub(crate) fn of(&self, number: usize) -> &[T] {
        let begin = number
            .checked_sub(1)
            .and_then(|before| self.ends.get(before));
        let from = begin.copied().unwrap_or(0);
        let to = self.ends.get(number).copied().unwrap_or(from);
        self.all.get(from..to).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::Grouped;

    #[test]
    fn each_number_has_its_own_in_order() {
        let things = [(2, 'a'), (0, 'b'), (2, 'c'), (9, 'd'), (3, 'e')];
        let grouped = Grouped::new(4, things.into_iter());
        let all: Vec<char> = grouped.iter().flatten().copied().collect();
        assert_eq!(all, ['b', 'a', 'c', 'e']);
        assert_eq!(grouped.of(0), ['b']);
        assert_eq!(grouped.of(1), []);
        assert_eq!(grouped.of(2), ['a', 'c']);
        assert_eq!(grouped.of(3), ['e']);
        assert_eq!(grouped.of(9), []);
    }
}
