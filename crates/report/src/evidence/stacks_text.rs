//! Stacks of all threads as people read them: by group, the largest first.

use std::collections::{BTreeMap, HashMap};

use model::{OrderBy, RunState, StackTable, ThreadSession};

use super::{
    frames_text::{write_nameless, write_stack},
    futex::futex_command_name,
    groups::{GroupThread, StackGroup, StackGroups, group_snapshots},
    meanings,
    stacks_json::{StacksInput, address},
};
use crate::document::Stack;
use crate::{
    TextOptions, escape,
    text::{
        page::{Page, Style},
        wrap,
    },
    units::{Quantity, counted, grouped, plural},
};

/// Places in which the threads of a group wait that are listed.
const PLACES_MAX: usize = 5;
/// Names of threads in a group that are listed.
const NAMES_MAX: usize = 4;
/// Threads of a name whose ids are listed.
const IDS_MAX: usize = 5;
/// Sessions of a group that are listed, the longest first.
const SESSIONS_MAX: usize = 5;
/// Classes of statements in a group that are counted.
const CLASSES_MAX: usize = 6;

/// How stacks are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StacksTextOptions {
    /// Width and colours.
    pub text: TextOptions,
    /// Groups that are shown; 0 for all.
    pub groups_max: usize,
    /// Frames of a stack that are shown; 0 for all.
    pub frames_max: usize,
}

/// The stacks as text: how they were taken, then each group with its count, what its threads do
/// and wait in, whom they work for, and its frames, innermost first. No line is wider than the
/// width: long names are cut in the middle.
pub fn stacks_text(input: &StacksInput<'_>, options: &StacksTextOptions) -> String {
    let groups = group_snapshots(input.snapshots, input.book);
    let mut page = options.text.page();
    page.paragraph(0, &headline(input, &groups), Style::Bold);
    page.paragraph(0, &provenance(input, &groups), Style::Plain);
    write_groups(&mut page, &groups, input.book, input.sessions, options);
    page.finish()
}

/// Groups on a page, and at its end why frames have no name.
fn write_groups(
    page: &mut Page,
    groups: &StackGroups,
    book: &StackTable,
    sessions: &HashMap<u32, ThreadSession>,
    options: &StacksTextOptions,
) {
    let shown = match options.groups_max {
        0 => groups.groups.len(),
        most => most,
    };
    for group in groups.groups.iter().take(shown) {
        page.blank();
        rule(page, &group_headline(groups, group));
        field(page, "state", &places(&group.threads));
        field(page, "threads", &[names(&group.threads)]);
        field(page, "moved", &unmoved(groups, group));
        field(page, "taken", &sampled(&group.threads));
        field(page, "sessions", &session_lines(&group.threads, sessions));
        field(page, "means", &meanings::of_stack(book, group.stack));
        let stack = Stack::from_book(book, group.stack);
        let frames_max = options.frames_max;
        write_stack(
            page,
            2,
            &Stack {
                frames_max,
                ..stack
            },
        );
    }
    let rest = groups.groups.get(shown..).unwrap_or_default();
    if !rest.is_empty() {
        let threads = rest.iter().map(|group| group.count).sum();
        page.blank();
        let text = format!(
            "{} more {} with {} {} not shown.",
            grouped(rest.len()),
            plural(rest.len() as u64, "group"),
            average_words(groups, threads),
            if rest.len() == 1 { "is" } else { "are" },
        );
        page.paragraph(0, &text, Style::Dim);
    }
    write_nameless(page);
}

fn headline(input: &StacksInput<'_>, groups: &StackGroups) -> String {
    let in_groups = format!(
        "in {} {}",
        groups.groups.len(),
        plural(groups.groups.len() as u64, "group")
    );
    match groups.snapshots {
        0 => format!("pid {}: no snapshot", input.pid),
        1 => format!(
            "pid {}: {} {in_groups}",
            input.pid,
            counted(groups.threads, "thread")
        ),
        snapshots => format!(
            "pid {}: {} threads on average of {snapshots} snapshots, {in_groups}",
            input.pid,
            Quantity::Count.to_text(groups.average(groups.threads)),
        ),
    }
}

