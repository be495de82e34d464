//! Where threads stand, by incident: what `new-in-stalls` adds up. It is made of a batch's stacks before they are sent, as
//! SQLite makes it of those that it gets: of a million rows of stacks to look up the frames of each takes most of a second.
//!
//! **A row is an incident**, with a list of places: whatever comes twice is told by few keys, and not by a key for each
//! stack. A place is told by 64 bits, and its functions stand once, for the few that are shown. Of hundreds of places the
//! heaviest are in the list (`places.rs`).

use std::collections::{BTreeMap, BTreeSet, HashMap};

use sha2::{Digest, Sha256};

use crate::batch::{Batch, TableRows};
use crate::places::PLACES_MAX;
use crate::row::{Phase, StackKind};
use crate::table::Packing::{General, Moments};
use crate::table::Type::{Choice, Hash, Id, List, Seconds, Text, U8, U32, U64};
use crate::table::{Partition, Repeated, Table, column};
use crate::tables::{FRAMES, STACK_FRAMES, STACK_KINDS, STACKS};
use crate::value::Value;

/// Functions that name a place.
const FUNCTIONS: usize = 3;

/// What stands between them, the innermost first.
const CALLED_BY: &str = " < ";

/// Places by their number.
pub static PLACES: Table = Table {
    name: "places",
    what: "Where threads stand",
    columns: &[
        column("place", Hash, "of its functions; 0 is none"),
        column("functions", Text, "a function and its callers"),
    ],
    sort_key: &["place"],
    partition: Partition::Whole,
    keep: None,
    repeated: Repeated::Same,
};

/// The time of threads in each place, by incident.
pub static STACK_SUMS: Table = Table {
    name: "stack_sums",
    what: "Where threads stood in an incident; made of stacks",
    // The lists are packed as the engine does it, which is unpacked faster than smaller forms.
    columns: &[
        column("host_id", Hash, "the server").packed(General),
        column("incident_id", Id, "the incident").packed(General),
        column("ts", Seconds, "the incident's onset").packed(Moments),
        column("kind", Choice(STACK_KINDS), "oncpu or wait"),
        column("place", List(&Hash), "the places, each once"),
        column("is_stall", List(&U8), "1 where it was seen in the stall"),
        column("stall_ns", List(&U64), "time in the stall, nanoseconds"),
        column("calm_ns", List(&U64), "time before it, nanoseconds"),
        column("stacks", U32, "rows of stacks that it is made of"),
    ],
    sort_key: &["ts", "host_id", "incident_id", "kind"],
    partition: Partition::Month("ts"),
    keep: Some(("ts", 90)),
    // What is made of more says more.
    repeated: Repeated::Largest("stacks"),
};

/// Both, in the order in which they are made and filled.
pub static SUMS: [&Table; 2] = [&PLACES, &STACK_SUMS];

/// An incident's stacks of a kind: onset, server, incident, kind.
type Incident = (i64, u64, [u8; 16], i64);

/// What was seen of a place.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    is_stall: bool,
    stall_ns: u64,
    calm_ns: u64,
}

