//! What was done: listed, and put back.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};
use cli::output;
use remedy::fix::{
    Access, Change, Entry, FixJournal, State, Undone, UndoneEntry, Unsettled, settle, undo,
};
use serde_json::{Value, json};

use super::waiting::Waiting;
use super::{LOCK_PATIENCE, helped, json, text};
use crate::args::Fix;
use crate::config::Config;
use crate::targets;

/// The way in to the server of an entry: what is said now goes before what is written down.
pub(super) fn access(args: &Fix, entry: &Entry) -> Result<Access, String> {
    let mut way = entry.server.clone().ok_or("the journal names no server")?;
    let said = &args.server;
    let named = said.socket.is_some() || said.port.is_some() || said.pid.is_some();
    let one = args
        .undo
        .as_ref()
        .is_some_and(|id| id.as_deref() != Some("all"));
    // Its server was started again and may be reached in another way, as a container is. Its process stays the one that
    // is written down: what was set in that is gone.
    if one
        && named
        && way.process.is_some_and(|process| !process.is_alive())
        && let Some(address) = named_address(args)
    {
        way.address = (&address).into();
    }
    if let Some(user) = &said.user {
        way.login.user.clone_from(user);
    }
    way.login.password_file = said.password_file.clone().or(way.login.password_file);
    way.login.defaults_file = said.defaults_file.clone().or(way.login.defaults_file);
    let login = way
        .login
        .login(std::env::var("MYSQL_PWD").ok())
        .map_err(|error| error.to_string())?;
    Ok(Access::new(way, login))
}

/// Where the server is that the command line names.
fn named_address(args: &Fix) -> Option<server::Address> {
    let config = Config::load(args.server.config.as_deref()).ok()?;
    let found = targets::find_listening(&args.server, &config).ok()?;
    found.first()?.first_address()
}

/// Puts back what was interrupted and what nobody watches any more; a line for each.
pub(crate) fn revert_unsettled(dir: &Path) -> Result<Vec<String>> {
    let Some(journal) = FixJournal::existing(dir)? else {
        return Ok(Vec::new());
    };
    let locked = journal.lock(Some(LOCK_PATIENCE))?;
    let login = |entry: &Entry| {
        let way = entry.server.clone().ok_or("the journal names no server")?;
        let login = way
            .login
            .login(std::env::var("MYSQL_PWD").ok())
            .map_err(|error| error.to_string())?;
        Ok(Access::new(way, login))
    };
    Ok(settle(&locked, &login)?.iter().map(settled_line).collect())
}

pub(super) fn settled_line(left: &Unsettled) -> String {
    let what = if left.entry.deadline_us.is_some() {
        "its lease had no watchdog"
    } else {
        "it was interrupted"
    };
    let outcome = match &left.undone {
        Some(undone) if undone.is_over() => "everything was undone".to_owned(),
        Some(undone) => format!("NOT UNDONE: {}", undone.left().join("; ")),
        None => String::new(),
    };
    format!(
        "fix {} of {}: {what}; {outcome}",
        left.entry.id, left.entry.cause
    )
}

