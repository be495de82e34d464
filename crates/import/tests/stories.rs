//! Stories that nothing is learnt from: two of each cause in ten languages, by authors who knew what each cause is and
//! not how the program finds it. They say what somebody gets who writes a ticket in another language than English, so
//! that a change of the words that are looked for is judged by texts that it was not made with.
//!
//! `crates/likeness/texts` has those that are learnt from. None of these may move there.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use crate::common::findings;

/// With this variable all are looked at, which takes minutes; else one of so many.
const ALL: &str = "FREEZEFRAME_ACCURACY";
/// Odd, so that both stories of a cause have their turn: the first is by somebody who knows little.
const ONE_OF: usize = 15;

/// Shares of all that must hold, below what was measured: one change may cost a few.
const RANK_1_MIN: f64 = 0.7;
const SILENT_MAX: f64 = 0.1;

#[derive(Default)]
struct Count {
    all: usize,
    first: usize,
    among_three: usize,
    silent: usize,
}

#[test]
fn what_is_told_in_other_languages_is_understood() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stories");
    let mut files: Vec<_> = std::fs::read_dir(dir).unwrap().flatten().collect();
    files.sort_by_key(std::fs::DirEntry::file_name);
    assert_eq!(files.len(), 10);
    let step = match std::env::var_os(ALL) {
        Some(_) => 1,
        None => ONE_OF,
    };
    let mut sum = Count::default();
    println!("language: stories, the cause first, among three, nothing found");
    for file in files {
        let text = format!("\n{}", std::fs::read_to_string(file.path()).unwrap());
        let mut count = Count::default();
        let stories = text.split("\n% ").filter_map(|part| part.split_once('\n'));
        for (cause, story) in stories.step_by(step) {
            let found = findings(story.as_bytes());
            let mut three = found.iter().take(3);
            count.all += 1;
            count.first += usize::from(found.first().is_some_and(|one| one.cause == cause));
            count.among_three += usize::from(three.any(|one| one.cause == cause));
            count.silent += usize::from(found.is_empty());
        }
        let name = file.file_name().into_string().unwrap();
        let Count {
            all,
            first,
            among_three,
            silent,
        } = count;
        assert!(all >= 90 / step, "{name}");
        println!("{name}: {all}, {first}, {among_three}, {silent}");
        sum.all += all;
        sum.first += first;
        sum.among_three += among_three;
        sum.silent += silent;
    }
    let share = |count: usize| count as f64 / sum.all as f64;
    println!(
        "all: {}, {:.0} % first, {:.0} % among three, {:.0} % silent",
        sum.all,
        100.0 * share(sum.first),
        100.0 * share(sum.among_three),
        100.0 * share(sum.silent)
    );
    assert!(share(sum.first) >= RANK_1_MIN && share(sum.silent) <= SILENT_MAX);
}
