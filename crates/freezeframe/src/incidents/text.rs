//! The list for people: a head, and for each incident what it was, what users felt, and its file.

use std::path::Path;

use cli::output::{self, plain, wrapped};

use super::CapturedIncident;
use crate::args::SortArg;
use crate::episodes::Episode;
use crate::{causes, shell};

/// Columns of a time with its zone.
const WHEN: usize = 24;

/// Columns of a length such as `59 min 59 s`.
const LENGTH: usize = 11;

/// Columns of a server's label, at the least and at the most.
const SERVER: (usize, usize) = (6, 20);

/// What the list is of.
pub(super) struct Around<'a> {
    pub(super) dir: &'a Path,
    /// Stalls whose file is still to be written.
    pub(super) unwritten: &'a [Episode],
    /// How many incidents there are, wanted or not.
    pub(super) all: usize,
    /// How many are wanted and not shown.
    pub(super) left_out: usize,
    pub(super) sort: SortArg,
}

pub(super) fn list(caught: &[CapturedIncident], stalls: &[Episode], around: &Around<'_>) -> String {
    let dir = around.dir.display().to_string();
    let width = output::text_options().width;
    let soon = unwritten(around.unwritten, &dir, width);
    let dir = plain(&dir);
    if caught.is_empty() && stalls.is_empty() {
        return match around.all {
            _ if !soon.is_empty() => soon,
            0 => format!("no incidents in {dir}"),
            all => format!("no incident in {dir} matches; {all} others exist"),
        };
    }
    let labels = caught.iter().map(|one| one.summary.server.label.as_str());
    let labels = labels.chain(stalls.iter().map(|stall| stall.server.as_str()));
    let server = labels.map(|label| plain(label).chars().count()).max();
    let server = server.unwrap_or(0).clamp(SERVER.0, SERVER.1);
    let head = |when: &str, length: &str, label: &str| head(when, length, label, server);
    let order = match around.sort {
        SortArg::Time => "latest first",
        SortArg::Length => "longest first",
        SortArg::Cause => "by cause",
        SortArg::Level => "most certain first",
        SortArg::Server => "by server",
    };
    let mut text = soon;
    if !text.is_empty() {
        text.push('\n');
    }
    if !caught.is_empty() {
        let incidents = match (caught.len(), around.left_out) {
            (1, 0) => "1 incident".to_owned(),
            (count, 0) => format!("{count} incidents"),
            (shown, left_out) => format!("{shown} of {} incidents", shown + left_out),
        };
        text += &wrapped(
            "",
            &format!("{incidents} in {dir}, {order}. Details: freezeframe explain FILE"),
            width,
        );
        text += &format!("\n{}{}\n", head("WHEN", "HOW LONG", "SERVER"), "CAUSE");
    }
    for one in caught {
        let when = match one.summary.clock.is_known() {
            true => output::date(one.onset_ms()),
            false => "unknown time".to_owned(),
        };
        let length = match (one.length_ms(), &one.findings) {
            (Some(ms), _) => report::duration(ms),
            // It lasted still when the recording ended.
            (None, Some(told)) => format!("> {}", report::duration(told.recorded_ms)),
            (None, None) => "end unknown".to_owned(),
        };
        let label = plain(&one.summary.server.label);
        let cause = match (&one.findings, one.finding()) {
            (_, Some(found)) => format!("{} ({})", found.title, found.level.word()),
            (Some(_), None) => "no known cause fits".to_owned(),
            (None, None) => "the file cannot be read".to_owned(),
        };
        text += &wrapped(&head(&when, &length, &label), &cause, width);
        if let Some(told) = &one.findings {
            text += &wrapped("    ", &told.client_impact, width);
        }
        text += &format!("    {}\n", plain(&one.path.display().to_string()));
    }
    match around.left_out {
        0 => {}
        1 => text += "\n1 more; to show all: --limit 0\n",
        more => text += &format!("\n{more} more; to show all: --limit 0\n"),
    }
    text + &not_captured(stalls, server, width)
}

/// What stands before the text of a line; `server` is how wide labels are.
fn head(when: &str, length: &str, label: &str, server: usize) -> String {
    format!("{when:<WHEN$} {length:>LENGTH$}  {label:<server$}  ")
}

/// Stalls that last, or were over just now: who looks at that moment must not read that there is none.
fn unwritten(stalls: &[Episode], dir: &str, width: usize) -> String {
    let mut text = String::new();
    for stall in stalls {
        let length = stall.end_ms.map(|end| end.saturating_sub(stall.onset_ms));
        let what = match length {
            None => "a stall, which may last still".to_owned(),
            Some(ms) => format!(
                "a stall of {}",
                report::duration(u64::try_from(ms).unwrap_or(0))
            ),
        };
        let line = format!(
            "{}  {}  {what}: {}",
            output::date(stall.onset_ms),
            plain(&stall.server),
            plain(stall.says.as_deref().unwrap_or(""))
        );
        text += &wrapped("", &line, width);
    }
    if !text.is_empty() {
        let hint = format!(
            "It has no file yet: that is written a while after its end. Now: freezeframe live --dir {}",
            shell::word(dir)
        );
        text += &wrapped("    ", &hint, width);
    }
    text
}

/// Stalls that are remembered and have no file.
fn not_captured(stalls: &[Episode], server: usize, width: usize) -> String {
    if stalls.is_empty() {
        return String::new();
    }
    let mut text = "\nstalls that were noticed, but not captured\n".to_owned();
    for stall in stalls {
        let length = stall.end_ms.map_or_else(
            || "end unknown".to_owned(),
            |end| report::duration(u64::try_from(end.saturating_sub(stall.onset_ms)).unwrap_or(0)),
        );
        let when = output::date(stall.onset_ms);
        let cause = match &stall.cause {
            Some(id) => format!("; cause: {}", causes::title(id)),
            None => String::new(),
        };
        let says = stall.says.as_deref().unwrap_or("no more is known");
        let head = head(&when, &length, &plain(&stall.server), server);
        text += &wrapped(&head, &format!("{says}{cause}"), width);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_without_a_file_has_the_columns_of_the_others_and_fits() {
        let stall = Episode {
            server: "3306".to_owned(),
            onset_ms: 1_795_176_000_000,
            end_ms: Some(1_795_176_075_000),
            rule: Some("work-stops".to_owned()),
            says: Some(
                "0 of 400 statements a second completed, 38 of 39 sessions hang, the oldest for 1.3 s"
                    .to_owned(),
            ),
            cause: Some("disk-full".to_owned()),
            ..Episode::default()
        };
        let told = not_captured(std::slice::from_ref(&stall), 6, 80);
        let lines: Vec<&str> = told.lines().skip(2).collect();
        assert!(
            lines.iter().all(|line| line.chars().count() <= 80),
            "{told}"
        );
        let column = head("2026-11-20 12:00:00 UTC", "1 min 15 s", "3306", 6);
        assert!(lines[0].starts_with(column.trim_end()), "{told}");
        let text: Vec<&str> = told.split_whitespace().collect();
        let text = text.join(" ");
        assert!(
            text.ends_with("the oldest for 1.3 s; cause: Disk full"),
            "{told}"
        );
    }
}
