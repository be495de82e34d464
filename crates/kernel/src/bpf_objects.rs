//! The objects of `bpf/`, which `make bpf` makes. Whoever needs none does not unpack one.

/// As (name, packed object), embedded by `build.rs`.
const PACKED: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/bpf.rs"));

/// The object of this file. Its structures are read where they lie: what is allocated begins at a multiple of 16.
pub(crate) fn object(file: &str) -> Vec<u8> {
    let packed = PACKED.iter().find(|(name, _)| *name == file);
    packed.map_or_else(Vec::new, |(_, packed)| embed::unpack_bytes(packed))
}

#[cfg(test)]
mod tests {
    use super::{PACKED, object};

    #[test]
    fn each_object_comes_back_and_can_be_read() {
        assert_eq!(PACKED.len(), 2);
        for (name, _) in PACKED {
            let file = format!("{}/bpf/{name}", env!("CARGO_MANIFEST_DIR"));
            let object = object(name);
            assert_eq!(std::fs::read(&file).ok().as_ref(), Some(&object), "{file}");
            assert_eq!(object.as_ptr().align_offset(align_of::<u64>()), 0, "{file}");
        }
        assert!(object("none.bpf.o").is_empty());
    }
}
