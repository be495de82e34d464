//! What the helper may set, and to what. Its unit names the same files as the only ones that can be written.

use std::ops::RangeInclusive;

use crate::fix::{Change, KernelSetting};

enum Values {
    Word(&'static str),
    Within(RangeInclusive<u64>),
}

/// The settings and their values: those that causes name, with some room, and none that stops a host.
const ALLOWED: [(&str, Values); 8] = [
    (
        "/sys/kernel/mm/transparent_hugepage/enabled",
        Values::Word("never"),
    ),
    (
        "/sys/kernel/mm/transparent_hugepage/defrag",
        Values::Word("never"),
    ),
    ("/proc/sys/vm/swappiness", Values::Within(1..=60)),
    (
        "/proc/sys/vm/dirty_background_bytes",
        Values::Within(16 << 20..=1 << 30),
    ),
    (
        "/proc/sys/vm/dirty_bytes",
        Values::Within(64 << 20..=4 << 30),
    ),
    (
        "/proc/sys/vm/watermark_scale_factor",
        Values::Within(10..=500),
    ),
    ("/proc/sys/vm/zone_reclaim_mode", Values::Within(0..=0)),
    ("/proc/sys/net/core/somaxconn", Values::Within(128..=65_535)),
];

/// Settings that are only written to bring back what was before one of the above.
const BACK_ONLY: [&str; 2] = [
    "/proc/sys/vm/dirty_background_ratio",
    "/proc/sys/vm/dirty_ratio",
];

/// The files that the helper writes outside of its own directory.
pub fn written_paths() -> impl Iterator<Item = &'static str> {
    ALLOWED.iter().map(|(path, _)| *path).chain(BACK_ONLY)
}

/// Why a change is none that the helper makes.
pub fn refusal(change: &Change) -> Option<String> {
    let Change::KernelSetting(setting) = change else {
        return Some(format!("{} is not a kernel setting", change.name()));
    };
    let KernelSetting {
        path,
        after,
        instead,
        ..
    } = setting;
    let known = ALLOWED.iter().find(|(known, _)| path.as_os_str() == *known);
    let fits = known.is_some_and(|(_, values)| match values {
        Values::Word(word) => after == word,
        Values::Within(range) => after.parse().is_ok_and(|value| range.contains(&value)),
    });
    let back = instead
        .as_ref()
        .is_none_or(|(path, _)| BACK_ONLY.iter().any(|known| path.as_os_str() == *known));
    (!fits || !back).then(|| format!("{} = {after} is not in the helper's table", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_in_the_table_is_set() {
        let change = |path: &str, after: &str, instead: Option<&str>| {
            Change::KernelSetting(KernelSetting {
                path: path.into(),
                shown: String::new(),
                before: "0".to_owned(),
                after: after.to_owned(),
                instead: instead.map(|path| (path.into(), "10".to_owned())),
            })
        };
        let dirty = "/proc/sys/vm/dirty_bytes";
        for (path, after, instead) in [
            ("/proc/sys/vm/swappiness", "1", None),
            ("/sys/kernel/mm/transparent_hugepage/enabled", "never", None),
            (dirty, "536870912", Some("/proc/sys/vm/dirty_ratio")),
        ] {
            assert_eq!(refusal(&change(path, after, instead)), None, "{path}");
        }
        for (path, after, instead) in [
            ("/proc/sys/vm/swappiness", "200", None),
            ("/proc/sys/vm/swappiness", "-1", None),
            ("/proc/sys/vm/swappiness", "1\n", None),
            ("/proc/sys/vm/../vm/swappiness", "1", None),
            ("/proc/sys/kernel/core_pattern", "1", None),
            (
                "/sys/kernel/mm/transparent_hugepage/enabled",
                "always",
                None,
            ),
            (dirty, "0", None),
            (dirty, "536870912", Some("/proc/sys/kernel/core_pattern")),
        ] {
            assert!(refusal(&change(path, after, instead)).is_some(), "{path}");
        }
    }
}
