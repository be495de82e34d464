//! Where the processors were: the profiles of an incident, and a profile on a page of its own.

use crate::markup::{Markup, markup};
use model::{Incident, Profile, StackTable};

use super::{
    flame::{self, Graph, Limits},
    head::{self, Script},
};
use crate::{
    content::brief::capital,
    flame_tree::{FlameSide, FlameTree, Whose},
    time_format, units,
};

/// Functions shown in an incident.
const CHANGES_MAX: usize = 12;
/// Functions that can be unfolded in an incident.
const CHANGES_FOLDED_MAX: usize = 60;
/// Functions on a page of its own.
const FUNCTIONS_MAX: usize = 60;

/// The stall against the time before it: the server, and apart from it what else ran.
pub(super) fn section(incident: &Incident, script: bool) -> Option<Markup> {
    let evidence = &incident.stacks;
    let (onset, end) = (incident.stall.onset, incident.stall_window().to);
    // A profile belongs to where most of it lies.
    let middle = |profile: &Profile| profile.from / 2 + profile.to / 2;
    let between = |from, to| {
        let inside = move |profile: &&Profile| (from..to).contains(&middle(profile));
        let profiles = evidence.profiles.iter().filter(inside);
        profiles
            .filter(|profile| !profile.counts.is_empty())
            .collect::<Vec<_>>()
    };
    let before = between(0, onset);
    let stall = between(onset, end.saturating_add(1));
    let book = &evidence.table;
    let (first, second, names): (&[&Profile], &[&Profile], &[&str]) =
        match (before.is_empty(), stall.is_empty()) {
            (true, true) => return None,
            (false, false) => (&before, &stall, &["before", "in the stall"]),
            (true, false) => (&[], &stall, &["in the stall"]),
            (false, true) => (&[], &before, &["before"]),
        };
    let tree = |whose| FlameTree::of_whose(whose, (first, book), (second, book));
    let rows = || {
        before
            .iter()
            .chain(&stall)
            .flat_map(|profile| &profile.counts)
    };
    let is_apart = rows().any(|row| row.server) && rows().any(|row| !row.server);
    let mut out = match is_apart {
        true => compared(&tree(Whose::Server), names, Whose::Server, script),
        false => compared(&tree(Whose::Everybody), names, Whose::Everybody, script),
    };
    if names.len() == 1 {
        let missing = if stall.is_empty() {
            "in the stall"
        } else {
            "before the onset"
        };
        out += markup!(
            "<p class=\"none\">There is no profile {missing} to compare with.</p>",
            ..missing
        );
    }
    if is_apart {
        let others = tree(Whose::Others);
        out += Markup::literal("<h3>Other programs, and the kernel's own threads</h3>");
        out += flame::threads(&others, names);
        out += markup!(
            "<details><summary>Their flame graph and functions</summary>{}</details>",
            compared(&others, names, Whose::Others, script)
        );
    }
    Some(out)
}

/// How busy the processors were with it, its flame graph, and its functions in numbers.
fn compared(tree: &FlameTree, names: &[&str], whose: Whose, script: bool) -> Markup {
    let mut out = said(tree, names, whose);
    let (label, limits) = match whose {
        Whose::Others => ("Flame graph of other programs", Limits::SECOND_SECTION),
        _ => ("Flame graph of the CPUs", Limits::SECTION),
    };
    let graph = Graph {
        tree,
        names,
        label,
        limits,
        script,
    };
    out += graph.figure();
    let which = match whose {
        Whose::Everybody => "Functions",
        Whose::Server => "Functions of the server",
        Whose::Others => "Their functions",
    };
    let title = match names.len() {
        2 => "whose share changed most",
        _ => "that took most",
    };
    out += markup!("<h3>{which} {title}</h3>", ..which, ..title);
    out += flame::functions(tree, names, 0..CHANGES_MAX);
    let more = flame::functions(tree, names, CHANGES_MAX..CHANGES_FOLDED_MAX);
    if !more.is_empty() {
        out += markup!(
            "<details><summary>More functions</summary>{more}</details>",
            ..more
        );
    }
    out
}

