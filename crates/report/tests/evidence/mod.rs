//! Stacks, profiles and lock tables as text and JSON, of a loaded server and of hostile names.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod data;
mod hostile;
mod json;
mod texts;

use std::collections::HashMap;

use model::{LockTable, Profile, StackTable, ThreadSession, ThreadSnapshot};
use report::{
    TextOptions,
    evidence::{
        locks_json::LocksInput,
        locks_text::{LocksTextOptions, locks_text},
        profile_diff::{RankBy, profile_diff},
        profile_text::{ProfileTextOptions, diff_text, profile_text},
        stacks_json::StacksInput,
        stacks_text::{StacksTextOptions, stacks_text},
    },
};

fn stacks(
    snapshots: &[ThreadSnapshot],
    book: &StackTable,
    sessions: &HashMap<u32, ThreadSession>,
    width: usize,
) -> String {
    let input = StacksInput {
        pid: 4242,
        snapshots,
        book,
        sessions,
        took: None,
    };
    let options = StacksTextOptions {
        text: TextOptions {
            width,
            color: false,
        },
        ..StacksTextOptions::default()
    };
    stacks_text(&input, &options)
}

fn profile((profile, book): &(Profile, StackTable), width: usize) -> String {
    profile_text(profile, book, &profile_options(width))
}

fn profile_options(width: usize) -> ProfileTextOptions {
    ProfileTextOptions {
        text: TextOptions {
            width,
            color: false,
        },
        limit: 20,
        server_only: false,
    }
}

fn diff(a: &(Profile, StackTable), b: &(Profile, StackTable), by: RankBy, width: usize) -> String {
    let diff = profile_diff((&a.0, &a.1), (&b.0, &b.1), false, by);
    diff_text(&diff, ("calm", "stall"), &profile_options(width))
}

fn locks((table, book): &(LockTable, StackTable), width: usize) -> String {
    let input = LocksInput {
        pid: 4242,
        table,
        book,
    };
    let options = LocksTextOptions {
        text: TextOptions {
            width,
            color: false,
        },
        limit: 0,
    };
    locks_text(&input, &options)
}

/// Fails where a line is wider than the page or holds what a terminal obeys.
fn assert_fits(text: &str, width: usize) {
    assert!(text.is_empty() || text.ends_with('\n'));
    for line in text.lines() {
        let wide = line
            .chars()
            .filter(|one| ('\u{2e80}'..='\u{9fff}').contains(one));
        let columns = line.chars().count() + wide.count();
        assert!(columns <= width, "{width}: {line:?}");
        assert!(!line.chars().any(char::is_control), "{line:?}");
    }
}
