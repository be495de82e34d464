use std::process::ExitCode;

use anyhow::Result;
use recorder::SOURCES;
use serde_json::json;

use crate::args::Json;
use crate::output;

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
        output::print(&serde_json::to_string_pretty(&list)?)?;
        return Ok(ExitCode::SUCCESS);
    }
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
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}