/// How the samples were taken and how busy the processors were, a paragraph for each half.
fn said(tree: &FlameTree, names: &[&str], whose: Whose) -> Markup {
    let halves = match names.len() {
        2 => &tree.halves[..],
        _ => &tree.halves[1..],
    };
    let lines: Markup = names
        .iter()
        .zip(halves)
        .map(|(name, half)| markup!("<li>{}</li>", half_said(name, half, whose)))
        .collect();
    markup!("<ul>{lines}</ul>", ..lines)
}

fn half_said(name: &str, half: &FlameSide, whose: Whose) -> Markup {
    let name = capital(name);
    let by = match whose {
        Whose::Everybody => "",
        Whose::Server => " with the server",
        Whose::Others => " with others",
    };
    let busy = half
        .processors_per_sample()
        .map_or_else(Markup::new, |one| {
            let of = match half.processors {
                0 | 1 => " processors".to_owned(),
                count => format!(" of {count} CPUs"),
            };
            let busy = units::digits(one * half.samples as f64);
            markup!(": <b>{}</b>{of} busy{by} on average", busy, ..of, ..by)
        });
    let mut out = markup!(
        "<b>{name}</b>{busy}; {} samples in {}, {} a second and CPU",
        units::grouped(half.taken),
        time_format::duration(half.length_ms),
        half.hz,
        ..name,
        ..busy
    );
    if half.hz_least < half.hz {
        out += markup!(
            " (some were taken at {} a second and count for more)",
            half.hz_least
        );
    }
    if half.lost > 0 {
        out += markup!("; {} more were lost", units::grouped(half.lost));
    }
    out += Markup::literal(".");
    out
}

/// A profile as one self-contained page with a flame graph, searchable and with keys, and the
/// functions in numbers. The title is text. Its size is bounded.
pub fn profile_page(title: &str, profile: &Profile, book: &StackTable) -> String {
    let tree = FlameTree::from_profiles((&[], book), (&[profile], book));
    page(
        title,
        &tree,
        &["Profile"],
        "Functions with the largest share",
    )
}

/// Two profiles as one self-contained page: widths from the second one, colours from the change
/// against the first one, each with the book its stacks are of. The title is text. Its size is
/// bounded.
pub fn profile_diff_page(
    title: &str,
    first: (&Profile, &StackTable),
    second: (&Profile, &StackTable),
) -> String {
    let tree = FlameTree::from_profiles((&[first.0], first.1), (&[second.0], second.1));
    page(
        title,
        &tree,
        &["in A", "in B"],
        "Functions whose share changed most",
    )
}

fn page(title: &str, tree: &FlameTree, names: &[&str], table_title: &str) -> String {
    const SCRIPTS: [Script; 1] = [Script::FLAME];
    let graph = Graph {
        tree,
        names,
        label: "Flame graph",
        limits: Limits::PAGE,
        script: true,
    };
    markup!(
        "{document}<main>\n<header class=\"top\"><p class=\"brand\">freezeframe <span>profile</span></p>\n\
         <h1>{title}</h1>{said}</header>\n{figure}\
         <section id=\"functions\"><h2>{table_title}</h2>{table}</section>\n</main>\n\
         <footer><p>Written by freezeframe {version}. Idle CPUs give no samples.</p></footer>\n\
         {scripts}</body>\n</html>\n",
        document = head::document(title, &SCRIPTS),
        ..title,
        said = said(tree, names, Whose::Everybody),
        figure = graph.figure(),
        table = flame::functions(tree, names, 0..FUNCTIONS_MAX),
        version = env!("CARGO_PKG_VERSION"),
        scripts = head::scripts(&SCRIPTS),
        ..table_title
    )
    .into_string()
}
