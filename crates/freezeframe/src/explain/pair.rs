//! `explain A B --html`: two stalls on one page. Each is an incident, or a directory with captures of others.

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use cli::output;
use diagnosis::Verdict;
use diagnosis::compare::{cause_in_question, settings};
use model::{Incident, Window};
use store::{READ_BYTES_MAX, read_incident_within};

use super::argument;
use crate::captures::{self, OpenedInput};
use crate::{causes, memory};

/// Memory that each of the two may take, bytes.
const BYTES_MAX: u64 = READ_BYTES_MAX / 2;

/// A stall, and what is said of it.
pub(super) type Explained = (Incident, Verdict);

/// Both, where these are two stalls. Two directories may be captures of one: their times tell.
pub(super) fn read(first: &Path, second: &Path) -> Result<Option<[Explained; 2]>> {
    match [first, second].map(captures::is_incident_file) {
        [true, true] => {}
        [true, false] if second.is_dir() => {}
        [false, true] if first.is_dir() => {}
        [false, false] if first.is_dir() && second.is_dir() => {
            // One that tells nothing alone belongs to the other.
            let (Ok(one), Ok(other)) = (alone(first), alone(second)) else {
                return Ok(None);
            };
            if are_apart(&one.0, &other.0) {
                return Ok(Some([one, other]));
            }
            output::note(&format!(
                "both directories are read as captures of one stall: they are of the same time, or tell none. For two stalls side by side make an incident of each first: freezeframe import {} -o a.frame; freezeframe import {} -o b.frame",
                argument(first),
                argument(second)
            ));
            return Ok(None);
        }
        _ => return Ok(None),
    }
    Ok(Some([alone(first)?, alone(second)?]))
}

/// Nothing of one was captured while the other was.
fn are_apart(one: &Incident, other: &Incident) -> bool {
    let wall = |incident: &Incident| {
        let Window { from, to } = incident.window;
        (incident.clock.wall_ms(from), incident.clock.wall_ms(to))
    };
    let ((from, to), (of_other, to_other)) = (wall(one), wall(other));
    let are_known = one.clock.is_known() && other.clock.is_known();
    are_known && (to < of_other || to_other < from)
}

/// One of the two.
fn alone(path: &Path) -> Result<Explained> {
    if captures::is_incident_file(path) {
        memory::now_reading(path);
        let loaded = read_incident_within(path, BYTES_MAX)?;
        return Ok(super::recorded(loaded, Some(path.to_owned())));
    }
    let paths = [path.to_owned()];
    match captures::open_input(&paths)? {
        OpenedInput::Incident(loaded, file) => Ok(super::recorded(*loaded, file)),
        OpenedInput::Captures(found) => super::imported(&found, &paths),
    }
}

/// Writes the page.
pub(super) fn page(both: &[Explained; 2], page: &Path, exit_code: bool) -> Result<ExitCode> {
    let [(first, of_first), (second, of_second)] = both;
    let cause = cause_in_question(&[of_first, of_second], causes::catalogue());
    let settings = settings(first, second, cause);
    let text = report::pair_html([(first, of_first), (second, of_second)], &settings);
    super::put(page, &text)?;
    Ok(super::code(exit_code, [of_first, of_second]))
}
