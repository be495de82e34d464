//! What was written, for the terminal and as JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use ::export::check::Unchecked;
use anyhow::Result;
use diagnosis::Level;
use serde_json::json;

/// What no search can find.
const BARE_WORDS: &str =
    "names that occur only in the kernel's log, as bare words: read it before you share";

/// Names that are listed; the others are counted.
const LISTED_MAX: usize = 12;

#[derive(Default)]
pub(super) struct Summary {
    pub(super) wrote: Vec<WrittenFile>,
    /// Files of pt-stalk that are not there, with the reason.
    pub(super) missing: Vec<(&'static str, String)>,
    pub(super) redaction: Option<Redaction>,
}

pub(super) struct WrittenFile {
    path: String,
    what: &'static str,
    files: Option<usize>,
}

impl WrittenFile {
    pub(super) fn new(path: &Path, what: &'static str, files: Option<usize>) -> Self {
        Self {
            path: path.display().to_string(),
            what,
            files,
        }
    }
}

pub(super) struct Redaction {
    /// Names that were searched for in the result.
    pub(super) names: usize,
    /// Names that other code read from the incident's sources, and that were searched for.
    pub(super) checked: usize,
    /// What it could not look for.
    pub(super) unchecked: Vec<Unchecked>,
    /// Names that are words of servers and kernels.
    pub(super) unsearched: Vec<String>,
    /// With a salt of the user's.
    pub(super) stable: bool,
    /// All findings, with their levels, are as they were.
    pub(super) same_verdict: bool,
    pub(super) before: Vec<(String, Level)>,
    pub(super) after: Vec<(String, Level)>,
    /// Bytes of the incident's file that were searched.
    pub(super) searched_bytes: u64,
}

impl Summary {
    pub(super) fn text(&self) -> String {
        let mut out = String::new();
        for one in &self.wrote {
            let files = one
                .files
                .map_or(String::new(), |files| format!(", {files} files"));
            let _ = writeln!(out, "wrote {} ({}{files})", one.path, one.what);
        }
        if !self.missing.is_empty() {
            let mut by_reason: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
            for (file, why) in &self.missing {
                by_reason.entry(why).or_default().push(file);
            }
            let _ = writeln!(
                out,
                "{} files of pt-stalk are missing; its README says why: {}",
                self.missing.len(),
                listed(self.missing.iter().map(|(file, _)| *file))
            );
        }
        if let Some(redaction) = &self.redaction {
            let _ = writeln!(
                out,
                "replaced {} names and literals; the output was searched for them and for {} from other sources: none was found",
                redaction.names, redaction.checked
            );
            let _ = writeln!(out, "not searched for:");
            for one in &redaction.unchecked {
                let (names, verb) = match one.names {
                    1 => ("name", "is"),
                    _ => ("names", "are"),
                };
                let _ = writeln!(
                    out,
                    "  {} {names} of {} that {verb} {}",
                    one.names, one.source, one.why
                );
            }
            let _ = writeln!(out, "  {BARE_WORDS}");
            if !redaction.unsearched.is_empty() {
                let _ = writeln!(
                    out,
                    "{} more were replaced where they are names, but not searched for, because they are short or words of the server: {}",
                    redaction.unsearched.len(),
                    listed(redaction.unsearched.iter().map(String::as_str))
                );
            }
            if redaction.same_verdict {
                let _ = writeln!(
                    out,
                    "verdict: unchanged, {}",
                    verdict_line(&redaction.after)
                );
            } else {
                let _ = writeln!(
                    out,
                    "verdict: changed: {} instead of {}",
                    all(&redaction.after),
                    all(&redaction.before)
                );
            }
        }
        out
    }

    pub(super) fn json(&self) -> Result<String> {
        let wrote: Vec<_> = self
            .wrote
            .iter()
            .map(|one| json!({ "path": one.path, "what": one.what, "files": one.files }))
            .collect();
        let missing: Vec<_> = self
            .missing
            .iter()
            .map(|(file, why)| json!({ "file": file, "why": why }))
            .collect();
        let findings = |findings: &[(String, Level)]| -> Vec<serde_json::Value> {
            findings
                .iter()
                .map(|(cause, level)| json!({ "cause": cause, "level": level }))
                .collect()
        };
        let redaction = self.redaction.as_ref().map(|one| {
            json!({
                "names": one.names,
                "unsearched": one.unsearched,
                "checked": one.checked,
                "unchecked": one.unchecked.iter().map(|one| json!({
                    "source": one.source, "why": one.why, "names": one.names,
                })).chain([json!({ "source": "the kernel's log", "why": BARE_WORDS, "names": null })])
                .collect::<Vec<_>>(),
                "salt": if one.stable { "file" } else { "random" },
                "same_verdict": one.same_verdict,
                "before": findings(&one.before),
                "after": findings(&one.after),
            })
        });
        Ok(serde_json::to_string_pretty(
            &json!({ "wrote": wrote, "missing": missing, "redaction": redaction }),
        )?)
    }
}

fn all(findings: &[(String, Level)]) -> String {
    match findings {
        [] => "no cause".to_owned(),
        findings => findings
            .iter()
            .map(|one| verdict_line(std::slice::from_ref(one)))
            .collect::<Vec<_>>()
            .join(", "),
    }
}

fn listed<'a>(names: impl ExactSizeIterator<Item = &'a str>) -> String {
    let count = names.len();
    let mut listed: Vec<String> = names.take(LISTED_MAX).map(cli::output::plain).collect();
    if count > LISTED_MAX {
        listed.push(format!("and {} more", count - LISTED_MAX));
    }
    listed.join(", ")
}

/// The first finding in a few words.
fn verdict_line(findings: &[(String, diagnosis::Level)]) -> String {
    match findings.first() {
        Some((cause, level)) => format!("{cause} ({})", level.word()),
        None => "no cause".to_owned(),
    }
}
