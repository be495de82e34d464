//! Work on several inputs at a time: a folder of pt-stalk has dozens of files, some of them large.

use model::OrderBy;
use std::sync::{Condvar, Mutex, PoisonError};

/// Threads at the most: each may hold the lines of one large input.
const THREADS_MAX: usize = 4;

/// Bytes of the inputs that are read at a time, unless one alone has more: the lines of an input take
/// about as much memory as the input, and all have to stay within what a command may take.
const BYTES_AT_ONCE: usize = 96 << 20;

/// What is being worked on.
#[derive(Default)]
struct Begun {
    /// How many of the order.
    count: usize,
    /// How many are not done.
    running: usize,
    /// The bytes of those.
    bytes: usize,
}

/// Does something when it goes.
struct Ending<F: Fn()>(F);

impl<F: Fn()> Drop for Ending<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// The results of some work for each of these sizes, in their order; the largest are begun first.
pub(crate) fn each<T: Send>(sizes: &[usize], work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.order_by_key(|index| std::cmp::Reverse(sizes.get(*index)));
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = processors.min(THREADS_MAX).min(sizes.len());
    let (begun, ended) = (Mutex::new(Begun::default()), Condvar::new());
    let done: Mutex<Vec<(usize, T)>> = Mutex::new(Vec::with_capacity(sizes.len()));
    let begin = || {
        let mut begun = begun.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let index = *order.get(begun.count)?;
            let size = sizes.get(index).copied().unwrap_or(0);
            if begun.running == 0 || begun.bytes.saturating_add(size) <= BYTES_AT_ONCE {
                begun.count += 1;
                begun.running += 1;
                begun.bytes = begun.bytes.saturating_add(size);
                return Some((index, size));
            }
            begun = ended.wait(begun).unwrap_or_else(PoisonError::into_inner);
        }
    };
    let end = |size: usize| {
        let mut begun = begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.running -= 1;
        begun.bytes = begun.bytes.saturating_sub(size);
        ended.notify_all();
    };
    let run = || {
        while let Some((index, size)) = begin() {
            // Also when the work fails: the others would wait for ever.
            let ending = Ending(|| end(size));
            let result = work(index);
            drop(ending);
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            done.push((index, result));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // Where the system gives no thread, this one does the work of all.
            let _ = std::thread::Builder::new().spawn_scoped(scope, run);
        }
        run();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.order_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_work() {
        let sizes: Vec<usize> = (0..200).map(|index| index * 7919 % 100).collect();
        let done = each(&sizes, |index| index * 2);
        assert_eq!(done, (0..200).map(|index| index * 2).collect::<Vec<_>>());
        assert_eq!(each(&[], |index| index), Vec::<usize>::new());
        // Of those that are larger than what is read at a time, each is read alone.
        let large = [BYTES_AT_ONCE + 1, BYTES_AT_ONCE, 1, usize::MAX];
        assert_eq!(each(&large, |index| index), [0, 1, 2, 3]);
    }
}
