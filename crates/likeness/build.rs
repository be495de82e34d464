//! Packs `data/words.txt`.

fn main() -> std::io::Result<()> {
    embed::packed("data", "txt", "data.rs")
}
