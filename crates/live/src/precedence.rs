//! Who sees to it that keys are answered and a stall is read where no processor is free.
//!
//! In a stall of processors the view's threads are a few of hundreds that want one, and may wait for seconds. So a thread
//! of its own watches over them. It does next to nothing, so that processor time is reserved for it from the beginning
//! (`kernel::own_time`). Where a key is not taken, or the loop does not come around, though a thread of the view could run,
//! time is reserved for the view's threads as well, for a minute. Not before: a thread that has a processor at once takes
//! twice the processor time for the same work, beside a server that keeps the caches busy.
//!
//! A thread comes before others only for what is short. What is long, such as opening a file, runs as an ordinary one.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use cli::output::Screen as Terminal;
use kernel::{own_threads, own_time, run_delay};

/// How much of a processor the watching thread may have at the most, and of which time.
const FOR_WATCHING: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(50));

/// The same for each of the view's threads: a key takes some milliseconds, a verdict some ten.
const FOR_WORK: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(50));

/// How often it is looked whether the loop comes around.
const LOOKED_EVERY: Duration = Duration::from_millis(100);

/// A key that lies there for longer than this is late.
const KEY_LATE: Duration = Duration::from_millis(10);

/// A loop that comes around later than this is late.
const LOOP_LATE: Duration = Duration::from_millis(50);

/// A thread that is ready and has not run for so long has no processor. The kernel counts the time of a thread that runs
/// at each of its ticks: every 10 ms at the least.
const STANDS: Duration = Duration::from_millis(12);

/// How long processor time is reserved after that.
const RESERVED_FOR: Duration = Duration::from_secs(60);

/// The view's threads, and what is known of whether the host has a processor for them.
#[derive(Debug)]
pub(crate) struct Precedence {
    begin: Instant,
    threads: Mutex<Vec<Weak<Pace>>>,
    /// Keys that were taken.
    taken: AtomicU64,
    /// When the loop comes around again, milliseconds after `begin`.
    due_ms: AtomicU64,
    has_no_processor: AtomicBool,
}

/// A thread of the view.
#[derive(Debug)]
pub(crate) struct Pace {
    thread: u32,
    is_short: AtomicBool,
    is_first: AtomicBool,
    of: Arc<Precedence>,
}

impl Precedence {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Self {
            begin: Instant::now(),
            threads: Mutex::default(),
            taken: AtomicU64::new(0),
            due_ms: AtomicU64::new(u64::MAX),
            has_no_processor: AtomicBool::new(false),
        })
    }

    /// Begins to watch, until nobody else knows of this. Without the right to reserve processor time nothing is watched.
    pub(crate) fn watch(self: &Arc<Self>) {
        let watched = Arc::downgrade(self);
        // Without this thread the view works as an ordinary program.
        drop(own_threads::start("ff-watch", move || watch(&watched)));
    }

    /// The calling thread is one of the view's, and what it does is short until it says otherwise.
    pub(crate) fn join(self: &Arc<Self>) -> Arc<Pace> {
        let pace = Arc::new(Pace {
            thread: run_delay::own_tid(),
            is_short: AtomicBool::new(false),
            is_first: AtomicBool::new(false),
            of: self.clone(),
        });
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.retain(|one| one.strong_count() > 0);
        threads.push(Arc::downgrade(&pace));
        drop(threads);
        pace.works(true);
        pace
    }

    /// A key was taken.
    pub(crate) fn took_key(&self) {
        self.taken.fetch_add(1, Ordering::Relaxed);
    }

    /// The loop waits for a key, and comes around after so long.
    pub(crate) fn comes_around_in(&self, time: Duration) {
        let due = self.begin.elapsed().saturating_add(time);
        let due_ms = u64::try_from(due.as_millis()).unwrap_or(u64::MAX);
        self.due_ms.store(due_ms, Ordering::Relaxed);
    }

    /// The threads whose work is short now. The lock is held for as long as a list is copied, but whoever holds it may have
    /// no processor, so it is not waited for.
    fn short(&self) -> Vec<Arc<Pace>> {
        let Ok(threads) = self.threads.try_lock() else {
            return Vec::new();
        };
        let all = threads.iter().filter_map(Weak::upgrade);
        all.filter(|one| one.is_short.load(Ordering::SeqCst))
            .collect()
    }

    /// Waits for a key, or until it is time to look; whether a thread has no processor for what is due.
    fn is_late(&self) -> bool {
        let taken = self.taken.load(Ordering::Relaxed);
        if Terminal::has_input(LOOKED_EVERY) {
            std::thread::sleep(KEY_LATE);
            let is_taken =
                self.taken.load(Ordering::Relaxed) != taken || !Terminal::has_input(Duration::ZERO);
            return !is_taken && self.stands();
        }
        let late = self.begin.elapsed().saturating_sub(LOOP_LATE);
        late.as_millis() > u128::from(self.due_ms.load(Ordering::Relaxed)) && self.stands()
    }

    /// Whether one of the threads could run and does not.
    fn stands(&self) -> bool {
        let ready = |pace: &Pace| {
            let ran = run_delay::ran(pace.thread)?;
            run_delay::is_ready(pace.thread).then_some(ran)
        };
        let short = self.short();
        let before: Vec<_> = short.iter().map(|pace| ready(pace)).collect();
        if before.iter().all(Option::is_none) {
            return false;
        }
        std::thread::sleep(STANDS);
        let mut both = short.iter().zip(before);
        both.any(|(pace, before)| before.is_some() && ready(pace) == before)
    }

    /// Tells the threads whether the host has a processor for them.
    fn tell(&self, has_no_processor: bool) {
        self.has_no_processor
            .store(has_no_processor, Ordering::SeqCst);
        for pace in self.short() {
            match has_no_processor {
                true => pace.come_first(),
                false => pace.come_as_others(),
            }
        }
    }
}

