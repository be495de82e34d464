//! How much memory a command may take that reads files.

use std::path::{Path, PathBuf};

use cli::output;

use crate::args::{Command, FleetCommand};

/// Resident memory of a command that reads files, bytes, whatever is in them: on the host of a server
/// in trouble there may be little. Readers stay below it by what they leave out and say so; this is
/// the end for what none of them foresaw.
const RESIDENT_BYTES_MAX: u64 = 512 << 20;

/// Sets the limit where a command reads files and changes nothing: it may end at any place.
pub(crate) fn limit_for(command: &Command) {
    let reads_only = match command {
        Command::Explain(_)
        | Command::Compare(_)
        | Command::Import(_)
        | Command::Export(_)
        | Command::Causes(_)
        | Command::Incidents(_)
        | Command::SupportBundle(_)
        | Command::Web(_) => true,
        // A store is left whole: a batch is in it or not.
        Command::Fleet(args) => !matches!(
            args.command,
            FleetCommand::Init { .. } | FleetCommand::Gateway(_)
        ),
        Command::Stacks(args) => !args.from.is_empty(),
        Command::Profile(args) => args.diff.is_some(),
        Command::Queries(args) => args.live.live.is_none(),
        _ => false,
    };
    if reads_only {
        kernel::heap::limit(RESIDENT_BYTES_MAX);
    }
    // For months beside a server that needs the memory.
    if matches!(command, Command::Record(_) | Command::Capture(_)) {
        kernel::heap::keep_little();
    }
}

/// Does what only reads in a command that may not end at any place.
pub(crate) fn limited<T>(read: impl FnOnce() -> T) -> T {
    kernel::heap::limit(RESIDENT_BYTES_MAX);
    let done = read();
    kernel::heap::limit(0);
    done
}

/// The file that is read from now on, for the line that the limit ends with.
pub(crate) fn now_reading(path: &Path) {
    kernel::heap::now_reading(&output::plain(&path.display().to_string()));
}

/// The same for all that was given.
pub(crate) fn now_reading_all(paths: &[PathBuf]) {
    let Some(first) = paths.first() else { return };
    let name = output::plain(&first.display().to_string());
    kernel::heap::now_reading(&match paths.len() {
        1 => name,
        count => format!("{name} and {} more", count - 1),
    });
}
