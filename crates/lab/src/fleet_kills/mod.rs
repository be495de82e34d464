//! Recorders that send to a fleet are killed at random moments, and so are a gateway and the store: whether each row is
//! there in the end, and once.
//!
//! **Real processes.** Each recorder finds a history of another server and, one after the other, incidents; it sends
//! these while we kill it (SIGKILL) and start it again. What must be in the store is what one has that was fed in peace.

mod agent;
mod found;

use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use cli::output;
use fleet::clickhouse::{Address, Layout, Store};
use serde_json::json;
use tempfile::TempDir;

use crate::args::FleetKills;
use crate::chance::Chance;
use crate::fleet::{DevelopmentServer, Gateway};
use agent::{Agent, Task, To};
use found::{Counts, TABLES};

/// Minutes of each history, at the least, and more for each kill of its recorder; less than a day.
const MINUTES_MIN: i64 = 40;
const MINUTES_A_KILL: i64 = 3;
const MINUTES_MAX: i64 = 1_200;

/// How long a process lives until it is killed.
const LIFE_MIN: Duration = Duration::from_millis(60);
const LIFE_MAX: Duration = Duration::from_millis(1_800);

/// Share of kills that are of the store, where it is a process, and of those left, of the gateway, where there is one.
const OF_STORE: f64 = 0.2;
const OF_GATEWAY: f64 = 0.4;

/// How long the rest may take.
const PATIENCE: Duration = Duration::from_secs(900);

/// What was done.
#[derive(Debug, Clone, Copy, Default)]
struct Done {
    kills: u32,
    of_store: u32,
    of_gateway: u32,
    /// While something was left to send.
    busy: u32,
}

pub(crate) fn run(args: &FleetKills) -> Result<ExitCode> {
    let Some((done, wanted, found)) = killed(args)? else {
        bail!("scripts/fleet-server fetch was not done");
    };
    let is_right = wanted == found.final_rows;
    if args.json {
        output::print_json(&json!({
            "kills": done.kills, "of_store": done.of_store, "of_gateway": done.of_gateway, "busy": done.busy,
            "wanted": wanted.as_json(), "found": found.final_rows.as_json(), "raw": found.raw.as_ref().map(Counts::as_json), "right": is_right,
        }))?;
    } else {
        output::print(&format!(
            "{} kills, {} of the store, {} of the gateway; {} while a recorder had something left to send",
            done.kills, done.of_store, done.of_gateway, done.busy
        ))?;
        for (table, _) in TABLES {
            let raw = found.raw.as_ref().map(|raw| raw.of(table));
            let raw = raw.map_or_else(String::new, |raw| {
                format!(", {raw} before parts are merged")
            });
            output::print(&format!(
                "{table:<18} {} of {}{raw}",
                found.final_rows.of(table),
                wanted.of(table)
            ))?;
        }
        output::print(match is_right {
            true => "each row is there once",
            false => "NOT SO: rows are missing, or there twice",
        })?;
    }
    Ok(match is_right {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(3),
    })
}

/// What a store holds in the end.
struct Found {
    /// As answers see it.
    final_rows: Counts,
    /// With what a later merge takes away, where there is such.
    raw: Option<Counts>,
}

fn killed(args: &FleetKills) -> Result<Option<(Done, Counts, Found)>> {
    let dir = tempfile::tempdir()?;
    let of_each = i64::from(args.kills / args.agents + 1);
    let minutes = (MINUTES_MIN + MINUTES_A_KILL * of_each).min(MINUTES_MAX);
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?;
    let now = i64::try_from(now.as_secs())?;
    let task = Task {
        begin: now - now.rem_euclid(60) - (minutes + 5) * 60,
        minutes,
        seed: args.seed,
    };
    std::fs::write(dir.path().join("salt"), [7; 32])?;
    let server = match args.server {
        true => match DevelopmentServer::start()? {
            Some(server) => Some(server),
            None => return Ok(None),
        },
        false => None,
    };
    let mut fleet = Killed {
        chance: Chance::of(&[args.seed, 5]),
        incidents: vec![0; args.agents as usize],
        agents: Vec::new(),
        server,
        gateway: None,
        done: Done::default(),
        task,
        dir,
    };
    fleet.kill(args)?;
    let found = fleet.found()?;
    let wanted = fleet.in_peace()?;
    Ok(Some((fleet.done, wanted, found)))
}

struct Killed {
    dir: TempDir,
    task: Task,
    chance: Chance,
    agents: Vec<Agent>,
    /// Incidents that each was given.
    incidents: Vec<i64>,
    /// Between the recorders and the store. Before the store: it ends first.
    gateway: Option<Gateway>,
    server: Option<DevelopmentServer>,
    done: Done,
}

