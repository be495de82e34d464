//! The documents of profiles and lock tables.

use report::evidence::{
    locks_json::{LocksInput, locks_json},
    profile_diff::{RankBy, profile_diff},
    profile_document::ProfileDocument,
    profile_json::{diff_json, profile_json},
};
use serde_json::{Value, json};

use crate::evidence::data;

fn keys(value: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = value
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    keys.sort_unstable();
    keys
}

#[test]
fn a_profile() {
    let (profile, book) = data::profile(true);
    let value: Value = serde_json::from_str(&profile_json(&profile, &book, false, 2)).unwrap();
    assert_eq!(
        keys(&value),
        [
            "cores",
            "cut",
            "hz",
            "idle",
            "kernel",
            "lost",
            "processors",
            "samples",
            "samples_per_second",
            "seconds",
            "server",
            "symbols",
            "threads",
            "user"
        ]
    );
    assert_eq!(value["samples"], 1813);
    assert_eq!(value["seconds"], 10.0);
    assert_eq!(value["symbols"].as_array().unwrap().len(), 2);
    assert_eq!(
        value["symbols"][1],
        json!({
            "name": "clear_page_erms", "image": "[kernel]", "side": "kernel",
            "self_samples": 390, "total_samples": 390,
            "self_share": 390.0 / 1813.0, "total_share": 390.0 / 1813.0,
        })
    );
    assert_eq!(
        value["threads"][1],
        json!({"name": "kcompactd0", "server": false, "samples": 210, "kernel": 210})
    );
    let all: Value = serde_json::from_str(&profile_json(&profile, &book, true, 0)).unwrap();
    assert!(all["processors"].is_null() && all["idle"].is_null());
    let unnamed = all["symbols"]
        .as_array()
        .unwrap()
        .iter()
        .find(|row| row["name"] == "mariadbd+0xe4c210");
    assert_eq!(unnamed.unwrap()["nameless"], "no-symbol");
}

#[test]
fn a_comparison() {
    let (a, a_book) = data::profile(false);
    let (b, b_book) = data::profile(true);
    let diff = profile_diff((&a, &a_book), (&b, &b_book), false, RankBy::OwnTime);
    let value: Value = serde_json::from_str(&diff_json(&diff, 3)).unwrap();
    assert_eq!(value["ranked_by"], "own-time");
    assert_eq!(value["a"]["samples"], 31);
    let row = &value["rows"][2];
    assert_eq!(row["name"], "compaction_alloc");
    assert_eq!(row["side"], "kernel");
    assert_eq!(row["a"]["self_samples"], 0);
    assert_eq!(row["b"]["self_share"], 310.0 / 1813.0);
    assert_eq!(row["self_change"], 310.0 / 1813.0);
    let time = row["self_time_change"].as_f64().unwrap();
    assert!((time - 310.0 / 10.0 / 99.0 / 2.0).abs() < 1e-12);
    let idle = value["idle_change"].as_f64().unwrap();
    assert!((-0.92..-0.9).contains(&idle));
    // A folded file knows no time.
    let folded = ProfileDocument::read("t;main 5").unwrap();
    let diff = profile_diff(
        (&folded.profile, &folded.book),
        (&b, &b_book),
        false,
        RankBy::Own,
    );
    let value: Value = serde_json::from_str(&diff_json(&diff, 0)).unwrap();
    assert!(value["idle_change"].is_null() && value["a"]["seconds"].is_null());
    assert!(value["rows"][0]["self_time_change"].is_null());
}

#[test]
fn a_lock_table() {
    let (table, book) = data::locks(true);
    let input = LocksInput {
        pid: 4242,
        table: &table,
        book: &book,
    };
    let value: Value = serde_json::from_str(&locks_json(&input)).unwrap();
    assert_eq!(value["depth"], "exact");
    assert_eq!(value["switched_off_after_ms"], 2800);
    assert_eq!(value["seconds"], 5.0);
    let lock = &value["locks"][0];
    assert_eq!(lock["name"], "kernel_mutex");
    assert_eq!(lock["address"], "0x7f3a12345678");
    assert_eq!(lock["named_by"], "call-path");
    assert_eq!(lock["mean_us"], 4.12e7 / 1240.0);
    assert_eq!(lock["callers"][0]["path"][0], "trx_commit_off_kernel");
    assert_eq!(lock["holders"][0]["by"], "stack");
    assert_eq!(lock["holders"][0]["frames"][0]["name"], "_int_free");
    assert!(value["locks"][3]["address"].is_null());
    assert_eq!(
        value["chains"][0]["says"],
        "57 threads wait for kernel_mutex, held by thread 4711 (mysqld, by its stack), which waits \
         for malloc arena main_arena with 2 others, held by thread 4712 (mysqld, by the lock's \
         owner field), which runs"
    );
    assert_eq!(value["chains"][0]["links"][1]["holder"]["tid"], 4712);
    assert_eq!(value["kernel_locks"][0]["name"], "mmap_lock");
    assert_eq!(value["absent"][0]["reason"], "permission");
    let (table, book) = data::locks(false);
    let input = LocksInput {
        pid: 4242,
        table: &table,
        book: &book,
    };
    let value: Value = serde_json::from_str(&locks_json(&input)).unwrap();
    assert_eq!(value["depth"], "sampled");
    assert_eq!(value["interval_ms"], 50.0);
}
