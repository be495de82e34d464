//! The trees that `perf report --stdio` prints below a row with `-g`.
//!
//! A branch has its share in front of its first function; the functions below it in the same column
//! belong to it until it divides. Shares are of all samples, or of the branch above (`fractal`).
//! The tree begins at the row's own function and goes to its callers (`callee`), or begins where the
//! thread does and ends at the row's function (`caller`).

use crate::symbol;

/// Branches of one tree that are kept.
const BRANCHES_MAX: usize = 5_000;

/// Functions of one path that are kept.
const PATH_MAX: usize = 512;

/// Functions from the begin of the tree to the end of a branch, with the share of samples that go no
/// further.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Path {
    pub(super) names: Vec<String>,
    /// Of all samples, 0 to 1.
    pub(super) share: f64,
}

#[derive(Debug)]
struct Branch {
    column: usize,
    parent: Option<usize>,
    /// As printed, 0 to 1.
    share: f64,
    names: Vec<String>,
}

/// A tree that is being read, line by line.
#[derive(Debug, Default)]
pub(super) struct Tree {
    branches: Vec<Branch>,
    /// Branches that are open, outermost first.
    open: Vec<usize>,
    /// `9.05% f;g;h`.
    folded: Vec<Path>,
}

/// Whether a line is a path by itself, as `-g folded` prints them: at the begin of the line.
pub(super) fn is_folded(line: &str) -> bool {
    line.starts_with(|c: char| c.is_ascii_digit()) && line.contains(';') && folded(line).is_some()
}

impl Tree {
    /// Takes a line of it; `row` is the share of the row above.
    pub(super) fn line(&mut self, line: &str, row: f64) {
        if self.branches.len() >= BRANCHES_MAX || self.folded.len() >= BRANCHES_MAX {
            return;
        }
        if let Some(path) = folded(line.trim()) {
            self.folded.push(path);
            return;
        }
        let bare = line.trim_start_matches(['|', ' ', '\t']);
        let column = line.len() - bare.len();
        let bare = bare.trim_end();
        if bare.is_empty() {
            return;
        }
        let Some(rest) = bare.strip_prefix("--") else {
            // The branch that is open at this column, or the innermost one.
            let last = self
                .open
                .last()
                .and_then(|last| self.branches.get_mut(*last));
            if let Some(branch) = last.filter(|branch| branch.names.len() < PATH_MAX) {
                branch.names.push(symbol::alone(bare).to_owned());
            }
            return;
        };
        let (share, name) = match rest.split_once("%--") {
            Some((share, name)) => match share.trim().parse::<f64>() {
                Ok(share) if (0.0..=100.0).contains(&share) => (share / 100.0, name),
                _ => return,
            },
            None => (row, rest.trim_start_matches('-')),
        };
        while self
            .open
            .last()
            .and_then(|last| self.branches.get(*last))
            .is_some_and(|branch| branch.column >= column)
        {
            self.open.pop();
        }
        let name = symbol::alone(name);
        self.branches.push(Branch {
            column,
            parent: self.open.last().copied(),
            share,
            names: if name.is_empty() {
                Vec::new()
            } else {
                vec![name.to_owned()]
            },
        });
        self.open.push(self.branches.len() - 1);
    }

    /// The paths; `row` is the share of the row above.
    pub(super) fn paths(mut self, row: f64) -> Vec<Path> {
        if self.branches.is_empty() {
            return self.folded;
        }
        let is_relative = self.branches.iter().any(|branch| {
            let above = branch.parent.and_then(|parent| self.branches.get(parent));
            branch.share > above.map_or(row, |above| above.share) * 1.001 + 1e-4
        });
        if is_relative {
            // Parents stand in front of their branches.
            for index in 0..self.branches.len() {
                let parent = self.branches.get(index).and_then(|branch| branch.parent);
                let above = match parent {
                    Some(parent) => self.branches.get(parent).map_or(row, |one| one.share),
                    None => row,
                };
                if let Some(branch) = self.branches.get_mut(index) {
                    // A branch without a number has the row's share already.
                    let is_whole = branch.parent.is_none() && branch.share == row;
                    branch.share *= if is_whole { 1.0 } else { above };
                }
            }
        }
        let mut left: Vec<f64> = self.branches.iter().map(|branch| branch.share).collect();
        for branch in &self.branches {
            if let Some(left) = branch.parent.and_then(|parent| left.get_mut(parent)) {
                *left -= branch.share;
            }
        }
        (0..self.branches.len())
            .filter_map(|index| {
                let share = left.get(index).copied().unwrap_or(0.0);
                // Rounding leaves crumbs.
                (share > 1e-4).then(|| Path {
                    names: self.names(index),
                    share,
                })
            })
            .collect()
    }

    fn names(&self, index: usize) -> Vec<String> {
        let mut chain = Vec::new();
        let mut next = Some(index);
        while let Some(branch) = next.and_then(|index| self.branches.get(index)) {
            chain.push(branch);
            next = branch.parent;
        }
        let names = chain.iter().rev().flat_map(|branch| branch.names.iter());
        names.take(PATH_MAX).cloned().collect()
    }
}

