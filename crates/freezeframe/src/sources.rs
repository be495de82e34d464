//! `freezeframe sources`: the table of what is read.

use std::process::ExitCode;

use anyhow::Result;
use cli::output;
use model::SOURCES;
use serde_json::json;

use crate::args::Json;

pub(crate) fn run(args: &Json) -> Result<ExitCode> {
    if args.json {
        let list: Vec<_> = SOURCES
            .iter()
            .map(|source| {
                json!({
                    "name": source.name,
                    "reads": source.reads,
                    "cadence_ms": source.cadence_ms,
                    "deadline_ms": source.deadline_ms,
                    "cost": format!("{:?}", source.cost).to_lowercase(),
                    "needs": source.needs,
                })
            })
            .collect();
        output::print_json(&list)?;
        return Ok(ExitCode::SUCCESS);
    }
    let width = output::text_options().width;
    let table = table();
    let widest = table.lines().map(|line| line.chars().count()).max();
    output::print(&match width > 0 && widest > Some(width) {
        true => below_each_other(width),
        false => table,
    })?;
    Ok(ExitCode::SUCCESS)
}

/// A line a source.
fn table() -> String {
    let mut text = format!(
        "{:<14} {:>7}  {:<10}  {:<42}  READS\n",
        "SOURCE", "EVERY", "COST", "NEEDS"
    );
    for source in SOURCES {
        text += &format!(
            "{:<14} {:>5} s  {:<10}  {:<42}  {}\n",
            source.name,
            source.cadence_ms as f64 / 1000.0,
            format!("{:?}", source.cost).to_lowercase(),
            source.needs,
            source.reads
        );
    }
    text
}

/// The table for a terminal that is too narrow for it: needs and what is read below each name.
fn below_each_other(width: usize) -> String {
    let mut text = format!("{:<14} {:>7}  COST\n", "SOURCE", "EVERY");
    for source in SOURCES {
        let every = source.cadence_ms as f64 / 1000.0;
        let cost = format!("{:?}", source.cost).to_lowercase();
        text += &format!("{:<14} {every:>5} s  {cost}\n", source.name);
        text += &output::wrapped("    reads  ", source.reads, width);
        text += &output::wrapped("    needs  ", source.needs, width);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_terminal_has_the_whole_table() {
        let text = below_each_other(80);
        let longest = text.lines().map(|line| line.chars().count()).max();
        assert!(longest <= Some(80), "{text}");
        let words: Vec<&str> = text.split_whitespace().collect();
        for source in SOURCES {
            assert!(words.contains(&source.name), "{}", source.name);
            let last = source.reads.split(' ').next_back().unwrap();
            assert!(words.contains(&last), "{}", source.reads);
        }
    }
}
