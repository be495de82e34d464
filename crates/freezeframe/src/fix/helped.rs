//! What the helper does for who is not root: settings of the kernel for a time.

use std::path::Path;
use std::time::Duration;

use anyhow::{Result, anyhow, bail};
use cli::output;
use remedy::fix::{Change, Entry, Root};
use remedy::helper::{Answer, Request, SOCKET, ask};
use rustix::fs::{Access, access};
use serde_json::{Value, json};

use super::Chosen;
use crate::args::Fix;

/// What is asked of the helper, and what is made by us.
type Parted<'a> = (Vec<Chosen<'a>>, Vec<Chosen<'a>>);

/// The changes that only root can make, and the others. Fails where nobody can make them as they were ordered.
pub(super) fn part<'a>(args: &Fix, root: &Root, chosen: Vec<Chosen<'a>>) -> Result<Parted<'a>> {
    let is_roots = |change: &Change| match change {
        Change::KernelSetting(setting) => {
            root.is_real() && !is_root() && access(&setting.path, Access::WRITE_OK).is_err()
        }
        _ => false,
    };
    let (helped, own): Parted<'_> = chosen
        .into_iter()
        .partition(|(_, _, change)| is_roots(change));
    if helped.is_empty() {
        return Ok((helped, own));
    }
    if !Path::new(SOCKET).exists() {
        bail!(
            "only root can change kernel settings: use sudo, or enable the helper for changes with --for \
             (systemctl enable --now freezeframe-lease.socket); nothing was changed"
        );
    }
    if args.for_time.is_none() {
        bail!(
            "only root can change kernel settings; the helper changes them for a limited time: add --for 10m; nothing was changed"
        );
    }
    Ok((helped, own))
}

/// Has the helper make these changes and no others.
pub(super) fn make(cause: &str, time: Duration, chosen: &[Chosen<'_>]) -> Result<Entry> {
    let request = Request::Apply {
        cause: cause.to_owned(),
        seconds: time.as_secs().max(1),
    };
    let lease = match answer(&request)? {
        Answer::Made(lease) => *lease,
        _ => bail!("the helper gave an unexpected answer"),
    };
    let made = lease.steps.iter().map(|step| &step.change);
    if !made.eq(chosen.iter().map(|(_, _, change)| *change)) {
        put_back(&lease.id)?;
        bail!(
            "the helper made other changes than these, because a setting changed meanwhile; they were undone"
        );
    }
    Ok(lease)
}

/// Has a lease put back; what is left of it.
pub(super) fn put_back(id: &str) -> Result<Vec<String>> {
    match answer(&Request::Revert { id: id.to_owned() })? {
        Answer::Reverted { left } => Ok(left),
        _ => bail!("the helper gave an unexpected answer"),
    }
}

/// The helper's leases that are not back, for who is not root; root has its journal. None where there is no helper.
pub(crate) fn leases() -> Vec<Entry> {
    // Not there, or not for us.
    if is_root() || access(SOCKET, Access::WRITE_OK).is_err() {
        return Vec::new();
    }
    match answer(&Request::List) {
        Ok(Answer::Leases(leases)) => leases,
        Ok(_) => Vec::new(),
        Err(error) => {
            output::note(&error.to_string());
            Vec::new()
        }
    }
}

/// The same, unless another journal or another tree is meant.
pub(super) fn leases_for(args: &Fix) -> Vec<Entry> {
    if args.root.is_some() || args.fix_dir.is_some() {
        return Vec::new();
    }
    leases()
}

/// Puts those back that are meant: by the beginning of an id whosever they are, else our own. Their objects for JSON, and
/// whether something is left. `beside`: fixes of our own journal are in force, too.
pub(super) fn undo(args: &Fix, id: Option<&str>, beside: bool) -> Result<(Vec<Value>, bool)> {
    let user = rustix::process::geteuid().as_raw();
    let mut meant = leases_for(args);
    meant.retain(|lease| match id {
        None | Some("all") => lease.asked_by == Some(user),
        Some(id) => lease.id.starts_with(id),
    });
    let is_one = meant.len() == 1 && !(id.is_none() && beside);
    if id != Some("all") && !meant.is_empty() && !is_one {
        let ids: Vec<&str> = meant.iter().map(|lease| lease.id.as_str()).collect();
        bail!(
            "several leases are in force ({}): choose one with --undo ID, or --undo all",
            ids.join(", ")
        );
    }
    let (mut objects, mut is_left) = (Vec::new(), false);
    for lease in &meant {
        let left = put_back(&lease.id)?;
        is_left |= !left.is_empty();
        if !args.json {
            let outcome = match left.as_slice() {
                [] => "everything was undone".to_owned(),
                left => format!("NOT EVERYTHING WAS UNDONE: {}", left.join("; ")),
            };
            let line = format!("fix {} of {}: {outcome}", lease.id, lease.cause);
            output::print_line(&line)?;
        }
        objects.push(undone(lease, &left));
    }
    Ok((objects, is_left))
}

fn undone(lease: &Entry, left: &[String]) -> Value {
    let steps = lease.steps.iter().map(|step| {
        let name = step.change.name();
        let why = left.iter().find(|line| line.starts_with(&name));
        let outcome = if why.is_some() { "left" } else { "back" };
        json!({"change": step.change, "outcome": outcome, "says": why.map_or("", String::as_str)})
    });
    json!({"id": lease.id, "cause": lease.cause, "over": left.is_empty(), "steps": steps.collect::<Vec<_>>()})
}

fn answer(request: &Request) -> Result<Answer> {
    match ask(Path::new(SOCKET), request) {
        Ok(Answer::Refused(why)) => Err(anyhow!("the helper refuses: {why}")),
        Ok(answer) => Ok(answer),
        Err(why) => Err(anyhow!(
            "the helper does not answer: {why}; its users must be in the group freezeframe"
        )),
    }
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