/// `9.05% f;g;h`.
fn folded(text: &str) -> Option<Path> {
    let (share, names) = text.split_once("% ")?;
    if !names.contains(';') && !share.contains('.') {
        return None;
    }
    let share: f64 = share.parse().ok()?;
    let names: Vec<String> = names.split(';').take(PATH_MAX).map(str::to_owned).collect();
    ((0.0..=100.0).contains(&share)
        && names
            .iter()
            .all(|name| !name.is_empty() && !name.contains("  ")))
    .then(|| Path {
        names,
        share: share / 100.0,
    })
}

/// The stacks of the row's own samples, innermost first: those that are known to end in its function.
/// `own` is its share without callees, `all` the one with them.
pub(super) fn stacks(symbol: &str, paths: Vec<Path>, own: f64, all: f64) -> Vec<Path> {
    let plain = |name: &str| -> String {
        match name.strip_prefix("0x") {
            Some(digits) => format!("0x{}", digits.trim_start_matches('0')),
            None => name.to_owned(),
        }
    };
    let symbol = plain(symbol);
    let is = |name: Option<&String>| name.is_some_and(|name| plain(name) == symbol);
    // From where the thread begins down to the function: its own samples and no others.
    let mut down: Vec<Path> = paths
        .iter()
        .filter(|path| is(path.names.last()) && !is(path.names.first()))
        .cloned()
        .collect();
    if !down.is_empty() {
        for path in &mut down {
            path.names.reverse();
        }
        return scaled(down, own);
    }
    // From the function up to its callers; with callees, as many of its own as of all.
    let mut up: Vec<Path> = paths
        .into_iter()
        .filter(|path| is(path.names.first()))
        .collect();
    // A tree of callees begins at the function too, where the row has more than its own samples.
    let is_tree_of_callees = all > own * 1.001 && own <= 0.0;
    if is_tree_of_callees {
        return Vec::new();
    }
    if all > 0.0 {
        for path in &mut up {
            path.share *= own / all;
        }
    }
    scaled(up, own)
}

/// No more samples than the row has.
fn scaled(mut paths: Vec<Path>, own: f64) -> Vec<Path> {
    let sum: f64 = paths.iter().map(|path| path.share).sum();
    if sum > own && sum > 0.0 {
        for path in &mut paths {
            path.share *= own / sum;
        }
    }
    paths
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(text: &str, row: f64) -> Vec<Path> {
        let mut tree = Tree::default();
        for line in text.lines() {
            tree.line(line, row);
        }
        tree.paths(row)
    }

    fn summary(paths: &[Path]) -> Vec<(String, u32)> {
        let summary = |path: &Path| (path.names.join(";"), (path.share * 10_000.0).round() as u32);
        paths.iter().map(summary).collect()
    }

    #[test]
    fn callers_of_a_function() {
        let text = "            |\n            ---read_field\n               read_all\n               |          \n               |--9.05%--get_by_pos\n               |          get\n               |          \n                --5.71%--get\n                          start_thread\n";
        let paths = tree(text, 0.1476);
        let expected = [
            ("read_field;read_all;get_by_pos;get".to_owned(), 905),
            ("read_field;read_all;get;start_thread".to_owned(), 571),
        ];
        assert_eq!(summary(&paths), expected);
        assert_eq!(
            summary(&stacks("read_field", paths, 0.1476, 0.1476)),
            expected
        );
    }

    #[test]
    fn from_the_thread_down_beside_the_callees() {
        let text = "            |          \n            |--32.38%--compare\n            |          |          \n            |           --19.52%--plus\n            |          \n             --7.62%--start_thread\n                       run\n                       |          \n                       |--6.67%--eq\n                       |          compare\n                       |          \n                        --0.95%--compare\n";
        let paths = tree(text, 0.4);
        assert_eq!(paths.len(), 4);
        assert_eq!(
            summary(&stacks("compare", paths, 0.0762, 0.4)),
            [
                ("compare;eq;run;start_thread".to_owned(), 667),
                ("compare;run;start_thread".to_owned(), 95)
            ]
        );
    }

    #[test]
    fn shares_of_the_branch_above() {
        let text = "            |\n            --- compaction_alloc\n               |\n               |--90.00%-- compact_zone\n               |          |\n               |          |--50.00%-- a\n               |           --50.00%-- b\n                --10.00%-- c\n";
        let paths = tree(text, 0.5);
        assert_eq!(
            summary(&paths),
            [
                ("compaction_alloc;compact_zone;a".to_owned(), 2250),
                ("compaction_alloc;compact_zone;b".to_owned(), 2250),
                ("compaction_alloc;c".to_owned(), 500)
            ]
        );
    }

    #[test]
    fn a_path_a_line() {
        let paths = tree("9.05% f;g;start_thread\n5.71% f;start_thread\n", 0.1476);
        assert_eq!(paths.len(), 2);
        assert_eq!(paths[1].names, ["f", "start_thread"]);
    }

    #[test]
    fn a_thread_root_has_no_samples_of_its_own() {
        let paths = tree(
            "            |\n            ---start_thread\n               run\n",
            1.0,
        );
        assert!(stacks("start_thread", paths, 0.0, 1.0).is_empty());
    }
}
