//! `freezeframe leases`: what is changed on servers now, and what was left behind.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, anyhow};
use cli::{one_line, output};
use remedy::fix::{Entry, FixJournal, known_journals};
use remedy::{
    Change, GiveBackEnd, JournalError, Lease, Leftover, Outcome, Patience, by_hand, leftovers,
    revert_leftovers,
};
use serde_json::{Value, json};
use server::{Address, Login};

use crate::args::Leases;
use crate::config::Config;
use crate::fix;
use crate::journals::{self, absolute, fixes_in};

/// Gives back what an earlier process left changed; what fails is told.
pub(crate) fn revert_all(dir: &Path) {
    let login = |lease: &Lease| {
        let way = &lease.server.login;
        way.login(std::env::var("MYSQL_PWD").ok())
            .map_err(|error| error.to_string())
    };
    match revert_leftovers(dir, &login, &Patience::endless(), &mut |said| {
        output::note(said)
    }) {
        Ok(found) => found.iter().for_each(|entry| output::note(&line(entry))),
        Err(error) => output::note(&error.to_string()),
    }
    for journal in fix_journals(dir, &[]) {
        match fix::revert_unsettled(&journal) {
            Ok(lines) => lines.iter().for_each(|line| output::note(line)),
            Err(error) => output::note(&error.to_string()),
        }
    }
}

/// The journals of fixes that belong to a journal of leases: the one beside it, those that leases were made in with
/// `--fix-dir`, and the given ones.
fn fix_journals(dir: &Path, said: &[PathBuf]) -> Vec<PathBuf> {
    let dir = absolute(dir);
    let Some(state) = dir.parent() else {
        return said.to_vec();
    };
    let known = known_journals(state).unwrap_or_else(|error| {
        output::note(&error.to_string());
        Vec::new()
    });
    let mut all = vec![fixes_in(state)];
    let said = said.iter().map(|said| absolute(said));
    for journal in said.chain(known) {
        if !all.contains(&journal) {
            all.push(journal);
        }
    }
    all
}

/// Fixes of a journal that were made for a time and are not back, and whether each is watched.
fn fix_leases(dir: &Path) -> Result<Vec<(bool, Entry)>> {
    let Some(journal) = FixJournal::existing(dir)? else {
        return Ok(Vec::new());
    };
    Ok(journal
        .list()?
        .into_iter()
        .filter_map(Result::ok)
        .filter(|entry| entry.deadline_us.is_some() && entry.is_open())
        .map(|entry| (journal.is_watched(&entry.id), entry))
        .collect())
}

pub(crate) fn run(args: &Leases) -> Result<ExitCode> {
    let config = Config::load(args.config.as_deref())?;
    let dir = journals::leases(args.dir.as_deref(), &config);
    let found = if args.revert {
        let login = |lease: &Lease| login(args, lease);
        revert_leftovers(&dir, &login, &Patience::endless(), &mut |line| {
            output::note(line)
        })?
    } else {
        leftovers(&dir)?
    };
    let mut failed = false;
    let mut objects = Vec::new();
    for entry in &found {
        failed |= args.revert && matches!(outcome(entry), Err(_) | Ok(Outcome::Failed(_)));
        if args.json {
            objects.push(object(entry));
        } else {
            output::print_line(&line(entry))?;
        }
    }
    let mut fixes = Vec::new();
    // One that cannot be used must not hide the others.
    for journal in fix_journals(&dir, &args.fix_dirs) {
        match of_journal(&journal, args.revert) {
            Ok((is_back, found)) => {
                failed |= !is_back;
                fixes.extend(found);
            }
            Err(error) => {
                failed = true;
                output::note(&one_line(&error));
            }
        }
    }
    let by_helper = fix::helper_leases().into_iter();
    fixes.extend(by_helper.map(|lease| (true, lease)));
    for (is_watched, entry) in &fixes {
        if args.json {
            objects.push(fix_object(entry, *is_watched));
        } else {
            output::print_line(&fix::entry_line(entry, *is_watched))?;
        }
    }
    if args.json {
        output::print_json(&json!({ "leases": objects }))?;
    } else if found.is_empty() && fixes.is_empty() {
        output::print_line(&format!("no leases in {}", dir.display()))?;
    }
    Ok(ExitCode::from(u8::from(failed)))
}

