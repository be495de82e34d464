//! A month of minutes: those of the last days once more, earlier and earlier, copied by the store itself. To make and send
//! each would take most of an hour; and what a question must not read may be the same again.

use std::time::Duration;

use anyhow::Result;
use fleet::any_store::AnyStore;
use fleet::table::Table;
use fleet::tables::{RECORDER_HEALTH, SIGNALS};

use super::INCIDENT_DAYS;

/// How long a copy may take.
const DEADLINE: Duration = Duration::from_secs(1800);

/// Fills a month with the minutes of so many days that are in this store. One that is no ClickHouse stays as it is.
pub(super) fn fill(store: &AnyStore, days: f64) -> Result<()> {
    let AnyStore::ClickHouse(store) = store else {
        return Ok(());
    };
    for table in [&RECORDER_HEALTH, &SIGNALS] {
        if let Some(copy) = copy(table, days) {
            store.answer(&copy, DEADLINE)?;
        }
    }
    Ok(())
}

/// The statement that copies the rows of a table; none where they fill a month already.
fn copy(table: &Table, days: f64) -> Option<String> {
    let times = (INCIDENT_DAYS / days).floor();
    let is_less = times.is_finite() && times > 1.0;
    if !is_less {
        return None;
    }
    let seconds = (days * super::DAY_SECONDS).ceil();
    let names: Vec<&str> = table.columns.iter().map(|column| column.name).collect();
    let values: Vec<String> = names
        .iter()
        .map(|name| match *name {
            "ts" => format!("t.ts - toIntervalSecond({seconds} * back) AS ts"),
            name => format!("t.{name} AS {name}"),
        })
        .collect();
    Some(format!(
        "INSERT INTO {} ({}) SELECT {} FROM {} AS t ARRAY JOIN range(1, {times}) AS back",
        table.name,
        names.join(", "),
        values.join(", "),
        table.name
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_month_is_filled_with_what_is_there() {
        let sql = copy(&RECORDER_HEALTH, 2.0).unwrap_or_default();
        let wanted = "INSERT INTO recorder_health (host_id, ts, lost, spooled_bytes, cpu_ms, absent) SELECT \
             t.host_id AS host_id, t.ts - toIntervalSecond(172800 * back) AS ts, t.lost AS lost, \
             t.spooled_bytes AS spooled_bytes, t.cpu_ms AS cpu_ms, t.absent AS absent \
             FROM recorder_health AS t ARRAY JOIN range(1, 15) AS back";
        assert_eq!(sql, wanted);
        for days in [30.0, 16.0, 0.0] {
            assert_eq!(copy(&SIGNALS, days), None, "{days}");
        }
    }
}
