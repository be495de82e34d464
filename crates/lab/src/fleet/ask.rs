//! Questions to a simulated fleet: how long each takes, and whether the incidents that are called alike are.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Instant;

use anyhow::{Context, Result};
use fleet::any_store::AnyStore;
use fleet::cells;
use fleet::questions::{QUESTIONS, question};
use fleet::sqlite::Given;

use super::templates::Template;
use super::write::Stalled;

/// Times each question is asked; the first finds nothing read yet.
const TIMES: usize = 6;

/// Rows of an answer.
const ROWS: u32 = 10;

/// A question with how long it took, milliseconds.
pub(super) struct Asked {
    pub(super) name: &'static str,
    /// The first time.
    pub(super) first_ms: f64,
    /// The best of the others.
    pub(super) best_ms: f64,
    /// Processor time of the store for each, where it is a process that can be seen: what else runs on the machine changes it
    /// least.
    pub(super) cpu_ms: Option<f64>,
    pub(super) rows: usize,
}

/// Asks all questions. `now`: seconds since 1970; `process`: of the store.
pub(super) fn all(store: &AnyStore, now: i64, process: Option<u32>) -> Result<Vec<Asked>> {
    let subject = store.subject(None)?;
    let mut asked = Vec::new();
    for question in QUESTIONS {
        let given = Given {
            since: (now - i64::from(question.days) * 86_400) * 1000,
            now: now * 1000,
            rows: ROWS,
            subject: subject.clone(),
            ..Given::default()
        };
        let mut times = Vec::new();
        let mut rows = 0;
        let before = process.and_then(cpu_ms);
        for _ in 0..TIMES {
            let begin = Instant::now();
            rows = store.ask(question, &given)?.rows.len();
            times.push(begin.elapsed().as_secs_f64() * 1000.0);
        }
        let cpu = process.and_then(cpu_ms).zip(before);
        asked.push(Asked {
            cpu_ms: cpu.map(|(after, before)| (after - before) / TIMES as f64),
            name: question.name,
            first_ms: times.first().copied().unwrap_or_default(),
            best_ms: times.iter().skip(1).copied().fold(f64::INFINITY, f64::min),
            rows,
        });
    }
    Ok(asked)
}

/// Processor time of a process with all its threads that were and are (proc_pid_stat(5), ticks of 10 ms), milliseconds.
pub(super) fn cpu_ms(process: u32) -> Option<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, fields) = stat.rsplit_once(')')?;
    let ticks = fields.split_whitespace().skip(11).take(2);
    let ticks = ticks.map(|field| field.parse::<f64>().ok());
    Some(ticks.sum::<Option<f64>>()? * 10.0)
}

/// What came of asking which servers stalled like an incident.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Alike {
    /// Incidents that were asked about, of those with another of their kind on another server.
    pub(super) asked: usize,
    /// The first other server's incident is of the same kind.
    pub(super) right: usize,
    /// What was found instead: the kind, the evidence that it was told by, and the kind of the first.
    pub(super) wrong: Vec<(String, String, String)>,
}

impl Alike {
    pub(super) fn share(&self) -> f64 {
        self.right as f64 / self.asked.max(1) as f64
    }
}

/// Asks about so many incidents, spread over all whose kind another server has, too.
pub(super) fn alike(
    store: &AnyStore,
    now: i64,
    stalled: &[Stalled],
    templates: &[Template],
    cases: usize,
) -> Result<Alike> {
    let like_this = question("like-this").context("the question 'like-this' is gone")?;
    let truth_of = |one: &Stalled| -> &str {
        let template = templates.get(one.template);
        template.map_or("", |template| template.truth.as_str())
    };
    let mut servers: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    for one in stalled {
        servers.entry(truth_of(one)).or_default().insert(one.server);
    }
    let known: HashMap<&str, &str> = stalled
        .iter()
        .map(|one| (one.id.as_str(), truth_of(one)))
        .collect();
    let has_relatives = |one: &&Stalled| {
        let servers = servers.get(truth_of(one));
        servers.is_some_and(|servers| servers.len() > 1)
    };
    let related: Vec<&Stalled> = stalled.iter().filter(has_relatives).collect();
    let step = (related.len() / cases.max(1)).max(1);
    let mut alike = Alike::default();
    for one in related.into_iter().step_by(step).take(cases) {
        let subject = store.subject(Some(&one.id))?;
        let given = Given {
            // All there is: a clock that is ahead has told later moments.
            since: 0,
            now: (now + 86_400) * 1000,
            rows: 2,
            subject: Some(subject.context("an incident is gone")?),
            ..Given::default()
        };
        let own = own_server(store, &given)?;
        let answer = store.ask(like_this, &given)?;
        let first = cells::rows(like_this, &answer).find(|row| row.text("host") != own);
        let found = first.and_then(|row| known.get(row.text("incident")));
        let (wanted, found) = (truth_of(one), found.copied().unwrap_or_default());
        alike.asked += 1;
        if found == wanted {
            alike.right += 1;
        } else {
            let view = one.view.to_owned();
            alike
                .wrong
                .push((wanted.to_owned(), view, found.to_owned()));
        }
    }
    Ok(alike)
}

/// The server of the incident that a question is about, as answers call it.
fn own_server(store: &AnyStore, given: &Given) -> Result<String> {
    let view = &fleet::questions::views::INCIDENTS;
    let answer = store.ask(view, given)?;
    let first = cells::rows(view, &answer).next();
    Ok(first.map_or_else(String::new, |row| row.text("host").to_owned()))
}