/// The rows of both tables for the stacks of this batch. The same batch gives the same rows, always.
pub(super) fn of_batch(batch: &Batch) -> Vec<TableRows> {
    let frames: HashMap<u64, (&str, &str)> = batch
        .rows_of(&FRAMES)
        .iter()
        .filter_map(|row| match row.as_slice() {
            [
                Value::Unsigned(id),
                _,
                _,
                Value::Text(module),
                Value::Text(function),
                ..,
            ] => Some((*id, (module.as_str(), function.as_str()))),
            _ => None,
        })
        .collect();
    let stacks: HashMap<u64, &[Value]> = batch
        .rows_of(&STACK_FRAMES)
        .iter()
        .filter_map(|row| match row.as_slice() {
            [Value::Unsigned(id), Value::List(of), ..] => Some((*id, of.as_slice())),
            _ => None,
        })
        .collect();
    let mut places: BTreeMap<u64, String> = BTreeMap::new();
    let mut known: HashMap<(u64, i64), u64> = HashMap::new();
    let mut sums: BTreeMap<Incident, (u64, BTreeMap<u64, Sum>)> = BTreeMap::new();
    for ((incident, stack, phase), ns) in seen(batch) {
        let kind = incident.3;
        let place = *known.entry((stack, kind)).or_insert_with(|| {
            let of = stacks.get(&stack).copied().unwrap_or_default();
            let functions = functions(kind, of, &frames);
            let place = number(&functions);
            places.entry(place).or_insert(functions);
            place
        });
        let (stacks, sums) = sums.entry(incident).or_default();
        *stacks += 1;
        let sum = sums.entry(place).or_default();
        match phase == Phase::Stall as i64 {
            true => {
                sum.is_stall = true;
                sum.stall_ns = sum.stall_ns.saturating_add(ns);
            }
            false => sum.calm_ns = sum.calm_ns.saturating_add(ns),
        }
    }
    for (_, sums) in sums.values_mut() {
        keep_heaviest(sums, &places);
    }
    let kept: BTreeSet<u64> = sums
        .values()
        .flat_map(|(_, sums)| sums.keys().copied())
        .collect();
    let places = places
        .into_iter()
        .filter(|(place, _)| *place != 0 && kept.contains(place))
        .map(|(place, functions)| vec![Value::Unsigned(place), Value::Text(functions)]);
    let of_table = |table, rows: Vec<Vec<Value>>| TableRows { table, rows };
    let both = [
        of_table(&PLACES, places.collect()),
        of_table(&STACK_SUMS, sums.into_iter().map(row).collect()),
    ];
    both.into_iter()
        .filter(|one| !one.rows.is_empty())
        .collect()
}

/// The time of each stack on a processor or waiting, in the stall and before it. Each once: batches that are sent together
/// may have the same incident.
fn seen(batch: &Batch) -> BTreeMap<(Incident, u64, i64), u64> {
    let kinds = [StackKind::OnCpu, StackKind::Wait].map(|kind| kind as i64);
    let phases = [Phase::Baseline, Phase::Before, Phase::Stall].map(|phase| phase as i64);
    let rows = batch.rows_of(&STACKS).iter();
    let seen = rows.filter_map(|row| match row.as_slice() {
        [
            Value::Unsigned(host),
            Value::Id(incident),
            Value::Signed(ts),
            Value::Signed(phase),
            Value::Signed(kind),
            Value::Unsigned(stack),
            _,
            Value::Unsigned(ns),
            ..,
        ] if kinds.contains(kind) && phases.contains(phase) => {
            Some((((*ts, *host, *incident, *kind), *stack, *phase), *ns))
        }
        _ => None,
    });
    seen.collect()
}

/// On a processor the three innermost functions; waiting the three innermost of the program itself, as all waits end in
/// the same few of kernel and C library. Empty where there is none. `earlier_named.sql` says the same.
fn functions(kind: i64, frames: &[Value], names: &HashMap<u64, (&str, &str)>) -> String {
    let is_program = |module: &str| {
        !["[", "lib", "ld-"]
            .iter()
            .any(|begin| module.starts_with(begin))
    };
    let named = frames.iter().filter_map(|frame| match frame {
        Value::Unsigned(id) => names.get(id),
        _ => None,
    });
    let named = named
        .filter(|(module, _)| kind == StackKind::OnCpu as i64 || is_program(module))
        .map(|(_, function)| *function)
        .filter(|function| !function.is_empty());
    named.take(FUNCTIONS).collect::<Vec<_>>().join(CALLED_BY)
}

/// Leaves the heaviest places, and adds the others to those without a name. `earlier_sums.sql` does the same.
fn keep_heaviest(sums: &mut BTreeMap<u64, Sum>, names: &BTreeMap<u64, String>) {
    let all = |of: fn(&Sum) -> u64| {
        let all = sums.values().map(of);
        all.fold(0, u64::saturating_add).max(1) as f64
    };
    let (stall, calm) = (all(|sum| sum.stall_ns), all(|sum| sum.calm_ns));
    let mut named: Vec<(f64, &str, u64)> = sums
        .iter()
        .filter(|(place, _)| **place != 0)
        .map(|(place, sum)| {
            let share = (sum.stall_ns as f64 / stall).max(sum.calm_ns as f64 / calm);
            let name = names.get(place).map_or("", String::as_str);
            (share, name, *place)
        })
        .collect();
    named.sort_by(|one, other| {
        let heavier = other.0.total_cmp(&one.0);
        heavier.then_with(|| one.1.cmp(other.1))
    });
    for (.., place) in named.into_iter().skip(PLACES_MAX.into()) {
        let Some(small) = sums.remove(&place) else {
            continue;
        };
        let rest = sums.entry(0).or_default();
        rest.is_stall |= small.is_stall;
        rest.stall_ns = rest.stall_ns.saturating_add(small.stall_ns);
        rest.calm_ns = rest.calm_ns.saturating_add(small.calm_ns);
    }
}

