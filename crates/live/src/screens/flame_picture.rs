//! The flame graph as a picture: the root on top, a line for each depth, the width of a box its share of the samples.
//!
//! A box is orange where it takes more than before and blue where it takes less, and says by how many points, so that
//! nothing is told by a colour alone. A box of no column is not drawn; what went away has none, so that two lines below
//! name the functions that changed most.

use std::sync::Arc;

use report::evidence::flame::{Flame, FlameNode, flame};
use report::format;

use super::flame::{head, stacks_with, table};
use super::samples::{Samples, samples};
use super::view::{Body, View};
use crate::derived::Part;
use crate::ink::{Ink, Line, cut, width};
use crate::state::FlameOf;

/// Frames of the tree: more than a terminal can show.
const NODES_MAX: usize = 4_000;

/// A change of a share from here on is a change.
const CHANGE: f64 = 0.01;

/// A box with less room than this has its name without its change.
const ROOM_FOR_CHANGE: usize = 14;

/// Lines that are not the picture's: head, callers, the chosen frame, what changed.
const OTHERS: usize = 5;

/// Functions that are named below.
const NAMED_MAX: usize = 3;

/// The chosen frame.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Chosen {
    /// The names from the root to it; empty where there is nothing.
    pub path: Vec<String>,
    /// It, and its numbers.
    pub words: String,
    /// The stacks that end in it.
    pub detail: Vec<String>,
}

/// A frame that is drawn, and its columns.
struct Placed {
    node: usize,
    from: usize,
    to: usize,
}

/// The tree of a moment's samples, and the functions whose own share changed most, up and down, in words.
struct Tree {
    flame: Flame,
    changed: [String; 2],
}

fn tree(view: &View<'_>, samples: &Samples) -> Arc<Tree> {
    let make = || {
        let book = &view.stacks().table;
        let before: Vec<_> = samples.before.iter().collect();
        let flame = flame(&before, &[&samples.now], book, NODES_MAX);
        let changed = in_words_changed(&flame);
        Tree { flame, changed }
    };
    let key = (view.state.flame.of, view.at);
    view.model.derived.of(Part::Flame, key, make)
}

/// The tree, and what of it is drawn.
struct Picture {
    tree: Arc<Tree>,
    /// The frame that fills it.
    root: usize,
    placed: Vec<Placed>,
}

impl Picture {
    fn from_samples(view: &View<'_>, samples: &Samples) -> Self {
        let tree = tree(view, samples);
        let root = tree.flame.find(&view.state.flame.zoom);
        let placed = placed(&tree.flame, root, view.columns);
        Self { tree, root, placed }
    }

    fn flame(&self) -> &Flame {
        &self.tree.flame
    }

    fn node(&self, placed: &Placed) -> Option<&FlameNode> {
        self.flame().nodes.get(placed.node)
    }

    /// Which of the drawn ones is chosen.
    fn chosen(&self, view: &View<'_>) -> Option<&Placed> {
        let last = self.placed.len().saturating_sub(1);
        self.placed.get(view.state.wanted().chosen.min(last))
    }
}

/// Every frame below one that has a column, callers first.
fn placed(flame: &Flame, root: usize, columns: usize) -> Vec<Placed> {
    let Some(whole) = flame.nodes.get(root).filter(|node| node.now > 0.0) else {
        return Vec::new();
    };
    let column = |share: f64| {
        let column = (share - whole.begin) / whole.now * columns as f64;
        // Sums of shares are not exact, and the last box ends at the border.
        ((column + 1e-6).max(0.0) as usize).min(columns)
    };
    let all = flame.subtree(root).filter_map(|node| {
        let own = flame.nodes.get(node)?;
        let (from, to) = (column(own.begin), column(own.begin + own.now));
        (to > from).then_some(Placed { node, from, to })
    });
    all.collect()
}

/// The screen.
pub fn body(view: &View<'_>) -> Body {
    let Some(samples) = samples(view) else {
        // It says why there are none.
        return table(view);
    };
    let picture = Picture::from_samples(view, &samples);
    let has_before = samples.before.is_some();
    let mut lines = vec![
        head(view, &samples, "", "t table"),
        callers(view, &picture, &samples),
    ];
    let room = view.lines.saturating_sub(OTHERS).max(1);
    lines.extend(drawn(view, &picture, has_before, room));
    lines.resize(room + 2, Line::default());
    if let Some(node) = picture.chosen(view).and_then(|chosen| picture.node(chosen)) {
        let words = Line::plain(&in_words(node, has_before)).text();
        lines.push(Line::colored(Ink::Strong, &cut(&words, view.columns)));
    }
    if has_before {
        lines.extend(changed(view, &picture.tree.changed));
    }
    Body {
        head: lines,
        boxes: picture.placed.len(),
        ..Body::default()
    }
}

/// What is chosen.
pub fn chosen(view: &View<'_>) -> Chosen {
    let Some(samples) = samples(view) else {
        return Chosen::default();
    };
    let picture = Picture::from_samples(view, &samples);
    let Some(placed) = picture.chosen(view) else {
        return Chosen::default();
    };
    let Some(node) = picture.node(placed) else {
        return Chosen::default();
    };
    Chosen {
        path: picture.flame().path(placed.node),
        words: in_words(node, samples.before.is_some()),
        detail: stacks_with(view, &samples.now, &node.name),
    }
}

