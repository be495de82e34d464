//! MiniDebugInfo: a small ELF file with the symbols of functions that are not exported, packed with xz into the section
//! `.gnu_debugdata` (Fedora and its family; gdb manual, "Debugging information in a special section").

use crate::images::ImageBody;
use std::io::Read;

const PACKED_BYTES_MAX: u64 = 64 << 20;
/// Several times the largest known.
const UNPACKED_BYTES_MAX: u64 = 128 << 20;
/// `xz -9` uses 64 MiB.
const DICTIONARY_BYTES_MAX: u64 = 64 << 20;

/// The unpacked file, when the image has one.
pub(super) fn unpack(body: &ImageBody) -> Option<Vec<u8>> {
    let section = body.elf.section(".gnu_debugdata")?;
    let packed = body
        .content
        .read(section.offset, section.size, PACKED_BYTES_MAX)
        .ok()?;
    unpack_bytes(&packed)
}

fn unpack_bytes(packed: &[u8]) -> Option<Vec<u8>> {
    if dictionary_bytes(packed)? > DICTIONARY_BYTES_MAX {
        return None;
    }
    let mut unpacked = Vec::new();
    lzma_rust2::XzReader::new(packed, false)
        .take(UNPACKED_BYTES_MAX + 1)
        .read_to_end(&mut unpacked)
        .ok()?;
    (unpacked.len() as u64 <= UNPACKED_BYTES_MAX).then_some(unpacked)
}

/// What the first block's header asks for (The .xz File Format, 3.1 and 5.3.1): a decoder takes it before it sees a byte.
fn dictionary_bytes(packed: &[u8]) -> Option<u64> {
    const STREAM_HEADER: usize = 12;
    const LZMA2: u8 = 0x21;
    let header = packed.get(STREAM_HEADER..)?;
    let flags = *header.get(1)?;
    let mut at = 2;
    // Two optional sizes, each as an integer of seven bits a byte, come before the filters.
    for size in [0x40, 0x80] {
        if flags & size != 0 {
            at += header.get(at..)?.iter().position(|byte| byte & 0x80 == 0)? + 1;
        }
    }
    if flags & 0x03 != 0 || header.get(at) != Some(&LZMA2) || header.get(at + 1) != Some(&1) {
        return None;
    }
    let bits = u32::from(*header.get(at + 2)?);
    (bits < 40).then(|| u64::from(2 | (bits & 1)) << (bits / 2 + 11))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// `printf 'freezeframe' | xz --check=crc32 | xxd -i`
    const PACKED: [u8; 64] = [
        0xfd, 0x37, 0x7a, 0x58, 0x5a, 0x00, 0x00, 0x01, 0x69, 0x22, 0xde, 0x36, 0x02, 0x00, 0x21,
        0x01, 0x16, 0x00, 0x00, 0x00, 0x74, 0x2f, 0xe5, 0xa3, 0x01, 0x00, 0x0a, 0x66, 0x72, 0x65,
        0x65, 0x7a, 0x65, 0x66, 0x72, 0x61, 0x6d, 0x65, 0x00, 0x00, 0x5a, 0x08, 0x5e, 0xcc, 0x00,
        0x01, 0x1f, 0x0b, 0x3d, 0x62, 0x0e, 0x7a, 0x90, 0x42, 0x99, 0x0d, 0x01, 0x00, 0x00, 0x00,
        0x00, 0x01, 0x59, 0x5a,
    ];

    #[test]
    fn unpacks() {
        assert_eq!(unpack_bytes(&PACKED).unwrap(), b"freezeframe");
        assert_eq!(dictionary_bytes(&PACKED), Some(8 << 20));
        let mut huge = PACKED;
        huge[16] = 39;
        assert_eq!(unpack_bytes(&huge), None);
    }

    proptest! {
        #[test]
        fn any_damage(at in 0_usize..64, with in any::<[u8; 4]>()) {
            let mut bytes = PACKED;
            for (to, from) in bytes.iter_mut().skip(at).zip(with) {
                *to = from;
            }
            let _ = unpack_bytes(&bytes);
        }
    }
}
