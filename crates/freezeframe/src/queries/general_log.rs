//! `queries --live` by the general log: a lease of it, or the log that the user has on already.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use cli::output;
use model::{Absent, Reason};
use remedy::general_log::{GaveBack, LeaseError, Plan, capture, open_log};
use remedy::{GiveBackEnd, Patience, ProcessId, ServerLogin, revert_leftovers};
use sql::log::LogKind;

use super::listening::{Listening, LiveDigest, Unavailable, absolute, answers, wait};
use super::{file, options};
use crate::args::QueryMethodArg;
use crate::journals;

const WHAT: &str = "the general log";

/// How long a leftover of an earlier lease may take to be given back before this one is refused.
const LEFTOVER_PATIENCE: std::time::Duration = std::time::Duration::from_secs(10);

/// By a lease, where the user permits it; by the log that is on already without asking.
pub(super) fn listen(listening: &Listening<'_>) -> Result<LiveDigest, Unavailable> {
    let plan = plan(listening)?;
    let address = server::Address::from(&plan.server.address);
    answers(listening, &address).map_err(|absent| {
        Unavailable::Possible(Absent {
            what: WHAT.to_owned(),
            ..absent
        })
    })?;
    match open_log(&plan) {
        Ok(Some(file)) => return Ok(read_open_log(listening, &file)?),
        Err(LeaseError::Server(error)) => return Err(Unavailable::Possible(error.absent(WHAT))),
        Ok(None) | Err(_) => {}
    }
    if !listening.args.live.allow_general_log {
        let detail = if listening.args.live.way == QueryMethodArg::GeneralLog {
            "it changes the server's settings meanwhile: allow that with --allow-general-log"
        } else {
            "not tried without --allow-general-log"
        };
        return Err(Unavailable::Possible(Absent::new(
            WHAT,
            Reason::Permission,
            detail,
        )));
    }
    revert_earlier(&plan);
    if listening.stop.is_set() {
        return Err(Unavailable::Error(anyhow!(
            "interrupted: nothing was changed"
        )));
    }
    let mut tell = |line: &str| output::note(line);
    let mut stop = || listening.stop.is_set();
    let mut bytes = 0;
    let captured = capture(&plan, &mut stop, &mut tell, |log| {
        bytes = log.metadata().map_or(0, |metadata| metadata.len());
        digest(listening, log)
    });
    let captured = match captured {
        Ok(captured) => captured,
        Err(LeaseError::AlreadyOn(file)) => return Ok(read_open_log(listening, &file)?),
        Err(LeaseError::Server(error)) => return Err(Unavailable::Possible(error.absent(WHAT))),
        Err(error @ LeaseError::NoPrivilege { .. }) => {
            return Err(Unavailable::Possible(Absent::new(
                WHAT,
                Reason::Permission,
                error.to_string(),
            )));
        }
        Err(error) => return Err(Unavailable::Error(error.into())),
    };
    let mut seen = captured.read?;
    // The log's own moments are seconds in some servers.
    seen.digest.from_us = Some(captured.begin_us);
    seen.digest.to_us = Some(captured.end_us);
    users_of_old_connections(&mut seen);
    if let Some(words) = captured.ended_by.to_text() {
        seen.digest
            .blind
            .push(Absent::new("statements", Reason::Limit, words));
    }
    if captured.diverted_slow_log {
        output::note("meanwhile slow statements went to the slow log's file instead of its table");
    }
    match captured.back {
        GiveBackEnd::Answered(GaveBack::Back) => {}
        GiveBackEnd::Answered(GaveBack::NothingToDo) => {
            output::note("somebody else had already restored the general log's settings")
        }
        GiveBackEnd::Answered(GaveBack::TakenOver { file }) => {
            output::note(&format!(
                "somebody set general_log_file to {file} meanwhile; it stays so"
            ));
        }
        GiveBackEnd::ServerEnded => {
            output::note("the server has ended, so the general log's settings are gone")
        }
        GiveBackEnd::Left(why) => {
            seen.is_left = true;
            seen.cost = format!(
                "THE GENERAL LOG IS STILL ON: the server does not answer ({why}); the watchdog switches it off as soon as \
                 the server answers; freezeframe leases shows it"
            );
            return Ok(seen);
        }
    }
    seen.cost = format!(
        "the general log was on, {:.1} MiB; its settings are restored, and our file was removed",
        bytes as f64 / f64::from(1 << 20)
    );
    Ok(seen)
}

