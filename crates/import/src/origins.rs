//! Which capture a signal is taken from, where several tell it.
//!
//! `vmstat`, `top`, `iostat` and `/proc/stat` all tell of the processors, and the counters that are
//! made of rates begin at nothing: mixed, each step from one to the other would look like growth or a
//! restart. One signal is taken from one format; a level also from another one, of the time before that begins:
//! where a host is overloaded, the loop that copies /proc/stat starts seconds after vmstat.

use std::collections::{BTreeSet, HashMap, HashSet};

use model::{Millis, SignalKind};

use crate::format::Format;
use crate::read::Read;
use crate::timestamps::Times;

/// A format, by its preference and its id; of what has no common zero each capture by itself.
type Origin = (u8, &'static str, usize);

/// How good an origin is for a signal: it has moments, it counts from a common zero, how many ticks.
type Rank = (bool, bool, usize);

/// Takes away the readings that another origin tells better.
pub(crate) fn choose(reads: &mut [(&'static Format, Read)]) {
    let origin = |index: usize, format: &'static Format, read: &Read| -> Origin {
        let nth = if read.relative { index + 1 } else { 0 };
        (format.preference, format.id, nth)
    };
    let mut by_area: HashMap<&'static str, BTreeSet<Origin>> = HashMap::new();
    for (index, (format, read)) in reads.iter().enumerate() {
        for tick in &read.ticks {
            let origins = by_area.entry(area(tick.source)).or_default();
            origins.insert(origin(index, format, read));
        }
    }
    let contested: HashSet<&str> = by_area
        .into_iter()
        .filter(|(_, origins)| origins.len() > 1)
        .map(|(area, _)| area)
        .collect();
    if contested.is_empty() {
        return;
    }
    let mut ranks: HashMap<String, HashMap<Origin, Rank>> = HashMap::new();
    for (index, (format, read)) in reads.iter().enumerate() {
        let origin = origin(index, format, read);
        for tick in &read.ticks {
            if !contested.contains(area(tick.source)) {
                continue;
            }
            for reading in &tick.readings {
                let known = match ranks.get_mut(reading.name.as_ref()) {
                    Some(known) => known,
                    None => ranks.entry(reading.name.to_string()).or_default(),
                };
                let rank = known.entry(origin).or_insert((false, !read.relative, 0));
                rank.0 |= tick.at.is_some();
                rank.2 += 1;
            }
        }
    }
    let times = Times::new(reads.iter().map(|(_, read)| read));
    let best: HashMap<String, Origin> = ranks
        .into_iter()
        .filter(|(_, origins)| origins.len() > 1)
        .filter_map(|(name, origins)| {
            let best = origins
                .into_iter()
                .max_by_key(|(origin, rank)| (*rank, std::cmp::Reverse(*origin)))?;
            Some((name, best.0))
        })
        .collect();
    let mut begins: HashMap<String, Millis> = HashMap::new();
    for (index, (format, read)) in reads.iter().enumerate() {
        let origin = origin(index, format, read);
        for tick in &read.ticks {
            let at = times.on_clock(tick.at, tick.after);
            let names = tick.readings.iter().map(|reading| reading.name.as_ref());
            for name in names.filter(|name| best.get(*name) == Some(&origin)) {
                match begins.get_mut(name) {
                    Some(begin) => *begin = at.min(*begin),
                    None => _ = begins.insert(name.to_owned(), at),
                }
            }
        }
    }
    for (index, (format, read)) in reads.iter_mut().enumerate() {
        let origin = origin(index, format, read);
        // One reading is an average of some time, of pt-stalk's vmstat-overall of the whole capture.
        let is_followed = read.ticks.len() > 1;
        for tick in &mut read.ticks {
            if !contested.contains(area(tick.source)) {
                continue;
            }
            let at = times.on_clock(tick.at, tick.after);
            tick.readings.retain(|reading| {
                let name = reading.name.as_ref();
                let is_before = || is_followed && begins.get(name).is_some_and(|begin| at < *begin);
                best.get(name).is_none_or(|best| *best == origin)
                    || (reading.kind == SignalKind::Gauge && is_before())
            });
        }
        read.ticks.retain(|tick| !tick.readings.is_empty());
    }
}

/// Sources that tell the same signals.
fn area(source: &'static str) -> &'static str {
    match source {
        "top" => "cpu",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use model::{Reading, Unit};

    use super::*;
    use crate::formats::{name_value, proc_files, vmstat};
    use crate::read::Tick;

    fn read(at: Option<i64>, values: &[f64], relative: bool) -> Read {
        let tick = |(index, value): (usize, &f64)| Tick {
            source: "cpu",
            at: at.map(|at| at + index as i64 * 1000),
            after: index as u64 * 1000,
            readings: vec![Reading::counter(
                "cpu.context_switches",
                Unit::Count,
                *value,
            )],
        };
        Read {
            ticks: values.iter().enumerate().map(tick).collect(),
            relative,
            ..Read::default()
        }
    }

    #[test]
    fn counters_of_different_zeros_are_not_mixed() {
        let mut reads = [
            (&vmstat::FORMAT, read(None, &[10.0, 20.0, 30.0], true)),
            (
                &proc_files::STAT,
                read(Some(1_700_000_000_000), &[900.0, 910.0], false),
            ),
            (&vmstat::FORMAT, read(None, &[5.0], true)),
        ];
        choose(&mut reads);
        let left: Vec<usize> = reads.iter().map(|(_, read)| read.ticks.len()).collect();
        assert_eq!(left, [0, 2, 0]);
    }

    #[test]
    fn levels_of_the_time_before_the_better_one_begins_are_kept() {
        let level = |at: i64, value: f64| Tick {
            source: "cpu",
            at: Some(at),
            after: 0,
            readings: vec![Reading::gauge("cpu.busy_share", Unit::Share, value)],
        };
        let read = |ticks: Vec<Tick>, relative: bool| Read {
            ticks,
            relative,
            ..Read::default()
        };
        let begin = 1_700_000_000_000;
        let vmstat = (0..6).map(|at| level(begin + at * 1000, 0.9)).collect();
        let proc_stat = (4..9).map(|at| level(begin + at * 1000, 0.1)).collect();
        let mut reads = [
            (&vmstat::FORMAT, read(vmstat, true)),
            (&proc_files::STAT, read(proc_stat, false)),
            (&vmstat::FORMAT, read(vec![level(begin, 0.4)], true)),
        ];
        choose(&mut reads);
        let left: Vec<usize> = reads.iter().map(|(_, read)| read.ticks.len()).collect();
        assert_eq!(left, [4, 5, 0]);
    }

    #[test]
    fn captures_of_one_kind_with_one_zero_are_taken_together() {
        let mut reads = [
            (&name_value::FORMAT, read(None, &[1.0], false)),
            (&name_value::FORMAT, read(None, &[2.0], false)),
        ];
        choose(&mut reads);
        assert!(reads.iter().all(|(_, read)| read.ticks.len() == 1));
    }
}
