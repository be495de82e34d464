//! The difference of two readings; pure.

use std::collections::HashMap;

use model::{
    Absent, Counted, FoldedClasses, OrderBy, QueryClass, QueryDigest, QueryMeasure, QueryMethod,
    Reason,
};

use super::coverage::Counts;
use super::{DigestReading, DigestRow, DigestSums, WHAT, is_own};
use crate::digests::text::fingerprint_of_digest_text;

/// Timers of performance_schema count picoseconds.
const PICOSECONDS: f64 = 1e12;

/// Classes that are told one by one; those with less time are folded.
const CLASSES_MAX: usize = 10_000;

/// What was asked between two readings of one server.
///
/// A row whose count fell, or which was made anew since (`FIRST_SEEN`), was emptied in between: all it has was asked in
/// this stretch, and what it had before that is lost and said so. Rows that are alike for us (other names for one class,
/// other databases) are one class. Our own reading is left out.
pub fn delta(before: &DigestReading, after: &DigestReading) -> QueryDigest {
    let mut classes: HashMap<String, Sum> = HashMap::new();
    let mut emptied = before.rows.keys().any(|key| !after.rows.contains_key(key));
    for (key, row) in &after.rows {
        let old = before.rows.get(key);
        emptied |= old.is_some_and(|old| is_anew(old, row));
        let window = window(old, row);
        if window.sums.count == 0 {
            continue;
        }
        let fingerprint = match row.text.as_str() {
            "" => format!("(the text of digest {} is gone)", key.digest),
            text => fingerprint_of_digest_text(text),
        };
        if is_own(&fingerprint) {
            continue;
        }
        let schema = (!key.schema.is_empty()).then_some(key.schema.as_str());
        classes.entry(fingerprint).or_default().add(schema, &window);
    }
    let mut told: Vec<QueryClass> = classes
        .into_iter()
        .map(|(text, sum)| sum.class(text))
        .collect();
    told.order_by(|a, b| {
        let seconds = |class: &QueryClass| class.sum("Query_time").unwrap_or(0.0);
        seconds(b)
            .total_cmp(&seconds(a))
            .then_with(|| a.fingerprint.cmp(&b.fingerprint))
    });
    let mut errors = total(told.iter().filter_map(|class| class.errors));
    let over = told.split_off(told.len().min(CLASSES_MAX));
    let mut folded = FoldedClasses {
        count: total(over.iter().map(|class| class.count)),
        seconds: Some(
            over.iter()
                .filter_map(|class| class.sum("Query_time"))
                .sum(),
        ),
        classes_at_least: over.len() as u64,
    };
    let no_room = after
        .no_room
        .as_ref()
        .map(|row| window_sums(before.no_room.as_ref(), row));
    if let Some(sums) = no_room.filter(|sums| sums.count > 0) {
        folded.count = folded.count.saturating_add(sums.count);
        folded.seconds = folded
            .seconds
            .map(|seconds| seconds + seconds_of(sums.wait));
        folded.classes_at_least += 1;
        errors = errors.saturating_add(sums.errors);
    }
    // A class that finds no room is counted in its row and as lost; what is left found no row at all.
    let lost = after
        .lost
        .saturating_sub(before.lost)
        .saturating_sub(no_room.map_or(0, |sums| sums.count));
    QueryDigest {
        tried: Vec::new(),
        method: QueryMethod::PerformanceSchema,
        from_us: Some(before.at_us),
        to_us: Some(after.at_us),
        count: total(told.iter().map(|class| class.count)).saturating_add(folded.count),
        errors: Some(errors),
        classes: told,
        folded: (folded.count > 0).then_some(folded),
        lost,
        blind: blind(before, after, emptied, no_room.map_or(0, |sums| sums.count)),
        connections: None,
    }
}

/// A sum that hostile numbers cannot overflow.
fn total(counts: impl Iterator<Item = u64>) -> u64 {
    counts.fold(0, u64::saturating_add)
}

/// Whether a row counted something since the reading before.
pub(super) fn has_moved(before: Option<&DigestRow>, after: &DigestRow) -> bool {
    window_sums(before, after).count > 0
}

fn is_anew(before: &DigestRow, after: &DigestRow) -> bool {
    after.sums.count < before.sums.count || after.first_seen != before.first_seen
}

/// What one row counted in the window, and the extremes that were reached in it.
#[derive(Debug, Default, Clone, Copy)]
struct RowWindow {
    sums: DigestSums,
    min: Option<u64>,
    max: Option<u64>,
}

fn window(before: Option<&DigestRow>, after: &DigestRow) -> RowWindow {
    let sums = window_sums(before, after);
    let old = before.filter(|before| !is_anew(before, after));
    RowWindow {
        sums,
        min: Some(after.sums.wait_min).filter(|min| old.is_none_or(|old| *min < old.sums.wait_min)),
        max: Some(after.sums.wait_max).filter(|max| old.is_none_or(|old| *max > old.sums.wait_max)),
    }
}

fn window_sums(before: Option<&DigestRow>, after: &DigestRow) -> DigestSums {
    let Some(before) = before.filter(|before| !is_anew(before, after)) else {
        return after.sums;
    };
    let (old, new) = (&before.sums, &after.sums);
    // The table is not read at one moment: a sum may be behind its count, never before it for long.
    DigestSums {
        count: new.count.saturating_sub(old.count),
        wait: new.wait.saturating_sub(old.wait),
        wait_min: 0,
        wait_max: 0,
        lock: new.lock.saturating_sub(old.lock),
        errors: new.errors.saturating_sub(old.errors),
        warnings: new.warnings.saturating_sub(old.warnings),
        rows_affected: new.rows_affected.saturating_sub(old.rows_affected),
        rows_sent: new.rows_sent.saturating_sub(old.rows_sent),
        rows_examined: new.rows_examined.saturating_sub(old.rows_examined),
        tmp_tables: new.tmp_tables.saturating_sub(old.tmp_tables),
        tmp_disk_tables: new.tmp_disk_tables.saturating_sub(old.tmp_disk_tables),
        merge_passes: new.merge_passes.saturating_sub(old.merge_passes),
        no_index_used: new.no_index_used.saturating_sub(old.no_index_used),
    }
}

