//! `locks` of programs whose locks are known, by snapshots and by counting every wait.

use serde_json::Value;

use crate::tool::{Known, bpf_permitted, frames_in, json, may_sample, strings, text, user_frames};

/// The tables that can be made here, each with whether it is the exact one.
fn tables(pid: &str, more: &[&str]) -> Vec<(bool, Value)> {
    let mut arguments = vec!["locks", "--pid", pid, "--seconds", "1", "--json"];
    arguments.extend(more);
    let mut tables = vec![(false, json(&arguments))];
    assert_eq!(tables[0].1["depth"], "sampled");
    if bpf_permitted() {
        arguments.push("--exact");
        let exact = json(&arguments);
        assert_eq!(exact["depth"], "exact");
        tables.push((true, exact));
    }
    tables
}

fn list<'a>(document: &'a Value, key: &str) -> &'a Vec<Value> {
    document[key].as_array().unwrap()
}

/// The row with this name.
fn row<'a>(rows: &'a Value, name: &str) -> &'a Value {
    let rows = rows.as_array().unwrap();
    let found = rows.iter().find(|row| row["name"] == name);
    found.unwrap_or_else(|| panic!("no {name} in {rows:#?}"))
}

fn address(known: &Known, key: &str) -> String {
    format!("{:#x}", known.number(key))
}

#[test]
fn the_holder_of_a_mutex_is_named_with_its_stack() {
    let known = Known::start("convoy", &["12"]);
    for (exact, table) in tables(&known.pid(), &[]) {
        assert_eq!(list(&table, "locks").len(), 1, "{table}");
        let lock = row(&table["locks"], "convoy_mutex");
        assert_eq!(lock["named_by"], "symbol");
        assert_eq!(lock["address"], address(&known, "mutex"));
        assert_eq!(lock["waiters_max"], 12);
        // None of them ended: each is one wait, as long as we looked.
        assert_eq!(lock["waits"], 12, "exact: {exact}");
        assert_eq!(
            strings(&lock["callers"][0]["path"]),
            known.names("waiter_frames")
        );
        assert_eq!(list(lock, "holders").len(), 1, "{lock}");
        let holder = &lock["holders"][0];
        assert_eq!(holder["tid"], known.number("holder"));
        assert_eq!(holder["name"], "convoy-holder");
        assert_eq!(holder["by"], "owner-field");
        assert_eq!(
            frames_in(&holder["frames"], "convoy"),
            known.names("holder_frames")
        );
        let says = table["chains"][0]["says"].as_str().unwrap();
        let expected = format!(
            "12 threads wait for convoy_mutex, held by thread {}",
            known.number("holder")
        );
        assert!(says.starts_with(&expected), "{says}");
        assert_eq!(table["chains"][0]["circular"], false);
        assert!(list(&table, "conditions").is_empty(), "{table}");
    }
    let text = text(&["locks", "--pid", &known.pid(), "--seconds", "300ms"]);
    assert!(
        text.contains("convoy_mutex") && text.contains("hold_the_lock"),
        "{text}"
    );
}

#[test]
fn a_mutex_that_changes_hands_has_changing_holders() {
    let known = Known::start("convoy", &["6", "2000"]);
    let holding = known.names("holder_frames");
    for (exact, table) in tables(&known.pid(), &["--interval", "20ms"]) {
        let lock = row(&table["locks"], "convoy_mutex");
        assert_eq!(lock["address"], address(&known, "mutex"));
        let waits = lock["waits"].as_u64().unwrap();
        if exact {
            // It was taken hundreds of times, each time with others waiting.
            assert!(waits > 20, "{lock}");
            assert!(lock["mean_us"].as_f64() > Some(0.0), "{lock}");
        }
        assert!(waits > 0 && lock["max_us"].as_f64() >= lock["mean_us"].as_f64());
        let path = strings(&lock["callers"][0]["path"]);
        assert_eq!(path, known.names("waiter_frames"), "{lock}");
        let waiters = known.tids("waiters");
        for holder in list(lock, "holders") {
            assert!(waiters.contains(&holder["tid"].as_u64().unwrap()));
            assert_eq!(holder["by"], "owner-field");
        }
        // Most of the time that it has an owner, that one sleeps in it.
        let works = list(lock, "holders")
            .iter()
            .any(|holder| frames_in(&holder["frames"], "convoy") == holding);
        assert!(works, "{lock}");
    }
}

