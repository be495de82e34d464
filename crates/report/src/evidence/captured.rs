//! Stacks that others captured, as text and as JSON: the groups of [`super::stacks_text`] and
//! [`super::stacks_json`] without what only a live look tells.

use model::{OrderBy, StackTable};
use serde::Serialize;

use super::frames_text::{write_nameless, write_stack};
use super::groups::{StackGroup, StackGroups};
use super::meanings;
use super::stacks_json::{GroupOut, frames_out, thread_out, to_text};
use super::stacks_text::{StacksTextOptions, field, names, rule};
use crate::document::Stack;
use crate::text::page::Style;
use crate::units::{Quantity, grouped, plural};

/// What is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum CountUnit {
    /// Threads of one or several moments.
    Threads,
    /// Samples of the processors.
    Samples,
}

impl CountUnit {
    fn noun(self) -> &'static str {
        match self {
            Self::Threads => "thread",
            Self::Samples => "sample",
        }
    }
}

/// Stacks that others captured.
#[derive(Debug, Clone, Copy)]
pub struct CapturedStacks<'a> {
    /// Where they are from, as given.
    pub from: &'a str,
    /// What they are from, in words ("pt-pmp output").
    pub format: &'a str,
    /// What is counted.
    pub counted: CountUnit,
    /// Whether the captures tell thread ids; where they do not, ids are ours and are not shown.
    pub has_ids: bool,
    /// The stacks.
    pub groups: &'a StackGroups,
    /// Their frames.
    pub book: &'a StackTable,
}

/// The groups as text: a headline, then each with its count, its threads and its frames, innermost
/// first.
pub fn captured_text(input: &CapturedStacks<'_>, options: &StacksTextOptions) -> String {
    let groups = input.groups;
    let noun = input.counted.noun();
    let mut page = options.text.page();
    let several = match groups.snapshots {
        0 | 1 => String::new(),
        snapshots => format!(", summed over {snapshots} snapshots"),
    };
    let headline = format!(
        "{}: {} {} in {} {}{several}",
        input.from,
        grouped(groups.threads),
        plural(groups.threads, noun),
        grouped(groups.groups.len()),
        plural(groups.groups.len() as u64, "group"),
    );
    page.paragraph(0, &headline, Style::Bold);
    let provenance = format!(
        "From {}; {} of the stacks complete ({} of {}).",
        input.format,
        Quantity::Share.to_text(groups.complete_share()),
        grouped(groups.complete),
        grouped(groups.threads),
    );
    page.paragraph(0, &provenance, Style::Plain);
    let shown = match options.groups_max {
        0 => groups.groups.len(),
        most => most,
    };
    for group in groups.groups.iter().take(shown) {
        page.blank();
        let heading = format!(
            "{} {}, {}",
            grouped(group.count),
            plural(group.count, noun),
            Quantity::Share.to_text(groups.share(group))
        );
        rule(&mut page, &heading);
        match input.counted {
            CountUnit::Threads if input.has_ids => {
                field(&mut page, "threads", &[names(&group.threads)]);
            }
            CountUnit::Threads => {}
            CountUnit::Samples => field(&mut page, "threads", &[shares(group)]),
        }
        let means = meanings::of_stack(input.book, group.stack);
        field(&mut page, "means", &means);
        let stack = Stack::from_book(input.book, group.stack);
        let frames_max = options.frames_max;
        write_stack(
            &mut page,
            2,
            &Stack {
                frames_max,
                ..stack
            },
        );
    }
    let rest = groups.groups.get(shown..).unwrap_or_default();
    if !rest.is_empty() {
        let count = rest
            .iter()
            .map(|group| group.count)
            .fold(0, u64::saturating_add);
        page.blank();
        let text = format!(
            "{} more {} with {} {} not shown.",
            grouped(rest.len()),
            plural(rest.len() as u64, "group"),
            grouped(count),
            plural(count, noun),
        );
        page.paragraph(0, &text, Style::Dim);
    }
    write_nameless(&mut page);
    page.finish()
}

/// Names of threads in a group of samples that are listed.
const NAMES_MAX: usize = 6;

/// `connection 120, ib_pg_flush 3`.
fn shares(group: &StackGroup) -> String {
    let mut threads: Vec<(u32, &str)> = group
        .threads
        .iter()
        .map(|thread| (thread.snapshots, thread.name.as_str()))
        .collect();
    threads.order_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(b.1)));
    let mut parts: Vec<String> = threads
        .iter()
        .take(NAMES_MAX)
        .map(|(count, name)| {
            let name = if name.is_empty() { "(no name)" } else { name };
            format!("{name} {}", grouped(*count))
        })
        .collect();
    if threads.len() > NAMES_MAX {
        parts.push(format!("{} more names", threads.len() - NAMES_MAX));
    }
    parts.join(", ")
}

