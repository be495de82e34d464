//! Lists the files of `src/formats/`: adding a format is adding a file.

fn main() -> std::io::Result<()> {
    embed::statics("src/formats", "Format", "formats.rs", |formats| {
        let formats = formats
            .iter()
            .map(|format| format!("    &{},\n", format.path));
        format!(
            "\n/// All formats, by the names of their files.\npub static FORMATS: &[&Format] = &[\n{}];\n",
            formats.collect::<String>()
        )
    })
}
