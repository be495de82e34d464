//! When, by which commit and on which machine results were made: the head of every page of them.

use std::collections::BTreeSet;
use std::process::{Command, Stdio};

use jiff::Zoned;

/// The head's line. `runs` are texts that have the time of a run in them, as names of incidents and stages do: pages are
/// made of runs that were kept, and these may be older.
pub(crate) fn line<'a>(runs: impl Iterator<Item = &'a str>) -> String {
    let days: BTreeSet<String> = runs.filter_map(day).collect();
    let runs = match (days.first(), days.last()) {
        (Some(first), Some(last)) if first == last => format!("Runs of {first}; page"),
        (Some(first), Some(last)) => format!("Runs of {first} to {last}; page"),
        _ => "Page".to_owned(),
    };
    let commit = commit().map_or_else(String::new, |commit| format!(", commit {commit}"));
    let today = Zoned::now().date();
    format!("{runs} of {today}{commit}; {}.\n\n", machine())
}

/// The first day in a text: `20261123T055504` or what begins so.
fn day(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let at = bytes.windows(9).position(|part| {
        part.starts_with(b"20") && part[8] == b'T' && part[..8].iter().all(u8::is_ascii_digit)
    })?;
    let digits = text.get(at..at + 8)?;
    let (year, rest) = digits.split_at_checked(4)?;
    let (month, day) = rest.split_at_checked(2)?;
    Some(format!("{year}-{month}-{day}"))
}

/// The commit of the working directory, with `-dirty` where something was changed in it: pages are written in a checkout.
fn commit() -> Option<String> {
    let output = Command::new("git")
        .args([
            "describe",
            "--always",
            "--dirty",
            "--abbrev=8",
            "--exclude=*",
        ])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    let commit = String::from_utf8(output.stdout).ok()?;
    Some(commit.trim().to_owned()).filter(|commit| !commit.is_empty())
}

/// What the numbers were made on.
fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let kernel = read("/proc/sys/kernel/osrelease");
    let kernel = kernel.split('-').next().unwrap_or_default();
    let memory = read("/proc/meminfo")
        .lines()
        .find_map(|line| {
            line.strip_prefix("MemTotal:")?
                .split_whitespace()
                .next()?
                .parse::<u64>()
                .ok()
        })
        .map_or_else(String::new, |kib| {
            format!(", {} GiB of memory", (kib + (1 << 19)) >> 20)
        });
    let processors = std::thread::available_parallelism().map_or(0, usize::from);
    let build = if cfg!(debug_assertions) {
        "; a debug build"
    } else {
        ""
    };
    format!(
        "{processors} processors{memory}, Linux {}, freezeframe {}{build}",
        kernel.trim(),
        env!("CARGO_PKG_VERSION")
    )
}

#[cfg(test)]
mod tests {
    use super::{day, line};

    #[test]
    fn days_are_taken_from_names_of_incidents_and_stages() {
        let found = |text| day(text).unwrap_or_default();
        assert_eq!(
            found("lab/x/38311-20261123T022152.353Z.frame"),
            "2026-11-23"
        );
        assert_eq!(found("20261126T170939Z-1"), "2026-11-26");
        assert_eq!(found("lab-peers/tmp-disk/pt-stalk"), "");
    }

    #[test]
    fn the_line_says_when_and_where() {
        let names = ["a-20261124T01", "b-20261123T02", "c"];
        let told = line(names.into_iter());
        assert!(
            told.starts_with("Runs of 2026-11-23 to 2026-11-24; page of 20"),
            "{told}"
        );
        assert!(told.contains(" processors"), "{told}");
        assert!(told.ends_with(".\n\n"), "{told}");
        assert!(line(std::iter::empty()).starts_with("Page of 20"));
    }
}