pub(super) fn undo_some(args: &Fix, dir: &Path, id: Option<&str>) -> Result<ExitCode> {
    let journal = FixJournal::existing(dir)?;
    let own = journal.as_ref().map(FixJournal::list).transpose()?;
    let mut own = own.iter().flatten().flatten();
    let (mut objects, mut left) = helped::undo(args, id, own.any(Entry::is_open))?;
    let is_done = !objects.is_empty();
    let journal = match journal {
        Some(journal) if !is_done || id == Some("all") => journal,
        _ if is_done => return undone(args, &objects, left),
        _ => return nothing(args, dir),
    };
    let locked = journal.lock(Some(LOCK_PATIENCE))?;
    let _told = Waiting::announce("undoing the changes", None);
    let mut entries = Vec::new();
    for entry in journal.list()? {
        match entry {
            Ok(entry) => entries.push(entry),
            Err(error) => output::note(&error.to_string()),
        }
    }
    // The last one first: it may sit on top of an earlier one.
    entries.reverse();
    let mut wanted = match id {
        Some(id) if id != "all" => {
            entries.retain(|entry| entry.id.starts_with(id));
            match entries.as_slice() {
                [] => bail!("no fix {id} in {}", dir.display()),
                [one] if !one.is_open() => {
                    let entry = one.clone();
                    return already(args, &entry);
                }
                [_] => entries,
                _ => bail!("several fixes begin with {id}: write more of the id"),
            }
        }
        _ => {
            entries.retain(Entry::is_open);
            entries
        }
    };
    if wanted.is_empty() && !is_done {
        return nothing(args, dir);
    }
    if id.is_none() && wanted.len() > 1 {
        for entry in &wanted {
            output::print_line(&entry_line(entry, journal.is_watched(&entry.id)))?;
        }
        bail!("several fixes are in force: choose one with --undo ID, or --undo all");
    }
    for entry in &mut wanted {
        let mut access = None;
        if entry.needs_server() {
            match self::access(args, entry) {
                Ok(found) => access = Some(found),
                Err(why) => output::note(&format!("fix {}: {why}", entry.id)),
            }
        }
        let undone = undo(&locked, entry, access.as_mut(), args.force)?;
        left |= !undone.is_over();
        if args.json {
            objects.push(json::undone(entry, &undone));
        } else {
            output::print(&undone_text(entry, &undone))?;
        }
    }
    undone(args, &objects, left)
}

fn undone(args: &Fix, objects: &[Value], left: bool) -> Result<ExitCode> {
    if args.json {
        output::print_json(&json!({ "undone": objects }))?;
    }
    Ok(ExitCode::from(u8::from(left)))
}

