//! Embeds every file of `scenarios/`: adding a scenario is adding a file.

#![allow(clippy::print_stdout, reason = "how a build script speaks to cargo")]

#[path = "../listed.rs"]
mod listed;

fn main() -> std::io::Result<()> {
    listed::texts("scenarios", "toml", "scenarios.rs")
}