fn provenance(input: &StacksInput<'_>, groups: &StackGroups) -> String {
    let Some(first) = input.snapshots.first() else {
        return String::new();
    };
    let mut methods = vec![first.method.to_text()];
    for snapshot in input.snapshots {
        if !methods.contains(&snapshot.method.to_text()) {
            methods.push(snapshot.method.to_text());
        }
    }
    let several = input.snapshots.len() > 1;
    let seconds = |us: u64| Quantity::Seconds.to_text(us as f64 * 1e-6);
    let wall = || input.snapshots.iter().map(|snapshot| snapshot.wall_us);
    let mean = wall().fold(0, u64::saturating_add) / input.snapshots.len() as u64;
    let longest = wall().max().unwrap_or(0);
    let capture = match several {
        false => format!("capture {}", seconds(longest)),
        true => format!(
            "capture took {} on average, {} at most",
            seconds(mean),
            seconds(longest)
        ),
    };
    let stopped = input
        .snapshots
        .iter()
        .map(|snapshot| snapshot.stopped_us)
        .max()
        .unwrap_or(0);
    let stopped = match stopped {
        0 => "no thread was stopped".to_owned(),
        us => format!("longest stop of a thread {}", seconds(us)),
    };
    let left_out: u64 = input
        .snapshots
        .iter()
        .map(|snapshot| u64::from(snapshot.left_out))
        .sum();
    let left_out = match left_out {
        0 => String::new(),
        count => format!(
            " {} left out: over the limit, or ended meanwhile.",
            counted(count, "thread")
        ),
    };
    format!(
        "Recorded with {}; {capture}; {stopped}; {} of the stacks complete ({} of {}).{left_out}",
        methods.join(" and "),
        Quantity::Share.to_text(groups.complete_share()),
        grouped(groups.complete),
        grouped(groups.threads),
    )
}

fn group_headline(groups: &StackGroups, group: &StackGroup) -> String {
    format!(
        "{}, {}",
        average_words(groups, group.count),
        Quantity::Share.to_text(groups.share(group))
    )
}

/// A number of threads; over several snapshots their average and their sum.
fn average_words(groups: &StackGroups, count: u64) -> String {
    match groups.snapshots {
        0 | 1 => counted(count, "thread"),
        snapshots => format!(
            "{} threads on average ({} in {snapshots} snapshots)",
            Quantity::Count.to_text(groups.average(count)),
            grouped(count)
        ),
    }
}

/// What the threads do, the most frequent first: `57 sleeping in futex 0x7f… (FUTEX_WAIT)`.
/// Which stacks were taken in another way than the snapshot's.
fn sampled(threads: &[GroupThread]) -> Vec<String> {
    match threads.iter().filter(|thread| thread.sampled).count() {
        0 => Vec::new(),
        _ if threads.len() == 1 => vec!["on a CPU, by a perf event".to_owned()],
        count => vec![format!("{count} on a CPU, by a perf event")],
    }
}

fn places(threads: &[GroupThread]) -> Vec<String> {
    let mut places: BTreeMap<(RunState, String, Option<u32>), BTreeMap<u64, u64>> = BTreeMap::new();
    for thread in threads {
        let call = thread.syscall.as_ref();
        let name = call.map_or_else(String::new, |call| match call.name.is_empty() {
            true => format!("system call {}", call.number),
            false => call.name.clone(),
        });
        let futex = call.and_then(|call| call.futex);
        let at = places
            .entry((thread.state, name, futex.map(|futex| futex.operation)))
            .or_default();
        *at.entry(futex.map_or(0, |futex| futex.address))
            .or_default() += 1;
    }
    let mut lines: Vec<(u64, String)> = places
        .into_iter()
        .map(|((state, name, operation), addresses)| {
            let count = addresses.values().sum();
            let mut says = state.to_text().to_owned();
            if !name.is_empty() {
                says = format!("{says} in {name}");
            }
            if let Some(operation) = operation {
                // The commands are those of futex(2); its newer siblings have none.
                let command = match name.as_str() {
                    "futex" | "" => format!(" ({})", futex_command_name(operation)),
                    _ => String::new(),
                };
                says = format!("{says} {}{command}", futexes(&addresses));
            }
            (count, says)
        })
        .collect();
    lines.order_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    let one = lines.len() == 1;
    let rest = lines.split_off(lines.len().min(PLACES_MAX));
    let mut out: Vec<String> = lines
        .into_iter()
        .map(|(count, says)| match one {
            true => says,
            false => format!("{} {says}", grouped(count)),
        })
        .collect();
    if !rest.is_empty() {
        let count: u64 = rest.iter().map(|(count, _)| count).sum();
        out.push(format!("{} elsewhere", grouped(count)));
    }
    out
}

/// One address, or how many there are and the one with most threads.
fn futexes(addresses: &BTreeMap<u64, u64>) -> String {
    let most = addresses.iter().max_by_key(|(_, count)| **count);
    match (addresses.len(), most) {
        (1, Some((at, _))) => address(*at),
        (_, Some((at, count))) if *count > 1 => format!(
            "at {} addresses, {} of them at {}",
            grouped(addresses.len()),
            grouped(*count),
            address(*at)
        ),
        (count, _) => format!("at {} addresses", grouped(count)),
    }
}