/// One of a row's sums.
type Part = fn(&DigestSums) -> u64;

/// Rows that are one class for us.
#[derive(Debug, Default)]
struct Sum {
    rows: Vec<RowWindow>,
    databases: HashMap<String, u64>,
}

impl Sum {
    fn add(&mut self, schema: Option<&str>, window: &RowWindow) {
        self.rows.push(*window);
        if let Some(schema) = schema {
            let count = self.databases.entry(schema.to_owned()).or_default();
            *count = count.saturating_add(window.sums.count);
        }
    }

    fn class(self, fingerprint: String) -> QueryClass {
        let sum_of =
            |part: Part| -> f64 { self.rows.iter().map(|row| part(&row.sums) as f64).sum() };
        let count = total(self.rows.iter().map(|row| row.sums.count));
        let measure = |name: &str, sum: f64| QueryMeasure {
            name: name.to_owned(),
            count,
            sum,
            ..QueryMeasure::default()
        };
        let mut measures = vec![
            QueryMeasure {
                min: self.extreme(|row| row.min, u64::min),
                max: self.extreme(|row| row.max, u64::max),
                ..measure("Query_time", sum_of(|sums| sums.wait) / PICOSECONDS)
            },
            measure("Lock_time", sum_of(|sums| sums.lock) / PICOSECONDS),
            measure("Rows_sent", sum_of(|sums| sums.rows_sent)),
            measure("Rows_examined", sum_of(|sums| sums.rows_examined)),
            measure("Rows_affected", sum_of(|sums| sums.rows_affected)),
        ];
        let rare: [(&str, Part); 5] = [
            ("Warnings", |sums| sums.warnings),
            ("Tmp_tables", |sums| sums.tmp_tables),
            ("Tmp_disk_tables", |sums| sums.tmp_disk_tables),
            ("Merge_passes", |sums| sums.merge_passes),
            ("No_index_used", |sums| sums.no_index_used),
        ];
        for (name, part) in rare {
            let sum = sum_of(part);
            if sum > 0.0 {
                measures.push(measure(name, sum));
            }
        }
        let errors = total(self.rows.iter().map(|row| row.sums.errors));
        let mut databases: Vec<Counted> = self
            .databases
            .into_iter()
            .map(|(name, count)| Counted { name, count })
            .collect();
        databases.order_by(|a, b| b.count.cmp(&a.count).then_with(|| a.name.cmp(&b.name)));
        QueryClass {
            id: sql::fingerprint_id(&fingerprint),
            kind: kind_of(&fingerprint),
            fingerprint,
            count,
            errors: Some(errors),
            measures,
            databases,
            ..QueryClass::default()
        }
    }

    /// Seconds; none unless every row's extreme was reached in the window: another row's may have been beyond it.
    fn extreme(
        &self,
        part: fn(&RowWindow) -> Option<u64>,
        of_two: fn(u64, u64) -> u64,
    ) -> Option<f64> {
        let all: Option<Vec<u64>> = self.rows.iter().map(part).collect();
        all?.into_iter().reduce(of_two).map(seconds_of)
    }
}

fn seconds_of(picoseconds: u64) -> f64 {
    picoseconds as f64 / PICOSECONDS
}

fn kind_of(fingerprint: &str) -> String {
    match sql::statement_class(fingerprint) {
        "" => "OTHER".to_owned(),
        class => class.to_ascii_uppercase(),
    }
}

fn blind(
    before: &DigestReading,
    after: &DigestReading,
    emptied: bool,
    no_room: u64,
) -> Vec<Absent> {
    let mut blind = vec![
        Absent::new(
            "users, hosts and programs",
            Reason::Unsupported,
            "performance_schema's digests know only the default database",
        ),
        Absent::new(
            "single statements",
            Reason::Unsupported,
            "digests are sums, without quantiles and samples; a statement counts when it ends; statements in stored programs count in addition to the call",
        ),
    ];
    match Counts::from_reading(after).since(Counts::from_reading(before)) {
        Some(asked) if asked.is_more() => {
            blind.push(Absent::new(
                "statements without a digest",
                Reason::Unsupported,
                format!("{}: packets and the general log have them", asked.to_text()),
            ));
        }
        Some(_) => {}
        None => blind.push(Absent::new(
            "prepared statements on MariaDB",
            Reason::Unsupported,
            "MariaDB counts no executions of prepared statements here: packets and the general log have them",
        )),
    }
    if emptied {
        blind.push(Absent::new(
            WHAT,
            Reason::Gone,
            "the table was emptied meanwhile: statements before that are missing",
        ));
    }
    if no_room > 0 {
        blind.push(Absent::new(
            WHAT,
            Reason::Limit,
            format!(
                "the table is full: {no_room} statements of other classes are counted together; TRUNCATE TABLE performance_schema.events_statements_summary_by_digest empties it, performance_schema_digests_size makes it larger"
            ),
        ));
    }
    if before.left_out + after.left_out > 0 {
        blind.push(Absent::new(
            WHAT,
            Reason::Limit,
            format!(
                "{} classes at least are over the limit of {} rows",
                after.left_out,
                super::ROWS_MAX
            ),
        ));
    }
    blind
}
