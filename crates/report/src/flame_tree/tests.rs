//! What the tree keeps, leaves out and counts.

use model::{ProfileCount, StackEnd};

use super::*;

fn frame(name: &str, side: FrameSide) -> StackFrame {
    StackFrame {
        name: name.to_owned(),
        image: "mysqld".to_owned(),
        side,
        nameless: None,
    }
}

/// A profile of stacks written innermost first; those that begin with `k:` are the kernel's.
fn profile(book: &mut StackTable, hz: u32, stacks: &[(&str, StackEnd, u64)]) -> Profile {
    let counts = stacks
        .iter()
        .map(|(names, end, count)| {
            let frames = names.split(' ').map(|name| match name.strip_prefix("k:") {
                Some(name) => frame(name, FrameSide::Kernel),
                None => frame(name, FrameSide::User),
            });
            ProfileCount {
                stack: book.intern(frames, *end),
                thread: "connection".to_owned(),
                server: true,
                count: *count,
            }
        })
        .collect();
    Profile {
        from: 0,
        to: 10_000,
        hz,
        processors: 2,
        counts,
        lost: 0,
    }
}

/// The tree as lines: depth in blanks, name, values.
fn lines(tree: &FlameTree) -> Vec<String> {
    let mut depths = vec![0usize; tree.nodes.len()];
    tree.nodes
        .iter()
        .enumerate()
        .map(|(index, node)| {
            depths[index] = if index == 0 {
                0
            } else {
                depths[node.parent] + 1
            };
            let name = &tree.frames[node.frame].name;
            let [a, b] = node.value;
            format!("{}{name} {a} {b}", " ".repeat(depths[index]))
        })
        .collect()
}

#[test]
fn two_books_make_one_tree_heaviest_first() {
    let (mut first, mut second) = (StackTable::default(), StackTable::default());
    first.intern([frame("shift", FrameSide::User)], StackEnd::Complete);
    let before = profile(&mut first, 99, &[("read main", StackEnd::Complete, 4)]);
    let stall = profile(
        &mut second,
        99,
        &[
            ("read main", StackEnd::Complete, 1),
            ("k:futex write main", StackEnd::Complete, 5),
            ("write main", StackEnd::Complete, 2),
            ("odd", StackEnd::TooDeep, 1),
        ],
    );
    let tree = FlameTree::from_profiles((&[&before], &first), (&[&stall], &second)).pruned(100);
    assert_eq!(
        lines(&tree),
        [
            "all 4 9",
            " connection 4 9",
            "  main 4 8",
            "   write 0 7",
            "    futex 0 5",
            "   read 4 1",
            "  (callers unknown) 0 1",
            "   odd 0 1",
        ]
    );
    assert_eq!(tree.halves[1].taken, 9);
    assert_eq!(tree.halves[1].processors_per_sample(), Some(1.0 / 990.0));
}

#[test]
fn the_lightest_are_put_together_within_the_limit() {
    let mut book = StackTable::default();
    let names: Vec<String> = (0..500)
        .map(|leaf| format!("leaf{leaf} work main"))
        .collect();
    let mut stacks: Vec<(&str, StackEnd, u64)> = names
        .iter()
        .map(|names| (names.as_str(), StackEnd::Complete, 1))
        .collect();
    stacks.push(("hot work main", StackEnd::Complete, 900));
    let stall = profile(&mut book, 99, &stacks);
    let whole = FlameTree::from_profiles((&[], &book), (&[&stall], &book));
    assert_eq!(whole.pruned(1_000).nodes.len(), 505);
    let small = whole.pruned(50);
    assert!(small.nodes.len() <= 50);
    assert_eq!(small.folded, 500);
    assert_eq!(
        lines(&small),
        [
            "all 0 1400",
            " connection 0 1400",
            "  main 0 1400",
            "   work 0 1400",
            "    hot 0 900",
            "    (500 more) 0 500",
        ]
    );
    assert!(whole.pruned(0).nodes.len() <= 2);
    assert_eq!(FlameTree::default().pruned(10).nodes.len(), 0);
}

#[test]
fn a_recursive_function_counts_once_in_its_total() {
    let mut book = StackTable::default();
    let stall = profile(&mut book, 99, &[("f g f main", StackEnd::Complete, 3)]);
    let tree = FlameTree::from_profiles((&[], &book), (&[&stall], &book));
    let sum = |name: &str| {
        let found = tree.sums().into_iter();
        found
            .map(|sum| {
                (
                    tree.frames[sum.frame].name.clone(),
                    sum.own[1],
                    sum.total[1],
                )
            })
            .find(|(found, ..)| found == name)
    };
    assert_eq!(sum("f"), Some(("f".to_owned(), 3, 3)));
    assert_eq!(sum("main"), Some(("main".to_owned(), 0, 3)));
    assert_eq!(sum("connection"), None);
}

#[test]
fn the_server_and_what_runs_beside_it_are_two_trees() {
    let mut book = StackTable::default();
    let mut stall = profile(
        &mut book,
        99,
        &[
            ("spin main", StackEnd::Complete, 3),
            ("spin cc1", StackEnd::Complete, 90),
        ],
    );
    stall.counts[1].server = false;
    stall.counts[1].thread = "compiler".to_owned();
    let tree = |whose| FlameTree::of_whose(whose, (&[], &book), (&[&stall], &book));
    let server = tree(Whose::Server);
    assert_eq!((server.halves[1].samples, server.halves[1].taken), (3, 3));
    assert_eq!(lines(&server.pruned(100))[1], " connection 0 3");
    let others = tree(Whose::Others);
    assert_eq!(others.halves[1].samples, 90);
    let threads = others.threads();
    let name = |sum: &FrameSums| others.frames[sum.frame].name.clone();
    assert_eq!(
        (threads.len(), name(&threads[0])),
        (1, "compiler".to_owned())
    );
    assert_eq!(tree(Whose::Everybody).threads().len(), 2);
}

#[test]
fn samples_of_different_rates_are_brought_to_the_densest() {
    let mut book = StackTable::default();
    let calm = profile(&mut book, 49, &[("main", StackEnd::Complete, 49)]);
    let burst = profile(&mut book, 98, &[("main", StackEnd::Complete, 98)]);
    let odd = profile(&mut book, 0, &[("main", StackEnd::Complete, u64::MAX)]);
    let tree = FlameTree::from_profiles((&[], &book), (&[&calm, &burst], &book));
    assert_eq!(tree.halves[1].samples, 196);
    assert_eq!(tree.halves[1].taken, 147);
    assert_eq!((tree.halves[1].hz_least, tree.halves[1].hz), (49, 98));
    let tree = FlameTree::from_profiles((&[&odd, &odd], &book), (&[&odd], &book));
    assert_eq!(tree.halves[0].samples, u64::MAX);
    assert_eq!(tree.halves[0].processors_per_sample(), None);
}
