use stacks::locks::LockSymbols;

use crate::notation::Story;

/// The crowd waits for `kernel_mutex`; who has it waits for the allocator's arena.
const ALLOCATOR_BEHIND_KERNEL_MUTEX: &str = "
    tid 1 S futex 0x1000 | pthread_cond_wait < os_event_wait_low < sync_array_wait_event < mutex_spin_wait < trx_start < f
    tid 2 S futex 0x1000 | pthread_cond_wait < os_event_wait_low < sync_array_wait_event < mutex_spin_wait < trx_start < f
    tid 3 S futex 0x1000 | pthread_cond_wait < os_event_wait_low < sync_array_wait_event < mutex_spin_wait < trx_commit_off_kernel < f
    tid 4 S futex 0x7f4373413c60 | __lll_lock_wait_private < _L_lock_9164 < malloc < ut_malloc_low < mem_heap_create_block < lock_rec_create < lock_rec_lock
    tid 5 S futex 0x7f4373413c60 | __lll_lock_wait_private < _int_free < free < my_free < net_end
    tid 6 R | malloc_consolidate < _int_free < free < my_free < g
";

#[test]
fn the_chain_goes_to_its_end() {
    let symbols = LockSymbols {
        libc_data: Vec::from_iter(Some(0x7f43_7341_3000..0x7f43_7341_8000)),
        ..LockSymbols::default()
    };
    let table = Story::of(&[ALLOCATOR_BEHIND_KERNEL_MUTEX]).table_with(&symbols);
    assert_eq!(table.chains.len(), 1, "{:?}", table.chains);
    let chain = &table.chains[0];
    let told: Vec<(&str, u32, u32, &str)> = chain
        .links
        .iter()
        .map(|link| {
            let holder = link.holder.as_ref().unwrap();
            (
                link.lock.as_str(),
                link.waiters,
                holder.tid,
                holder.doing.as_str(),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            ("kernel_mutex", 3, 4, "waits for malloc arena main_arena"),
            ("malloc arena main_arena", 2, 6, "runs"),
        ]
    );
    assert!(!chain.circular);
}

#[test]
fn a_circle_is_told_as_one() {
    let table = Story::of(&["
        tid 1 S futex 0x10 owner 2 | __lll_lock_wait < pthread_mutex_lock < f
        tid 2 S futex 0x20 owner 1 | __lll_lock_wait < pthread_mutex_lock < g
        tid 3 S futex 0x10 owner 2 | __lll_lock_wait < pthread_mutex_lock < f
    "])
    .table();
    assert_eq!(table.chains.len(), 1);
    assert!(table.chains[0].circular);
    let locks: Vec<&str> = table.chains[0]
        .links
        .iter()
        .map(|link| link.lock.as_str())
        .collect();
    assert_eq!(locks, ["lock of f at 0x10", "lock of g at 0x20"]);
    assert_eq!(table.chains[0].links[0].waiters, 2);
}

#[test]
fn ends_say_what_the_last_one_does() {
    for (last, doing) in [
        ("tid 2 R | g", "runs"),
        (
            "tid 2 D in fdatasync | fdatasync < g",
            "in fdatasync, uninterruptible",
        ),
        (
            "tid 2 D | g",
            "uninterruptible, in no system call (page fault)",
        ),
        (
            "tid 2 S in recvfrom | recv < vio_read < my_net_read < do_command < handle_connection",
            "waits for its client",
        ),
        ("tid 2 S in sendto | send < g", "in sendto"),
        (
            "tid 2 S in clock_nanosleep | nanosleep < g",
            "in clock_nanosleep",
        ),
        (
            "tid 2 S futex 0x30 | pthread_cond_wait < mine",
            "waits on condition of mine at 0x30",
        ),
        (
            "tid 2 S futex 0x40 | pthread_cond_timedwait < MDL_wait::timed_wait < MDL_context::acquire_lock",
            "waits for metadata lock",
        ),
    ] {
        let table = Story::of(&[&format!(
            "tid 1 S futex 0x10 owner 2 | __lll_lock_wait < pthread_mutex_lock < f\n{last}"
        )])
        .table();
        let chain = table
            .chains
            .iter()
            .find(|chain| chain.links[0].lock == "lock of f at 0x10")
            .unwrap();
        let holder = chain.links[0].holder.as_ref().unwrap();
        assert_eq!(holder.doing, doing);
        let links = if doing == "waits for metadata lock" {
            2
        } else {
            1
        };
        assert_eq!(chain.links.len(), links, "{last}");
        if links == 2 {
            assert!(
                chain.links[1].holder.is_none(),
                "a lock with no known holder ends the chain"
            );
        }
    }
}

#[test]
fn the_moment_that_names_the_holder_is_told() {
    let crowd: String = (1..=5)
        .map(|tid| format!("tid {tid} S futex 0x10 | __lll_lock_wait < pthread_mutex_lock < f\n"))
        .collect();
    let table = Story::of(&[
        &crowd,
        "tid 1 S futex 0x10 owner 9 moved 3 | __lll_lock_wait < pthread_mutex_lock < f\ntid 9 R | g",
    ])
    .table();
    assert_eq!(table.locks[0].waiters_max, 5);
    assert_eq!(table.chains[0].links[0].waiters, 1);
    assert_eq!(table.chains[0].links[0].holder.as_ref().unwrap().tid, 9);
}