fn plan(listening: &Listening<'_>) -> Result<Plan, Unavailable> {
    let live = &listening.args.live;
    let target = &listening.target;
    let Some(address) = target.first_address() else {
        return Err(Unavailable::Possible(Absent::new(
            WHAT,
            Reason::NoConnection,
            "no address of the server is known",
        )));
    };
    let login = journals::login_way(&live.server, &listening.config, &target.login.user);
    Ok(Plan {
        journal: absolute(&journals::leases(
            live.lease_dir.as_deref(),
            &listening.config,
        )),
        server: ServerLogin {
            address: (&address).into(),
            process: target.process.as_ref().map(|process| ProcessId {
                pid: process.pid,
                start_time_ticks: process.start_time_ticks,
            }),
            login,
        },
        login: target.login.clone(),
        time_max: listening.time,
        bytes_max: live.log_max << 20,
        free_bytes_min: live.leave_free << 20,
        program: PathBuf::from("/proc/self/exe"),
        stop: listening.stop.shared(),
    })
}

/// What an earlier lease left behind is given back first; what fails is said and may not concern this server.
fn revert_earlier(plan: &Plan) {
    let login = |lease: &remedy::Lease| {
        if lease.server.address == plan.server.address {
            return Ok(plan.login.clone());
        }
        let environment = std::env::var("MYSQL_PWD").ok();
        lease
            .server
            .login
            .login(environment)
            .map_err(|error| error.to_string())
    };
    let found = revert_leftovers(
        &plan.journal,
        &login,
        &Patience::within(LEFTOVER_PATIENCE).or_until(&plan.stop),
        &mut |line| output::note(line),
    );
    for leftover in found.into_iter().flatten() {
        match leftover {
            Ok(leftover) => match leftover.outcome {
                remedy::Outcome::GivenBack(_) => {
                    output::note(&format!("undid the earlier lease {}", leftover.lease.id));
                }
                remedy::Outcome::Failed(why) => {
                    output::note(&format!(
                        "could not undo the earlier lease {}: {why}",
                        leftover.lease.id
                    ));
                }
                _ => {}
            },
            Err(error) => output::note(&error.to_string()),
        }
    }
}

/// The part of a log that is written from now on: nothing is changed for it.
fn read_open_log(listening: &Listening<'_>, file: &Path) -> Result<LiveDigest> {
    let context = || format!("the general log is already on, in {}", file.display());
    let mut log = File::open(file).with_context(context)?;
    log.seek(SeekFrom::End(0)).with_context(context)?;
    let begin_us = kernel::clock::wall_ms().saturating_mul(1000);
    wait(listening, Instant::now());
    let mut part = tempfile::tempfile()?;
    let limit = listening.args.live.log_max << 20;
    let copied = std::io::copy(&mut log.take(limit), &mut part)?;
    let path = PathBuf::from(format!("/proc/self/fd/{}", part.as_raw_fd()));
    let mut seen = digest(listening, &path)?;
    seen.digest.from_us = Some(begin_us);
    seen.digest.to_us = Some(kernel::clock::wall_ms().saturating_mul(1000));
    users_of_old_connections(&mut seen);
    if copied == limit {
        let detail = format!(
            "only the first {} MiB of this time were read",
            listening.args.live.log_max
        );
        seen.digest
            .blind
            .push(Absent::new("statements", Reason::Limit, detail));
    }
    seen.cost = format!(
        "the general log was already on ({}); nothing was changed",
        file.display()
    );
    Ok(seen)
}

fn users_of_old_connections(seen: &mut LiveDigest) {
    seen.digest.blind.push(Absent::new(
        "users, hosts and databases",
        Reason::NotRecorded,
        "a general log has them only where a connection begins: unknown for connections that were already open",
    ));
}

fn digest(listening: &Listening<'_>, log: &Path) -> Result<LiveDigest> {
    let args = listening.args;
    // A log without a statement does not show its kind; that nothing was asked is an answer.
    let kind = LogKind::General;
    let (digester, amount) = file::read_known(log, kind, &options::options(args)?)?;
    file::print_remarks(&digester, amount);
    let told = file::finish(args, digester, Some(kind))?;
    Ok(LiveDigest {
        digest: told.digest,
        total: Some(told.total),
        cost: String::new(),
        is_left: false,
    })
}
