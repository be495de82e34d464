//! Embeds every file of `causes/` and lists those of `src/functions/`: adding a cause or a function is adding a file.

fn main() -> std::io::Result<()> {
    embed::packed_as_one(&[("causes", "toml")], "causes.rs")?;
    embed::statics("src/functions", "Kind", "functions.rs", |kinds| {
        let kinds = kinds.iter().map(|kind| format!("    &{},\n", kind.path));
        format!(
            "\nstatic KINDS: &[&Kind] = &[\n{}];\n",
            kinds.collect::<String>()
        )
    })
}
