//! Packs the files of `data/`.

fn main() -> std::io::Result<()> {
    embed::packed("data", "txt", "data.rs")
}
