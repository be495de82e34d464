//! Packs the styles and scripts of `assets/`.

fn main() -> std::io::Result<()> {
    let folders = ["assets", "assets/uplot"].map(|folder| [(folder, "css"), (folder, "js")]);
    embed::packed_as_one(folders.as_flattened(), "assets.rs")
}
