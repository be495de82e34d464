//! `freezeframe stacks --from`: stacks that others captured, put together like our own.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail};
use cli::output;
use diagnosis::SourceRead;
use model::{Incident, Window};
use report::evidence::captured::{CapturedStacks, CountUnit, captured_json, captured_text};
use report::evidence::folded::{folded_profile, folded_stacks};
use report::evidence::groups::{StackGroups, group_runs, group_samples};
use report::evidence::pt_pmp::pt_pmp;
use report::evidence::pt_pmp_printed::pt_pmp_printed;
use report::evidence::stacks_text::StacksTextOptions;
use store::LoadedIncident;

use crate::args::Stacks;
use crate::captures::{self, OpenedCaptures, OpenedInput};

/// What pt-pmp's output is called by the import: its threads have no ids.
const PT_PMP: &str = "pt-pmp output";

/// What backtraces are called.
const BACKTRACES: &str = "backtraces of threads";

pub(crate) fn run(args: &Stacks) -> Result<ExitCode> {
    let paths = &args.from;
    let read = match captures::open_input(paths)? {
        OpenedInput::Incident(loaded, _) => recorded(*loaded, &label(paths)),
        OpenedInput::Captures(found) => imported(*found, paths)?,
    };
    let evidence = &read.incident.stacks;
    let window = Window {
        from: 0,
        to: read.incident.window.to,
    };
    let threads = group_runs(evidence, window);
    let counted = match (threads.groups.is_empty(), evidence.profiles.is_empty()) {
        (false, _) => CountUnit::Threads,
        (true, false) => CountUnit::Samples,
        (true, true) => {
            let told: Vec<String> = read.sources.iter().take(3).map(SourceRead::line).collect();
            bail!("no stacks in it: {}", told.join("; "))
        }
    };
    if counted == CountUnit::Threads && !evidence.profiles.is_empty() {
        output::note("it also has CPU samples, which `explain` shows; here are the threads");
    }
    let groups = match counted {
        CountUnit::Threads => threads,
        CountUnit::Samples => group_samples(&evidence.profiles, &evidence.table),
    };
    let from = label(paths);
    let input = CapturedStacks {
        from: &from,
        format: &read.format(counted),
        counted,
        has_ids: read.has_ids(),
        groups: &groups,
        book: &evidence.table,
    };
    let text = if args.json {
        captured_json(&input, &read.sources)
    } else if args.folded {
        match counted {
            CountUnit::Threads => folded_stacks(&groups, &evidence.table),
            CountUnit::Samples => {
                folded_profile(&captures::all_samples(evidence), &evidence.table, false)
            }
        }
    } else if args.pt_pmp {
        read.pt_pmp(&groups)
    } else {
        left_out(&read.sources);
        let options = StacksTextOptions {
            text: output::text_options(),
            groups_max: args.limit.unwrap_or(0),
            frames_max: 0,
        };
        captured_text(&input, &options)
    };
    output::print_either(args.json, &text)?;
    Ok(ExitCode::SUCCESS)
}

/// What was read.
struct Captures {
    incident: Incident,
    sources: Vec<SourceRead>,
    /// The files; none for an incident of ours.
    found: Option<OpenedCaptures>,
}

impl Captures {
    /// Formats of the stacks, in words.
    fn format(&self, counted: CountUnit) -> String {
        if self.found.is_none() {
            return "an incident".to_owned();
        }
        let of_threads = |kind: &str| kind == BACKTRACES || kind == PT_PMP;
        let mut kinds: Vec<&str> = self
            .sources
            .iter()
            .filter(|source| !source.brought.is_empty())
            .map(|source| source.kind.as_str())
            .filter(|kind| match counted {
                CountUnit::Threads => of_threads(kind),
                CountUnit::Samples => ["perf", "folded", "opreport", "pprof"]
                    .iter()
                    .any(|word| kind.contains(word)),
            })
            .collect();
        kinds.dedup();
        kinds.sort_unstable();
        kinds.dedup();
        match kinds.is_empty() {
            true => "captures".to_owned(),
            false => kinds.join(" and "),
        }
    }

    fn has_ids(&self) -> bool {
        !self.sources.iter().any(|source| source.kind == PT_PMP)
    }

    /// As pt-pmp prints them: of backtraces exactly what it makes of their lines.
    fn pt_pmp(&self, groups: &StackGroups) -> String {
        let is_printed = self.found.is_some()
            && self
                .sources
                .iter()
                .any(|source| source.kind == BACKTRACES && !source.brought.is_empty())
            && self.has_ids();
        match &self.found {
            Some(found) if is_printed => {
                let threads: Vec<Vec<String>> = found
                    .inputs()
                    .flat_map(|input| import::printed_threads(&input))
                    .collect();
                pt_pmp_printed(threads.iter().map(Vec::as_slice))
            }
            _ => pt_pmp(groups, &self.incident.stacks.table, &HashSet::new()),
        }
    }
}

fn recorded(loaded: LoadedIncident, file: &str) -> Captures {
    for damage in &loaded.damage {
        output::note(&format!("{file}: {}", damage.line()));
    }
    Captures {
        incident: loaded.incident,
        sources: vec![SourceRead {
            path: file.to_owned(),
            kind: "freezeframe incident".to_owned(),
            ..SourceRead::default()
        }],
        found: None,
    }
}

fn imported(found: OpenedCaptures, paths: &[PathBuf]) -> Result<Captures> {
    let (incident, sources) = captures::incident_of(&found, paths)?;
    Ok(Captures {
        incident,
        sources,
        found: Some(found),
    })
}

/// What was not read, of pieces that have stacks or were not opened at all.
fn left_out(sources: &[SourceRead]) {
    for source in sources {
        let of_stacks = source.kind == BACKTRACES || source.kind == PT_PMP;
        if source.skipped.is_some() && (of_stacks || source.kind == "not opened") {
            output::note(&source.line());
        }
    }
}

fn label(paths: &[PathBuf]) -> String {
    match paths {
        [one] if one == Path::new("-") => "standard input".to_owned(),
        [one] => one.display().to_string(),
        [one, rest @ ..] => format!("{} and {} more", one.display(), rest.len()),
        [] => String::new(),
    }
}
