//! The flame graph: its data for the script, and the same in numbers.

use crate::markup::{Markup, markup, row};
use model::OrderBy;
use std::{cmp::Reverse, ops::Range};

use serde::Serialize;

use super::table::{CellKind, Table, cell, column};
use crate::{
    escape, flame_part,
    flame_tree::{FlameSide, FlameTree, FrameSums, Kind, Part, TreeFrame},
    units,
};

/// Bytes of one name in the graph's data at the most; the tables cut for themselves.
const NAME_BYTES_MAX: usize = 400;

/// Threads that are listed.
const THREADS_MAX: usize = 12;

/// How much of a graph a page carries.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Nodes.
    pub(super) nodes_max: usize,
    /// Bytes of data. Nodes are put together until it fits.
    pub(super) bytes_max: usize,
    /// Pairs of a node and its samples in a profile. Profiles are put together until it fits.
    pairs_max: usize,
}

impl Limits {
    /// On a page with much else on it.
    pub(super) const SECTION: Self = Self {
        nodes_max: 15_000,
        bytes_max: 700_000,
        pairs_max: 20_000,
    };
    /// Beside another one.
    pub(super) const SECOND_SECTION: Self = Self {
        nodes_max: 5_000,
        bytes_max: 200_000,
        pairs_max: 5_000,
    };
    /// On a page of its own.
    pub(super) const PAGE: Self = Self {
        nodes_max: 100_000,
        bytes_max: 6_000_000,
        pairs_max: 0,
    };
}

/// What a graph shows.
#[derive(Debug, Clone, Copy)]
pub(super) struct Graph<'a> {
    /// The whole tree.
    pub(super) tree: &'a FlameTree,
    /// Words for its two halves in running text ("before", "in the stall"); a graph of the second
    /// half alone has one.
    pub(super) names: &'a [&'a str],
    /// What the graph is of, for those who do not see it.
    pub(super) label: &'a str,
    /// How much of it.
    pub(super) limits: Limits,
    /// Whether the page has the script that draws it.
    pub(super) script: bool,
}

/// The data as `flame.js` reads it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Data<'a> {
    label: &'a str,
    names: &'a [&'a str],
    /// Samples.
    totals: Vec<u64>,
    /// Processors that a sample stands for.
    per_sample: Vec<Option<f64>>,
    /// Name, image, kind.
    frames: Vec<(String, String, u8)>,
    /// How many nodes back each node's caller is.
    up: Vec<usize>,
    /// Frame of each node.
    frame: Vec<usize>,
    /// Samples of each node.
    values: Vec<Vec<u64>>,
    /// The same by time, see [`Part::numbers`]; nothing where there is no time to choose.
    parts: Vec<Vec<u64>>,
}