/// The watching thread.
fn watch(watched: &Weak<Precedence>) {
    let own = run_delay::own_tid();
    if own_time::reserve(own, FOR_WATCHING.0, FOR_WATCHING.1).is_err() {
        return;
    }
    let mut late_at = None;
    while let Some(view) = watched.upgrade() {
        if let Some(has_no_processor) = change(view.is_late(), &mut late_at) {
            view.tell(has_no_processor);
        }
    }
}

/// What the threads are told, if anything: true where the view has no processor, false where it has had one again for some
/// time.
fn change(is_late: bool, late_at: &mut Option<Instant>) -> Option<bool> {
    if is_late {
        *late_at = Some(Instant::now());
        return Some(true);
    }
    late_at.take_if(|at| at.elapsed() > RESERVED_FOR)?;
    Some(false)
}

impl Pace {
    /// What the calling thread does from now on is short, or it is not.
    pub(crate) fn works(&self, is_short: bool) {
        self.is_short.store(is_short, Ordering::SeqCst);
        match is_short && self.of.has_no_processor.load(Ordering::SeqCst) {
            true => self.come_first(),
            false => self.come_as_others(),
        }
    }

    /// The watching thread may call this as well: what the thread itself says last holds.
    fn come_first(&self) {
        if self.is_first.load(Ordering::SeqCst)
            || own_time::reserve(self.thread, FOR_WORK.0, FOR_WORK.1).is_err()
        {
            return;
        }
        self.is_first.store(true, Ordering::SeqCst);
        if !self.is_short.load(Ordering::SeqCst) {
            self.come_as_others();
        }
    }

    /// Only what changes: the view may have been started with a policy of its own (chrt(1)).
    fn come_as_others(&self) {
        if self.is_first.swap(false, Ordering::SeqCst) {
            let _ = own_time::give_back(self.thread);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_view_that_is_late_has_no_processor_for_a_while() {
        let mut late_at = None;
        assert_eq!(change(false, &mut late_at), None);
        assert_eq!(change(true, &mut late_at), Some(true));
        assert_eq!(change(true, &mut late_at), Some(true));
        assert_eq!(change(false, &mut late_at), None);
        late_at = Instant::now().checked_sub(RESERVED_FOR * 2);
        assert!(late_at.is_some(), "the host runs longer than that");
        assert_eq!(change(false, &mut late_at), Some(false));
        assert_eq!(change(false, &mut late_at), None);
    }

    #[test]
    fn a_thread_that_waits_for_something_does_not_stand_and_one_that_runs_neither() {
        let view = Precedence::new();
        let (tell, told) = std::sync::mpsc::channel();
        let (answer, answered) = std::sync::mpsc::channel::<()>();
        let of = view.clone();
        let waiting = std::thread::spawn(move || {
            let pace = of.join();
            let _ = tell.send(());
            let _ = answered.recv();
            drop(pace);
        });
        told.recv().unwrap();
        let end = Instant::now() + Duration::from_secs(20);
        while view.stands() && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(!view.stands());
        drop(answer);
        waiting.join().unwrap();
        assert!(view.short().is_empty(), "it has ended");
    }

    #[test]
    fn only_short_work_comes_first_and_only_where_no_processor_is_free() {
        std::thread::spawn(|| {
            let view = Precedence::new();
            let pace = view.join();
            let is_first = || pace.is_first.load(Ordering::SeqCst);
            assert!(!is_first());
            view.tell(true);
            // Without the right to it all stays as it is.
            let may = is_first();
            pace.works(false);
            assert!(!is_first());
            view.tell(true);
            assert!(!is_first(), "what is long is not short because of it");
            pace.works(true);
            assert_eq!(is_first(), may);
            view.tell(false);
            assert!(!is_first());
        })
        .join()
        .unwrap();
    }
}