#[test]
fn a_fight_for_the_malloc_arena_names_it_and_who_fights() {
    let tunables = "glibc.malloc.arena_max=1:glibc.malloc.tcache_count=0";
    let environment = [("GLIBC_TUNABLES", tunables)];
    let known = Known::with("arena", &["8"], &environment, testbed::build_victim);
    for (exact, table) in tables(
        &known.pid(),
        &["--interval", "10ms", "--max-rate", "5000000"],
    ) {
        let lock = &table["locks"][0];
        assert_eq!(lock["name"], "malloc arena main_arena", "{table}");
        assert_eq!(lock["named_by"], "arena");
        let callers = list(lock, "callers");
        let paths: Vec<Vec<String>> = callers
            .iter()
            .map(|caller| strings(&caller["path"]))
            .collect();
        for (allocator, key) in [("malloc", "allocating_frames"), ("free", "freeing_frames")] {
            let expected = [vec![allocator.to_owned()], known.names(key)].concat();
            assert!(paths.contains(&expected), "no {expected:?} in {paths:#?}");
        }
        let whole = &callers[0]["frames"];
        let frames = user_frames(whole);
        assert!(frames.contains(&"worker_thread"), "{frames:?}");
        if exact {
            // A million allocations a second of eight threads on few processors.
            assert!(lock["waits"].as_u64() > Some(100), "{lock}");
            assert!(table["events"].as_u64() >= lock["waits"].as_u64());
            assert!(table["cost_us"].as_u64() > Some(0), "{}", table["cost_us"]);
            assert_eq!(table["switched_off_after_ms"], Value::Null);
        }
        for holder in list(lock, "holders") {
            let frames = user_frames(&holder["frames"]);
            assert!(
                !frames[0].contains("lll_lock_wait"),
                "one that waits holds it: {frames:?}"
            );
        }
    }
}

#[test]
fn counting_switches_itself_off_above_its_limit() {
    if !bpf_permitted() {
        return;
    }
    let tunables = "glibc.malloc.arena_max=1:glibc.malloc.tcache_count=0";
    let environment = [("GLIBC_TUNABLES", tunables)];
    let known = Known::with("arena", &["8"], &environment, testbed::build_victim);
    let pid = known.pid();
    let table = json(&[
        "locks",
        "--pid",
        &pid,
        "--seconds",
        "60",
        "--exact",
        "--max-rate",
        "200",
        "--json",
    ]);
    assert!(table["switched_off_after_ms"].is_u64(), "{table}");
    assert!(table["seconds"].as_f64() < Some(60.0));
}

#[test]
fn who_waits_for_work_does_not_contend() {
    let known = Known::start("idlers", &["40", "5"]);
    for (exact, table) in tables(&known.pid(), &[]) {
        assert!(list(&table, "locks").is_empty(), "exact: {exact}: {table}");
        assert!(list(&table, "chains").is_empty(), "{table}");
        let condition = row(&table["conditions"], "work_arrived");
        assert_eq!(condition["waiters_max"], 40);
        assert_eq!(condition["callers"][0]["path"][0], "wait_for_work");
        assert!(list(condition, "holders").is_empty());
    }
}

#[test]
fn the_kernels_own_locks_are_a_table_too() {
    let known = Known::start("mmap_hog", &["4", "5", "16"]);
    for (_, table) in tables(&known.pid(), &[]) {
        if !bpf_permitted() {
            let absent = list(&table, "absent");
            let told = absent.iter().any(|one| one["what"] == "kernel lock waits");
            assert!(told, "{absent:?}");
            continue;
        }
        assert_eq!(table["absent"], Value::Array(Vec::new()));
        let rows = list(&table, "kernel_locks");
        let writers: Vec<&Value> = rows
            .iter()
            .filter(|row| row["name"] == "mmap_lock, to write")
            .filter(|row| row["server_waits"].as_u64() > Some(0))
            .collect();
        assert!(!writers.is_empty(), "{rows:#?}");
        if kernel::access::kernel_names_visible() {
            let of_munmap = writers.iter().any(|row| {
                let path = strings(&row["path"]);
                path.iter().any(|name| name.contains("munmap"))
            });
            assert!(of_munmap, "{writers:#?}");
        }
        // They wait in the kernel, for no lock of the program's.
        assert!(list(&table, "locks").is_empty(), "{table}");
    }
    if may_sample() {
        let text = text(&["locks", "--pid", &known.pid(), "--seconds", "500ms"]);
        assert!(text.contains("mmap_lock, to write"), "{text}");
    }
}
