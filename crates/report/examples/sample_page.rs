//! Prints a page (or with the argument `text`, `color` or `json` the other forms) of a synthetic
//! incident: something to look at while designing.

#[path = "../tests/common/mod.rs"]
mod common;

use report::{HtmlOptions, TextOptions, html, json, text};

fn main() {
    let (incident, verdict) = (common::incident(), common::verdict());
    let form = std::env::args().nth(1).unwrap_or_default();
    let out = match form.as_str() {
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