impl Graph<'_> {
    fn compares(&self) -> bool {
        self.names.len() == 2
    }

    /// The halves that are shown.
    fn sides(&self) -> &'static [usize] {
        if self.compares() { &[0, 1] } else { &[1] }
    }

    /// The graph. The functions in numbers belong below it.
    pub(super) fn figure(&self) -> Markup {
        if !self.script {
            return Markup::literal(
                "<p class=\"none\">This page was written without its scripts, so it has no \
                    flame graph; the tables have the functions in numbers.</p>",
            );
        }
        let (data, folded) = self.data();
        let bound = match folded {
            0 => Markup::new(),
            _ => markup!(
                " <b>{} rare frames are put together as “(n more)”</b>, so that the page stays small.",
                units::grouped(folded)
            ),
        };
        markup!(
            "<figure class=\"flame\"><figcaption><p>Each box is a function and hangs from the one that called it; \
             its width is its share of the samples. Click a box to zoom.{bound}</p></figcaption>\n\
             <noscript><p class=\"none\">The graph is drawn by a script; the table below has the functions in numbers.</p></noscript>\n\
             <div class=\"flame-view\"></div>\n\
             <script type=\"application/json\">{data}</script></figure>\n",
            ..bound,
            ..data
        )
    }

    /// The data, and how many nodes were put together.
    fn data(&self) -> (Markup, usize) {
        let mut nodes_max = self.limits.nodes_max;
        loop {
            let tree = self.tree.pruned(nodes_max);
            let data = self.data_of(&tree);
            if data.len() <= self.limits.bytes_max || nodes_max <= 2 {
                return (data, tree.folded);
            }
            nodes_max /= 2;
        }
    }

    /// The samples of the last side by time.
    fn parts(&self, tree: &FlameTree) -> Vec<Vec<u64>> {
        let last = tree.parts.iter().filter(|part| part.side == 1).cloned();
        let parts = flame_part::fitted(last.collect(), self.limits.pairs_max);
        match parts.len() {
            0 | 1 => Vec::new(),
            _ => parts.iter().map(Part::numbers).collect(),
        }
    }

    fn data_of(&self, tree: &FlameTree) -> Markup {
        let sides = self.sides();
        let data = Data {
            label: self.label,
            names: self.names,
            totals: sides
                .iter()
                .map(|side| tree.halves[*side].samples)
                .collect(),
            per_sample: sides
                .iter()
                .map(|side| tree.halves[*side].processors_per_sample())
                .collect(),
            frames: tree.frames.iter().map(frame).collect(),
            up: tree
                .nodes
                .iter()
                .enumerate()
                .map(|(index, node)| index - node.parent)
                .collect(),
            frame: tree.nodes.iter().map(|node| node.frame).collect(),
            values: sides
                .iter()
                .map(|side| tree.nodes.iter().map(|node| node.value[*side]).collect())
                .collect(),
            parts: self.parts(tree),
        };
        Markup::json(&data)
    }
}

fn frame(frame: &TreeFrame) -> (String, String, u8) {
    let kind = match frame.kind {
        Kind::User => 0,
        Kind::Kernel => 1,
        Kind::Server => 2,
        Kind::Other => 3,
        Kind::Folded => 4,
        Kind::Cut => 5,
        Kind::All => 6,
    };
    let name = escape::plain_cut(&frame.name, NAME_BYTES_MAX);
    let image = escape::plain_cut(&frame.image, NAME_BYTES_MAX);
    let image = match frame.nameless {
        Some(why) => format!("{image}: {}", why.to_text()),
        None => image,
    };
    (name, image, kind)
}