impl Killed {
    fn url(&self) -> String {
        match &self.server {
            Some(server) => server.url(),
            None => format!("sqlite://{}", self.dir.path().join("killed.db").display()),
        }
    }

    fn kill(&mut self, args: &FleetKills) -> Result<()> {
        let url = self.url();
        if self.server.is_some() {
            self.store()?
                .init(&Layout::Single, self.task.begin, env!("CARGO_PKG_VERSION"))?;
        }
        self.hold_merges()?;
        if args.gateway {
            self.gateway = Some(Gateway::start(self.dir.path(), &url)?);
        }
        for number in 0..self.incidents.len() {
            let to = match &self.gateway {
                Some(gateway) => To {
                    url: gateway.url(),
                    token: gateway.token(&format!("sim{number}"))?,
                },
                None => To {
                    url: url.clone(),
                    token: String::new(),
                },
            };
            let mut agent = Agent::new(self.dir.path(), "killed", number, &to, &self.task)?;
            agent.start()?;
            self.agents.push(agent);
        }
        let end = Instant::now() + args.for_time;
        while self.done.kills < args.kills && Instant::now() < end {
            let life = self
                .chance
                .between(LIFE_MIN.as_secs_f64(), LIFE_MAX.as_secs_f64());
            let waits_for_a_batch = self.chance.is(0.5);
            let is_store = self.server.is_some() && self.chance.is(OF_STORE);
            let is_gateway = self.gateway.is_some() && self.chance.is(OF_GATEWAY);
            let number = self.chance.below(self.agents.len());
            let (Some(agent), Some(count)) =
                (self.agents.get_mut(number), self.incidents.get_mut(number))
            else {
                break;
            };
            *count += 1;
            agent.incident(*count, &self.task)?;
            match waits_for_a_batch {
                // On a fast machine all is sent before most moments that are chosen by chance.
                true => agent.wait_for_a_batch(Duration::from_secs_f64(life)),
                false => std::thread::sleep(Duration::from_secs_f64(life)),
            }
            self.done.kills += 1;
            self.done.busy += u32::from(!agent.is_fed(*count, &self.task));
            match (&mut self.server, &mut self.gateway) {
                (Some(server), _) if is_store => {
                    self.done.of_store += 1;
                    server.kill_and_start()?;
                    self.hold_merges()?;
                }
                (_, Some(gateway)) if is_gateway => {
                    self.done.of_gateway += 1;
                    gateway.kill_and_start()?;
                }
                _ => {
                    agent.kill()?;
                    agent.start()?;
                }
            }
            if output::is_terminal() {
                output::progress(&format!("{} of {} kills", self.done.kills, args.kills));
            }
        }
        if output::is_terminal() {
            output::clear_progress();
        }
        for (agent, count) in self.agents.iter_mut().zip(&self.incidents) {
            // Anew, so that nobody waits for the end of a long pause.
            agent.kill()?;
            agent.start()?;
            agent.wait_until_fed(*count, &self.task, PATIENCE)?;
            agent.kill()?;
        }
        if let Some(gateway) = &mut self.gateway {
            gateway.kill_and_start()?;
            gateway.wait_until_stored(PATIENCE)?;
        }
        Ok(())
    }

    fn store(&self) -> Result<Store> {
        Ok(Store::at(Address::parse(&self.url())?))
    }

    /// So that rows that came twice lie there.
    fn hold_merges(&self) -> Result<()> {
        if self.server.is_some() {
            self.store()?
                .answer("SYSTEM STOP MERGES", Duration::from_secs(60))?;
        }
        Ok(())
    }

    fn found(&self) -> Result<Found> {
        Ok(match &self.server {
            Some(_) => Found {
                final_rows: found::of_clickhouse(&self.store()?, true)?,
                raw: Some(found::of_clickhouse(&self.store()?, false)?),
            },
            None => Found {
                final_rows: found::of_sqlite(&self.dir.path().join("killed.db"))?,
                raw: None,
            },
        })
    }

    /// The same, sent in peace to another store.
    fn in_peace(&self) -> Result<Counts> {
        let db = self.dir.path().join("peace.db");
        let to = To {
            url: format!("sqlite://{}", db.display()),
            token: String::new(),
        };
        for (number, count) in self.incidents.iter().enumerate() {
            let mut agent = Agent::new(self.dir.path(), "peace", number, &to, &self.task)?;
            for incident in 1..=*count {
                agent.incident(incident, &self.task)?;
            }
            agent.start()?;
            agent.wait_until_fed(*count, &self.task, PATIENCE)?;
            agent.kill()?;
        }
        found::of_sqlite(&db).context("the store that was fed in peace")
    }
}
