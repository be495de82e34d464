//! `/sys/kernel/mm/transparent_hugepage` (mm/huge_memory.c, mm/khugepaged.c;
//! Documentation/admin-guide/mm/transhuge.rst).

use crate::read::{self, ReadError};
use crate::roots::SysRoot;
use std::fs;
use std::path::Path;

const SETTING_BYTES_MAX: usize = 4096;
/// One directory for each power of two between a page and a huge page of any architecture.
const SIZES_MAX: usize = 64;

/// The host's settings, each as the kernel's word. What could not be read is absent, with its reason in `absent`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ThpSettings {
    /// `always`, `madvise` or `never`.
    pub enabled: Option<String>,
    /// How hard a fault tries for a huge page: `always`, `defer`, `defer+madvise`, `madvise` or `never`.
    pub defrag: Option<String>,
    /// `always`, `within_size`, `advise`, `never`, `deny` or `force`.
    pub shmem_enabled: Option<String>,
    /// Whether khugepaged compacts memory: `1` or `0`.
    pub khugepaged_defrag: Option<String>,
    /// Size in KiB and `enabled` of each size (`always`, `inherit`, `madvise`, `never`), by size; kernel 6.8, which
    /// lets a size differ from `enabled` above.
    pub sizes: Vec<(u64, String)>,
    /// Which files could not be read, and why.
    pub absent: Vec<String>,
}

/// The chosen word of a setting: the one in brackets, or the only one. `None` when no choice can be seen.
pub fn selected(bytes: &[u8]) -> Option<&str> {
    let text = str::from_utf8(bytes).ok()?.trim();
    if let Some((_, rest)) = text.split_once('[') {
        return rest.split_once(']').map(|(word, _)| word);
    }
    (!text.is_empty() && !text.contains(char::is_whitespace)).then_some(text)
}

/// Reads the settings.
pub fn read(sys: &SysRoot) -> ThpSettings {
    let directory = sys.file("kernel/mm/transparent_hugepage");
    let mut absent = Vec::new();
    let mut setting = |name: &str| match read_setting(&directory.join(name)) {
        Ok(word) => Some(word),
        Err(e) => {
            absent.push(e.to_string());
            None
        }
    };
    ThpSettings {
        enabled: setting("enabled"),
        defrag: setting("defrag"),
        shmem_enabled: setting("shmem_enabled"),
        khugepaged_defrag: setting("khugepaged/defrag"),
        sizes: sizes(&directory),
        absent,
    }
}

fn read_setting(path: &Path) -> Result<String, ReadError> {
    let bytes = read::whole(path, SETTING_BYTES_MAX)?;
    selected(&bytes)
        .map(str::to_owned)
        .ok_or_else(|| ReadError::Format {
            path: path.to_owned(),
        })
}

fn sizes(directory: &Path) -> Vec<(u64, String)> {
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut sizes: Vec<_> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name();
            let kib = name
                .to_str()?
                .strip_prefix("hugepages-")?
                .strip_suffix("kB")?
                .parse()
                .ok()?;
            // Shared-memory-only sizes have no `enabled`.
            Some((kib, read_setting(&entry.path().join("enabled")).ok()?))
        })
        .take(SIZES_MAX)
        .collect();
    sizes.sort_unstable();
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        assert_eq!(selected(b"always [madvise] never\n"), Some("madvise"));
        assert_eq!(
            selected(b"always defer [defer+madvise] madvise never\n"),
            Some("defer+madvise")
        );
        assert_eq!(selected(b"1\n"), Some("1"));
        assert_eq!(selected(b"always never\n"), None);
        assert_eq!(selected(b"[always"), None);
        assert_eq!(selected(b""), None);
    }

    #[test]
    fn a_tree() {
        let dir = tempfile::tempdir().unwrap();
        let thp = dir.path().join("kernel/mm/transparent_hugepage");
        for (name, text) in [
            ("enabled", "[always] madvise never\n"),
            ("khugepaged/defrag", "1\n"),
            (
                "hugepages-2048kB/enabled",
                "always [inherit] madvise never\n",
            ),
            ("hugepages-64kB/enabled", "always inherit madvise [never]\n"),
            ("hugepages-8kB/shmem_enabled", "always inherit [never]\n"),
        ] {
            let file = thp.join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let settings = read(&SysRoot::at(dir.path()));
        assert_eq!(settings.enabled.as_deref(), Some("always"));
        assert_eq!(settings.khugepaged_defrag.as_deref(), Some("1"));
        assert_eq!(
            settings.sizes,
            [(64, "never".to_owned()), (2048, "inherit".to_owned())]
        );
        assert_eq!(settings.absent.len(), 2, "{:?}", settings.absent);
        assert!(settings.absent[0].contains("defrag"));
    }
}
