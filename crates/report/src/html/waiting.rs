//! Where threads of the server waited: the flame graph of snapshots of all threads, in the stall against the calm before.
//! A profile has only those that ran.

use model::{Incident, Millis, Profile, Window};

use super::flame::{Graph, Limits};
use crate::evidence::waiting::waiting_threads;
use crate::flame_tree::{FlameTree, Whose};
use crate::markup::{Markup, markup};

/// Seconds of a graph that can be chosen are of so many milliseconds.
const PART_MS: Millis = 2_000;

/// The graph; nothing where no thread was seen to wait. `windows` are the calm and the stall, `moments` when snapshots
/// were taken.
pub(super) fn figure(
    incident: &Incident,
    moments: &[Millis],
    windows: [Window; 2],
    script: bool,
) -> Markup {
    let [before, stall] =
        windows.map(|window| waiting_threads(&incident.stacks.runs, moments, window, PART_MS));
    let [before, stall]: [Vec<&Profile>; 2] = [before.iter().collect(), stall.iter().collect()];
    if stall.is_empty() {
        return Markup::new();
    }
    let names: &[&str] = match before.is_empty() {
        true => &["in the stall"],
        false => &["before", "in the stall"],
    };
    let book = &incident.stacks.table;
    let tree = FlameTree::of_whose(Whose::Server, (&before, book), (&stall, book));
    let graph = Graph {
        tree: &tree,
        names,
        label: "Flame graph of where threads waited",
        limits: Limits::SECOND_SECTION,
        script,
    };
    markup!(
        "<h3>Where threads waited</h3><p>Each thread that did not run in a snapshot is a sample; threads that are always idle do not change.</p>{}",
        graph.figure()
    )
}
