//! Function names by patterns, and paths through a stack.

use model::matches_pattern;

/// Whether one of the patterns, written with `|` between them, matches; `*` is any run.
pub(super) fn matches_any(patterns: &str, name: &str) -> bool {
    patterns
        .split('|')
        .any(|pattern| matches_pattern(pattern, name))
}

/// Whether the frames go through `path` in its order, innermost first: the first element is the
/// first frame, each other one is further out, with anything between. `*` as the first element
/// leaves the first frame open.
pub(super) fn goes_through<S: AsRef<str>>(path: &[&str], frames: &[S]) -> bool {
    let mut path = path.iter();
    let Some(first) = path.next() else {
        return false;
    };
    let mut frames = frames.iter().map(AsRef::as_ref);
    match frames.next() {
        Some(frame) if matches_any(first, frame) => {}
        _ => return false,
    }
    path.all(|next| frames.any(|frame| matches_any(next, frame)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_an_anchored_subsequence() {
        let frames = ["a", "b", "c", "d"];
        for (path, expected) in [
            (&["a"][..], true),
            (&["b"], false),
            (&["a", "c"], true),
            (&["a", "d", "c"], false),
            (&["*", "d"], true),
            (&["x|a", "b|y"], true),
            (&[], false),
            (&["a", "a"], false),
        ] {
            assert_eq!(goes_through(path, &frames), expected, "{path:?}");
        }
        assert!(!goes_through(&["*"], &[] as &[&str]));
    }
}