/// The leases of a journal of fixes, those that nobody watches given back first where that is asked for, and whether
/// they are.
fn of_journal(journal: &Path, revert: bool) -> Result<(bool, Vec<(bool, Entry)>)> {
    let mut is_back = true;
    if revert {
        for line in fix::revert_unsettled(journal)? {
            is_back &= !line.contains("NOT UNDONE");
            output::note(&line);
        }
    }
    Ok((is_back, fix_leases(journal)?))
}

/// The watchdog of a lease; started by ourselves only.
pub(crate) fn watchdog() -> Result<ExitCode> {
    remedy::general_log::watch(output::note).map_err(|error| anyhow!("lease-watchdog: {error}"))?;
    Ok(ExitCode::SUCCESS)
}

/// What is said now goes before what the lease says.
fn login(args: &Leases, lease: &Lease) -> Result<Login, String> {
    let mut way = lease.server.login.clone();
    if let Some(user) = &args.user {
        way.user.clone_from(user);
    }
    way.password_file = args.password_file.clone().or(way.password_file);
    way.defaults_file = args.defaults_file.clone().or(way.defaults_file);
    way.login(std::env::var("MYSQL_PWD").ok())
        .map_err(|error| error.to_string())
}

fn outcome(entry: &Result<Leftover, JournalError>) -> Result<&Outcome, &JournalError> {
    entry.as_ref().map(|leftover| &leftover.outcome)
}

fn outcome_text(outcome: &Outcome) -> String {
    match outcome {
        Outcome::InForce => "in force".to_owned(),
        Outcome::Left => "LEFT BEHIND; to undo it: freezeframe leases --revert".to_owned(),
        Outcome::GivenBack(GiveBackEnd::ServerEnded) => {
            "its server has ended, so the change is gone".to_owned()
        }
        Outcome::GivenBack(GiveBackEnd::Answered(_)) => "undone".to_owned(),
        Outcome::GivenBack(GiveBackEnd::Left(why)) => format!("its watchdog continues: {why}"),
        Outcome::Failed(why) => format!("NOT UNDONE: {why}"),
    }
}

fn line(entry: &Result<Leftover, JournalError>) -> String {
    match entry {
        Err(error) => format!("not a lease: {error}"),
        Ok(Leftover { lease, outcome }) => {
            let by_hand = match outcome {
                Outcome::Left | Outcome::Failed(_) => {
                    format!("; to undo by hand: {}", by_hand(lease))
                }
                _ => String::new(),
            };
            format!(
                "{}  general log of {}, since {} by process {}: {}{by_hand}",
                lease.id,
                Address::from(&lease.server.address),
                output::date(lease.taken_us / 1000),
                lease.owner.pid,
                outcome_text(outcome)
            )
        }
    }
}

fn fix_object(entry: &Entry, is_watched: bool) -> Value {
    let state = if is_watched { "in-force" } else { "left" };
    let by_hand: Vec<String> = entry
        .steps
        .iter()
        .rev()
        .map(|step| entry.undo_by_hand(step))
        .collect();
    json!({"id": entry.id, "kind": "fix", "cause": entry.cause, "server": entry.server, "state": state,
        "says": fix::entry_line(entry, is_watched), "taken_us": entry.taken_us,
        "asked_by": entry.asked_by,
        "deadline_us": entry.deadline_us, "by_hand": by_hand.join("; ")})
}

fn object(entry: &Result<Leftover, JournalError>) -> Value {
    match entry {
        Err(error) => json!({"error": error.to_string()}),
        Ok(Leftover { lease, outcome }) => {
            let Change::GeneralLog(change) = &lease.change;
            let state = match outcome {
                Outcome::InForce => "in-force",
                Outcome::Left => "left",
                Outcome::GivenBack(_) => "given-back",
                Outcome::Failed(_) => "failed",
            };
            json!({"id": lease.id, "kind": "general-log", "server": lease.server, "state": state,
                "says": outcome_text(outcome), "previous": change.previous, "taken_us": lease.taken_us,
                "deadline_us": lease.deadline_us, "owner": lease.owner, "by_hand": by_hand(lease)})
        }
    }
}