/// What a place is told by: the first bytes of a SHA-256, as the engine can make it too.
fn number(functions: &str) -> u64 {
    if functions.is_empty() {
        return 0;
    }
    let digest: [u8; 32] = Sha256::digest(functions).into();
    u64::from_le_bytes(digest.first_chunk().copied().unwrap_or_default())
}

fn row(
    ((ts, host, incident, kind), (stacks, sums)): (Incident, (u64, BTreeMap<u64, Sum>)),
) -> Vec<Value> {
    let list = |of: fn(&Sum) -> u64| {
        let values = sums.values().map(|sum| Value::Unsigned(of(sum)));
        Value::List(values.collect())
    };
    let places = sums.keys().map(|place| Value::Unsigned(*place));
    vec![
        Value::Unsigned(host),
        Value::Id(incident),
        Value::Signed(ts),
        Value::Signed(kind),
        Value::List(places.collect()),
        list(|sum| sum.is_stall.into()),
        list(|sum| sum.stall_ns),
        list(|sum| sum.calm_ns),
        Value::Unsigned(stacks.min(u32::MAX.into())),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Token;
    use crate::row::{FrameRow, Hash64, IncidentId, Seconds as At, StackFramesRow, StackRow};

    const FRAMES_OF: [(u64, &str, &str); 5] = [
        (1, "[kernel]", "futex_wait"),
        (2, "libc.so.6", "pthread_cond_wait"),
        (3, "mysqld", "lock_wait"),
        (4, "mysqld", "row_search"),
        (5, "mysqld", "do_command"),
    ];

    fn batch(stacks: &[(StackKind, Phase, u64, u64)]) -> Batch {
        let mut batch = Batch::new(Token::default());
        for (kind, phase, stack_id, ns) in stacks {
            batch.push(&StackRow {
                host_id: Hash64(9),
                incident_id: IncidentId([7; 16]),
                ts: At(1000),
                phase: *phase,
                kind: *kind,
                stack_id: Hash64(*stack_id),
                samples: 1,
                ns: *ns,
            });
        }
        batch.push(&StackFramesRow {
            stack_id: Hash64(100),
            frames: (1..=5).map(Hash64).collect(),
            seen: At(1000).day(),
        });
        batch.push(&StackFramesRow {
            stack_id: Hash64(101),
            frames: [1, 2, 3, 4, 5, 1].map(Hash64).into(),
            seen: At(1000).day(),
        });
        for (frame, module, function) in FRAMES_OF {
            batch.push(&FrameRow {
                frame_id: Hash64(frame),
                build_id: String::new(),
                offset: 0,
                module: module.to_owned(),
                function: function.to_owned(),
                seen: At(1000).day(),
            });
        }
        batch
    }

    #[test]
    fn a_place_is_the_innermost_functions_and_of_a_wait_those_of_the_program() {
        use {
            Phase::{After, Before, Stall},
            StackKind::{LockWait, OnCpu, Wait},
        };
        let batch = batch(&[
            (Wait, Stall, 100, 30),
            (Wait, Stall, 101, 3),
            (Wait, Before, 101, 5),
            (OnCpu, Before, 100, 2),
            // Nobody knows its frames: it counts, and has no name.
            (OnCpu, Stall, 102, 40),
            (OnCpu, After, 100, 1000),
            (LockWait, Stall, 100, 1000),
        ]);
        let made = of_batch(&batch);
        assert_eq!(made, of_batch(&Batch::joined(vec![batch.clone(), batch])));
        let [places, sums] = made.as_slice() else {
            panic!("{made:?}")
        };
        let on_cpu = "futex_wait < pthread_cond_wait < lock_wait";
        let wait = "lock_wait < row_search < do_command";
        let mut wanted = [on_cpu, wait]
            .map(|functions| vec![Value::Unsigned(number(functions)), Value::from(functions)]);
        wanted.sort_by_key(|row| match row[0] {
            Value::Unsigned(place) => place,
            _ => 0,
        });
        assert_eq!(places.rows, wanted);
        let list =
            |numbers: &[u64]| Value::List(numbers.iter().copied().map(Value::Unsigned).collect());
        let row = |kind, places: &[u64], is_stall: &[u64], stall: &[u64], calm: &[u64], stacks| {
            vec![
                Value::Unsigned(9),
                Value::Id([7; 16]),
                Value::Signed(1000),
                Value::Signed(kind as i64),
                list(places),
                list(is_stall),
                list(stall),
                list(calm),
                Value::Unsigned(stacks),
            ]
        };
        assert_eq!(
            sums.rows,
            [
                row(OnCpu, &[0, number(on_cpu)], &[1, 0], &[40, 0], &[0, 2], 2),
                row(Wait, &[number(wait)], &[1], &[33], &[5], 3),
            ]
        );
    }

    /// A kind's row of lists: places, and what is said of each.
    fn lists(row: &[Value]) -> BTreeMap<u64, [u64; 3]> {
        let list = |at: usize| -> Vec<u64> {
            let Value::List(values) = &row[at] else {
                panic!("{row:?}")
            };
            let number = |value: &Value| match value {
                Value::Unsigned(number) => *number,
                other => panic!("{other:?}"),
            };
            values.iter().map(number).collect()
        };
        let (stall, calm) = (list(6), list(7));
        let said = list(5).into_iter().zip(stall.into_iter().zip(calm));
        let said = said.map(|(is_stall, (stall, calm))| [is_stall, stall, calm]);
        list(4).into_iter().zip(said).collect()
    }

    /// An incident whose threads were on a processor in each of these functions: time in the stall and before it.
    fn of_functions(times: &[(u64, u64)]) -> Batch {
        let mut batch = Batch::new(Token::default());
        for (id, (stall, calm)) in (1..).zip(times) {
            for (phase, ns) in [(Phase::Stall, *stall), (Phase::Baseline, *calm)] {
                if ns > 0 {
                    batch.push(&StackRow {
                        host_id: Hash64(9),
                        incident_id: IncidentId([7; 16]),
                        ts: At(1000),
                        phase,
                        kind: StackKind::OnCpu,
                        stack_id: Hash64(id),
                        samples: 1,
                        ns,
                    });
                }
            }
            batch.push(&StackFramesRow {
                stack_id: Hash64(id),
                frames: vec![Hash64(id)],
                seen: At(1000).day(),
            });
            batch.push(&FrameRow {
                frame_id: Hash64(id),
                build_id: String::new(),
                offset: 0,
                module: "mysqld".to_owned(),
                function: format!("f{id:03}"),
                seen: At(1000).day(),
            });
        }
        batch
    }

    #[test]
    fn the_heaviest_places_of_the_stall_and_of_before_are_told_apart() {
        let most = usize::from(PLACES_MAX);
        // Twenty of the stall, twenty of the calm, and others of a nanosecond each, of which the first by name stay.
        let mut times = vec![(1, 0); 300];
        times[100..120].fill((1000, 1));
        times[200..220].fill((1, 1000));
        let made = of_batch(&of_functions(&times));
        let [places, sums] = made.as_slice() else {
            panic!("{made:?}")
        };
        assert_eq!((places.rows.len(), sums.rows.len()), (most, 1));
        let found = lists(&sums.rows[0]);
        assert_eq!(found.len(), most + 1);
        let place = |id: usize| number(&format!("f{id:03}"));
        for id in 1..=300 {
            let is_kept = matches!(id, 101..=120 | 201..=220) || id <= most - 40;
            assert_eq!(found.contains_key(&place(id)), is_kept, "{id}");
        }
        let small = 300 - most as u64;
        assert_eq!(found[&0], [1, small, 0]);
        assert_eq!(found[&place(101)], [1, 1000, 1]);
        assert_eq!(found[&place(220)], [1, 1, 1000]);
        // Not more than are told apart: each is.
        let made = of_batch(&of_functions(&times[..most]));
        assert_eq!(lists(&made[1].rows[0]).len(), most);
        assert!(!lists(&made[1].rows[0]).contains_key(&0));
        assert_eq!(made[0].rows.len(), most);
    }

    #[test]
    fn stacks_of_an_earlier_version_are_added_up_with_as_many_places() {
        let statement = include_str!("earlier_sums.sql");
        assert!(statement.contains(&format!("rank > {PLACES_MAX},")));
    }

    #[test]
    fn a_batch_without_stacks_has_nothing_to_add_up() {
        assert_eq!(of_batch(&batch(&[])), []);
    }
}
