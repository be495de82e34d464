//! The limit on this process's memory, in a process that may end.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failing step fails the test"
)]

use std::process::Command;

use kernel::heap;

#[global_allocator]
static HEAP: heap::Counted = heap::Counted;

/// Tells the test below that it is the one that may end.
const IS_CHILD: &str = "FREEZEFRAME_HEAP_TEST";

#[test]
fn over_the_limit_a_process_ends_with_one_line() {
    if let Ok(how) = std::env::var(IS_CHILD) {
        heap::limit(128 << 20);
        heap::now_reading("a file");
        let bytes = match how.as_str() {
            "large" => vec![vec![1_u8; 200 << 20]],
            "small" => (0..200 << 10).map(|_| vec![1_u8; 1 << 10]).collect(),
            _ => {
                // As much, but never at once.
                (0..400).for_each(|_| drop(vec![1_u8; 1 << 20]));
                assert!(heap::in_use_percent() < 50);
                heap::limit(0);
                vec![vec![1_u8; 200 << 20]]
            }
        };
        println!("{}", bytes.len());
        return;
    }
    for (how, is_over) in [("large", true), ("small", true), ("within", false)] {
        let ran = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "over_the_limit_a_process_ends_with_one_line"])
            .env(IS_CHILD, how)
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&ran.stderr);
        assert_eq!(
            ran.status.code(),
            Some(i32::from(is_over)),
            "{how}: {errors}"
        );
        let line = "freezeframe: a file: reading it takes more than 128 MiB of memory, which is the limit; \
                    use a smaller part\n";
        let expected = if is_over { line } else { "" };
        assert_eq!(errors, expected, "{how}");
    }
}
