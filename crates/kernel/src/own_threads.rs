//! Threads of our own. What starts a thread is made anew by the compiler for each kind of work; here it is made once.

use std::io;
use std::thread::{Builder, JoinHandle};

/// Starts a thread of this name for this work.
///
/// # Errors
/// When the kernel starts no thread.
pub fn start(
    name: impl Into<String>,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    begin(Builder::new().name(name.into()), Box::new(work))
}

/// As [`start`], with a stack of this size.
///
/// # Errors
/// When the kernel starts no thread.
pub fn start_with_stack(
    name: impl Into<String>,
    stack_bytes: usize,
    work: impl FnOnce() + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    let thread = Builder::new().name(name.into()).stack_size(stack_bytes);
    begin(thread, Box::new(work))
}

fn begin(thread: Builder, work: Box<dyn FnOnce() + Send>) -> io::Result<JoinHandle<()>> {
    thread.spawn(work)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failing step fails the test")]
mod tests {
    use std::sync::mpsc::channel;

    use super::{start, start_with_stack};

    #[test]
    fn the_work_is_done_on_a_thread_of_that_name() {
        let (told, names) = channel();
        let again = told.clone();
        let own_name = || std::thread::current().name().map(str::to_owned);
        let first = start("ff-one", move || drop(told.send(own_name()))).unwrap();
        first.join().unwrap();
        let second =
            start_with_stack("ff-two", 256 << 10, move || drop(again.send(own_name()))).unwrap();
        second.join().unwrap();
        let names: Vec<_> = names.iter().flatten().collect();
        assert_eq!(names, ["ff-one", "ff-two"]);
    }
}
