//! Embeds every file of `scenarios/`: adding a scenario is adding a file.

fn main() -> std::io::Result<()> {
    embed::texts("scenarios", "toml", "scenarios.rs")
}