fn nothing(args: &Fix, dir: &Path) -> Result<ExitCode> {
    if args.json {
        output::print_json_text("{\"undone\": []}")?;
    } else {
        output::print_line(&format!("nothing to undo in {}", dir.display()))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn already(args: &Fix, entry: &Entry) -> Result<ExitCode> {
    if args.json {
        output::print_json_text("{\"undone\": []}")?;
    } else {
        let when = output::date(entry.ended_us.unwrap_or(entry.taken_us) / 1000);
        let what = match entry.state {
            State::Done => format!("fix {} was made at {when} and cannot be undone", entry.id),
            _ => format!("fix {} was already undone at {when}", entry.id),
        };
        output::print(&what)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn undone_text(entry: &Entry, undone: &UndoneEntry) -> String {
    let mut text = format!("fix {} of {}\n", entry.id, entry.cause);
    for (step, outcome) in &undone.steps {
        let (word, detail) = text::undone_words(outcome);
        let name = step.change.name();
        let detail = if detail.is_empty() {
            String::new()
        } else {
            format!(": {detail}")
        };
        text += &output::plain(&format!("  {word:<5} {name}{detail}"));
        text.push('\n');
    }
    if undone.is_over() {
        text += match undone.steps.iter().all(|(step, _)| step.change.has_undo()) {
            true => "everything was undone\n",
            false => "everything else was undone\n",
        };
        if let Some(restart) = restart_of(undone) {
            text += &format!(
                "a server that was started meanwhile keeps it until its next start{restart}\n"
            );
        }
    } else {
        text += &format!(
            "NOT EVERYTHING WAS UNDONE. Overwrite what others have set: freezeframe fix --undo {} --force. Or by hand:\n",
            entry.id
        );
        for (step, outcome) in &undone.steps {
            if !outcome.as_ref().is_ok_and(Undone::is_over) {
                text += &format!("  {}\n", output::plain(&entry.undo_by_hand(step)));
            }
        }
    }
    text
}

/// Files that a server reads when it starts were taken away: how it is started again, where the file tells.
fn restart_of(undone: &UndoneEntry) -> Option<String> {
    undone.steps.iter().find_map(|(step, outcome)| {
        let Change::OwnFile(file) = &step.change else {
            return None;
        };
        let of_host = ["/etc/sysctl.d", "/etc/tmpfiles.d"];
        let is_back = matches!(outcome, Ok(Undone::Back));
        if !is_back || of_host.iter().any(|dir| file.path.starts_with(dir)) {
            return None;
        }
        let unit = file
            .path
            .strip_prefix("/etc/systemd/system")
            .ok()
            .and_then(|below| below.components().next()?.as_os_str().to_str())
            .and_then(|dir| dir.strip_suffix(".d"));
        Some(unit.map_or(String::new(), |unit| format!(": systemctl restart {unit}")))
    })
}

pub(super) fn list(args: &Fix, dir: &Path) -> Result<ExitCode> {
    let mut entries = Vec::new();
    if let Some(journal) = FixJournal::existing(dir)? {
        for entry in journal.list()? {
            let is_watched = entry
                .as_ref()
                .is_ok_and(|entry| journal.is_watched(&entry.id));
            entries.push((is_watched, entry));
        }
    }
    // The helper looks after its own.
    let by_helper = helped::leases_for(args).into_iter();
    entries.extend(by_helper.map(|lease| (true, Ok(lease))));
    if args.json {
        let objects: Vec<_> = entries
            .iter()
            .map(|(is_watched, entry)| match entry {
                Ok(entry) => json::entry(entry, *is_watched),
                Err(error) => json!({"error": error.to_string()}),
            })
            .collect();
        output::print_json(&json!({"fixes": objects}))?;
        return Ok(ExitCode::SUCCESS);
    }
    if entries.is_empty() {
        output::print_line(&format!("no fixes in {}", dir.display()))?;
    }
    for (is_watched, entry) in &entries {
        match entry {
            Ok(entry) => {
                let mut text = output::plain(&entry_line(entry, *is_watched));
                for step in &entry.steps {
                    text += &format!("\n    {}", output::plain(&step_line(entry, step)));
                }
                output::print(&text)?;
            }
            Err(error) => output::print_line(&format!("not a fix: {error}"))?,
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn step_line(entry: &Entry, step: &remedy::fix::DoneStep) -> String {
    let name = step.change.name();
    let what = match &step.change {
        Change::OwnFile(_) => "a new file".to_owned(),
        Change::KernelSetting(setting) => format!("{} -> {}", setting.before, setting.after),
        Change::GlobalVariable(variable) => format!("{} -> {}", variable.before, variable.after),
        Change::EndSession(session) => format!("{}@{}, ended", session.user, session.host),
        Change::PersistedVariable(variable) => format!(
            "{} -> {}",
            variable.before.as_deref().unwrap_or("nothing"),
            variable.after
        ),
    };
    let by_hand = if entry.is_open() && step.change.has_undo() {
        format!("; to undo by hand: {}", entry.undo_by_hand(step))
    } else {
        String::new()
    };
    format!("{name}: {what}{by_hand}")
}

/// One line for an entry: what it is and how far.
pub(crate) fn entry_line(entry: &Entry, is_watched: bool) -> String {
    let date = |us: i64| output::date(us / 1000);
    let state = match (entry.state, entry.deadline_us) {
        (State::Applied, Some(deadline)) if is_watched => {
            format!("in force until {}", date(deadline))
        }
        (State::Applied, Some(_)) => {
            format!(
                "LEFT BEHIND, without a watchdog: freezeframe fix --undo {}",
                entry.id
            )
        }
        (State::Applied, None) => "in force".to_owned(),
        (State::Applying, _) => format!(
            "in progress, or INTERRUPTED: freezeframe fix --undo {}",
            entry.id
        ),
        (State::Left, _) => format!("NOT EVERYTHING WAS UNDONE: {}", entry.notes.join("; ")),
        (State::Done, _) => "done, nothing to undo".to_owned(),
        (State::Undone, _) => format!("undone at {}", date(entry.ended_us.unwrap_or(0))),
    };
    let failed = if entry.state == State::Undone && !entry.notes.is_empty() {
        format!(" (it failed: {})", entry.notes.join("; "))
    } else {
        String::new()
    };
    let asker = match entry.asked_by {
        Some(user) => format!(", requested by user {user}"),
        None => String::new(),
    };
    format!(
        "{}  {}  {}{asker}: {state}{failed}",
        entry.id,
        date(entry.taken_us),
        entry.cause
    )
}
