//! Prints a page (or with the argument `text`, `color` or `json` the other forms, with `profile` or
//! `diff` the pages of profiles) of a synthetic incident: something to look at while designing.

#![allow(clippy::print_stdout, reason = "it measures, and tells")]

#[path = "../tests/common/mod.rs"]
mod common;
#[path = "../tests/mysqld/mod.rs"]
mod mysqld;

use model::StackTable;
use report::{HtmlOptions, TextOptions, html, json, profile_diff_page, profile_page, text};

fn main() {
    let (incident, verdict) = (mysqld::incident(), common::verdict());
    let form = std::env::args().nth(1).unwrap_or_default();
    let out = match form.as_str() {
        "profile" | "diff" => {
            let (mut first, mut second) = (StackTable::default(), StackTable::default());
            let before = mysqld::profile(&mut first, 0);
            let stall = mysqld::profile(&mut second, 1);
            match form.as_str() {
                "profile" => profile_page("Profile of mysqld, 10 s", &stall, &second),
                _ => profile_diff_page(
                    "idle.frame (A) against stalled.frame (B)",
                    (&before, &first),
                    (&stall, &second),
                ),
            }
        }
        "json" => json(&incident, &verdict),
        "text" => text(
            &incident,
            &verdict,
            &TextOptions {
                width: 80,
                color: false,
            },
        ),
        "color" => text(
            &incident,
            &verdict,
            &TextOptions {
                width: 100,
                color: true,
            },
        ),
        _ => html(&incident, &verdict, &HtmlOptions::default()),
    };
    print!("{out}");
}
