//! The second half of a check: what could stall this server before it does.

use diagnosis::{Audit, Look, Severity, audit};
use recorder::ServerCheck;
use serde_json::{Value, json};

use super::{width, wrapped};

/// Applies the rules to what was looked at.
pub(super) fn audit_of(looked: ServerCheck) -> Audit {
    // A text that cannot be read is no evidence.
    let processlist = looked
        .processlist
        .and_then(|text| serde_json::from_str(&text).ok());
    audit(&Look {
        timeline: looked.timeline,
        facts: looked.facts,
        processlist,
        stacks: looked.stacks,
        absent: looked.absent,
    })
}

/// `is_reached`: the server answered. Without it nothing seen is no good news.
pub(super) fn as_text(audit: &Audit, took_ms: u64, verbose: bool, is_reached: bool) -> String {
    let width = width();
    let mut text = format!("  stall risks, seen in {:.0} s\n", took_ms as f64 / 1000.0);
    for line in &audit.lines {
        let state = match line.severity {
            Severity::Serious => "STALLS",
            Severity::Note => "note  ",
        };
        text += &wrapped(
            &format!("    {state}  {:<20} ", line.rule),
            &line.saw,
            width,
        );
        text += &wrapped("            why: ", line.why, width);
        if let Some(remedy) = &line.remedy {
            text += &wrapped("            to do: ", remedy, width);
        }
        text += &wrapped("            source: ", line.source, width);
    }
    // What the host does may be seen all the same.
    match (is_reached, audit.lines.is_empty()) {
        (true, true) => text += "    none was found\n",
        (true, false) => {}
        (false, _) => text += "    not checked: the server could not be reached\n",
    }
    if verbose {
        text += &wrapped("    found nothing: ", &audit.fine.join(", "), width);
        for rule in &audit.not_judged {
            text += &wrapped(
                &format!("    not checked  {:<20} ", rule.rule),
                &rule.why,
                width,
            );
        }
    } else {
        let counted = format!(
            "{} rules found nothing, {} could not be checked (--verbose lists them)",
            audit.fine.len(),
            audit.not_judged.len()
        );
        text += &wrapped("    ", &counted, width);
    }
    text
}

pub(super) fn as_json(audit: &Audit, took_ms: u64) -> Value {
    json!({
        "looked_ms": took_ms,
        "lines": audit.lines,
        "fine": audit.fine,
        "not_judged": audit.not_judged,
    })
}