/// `mysqld ×300 (4711, 4712 and 298 more), io_worker (5000)`
pub(super) fn names(threads: &[GroupThread]) -> String {
    let mut names: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
    for thread in threads {
        names.entry(&thread.name).or_default().push(thread.tid);
    }
    let mut names: Vec<(&str, Vec<u32>)> = names.into_iter().collect();
    names.order_by_key(|(_, ids)| std::cmp::Reverse(ids.len()));
    let rest = names.split_off(names.len().min(NAMES_MAX));
    let mut parts: Vec<String> = names
        .iter()
        .map(|(name, ids)| {
            let times = match ids.len() {
                1 => String::new(),
                count => format!(" ×{}", grouped(count)),
            };
            let mut listed = ids
                .iter()
                .take(IDS_MAX)
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(", ");
            if ids.len() > IDS_MAX {
                listed += &format!(" and {} more", grouped(ids.len() - IDS_MAX));
            }
            let name = if name.is_empty() { "(no name)" } else { name };
            format!("{name}{times} ({listed})")
        })
        .collect();
    if !rest.is_empty() {
        let count: usize = rest.iter().map(|(_, ids)| ids.len()).sum();
        parts.push(format!(
            "{} of {} more {}",
            grouped(count),
            rest.len(),
            plural(rest.len() as u64, "name")
        ));
    }
    parts.join(", ")
}

/// Over several snapshots, how many threads stood still in one single wait.
fn unmoved(groups: &StackGroups, group: &StackGroup) -> Vec<String> {
    if groups.snapshots < 2 {
        return Vec::new();
    }
    let waits = |thread: &&GroupThread| {
        thread.unmoved && thread.snapshots == groups.snapshots && thread.state != RunState::Running
    };
    let still = group.threads.iter().filter(waits).count();
    let text = match (still, group.threads.len()) {
        (0, _) => return Vec::new(),
        (still, all) if still == all => "none since the first snapshot".to_owned(),
        (still, all) => format!(
            "{} of {} threads not since the first snapshot",
            grouped(still),
            grouped(all)
        ),
    };
    vec![text]
}

/// The classes of statements with their longest, then the longest sessions.
fn session_lines(threads: &[GroupThread], sessions: &HashMap<u32, ThreadSession>) -> Vec<String> {
    let mut found: Vec<&ThreadSession> = threads
        .iter()
        .filter_map(|thread| sessions.get(&thread.tid))
        .collect();
    // A session without a statement is idle, however long.
    found.order_by(|a, b| {
        a.statement_class
            .is_empty()
            .cmp(&b.statement_class.is_empty())
            .then(b.seconds.total_cmp(&a.seconds))
            .then(a.connection.cmp(&b.connection))
    });
    let mut out = Vec::new();
    if found.len() > 1 {
        out.push(classes(&found));
    }
    for session in found.iter().take(SESSIONS_MAX) {
        let parts = [
            session.command.as_str(),
            &session.statement_class,
            &Quantity::Seconds.to_text(session.seconds),
            &session.state,
        ];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        out.push(format!("id {}: {}", session.connection, parts.join(", ")));
    }
    out
}

fn classes(found: &[&ThreadSession]) -> String {
    let mut classes: BTreeMap<&str, (u64, f64)> = BTreeMap::new();
    for session in found {
        let class = match session.statement_class.as_str() {
            "" => &session.command,
            class => class,
        };
        let (count, longest) = classes.entry(class).or_insert((0, 0.0));
        *count += 1;
        *longest = longest.max(session.seconds);
    }
    let mut classes: Vec<_> = classes.into_iter().collect();
    classes.order_by_key(|(_, (count, _))| std::cmp::Reverse(*count));
    let rest = classes.split_off(classes.len().min(CLASSES_MAX));
    let mut parts: Vec<String> = classes
        .into_iter()
        .map(|(class, (count, longest))| {
            let up_to = if count > 1 { "up to " } else { "" };
            format!(
                "{} {class} {up_to}{}",
                grouped(count),
                Quantity::Seconds.to_text(longest)
            )
        })
        .collect();
    if !rest.is_empty() {
        let count: u64 = rest.iter().map(|(_, (count, _))| count).sum();
        parts.push(format!("{} of other classes", grouped(count)));
    }
    parts.join(", ")
}

/// A heading with a line across the page.
pub(super) fn rule(page: &mut Page, text: &str) {
    let text = wrap::cut(&escape::terminal(text), page.width());
    let room = page.width().saturating_sub(wrap::columns(&text) + 1);
    page.raw(&[
        (&text, Style::Bold),
        (" ", Style::Plain),
        (&"-".repeat(room), Style::Dim),
    ]);
}

/// Values below each other, the first one beside a name; nothing without values.
pub(super) fn field(page: &mut Page, name: &str, values: &[String]) {
    for (index, value) in values.iter().enumerate() {
        let label = if index == 0 { name } else { "" };
        page.field(&format!("  {label}"), value);
    }
}
