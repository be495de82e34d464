//! The healthy side: work that a server and its machine do every day, beside an ordinary load. Nothing of it is a stall,
//! unless the users hang.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use testbed::{PrivateServer, ServerKind, Watch};

use super::client_latency;
use super::healthy_work::{Item, Work, clock_back};
use super::judge::is_excused;
use super::lines::{Alarm, From, Healthy, Line, Watched};
use super::notices::Recorder;
use super::recording::Truth;
use super::report::Report;
use super::stalls::{POLL, Until, WARM_UP};
use super::{clients, mechanisms};
use crate::background::Background;
use crate::healthy::work;
use lab::host::HostLease;

/// The users.
const POOL: usize = 4;

/// Statements a second of all of them: of every other stage.
const RATES: [f64; 2] = [20.0, 400.0];

/// How long one piece of work lasts.
const WORK: Duration = Duration::from_secs(20);

/// What is told so long after it is told of it.
const AFTER: Duration = Duration::from_secs(8);

/// How long one statement of the preparation may take.
const PREPARE_TIMEOUT: Duration = Duration::from_secs(300);

/// No stage lasts longer.
const LONGEST: Duration = Duration::from_secs(3600);

/// A healthy server, its users and its recorder.
struct Run<'a> {
    server: PrivateServer,
    users: Option<Background>,
    rate: f64,
    watch: Arc<Watch>,
    recorder: Recorder,
    report: &'a Report,
    from: From,
    until: Until<'a>,
    /// How much of what was told is judged already.
    judged: usize,
    frames_wanted: Vec<String>,
    scratch: &'a Path,
    /// The number of the stage.
    number: usize,
    may_set_clock: bool,
}

/// Does every piece of work that there is time for, beginning with another one in each stage.
pub(super) fn run(
    number: usize,
    kind: ServerKind,
    dir: PathBuf,
    report: &Report,
    until: Until,
    may_set_clock: bool,
) -> Result<()> {
    std::fs::create_dir_all(&dir).with_context(|| dir.display().to_string())?;
    let scratch = tempfile::tempdir()?;
    let server = start(kind)?;
    let rate = RATES.get(number % RATES.len()).copied().unwrap_or(20.0);
    let watch = Arc::new(Watch::new(POOL, LONGEST));
    let name = dir
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    let mut run = Run {
        recorder: Recorder::start(&server, &dir)?,
        users: None,
        server,
        rate,
        watch,
        report,
        from: From::here(kind, &name),
        until,
        judged: 0,
        frames_wanted: Vec::new(),
        scratch: scratch.path(),
        number,
        may_set_clock,
    };
    let begun = Instant::now();
    let result = run.all(kind);
    if let Some(users) = run.users.take() {
        users.end()?;
    }
    let stopped = run.recorder.stop();
    let calm = Watched {
        from: run.from.clone(),
        seconds: begun.elapsed().as_secs_f64(),
    };
    report.keep(&[Line::Watched(calm)])?;
    let has_failed = !run.frames_wanted.is_empty();
    report.record(&dir, || Truth {
        what: format!(
            "{}, a pool of {POOL}, {rate}/s, healthy work",
            run.from.server
        ),
        stalls: Vec::new(),
        slow: client_latency::excused(&run.watch),
    });
    report.clean(&dir, has_failed, &run.recorder.written, &run.frames_wanted);
    result.and(stopped)
}

/// A server with all tables that the work needs.
fn start(kind: ServerKind) -> Result<PrivateServer> {
    let mut arguments = work::arguments(kind);
    arguments.push("--innodb-flush-log-at-trx-commit=1".to_owned());
    let server = PrivateServer::start(&testbed::Options {
        kind,
        arguments,
        ..testbed::Options::default()
    })?;
    for mix in testbed::MIXES {
        mix.prepare(&server.login())?;
    }
    let password = server.tcp_login().password.unwrap_or_default();
    let own = mechanisms::Family::Kept.prepare();
    let own = own
        .into_iter()
        .map(|text| text.replace("{password}", &password));
    let all: Vec<String> = work::PREPARE
        .map(str::to_owned)
        .into_iter()
        .chain(own)
        .collect();
    testbed::say(&server.login(), &all, PREPARE_TIMEOUT)?;
    Ok(server)
}

impl Run<'_> {
    fn all(&mut self, kind: ServerKind) -> Result<()> {
        self.users(self.rate)?;
        self.wait(WARM_UP)?;
        self.judge("warming up")?;
        let items = Item::ALL;
        let shift = self.number * 5 % items.len();
        let (before, after) = items.split_at(shift);
        for item in after.iter().chain(before) {
            if !self.until.has_room(WORK + AFTER) {
                return Ok(());
            }
            let begun = Instant::now();
            let skipped = match item.why_not(kind, self.may_set_clock) {
                Some(why) => Some(why),
                // The others can be done all the same.
                None => self.work(*item).err().map(|why| format!("{why:#}")),
            };
            if self.until.is_over() {
                return Ok(());
            }
            let (false_alarms, felt) = self.judge(item.name())?;
            self.report.keep(&[Line::Healthy(Healthy {
                from: self.from.clone(),
                item: item.name().to_owned(),
                seconds: begun.elapsed().as_secs_f64(),
                false_alarms,
                felt,
                skipped,
            })])?;
        }
        Ok(())
    }

    /// Does one piece of work for its time, and waits for what is told of it.
    fn work(&mut self, item: Item) -> Result<()> {
        match item {
            Item::Restart => self.server.restart()?,
            Item::Factor(factor) => self.users(self.rate * factor)?,
            _ => {}
        }
        let time = item.time().unwrap_or(WORK);
        let clock = match item {
            Item::ClockSetBack => Some(clock_back(self.number, time)?),
            _ => None,
        };
        let running = Work::start(item, &self.server, self.rate, self.scratch)?;
        self.wait(time)?;
        running.end()?;
        clock.map_or(Ok(()), HostLease::end)?;
        if let Item::Factor(_) = item {
            self.users(self.rate)?;
        }
        self.wait(AFTER)
    }

    /// The users go on at this rate; at 0 they are gone.
    fn users(&mut self, rate: f64) -> Result<()> {
        if let Some(users) = self.users.take() {
            users.end()?;
        }
        if rate > 0.0 {
            let login = clients::login(&self.server, false);
            self.users = Some(clients::start(login, POOL, Some(rate), false, &self.watch)?);
        }
        Ok(())
    }

    fn wait(&mut self, time: Duration) -> Result<()> {
        let until = Instant::now() + time;
        while Instant::now() < until && !self.until.is_over() {
            self.recorder.read()?;
            std::thread::sleep(POLL);
        }
        Ok(())
    }

    /// False alarms since the last time, and what was told while the users hung.
    fn judge(&mut self, beside: &str) -> Result<(usize, usize)> {
        let stretches = client_latency::excused(&self.watch);
        let new = self.recorder.told.get(self.judged..).unwrap_or_default();
        let (felt, wrong): (Vec<_>, Vec<_>) =
            new.iter().partition(|told| is_excused(told, &stretches));
        let lines: Vec<Line> = wrong
            .iter()
            .map(|told| Line::FalseAlarm(Alarm::new(&self.from, beside.to_owned(), told)))
            .collect();
        let counts = (wrong.len(), felt.len());
        self.frames_wanted
            .extend(wrong.iter().filter_map(|told| told.id.clone()));
        self.judged = self.recorder.told.len();
        self.report.keep(&lines)?;
        Ok(counts)
    }
}
