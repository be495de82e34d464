use proptest::prelude::*;
use stacks::locks::{
    AddressTotals, DataSymbol, ExactWaits, LockSymbols, WaitSample, exact_table, sampled_table,
};

use crate::notation::{Story, assert_consistent};

const FRAMES: &[&str] = &[
    "__lll_lock_wait",
    "__lll_lock_wait_private",
    "pthread_mutex_lock",
    "pthread_cond_wait",
    "pthread_rwlock_wrlock",
    "syscall",
    "os_event_wait_low",
    "sync_array_wait_event",
    "mutex_spin_wait",
    "malloc",
    "_int_free",
    "_int_malloc",
    "trx_start",
    "lock_rec_create",
    "srv_worker_thread",
    "MDL_context::acquire_lock",
    "buf_page_get_gen",
    "rw_lock_x_lock_func",
    "mariadbd+0x7a3f10",
    "libc.so.6+0x12",
    "k:schedule",
    "<",
    "operator<",
    "(anonymous namespace)::f(int",
    "f",
    "start_thread",
];

fn thread() -> impl Strategy<Value = String> {
    (
        0_u32..12,
        prop::sample::select(vec!["S", "R", "D", "T", "Z", "X", "?"]),
        prop_oneof![
            Just(String::new()),
            prop::sample::select(vec!["recvfrom", "fsync", "clock_nanosleep", "nonsense"])
                .prop_map(|name| format!("in {name}")),
            (
                0_u64..6,
                0_u32..12,
                0_u32..12,
                prop::sample::select(vec![0x80, 0x189, 6, 0xffff_ffff_u32])
            )
                .prop_map(|(address, owner, pointer, op)| format!(
                    "futex {} owner {owner} pointer {pointer} op {op}",
                    address * 4
                )),
            any::<u64>().prop_map(|address| format!("futex {address}")),
        ],
        0_u64..3,
        prop::collection::vec(prop::sample::select(FRAMES), 0..8),
    )
        .prop_map(|(tid, state, wait, moved, frames)| {
            format!(
                "tid {tid} {state} {wait} moved {moved} | {}",
                frames.join(" < ")
            )
        })
}

fn story() -> impl Strategy<Value = Story> {
    prop::collection::vec((0_u64..2000, prop::collection::vec(thread(), 0..12)), 0..6).prop_map(
        |moments| {
            let mut story = Story::default();
            for (at, threads) in moments {
                story.at(at, &threads.join("\n"));
            }
            story
        },
    )
}

fn symbols() -> LockSymbols {
    LockSymbols {
        names: [(8, "main_arena"), (12, "LOCK_open")]
            .into_iter()
            .map(|(address, name)| {
                let symbol = DataSymbol {
                    name: name.to_owned(),
                    offset: 0,
                    size: 48,
                };
                (address, symbol)
            })
            .collect(),
        libc_data: Vec::from_iter(Some(4..8)),
        ..LockSymbols::default()
    }
}

proptest! {
    #[test]
    fn any_snapshots_give_a_consistent_table(story in story()) {
        let table = sampled_table(&story.observed(), &symbols());
        assert_consistent(&table);
        for row in &table.locks {
            let tids: Vec<u32> = row.holders.iter().map(|holder| holder.tid).collect();
            for holder in &row.holders {
                prop_assert!(holder.snapshots as usize <= story.snapshots.len());
            }
            let mut distinct = tids.clone();
            distinct.sort_unstable();
            distinct.dedup();
            prop_assert_eq!(distinct.len(), tids.len());
        }
        // The order of the snapshots' list does not matter where their times differ.
        let mut times: Vec<u64> = story.snapshots.iter().map(|snapshot| snapshot.at).collect();
        times.sort_unstable();
        times.dedup();
        if times.len() == story.snapshots.len() {
            let mut turned = story.snapshots.clone();
            turned.reverse();
            let observed = stacks::locks::Observed { book: &story.book, snapshots: &turned };
            prop_assert_eq!(sampled_table(&observed, &symbols()), table);
        }
    }

    #[test]
    fn any_counts_give_a_consistent_table(
        story in story(),
        totals in prop::collection::vec((0_u64..6, 0_u64..1_000_000, 0.0_f64..1e9, 0_u32..100), 0..8),
        samples in prop::collection::vec((0_u64..8, 0_u32..20, 0.0_f64..1e6), 0..20),
    ) {
        let totals: Vec<AddressTotals> = totals
            .into_iter()
            .map(|(address, waits, total_us, waiters_max)| AddressTotals {
                address: address * 4,
                operation: 0x80,
                waits,
                total_us,
                max_us: total_us,
                waiters_max,
            })
            .collect();
        let samples: Vec<WaitSample> = samples
            .into_iter()
            .map(|(address, stack, waited_us)| WaitSample {
                tid: 1,
                address: address * 4,
                stack: model::StackId(stack),
                waited_us,
            })
            .collect();
        let waits = ExactWaits {
            from: 0,
            to: 1000,
            events: 1,
            stack_every: 1,
            cost_us: 0,
            switched_off_after_ms: None,
            totals: &totals,
            samples: &samples,
        };
        let table = exact_table(&waits, &story.observed(), &symbols());
        assert_consistent(&table);
        let counted: u64 = totals.iter().map(|totals| totals.waits).sum();
        let told: u64 = table.locks.iter().chain(&table.conditions).map(|row| row.waits).sum();
        prop_assert!(told <= counted, "idling may be left out, nothing may be added");
    }
}
