//! Work on several inputs at a time: a folder of pt-stalk has dozens of files, some of them large.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Threads at the most: each may hold the lines of one large input.
const THREADS_MAX: usize = 4;

/// The results of some work for each of these sizes, in their order; the largest are begun first.
pub(crate) fn each<T: Send>(sizes: &[usize], work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|index| std::cmp::Reverse(sizes.get(*index)));
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = processors.min(THREADS_MAX).min(sizes.len());
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<(usize, T)>> = Mutex::new(Vec::with_capacity(sizes.len()));
    let run = || {
        while let Some(index) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            let result = work(*index);
            let mut done = done
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner);
            done.push((*index, result));
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            // Where the system gives no thread, this one does the work of all.
            let _ = std::thread::Builder::new().spawn_scoped(scope, run);
        }
        run();
    });
    let mut done = done
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
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
    }
}
