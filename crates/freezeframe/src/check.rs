use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use recorder::{Checked, check_sources};
use serde_json::json;

use crate::args::Check;
use crate::config::Config;
use crate::{output, targets};

/// How long the sources have to answer once.
const PATIENCE: Duration = Duration::from_millis(3500);

pub(crate) fn run(args: &Check) -> Result<ExitCode> {
    let config = Config::load(args.server.config.as_deref())?;
    let recording = config.recorder(std::env::temp_dir())?;
    let mut answers = Vec::new();
    for target in targets::find(&args.server, &config)? {
        let label = target.label.clone();
        let checked = check_sources(target, &recording, PATIENCE)?;
        if args.json {
            answers.push(as_json(&label, &checked));
        } else {
            output::print(&as_text(&label, &checked))?;
        }
    }
    if args.json {
        output::print(&serde_json::to_string_pretty(&answers)?)?;
    }
    // Absent evidence is no error: a recording without it is worth having.
    Ok(ExitCode::SUCCESS)
}

fn as_text(label: &str, checked: &[Checked]) -> String {
    let mut text = format!("server {label}\n");
    for checked in checked {
        let state = match (checked.taken, checked.absent.is_empty()) {
            (true, true) => format!(
                "ok       {:>4} signals, {:.1} ms",
                checked.signals, checked.took_ms
            ),
            (true, false) => "in part".to_owned(),
            (false, _) => "absent".to_owned(),
        };
        text += &format!("  {:<14} {state}\n", checked.source);
        for absent in &checked.absent {
            text += &format!(
                "  {:<14}   {}: {} ({})\n",
                "",
                absent.what,
                absent.reason.words(),
                output::plain(&absent.detail)
            );
        }
    }
    text
}

fn as_json(label: &str, checked: &[Checked]) -> serde_json::Value {
    json!({
        "server": label,
        "sources": checked.iter().map(|checked| json!({
            "source": checked.source,
            "taken": checked.taken,
            "signals": checked.signals,
            "took_ms": checked.took_ms,
            "absent": checked.absent,
        })).collect::<Vec<_>>(),
    })
}
