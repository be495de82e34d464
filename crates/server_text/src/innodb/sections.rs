//! The sections of a status text.

use super::forms::is_dashes;

/// A section, by its name between two lines of dashes (`srv0srv.cc`,
/// `srv_printf_innodb_monitor()`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Section {
    /// Before the first name that is in the text.
    Unknown,
    /// `SEMAPHORES`
    Semaphores,
    /// `LATEST FOREIGN KEY ERROR`
    ForeignKey,
    /// `LATEST DETECTED DEADLOCK`
    Deadlock,
    /// `TRANSACTIONS`
    Transactions,
    /// `FILE I/O`
    FileIo,
    /// `BUFFER POOL AND MEMORY`
    BufferPool,
    /// `INDIVIDUAL BUFFER POOL INFO`
    IndividualPools,
    /// Any other that is known. None stands next to transactions.
    Plain,
    /// Any other that has the form of a name.
    Other,
}

/// The section that begins at `line`, which stands between the lines `before` and the first of
/// `rest`.
pub(super) fn header(before: &str, line: &str, rest: &str) -> Option<Section> {
    let named = line.starts_with(|c: char| c.is_ascii_uppercase())
        && line
            .bytes()
            .all(|b| b.is_ascii_uppercase() || b" /-".contains(&b));
    if !named {
        return None;
    }
    // At the head or tail of a cut text one of the two lines of dashes may be missing.
    let below = rest.split('\n').next().unwrap_or("");
    let is_between = (is_dashes(before) && (is_dashes(below) || rest.is_empty()))
        || (before.is_empty() && is_dashes(below));
    is_between.then_some(match line {
        // Debug builds print the latches that are held before those that are waited for.
        "SEMAPHORES" | "RW-LATCH INFO" | "MUTEX INFO" => Section::Semaphores,
        "LATEST FOREIGN KEY ERROR" => Section::ForeignKey,
        "LATEST DETECTED DEADLOCK" => Section::Deadlock,
        "TRANSACTIONS" => Section::Transactions,
        "FILE I/O" => Section::FileIo,
        "BUFFER POOL AND MEMORY" => Section::BufferPool,
        "INDIVIDUAL BUFFER POOL INFO" => Section::IndividualPools,
        "BACKGROUND THREAD"
        | "INSERT BUFFER AND ADAPTIVE HASH INDEX"
        | "ADAPTIVE HASH INDEX"
        | "LOG"
        | "ROW OPERATIONS" => Section::Plain,
        _ => Section::Other,
    })
}

/// Whether `next` may be the first known section after one with statements, or after the one that
/// ends those. The lists of 5.1 with XtraDB are the last section; elsewhere FILE I/O follows them.
pub(super) fn may_follow(section: Section, next: Section) -> bool {
    match section {
        Section::Deadlock => next == Section::Transactions,
        Section::Transactions => next == Section::FileIo,
        Section::FileIo => next == Section::Plain,
        Section::Unknown | Section::ForeignKey => matches!(
            next,
            Section::Deadlock | Section::Transactions | Section::FileIo
        ),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_needs_its_dashes() {
        assert_eq!(header("---", "LOG", "---\nLog"), Some(Section::Plain));
        assert_eq!(
            header("---", "TRANSACTIONS", ""),
            Some(Section::Transactions)
        );
        assert_eq!(header("from", "LOG", "where"), None);
        assert_eq!(header("from", "LOG", "---"), None);
        assert_eq!(header("db | ---", "LOG", "db | ---"), Some(Section::Plain));
    }
}
