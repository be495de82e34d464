//! What a fleet knows of a cause: for `explain --fleet`.

use ::fleet::Value;
use ::fleet::any_store::{Access, AnyStore};
use ::fleet::questions::question;
use ::fleet::sqlite::Given;
use ::fleet::url::StoreUrl;
use anyhow::{Context, Result};
use report::format;
use serde::Serialize;

use super::now_ms;

/// The question whose answer has a row for each cause.
const QUESTION: &str = "costs";

/// How far is looked back, days: as long as a store keeps incidents.
const DAYS: i64 = 400;

/// Causes that are looked through.
const CAUSES_MAX: u32 = 1_000;

/// How often servers of a fleet stalled by a cause.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct KnownInFleet {
    cause: String,
    /// In so many days.
    days: i64,
    /// So many servers stalled by it, of so many that the store knows.
    servers: u64,
    of_servers: u64,
    stalls: u64,
    stall_seconds: f64,
}

impl KnownInFleet {
    /// In a sentence.
    pub(crate) fn sentence(&self) -> String {
        let (servers, all, days) = (self.servers, self.of_servers, self.days);
        let often = match self.stalls {
            0 => return format!("none of {all} servers had this cause in {days} days"),
            1 => "once".to_owned(),
            stalls => format!("{stalls} times"),
        };
        format!(
            "{servers} of {all} servers had this cause in {days} days, {often}, {} in total",
            format::seconds(self.stall_seconds)
        )
    }
}

/// Asks a store.
pub(crate) fn known(url: &StoreUrl, access: Access, cause: &str) -> Result<KnownInFleet> {
    let store = AnyStore::open_to_read(url, access)?;
    let question = question(QUESTION).context(QUESTION)?;
    let now = now_ms();
    let given = Given {
        since: now - DAYS * 86_400_000,
        now,
        rows: CAUSES_MAX,
        ..Given::default()
    };
    let answer = store.ask(question, &given)?;
    let place = |name: &str| {
        let mut columns = question.columns.iter();
        columns
            .position(|column| column.name == name)
            .context(name.to_owned())
    };
    let (cause_at, servers_at) = (place("cause")?, place("servers")?);
    let (stalls_at, seconds_at) = (place("stalls")?, place("stall_seconds")?);
    let mut rows = answer.rows.iter();
    let row = rows.find(|row| row.get(cause_at) == Some(&Value::Text(cause.to_owned())));
    let number = |place: usize| row.and_then(|row| row.get(place)).map_or(0.0, number);
    Ok(KnownInFleet {
        cause: cause.to_owned(),
        days: DAYS,
        servers: number(servers_at) as u64,
        of_servers: store.extent()?.hosts,
        stalls: number(stalls_at) as u64,
        stall_seconds: number(seconds_at),
    })
}

fn number(value: &Value) -> f64 {
    match value {
        Value::Unsigned(value) => *value as f64,
        Value::Signed(value) => *value as f64,
        Value::Float(value) => *value,
        _ => 0.0,
    }
}