/// The functions of a tree in numbers, as a table: by the samples with them innermost; of two halves by the change of
/// their share.
pub(super) fn functions(tree: &FlameTree, names: &[&str], rows: Range<usize>) -> Markup {
    let mut sums = tree.sums();
    let shares = |value: [u64; 2]| [0, 1].map(|side| share(value[side], &tree.halves[side]));
    let change = |value: [u64; 2]| shares(value)[1] - shares(value)[0];
    let name = |sum: &FrameSums| tree.frames[sum.frame].name.as_str();
    let compares = names.len() == 2;
    sums.order_by(|a, b| {
        let by = match compares {
            true => {
                let order = |value: fn(&FrameSums) -> [u64; 2]| {
                    change(value(b)).abs().total_cmp(&change(value(a)).abs())
                };
                order(|sum| sum.own).then_with(|| order(|sum| sum.total))
            }
            false => Reverse(a.own[1]).cmp(&Reverse(b.own[1])),
        };
        by.then_with(|| b.total[1].cmp(&a.total[1]))
            .then_with(|| name(a).cmp(name(b)))
    });
    let shown = sums
        .get(rows.start..rows.end.min(sums.len()))
        .unwrap_or_default();
    if shown.is_empty() {
        return Markup::new();
    }
    let first = |sum: &FrameSums| {
        let frame = &tree.frames[sum.frame];
        let side = if frame.kind == Kind::Kernel {
            "kernel"
        } else {
            "user"
        };
        let image = cell(&frame.image);
        let why = frame.nameless.map_or("", |why| why.to_text());
        (
            markup!(
                "<i class=\"flame-{side}\" title=\"{side}\"></i>{}",
                cell(&frame.name),
                ..side
            ),
            match why {
                "" => image,
                _ => markup!("{image} <small>{why}</small>", ..image, ..why),
            },
        )
    };
    let numbers = CellKind::Numbers;
    if !compares {
        let columns = [
            column("Function", CellKind::Code),
            column("Itself", numbers),
            column("With what it called", numbers),
            column("Samples", numbers),
            column("Image", CellKind::Text),
        ];
        let rows = shown.iter().map(|sum| {
            let (name, image) = first(sum);
            let [own, total] = [sum.own, sum.total].map(|value| percent(shares(value)[1]));
            row![name, own, total, units::grouped(sum.own[1]), image]
        });
        return Table::wide("", &columns).rows(rows, usize::MAX);
    }
    let titled = |what: &str, side: usize| column(format!("{what}, {}", names[side]), numbers);
    let columns = [
        column("Function", CellKind::Code),
        column("Change, points", numbers),
        titled("Itself", 0),
        titled("Itself", 1),
        titled("With callees", 0),
        titled("With callees", 1),
        column("Image", CellKind::Text),
    ];
    let rows = shown.iter().map(|sum| {
        let (name, image) = first(sum);
        let [own, total] = [sum.own, sum.total].map(|value| shares(value).map(percent));
        let change = points(change(sum.own));
        row![name, change, own[0], own[1], total[0], total[1], image]
    });
    Table::wide("", &columns).rows(rows, usize::MAX)
}

/// The threads of a tree by name, as a table: processors that they had, most first.
pub(super) fn threads(tree: &FlameTree, names: &[&str]) -> Markup {
    let sides = if names.len() == 2 { 0..2 } else { 1..2 };
    let mut threads = tree.threads();
    threads.order_by_key(|thread| Reverse((thread.total[1], thread.total[0])));
    let mut columns = vec![column("Thread", CellKind::Code)];
    let titles = names.iter().map(|name| format!("CPUs, {name}"));
    columns.extend(titles.map(|title| column(title, CellKind::Numbers)));
    let rows = threads.iter().take(THREADS_MAX).map(|thread| {
        let mut row = row![tree.frames[thread.frame].name];
        row.extend(sides.clone().map(|side| {
            let each = tree.halves[side].processors_per_sample();
            let said = each.map_or_else(
                || units::grouped(thread.total[side]),
                |each| units::digits(each * thread.total[side] as f64),
            );
            cell(&said)
        }));
        row
    });
    Table::wide("", &columns).rows(rows, usize::MAX)
}

fn share(value: u64, half: &FlameSide) -> f64 {
    if half.samples == 0 {
        0.0
    } else {
        value as f64 / half.samples as f64
    }
}

/// A share in percent. The script writes the same digits.
fn percent(share: f64) -> String {
    format!("{:.*}%", decimals(share), share * 100.0)
}

/// So that there are three digits.
fn decimals(share: f64) -> usize {
    match share.abs() < 0.0995 {
        true => 2,
        false => 1,
    }
}

/// A change of a share in points of a percent.
fn points(change: f64) -> String {
    if change == 0.0 {
        return "0".to_owned();
    }
    let sign = if change < 0.0 { "−" } else { "+" };
    format!("{sign}{:.*}", decimals(change), change.abs() * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_three_digits() {
        for (share, text) in [
            (0.0, "0.00%"),
            (0.0476, "4.76%"),
            (0.1049, "10.5%"),
            (1.0, "100.0%"),
        ] {
            assert_eq!(percent(share), text);
        }
        assert_eq!([points(-0.6612), points(0.0062)], ["−66.1", "+0.62"]);
    }
}
