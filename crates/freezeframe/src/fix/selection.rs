//! Which cause is meant: of an incident, or by its id.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use cli::{output, usage};
use diagnosis::{Cause, Finding, Level, Remedy, advise};
use model::{FixAction, Incident};
use store::read_incident;

use crate::args::Fix;
use crate::config::Config;
use crate::newest::{called, newest, of_recorder};
use crate::{causes, explain, of_service};

/// A cause, and where it was found.
pub(super) struct SelectedCause {
    pub(super) cause: &'static Cause,
    pub(super) incident_path: Option<String>,
    pub(super) incident: Option<Incident>,
    /// The finding, when the incident has it.
    pub(super) finding: Option<Finding>,
    /// It was named, not found.
    named: bool,
}

impl SelectedCause {
    /// What to do: with who the incident names where there is one, else in general words.
    pub(super) fn remedy(&self) -> Remedy {
        match &self.incident {
            Some(incident) => advise(self.cause, incident).1,
            None => self.cause.remedy.clone(),
        }
    }

    /// Whether a part of the remedy depends on the server.
    pub(super) fn needs_server(&self) -> bool {
        let of_host =
            |fix: &model::Fix| matches!(fix.action, FixAction::ThpNever | FixAction::Sysctl { .. });
        !self.cause.fixes.iter().all(of_host)
    }

    /// A change for a cause that is only possible must be asked for by name.
    pub(super) fn refuse_guess(&self, args: &Fix) -> Result<()> {
        match &self.finding {
            Some(finding)
                if finding.level < Level::Likely && !self.named && args.cause.is_none() =>
            {
                bail!(
                    "{} is only possible, and fix changes nothing for a guess; if you are sure, add --cause {}",
                    finding.cause,
                    finding.cause
                )
            }
            _ => Ok(()),
        }
    }
}

/// Nothing when the incident names no cause, which is said.
pub(super) fn find(args: &Fix, config: &Config) -> Result<Option<SelectedCause>> {
    let path = match &args.what {
        Some(text) if Path::new(text).exists() => {
            let path = PathBuf::from(text);
            of_recorder(&path)?.unwrap_or(path)
        }
        Some(text) => {
            if let Some(cause) = causes::catalogue().get(text) {
                if args.cause.as_ref().is_some_and(|other| other != text) {
                    return Err(usage(anyhow!("{text} and --cause name different causes")));
                }
                return Ok(Some(by_name(cause)));
            }
            match called(&config.directory(None), Path::new(text)) {
                Some(path) => path,
                None if text.contains('/') || text.ends_with(".frame") => {
                    bail!("{text}: no such incident")
                }
                None => bail!(
                    "'{text}' is neither an incident nor the id of a cause{}",
                    alike(text)
                ),
            }
        }
        None => match &args.cause {
            Some(id) => match causes::catalogue().get(id) {
                Some(cause) => return Ok(Some(by_name(cause))),
                None => return Err(no_cause(id)),
            },
            None => newest(
                &of_service::existing(config, None)?,
                "an incident or a cause",
            )?,
        },
    };
    let loaded = read_incident(&path)?;
    for damage in &loaded.damage {
        output::note(&format!("{}: {}", path.display(), damage.line()));
    }
    let verdict = explain::verdict(&loaded.incident, &path);
    let mut findings = verdict.findings.into_iter().chain(verdict.folded);
    let finding = match &args.cause {
        Some(id) => findings.find(|finding| finding.cause == *id),
        None => findings.next(),
    };
    let id = match (&args.cause, &finding) {
        (Some(id), _) => id.clone(),
        (None, Some(finding)) => finding.cause.clone(),
        (None, None) => {
            output::note(&format!(
                "{}: {} Choose a cause with --cause ID to see its remedy",
                path.display(),
                verdict.sentence
            ));
            return Ok(None);
        }
    };
    let Some(cause) = causes::catalogue().get(&id) else {
        return Err(no_cause(&id));
    };
    Ok(Some(SelectedCause {
        cause,
        incident_path: Some(path.display().to_string()),
        incident: Some(loaded.incident),
        finding,
        named: false,
    }))
}

fn by_name(cause: &'static Cause) -> SelectedCause {
    SelectedCause {
        cause,
        incident_path: None,
        incident: None,
        finding: None,
        named: true,
    }
}

/// What is wrong with `--cause`, which names no file.
fn no_cause(id: &str) -> anyhow::Error {
    usage(anyhow!(
        "--cause: no cause '{id}'; `freezeframe causes` lists them{}",
        alike(id)
    ))
}

/// Ids that may be meant, as a hint.
fn alike(id: &str) -> String {
    let alike: Vec<&str> = causes::catalogue()
        .causes()
        .iter()
        .map(|cause| cause.id.as_str())
        .filter(|known| {
            id.split('-')
                .any(|word| word.len() > 2 && known.contains(word))
        })
        .take(5)
        .collect();
    match alike.is_empty() {
        true => String::new(),
        false => format!("; did you mean {}?", alike.join(", ")),
    }
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test fails by panicking"
)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command};

    fn args(arguments: &[&str]) -> Fix {
        let line = ["freezeframe", "fix"].iter().chain(arguments);
        match Cli::parse_from(line).command {
            Command::Fix(args) => args,
            _ => unreachable!(),
        }
    }

    fn found(level: Level) -> SelectedCause {
        let cause = causes::catalogue().get("thp-compaction").unwrap();
        let finding = Finding {
            cause: cause.id.clone(),
            title: cause.title.clone(),
            what: cause.what.clone(),
            level,
            confidence: 0.5,
            witnesses: Vec::new(),
            against: Vec::new(),
            refuted_by: Vec::new(),
            unknown: Vec::new(),
            actors: Vec::new(),
            relations: Vec::new(),
            remedy: cause.remedy.clone(),
            sources: Vec::new(),
        };
        SelectedCause {
            finding: Some(finding),
            named: false,
            ..by_name(cause)
        }
    }

    #[test]
    fn nothing_is_changed_for_a_guess() {
        let plain = args(&["x.frame", "--apply"]);
        let error = found(Level::Possible).refuse_guess(&plain).unwrap_err();
        assert!(error.to_string().contains("only possible"), "{error}");
        found(Level::Likely).refuse_guess(&plain).unwrap();
        let named = args(&["x.frame", "--apply", "--cause", "thp-compaction"]);
        found(Level::Possible).refuse_guess(&named).unwrap();
    }

    #[test]
    fn a_wrong_id_is_told_with_those_that_are_alike() {
        let error = find(&args(&["thp-compactoin"]), &Config::default())
            .err()
            .expect("there is no such cause");
        assert!(error.to_string().contains("thp-compaction"), "{error}");
    }
}