#[derive(Serialize)]
struct Document<'a, S: Serialize> {
    from: &'a str,
    format: &'a str,
    counted: CountUnit,
    sources: &'a S,
    /// What only a live look tells.
    pid: Option<u32>,
    method: Option<&'a str>,
    wall_ms: Option<f64>,
    stopped_ms: Option<f64>,
    threads: u64,
    complete: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    samples: Option<u32>,
    groups: Vec<Group<'a>>,
}

#[derive(Serialize)]
struct Group<'a> {
    #[serde(flatten)]
    group: GroupOut<'a>,
    /// Samples by the thread's name; only there with samples.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    names: Vec<Name<'a>>,
}

#[derive(Serialize)]
struct Name<'a> {
    name: &'a str,
    samples: u32,
}

/// The groups as one JSON document, `docs/reference/json.md`; `sources` is what was read and what not.
pub fn captured_json<S: Serialize>(input: &CapturedStacks<'_>, sources: &S) -> String {
    let groups = input.groups;
    let several = groups.snapshots > 1;
    let is_samples = input.counted == CountUnit::Samples;
    let group = |group: &'_ StackGroup| {
        let end = input.book.stack(group.stack).end;
        let cut = Some(end).filter(|end| !end.is_complete());
        (cut, cut.map(model::StackEnd::to_text))
    };
    let document = Document {
        from: input.from,
        format: input.format,
        counted: input.counted,
        sources,
        pid: None,
        method: None,
        wall_ms: None,
        stopped_ms: None,
        threads: groups.threads,
        complete: groups.complete,
        samples: several.then_some(groups.snapshots),
        groups: groups
            .groups
            .iter()
            .map(|one| {
                let (end, end_reason) = group(one);
                Group {
                    group: GroupOut {
                        count: one.count,
                        average: several.then(|| groups.average(one.count)),
                        frames: frames_out(input.book, one.stack),
                        end,
                        end_reason,
                        threads: one
                            .threads
                            .iter()
                            .filter(|_| !is_samples && input.has_ids)
                            .map(|thread| thread_out(thread, None, several))
                            .collect(),
                    },
                    names: one
                        .threads
                        .iter()
                        .filter(|_| is_samples)
                        .map(|thread| Name {
                            name: &thread.name,
                            samples: thread.snapshots,
                        })
                        .collect(),
                }
            })
            .collect(),
    };
    to_text(&document)
}

#[cfg(test)]
mod tests {
    use model::{Profile, ProfileCount, StackEnd};

    use super::*;
    use crate::TextOptions;
    use crate::evidence::groups::{group_samples, group_snapshots};
    use crate::evidence::testing::{snapshot, thread, user};

    #[test]
    fn threads_and_samples_are_told_apart() {
        let mut book = StackTable::default();
        let wait = book.intern([user("poll"), user("main")], StackEnd::Complete);
        let cut = book.intern([user("f")], StackEnd::FrameLimit);
        let groups = group_snapshots(&[snapshot(vec![thread(7, wait), thread(8, wait)])], &book);
        let mut input = CapturedStacks {
            from: "x.txt",
            format: "backtraces of threads",
            counted: CountUnit::Threads,
            has_ids: true,
            groups: &groups,
            book: &book,
        };
        let options = StacksTextOptions {
            text: TextOptions::default(),
            groups_max: 1,
            frames_max: 0,
        };
        let text = captured_text(&input, &options);
        assert!(text.starts_with("x.txt: 2 threads in 1 group\n"), "{text}");
        assert!(text.contains("mysqld ×2 (7, 8)"), "{text}");
        input.has_ids = false;
        assert!(!captured_text(&input, &options).contains("(7"));

        let counts = [(wait, "a", 5), (wait, "b", 6), (cut, "a", 2)];
        let profile = Profile {
            from: 0,
            to: 1,
            hz: 0,
            processors: 1,
            counts: counts
                .into_iter()
                .map(|(stack, thread, count)| ProfileCount {
                    stack,
                    thread: thread.to_owned(),
                    server: true,
                    count,
                })
                .collect(),
            lost: 0,
        };
        let groups = group_samples(&[profile], &book);
        let input = CapturedStacks {
            counted: CountUnit::Samples,
            groups: &groups,
            ..input
        };
        let text = captured_text(&input, &options);
        assert!(text.contains("13 samples in 2 groups"), "{text}");
        assert!(text.contains("b 6, a 5"), "{text}");
        assert!(
            text.contains("1 more group with 2 samples not shown."),
            "{text}"
        );
        let json: serde_json::Value = serde_json::from_str(&captured_json(&input, &["x"])).unwrap();
        assert_eq!(json["counted"], "samples");
        assert_eq!(json["pid"], serde_json::Value::Null);
        assert_eq!(json["groups"][0]["count"], 11);
        assert_eq!(json["groups"][0]["names"][1]["samples"], 6);
        assert_eq!(json["groups"][1]["end"], "frame-limit");
        assert_eq!(json["sources"][0], "x");
    }
}
