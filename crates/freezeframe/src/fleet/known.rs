//! What a fleet knows of a cause: for `explain --fleet`, and for the fleet's pages.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ::fleet::any_store::{Access, AnyError, AnyStore};
use ::fleet::cells::{self, Cells};
use ::fleet::questions::question;
use ::fleet::sqlite::Given;
use ::fleet::url::StoreUrl;
use anyhow::Result;
use cli::output;
use report::format;
use serde::Serialize;

use super::now_ms;

/// How far is looked back for the cause, days: what happened long ago on other versions says little.
const DAYS: i64 = 90;

/// Causes that are looked through, and remedies.
const ROWS_MAX: u32 = 1_000;

/// How long a store is waited for. The verdict is there without it.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often servers of a fleet stalled by a cause, and what helped.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct KnownInFleet {
    pub(crate) cause: String,
    /// In so many days.
    days: i64,
    /// So many servers stalled by it, of so many that the store knows.
    servers: u64,
    of_servers: u64,
    pub(crate) stalls: u64,
    stall_seconds: f64,
    /// What was tried against it, on the most servers first.
    remedies: Vec<Tried>,
}

/// A remedy that was tried against a cause.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Tried {
    pub(crate) remedy: String,
    /// On so many servers.
    pub(crate) servers: u64,
    /// On so many of these there were at most half as many stalls after it.
    pub(crate) helped: u64,
    /// On so many of these too few stalls came, or were to be expected, to tell.
    pub(crate) undecided: u64,
}

impl Tried {
    /// In words: `on 31 of 34 servers thp-never helped`.
    fn words(&self) -> String {
        let judged = self.servers.saturating_sub(self.undecided);
        // Whoever writes to the store says what it is called.
        let remedy = output::plain(&self.remedy);
        match (judged, self.servers) {
            (0, 1) => format!("{remedy} was applied on 1 server: too early to tell"),
            (0, servers) => format!("{remedy} was applied on {servers} servers: too early to tell"),
            (judged, _) => format!("on {} of {judged} servers {remedy} helped", self.helped),
        }
    }
}

impl KnownInFleet {
    /// In a sentence.
    pub(crate) fn sentence(&self) -> String {
        let (servers, all, days) = (self.servers, self.of_servers, self.days);
        let often = match self.stalls {
            0 => String::new(),
            1 => ", once".to_owned(),
            stalls => format!(", {stalls} times"),
        };
        let who = match (servers, all) {
            (0, 1) => "the only server there has not".to_owned(),
            (_, 1) => "the only server there".to_owned(),
            (0, all) => format!("none of {all} servers"),
            (servers, all) => format!("{servers} of {all} servers"),
        };
        let had = match self.stalls {
            0 => format!("{who} had this cause in the last {days} days"),
            _ => format!(
                "{who} had this cause in the last {days} days{often}, {} in total",
                format::seconds(self.stall_seconds)
            ),
        };
        // One of which something is known, before one that only more servers have.
        let is_known = |tried: &&Tried| tried.undecided < tried.servers;
        let known = self.remedies.iter().find(is_known);
        match known.or(self.remedies.first()) {
            Some(tried) => format!("{had}; {}", tried.words()),
            None => had,
        }
    }
}

/// Asks a store, of several causes at once.
pub(crate) fn known(url: &StoreUrl, access: Access, causes: &[&str]) -> Result<Vec<KnownInFleet>> {
    let store = AnyStore::open_to_read_until(url, access, Instant::now() + PATIENCE)?;
    let (now, mut tried) = (now_ms(), remedies(&store)?);
    let of_servers = store.extent()?.hosts;
    let nothing = |cause: &&str| KnownInFleet {
        cause: (*cause).to_owned(),
        days: DAYS,
        servers: 0,
        of_servers,
        stalls: 0,
        stall_seconds: 0.0,
        remedies: tried.remove(*cause).unwrap_or_default(),
    };
    let mut all: Vec<KnownInFleet> = causes.iter().map(nothing).collect();
    let given = Given {
        since: now - DAYS * 86_400_000,
        now,
        rows: ROWS_MAX,
        ..Given::default()
    };
    // Its answer has a row for each cause.
    with_rows(&store, "costs", &given, |row| {
        let cause = row.text("cause");
        if let Some(known) = all.iter_mut().find(|known| known.cause == cause) {
            known.servers = row.count("servers");
            known.stalls = row.count("stalls");
            known.stall_seconds = row.number("stall_seconds");
        }
    })?;
    Ok(all)
}

/// What was tried, by cause.
pub(crate) fn remedies(store: &AnyStore) -> Result<BTreeMap<String, Vec<Tried>>, AnyError> {
    let now = now_ms();
    let days = question("remedies").map_or(0, |question| question.days);
    let given = Given {
        since: now - i64::from(days) * 86_400_000,
        now,
        rows: ROWS_MAX,
        ..Given::default()
    };
    let mut tried: BTreeMap<String, Vec<Tried>> = BTreeMap::new();
    with_rows(store, "remedies", &given, |row| {
        let of_cause = tried.entry(row.text("cause").to_owned()).or_default();
        of_cause.push(Tried {
            remedy: row.text("remedy").to_owned(),
            servers: row.count("servers"),
            helped: row.count("helped"),
            undecided: row.count("undecided"),
        });
    })?;
    Ok(tried)
}

/// Looks at the rows of the answer to a question.
fn with_rows(
    store: &AnyStore,
    name: &str,
    given: &Given,
    look: impl FnMut(Cells<'_>),
) -> Result<(), AnyError> {
    if let Some(question) = question(name) {
        let answer = store.ask(question, given)?;
        cells::rows(question, &answer).for_each(look);
    }
    Ok(())
}
