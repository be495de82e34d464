//! Packs the objects of `bpf/`.

fn main() -> std::io::Result<()> {
    embed::packed("bpf", "o", "bpf.rs")
}
