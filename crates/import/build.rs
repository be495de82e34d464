//! Lists the files of `src/formats/`: adding a format is adding a file.

#![allow(clippy::print_stdout, reason = "how a build script speaks to cargo")]

#[path = "../listed.rs"]
mod listed;

fn main() -> std::io::Result<()> {
    listed::statics("src/formats", "Format", "formats.rs", |formats| {
        let formats = formats
            .iter()
            .map(|format| format!("    &{},\n", format.path));
        format!(
            "\n/// All formats, by the names of their files.\npub static FORMATS: &[&Format] = &[\n{}];\n",
            formats.collect::<String>()
        )
    })
}
