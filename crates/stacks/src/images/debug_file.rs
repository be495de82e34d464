//! Where distributions put the symbols that they take out of programs (gdb manual, "Debugging information in separate
//! files").

use super::{Bytes, FileKey, Headers};
use kernel::roots::ProcRoot;
use object::{LittleEndian as LE, U32};
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

const DEBUG_ROOT: &str = "usr/lib/debug";
const LINK_BYTES_MAX: u64 = 4096;

/// The debug file of an image that has no full symbol table of its own: by build id, then by its debug link; in the
/// process's root, then in ours.
pub(super) fn find(
    elf: &Headers,
    content: &Bytes,
    path: &Path,
    pid: u32,
) -> Option<(File, FileKey, PathBuf)> {
    if elf.section(".symtab").is_some() {
        return None;
    }
    let link = link(elf, content);
    let roots = [ProcRoot::default().of(pid, "root"), PathBuf::from("/")];
    let mut tried = Vec::new();
    for root in roots {
        for candidate in candidates(elf.build_id.as_deref(), link.as_ref(), path) {
            let candidate = root.join(candidate);
            let Ok((file, key)) = Bytes::open(&candidate) else {
                continue;
            };
            if tried.contains(&key) {
                continue;
            }
            tried.push(key);
            let Ok(copy) = file.try_clone() else { continue };
            if belongs(&Bytes::Open(copy), elf, link.as_ref()) {
                return Some((file, key, candidate));
            }
        }
    }
    None
}

struct Link {
    name: PathBuf,
    checksum: u32,
}

fn link(elf: &Headers, content: &Bytes) -> Option<Link> {
    let section = elf.section(".gnu_debuglink")?;
    let bytes = content
        .read(section.offset, section.size, LINK_BYTES_MAX)
        .ok()?;
    let bytes = object::read::Bytes(&bytes);
    let name = bytes.read_string_at(0).ok()?;
    let checksum = (name.len() + 1).next_multiple_of(4);
    let checksum = bytes.read_at::<U32<LE>>(checksum).ok()?.get(LE);
    let name = Path::new(OsStr::from_bytes(name));
    // A plain file name: anything else would lead out of the debug directories.
    let name = PathBuf::from(name.file_name().filter(|file| *file == name.as_os_str())?);
    Some(Link { name, checksum })
}

fn candidates(build_id: Option<&[u8]>, link: Option<&Link>, path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    if let Some([first, rest @ ..]) = build_id
        && !rest.is_empty()
    {
        let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
        found.push(Path::new(DEBUG_ROOT).join(format!(".build-id/{first:02x}/{rest}.debug")));
    }
    if let Some(link) = link
        && let Some(directory) = path.strip_prefix("/").ok().and_then(Path::parent)
    {
        found.push(Path::new(DEBUG_ROOT).join(directory).join(&link.name));
        found.push(directory.join(".debug").join(&link.name));
        found.push(directory.join(&link.name));
    }
    found
}

/// Whether a file has the symbols of just this image: by build id, or else by the checksum of the debug link.
fn belongs(content: &Bytes, image: &Headers, link: Option<&Link>) -> bool {
    let Ok(elf) = Headers::parse(content) else {
        return false;
    };
    if elf.section(".symtab").is_none() {
        return false;
    }
    match (&elf.build_id, &image.build_id) {
        (Some(theirs), Some(ours)) => theirs == ours,
        _ => link.is_some_and(|link| checksum(content) == Some(link.checksum)),
    }
}

/// CRC-32 over the whole file, and only of files without a build id.
fn checksum(content: &Bytes) -> Option<u32> {
    let mut buffer = vec![0; 256 << 10];
    let (mut sum, mut at) = (crc32fast::Hasher::new(), 0);
    loop {
        let read = content.read_some(at, &mut buffer).ok()?;
        if read == 0 {
            return Some(sum.finalize());
        }
        sum.update(buffer.get(..read)?);
        at += read as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::images::Section;

    #[test]
    fn checksum_of_the_specification() {
        let content = Bytes::Bytes((*b"123456789").into());
        assert_eq!(checksum(&content), Some(0xcbf4_3926));
    }

    #[test]
    fn places_in_their_order() {
        let link = Link {
            name: "x.debug".into(),
            checksum: 0,
        };
        let found = candidates(
            Some(&[0xab, 0xcd, 0x01]),
            Some(&link),
            Path::new("/usr/sbin/mysqld"),
        );
        let expected = [
            "usr/lib/debug/.build-id/ab/cd01.debug",
            "usr/lib/debug/usr/sbin/x.debug",
            "usr/sbin/.debug/x.debug",
            "usr/sbin/x.debug",
        ];
        assert_eq!(found, expected.map(PathBuf::from));
    }
    #[test]
    fn a_link_is_a_plain_name_and_a_checksum() {
        let read = |bytes: &[u8], size| {
            let elf = Headers {
                sections: vec![Section {
                    name: ".gnu_debuglink".to_owned(),
                    address: 0,
                    offset: 0,
                    size,
                    link: 0,
                    plain: true,
                }],
                ..Headers::default()
            };
            link(&elf, &Bytes::Bytes(bytes.into()))
        };
        let whole = b"x.debug\0\x01\x02\x03\x04";
        let found = read(whole, 12).unwrap();
        assert_eq!(found.name, Path::new("x.debug"));
        assert_eq!(found.checksum, 0x0403_0201);
        let found = read(b"xy.debug\0\0\0\0\x01\0\0\0", 16).unwrap();
        assert_eq!(found.checksum, 1);
        for (bytes, size) in [
            (whole.as_slice(), u64::MAX),
            (whole, 11),
            (whole, 7),
            (whole, 0),
            (b"../x.debug\0\0\x01\x02\x03\x04", 16),
            (b"..\0\0\x01\x02\x03\x04", 8),
            (b"\0\0\0\0\x01\x02\x03\x04", 8),
        ] {
            assert!(read(bytes, size).is_none(), "{bytes:?}");
        }
    }
}
