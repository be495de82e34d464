//! The list of the recorder's files, and the names that are in it.

use std::fmt::Write as _;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use cli::output;
use model::OrderBy;

use super::known;
use super::scrub::Scrub;

/// Names that are the same everywhere.
const OWN: [&str; 12] = [
    ".lock",
    "fix",
    "fixes",
    "fleet",
    "hooks",
    "leases",
    "socket",
    "stalls-before.jsonl",
    "stalls.jsonl",
    "stderr",
    "targets",
    "undo",
];

/// Ends of incidents, and of pages of them.
const OF_INCIDENTS: [&str; 3] = [".frame", ".html", ".json"];

/// The files of the recorder's directory, and of hooks that wait. The names that it meets are to be taken out.
pub(super) fn listed(dir: &Path, scrub: &mut Scrub) -> Result<String, String> {
    let entries = std::fs::read_dir(dir).map_err(|error| error.to_string())?;
    let mut lines: Vec<String> = entries
        .flatten()
        .filter_map(|entry| {
            let there = entry.path().symlink_metadata().ok()?;
            let name = output::plain(&entry.file_name().to_string_lossy());
            learn(&name, scrub);
            let (mode, bytes) = (there.mode(), there.len());
            Some(format!("{mode:06o} {bytes:>12} {name}\n"))
        })
        .collect();
    lines.order_by(|a, b| a.get(20..).cmp(&b.get(20..)));
    let mut text = lines.concat();
    for target in std::fs::read_dir(dir.join(store::TARGETS_DIR))
        .into_iter()
        .flatten()
        .flatten()
    {
        scrub.add_label(&target.file_name().to_string_lossy());
    }
    let queues = std::fs::read_dir(dir.join("hooks")).into_iter().flatten();
    let queues = queues.flatten().filter(|queue| queue.path().is_dir());
    for (index, queue) in queues.enumerate() {
        let waiting = std::fs::read_dir(queue.path()).map_or(0, Iterator::count);
        // Its name is made of the hook's address or command line: who has it can try them.
        let number = index + 1;
        let name = queue.file_name();
        scrub.add_secret(&format!("queue {number}"), &name.to_string_lossy());
        let _ = writeln!(text, "hooks/(queue {number}): {waiting} files");
    }
    Ok(text)
}

/// The label in a file's name; all of a name that is none of ours.
fn learn(name: &str, scrub: &mut Scrub) {
    if OWN.contains(&name) {
        return;
    }
    if let Some(rest) = name.strip_prefix("history-")
        && let Some((label, _)) = rest.rsplit_once(".db")
    {
        scrub.add_label(label);
        return;
    }
    let name = name.trim_start_matches('.');
    let name = name.strip_suffix(".partial").unwrap_or(name);
    match OF_INCIDENTS.iter().find_map(|end| name.strip_suffix(end)) {
        Some(id) => known::of_incident(scrub, id),
        None => scrub.add_name("dir", name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_no_name_of_a_server_and_none_of_other_files() {
        let dir = tempfile::tempdir().unwrap();
        for name in [
            "history-db7-acme-example-3307.db",
            "history-db7-acme-example-3307.db.lock",
            "db8-acme-example-3307-20261129T220500Z.frame",
            "3306-20261129T220500Z.frame",
            "acme-notes",
            "stalls.jsonl",
        ] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        for name in ["hooks/0123456789abcdef", "targets/acme-shop"] {
            std::fs::create_dir_all(dir.path().join(name)).unwrap();
        }
        std::fs::write(dir.path().join("hooks/0123456789abcdef.output"), "").unwrap();
        let mut scrub = Scrub::new(b"0123456789abcdef");
        let text = listed(dir.path(), &mut scrub).unwrap();
        let clean = scrub.clean(&(text + "see hooks/0123456789abcdef.output of acme-shop"));
        assert!(
            !clean.contains("acme") && !clean.contains("0123456789abcdef"),
            "{clean}"
        );
        for kept in [
            " stalls.jsonl\n",
            " hooks\n",
            " 3306-20261129T220500Z.frame\n",
            ".db.lock\n",
            "-20261129T220500Z.frame\n",
            "hooks/(queue 1): 0 files\n",
            "hooks/(queue 1).output of dir_",
        ] {
            assert!(clean.contains(kept), "{kept}: {clean}");
        }
    }
}
