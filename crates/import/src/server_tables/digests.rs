//! `events_statements_summary_by_digest` as a digest of statements: the difference of two prints, or
//! what one counted since the table was last emptied.

use model::{Absent, OrderBy, QueryDigest, Reason};
use server::digests::{DigestKey, DigestReading, DigestRow, DigestSums, delta};

use super::{Timestamp, parse_seconds, whole};
use crate::class_notes;
use crate::read::rows::Rows;
use crate::value_notes;

/// Classes that are told one by one, those with most time first.
const CLASSES_MAX: usize = 200;

/// One digest for one print, else one for each print after the first, with the milliseconds that it
/// tells of where nothing but the server's clock tells them.
pub(super) fn from_prints(tables: &[&Rows]) -> Vec<(Timestamp, QueryDigest, Option<u64>)> {
    let mut prints: Vec<(Timestamp, DigestReading, Option<f64>)> = tables
        .iter()
        .map(|rows| (Timestamp::from_rows(rows), reading(rows), last_seen(rows)))
        .collect();
    // Files may be given in any order.
    if prints.iter().all(|(.., seen)| seen.is_some()) {
        prints
            .order_by(|(_, _, a), (_, _, b)| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    }
    let all = |digest: QueryDigest| QueryDigest {
        from_us: digest.from_us.filter(|us| *us > 0),
        to_us: digest.to_us.filter(|us| *us > 0),
        ..digest
    };
    match prints.as_slice() {
        [] => Vec::new(),
        [(timestamp, print, _)] => {
            let mut digest = all(delta(&DigestReading::default(), print));
            digest.from_us = None;
            digest.to_us = None;
            digest.blind.push(Absent::new(
                "the time of the stall alone",
                Reason::NotRecorded,
                "one print of the digests counts since the table was last emptied; two prints, before and in the stall, tell what was asked between them",
            ));
            vec![(*timestamp, fold(digest), None)]
        }
        _ => prints
            .windows(2)
            .filter_map(|pair| match pair {
                [(_, before, from), (timestamp, after, to)] => {
                    let seconds = to.zip(*from).map(|(to, from)| to - from);
                    let length = seconds.filter(|seconds| (0.1..1e7).contains(seconds));
                    let length = length.map(|seconds| (seconds * 1000.0) as u64);
                    Some((*timestamp, fold(all(delta(before, after))), length))
                }
                _ => None,
            })
            .collect(),
    }
}

/// When the last of the statements ended: the print is of about that moment.
fn last_seen(rows: &Rows) -> Option<f64> {
    rows.each(["last_seen"])
        .filter_map(|[text]| parse_seconds(text))
        .reduce(f64::max)
}

fn reading(rows: &Rows) -> DigestReading {
    let mut reading = DigestReading {
        at_us: rows.at.map_or(0, |at| at.saturating_mul(1000)),
        ..DigestReading::default()
    };
    let columns = [
        "schema_name",
        "digest",
        "digest_text",
        "first_seen",
        "count_star",
        "sum_timer_wait",
        "min_timer_wait",
        "max_timer_wait",
        "sum_lock_time",
        "sum_errors",
        "sum_warnings",
        "sum_rows_affected",
        "sum_rows_sent",
        "sum_rows_examined",
        "sum_created_tmp_tables",
        "sum_created_tmp_disk_tables",
        "sum_sort_merge_passes",
        "sum_no_index_used",
    ];
    for [
        schema,
        digest,
        text,
        first_seen,
        count,
        wait,
        wait_min,
        wait_max,
        lock,
        errors,
        warnings,
        affected,
        sent,
        examined,
        tmp,
        tmp_disk,
        merge,
        no_index,
    ] in rows.each(columns)
    {
        let row = DigestRow {
            sums: DigestSums {
                count: whole(count),
                wait: whole(wait),
                wait_min: whole(wait_min),
                wait_max: whole(wait_max),
                lock: whole(lock),
                errors: whole(errors),
                warnings: whole(warnings),
                rows_affected: whole(affected),
                rows_sent: whole(sent),
                rows_examined: whole(examined),
                tmp_tables: whole(tmp),
                tmp_disk_tables: whole(tmp_disk),
                merge_passes: whole(merge),
                no_index_used: whole(no_index),
            },
            first_seen: first_seen.to_owned(),
            text: text.to_owned(),
        };
        match digest {
            "" => reading.no_room = Some(row),
            digest => {
                let key = DigestKey {
                    schema: value_notes::name_alone(schema).to_owned(),
                    digest: value_notes::name_alone(digest).to_owned(),
                };
                reading.rows.insert(key, row);
            }
        }
    }
    reading
}

fn fold(mut digest: QueryDigest) -> QueryDigest {
    class_notes::leave_out(&mut digest);
    if digest.classes.len() > CLASSES_MAX {
        let rest = digest.classes.split_off(CLASSES_MAX);
        let folded = digest.folded.get_or_insert_default();
        folded.classes_at_least = folded.classes_at_least.saturating_add(rest.len() as u64);
        for class in rest {
            folded.count = folded.count.saturating_add(class.count);
            if let Some(seconds) = class.sum("Query_time") {
                *folded.seconds.get_or_insert(0.0) += seconds;
            }
        }
    }
    digest
}
