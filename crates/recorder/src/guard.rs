//! Panics in a reader: a bug of ours, which costs that reading and not the recording.

use std::cell::{Cell, RefCell};
use std::panic::AssertUnwindSafe;

thread_local! {
    static GUARDED: Cell<bool> = const { Cell::new(false) };
    static PLACE: RefCell<String> = const { RefCell::new(String::new()) };
}

/// For a panic hook: takes note of where a panic is that is caught here. Whether it is; then it becomes the reason of
/// an absence, which is told once, and nothing is to be printed for it.
pub fn note_panic(place: &str) -> bool {
    let guarded = GUARDED.get();
    if guarded {
        PLACE.with_borrow_mut(|known| place.clone_into(known));
    }
    guarded
}

/// What `read` gives, or where it panicked.
pub(crate) fn guarded<T>(read: impl FnOnce() -> T) -> Result<T, String> {
    GUARDED.set(true);
    let result = std::panic::catch_unwind(AssertUnwindSafe(read));
    GUARDED.set(false);
    result.map_err(|_| PLACE.take())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_caught_with_its_place() {
        std::panic::set_hook(Box::new(|panic| {
            let place = panic.location().map(ToString::to_string);
            if !note_panic(&place.unwrap_or_default()) {
                eprintln!("{panic}");
            }
        }));
        assert_eq!(guarded(|| 7), Ok(7));
        let empty: &[u8] = &[];
        let place = guarded(|| empty[std::hint::black_box(3)]).unwrap_err();
        assert!(place.contains("guard.rs:"), "{place}");
        assert!(!note_panic("elsewhere"), "outside nothing is caught");
    }
}
