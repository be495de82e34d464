//! Embeds every file of `causes/` and lists those of `src/functions/`: adding a cause or a function is adding a file.

#![allow(clippy::print_stdout, reason = "how a build script speaks to cargo")]

#[path = "../listed.rs"]
mod listed;

fn main() -> std::io::Result<()> {
    listed::texts("causes", "toml", "builtin_causes.rs")?;
    listed::statics("src/functions", "Kind", "functions.rs", |kinds| {
        let kinds = kinds.iter().map(|kind| format!("    &{},\n", kind.path));
        format!(
            "\nstatic KINDS: &[&Kind] = &[\n{}];\n",
            kinds.collect::<String>()
        )
    })
}