/// How much of it there is, or the callers of the frame that fills the picture, the nearest on the right.
fn callers(view: &View<'_>, picture: &Picture, samples: &Samples) -> Line {
    let path = picture.flame().path(picture.root);
    if path.is_empty() {
        let told = |side: Option<f64>| side.map_or_else(|| "–".to_owned(), format::count);
        let (what, now, before) = match (samples.waiting, picture.flame().busy) {
            (Some([now, before]), _) => ("threads waiting", now, before),
            (None, [before, now]) => ("CPUs busy", now, before),
        };
        let text = format!(
            "{what}: {}, before: {}; Down chooses, Enter zooms, Backspace goes back",
            told(now),
            told(before)
        );
        return Line::colored(Ink::Dim, &cut(&text, view.columns));
    }
    let text = Line::plain(&format!("all > {}", path.join(" > "))).text();
    let mut text = text.as_str();
    let is_cut = width(text) > view.columns;
    while width(text) + usize::from(is_cut) > view.columns {
        let mut letters = text.chars();
        letters.next();
        text = letters.as_str();
    }
    Line::colored(Ink::Dim, if is_cut { "~" } else { "" }).add(Ink::Dim, text)
}

/// A line for each depth; where there are more than room, those around the chosen one.
fn drawn(view: &View<'_>, picture: &Picture, has_before: bool, room: usize) -> Vec<Line> {
    let depth = |placed: &Placed| picture.node(placed).map_or(0, |node| node.depth);
    let nodes = &picture.flame().nodes;
    let top = nodes.get(picture.root).map_or(0, |node| node.depth);
    let chosen = picture.chosen(view);
    let chosen_depth = chosen.map_or(top, depth);
    let first = top.max((chosen_depth + 1).saturating_sub(room));
    let mut lines: Vec<Line> = Vec::new();
    for level in first..first + room {
        let mut line = Line::default();
        for placed in picture
            .placed
            .iter()
            .filter(|placed| depth(placed) == level)
        {
            let Some(node) = picture.node(placed) else {
                continue;
            };
            line.pad(placed.from);
            let is_chosen = chosen.is_some_and(|chosen| chosen.node == placed.node);
            let ink = match change(node) {
                _ if is_chosen => Ink::Bar,
                _ if !has_before => Ink::Plain,
                more if more >= CHANGE => Ink::More,
                less if less <= -CHANGE => Ink::Less,
                _ => Ink::Plain,
            };
            line.push(ink, &boxed(view, node, has_before, placed.to - placed.from));
        }
        if line.width() == 0 {
            break;
        }
        lines.push(line);
    }
    lines
}

fn change(node: &FlameNode) -> f64 {
    node.now - node.before
}

/// `+12.3`: points of the share.
fn points(change: f64) -> String {
    format!("{:+.1}", change * 100.0)
}

/// A box: its border, its name as far as there is room, its change.
fn boxed(view: &View<'_>, node: &FlameNode, has_before: bool, columns: usize) -> String {
    let border = if view.state.is_ascii { "|" } else { "│" };
    let room = columns.saturating_sub(1);
    let name = Line::plain(&node.name).text();
    let is_told = has_before && change(node).abs() >= CHANGE && room >= ROOM_FOR_CHANGE;
    let text = match is_told {
        true => {
            let change = points(change(node));
            let left = room.saturating_sub(width(&change) + 1);
            format!("{} {change}", cut(&name, left))
        }
        false => cut(&name, room),
    };
    let missing = room.saturating_sub(width(&text));
    format!("{border}{text}{}", " ".repeat(missing))
}

/// A frame and its numbers.
fn in_words(node: &FlameNode, has_before: bool) -> String {
    let image = match node.image.as_str() {
        "" => String::new(),
        image => format!(" ({image})"),
    };
    let before = match has_before {
        true => format!(
            "; before {}, {}",
            format::share(node.before),
            points(change(node))
        ),
        false => "; nothing before to compare with".to_owned(),
    };
    format!(
        "{}{image}: {}, itself {}{before}",
        node.name,
        format::share(node.now),
        format::share(node.own)
    )
}

/// The functions whose own share changed most, up and down: the picture has no box of what went away.
fn changed(view: &View<'_>, [more, less]: &[String; 2]) -> [Line; 2] {
    let line = |title: &str, ink: Ink, told: &str| {
        let room = view.columns.saturating_sub(title.len());
        Line::colored(Ink::Strong, title).add(ink, &cut(&Line::plain(told).text(), room))
    };
    [
        line("MORE  ", Ink::Bad, more),
        line("LESS  ", Ink::Good, less),
    ]
}

fn in_words_changed(flame: &Flame) -> [String; 2] {
    let changes = flame.changes();
    let more = changes.iter().take_while(|(_, change)| *change >= CHANGE);
    let less = changes
        .iter()
        .rev()
        .take_while(|(_, change)| *change <= -CHANGE);
    let told = |own: Vec<&(&str, f64)>| {
        let told = own.iter().take(NAMED_MAX);
        let told: Vec<String> = told
            .map(|(name, change)| format!("{name} {}", points(*change)))
            .collect();
        match told.is_empty() {
            true => "nothing".to_owned(),
            false => told.join("  "),
        }
    };
    [told(more.collect()), told(less.collect())]
}

/// What changed on the processors, or among the threads that wait, in a line of text.
pub fn as_text(view: &View<'_>) -> Option<String> {
    let samples = samples(view)?;
    samples.before.as_ref()?;
    let tree = tree(view, &samples);
    let [more, less] = &tree.changed;
    let what = match view.state.flame.of {
        FlameOf::Processors => "CPUs, percentage points of the samples",
        FlameOf::Waiting => "threads that wait, percentage points",
    };
    Some(format!(
        "{what} against the time before: more {more}; less {less}"
    ))
}
