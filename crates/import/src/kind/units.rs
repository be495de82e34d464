//! What keepers of processes tell of the one that they keep: `systemctl status`, `docker stats`.

/// `● mariadb.service - MariaDB 10.11.6 database server`: the name of the unit.
pub(crate) fn unit_of(text: &str) -> Option<&str> {
    let rest = text
        .strip_prefix(['●', '○', '×', '*', '↻', '?'])
        .unwrap_or(text)
        .trim_start();
    let name = rest.split_whitespace().next()?;
    let behind = rest.get(name.len()..)?;
    (name.ends_with(".service") && (behind.is_empty() || behind.starts_with(" - "))).then_some(name)
}

/// The head of `systemctl status`, which has the state of the unit's file behind it.
pub(super) fn is_unit_head(text: &str, next: &[&str]) -> bool {
    unit_of(text).is_some()
        && next
            .first()
            .is_some_and(|line| line.trim().starts_with("Loaded: "))
}

/// A line of it below the head.
pub(crate) fn is_unit_line(text: &str) -> bool {
    const NAMES: [&str; 17] = [
        "Loaded",
        "Drop-In",
        "Active",
        "Docs",
        "Process",
        "Main PID",
        "Status",
        "Tasks",
        "Memory",
        "CPU",
        "CGroup",
        "IO",
        "IP",
        "Invocation",
        "Since",
        "Trigger",
        "TriggeredBy",
    ];
    text.split_once(": ")
        .is_some_and(|(name, _)| NAMES.contains(&name))
        || text.starts_with(['├', '└'])
        || text.starts_with("http")
}

/// `CONTAINER ID  NAME  CPU %  MEM USAGE / LIMIT  MEM %  …  PIDS`, of docker and of podman.
pub(crate) fn is_containers_head(text: &str) -> bool {
    (text.starts_with("CONTAINER") || text.starts_with("ID ")) && text.contains("MEM USAGE / LIMIT")
}

/// A row of it: a share, what is used of how much.
pub(crate) fn is_containers_row(text: &str) -> bool {
    text.contains("% ") && text.contains("B / ")
}
